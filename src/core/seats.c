/* SPDX-License-Identifier: Apache-2.0
 *
 * Seats: a booking holds seats in one zone of an event for one user until a deadline, then is
 * confirmed, released or expired. Always: capacity = available + reserved + confirmed.
 *
 * Here are the zones, the users and what happens at a deadline; seats_reserve.c makes bookings,
 * seats_booking.c has what is done with one afterwards. */
#include "core/seats.h"

/* ---- zones ----------------------------------------------------------------------------------- */

static uint32_t obtain_zone(struct core *core, struct hf_bytes event_id, struct hf_bytes zone_id)
{
    uint32_t known = core_enter(core, CORE_EVENTS, event_id);
    uint32_t event = known != NONE ? known : core_obtain(core, CORE_EVENTS, 0, event_id);
    struct key key = core_key(core, CORE_ZONES, event, zone_id);
    uint32_t zone = event != NONE ? core_find_key(core, CORE_ZONES, &key) : NONE;

    if (zone != NONE || event == NONE) {
        return zone;
    }
    zone = core_add(core, CORE_ZONES, &key);
    if (zone == NONE && known == NONE) {
        core_forget(core, CORE_EVENTS, event);
    }
    return zone;
}

CORE_COMMAND(seats_open)
{
    const struct hf_seats_open_args *a = &args->seats_open;
    uint32_t index = obtain_zone(core, a->event, a->zone);
    (void)entropy;

    if (index == NONE) {
        reply_busy(core, reply);
        return;
    }
    struct zone *zone = zone_at(core, index);
    if (a->capacity < zone->reserved + zone->confirmed) {
        reply_refuse_with(reply, HF_CAPACITY_IN_USE,
                          "capacity # is below the # seats reserved and # confirmed", a->capacity,
                          zone->reserved, zone->confirmed);
        return;
    }
    zone->capacity = a->capacity;
    zone->max = a->max < HF_INTEGER_MAX ? a->max : 0;
    zone->record.flags = a->lifetime && zone->max > 0 ? ZONE_LIFETIME : 0;
    zone_check(zone);
    reply_number(reply, zone_available(zone));
    reply_number(reply, zone->capacity);
}

CORE_COMMAND(seats_zone)
{
    const struct hf_seats_zone_args *a = &args->seats_zone;
    uint32_t index = zone_find(core, core_enter(core, CORE_EVENTS, a->event), a->zone);
    (void)entropy;

    if (index == NONE) {
        reply_refuse(reply, HF_ZONE_NOT_FOUND, NULL);
        return;
    }
    const struct zone *zone = zone_at(core, index);
    reply_number(reply, zone->capacity);
    reply_number(reply, zone_available(zone));
    reply_number(reply, zone->reserved);
    reply_number(reply, zone->confirmed);
    reply_number(reply, zone->max);
    reply_number(reply, !!(zone->record.flags & ZONE_LIFETIME));
}

CORE_COMMAND(seats_user)
{
    const struct hf_seats_user_args *a = &args->seats_user;
    uint32_t event = core_enter(core, CORE_EVENTS, a->event);
    uint32_t index = event == NONE ? NONE : core_find(core, CORE_SEAT_USERS, event, a->user);
    (void)entropy;

    const struct seat_user *user = index == NONE ? NULL : seat_user_at(core, index);
    reply_number(reply, user ? user->held : 0);
    reply_number(reply, user ? user->confirmed : 0);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* The deadline gives the seats back; the user's count keeps them for the grace. */
void booking_due(struct core *core, uint32_t index)
{
    struct booking *booking = booking_at(core, index);

    if (booking->record.state == BOOKING_LAPSED) {
        seat_user_at(core, booking->user)->held -= booking->quantity;
        seat_user_check(seat_user_at(core, booking->user));
        core_forget(core, CORE_BOOKINGS, index);
        return;
    }
    CHECK(booking->record.state == BOOKING_RESERVED);
    core_emit(core, EVENT_BOOKING_EXPIRED, CORE_EVENTS, &booking->record, booking->quantity);
    seats_add_reserved(core, zone_at(core, booking->zone), -booking->quantity);
    booking->record.state = BOOKING_LAPSED;
    core->lapsed++;
    store_hide(&core->stores[CORE_BOOKINGS], index);
    core_arm(core, CORE_BOOKINGS, index, core->now_ms + SEATS_USER_GRACE_MS);
}

void seat_user_drop(struct core *core, uint32_t index)
{
    if (seat_user_at(core, index)->bookings == 0) {
        core_forget(core, CORE_SEAT_USERS, index);
    }
}

void show_drop(struct core *core, uint32_t index)
{
    struct show *show = core_at(core, CORE_SHOWS, index);

    if (show->bookings == 0) {
        core_forget(core, CORE_SHOWS, index);
    }
}

void booking_drop_sale(struct core *core, struct booking *booking)
{
    if (booking->sale != NONE) {
        name_free(core->memory, &((struct sale *)slab_at(&core->sales, booking->sale))->payment);
        slab_give(&core->sales, booking->sale);
        booking->sale = NONE;
    }
}

void booking_let_go(struct core *core, uint32_t index)
{
    struct booking *booking = booking_at(core, index);

    core->lapsed -= booking->record.state == BOOKING_LAPSED;
    seat_user_at(core, booking->user)->bookings--;
    seat_user_drop(core, booking->user);
    if (booking->show != NONE) {
        ((struct show *)core_at(core, CORE_SHOWS, booking->show))->bookings--;
        show_drop(core, booking->show);
    }
    booking_drop_sale(core, booking);
}
