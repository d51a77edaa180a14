/* Two threads at one lock that the header names, and a progress point. Without the header's file
 * nothing else changes. */
#include "corelane_marker.h"

#include <pthread.h>
#include <time.h>

struct table {
    int routes;
    pthread_mutex_t lock;
};

static struct table *table;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

__attribute__((noinline)) static void insert_route(void) {
    pthread_mutex_lock(&table->lock);
    long until = now() + 200000;
    while (now() < until) table->routes++;
    pthread_mutex_unlock(&table->lock);
}

static void *worker(void *progress) {
    long until = now() + 300000000;
    while (now() < until) {
        insert_route();
        corelane_progress_add((corelane_mark *)progress, 1);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    corelane_mark *progress[2];
    table = (struct table *)calloc(1, sizeof *table);
    if (!table || pthread_mutex_init(&table->lock, NULL)) return 1;
    corelane_name_lock(&table->lock, sizeof table->lock, "routes of the C program");
    for (int i = 0; i < 2; i++) progress[i] = corelane_progress("routes inserted");
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, worker, progress[i])) return 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    free(table);
    return 0;
}
