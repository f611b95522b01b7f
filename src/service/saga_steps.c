/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a checkout: reserve-seats, process-payment, confirm-booking. Each may be repeated:
 * the booking's and the payment's id are the same every time. What is not known is asked for, or
 * tried again; it never counts as a failure. */
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "service/saga.h"

#include <stdio.h>

/* Where the code is in the answer of SEATS.CONFIRM. */
#define CONFIRM_CODE 1

static const struct service_options *settings_of(const struct saga *saga)
{
    return &saga->call->service->settings;
}

/* ---- from state to state --------------------------------------------------------------------- */

void saga_go(struct saga *saga, enum saga_state to, enum saga_charge charge, enum hf_error error,
             const char *message)
{
    struct saga_change change = {
        .to = to, .charge = charge, .error = error, .message = message, .attempts = 0};

    if (to == SAGA_NEEDS_ATTENTION) {
        change.attempts = saga->row.attempts;
    }
    saga_move(saga, &change, saga_drive);
}

static void wait_then_drive(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    saga->fresh = false;
    saga_wait(saga, saga->move.due_ms, saga_drive);
}

/* Stays in its state for so long. */
static void stay(struct saga *saga, int64_t wait_ms, int64_t attempts, enum hf_error error,
                 const char *message)
{
    struct saga_change change = {.to = saga->state,
                                 .charge = saga->charge,
                                 .error = error,
                                 .message = message,
                                 .attempts = attempts,
                                 .wait_ms = wait_ms};

    saga_move(saga, &change, wait_then_drive);
}

/* Twice as long each time, and a random part of it, so that many do not come back together. */
static int64_t backoff(struct saga *saga, int64_t attempts)
{
    int64_t longest_ms = SAGA_BACKOFF_FIRST_MS << (attempts < 12 ? attempts : 12);
    uint32_t random;

    longest_ms = longest_ms < SAGA_BACKOFF_MAX_MS ? longest_ms : SAGA_BACKOFF_MAX_MS;
    random_bytes(&saga->call->service->random, &random, sizeof random);
    return longest_ms / 2 + random % (longest_ms / 2);
}

void saga_retry(struct saga *saga, enum hf_error error, const char *message, int64_t attempts_max)
{
    int64_t attempts = saga->row.attempts + 1;
    bool unpaid = saga->state == SAGA_STARTED || saga->state == SAGA_RESERVED;

    if (attempts < attempts_max) {
        /* What a saga is compensated for stays its reason, whatever hinders the compensation. */
        bool keeps = saga->state == SAGA_COMPENSATING && saga->row.error_code[0] != '\0';
        stay(saga, backoff(saga, attempts), attempts, keeps ? HF_OK : error, message);
    } else {
        saga_go(saga, unpaid ? SAGA_COMPENSATING : SAGA_NEEDS_ATTENTION, saga->charge, error,
                message);
    }
}

bool saga_answer_is_passing(const struct service_answer *answer)
{
    switch (answer->code) {
    case HF_ENGINE_DOWN:
    case HF_LEDGER_DOWN:
    case HF_IOERR:
    case HF_LOADING:
    case HF_TIMEOUT:
    case HF_BUSY:
    case HF_READONLY:
    case HF_INTERNAL:
        return true;
    default:
        return false;
    }
}

static void retry_engine(struct saga *saga)
{
    saga_retry(saga, saga->call->engine.code, saga->call->engine.problem.message,
               SAGA_ATTEMPTS_MAX);
}

/* ---- reserve-seats --------------------------------------------------------------------------- */

static void reserve(struct saga *saga, int64_t max_per_user, service_run *next)
{
    const struct ledger_saga *row = &saga->row;
    struct command command = {.spec = &command_table[SEATS_RESERVE]};

    command.args.seats_reserve = (struct hf_seats_reserve_args){.event = hf_text(row->event),
                                                                .zone = hf_text(row->zone),
                                                                .booking = hf_text(row->booking),
                                                                .user = hf_text(row->user),
                                                                .quantity = row->quantity,
                                                                .max_per_user = max_per_user,
                                                                .show = {"", 0},
                                                                .unit_price = row->unit_price,
                                                                .ttl_ms = SAGA_HOLD_MS,
                                                                .pass = hf_text(row->pass)};
    saga_submit(saga->call, &command, next);
}

static void go_paying(struct saga *saga)
{
    if (payment_amount(&saga->row) == 0) {
        saga_go(saga, SAGA_PAID, SAGA_CHARGE_NONE, HF_OK, NULL);
    } else {
        saga_go(saga, SAGA_PAYING, SAGA_CHARGE_SENT, HF_OK, NULL);
    }
}

static void reserved(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    const struct service_answer *answer = &call->engine;
    /* The booking is somebody else's, or was made otherwise: it is not for this saga to release. */
    bool foreign = answer->code == HF_INVALID_STATE || answer->code == HF_NOT_OWNER;

    if (answer->code == HF_OK) {
        FAULT_POINT(saga_seats_held);
        if (saga->state == SAGA_RESERVED) {
            go_paying(saga);
        } else {
            saga_go(saga, SAGA_RESERVED, SAGA_CHARGE_NONE, HF_OK, NULL);
        }
    } else if (saga_answer_is_passing(answer)) {
        retry_engine(saga);
    } else {
        bool held_nothing = saga->state == SAGA_STARTED && (saga->fresh || foreign);
        saga_go(saga, held_nothing ? SAGA_COMPENSATED : SAGA_COMPENSATING, SAGA_CHARGE_NONE,
                answer->code, answer->problem.message);
    }
}

/* ---- process-payment ------------------------------------------------------------------------- */

static void payment_answered(void *context, const struct payment_answer *answer)
{
    struct service_call *call = context;

    payments_note(call->service, answer);
    saga_of(call)->payment = *answer;
    call_ready(call, call->run);
}

void saga_pay(struct saga *saga, enum payment_verb verb, service_run *next)
{
    saga->call->run = next;
    payments_send(saga->call->service, verb, &saga->row, &saga->request, payment_answered,
                  saga->call);
}

/* A payment that takes long is asked for less and less often: a callback is what it waits for. */
static void wait_for_payment(struct saga *saga)
{
    int64_t age_ms = clock_wall_ms() - saga->row.created_at_ms, wait_ms = age_ms / 4;

    if (age_ms > SAGA_PENDING_MAX_MS) {
        saga_go(saga, SAGA_NEEDS_ATTENTION, saga->charge, HF_TIMEOUT,
                "the payment is pending for three days");
        return;
    }
    wait_ms = wait_ms < 200 ? 200 : wait_ms > 60000 ? 60000 : wait_ms;
    stay(saga, wait_ms, 0, HF_OK, NULL);
}

static void charge(struct saga *saga);

static void paid(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    const struct payment_answer *answer = &saga->payment;

    switch (answer->outcome) {
    case PAYMENT_SUCCEEDED:
        FAULT_POINT(saga_charged);
        saga_go(saga, SAGA_PAID, SAGA_CHARGE_SUCCEEDED, HF_OK, NULL);
        break;
    case PAYMENT_DECLINED:
        saga_go(saga, SAGA_COMPENSATING, SAGA_CHARGE_DECLINED, HF_PAYMENT_DECLINED,
                answer->message);
        break;
    case PAYMENT_REFUNDED: /* by the peer itself */
        saga_go(saga, SAGA_COMPENSATING, SAGA_CHARGE_REFUNDED, HF_PAYMENT_DECLINED,
                "the payment was refunded by the payment peer");
        break;
    case PAYMENT_PENDING:
        wait_for_payment(saga);
        break;
    case PAYMENT_ABSENT:
        saga->charge_resent = true; /* the request did not arrive, or has not yet */
        charge(saga);
        break;
    default:
        saga_retry(saga, HF_TIMEOUT, answer->message, settings_of(saga)->payment_retries);
        break;
    }
}

static void charged(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    if (saga->payment.refused && saga->charge_resent) {
        saga->payment.outcome = PAYMENT_UNKNOWN; /* the request before may still be carried out */
    }
    paid(call);
}

static void charge(struct saga *saga)
{
    saga_pay(saga, PAYMENT_CHARGE, charged);
}

static void pay(struct saga *saga)
{
    if (saga->fresh) {
        saga->fresh = false;
        charge(saga);
    } else {
        saga_pay(saga, PAYMENT_ASK, paid);
    }
}

/* ---- confirm-booking ------------------------------------------------------------------------- */

static void confirm(struct saga *saga);

static void complete(struct service_call *call)
{
    FAULT_POINT(saga_confirmed);
    saga_go(saga_of(call), SAGA_COMPLETED, saga_of(call)->charge, HF_OK, NULL);
}

static void rebooked(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    if (call->engine.code == HF_OK) {
        confirm(saga);
    } else if (saga_answer_is_passing(&call->engine)) {
        retry_engine(saga);
    } else {
        saga_go(saga, SAGA_COMPENSATING, saga->charge, call->engine.code,
                call->engine.problem.message);
    }
}

/* Paid, and the seats are gone. */
static void lose_seats(struct saga *saga)
{
    if (strcmp(settings_of(saga)->late_payment, "refund") == 0 || saga->rebooked) {
        saga_go(saga, SAGA_COMPENSATING, saga->charge, HF_RESERVATION_NOT_FOUND,
                "the payment came when the seats were no longer held: it is refunded");
        return;
    }
    saga->rebooked = true;
    reserve(saga, HF_INTEGER_MAX, rebooked);
}

static void confirmed(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    const struct service_answer *answer = &call->engine;

    if (answer->code == HF_OK) {
        call_when_durable(call, complete);
    } else if (answer->code == HF_RESERVATION_NOT_FOUND) {
        lose_seats(saga);
    } else if (saga_answer_is_passing(answer)) {
        retry_engine(saga);
    } else if (answer->code == HF_INSUFFICIENT_STOCK || answer->code == HF_ZONE_NOT_FOUND ||
               saga->rebooked) {
        saga_go(saga, SAGA_COMPENSATING, saga->charge, answer->code, answer->problem.message);
    } else {
        /* The booking was confirmed or refunded by somebody else: who has paid for what is for
         * people to find out. */
        saga_go(saga, SAGA_NEEDS_ATTENTION, saga->charge, answer->code, answer->problem.message);
    }
}

/* Called by the engine. */
static void confirm_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    if (reply->code == HF_OK) {
        struct hf_bytes code = reply_bytes(reply, CONFIRM_CODE);
        snprintf(saga_of(call)->code, HF_CODE_SIZE, "%.*s", (int)code.size, code.data);
    }
    call_note(call, reply);
    call_ready(call, confirmed);
}

static void confirm(struct saga *saga)
{
    const struct ledger_saga *row = &saga->row;
    struct command command = {.spec = &command_table[SEATS_CONFIRM], .source = &saga->source};

    command.args.seats_confirm =
        (struct hf_seats_confirm_args){.event = hf_text(row->event),
                                       .booking = hf_text(row->booking),
                                       .user = hf_text(row->user),
                                       .payment = hf_text(row->payment_id)};
    service_carry_out(saga->call->service, &command, confirm_answered, saga->call);
}

/* ---- the step of a state --------------------------------------------------------------------- */

/* Would its step outlast the lease? Then it is renewed first. */
static bool renews(struct saga *saga)
{
    const struct service_options *settings = settings_of(saga);
    bool pays = saga->state == SAGA_PAYING || saga->state == SAGA_COMPENSATING;
    int64_t needed_ms =
        settings->saga_lease_ms / 4 + (pays ? saga_pays_ms(saga->call->service) : 0);

    if (service_now(saga->call->service) + needed_ms <= saga->leased_until_ms) {
        return false;
    }
    struct saga_change change = {
        .to = saga->state, .charge = saga->charge, .attempts = saga->row.attempts};
    saga_move(saga, &change, saga_drive);
    return true;
}

void saga_drive(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    saga->woken = false;
    if (renews(saga)) {
        return;
    }
    switch (saga->state) {
    case SAGA_STARTED:
        reserve(saga, saga->row.max_per_user, reserved);
        break;
    case SAGA_RESERVED:
        if (saga->fresh) {
            go_paying(saga);
        } else {
            reserve(saga, saga->row.max_per_user, reserved);
        }
        break;
    case SAGA_PAYING:
        pay(saga);
        break;
    case SAGA_PAID:
        confirm(saga);
        break;
    case SAGA_COMPENSATING:
        saga_compensate(call);
        break;
    default:
        saga_drop(call); /* it has ended */
        break;
    }
}
