/* SPDX-License-Identifier: Apache-2.0
 *
 * What time it is, in milliseconds since the epoch.
 *
 * The real clock counts the time since the system's boot (CLOCK_BOOTTIME, suspend included) from
 * where clock_begin() has put it. It never runs backwards, never stands still and never jumps:
 * setting the wall clock moves no deadline. Once a second it reads the wall clock and nears it,
 * by at most 1 ms for each second that went by, so that durations keep their length to a thousandth
 * whatever the wall clock does.
 *
 * A caller may keep the clock itself (clock_asked()), or run one as the real one runs, by a boot
 * and a wall clock of its own (clock_running()). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_BOOT_BYTES 16

/* What a run leaves behind for the next one to go on from. */
struct clock_run {
    uint8_t boot[CLOCK_BOOT_BYTES]; /* the boot it ran on; all zero: not known */
    int64_t offset_ms;              /* its time minus the time since that boot */
};

struct clock {
    int64_t (*read)(struct clock *clock);
    int64_t (*elapsed)(struct clock *clock); /* since the boot; NULL: of one that does not run */
    int64_t (*wall)(struct clock *clock);    /* NULL with it */
    uint8_t boot[CLOCK_BOOT_BYTES];
    int64_t offset_ms;             /* the time minus the elapsed time */
    int64_t wall_read_ms;          /* elapsed time when the wall clock was read last */
    int64_t last_ms;               /* the latest time answered */
    int64_t (*ask)(void *context); /* of clock_asked() */
    void *context;
};

void clock_real(struct clock *clock);

/* A clock that the caller keeps. clock_now() stands still after `ask` went back, until it has
 * caught up. */
void clock_asked(struct clock *clock, int64_t (*ask)(void *context), void *context);

/* A clock that runs by these two as the real one does by the system's. */
void clock_running(struct clock *clock, int64_t (*elapsed)(struct clock *clock),
                   int64_t (*wall)(struct clock *clock), const uint8_t boot[CLOCK_BOOT_BYTES]);

/* What clock_begin() found. */
struct clock_beginning {
    bool same_boot;      /* the run before was on this boot: how long it is since is known */
    int64_t expected_ms; /* the time that goes on from the run before, whatever the wall says */
};

/* Puts a clock where it goes on from: the latest of `last_ms`, which a caller has seen; of the
 * time that the run `before` would have by now, if it was on the same boot; and of the wall clock.
 * False if any of them is before 1970 or past CLOCK_MAX_MS. */
bool clock_begin(struct clock *clock, int64_t last_ms, const struct clock_run *before,
                 struct clock_beginning *found);

int64_t clock_now(struct clock *clock);

/* What the next run goes on from. */
struct clock_run clock_run(const struct clock *clock);

/* Milliseconds from an arbitrary start, for measuring what a test's own clock shall move, too. */
int64_t clock_elapsed(struct clock *clock);

/* How far the time is ahead of the wall clock; less than 0: behind. */
int64_t clock_ahead_ms(struct clock *clock);

/* The wall clock as it stands, which anybody may set: for what is shown or compared with other
 * machines' times, never for a deadline. */
int64_t clock_wall_ms(void);

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
