/* SPDX-License-Identifier: Apache-2.0
 *
 * What the guarded commands about one booking have in common: reading it, handing the command on
 * to the engine, and the end. */
#include "service/seats_booking.h"

#include <stdio.h>
#include <stdlib.h>

/* A booking as SEATS.GET shows it, in the order of its fields. */
enum booking_field {
    FIELD_BOOKING,
    FIELD_USER,
    FIELD_ZONE,
    FIELD_EVENT,
    FIELD_SHOW,
    FIELD_QUANTITY,
    FIELD_PRICE,
    FIELD_STATUS,
    FIELD_CREATED,
    FIELD_EXPIRES
};

#define SAME_PLACE(command)                                                                        \
    _Static_assert(offsetof(struct hf_seats_confirm_args, event) ==                                \
                           offsetof(struct hf_seats_##command##_args, event) &&                    \
                       offsetof(struct hf_seats_confirm_args, booking) ==                          \
                           offsetof(struct hf_seats_##command##_args, booking),                    \
                   "event and booking are at the same place")
SAME_PLACE(refund);
SAME_PLACE(release);
SAME_PLACE(extend);

static void keep_text(char out[HF_ID_SIZE], const struct reply *reply, size_t i)
{
    struct hf_bytes text = {"", 0};

    if (i < reply->count && reply->values[i].kind == VALUE_TEXT) {
        text = reply_bytes(reply, i);
    }
    snprintf(out, HF_ID_SIZE, "%.*s", (int)text.size, text.data);
}

static int64_t number_of(const struct reply *reply, size_t i)
{
    return i < reply->count && reply->values[i].kind == VALUE_NUMBER ? reply->values[i].number : 0;
}

void seats_see(struct seats_seen *seen, const struct reply *reply, size_t first)
{
    char status[HF_ID_SIZE];

    keep_text(seen->user, reply, first + FIELD_USER);
    keep_text(seen->zone, reply, first + FIELD_ZONE);
    keep_text(seen->show, reply, first + FIELD_SHOW);
    keep_text(status, reply, first + FIELD_STATUS);
    seen->quantity = number_of(reply, first + FIELD_QUANTITY);
    seen->unit_price = number_of(reply, first + FIELD_PRICE);
    seen->created_ms = number_of(reply, first + FIELD_CREATED);
    seen->expires_ms = number_of(reply, first + FIELD_EXPIRES);
    seen->reserved = strcmp(status, "reserved") == 0;
}

/* Called by the engine. */
static void booking_read(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct seats_work *work = call->state;

    call_note(call, reply);
    work->found = reply->code == HF_OK;
    if (work->found) {
        seats_see(&work->seen, reply, 0);
    }
    call_ready(call, call->run);
}

void seats_read(struct service_call *call, service_run *next)
{
    struct command get = {.spec = &command_table[SEATS_GET]};

    if (call_add_state(call, sizeof(struct seats_work), free) == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        seats_finish(call);
        return;
    }
    get.args.seats_get =
        (struct hf_seats_get_args){.event = seats_event(call), .booking = seats_booking(call)};
    call->run = next;
    engine_submit(call->service->inner, &get, booking_read, call);
}

/* Called by the engine. */
static void forwarded(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    call_note(call, reply);
    call_answer(call, reply);
    call_ready(call, call->run);
}

void seats_forward(struct service_call *call, service_run *next)
{
    call->run = next;
    engine_submit(call->service->inner, &call->command, forwarded, call);
}

void seats_finish(struct service_call *call)
{
    call_drop_state(call);
    if (call->untold) {
        call_told(call);
    }
    call_end(call);
}

struct ledger_booking seats_row(const struct service_call *call, const char *status)
{
    const struct seats_work *work = call->state;

    return (struct ledger_booking){.event = seats_event(call),
                                   .booking = seats_booking(call),
                                   .zone = hf_text(work->seen.zone),
                                   .user = hf_text(work->seen.user),
                                   .show = hf_text(work->seen.show),
                                   .status = hf_text(status),
                                   .quantity = work->seen.quantity,
                                   .unit_price = work->seen.unit_price,
                                   .created_ms = work->seen.created_ms,
                                   .expires_ms = work->seen.expires_ms,
                                   .trace = hf_text(call->trace)};
}

void seats_seed(struct command *confirm, struct hf_bytes code)
{
    uint64_t number;

    if (text_code_read(code, &number)) {
        memset(confirm->entropy, 0, sizeof confirm->entropy);
        memcpy(confirm->entropy, &number, sizeof number);
        confirm->seeded = true;
    }
}
