/* SPDX-License-Identifier: Apache-2.0
 *
 * What is done with a booking after its reserve: confirmed, released, refunded, extended, read.
 */
#include "base/text.h"
#include "core/seats.h"

/* Which bookings a command sees beside those that are open: closed ones in this state, for retries
 * of what closed them. */
enum closed_seen {
    SEES_NO_CLOSED,
    SEES_RELEASED = BOOKING_RELEASED,
    SEES_REFUNDED = BOOKING_REFUNDED
};

/* The booking a command is about, or NULL and a refusal. */
static struct booking *find_booking(struct core *core, struct hf_bytes event_id,
                                    struct hf_bytes booking_id, enum closed_seen seen,
                                    uint32_t *index, struct reply *reply)
{
    uint32_t event = core_enter(core, CORE_EVENTS, event_id);
    struct booking *booking = NULL;

    struct key key = core_key(core, CORE_BOOKINGS, event, booking_id);
    *index = event == NONE ? NONE : core_find_hold(core, CORE_BOOKINGS, &key);
    if (*index != NONE) {
        booking = booking_at(core, *index);
    }
    if (booking == NULL ||
        (booking->record.marks & RECORD_CLOSED && booking->record.state != (unsigned)seen)) {
        reply_refuse(reply, HF_RESERVATION_NOT_FOUND, NULL);
        return NULL;
    }
    return booking;
}

/* With USER given, another user's booking is refused. */
static bool is_owner(const struct core *core, const struct booking *booking, struct hf_bytes given,
                     struct reply *reply)
{
    struct name user = record_name(&seat_user_at(core, booking->user)->record);
    struct name name = name_view(given);

    if (given.size > 0 && !name_same(&user, &name)) {
        reply_refuse_texts(reply, HF_NOT_OWNER, "the booking does not belong to user @", given,
                           given);
        return false;
    }
    return true;
}

static void answer_confirmed(const struct core *core, const struct booking *booking,
                             struct reply *reply)
{
    const struct sale *sale = slab_at(&core->sales, booking->sale);

    reply_word(reply, "CONFIRMED");
    booking_reply_code(reply, sale->code);
}

static struct sale *add_sale(struct core *core, struct booking *booking, struct hf_bytes payment)
{
    struct name name = name_view(payment);

    if (!name_own(core->memory, &name)) {
        return NULL;
    }
    booking->sale = slab_take(&core->sales);
    if (booking->sale == NONE) {
        name_free(core->memory, &name);
        return NULL;
    }
    struct sale *sale = slab_at(&core->sales, booking->sale);
    sale->payment = name;
    return sale;
}

CORE_COMMAND(seats_confirm)
{
    const struct hf_seats_confirm_args *a = &args->seats_confirm;
    uint32_t index;
    struct booking *booking =
        find_booking(core, a->event, a->booking, SEES_NO_CLOSED, &index, reply);

    if (booking == NULL || !is_owner(core, booking, a->user, reply)) {
        return;
    }
    if (booking->record.state == BOOKING_CONFIRMED) {
        struct name payment = name_view(a->payment);
        const struct sale *sale = slab_at(&core->sales, booking->sale);
        if (name_same(&sale->payment, &payment)) {
            answer_confirmed(core, booking, reply);
        } else {
            char text[HF_ID_MAX];
            reply_refuse_texts(reply, HF_INVALID_STATE,
                               "the booking is confirmed already, with payment @, not @",
                               name_text(&sale->payment, text), a->payment);
        }
        return;
    }
    struct sale *sale = add_sale(core, booking, a->payment);
    if (sale == NULL) {
        reply_busy(core, reply);
        return;
    }
    memcpy(&sale->code, entropy, sizeof sale->code);
    sale->code &= (UINT64_C(1) << 50) - 1;
    sale->confirmed_ms = core->now_ms;

    struct seat_user *user = seat_user_at(core, booking->user);
    store_disarm(&core->stores[CORE_BOOKINGS], index);
    booking->record.state = BOOKING_CONFIRMED;
    struct zone *zone = zone_at(core, booking->zone);
    seats_add_reserved(core, zone, -booking->quantity);
    seats_add_confirmed(core, zone, booking->quantity);
    user->held -= booking->quantity;
    user->confirmed += booking->quantity;
    user->lifetime += booking->record.flags & BOOKING_LIFETIME ? booking->quantity : 0;
    seat_user_check(user);
    struct name user_name = record_name(&user->record);
    room_confirmed(core, a->event, &user_name);
    answer_confirmed(core, booking, reply);
}

CORE_COMMAND(seats_release)
{
    const struct hf_seats_release_args *a = &args->seats_release;
    uint32_t index;
    struct booking *booking =
        find_booking(core, a->event, a->booking, SEES_RELEASED, &index, reply);
    (void)entropy;

    if (booking == NULL || !is_owner(core, booking, a->user, reply)) {
        return;
    }
    if (booking->record.state == BOOKING_CONFIRMED) {
        reply_refuse(reply, HF_INVALID_STATE,
                     "the booking is confirmed: only a reserved one can be released");
        return;
    }
    struct zone *zone = zone_at(core, booking->zone);
    struct seat_user *user = seat_user_at(core, booking->user);
    if (booking->record.state == BOOKING_RESERVED) {
        store_disarm(&core->stores[CORE_BOOKINGS], index);
        booking->record.state = BOOKING_RELEASED;
        seats_add_reserved(core, zone, -booking->quantity);
        user->held -= booking->quantity;
        seat_user_check(user);
        core_close(core, CORE_BOOKINGS, index);
    }
    reply_word(reply, "SUCCESS");
    reply_number(reply, zone_available(zone));
    reply_number(reply, seat_user_count(user));
}

CORE_COMMAND(seats_refund)
{
    const struct hf_seats_refund_args *a = &args->seats_refund;
    uint32_t index;
    struct booking *booking =
        find_booking(core, a->event, a->booking, SEES_REFUNDED, &index, reply);
    (void)entropy;

    if (booking == NULL || !is_owner(core, booking, a->user, reply)) {
        return;
    }
    if (booking->record.state == BOOKING_RESERVED) {
        reply_refuse(reply, HF_INVALID_STATE,
                     "the booking is reserved: only a confirmed one can be refunded; release it");
        return;
    }
    struct zone *zone = zone_at(core, booking->zone);
    if (booking->record.state == BOOKING_CONFIRMED) {
        struct seat_user *user = seat_user_at(core, booking->user);
        booking->record.state = BOOKING_REFUNDED;
        seats_add_confirmed(core, zone, -booking->quantity);
        user->confirmed -= booking->quantity;
        user->lifetime -= booking->record.flags & BOOKING_LIFETIME ? booking->quantity : 0;
        booking_drop_sale(core, booking);
        seat_user_check(user);
        core_close(core, CORE_BOOKINGS, index);
    }
    reply_word(reply, "REFUNDED");
    reply_number(reply, zone_available(zone));
}

CORE_COMMAND(seats_extend)
{
    const struct hf_seats_extend_args *a = &args->seats_extend;
    uint32_t index;
    struct booking *booking =
        find_booking(core, a->event, a->booking, SEES_NO_CLOSED, &index, reply);
    (void)entropy;

    if (booking == NULL) {
        return;
    }
    if (booking->record.state == BOOKING_CONFIRMED) {
        reply_refuse(reply, HF_INVALID_STATE, "the booking is confirmed and has no deadline");
        return;
    }
    int64_t latest = booking->created_ms + EXTEND_FACTOR * (int64_t)booking->ttl_ms;
    int64_t wanted = core->now_ms + a->ttl_ms;
    int64_t deadline = wanted < latest ? wanted : latest;
    if (deadline > booking->timer.deadline_ms) {
        core_arm(core, CORE_BOOKINGS, index, deadline);
    }
    reply_number(reply, booking->timer.deadline_ms);
}

CORE_COMMAND(seats_get)
{
    const struct hf_seats_get_args *a = &args->seats_get;
    uint32_t index;
    const struct booking *booking =
        find_booking(core, a->event, a->booking, SEES_NO_CLOSED, &index, reply);
    (void)entropy;

    if (booking != NULL) {
        booking_show(core, booking, reply);
    }
}
