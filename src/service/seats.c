/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.CONFIRM and SEATS.REFUND with a ledger that was given: the row of the booking and the
 * zone's counter are changed in the ledger first, the engine follows.
 *
 *   CONFIRM   GET ─> (EXTEND) ─> sale ─> CONFIRM ─> answer, told
 *                                   │       │ the hold has lapsed meanwhile, or was released
 *                                   │       └─> RESERVE ─> CONFIRM; refused: the sale is taken back
 *                                   └─ sold out: the hold stays, and lapses or is released
 *
 * A hold that is about to lapse is extended first, as far as it may be: one that is taken again
 * has lost its LIFETIME, and is refused behind a waiting room's gate.
 *
 *   REFUND    GET ─> end ─> REFUND ─> answer, told
 *
 * The ledger of the data directory has the bookings of checkouts. It is told of their refunds, and
 * asked about no others: what it does not answer or does not have, the engine refunds alone.
 *
 * What the engine itself would refuse (no such booking, another user's, in another state) it is
 * left to refuse, before the ledger is asked. */
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "service/seats_booking.h"

#include <stdio.h>

/* How long a hold is to last beyond the timeouts of the ledger, by clocks that differ a little. */
#define CONFIRM_SPARE_MS ((int64_t)10 * 1000)

/* Is the command the engine's to answer alone? */
static bool is_others(const struct service_call *call)
{
    const struct seats_work *work = call->state;
    struct hf_bytes user = call->command.args.seats_confirm.user;

    return user.size > 0 && (strlen(work->seen.user) != user.size ||
                             memcmp(work->seen.user, user.data, user.size) != 0);
}

/* The engine carries it out and answers it, as ever. */
static void forward(struct service_call *call)
{
    seats_forward(call, seats_finish);
}

static void booking_job(struct service_call *call, enum ledger_task task)
{
    struct ledger_job *job = call_job(call, task);

    job->kind = LEDGER_BOOKING;
    job->scope = seats_event(call);
    job->id = seats_booking(call);
    if (task == LEDGER_TASK_END) {
        job->notice.type = webhooks_type(call->service, "booking.cancelled");
        job->notice.trace = hf_text(call->trace);
    }
}

/* ---- SEATS.CONFIRM --------------------------------------------------------------------------- */

static void confirm_lost(struct service_call *call)
{
    const struct seats_work *work = call->state;

    if (work->selling) {
        ledger_told(call->service->ledger, work->sale.writer, work->sale.batch);
    }
    call_refuse(call, HF_RESERVATION_NOT_FOUND,
                "the hold lapsed while it was being sold, and its seats are gone: the sale was "
                "taken back; booking \"%.*s\"",
                (int)seats_booking(call).size, seats_booking(call).data);
    seats_finish(call);
}

/* The seats are gone although they were sold: the sale is taken back. The engine never knows of
 * either, and until both are in the ledger it is not said to. */
static void take_sale_back(struct service_call *call)
{
    struct seats_work *work = call->state;

    if (call->untold) {
        work->selling = true;
        work->sale = (struct service_told){call->writer, call->batch};
        call->untold = false;
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
        seats_finish(call);
    } else {
        take_sale_back(call);
    }
}

static void reserve_again(struct service_call *call)
{
    const struct seats_work *work = call->state;
    struct command reserve = {.spec = &command_table[SEATS_RESERVE]};

    reserve.args.seats_reserve = (struct hf_seats_reserve_args){.event = seats_event(call),
                                                                .zone = hf_text(work->seen.zone),
                                                                .booking = seats_booking(call),
                                                                .user = hf_text(work->seen.user),
                                                                .quantity = work->seen.quantity,
                                                                .max_per_user = HF_INTEGER_MAX,
                                                                .show = hf_text(work->seen.show),
                                                                .unit_price = work->seen.unit_price,
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
    call_ready(call, seats_finish);
}

static void refuse_sale(struct service_call *call)
{
    const struct ledger_sale *sale = &call->sale;
    const struct seats_work *work = call->state;

    switch (sale->answer) {
    case LEDGER_SOLD_OUT:
        call_refuse(call, HF_INSUFFICIENT_STOCK,
                    "the ledger has %lld seats left in the zone, %lld are to be confirmed",
                    (long long)sale->left, (long long)work->seen.quantity);
        break;
    case LEDGER_NOT_FOUND:
        call_refuse(call, HF_ZONE_NOT_FOUND,
                    "the ledger does not have it: open it with SEATS.OPEN; zone \"%s\"",
                    work->seen.zone);
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
    seats_finish(call);
}

static void booking_sold(struct service_call *call)
{
    const struct seats_work *work = call->state;

    if (call->sale.answer != LEDGER_DONE && call->sale.answer != LEDGER_DONE_BEFORE) {
        refuse_sale(call);
        return;
    }
    FAULT_POINT(confirm_sold);
    call->sold = true;
    if (call->sale.answer == LEDGER_DONE_BEFORE && call->sale.found.code[0] != '\0') {
        seats_seed(&call->command, hf_text(call->sale.found.code));
    } else {
        seats_seed(&call->command, hf_text(work->code));
    }
    engine_submit(call->service->inner, &call->command, confirm_answered, call);
}

/* The ledger has the code before the engine, so that a booking has one code whatever is lost. */
static void make_code(struct service_call *call)
{
    struct seats_work *work = call->state;
    uint64_t number;

    random_bytes(&call->service->random, &number, sizeof number);
    text_code(work->code, number);
    work->code[TEXT_CODE] = '\0';
}

static void sell_booking(struct service_call *call)
{
    const struct seats_work *work = call->state;
    struct ledger_sale *sale = &call->sale;

    make_code(call);
    *sale = (struct ledger_sale){.kind = LEDGER_BOOKING,
                                 .scope = seats_event(call),
                                 .id = seats_booking(call),
                                 .user = hf_text(work->seen.user),
                                 .zone = hf_text(work->seen.zone),
                                 .payment = call->command.args.seats_confirm.payment,
                                 .show = hf_text(work->seen.show),
                                 .code = hf_text(work->code),
                                 .created_ms = work->seen.created_ms,
                                 .quantity = work->seen.quantity,
                                 .unit_price = work->seen.unit_price,
                                 .notice = webhooks_type(call->service, "booking.confirmed"),
                                 .trace = hf_text(call->trace)};
    call_sell(call, booking_sold);
}

/* A confirm that is forwarded past the ledger could still be carried out, also by an engine that
 * did not answer just now: only what is confirmed already is left to the engine. */
static void refuse_unread(struct service_call *call)
{
    call_refuse_as_engine(call);
    seats_finish(call);
}

static void extended(struct service_call *call)
{
    if (call->engine.code == HF_OK) {
        sell_booking(call);
    } else if (call->engine.code == HF_INVALID_STATE) {
        forward(call); /* it was confirmed meanwhile */
    } else {
        refuse_unread(call);
    }
}

static void confirm_found(struct service_call *call)
{
    const struct seats_work *work = call->state;
    int64_t needed_ms = 2 * service_ledger_timeout(call->service) + CONFIRM_SPARE_MS;
    struct command extend = {.spec = &command_table[SEATS_EXTEND]};

    if (!work->found) {
        refuse_unread(call);
    } else if (!work->seen.reserved || is_others(call)) {
        forward(call);
    } else if (work->seen.expires_ms - clock_wall_ms() >= needed_ms) {
        sell_booking(call);
    } else {
        extend.args.seats_extend = (struct hf_seats_extend_args){
            .event = seats_event(call), .booking = seats_booking(call), .ttl_ms = needed_ms};
        call_engine(call, &extend, extended);
    }
}

void seats_confirm_guarded(struct service_call *call)
{
    seats_read(call, confirm_found);
}

/* ---- SEATS.REFUND ---------------------------------------------------------------------------- */

static void refund_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    FAULT_POINT(refund_refunded);
    rebuild_note(call->service, reply->code, reply->unknown);
    if (reply->code == HF_RESERVATION_NOT_FOUND && call->service->guards) {
        /* The engine has forgotten it; it is refunded all the same. */
        struct reply *own = call_reply(call);
        reply_word(own, "REFUNDED");
        reply_number(own, call->job.left);
        call_answer(call, own);
    } else {
        call_answer(call, reply);
    }
    call_ready(call, seats_finish);
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
        if (!call->service->guards) {
            forward(call); /* whatever becomes of its row, the engine is the truth */
            return;
        }
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        seats_finish(call);
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
        snprintf(work->seen.user, sizeof work->seen.user, "%s", call->job.found.user);
        if (is_others(call)) {
            call_refuse(call, HF_NOT_OWNER, "the booking does not belong to user \"%.*s\"",
                        (int)call->command.args.seats_refund.user.size,
                        call->command.args.seats_refund.user.data);
            seats_finish(call);
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
        seats_finish(call);
    } else if (work->found && (work->seen.reserved || is_others(call))) {
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
    seats_read(call, refund_found);
}
