/* SPDX-License-Identifier: Apache-2.0
 *
 * Seats: a booking holds seats in one zone of an event for one user until a deadline, then is
 * confirmed, released or expired. Always: capacity = available + reserved + confirmed. */
#include "base/check.h"
#include "base/text.h"
#include "core/state.h"

static int64_t available(const struct zone *zone)
{
    return zone->capacity - zone->reserved - zone->confirmed;
}

/* What must be true of a zone after every change: it never gives away more than there is. */
static void zone_check(const struct zone *zone)
{
    CHECK(zone->reserved >= 0 && zone->confirmed >= 0);
    CHECK(zone->reserved + zone->confirmed <= zone->capacity);
}

/* What must be true of a user after every change. */
static void user_check(const struct seat_user *user)
{
    CHECK(user->held >= 0 && user->lifetime >= 0);
    CHECK(user->lifetime <= user->confirmed);
}

/* What counts against max_per_user. */
static int64_t user_count(const struct seat_user *user)
{
    return user->held + user->lifetime;
}

static struct zone *zone_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ZONES, index);
}

static struct seat_user *user_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_SEAT_USERS, index);
}

static struct booking *booking_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_BOOKINGS, index);
}

static uint32_t find_zone(struct core *core, uint32_t event, struct hf_bytes zone)
{
    return event == NONE ? NONE : core_find_recent(core, CORE_ZONES, event, zone);
}

/* ---- zones ----------------------------------------------------------------------------------- */

static uint32_t obtain_zone(struct core *core, struct hf_bytes event_id, struct hf_bytes zone_id)
{
    uint32_t known = core_enter(core, CORE_EVENTS, event_id);
    uint32_t event = known != NONE ? known : core_obtain(core, CORE_EVENTS, 0, event_id);
    uint32_t zone = event != NONE ? core_obtain(core, CORE_ZONES, event, zone_id) : NONE;

    if (zone == NONE && known == NONE && event != NONE) {
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
    zone_check(zone);
    reply_number(reply, available(zone));
    reply_number(reply, zone->capacity);
}

CORE_COMMAND(seats_zone)
{
    const struct hf_seats_zone_args *a = &args->seats_zone;
    uint32_t index = find_zone(core, core_enter(core, CORE_EVENTS, a->event), a->zone);
    (void)entropy;

    if (index == NONE) {
        reply_refuse(reply, HF_ZONE_NOT_FOUND, NULL);
        return;
    }
    const struct zone *zone = zone_at(core, index);
    reply_number(reply, zone->capacity);
    reply_number(reply, available(zone));
    reply_number(reply, zone->reserved);
    reply_number(reply, zone->confirmed);
}

CORE_COMMAND(seats_user)
{
    const struct hf_seats_user_args *a = &args->seats_user;
    uint32_t event = core_enter(core, CORE_EVENTS, a->event);
    uint32_t index = event == NONE ? NONE : core_find(core, CORE_SEAT_USERS, event, a->user);
    (void)entropy;

    const struct seat_user *user = index == NONE ? NULL : user_at(core, index);
    reply_number(reply, user ? user->held : 0);
    reply_number(reply, user ? user->confirmed : 0);
}

/* ---- reserve --------------------------------------------------------------------------------- */

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
    struct name user = record_name(&user_at(core, booking->user)->record);
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

static void drop_user(struct core *core, uint32_t index)
{
    if (user_at(core, index)->bookings == 0) {
        core_forget(core, CORE_SEAT_USERS, index);
    }
}

static void drop_show(struct core *core, uint32_t index)
{
    struct show *show = core_at(core, CORE_SHOWS, index);

    if (show->bookings == 0) {
        core_forget(core, CORE_SHOWS, index);
    }
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
        drop_user(core, user);
        return NULL;
    }
    *index = core_add(core, CORE_BOOKINGS, &asking->booking);
    if (*index == NONE) {
        drop_user(core, user);
        if (show != NONE) {
            drop_show(core, show);
        }
        return NULL;
    }
    struct booking *booking = booking_at(core, *index);
    booking->user = user;
    booking->show = show;
    booking->sale = NONE;
    user_at(core, user)->bookings++;
    if (show != NONE) {
        ((struct show *)core_at(core, CORE_SHOWS, show))->bookings++;
    }
    return booking;
}

static void answer_reserved(struct reply *reply, const struct zone *zone,
                            const struct seat_user *user, const struct booking *booking)
{
    bool confirmed = booking->record.state == BOOKING_CONFIRMED;

    reply_number(reply, available(zone));
    reply_number(reply, user_count(user));
    reply_word(reply, confirmed ? "confirmed" : "reserved");
    reply_number(reply, confirmed ? 0 : booking->timer.deadline_ms);
}

/* Does the user's limit allow it? Looks the user up for what follows. */
static bool user_may(const struct core *core, const struct hf_seats_reserve_args *a,
                     struct asking *asking, struct reply *reply)
{
    static const struct seat_user nobody = {.held = 0};

    asking->user_index = core_find_key(core, CORE_SEAT_USERS, &asking->user);
    const struct seat_user *user =
        asking->user_index == NONE ? &nobody : user_at(core, asking->user_index);
    if (a->quantity > a->max_per_user - user_count(user) ||
        a->quantity > HF_INTEGER_MAX - user->held - user->confirmed) {
        reply_refuse_with(reply, HF_USER_LIMIT_EXCEEDED,
                          "the user has # seats, # requested, at most # allowed", user_count(user),
                          a->quantity, a->max_per_user);
        return false;
    }
    return true;
}

CORE_COMMAND(seats_reserve)
{
    const struct hf_seats_reserve_args *a = &args->seats_reserve;
    uint32_t event = core_enter(core, CORE_EVENTS, a->event);
    struct asking asking = {.booking = core_key(core, CORE_BOOKINGS, event, a->booking),
                            .user = core_key(core, CORE_SEAT_USERS, event, a->user)};
    (void)entropy;

    table_prefetch(&core->stores[CORE_BOOKINGS].table, asking.booking.hash);
    table_prefetch(&core->stores[CORE_SEAT_USERS].table, asking.user.hash);
    uint32_t zone_index = find_zone(core, event, a->zone);
    if (zone_index == NONE) {
        reply_refuse(reply, HF_ZONE_NOT_FOUND, "no such zone: open it first");
        return;
    }
    struct zone *zone = zone_at(core, zone_index);
    uint32_t known = core_find_hold(core, CORE_BOOKINGS, &asking.booking);
    if (known != NONE && booking_at(core, known)->record.state != BOOKING_RELEASED) {
        struct booking *booking = booking_at(core, known);
        if (same_booking(core, booking, a, reply)) {
            answer_reserved(reply, zone, user_at(core, booking->user), booking);
        }
        return;
    }
    if (a->quantity > available(zone)) {
        reply_refuse_with(reply, HF_INSUFFICIENT_STOCK, "# seats available, # requested",
                          available(zone), a->quantity, 0);
        return;
    }
    if (!user_may(core, a, &asking, reply)) {
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
    zone->reserved += a->quantity;
    struct seat_user *user = user_at(core, booking->user);
    user->held += a->quantity;
    zone_check(zone);
    user_check(user);
    CHECK(user_count(user) <= a->max_per_user);
    core_arm(core, CORE_BOOKINGS, index, core->now_ms + a->ttl_ms);
    answer_reserved(reply, zone, user, booking);
}

/* ---- after the reserve ----------------------------------------------------------------------- */

/* The booking a command is about, or NULL and a refusal. Released ones are found only on request.
 */
static struct booking *find_booking(struct core *core, struct hf_bytes event_id,
                                    struct hf_bytes booking_id, bool released, uint32_t *index,
                                    struct reply *reply)
{
    uint32_t event = core_enter(core, CORE_EVENTS, event_id);
    struct booking *booking = NULL;

    struct key key = core_key(core, CORE_BOOKINGS, event, booking_id);
    *index = event == NONE ? NONE : core_find_hold(core, CORE_BOOKINGS, &key);
    if (*index != NONE) {
        booking = booking_at(core, *index);
    }
    if (booking == NULL || (booking->record.state == BOOKING_RELEASED && !released)) {
        reply_refuse(reply, HF_RESERVATION_NOT_FOUND, NULL);
        return NULL;
    }
    return booking;
}

/* With USER given, another user's booking is refused. */
static bool is_owner(const struct core *core, const struct booking *booking, struct hf_bytes given,
                     struct reply *reply)
{
    struct name user = record_name(&user_at(core, booking->user)->record);
    struct name name = name_view(given);

    if (given.size > 0 && !name_same(&user, &name)) {
        reply_refuse_texts(reply, HF_NOT_OWNER, "the booking does not belong to user @", given,
                           given);
        return false;
    }
    return true;
}

static void reply_code(struct reply *reply, uint64_t code)
{
    char text[TEXT_CODE];

    text_code(text, code);
    reply_text(reply, text, sizeof text);
}

static void answer_confirmed(const struct core *core, const struct booking *booking,
                             struct reply *reply)
{
    const struct sale *sale = slab_at(&core->sales, booking->sale);

    reply_word(reply, "CONFIRMED");
    reply_code(reply, sale->code);
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
    struct booking *booking = find_booking(core, a->event, a->booking, false, &index, reply);

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

    struct zone *zone = zone_at(core, booking->zone);
    struct seat_user *user = user_at(core, booking->user);
    store_disarm(&core->stores[CORE_BOOKINGS], index);
    booking->record.state = BOOKING_CONFIRMED;
    zone->reserved -= booking->quantity;
    zone->confirmed += booking->quantity;
    user->held -= booking->quantity;
    user->confirmed += booking->quantity;
    user->lifetime += booking->record.flags & BOOKING_LIFETIME ? booking->quantity : 0;
    zone_check(zone);
    user_check(user);
    answer_confirmed(core, booking, reply);
}

CORE_COMMAND(seats_release)
{
    const struct hf_seats_release_args *a = &args->seats_release;
    uint32_t index;
    struct booking *booking = find_booking(core, a->event, a->booking, true, &index, reply);
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
    struct seat_user *user = user_at(core, booking->user);
    if (booking->record.state == BOOKING_RESERVED) {
        store_disarm(&core->stores[CORE_BOOKINGS], index);
        booking->record.state = BOOKING_RELEASED;
        zone->reserved -= booking->quantity;
        user->held -= booking->quantity;
        zone_check(zone);
        user_check(user);
        core_close(core, CORE_BOOKINGS, index);
    }
    reply_word(reply, "SUCCESS");
    reply_number(reply, available(zone));
    reply_number(reply, user_count(user));
}

CORE_COMMAND(seats_extend)
{
    const struct hf_seats_extend_args *a = &args->seats_extend;
    uint32_t index;
    struct booking *booking = find_booking(core, a->event, a->booking, false, &index, reply);
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
    const struct booking *booking = find_booking(core, a->event, a->booking, false, &index, reply);
    (void)entropy;

    if (booking == NULL) {
        return;
    }
    struct name name = record_name(&booking->record);
    struct name user = record_name(&user_at(core, booking->user)->record);
    struct name zone = record_name(&zone_at(core, booking->zone)->record);
    reply_name(reply, &name);
    reply_name(reply, &user);
    reply_name(reply, &zone);
    reply_text(reply, a->event.data, a->event.size);
    if (booking->show == NONE) {
        reply_word(reply, "");
    } else {
        struct name show = record_name(core_at(core, CORE_SHOWS, booking->show));
        reply_name(reply, &show);
    }
    reply_number(reply, booking->quantity);
    reply_number(reply, booking->unit_price);
    bool confirmed = booking->record.state == BOOKING_CONFIRMED;
    reply_word(reply, confirmed ? "confirmed" : "reserved");
    reply_number(reply, booking->created_ms);
    reply_number(reply, booking->timer.deadline_ms);
    if (confirmed) {
        const struct sale *sale = slab_at(&core->sales, booking->sale);
        reply_number(reply, sale->confirmed_ms);
        reply_name(reply, &sale->payment);
        reply_code(reply, sale->code);
    }
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* The deadline gives the seats back; the user's count keeps them for the grace. */
void booking_due(struct core *core, uint32_t index)
{
    struct booking *booking = booking_at(core, index);

    if (booking->record.state == BOOKING_LAPSED) {
        core->lapsed--;
        user_at(core, booking->user)->held -= booking->quantity;
        user_check(user_at(core, booking->user));
        core_forget(core, CORE_BOOKINGS, index);
        return;
    }
    CHECK(booking->record.state == BOOKING_RESERVED);
    core_emit(core, EVENT_BOOKING_EXPIRED, CORE_EVENTS, &booking->record, booking->quantity);
    zone_at(core, booking->zone)->reserved -= booking->quantity;
    zone_check(zone_at(core, booking->zone));
    booking->record.state = BOOKING_LAPSED;
    core->lapsed++;
    store_hide(&core->stores[CORE_BOOKINGS], index);
    core_arm(core, CORE_BOOKINGS, index, core->now_ms + SEATS_USER_GRACE_MS);
}

void booking_let_go(struct core *core, uint32_t index)
{
    struct booking *booking = booking_at(core, index);

    user_at(core, booking->user)->bookings--;
    drop_user(core, booking->user);
    if (booking->show != NONE) {
        ((struct show *)core_at(core, CORE_SHOWS, booking->show))->bookings--;
        drop_show(core, booking->show);
    }
    if (booking->sale != NONE) {
        name_free(core->memory, &((struct sale *)slab_at(&core->sales, booking->sale))->payment);
        slab_give(&core->sales, booking->sale);
    }
}
