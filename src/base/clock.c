/* SPDX-License-Identifier: Apache-2.0
 *
 * Running clocks that never go back and never jump, and how a clock goes on from the run before. */
#include "base/clock.h"

#include "base/limits.h"
#include "base/uuid.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WALL_READ_MS 1000 /* between two readings of the wall clock */
#define SLEW_PART 1000    /* it is neared by this part of the time gone by */

_Static_assert(CLOCK_BOOT_BYTES == UUID_BYTES, "a boot is known by a UUID");

static int64_t milliseconds(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- running clocks -------------------------------------------------------------------------- */

static int64_t since_boot(struct clock *clock)
{
    (void)clock;
    return milliseconds(CLOCK_BOOTTIME);
}

int64_t clock_wall_ms(void)
{
    return milliseconds(CLOCK_REALTIME);
}

static int64_t time_of_day(struct clock *clock)
{
    (void)clock;
    return clock_wall_ms();
}

/* All zero where the system does not say: then no run is taken for one of the same boot. */
static void read_boot(uint8_t boot[CLOCK_BOOT_BYTES])
{
    char text[UUID_TEXT + 1] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL || fread(text, 1, UUID_TEXT, file) != UUID_TEXT ||
        !uuid_read(text, UUID_TEXT, boot)) {
        memset(boot, 0, CLOCK_BOOT_BYTES);
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* The clock nears the wall slowly: a holder of ten seconds must not lose its hold after nine
 * because the wall clock was set. */
static void near_wall(struct clock *clock, int64_t elapsed_ms)
{
    int64_t most_ms = (elapsed_ms - clock->wall_read_ms) / SLEW_PART;
    int64_t apart_ms = clock->wall(clock) - (elapsed_ms + clock->offset_ms);

    clock->offset_ms += apart_ms > most_ms ? most_ms : apart_ms < -most_ms ? -most_ms : apart_ms;
    clock->wall_read_ms = elapsed_ms;
}

static int64_t read_running(struct clock *clock)
{
    int64_t elapsed_ms = clock->elapsed(clock);

    if (elapsed_ms - clock->wall_read_ms >= WALL_READ_MS) {
        near_wall(clock, elapsed_ms);
    }
    return elapsed_ms + clock->offset_ms;
}

void clock_running(struct clock *clock, int64_t (*elapsed)(struct clock *clock),
                   int64_t (*wall)(struct clock *clock), const uint8_t boot[CLOCK_BOOT_BYTES])
{
    *clock = (struct clock){.read = read_running, .elapsed = elapsed, .wall = wall};
    memcpy(clock->boot, boot, sizeof clock->boot);
    clock->wall_read_ms = elapsed(clock);
    clock->offset_ms = wall(clock) - clock->wall_read_ms;
}

void clock_real(struct clock *clock)
{
    uint8_t boot[CLOCK_BOOT_BYTES];

    read_boot(boot);
    clock_running(clock, since_boot, time_of_day, boot);
}

/* ---- a clock that the caller keeps ----------------------------------------------------------- */

static int64_t read_asked(struct clock *clock)
{
    return clock->ask(clock->context);
}

void clock_asked(struct clock *clock, int64_t (*ask)(void *context), void *context)
{
    *clock = (struct clock){.read = read_asked, .ask = ask, .context = context};
}

/* ---- from one run to the next ---------------------------------------------------------------- */

static bool is_time(int64_t time_ms)
{
    return time_ms >= 0 && time_ms <= CLOCK_MAX_MS;
}

static bool is_same_boot(const struct clock *clock, const struct clock_run *before)
{
    static const uint8_t unknown[CLOCK_BOOT_BYTES];

    return clock->elapsed != NULL && memcmp(clock->boot, unknown, sizeof unknown) != 0 &&
           memcmp(clock->boot, before->boot, sizeof clock->boot) == 0;
}

bool clock_begin(struct clock *clock, int64_t last_ms, const struct clock_run *before,
                 struct clock_beginning *found)
{
    bool runs = clock->elapsed != NULL;
    int64_t elapsed_ms = runs ? clock->elapsed(clock) : 0;
    int64_t wall_ms = runs ? clock->wall(clock) : clock->read(clock);
    int64_t now_ms = last_ms;

    found->same_boot = is_same_boot(clock, before);
    if (found->same_boot && elapsed_ms + before->offset_ms > now_ms) {
        now_ms = elapsed_ms + before->offset_ms;
    }
    found->expected_ms = now_ms;
    now_ms = wall_ms > now_ms ? wall_ms : now_ms;
    if (!is_time(last_ms) || !is_time(wall_ms) || !is_time(now_ms)) {
        return false;
    }
    if (runs) {
        clock->wall_read_ms = elapsed_ms;
        clock->offset_ms = now_ms - elapsed_ms;
    }
    clock->last_ms = now_ms;
    return true;
}

struct clock_run clock_run(const struct clock *clock)
{
    struct clock_run run = {.offset_ms = 0};

    if (clock->elapsed != NULL) {
        memcpy(run.boot, clock->boot, sizeof run.boot);
        run.offset_ms = clock->offset_ms;
    }
    return run;
}

/* ---- reading --------------------------------------------------------------------------------- */

int64_t clock_now(struct clock *clock)
{
    int64_t now_ms = clock->read(clock);

    if (now_ms > clock->last_ms) {
        clock->last_ms = now_ms;
    }
    return clock->last_ms;
}

int64_t clock_elapsed(struct clock *clock)
{
    return clock->elapsed != NULL ? clock->elapsed(clock) : clock_now(clock);
}

int64_t clock_ahead_ms(struct clock *clock)
{
    return clock->wall != NULL ? clock_now(clock) - clock->wall(clock) : 0;
}

uint64_t clock_nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
