/* SPDX-License-Identifier: Apache-2.0
 *
 * Random choices that can be repeated: all of a simulation comes from one seed (splitmix64). */
#ifndef SIM_DICE_H
#define SIM_DICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t mix(uint64_t number)
{
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

static inline uint64_t dice_roll(struct dice *dice)
{
    return mix(dice->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* 0 … limit - 1. */
static inline size_t dice_below(struct dice *dice, size_t limit)
{
    return (size_t)(dice_roll(dice) % limit);
}

static inline int64_t dice_between(struct dice *dice, int64_t low, int64_t high)
{
    return low + (int64_t)(dice_roll(dice) % (uint64_t)(high - low + 1));
}

static inline bool dice_chance(struct dice *dice, unsigned per_mille)
{
    return dice_roll(dice) % 1000 < per_mille;
}

#endif
