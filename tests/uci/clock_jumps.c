/* A clock of the day that jumps by hours, forwards and backwards, each time it is read. The monotonic clock is left alone. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

static time_t jump(void) {
    static unsigned reads;
    unsigned read = __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
    return (time_t)(read % 7) * 36000 - 108000;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, time);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        time->tv_sec += jump();
    }
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int (*next)(struct timeval *restrict, void *restrict) = dlsym(RTLD_NEXT, "gettimeofday");
    int result = next(time, zone);
    time->tv_sec += jump();
    return result;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at != NULL) {
        *at = now.tv_sec;
    }
    return now.tv_sec;
}
