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
    CHECK(zone->max >= 0 && (zone->max > 0 || !(zone->record.flags & ZONE_LIFETIME)));
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

/* What counts against the zone's own limit. */
static inline int64_t seat_user_count_in(const struct seat_user *user, const struct zone *zone)
{
    return user->held + (zone->record.flags & ZONE_LIFETIME ? user->confirmed : user->lifetime);
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

static inline struct seat_event *seat_event_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_EVENTS, index);
}

static inline void seats_sum_add(struct seats_sum *sum, int64_t seats)
{
    int64_t rest = sum->rest + seats; /* may be below 0 */

    sum->rest = rest & HF_INTEGER_MAX;
    sum->whole += (rest - sum->rest) / (HF_INTEGER_MAX + 1);
}

/* All seats of a sum, or HF_INTEGER_MAX if they are more. */
static inline int64_t seats_sum_told(const struct seats_sum *sum)
{
    return sum->whole > 0 ? HF_INTEGER_MAX : sum->rest;
}

/* What must be true of an event after every change; the audit proves that its totals are those of
 * its zones and bookings. */
static inline void seat_event_check(const struct seat_event *event)
{
    CHECK(event->reserved.whole >= 0 && event->confirmed.whole >= 0);
    CHECK(event->bookings.count > 0 ||
          (seats_sum_told(&event->reserved) == 0 && seats_sum_told(&event->confirmed) == 0));
}

/* What a command or a deadline adds to the reserved seats of a zone and of its event. */
static inline void seats_add_reserved(struct core *core, struct zone *zone, int64_t seats)
{
    struct seat_event *event = seat_event_at(core, zone->record.scope);

    zone->reserved += seats;
    seats_sum_add(&event->reserved, seats);
    zone_check(zone);
    seat_event_check(event);
}

/* The same for those that are confirmed. */
static inline void seats_add_confirmed(struct core *core, struct zone *zone, int64_t seats)
{
    struct seat_event *event = seat_event_at(core, zone->record.scope);

    zone->confirmed += seats;
    seats_sum_add(&event->confirmed, seats);
    zone_check(zone);
    seat_event_check(event);
}

/* Removes a user, or a show, that no booking names any more. */
void seat_user_drop(struct core *core, uint32_t index);
void show_drop(struct core *core, uint32_t index);

/* All there is to tell of a booking, in the order of SEATS.GET's row; the last three fields only if
 * it is confirmed. */
void booking_show(struct core *core, const struct booking *booking, struct reply *reply);
void booking_reply_code(struct reply *reply, uint64_t code);

/* Forgets a booking's payment and confirmation code, if it has them. */
void booking_drop_sale(struct core *core, struct booking *booking);

#endif
