/* SPDX-License-Identifier: Apache-2.0
 *
 * What time it is, in milliseconds since the epoch, never running backwards. The real clock reads
 * the wall once, when it is started, and then counts elapsed time (suspend included), so that
 * setting the wall clock moves no deadline. A simulated clock stands where it is put. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t (*read)(struct clock *clock);
    int64_t offset_ms;             /* real: wall minus elapsed time at the start */
    int64_t last_ms;               /* the latest time told */
    int64_t (*ask)(void *context); /* clock_asked(): who knows */
    void *context;
};

void clock_real(struct clock *clock);
void clock_simulated(struct clock *clock, int64_t now_ms);

/* A clock that somebody else keeps. */
void clock_asked(struct clock *clock, int64_t (*ask)(void *context), void *context);

/* Moves a simulated clock, backwards too: clock_now() then stands still until it has caught up. */
void clock_set(struct clock *clock, int64_t now_ms);

int64_t clock_now(struct clock *clock);

/* For measuring: nanoseconds from an arbitrary start. */
uint64_t clock_nanoseconds(void);

/* The same in a unit of the processor's own, which is quicker to read. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return clock_nanoseconds();
#endif
}

#endif
