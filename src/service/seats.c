/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.CONFIRM and SEATS.REFUND with a ledger that was given: the row of the booking and the
 * zone's counter are changed in the ledger first, the engine follows.
 *
 *   CONFIRM   GET ─> sale ─> CONFIRM ─> answer, told
 *                       │       │ the hold has lapsed meanwhile
 *                       │       └─> RESERVE ─> CONFIRM; refused: the sale is taken back
 *                       └─ sold out: the hold stays, and lapses or is released
 *
 *   REFUND    GET ─> end ─> REFUND ─> answer, told
 *
 * What the engine itself would refuse (no such booking, another user's, in another state) it is
 * left to refuse, before the ledger is asked. */
#include "base/check.h"
#include "base/fault.h"
#include "service/service_state.h"

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
    FIELD_STATUS
};

struct seats_work {
    bool found, reserved;
    char user[HF_ID_SIZE], zone[HF_ID_SIZE], show[HF_ID_SIZE];
    int64_t quantity, unit_price;
};

/* Both commands have these in front. */
static struct hf_bytes event_of(const struct service_call *call)
{
    return call->command.args.seats_confirm.event;
}

static struct hf_bytes booking_of(const struct service_call *call)
{
    return call->command.args.seats_confirm.booking;
}

_Static_assert(offsetof(struct hf_seats_confirm_args, booking) ==
                   offsetof(struct hf_seats_refund_args, booking),
               "the id is at the same place");
_Static_assert(offsetof(struct hf_seats_confirm_args, user) ==
                   offsetof(struct hf_seats_refund_args, user),
               "and so is the user");

static void finish(struct service_call *call)
{
    call_drop_state(call);
    if (call->untold) {
        call_told(call);
    }
    call_end(call);
}

/* ---- the booking -----------------------------------------------------------------------------
 * */

static void keep_text(char out[HF_ID_SIZE], const struct reply *reply, size_t i)
{
    struct hf_bytes text = {"", 0};

    if (i < reply->count && reply->values[i].kind == VALUE_TEXT) {
        text = reply_bytes(reply, i);
    }
    snprintf(out, HF_ID_SIZE, "%.*s", (int)text.size, text.data);
}

static void booking_read(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct seats_work *work = call->state;

    call_note(call, reply);
    work->found = reply->code == HF_OK;
    if (work->found) {
        char status[HF_ID_SIZE];
        keep_text(work->user, reply, FIELD_USER);
        keep_text(work->zone, reply, FIELD_ZONE);
        keep_text(work->show, reply, FIELD_SHOW);
        keep_text(status, reply, FIELD_STATUS);
        work->quantity = reply->values[FIELD_QUANTITY].number;
        work->unit_price = reply->values[FIELD_PRICE].number;
        work->reserved = strcmp(status, "reserved") == 0;
    }
    call_ready(call, call->run);
}

static void read_booking(struct service_call *call, service_run *next)
{
    struct command get = {.spec = &command_table[SEATS_GET]};

    if (call_add_state(call, sizeof(struct seats_work), free) == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        finish(call);
        return;
    }
    get.args.seats_get =
        (struct hf_seats_get_args){.event = event_of(call), .booking = booking_of(call)};
    call->run = next;
    engine_submit(call->service->inner, &get, booking_read, call);
}

/* Is the command the engine's to answer alone? */
static bool is_others(const struct service_call *call)
{
    const struct seats_work *work = call->state;
    struct hf_bytes user = call->command.args.seats_confirm.user;

    return user.size > 0 &&
           (strlen(work->user) != user.size || memcmp(work->user, user.data, user.size) != 0);
}

static void forwarded(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    rebuild_note(call->service, reply->code, reply->unknown);
    call_answer(call, reply);
    call_ready(call, finish);
}

/* The engine carries it out and answers it, as ever. */
static void forward(struct service_call *call)
{
    engine_submit(call->service->inner, &call->command, forwarded, call);
}

static void booking_job(struct service_call *call, enum ledger_task task)
{
    struct ledger_job *job = call_job(call, task);

    job->kind = LEDGER_BOOKING;
    job->scope = event_of(call);
    job->id = booking_of(call);
    if (task == LEDGER_TASK_END) {
        job->notice.type = webhooks_type(call->service, "booking.cancelled");
    }
}

/* ---- SEATS.CONFIRM ---------------------------------------------------------------------------
 * */

static void confirm_lost(struct service_call *call)
{
    call_refuse(call, HF_RESERVATION_NOT_FOUND,
                "the hold lapsed while it was being sold, and its seats are gone: the sale was "
                "taken back; booking \"%.*s\"",
                (int)booking_of(call).size, booking_of(call).data);
    finish(call);
}

/* The seats are gone although they were sold: the sale is taken back. */
static void take_sale_back(struct service_call *call)
{
    if (call->untold) {
        call_told(call); /* the engine never will know it */
    }
    booking_job(call, LEDGER_TASK_END);
    call_submit(call, confirm_lost);
}

static void reserved_again(struct service_call *call)
{
    if (call->engine.code == HF_OK) {
        forward(call);
    } else if (code_is_failure(call->engine.code, call->engine.unknown)) {
        call_refuse_as_engine(call);
        finish(call);
    } else {
        take_sale_back(call);
    }
}

static void reserve_again(struct service_call *call)
{
    const struct seats_work *work = call->state;
    struct command reserve = {.spec = &command_table[SEATS_RESERVE]};

    reserve.args.seats_reserve = (struct hf_seats_reserve_args){.event = event_of(call),
                                                                .zone = hf_text(work->zone),
                                                                .booking = booking_of(call),
                                                                .user = hf_text(work->user),
                                                                .quantity = work->quantity,
                                                                .max_per_user = HF_INTEGER_MAX,
                                                                .show = hf_text(work->show),
                                                                .unit_price = work->unit_price,
                                                                .ttl_ms = SEATS_TTL_DEFAULT_MS,
                                                                .pass = {"", 0}};
    call_engine(call, &reserve, reserved_again);
}

/* Called by the engine. */
static void confirm_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    FAULT_POINT(confirm_confirmed);
    if (reply->code == HF_RESERVATION_NOT_FOUND) {
        call_note(call, reply);
        call_ready(call, reserve_again);
        return;
    }
    rebuild_note(call->service, reply->code, reply->unknown);
    call_answer(call, reply);
    FAULT_POINT(confirm_told);
    call_ready(call, finish);
}

static void refuse_sale(struct service_call *call)
{
    const struct ledger_sale *sale = &call->sale;
    const struct seats_work *work = call->state;

    switch (sale->answer) {
    case LEDGER_SOLD_OUT:
        call_refuse(call, HF_INSUFFICIENT_STOCK,
                    "the ledger has %lld seats left in the zone, %lld are to be confirmed",
                    (long long)sale->left, (long long)work->quantity);
        break;
    case LEDGER_NOT_FOUND:
        call_refuse(call, HF_ZONE_NOT_FOUND,
                    "the ledger does not have it: open it with SEATS.OPEN; zone \"%s\"",
                    work->zone);
        break;
    case LEDGER_ENDED_BEFORE:
        call_refuse(call, HF_INVALID_STATE, "the booking was sold and is %s: use another id",
                    sale->found.status);
        break;
    case LEDGER_DIFFERS:
        call_refuse(call, HF_INVALID_STATE,
                    "the ledger has the booking with zone \"%s\", user \"%s\", quantity %lld and "
                    "payment \"%s\"",
                    sale->found.zone, sale->found.user, (long long)sale->found.quantity,
                    sale->found.payment);
        break;
    default:
        call_refuse_as_ledger(call, sale->answer, &sale->problem);
        break;
    }
    finish(call);
}

static void booking_sold(struct service_call *call)
{
    if (call->sale.answer != LEDGER_DONE && call->sale.answer != LEDGER_DONE_BEFORE) {
        refuse_sale(call);
        return;
    }
    FAULT_POINT(confirm_sold);
    call->sold = true;
    engine_submit(call->service->inner, &call->command, confirm_answered, call);
}

static void confirm_found(struct service_call *call)
{
    const struct seats_work *work = call->state;
    struct ledger_sale *sale = &call->sale;

    if (!work->found || !work->reserved || is_others(call)) {
        forward(call);
        return;
    }
    *sale = (struct ledger_sale){.kind = LEDGER_BOOKING,
                                 .scope = event_of(call),
                                 .id = booking_of(call),
                                 .user = hf_text(work->user),
                                 .zone = hf_text(work->zone),
                                 .payment = call->command.args.seats_confirm.payment,
                                 .quantity = work->quantity,
                                 .unit_price = work->unit_price,
                                 .notice = webhooks_type(call->service, "booking.confirmed")};
    call_sell(call, booking_sold);
}

void seats_confirm_guarded(struct service_call *call)
{
    read_booking(call, confirm_found);
}

/* ---- SEATS.REFUND ----------------------------------------------------------------------------
 * */

static void refund_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    FAULT_POINT(refund_refunded);
    rebuild_note(call->service, reply->code, reply->unknown);
    if (reply->code == HF_RESERVATION_NOT_FOUND) {
        /* The engine has forgotten it; it is refunded all the same. */
        struct reply *own = call_reply(call);
        reply_word(own, "REFUNDED");
        reply_number(own, call->job.left);
        call_answer(call, own);
    } else {
        call_answer(call, reply);
    }
    call_ready(call, finish);
}

static void refund_ended(struct service_call *call)
{
    switch (call->job.answer) {
    case LEDGER_DONE:
    case LEDGER_DONE_BEFORE:
    case LEDGER_ENDED_BEFORE:
        FAULT_POINT(refund_ended);
        engine_submit(call->service->inner, &call->command, refund_answered, call);
        break;
    case LEDGER_NOT_FOUND:
        forward(call); /* confirmed before there was a ledger */
        break;
    default:
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
        break;
    }
}

static void end_booking(struct service_call *call)
{
    booking_job(call, LEDGER_TASK_END);
    call_submit(call, refund_ended);
}

/* Whose booking is it that only the ledger knows? */
static void owner_found(struct service_call *call)
{
    struct seats_work *work = call->state;

    if (call->job.answer == LEDGER_DONE_BEFORE || call->job.answer == LEDGER_ENDED_BEFORE) {
        snprintf(work->user, sizeof work->user, "%s", call->job.found.user);
        if (is_others(call)) {
            call_refuse(call, HF_NOT_OWNER, "the booking does not belong to user \"%.*s\"",
                        (int)call->command.args.seats_refund.user.size,
                        call->command.args.seats_refund.user.data);
            finish(call);
            return;
        }
    }
    end_booking(call);
}

static void refund_found(struct service_call *call)
{
    const struct seats_work *work = call->state;
    bool failed = code_is_failure(call->engine.code, call->engine.unknown);

    if (failed) {
        call_refuse_as_engine(call);
        finish(call);
    } else if (work->found && (work->reserved || is_others(call))) {
        forward(call);
    } else if (!work->found && call->command.args.seats_refund.user.size > 0) {
        booking_job(call, LEDGER_TASK_FIND);
        call_submit(call, owner_found);
    } else {
        end_booking(call);
    }
}

void seats_refund_guarded(struct service_call *call)
{
    read_booking(call, refund_found);
}
