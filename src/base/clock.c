/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

static int64_t milliseconds(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t read_elapsed(struct clock *clock)
{
    return clock->offset_ms + milliseconds(CLOCK_BOOTTIME);
}

void clock_real(struct clock *clock)
{
    *clock =
        (struct clock){.read = read_elapsed,
                       .offset_ms = milliseconds(CLOCK_REALTIME) - milliseconds(CLOCK_BOOTTIME)};
}

static int64_t read_simulated(struct clock *clock)
{
    return clock->offset_ms;
}

void clock_simulated(struct clock *clock, int64_t now_ms)
{
    *clock = (struct clock){.read = read_simulated, .offset_ms = now_ms};
}

static int64_t read_asked(struct clock *clock)
{
    return clock->ask(clock->context);
}

void clock_asked(struct clock *clock, int64_t (*ask)(void *context), void *context)
{
    *clock = (struct clock){.read = read_asked, .ask = ask, .context = context};
}

void clock_set(struct clock *clock, int64_t now_ms)
{
    clock->offset_ms = now_ms;
}

int64_t clock_now(struct clock *clock)
{
    int64_t now_ms = clock->read(clock);

    if (now_ms > clock->last_ms) {
        clock->last_ms = now_ms;
    }
    return clock->last_ms;
}

uint64_t clock_nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
