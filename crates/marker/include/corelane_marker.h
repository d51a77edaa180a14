/* Tells the profiler of Corelane the names of locks and the progress of work: C99 and C++, one
 * header, no library.
 *
 * static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER; corelane_name_lock(&table, sizeof
 * table, "forwarding table"); corelane_mark *frames = corelane_progress("frames"); // one for each
 * thread corelane_progress_add(frames, 64);
 *
 * The marks live in /dev/shm/corelane-marker-PID; the layout is that of crates/marker/src/page.rs.
 * Include it in one source file of a program, and call from one thread at a time; adding progress
 * is free of that rule. */
#ifndef CORELANE_MARKER_H
#define CORELANE_MARKER_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    uint32_t kind; /* 0 free, 1 lock, 2 progress, 3 a lock's name whose time is over */
    uint32_t length;
    uint64_t address;
    uint64_t count;
    uint64_t held;
    char name[80];
    uint64_t from; /* nanoseconds of CLOCK_MONOTONIC */
    uint64_t until;
} corelane_mark;

enum { CORELANE_MARKS = 511 };

static uint64_t corelane_marker_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void corelane_marker_path(char *path, size_t size) {
    snprintf(path, size, "/dev/shm/corelane-marker-%d", (int)getpid());
}

static void corelane_marker_remove(void) {
    char path[64];
    corelane_marker_path(path, sizeof path);
    unlink(path);
}

static corelane_mark *corelane_marker_take(uint32_t kind, const void *address, size_t length, const char *name) {
    static char *page;
    size_t size = (CORELANE_MARKS + 1) * sizeof(corelane_mark);
    if (!page) {
        char path[64];
        corelane_marker_path(path, sizeof path);
        unlink(path);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) return NULL;
        void *memory = ftruncate(fd, (off_t)size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (memory == MAP_FAILED) return NULL;
        page = (char *)memory;
        *(uint32_t *)(page + 8) = (uint32_t)getpid();
        __atomic_store_n((uint64_t *)page, UINT64_C(0x00314b52414d4c43), __ATOMIC_RELEASE);
        atexit(corelane_marker_remove);
    }
    corelane_mark *marks = (corelane_mark *)page + 1, *mark = NULL;
    /* One that nobody has had yet, else that of the name that is over for the longest time. */
    for (int i = 0; i < CORELANE_MARKS; i++) {
        uint32_t state = __atomic_load_n(&marks[i].kind, __ATOMIC_RELAXED);
        if (state == 3 && (!mark || marks[i].until < mark->until)) mark = &marks[i];
        if (state) continue;
        mark = &marks[i];
        break;
    }
    if (!mark) return NULL;
    __atomic_store_n(&mark->kind, UINT32_MAX, __ATOMIC_RELEASE);
    mark->address = (uint64_t)(uintptr_t)address;
    mark->length = (uint32_t)length;
    mark->count = mark->held = mark->until = 0;
    mark->from = corelane_marker_now();
    memset(mark->name, 0, sizeof mark->name);
    strncpy(mark->name, name, sizeof mark->name - 1);
    __atomic_store_n(&mark->kind, kind, __ATOMIC_RELEASE);
    return mark;
}

/* Gives the lock in the `length` bytes from `address` a name. The answer is for
 * corelane_forget_lock. */
static inline corelane_mark *corelane_name_lock(const void *address, size_t length, const char *name) {
    return corelane_marker_take(1, address, length, name);
}

/* Ends the name's time: before the lock's memory is freed, so that a lock which comes to lie there
 * is not taken for this one. */
static inline void corelane_forget_lock(corelane_mark *mark) {
    if (!mark) return;
    mark->until = corelane_marker_now();
    __atomic_store_n(&mark->kind, 3, __ATOMIC_RELEASE);
}

/* A counter of work done, for one thread; counters of one name count together. NULL is fine for
 * corelane_progress_add. */
static inline corelane_mark *corelane_progress(const char *name) {
    return corelane_marker_take(2, NULL, 0, name);
}

static inline void corelane_progress_add(corelane_mark *mark, uint64_t events) {
    if (mark) __atomic_store_n(&mark->count, mark->count + events, __ATOMIC_RELAXED);
}

#endif
