/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wheel.h"

#include "base/check.h"

#include <string.h>

#define DIGIT_BITS 6

_Static_assert(1 << DIGIT_BITS == WHEEL_SLOTS, "a digit names a slot");

static struct timer *link_at(const struct slab *slab, size_t offset, uint32_t index)
{
    return (struct timer *)((char *)slab_at(slab, index) + offset);
}

static struct timer *timer_at(const struct wheel *wheel, uint32_t index)
{
    return link_at(wheel->slab, wheel->offset, index);
}

void wheel_init(struct wheel *wheel, const struct slab *slab, size_t offset)
{
    *wheel = (struct wheel){.slab = slab, .offset = offset, .due = NONE};
    memset(wheel->heads, 0xff, sizeof wheel->heads);
}

static unsigned digit(int64_t time_ms, unsigned level)
{
    return (unsigned)(time_ms >> (level * DIGIT_BITS)) & (WHEEL_SLOTS - 1);
}

/* Only for a deadline after the wheel's time. It stays right while the wheel turns, because a slot
 * is emptied at the moment its digit is reached. */
static unsigned level_of(const struct wheel *wheel, int64_t deadline_ms)
{
    uint64_t differs = (uint64_t)(deadline_ms ^ wheel->now_ms);
    unsigned level = (63 - (unsigned)__builtin_clzll(differs)) / DIGIT_BITS;

    CHECK(level < WHEEL_LEVELS);
    return level;
}

void timer_chain_append(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index)
{
    struct timer *timer = link_at(slab, offset, index);

    if (*head == NONE) {
        timer->next = timer->prev = index;
        *head = index;
        return;
    }
    struct timer *first = link_at(slab, offset, *head);
    timer->next = *head;
    timer->prev = first->prev;
    link_at(slab, offset, first->prev)->next = index;
    first->prev = index;
}

void timer_chain_remove(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index)
{
    struct timer *timer = link_at(slab, offset, index);

    if (timer->next == index) {
        *head = NONE;
        return;
    }
    link_at(slab, offset, timer->prev)->next = timer->next;
    link_at(slab, offset, timer->next)->prev = timer->prev;
    if (*head == index) {
        *head = timer->next;
    }
}

static void chain_append(struct wheel *wheel, uint32_t *head, uint32_t index)
{
    timer_chain_append(wheel->slab, wheel->offset, head, index);
}

static void chain_remove(struct wheel *wheel, uint32_t *head, uint32_t index)
{
    timer_chain_remove(wheel->slab, wheel->offset, head, index);
}

static void put(struct wheel *wheel, uint32_t index, int64_t deadline_ms)
{
    if (deadline_ms <= wheel->now_ms) {
        chain_append(wheel, &wheel->due, index);
        return;
    }
    unsigned level = level_of(wheel, deadline_ms);
    unsigned slot = digit(deadline_ms, level);
    chain_append(wheel, &wheel->heads[level][slot], index);
    wheel->occupied[level] |= UINT64_C(1) << slot;
}

void wheel_add(struct wheel *wheel, uint32_t index, int64_t deadline_ms)
{
    struct timer *timer = timer_at(wheel, index);

    CHECK(timer->deadline_ms == 0 && deadline_ms > 0);
    timer->deadline_ms = deadline_ms;
    put(wheel, index, deadline_ms);
    wheel->count++;
}

void wheel_remove(struct wheel *wheel, uint32_t index)
{
    struct timer *timer = timer_at(wheel, index);

    CHECK(timer->deadline_ms != 0);
    if (timer->deadline_ms <= wheel->now_ms) {
        chain_remove(wheel, &wheel->due, index);
    } else {
        unsigned level = level_of(wheel, timer->deadline_ms);
        unsigned slot = digit(timer->deadline_ms, level);
        chain_remove(wheel, &wheel->heads[level][slot], index);
        if (wheel->heads[level][slot] == NONE) {
            wheel->occupied[level] &= ~(UINT64_C(1) << slot);
        }
    }
    timer->deadline_ms = 0;
    wheel->count--;
}

/* The first occupied slot after the wheel's time: its level, and the time at which it begins. The
 * lower levels come first in time, because their records share all higher digits with now. */
static int64_t next_slot(const struct wheel *wheel, unsigned *found)
{
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        unsigned here = digit(wheel->now_ms, level);
        uint64_t later = wheel->occupied[level] & ~((UINT64_C(2) << here) - 1);
        if (later != 0) {
            unsigned shift = level * DIGIT_BITS;
            int64_t base = wheel->now_ms >> (shift + DIGIT_BITS) << (shift + DIGIT_BITS);
            *found = level;
            return base | (int64_t)__builtin_ctzll(later) << shift;
        }
    }
    return WHEEL_NEVER;
}

int64_t wheel_next(const struct wheel *wheel)
{
    unsigned level;

    if (wheel->count == 0) {
        return WHEEL_NEVER;
    }
    return wheel->due != NONE ? wheel->now_ms : next_slot(wheel, &level);
}

/* The wheel's time has reached the slot: its records move down, or are due. */
static void open_slot(struct wheel *wheel, unsigned level)
{
    unsigned slot = digit(wheel->now_ms, level);
    uint32_t head = wheel->heads[level][slot];

    wheel->heads[level][slot] = NONE;
    wheel->occupied[level] &= ~(UINT64_C(1) << slot);
    if (level == 0) {
        wheel->due = head; /* all have the same deadline; due was empty */
        return;
    }
    uint32_t last = timer_at(wheel, head)->prev;
    for (uint32_t index = head, next;; index = next) {
        struct timer *timer = timer_at(wheel, index);
        next = timer->next;
        put(wheel, index, timer->deadline_ms);
        if (index == last) {
            break;
        }
    }
}

uint32_t wheel_pop(struct wheel *wheel, int64_t now_ms)
{
    unsigned level = 0;

    while (wheel->due == NONE) {
        int64_t begins = wheel->count ? next_slot(wheel, &level) : WHEEL_NEVER;
        if (begins > now_ms) {
            wheel->now_ms = now_ms > wheel->now_ms ? now_ms : wheel->now_ms;
            return NONE;
        }
        wheel->now_ms = begins;
        open_slot(wheel, level);
    }
    uint32_t index = wheel->due;
    chain_remove(wheel, &wheel->due, index);
    timer_at(wheel, index)->deadline_ms = 0;
    wheel->count--;
    return index;
}
