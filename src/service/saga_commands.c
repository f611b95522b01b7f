/* SPDX-License-Identifier: Apache-2.0
 *
 * SAGA.GET shows a saga; SAGA.RESUME and SAGA.REFUND are what an administrator does about one that
 * needs attention, or is to be taken back. */
#include "service/checkout.h"

#include <stdio.h>

/* ---- SAGA.GET -------------------------------------------------------------------------------- */

void saga_write(struct reply *reply, const struct ledger_saga *row, const char *provider)
{
    reply_word(reply, row->saga);
    reply_word(reply, row->state);
    reply_word(reply, row->event);
    reply_word(reply, row->booking);
    reply_word(reply, row->zone);
    reply_word(reply, row->user);
    reply_number(reply, row->quantity);
    reply_number(reply, row->unit_price);
    reply_number(reply, payment_amount(row));
    reply_word(reply, row->currency);
    reply_word(reply, row->payment_id);
    reply_word(reply, row->payment[0] != '\0' ? row->payment : saga_charge_name(SAGA_CHARGE_NONE));
    reply_word(reply, provider);
    reply_word(reply, row->error_code);
    reply_word(reply, row->error);
    reply_number(reply, row->attempts);
    reply_number(reply, row->created_at_ms);
    reply_number(reply, row->updated_at_ms);
}

static void answer_row(struct service_call *call)
{
    struct reply *reply = call_reply(call);

    saga_write(reply, &checkout_work_of(call)->row, checkout_provider(call));
    call_answer(call, reply);
    checkout_finish(call);
}

/* All three commands have the saga in front. */
static void find_named(struct service_call *call, int64_t wait_ms, service_run *answers)
{
    struct hf_bytes id = call->command.args.saga_get.saga;

    if (checkout_work_begin(call, wait_ms, answers)) {
        snprintf(checkout_work_of(call)->row.saga, HF_ID_SIZE, "%.*s", (int)id.size, id.data);
        checkout_find(call);
    }
}

void saga_show(struct service_call *call)
{
    find_named(call, call->command.args.saga_get.wait_ms, answer_row);
}

/* ---- SAGA.RESUME, SAGA.REFUND ---------------------------------------------------------------- */

static void answer_change(struct service_call *call)
{
    struct reply *reply = call_reply(call);

    reply_word(reply, checkout_work_of(call)->row.saga);
    reply_word(reply, checkout_work_of(call)->row.state);
    call_answer(call, reply);
    checkout_finish(call);
}

/* The saga has become this process', or not. Runs as the saga. */
static void taken(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    struct service_call *client = saga->client;

    saga->client = NULL;
    if (saga->answer == LEDGER_DONE) {
        checkout_work_of(client)->row = saga->row;
        answer_change(client);
        saga->fresh = false;
        saga_drive(call);
        return;
    }
    if (saga->answer == LEDGER_REFUSED) {
        call_refuse(client, HF_BUSY, "another server changes the saga: look at it, and try again");
    } else {
        call_refuse_as_ledger(client, saga->answer, &saga->problem);
    }
    checkout_finish(client);
    saga_drop(call);
}

static void take_over(struct service_call *call, enum saga_state to)
{
    const struct ledger_saga *row = &checkout_work_of(call)->row;
    enum saga_charge charge = saga_charge_read(row->payment);
    const char *broken = saga_broken_rule(saga_state_read(row->state), charge);

    broken = broken == NULL ? saga_broken_rule(to, charge) : broken;
    if (broken != NULL || saga_find(call->service, hf_text(row->saga)) != NULL) {
        call_refuse(call, broken != NULL ? HF_INVALID_STATE : HF_BUSY,
                    "saga \"%s\" cannot go on as it is: %s", row->saga,
                    broken != NULL ? broken : "it is being changed, try again");
        checkout_finish(call);
        return;
    }
    struct saga *saga = saga_new(call->service, row);
    if (saga == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        checkout_finish(call);
        return;
    }
    saga->client = call;
    saga_note_request(saga, call);
    saga_move(saga, &(struct saga_change){.to = to, .charge = charge, .takes = true}, taken);
}

static void resume_found(struct service_call *call)
{
    const struct ledger_saga *row = &checkout_work_of(call)->row;
    enum saga_state from = saga_state_read(row->came_from);

    if (saga_state_read(row->state) != SAGA_NEEDS_ATTENTION) {
        answer_change(call);
    } else if (!saga_may_move(SAGA_NEEDS_ATTENTION, from)) {
        call_refuse(call, HF_INVALID_STATE, "saga \"%s\" came from \"%s\", which is no state",
                    row->saga, row->came_from);
        checkout_finish(call);
    } else {
        take_over(call, from);
    }
}

static void refund_found(struct service_call *call)
{
    const struct ledger_saga *row = &checkout_work_of(call)->row;

    switch (saga_state_read(row->state)) {
    case SAGA_COMPLETED:
    case SAGA_NEEDS_ATTENTION:
        take_over(call, SAGA_COMPENSATING);
        break;
    case SAGA_COMPENSATING:
    case SAGA_COMPENSATED:
        answer_change(call);
        break;
    default:
        call_refuse(call, HF_INVALID_STATE,
                    "saga \"%s\" is %s: it is refunded when it is COMPLETED or NEEDS_ATTENTION",
                    row->saga, row->state);
        checkout_finish(call);
        break;
    }
}

void saga_resume(struct service_call *call)
{
    find_named(call, 0, resume_found);
}

void saga_refund(struct service_call *call)
{
    find_named(call, 0, refund_found);
}
