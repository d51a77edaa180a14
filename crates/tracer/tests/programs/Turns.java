/** Four threads that nearly always want one monitor. */
public class Turns {
    static long sum;

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + 1_500_000_000L;
        Object monitor = new Object();
        Thread[] threads = new Thread[4];
        for (int number = 0; number < threads.length; number++) {
            threads[number] = new Thread(() -> {
                while (System.nanoTime() < end) {
                    synchronized (monitor) {
                        for (int step = 0; step < 50_000; step++) {
                            sum = sum * 31 + step;
                        }
                    }
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
