/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of events, as the feed writes them. */
#include "command/event.h"

const char *event_name(enum event_kind kind)
{
    static const char *const names[EVENT_KINDS] = {
        [EVENT_BOOKING_EXPIRED] = "booking_expired",
        [EVENT_QUOTA_HOLD_EXPIRED] = "quota_hold_expired",
        [EVENT_SLOT_LOST] = "slot_lost",
        [EVENT_WAITER_LOST] = "waiter_lost",
        [EVENT_LOCK_EXPIRED] = "lock_expired",
        [EVENT_ORDER_EXPIRED] = "order_expired",
        [EVENT_QUEUE_ENTRY_LAPSED] = "queue_entry_lapsed",
        [EVENT_PASS_LAPSED] = "pass_lapsed",
        [EVENT_SLOT_GRANTED] = "slot_granted",
    };
    return names[kind];
}
