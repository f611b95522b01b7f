/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of an event: all of it goes at once for whoever looks, and its memory in bounded steps
 * (leaving.c). */
#include "core/seats.h"

/* Refuses while seats are reserved, or confirmed without FORCE. */
static bool may_close(const struct seat_event *event, bool force, struct reply *reply)
{
    int64_t reserved = seats_sum_told(&event->reserved);
    int64_t confirmed = seats_sum_told(&event->confirmed);

    if (reserved > 0) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "# seats are reserved: confirm or release them, or wait until they "
                          "expire",
                          reserved, 0, 0);
        return false;
    }
    if (confirmed > 0 && !force) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "# seats are confirmed: with FORCE they are removed, too", confirmed, 0,
                          0);
        return false;
    }
    return true;
}

CORE_COMMAND(seats_close)
{
    const struct hf_seats_close_args *a = &args->seats_close;
    uint32_t index = core_enter(core, CORE_EVENTS, a->event);
    (void)entropy;

    if (index == NONE) {
        reply_number(reply, 0);
        reply_number(reply, 0);
        return;
    }
    const struct seat_event *event = seat_event_at(core, index);
    if (may_close(event, a->force, reply)) {
        reply_number(reply, event->bookings.count);
        reply_number(reply, event->zones.count);
        core_close_scope(core, CORE_EVENTS, index);
    }
}
