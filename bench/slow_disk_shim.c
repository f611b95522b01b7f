/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded in front of the server's libraries (LD_PRELOAD) by bench/slow_disk.py and
 * tests/e2e/test_slow_disk.py: a disk whose syncs are what the file says that SLOW_DISK names.
 *
 *     a number   takes so many microseconds longer
 *     hang       does not come back until the file says something else
 *     fail       fails with EIO
 *
 * The file is read again with each sync. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int (*system_fdatasync)(int file);

__attribute__((constructor)) static void find(void)
{
    /* What dlsym gives is a function, which ISO C has no cast for. */
    *(void **)&system_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
}

static void read_wish(char text[32])
{
    const char *path = getenv("SLOW_DISK");
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t size = 0;

    if (file >= 0) {
        size = read(file, text, 31);
        close(file);
    }
    text[size > 0 ? size : 0] = '\0';
}

static void pause_us(long us)
{
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    if (us > 0) {
        nanosleep(&pause, NULL);
    }
}

int fdatasync(int file)
{
    char wish[32];

    read_wish(wish);
    while (strcmp(wish, "hang") == 0) {
        pause_us(1000);
        read_wish(wish);
    }
    if (strcmp(wish, "fail") == 0) {
        errno = EIO;
        return -1;
    }
    pause_us(strtol(wish, NULL, 10));
    return system_fdatasync(file);
}
