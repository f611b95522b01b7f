/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of seats share: the records of an event, how they are found, and what must be true
 * of them after every change. */
#ifndef CORE_SEATS_H
#define CORE_SEATS_H

#include "base/check.h"
#include "core/state.h"

/* The seats of a zone that are neither reserved nor confirmed. */
static inline int64_t zone_available(const struct zone *zone)
{
    return zone->capacity - zone->reserved - zone->confirmed;
}

/* What must be true of a zone after every change: it never gives away more than there is. */
static inline void zone_check(const struct zone *zone)
{
    CHECK(zone->reserved >= 0 && zone->confirmed >= 0);
    CHECK(zone->reserved + zone->confirmed <= zone->capacity);
}

/* What must be true of a user after every change. */
static inline void seat_user_check(const struct seat_user *user)
{
    CHECK(user->held >= 0 && user->lifetime >= 0);
    CHECK(user->lifetime <= user->confirmed);
}

/* What counts against max_per_user. */
static inline int64_t seat_user_count(const struct seat_user *user)
{
    return user->held + user->lifetime;
}

static inline struct zone *zone_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ZONES, index);
}

static inline struct seat_user *seat_user_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_SEAT_USERS, index);
}

static inline struct booking *booking_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_BOOKINGS, index);
}

static inline uint32_t zone_find(struct core *core, uint32_t event, struct hf_bytes zone)
{
    return event == NONE ? NONE : core_find_recent(core, CORE_ZONES, event, zone);
}

/* Removes a user, or a show, that no booking names any more. */
void seat_user_drop(struct core *core, uint32_t index);
void show_drop(struct core *core, uint32_t index);

#endif
