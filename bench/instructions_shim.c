/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded in front of the server's libraries (LD_PRELOAD) by bench/instructions.py, so that the loop
 * does the same work in each run. Its clocks stand still, but for a nanosecond a reading: no timer
 * fires, and no turn is over before its requests are done. What is random is the same each time, so
 * that the hash tables have the same collisions. Other threads have the system's clocks, which they
 * wait by. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WALL_S 1800000000 /* January 2027 */
#define RUNNING_S 1000    /* of all clocks that do not tell the time of day */

static _Thread_local bool is_loop;
static long read_ns;
static uint64_t random_state;

__attribute__((constructor)) static void begin(void)
{
    is_loop = true; /* of the thread that starts the program */
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!is_loop) {
        return (int)syscall(SYS_clock_gettime, clock, now);
    }
    bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    *now = (struct timespec){.tv_sec = wall ? WALL_S : RUNNING_S, .tv_nsec = ++read_ns};
    return 0;
}

time_t time(time_t *out)
{
    if (out != NULL) {
        *out = WALL_S;
    }
    return WALL_S;
}

ssize_t getrandom(void *out, size_t size, unsigned flags)
{
    uint8_t *bytes = out;

    (void)flags;
    for (size_t i = 0; i < size; i++) {
        random_state = random_state * UINT64_C(6364136223846793005) + 1;
        bytes[i] = (uint8_t)(random_state >> 56);
    }
    return (ssize_t)size;
}
