/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <string.h>

#define YEAR_MS ((int64_t)365 * 24 * 3600 * 1000)
#define WALL_START_MS (50 * YEAR_MS)
#define WALL_MIN_MS (10 * YEAR_MS)
#define WALL_MAX_MS (150 * YEAR_MS)

static int64_t elapsed_ms, wall_ms;
static uint64_t boots;

void machine_new(void)
{
    elapsed_ms = 7000;
    wall_ms = WALL_START_MS;
    boots = 1;
}

static int64_t read_elapsed(struct clock *clock)
{
    (void)clock;
    return elapsed_ms;
}

static int64_t read_wall(struct clock *clock)
{
    (void)clock;
    return wall_ms;
}

struct clock machine_clock(void)
{
    uint8_t boot[CLOCK_BOOT_BYTES] = {0};
    struct clock clock;

    memcpy(boot, &boots, sizeof boots);
    clock_running(&clock, read_elapsed, read_wall, boot);
    return clock;
}

int64_t machine_elapsed(void)
{
    return elapsed_ms;
}

static void set_wall(struct dice *dice)
{
    static const int64_t steps_ms[] = {500, 30000, 3600000, YEAR_MS, 10 * YEAR_MS};
    int64_t most_ms = steps_ms[dice_below(dice, sizeof steps_ms / sizeof steps_ms[0])];

    wall_ms += dice_between(dice, -most_ms, most_ms);
    wall_ms = wall_ms < WALL_MIN_MS ? WALL_MIN_MS : wall_ms > WALL_MAX_MS ? WALL_MAX_MS : wall_ms;
}

void machine_wait(struct dice *dice)
{
    static const int64_t longest_ms[] = {5, 100, 2000, 60000, 3600000};
    int64_t ms = dice_between(dice, 0, longest_ms[dice_below(dice, 5)]);

    elapsed_ms += ms;
    wall_ms += ms;
    if (dice_chance(dice, 100)) {
        set_wall(dice);
    }
}

void machine_rest(struct dice *dice)
{
    machine_wait(dice);
    if (dice_chance(dice, 300)) {
        boots++;
        elapsed_ms = dice_between(dice, 1000, 100000);
    }
    if (dice_chance(dice, 300)) {
        set_wall(dice);
    }
}
