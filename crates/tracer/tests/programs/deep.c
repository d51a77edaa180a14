// Two threads wait for one mutex deep inside functions that keep no frame pointers.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#define DEEP __attribute__((noinline, noclone))
static pthread_mutex_t routes = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t done;
static uint64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
DEEP static void count_up(void) { for (int step = 0; step < 300000; step++) done = done + 1; }
DEEP static void insert_route(void) { pthread_mutex_lock(&routes); count_up(); pthread_mutex_unlock(&routes); done = done + 1; }
DEEP static void serve_request(void) { insert_route(); done = done + 1; }
static void *worker(void *nothing) {
    for (uint64_t until = now() + 400000000ull; now() < until;) serve_request();
    return nothing;
}
int main(void) {
    pthread_t threads[2];
    for (int thread = 0; thread < 2; thread++) pthread_create(&threads[thread], 0, worker, 0);
    for (int thread = 0; thread < 2; thread++) pthread_join(threads[thread], 0);
    return 0;
}
