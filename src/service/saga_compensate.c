/* SPDX-License-Identifier: Apache-2.0
 *
 * Compensation of a checkout: the seats are given back, then the money, and only when both are
 * known to be is the saga COMPENSATED.
 *
 *     RELEASE ─> REFUND the booking, if it may have been sold ─> on disk
 *        ─> was it charged? ─no, or declined───────────────> COMPENSATED
 *                │ may be: ask the peer ─never arrived─────────┘ │
 *                └─ yes ─> refund ─ refunded ────────────────────┘ */
#include "base/fault.h"
#include "service/saga.h"

static void settle_money(struct service_call *call);

static const struct service_options *settings_of(const struct saga *saga)
{
    return &saga->call->service->settings;
}

static void finish(struct saga *saga, enum saga_charge charge)
{
    FAULT_POINT(saga_refunded);
    saga_go(saga, SAGA_COMPENSATED, charge, HF_OK, NULL);
}

static void ask_later(struct saga *saga)
{
    saga_retry(saga, HF_TIMEOUT, saga->payment.message, settings_of(saga)->payment_retries);
}

/* ---- the money ------------------------------------------------------------------------------- */

static void refunded(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    switch (saga->payment.outcome) {
    case PAYMENT_SUCCEEDED: /* the refund has */
    case PAYMENT_REFUNDED:
        finish(saga, SAGA_CHARGE_REFUNDED);
        break;
    case PAYMENT_DECLINED:
    case PAYMENT_ABSENT:
        saga_go(saga, SAGA_NEEDS_ATTENTION, saga->charge, HF_PAYMENT_DECLINED,
                "the payment peer refuses the refund");
        break;
    default:
        ask_later(saga);
        break;
    }
}

static void asked(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    switch (saga->payment.outcome) {
    case PAYMENT_SUCCEEDED:
        saga_pay(saga, PAYMENT_REFUND, refunded);
        break;
    case PAYMENT_DECLINED:
        finish(saga, SAGA_CHARGE_DECLINED);
        break;
    case PAYMENT_ABSENT:
    case PAYMENT_REFUNDED:
        finish(saga, SAGA_CHARGE_REFUNDED);
        break;
    default:
        ask_later(saga);
        break;
    }
}

static void settle_money(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    FAULT_POINT(saga_released);
    switch (saga->charge) {
    case SAGA_CHARGE_SENT:
        saga_pay(saga, PAYMENT_ASK, asked);
        break;
    case SAGA_CHARGE_SUCCEEDED:
        saga_pay(saga, PAYMENT_REFUND, refunded);
        break;
    default:
        finish(saga, saga->charge);
        break;
    }
}

/* ---- the seats ------------------------------------------------------------------------------- */

static bool is_passing(struct saga *saga)
{
    const struct service_answer *answer = &saga->call->engine;

    if (!saga_answer_is_passing(answer)) {
        return false;
    }
    saga_retry(saga, answer->code, answer->problem.message, SAGA_ATTEMPTS_MAX);
    return true;
}

static void unsold(struct service_call *call)
{
    if (!is_passing(saga_of(call))) {
        call_when_durable(call, settle_money);
    }
}

static void released(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    struct command command = {.spec = &command_table[SEATS_REFUND]};

    if (is_passing(saga)) {
        return;
    }
    if (saga->charge != SAGA_CHARGE_SUCCEEDED && payment_amount(&saga->row) > 0) {
        unsold(call); /* it was never confirmed */
        return;
    }
    command.args.seats_refund = (struct hf_seats_refund_args){.event = hf_text(saga->row.event),
                                                              .booking = hf_text(saga->row.booking),
                                                              .user = hf_text(saga->row.user)};
    saga_submit(call, &command, unsold);
}

void saga_compensate(struct service_call *call)
{
    const struct saga *saga = saga_of(call);
    struct command command = {.spec = &command_table[SEATS_RELEASE]};

    command.args.seats_release =
        (struct hf_seats_release_args){.event = hf_text(saga->row.event),
                                       .booking = hf_text(saga->row.booking),
                                       .user = hf_text(saga->row.user)};
    saga_submit(call, &command, released);
}
