/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens without anybody having asked for it: something fell due, a slot passed on. */
#ifndef COMMAND_EVENT_H
#define COMMAND_EVENT_H

#include "base/limits.h"

enum event_kind {
    EVENT_BOOKING_EXPIRED,
    EVENT_QUOTA_HOLD_EXPIRED,
    EVENT_SLOT_LOST,
    EVENT_WAITER_LOST,
    EVENT_LOCK_EXPIRED,
    EVENT_ORDER_EXPIRED,
    EVENT_QUEUE_ENTRY_LAPSED,
    EVENT_PASS_LAPSED,
    EVENT_SLOT_GRANTED,
    EVENT_KINDS
};

struct event {
    enum event_kind kind;
    int64_t time_ms;
    int64_t quantity; /* seats, amount, pieces; the fence of a slot */
    char scope[HF_ID_SIZE];
    char id[HF_ID_SIZE]; /* the resource's own name again where there is no other */
};

/* "booking_expired". */
const char *event_name(enum event_kind kind);

#endif
