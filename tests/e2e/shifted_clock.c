/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of day, shifted: a library to be loaded in front of others (LD_PRELOAD). The file that
 * SHIFTED_CLOCK names has the shift in its first 8 bytes, in ms, as this machine writes an int64_t;
 * a test may change it at any moment. How long something takes is measured as before. Where
 * SHIFTED_BOOT is set, it names the file that tells which boot of the system this is. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *shift_ms;

__attribute__((constructor)) static void watch(void)
{
    const char *path = getenv("SHIFTED_CLOCK");
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (file >= 0) {
        void *memory = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        shift_ms = memory != MAP_FAILED ? memory : NULL;
        close(file);
    }
}

static void shift(struct timespec *time)
{
    int64_t ms = shift_ms != NULL ? atomic_load(shift_ms) : 0;

    time->tv_sec += ms / 1000;
    time->tv_nsec += ms % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
        time->tv_sec++;
        time->tv_nsec -= 1000000000;
    } else if (time->tv_nsec < 0) {
        time->tv_sec--;
        time->tv_nsec += 1000000000;
    }
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    const char *boot = getenv("SHIFTED_BOOT");
    FILE *(*real)(const char *, const char *);

    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    if (boot != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
        path = boot;
    }
    return real(path, mode);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (syscall(SYS_clock_gettime, clock, time) != 0) {
        return -1;
    }
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        shift(time);
    }
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}
