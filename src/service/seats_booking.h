/* SPDX-License-Identifier: Apache-2.0
 *
 * One booking, as a guarded command of seats finds it in the engine before it goes on. */
#ifndef SERVICE_SEATS_BOOKING_H
#define SERVICE_SEATS_BOOKING_H

#include "base/text.h"
#include "service/service_state.h"

/* A booking as SEATS.GET has shown it, or SEATS.LIST at a place of its page. */
struct seats_seen {
    bool reserved;
    char user[HF_ID_SIZE], zone[HF_ID_SIZE], show[HF_ID_SIZE];
    int64_t quantity, unit_price, created_ms, expires_ms;
};
void seats_see(struct seats_seen *seen, const struct reply *reply, size_t first);

/* The state of such a call. */
struct seats_work {
    bool found;
    struct seats_seen seen;
    char code[TEXT_CODE + 1]; /* SEATS.CONFIRM: the code that the booking gets */
    /* SEATS.CONFIRM: the sale of which the engine is not to be told before it is taken back */
    bool selling;
    struct service_told sale;
};

/* The commands about one booking have event and booking in front. */
static inline struct hf_bytes seats_event(const struct service_call *call)
{
    return call->command.args.seats_confirm.event;
}

static inline struct hf_bytes seats_booking(const struct service_call *call)
{
    return call->command.args.seats_confirm.booking;
}

/* Reads the booking; `next` runs with a struct seats_work in call->state, and the engine's answer
 * in call->engine. Without memory the call is refused and ended. */
void seats_read(struct service_call *call, service_run *next);

/* Submits the call's command to the engine, whose answer is the client's; `next` runs then, with
 * the answer in call->engine. */
void seats_forward(struct service_call *call, service_run *next);

/* Drops what the call has, tells the ledger what it is to be told, and ends the call. */
void seats_finish(struct service_call *call);

/* The booking that was read, for its row in the ledger. */
struct ledger_booking seats_row(const struct service_call *call, const char *status);

/* A confirmation with this code, where it is one. */
void seats_seed(struct command *confirm, struct hf_bytes code);

#endif
