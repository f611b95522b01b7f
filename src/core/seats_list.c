/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is to tell of a booking, and SEATS.LIST: the bookings of an event, page by page. */
#include "base/text.h"
#include "core/seats.h"

/* ---- one booking ----------------------------------------------------------------------------- */

void booking_reply_code(struct reply *reply, uint64_t code)
{
    char text[TEXT_CODE];

    text_code(text, code);
    reply_text(reply, text, sizeof text);
}

static void reply_record_name(struct core *core, enum kind kind, uint32_t index,
                              struct reply *reply)
{
    struct name name = record_name(core_at(core, kind, index));
    reply_name(reply, &name);
}

void booking_show(struct core *core, const struct booking *booking, struct reply *reply)
{
    struct name name = record_name(&booking->record);
    bool confirmed = booking->record.state == BOOKING_CONFIRMED;

    reply_name(reply, &name);
    reply_record_name(core, CORE_SEAT_USERS, booking->user, reply);
    reply_record_name(core, CORE_ZONES, booking->zone, reply);
    reply_record_name(core, CORE_EVENTS, booking->record.scope, reply);
    if (booking->show == NONE) {
        reply_word(reply, "");
    } else {
        reply_record_name(core, CORE_SHOWS, booking->show, reply);
    }
    reply_number(reply, booking->quantity);
    reply_number(reply, booking->unit_price);
    reply_word(reply, confirmed ? "confirmed" : "reserved");
    reply_number(reply, booking->created_ms);
    reply_number(reply, booking->timer.deadline_ms);
    if (confirmed) {
        const struct sale *sale = slab_at(&core->sales, booking->sale);
        reply_number(reply, sale->confirmed_ms);
        reply_name(reply, &sale->payment);
        booking_reply_code(reply, sale->code);
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Which bookings are wanted. */
struct booking_filter {
    bool by_zone, by_user;
    uint32_t zone, user;    /* NONE: there is no such zone or user, and so no booking */
    struct hf_bytes status; /* "any", "reserved" or "confirmed" */
};

static bool is_wanted(const struct booking *booking, const struct booking_filter *filter)
{
    bool confirmed = booking->record.state == BOOKING_CONFIRMED;

    return (!filter->by_zone || booking->zone == filter->zone) &&
           (!filter->by_user || booking->user == filter->user) &&
           (text_equal(filter->status, hf_text("any")) ||
            text_equal(filter->status, hf_text(confirmed ? "confirmed" : "reserved")));
}

static bool show_wanted(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct booking *booking = booking_at(core, index);
    size_t end = reply->count + command_table[SEATS_LIST].field_count;

    if (!is_wanted(booking, context)) {
        return false;
    }
    booking_show(core, booking, reply);
    while (reply->count < end) {
        reply_absent(reply);
    }
    return true;
}

CORE_COMMAND(seats_list)
{
    const struct hf_seats_list_args *a = &args->seats_list;
    uint32_t event = core_enter(core, CORE_EVENTS, a->event);
    struct booking_filter filter = {.by_zone = a->zone.size > 0,
                                    .by_user = a->user.size > 0,
                                    .zone = NONE,
                                    .user = NONE,
                                    .status = a->status};
    (void)entropy;

    if (event != NONE && filter.by_zone) {
        filter.zone = zone_find(core, event, a->zone);
    }
    if (event != NONE && filter.by_user) {
        filter.user = core_find(core, CORE_SEAT_USERS, event, a->user);
    }
    bool nothing =
        (filter.by_zone && filter.zone == NONE) || (filter.by_user && filter.user == NONE);
    struct page page = {.command = SEATS_LIST,
                        .kind = CORE_BOOKINGS,
                        .scope = nothing ? NONE : event,
                        .after = a->after,
                        .count = a->count,
                        .show = show_wanted,
                        .context = &filter};
    core_page(core, &page, reply);
}
