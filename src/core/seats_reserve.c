/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.RESERVE: every check before any change, and the records that a new booking needs. */
#include "core/seats.h"

/* Refuses unless the id is the one that the booking was made with. */
static bool same_id(const struct name *stored, struct hf_bytes given, const char *why,
                    struct reply *reply)
{
    struct name name = name_view(given);
    char text[HF_ID_MAX];

    if (!name_same(stored, &name)) {
        reply_refuse_texts(reply, HF_BOOKING_EXISTS, why, name_text(stored, text), given);
        return false;
    }
    return true;
}

static bool same_figure(int64_t stored, int64_t given, const char *why, struct reply *reply)
{
    if (stored != given) {
        reply_refuse_with(reply, HF_BOOKING_EXISTS, why, stored, given, 0);
    }
    return stored == given;
}

/* Same id, same arguments? What the booking did not record is not compared. The first argument that
 * differs is named by the refusal. */
static bool same_booking(const struct core *core, const struct booking *booking,
                         const struct hf_seats_reserve_args *a, struct reply *reply)
{
    struct name zone = record_name(&zone_at(core, booking->zone)->record);
    struct name user = record_name(&seat_user_at(core, booking->user)->record);
    struct name show = {.words = {0, 0}};

    if (booking->show != NONE) {
        show = record_name(core_at(core, CORE_SHOWS, booking->show));
    }
    return same_id(&zone, a->zone, "the booking exists with zone @, not @" ANOTHER_ID, reply) &&
           same_id(&user, a->user, "the booking exists with user @, not @" ANOTHER_ID, reply) &&
           same_figure(booking->quantity, a->quantity,
                       "the booking exists with quantity #, not #" ANOTHER_ID, reply) &&
           same_id(&show, a->show, "the booking exists with SHOW @, not @" ANOTHER_ID, reply) &&
           same_figure(booking->unit_price, a->unit_price,
                       "the booking exists with PRICE #, not #" ANOTHER_ID, reply) &&
           same_figure(booking->ttl_ms, a->ttl_ms,
                       "the booking exists with TTL # ms, not # ms" ANOTHER_ID, reply) &&
           same_figure(!!(booking->record.flags & BOOKING_LIFETIME), a->lifetime,
                       "the booking exists with LIFETIME #, not #" ANOTHER_ID, reply);
}

/* Who asks for which booking: found once, used for looking and for adding. */
struct asking {
    struct key booking, user;
    uint32_t user_index; /* or NONE */
};

/* The records a new booking needs; nothing is left behind when memory runs out. */
static struct booking *add_booking(struct core *core, const struct asking *asking,
                                   struct hf_bytes show_id, uint32_t *index)
{
    uint32_t user = asking->user_index, show = NONE;

    if (user == NONE && (user = core_add(core, CORE_SEAT_USERS, &asking->user)) == NONE) {
        return NULL;
    }
    if (show_id.size > 0 &&
        (show = core_obtain(core, CORE_SHOWS, asking->booking.scope, show_id)) == NONE) {
        seat_user_drop(core, user);
        return NULL;
    }
    *index = core_add(core, CORE_BOOKINGS, &asking->booking);
    if (*index == NONE) {
        seat_user_drop(core, user);
        if (show != NONE) {
            show_drop(core, show);
        }
        return NULL;
    }
    struct booking *booking = booking_at(core, *index);
    booking->user = user;
    booking->show = show;
    booking->sale = NONE;
    seat_user_at(core, user)->bookings++;
    if (show != NONE) {
        ((struct show *)core_at(core, CORE_SHOWS, show))->bookings++;
    }
    return booking;
}

static void answer_reserved(struct reply *reply, const struct zone *zone,
                            const struct seat_user *user, const struct booking *booking)
{
    bool confirmed = booking->record.state == BOOKING_CONFIRMED;

    reply_number(reply, zone_available(zone));
    reply_number(reply, seat_user_count(user));
    reply_number(reply, confirmed ? 0 : booking->timer.deadline_ms);
    reply_word(reply, confirmed ? "confirmed" : "reserved");
}

/* The end of a refusal for the user's sake: what the count has beside seats that are held. */
#define GRACE "; holds that expired count for 60 s more"
_Static_assert(SEATS_USER_GRACE_MS == 60000, "as GRACE says");

/* Do the caller's limit and the zone's allow it? Looks the user up for what follows. */
static bool user_may(const struct core *core, const struct hf_seats_reserve_args *a,
                     const struct zone *zone, struct asking *asking, struct reply *reply)
{
    static const struct seat_user nobody = {.held = 0};

    asking->user_index = core_find_key(core, CORE_SEAT_USERS, &asking->user);
    const struct seat_user *user =
        asking->user_index == NONE ? &nobody : seat_user_at(core, asking->user_index);
    if (a->quantity > a->max_per_user - seat_user_count(user) ||
        a->quantity > HF_INTEGER_MAX - user->held - user->confirmed) {
        reply_refuse_with(reply, HF_USER_LIMIT_EXCEEDED,
                          "the user has # seats, # requested, at most # allowed" GRACE,
                          seat_user_count(user), a->quantity, a->max_per_user);
        return false;
    }
    if (zone->max > 0 && a->quantity > zone->max - seat_user_count_in(user, zone)) {
        reply_refuse_with(
            reply, HF_USER_LIMIT_EXCEEDED,
            zone->record.flags & ZONE_LIFETIME
                ? "the user has # seats with those confirmed, # requested, the zone "
                  "allows at most #" GRACE
                : "the user has # seats, # requested, the zone allows at most #" GRACE,
            seat_user_count_in(user, zone), a->quantity, zone->max);
        return false;
    }
    return true;
}

CORE_COMMAND(seats_reserve)
{
    const struct hf_seats_reserve_args *a = &args->seats_reserve;
    uint32_t event = core_enter(core, CORE_EVENTS, a->event);
    struct asking asking;
    (void)entropy;

    store_key_read(&core->stores[CORE_BOOKINGS], event, a->booking, &asking.booking);
    store_key_read(&core->stores[CORE_SEAT_USERS], event, a->user, &asking.user);
    table_prefetch(&core->stores[CORE_BOOKINGS].table, asking.booking.hash);
    table_prefetch(&core->stores[CORE_SEAT_USERS].table, asking.user.hash);
    uint32_t zone_index = zone_find(core, event, a->zone);
    if (zone_index == NONE) {
        reply_refuse(reply, HF_ZONE_NOT_FOUND, "no such zone: open it first");
        return;
    }
    struct zone *zone = zone_at(core, zone_index);
    uint32_t known = core_find_hold(core, CORE_BOOKINGS, &asking.booking);
    if (known != NONE && !(booking_at(core, known)->record.marks & RECORD_CLOSED)) {
        struct booking *booking = booking_at(core, known);
        if (same_booking(core, booking, a, reply)) {
            answer_reserved(reply, zone, seat_user_at(core, booking->user), booking);
        }
        return;
    }
    if (!room_lets_reserve(core, a, reply)) {
        return;
    }
    if (a->quantity > zone_available(zone)) {
        reply_refuse_with(reply, HF_INSUFFICIENT_STOCK, "# seats available, # requested",
                          zone_available(zone), a->quantity, 0);
        return;
    }
    if (!user_may(core, a, zone, &asking, reply)) {
        return;
    }

    uint32_t index;
    struct booking *booking = add_booking(core, &asking, a->show, &index);
    if (booking == NULL) {
        reply_busy(core, reply);
        return;
    }
    if (known != NONE) {
        core_forget(core, CORE_BOOKINGS, known);
    }
    booking->zone = zone_index;
    booking->quantity = a->quantity;
    booking->unit_price = a->unit_price;
    booking->ttl_ms = (uint32_t)a->ttl_ms;
    booking->created_ms = core->now_ms;
    booking->record.flags = a->lifetime ? BOOKING_LIFETIME : 0;
    seats_add_reserved(core, zone, a->quantity);
    struct seat_user *user = seat_user_at(core, booking->user);
    user->held += a->quantity;
    seat_user_check(user);
    CHECK(seat_user_count(user) <= a->max_per_user);
    CHECK(zone->max == 0 || seat_user_count_in(user, zone) <= zone->max);
    core_arm(core, CORE_BOOKINGS, index, core->now_ms + a->ttl_ms);
    answer_reserved(reply, zone, user, booking);
}
