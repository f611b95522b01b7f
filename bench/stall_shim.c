/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded in front of the server's libraries (LD_PRELOAD) by bench/stall.py, so that the server's
 * clock can be stopped while millions of holds are made that are to end together, and moved on
 * instead of waiting for minutes; and so that the time of fork() itself is known. The file that
 * STALL_SHIM names is shared memory of the words below; zeros change nothing. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct shared {
    _Atomic int64_t ahead_ms;   /* all clocks are ahead by this */
    _Atomic int64_t stopped_ms; /* the wall clock stands at this, and those that time holds with it;
                                   0: they run */
    _Atomic int64_t forks, fork_ns; /* how many, and the processor time of the longest */
};

static struct shared *shared;
static int (*system_clock)(clockid_t clock, struct timespec *time);
static pid_t (*system_fork)(void);
static int64_t wall_minus_boot_ms; /* so that the two stop at the same moment */

static int64_t milliseconds(clockid_t clock)
{
    struct timespec now;

    system_clock(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((constructor)) static void attach(void)
{
    const char *path = getenv("STALL_SHIM");
    int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;

    /* What dlsym gives is a function, which ISO C has no cast for. */
    *(void **)&system_clock = dlsym(RTLD_NEXT, "clock_gettime");
    *(void **)&system_fork = dlsym(RTLD_NEXT, "fork");
    wall_minus_boot_ms = milliseconds(CLOCK_REALTIME) - milliseconds(CLOCK_BOOTTIME);
    if (file >= 0) {
        void *memory =
            mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        shared = memory != MAP_FAILED ? memory : NULL;
        close(file);
    }
}

static void set(struct timespec *time, int64_t ms)
{
    time->tv_sec = ms / 1000;
    time->tv_nsec = ms % 1000 * 1000000;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int failed = system_clock(clock, time);
    if (failed != 0 || shared == NULL) {
        return failed;
    }
    int64_t ahead_ms = atomic_load(&shared->ahead_ms);
    int64_t stopped_ms = atomic_load(&shared->stopped_ms);

    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_BOOTTIME:
        if (stopped_ms != 0) {
            set(time, stopped_ms - (clock == CLOCK_BOOTTIME ? wall_minus_boot_ms : 0));
            return 0;
        }
        break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
        break;
    default:
        return 0;
    }
    time->tv_sec += ahead_ms / 1000;
    time->tv_nsec += ahead_ms % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
        time->tv_sec++;
        time->tv_nsec -= 1000000000;
    }
    return 0;
}

static int64_t own_processor_ns(void)
{
    struct timespec now;

    system_clock(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

pid_t fork(void)
{
    int64_t before_ns = own_processor_ns();
    pid_t child = system_fork();

    if (child > 0 && shared != NULL) {
        int64_t took_ns = own_processor_ns() - before_ns;
        if (took_ns > atomic_load(&shared->fork_ns)) {
            atomic_store(&shared->fork_ns, took_ns);
        }
        atomic_fetch_add(&shared->forks, 1);
    }
    return child;
}
