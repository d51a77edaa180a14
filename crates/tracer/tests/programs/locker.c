// Two threads on two cores hold one mutex for three quarters of their work.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
pthread_mutex_t routes = PTHREAD_MUTEX_INITIALIZER;
static uint64_t now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static void busy(uint64_t ns) { for (uint64_t until = now() + ns; now() < until;) {} }
static void *worker(void *core) {
    cpu_set_t set; CPU_ZERO(&set); CPU_SET((int)(intptr_t)core, &set); sched_setaffinity(0, sizeof set, &set);
    for (uint64_t until = now() + 150000000ull; now() < until;) {
        pthread_mutex_lock(&routes); busy(1500000); pthread_mutex_unlock(&routes);
        busy(500000);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (intptr_t core = 0; core < 2; core++) pthread_create(&threads[core], 0, worker, (void *)core);
    for (int core = 0; core < 2; core++) pthread_join(threads[core], 0);
    return 0;
}
