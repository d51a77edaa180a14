"""Two threads that compute: the interpreter's lock lets one of them at a time."""

import threading
import time

END = time.monotonic() + 1.0


def compute():
    number = 1
    while time.monotonic() < END:
        for _ in range(1000):
            number = number * 31 % 1000003


threads = [threading.Thread(target=compute) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
