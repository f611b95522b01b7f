/* SPDX-License-Identifier: Apache-2.0
 *
 * Timers in O(1): a hierarchical timing wheel over the records of one slab. Eight levels of 64
 * slots reach 2^48 ms at a resolution of 1 ms. The links live in the records, so arming a timer
 * allocates nothing. A record sits at the level of the highest 6-bit digit in which its deadline
 * differs from the wheel's time, and moves down when the wheel reaches that digit. */
#ifndef BASE_WHEEL_H
#define BASE_WHEEL_H

#include "base/slab.h"

#define WHEEL_LEVELS 8
#define WHEEL_SLOTS 64
#define WHEEL_NEVER INT64_MAX

/* Embedded in each record. */
struct timer {
    int64_t deadline_ms; /* 0: not armed */
    uint32_t next, prev; /* circular */
};

struct wheel {
    const struct slab *slab;
    size_t offset; /* of the struct timer in a record */
    int64_t now_ms;
    uint32_t count;
    uint32_t due; /* records whose deadline has been reached and that nobody has popped yet */
    uint64_t occupied[WHEEL_LEVELS];
    uint32_t heads[WHEEL_LEVELS][WHEEL_SLOTS];
};

void wheel_init(struct wheel *wheel, const struct slab *slab, size_t offset);

/* Arms a timer that is not armed. A deadline that has passed is due at once. */
void wheel_add(struct wheel *wheel, uint32_t index, int64_t deadline_ms);
/* Disarms an armed timer. */
void wheel_remove(struct wheel *wheel, uint32_t index);

/* A record with deadline ≤ now_ms, disarmed, in the order of deadlines; NONE when there is no more.
 * Moves the wheel's time forward, and must not be called with an earlier time than before. One that
 * was armed when its deadline had passed already comes after those that were due. */
uint32_t wheel_pop(struct wheel *wheel, int64_t now_ms);

/* No timer is due before this time; WHEEL_NEVER when none is armed. A lower bound, not always
 * exact. */
int64_t wheel_next(const struct wheel *wheel);

/* The circular lists that the wheel is made of, for others that use the links of a timer that is
 * not armed. `head` is the first index, or NONE. */
void timer_chain_append(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index);
void timer_chain_remove(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index);

#endif
