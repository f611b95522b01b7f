/* SPDX-License-Identifier: Apache-2.0
 *
 * The second half of a purchase: the sale in the ledger, and what follows from its answer. Sold is
 * settled in the engine, refused is given back, unknown is left as it is. The states are those of
 * purchase.c. */
#include "base/fault.h"
#include "service/purchase.h"

/* How often an engine that fails is told of an order that is sold. */
#define SETTLE_AGAIN_MS 200

/* ---- giving back ----------------------------------------------------------------------------- */

/* Also where the engine refused: INVALID_STATE says that it is settled, which is as well; where it
 * failed, the TTL gives it back. */
static void given(struct service_call *call)
{
    FAULT_POINT(purchase_given);
    call->taken = false;
    if (call->sold) {
        purchase_finish_sold(call, OUTCOME_REPEATED);
    } else {
        purchase_refuse_as_ledger(call);
    }
}

static void give(struct service_call *call)
{
    struct command give = {.spec = &command_table[STOCK_GIVE]};

    purchase_move(call, PURCHASE_GIVING);
    give.args.stock_give = (struct hf_stock_give_args){.product = purchase_args(call)->product,
                                                       .order = purchase_args(call)->order};
    call_engine(call, &give, given);
}

/* ---- settling -------------------------------------------------------------------------------- */

static void settle(struct service_call *call);
static void settle_later(struct service_call *call);

static void settled_late(struct service_call *call)
{
    if (code_is_failure(call->engine.code, call->engine.unknown)) {
        call_later(call, settle_later, SETTLE_AGAIN_MS);
        return;
    }
    call_told(call);
    purchase_finish(call, OUTCOME_SOLD);
}

static void settle_later(struct service_call *call)
{
    const struct hf_stock_buy_args *args = purchase_args(call);
    struct hf_stock_take_args order = {.product = args->product,
                                       .order = args->order,
                                       .user = args->user,
                                       .quantity = args->quantity};

    if (call->service->breaker.state == BREAKER_OPEN || engine_is_away(call->service->inner)) {
        call_later(call, settle_later, SETTLE_AGAIN_MS);
    } else {
        settle_order(call, &order, settled_late);
    }
}

/* The engine does not answer. The buyer need not wait for it; until it knows of the order, the
 * order is in flight, which keeps reconciliation from correcting anything for its sake. */
static void leave_unsettled(struct service_call *call)
{
    if (!call->untold) {
        purchase_finish_sold(call, OUTCOME_REPEATED); /* whoever sold it settles it */
        return;
    }
    purchase_answer_sold(call);
    FAULT_POINT(purchase_answered);
    purchase_move(call, PURCHASE_UNSETTLED);
    call_later(call, settle_later, SETTLE_AGAIN_MS);
}

/* The engine refuses: it counts as told, and the engine is put right by reconciliation. */
static void leave_to_reconciliation(struct service_call *call)
{
    product_distrust(call->product);
    purchase_finish_sold(call, OUTCOME_SOLD);
}

static void retaken(struct service_call *call)
{
    if (call->engine.code == HF_OK) {
        settle(call);
    } else if (code_is_failure(call->engine.code, call->engine.unknown)) {
        leave_unsettled(call);
    } else {
        leave_to_reconciliation(call);
    }
}

static void retake_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    call_note(call, reply);
    call_ready(call, retaken);
}

static void settled(struct service_call *call)
{
    enum hf_error code = call->engine.code;

    if (code == HF_OK) {
        FAULT_POINT(purchase_settled);
        call->remaining = call->engine.numbers[0];
        purchase_finish_sold(call, call->untold ? OUTCOME_SOLD : OUTCOME_REPEATED);
    } else if (code_is_failure(code, call->engine.unknown)) {
        leave_unsettled(call);
    } else if (code == HF_NOT_FOUND && !call->retried) {
        /* The take ran out, or the engine has forgotten it. It is sold all the same, so the user's
         * limit does not count. */
        call->retried = true;
        purchase_move(call, PURCHASE_RETAKING);
        purchase_take(call, HF_INTEGER_MAX, retake_answered);
    } else {
        leave_to_reconciliation(call);
    }
}

static void settle(struct service_call *call)
{
    struct command settle = {.spec = &command_table[STOCK_SETTLE]};

    purchase_move(call, PURCHASE_SETTLING);
    settle.args.stock_settle = (struct hf_stock_settle_args){
        .product = purchase_args(call)->product, .order = purchase_args(call)->order};
    call_engine(call, &settle, settled);
}

/* ---- selling --------------------------------------------------------------------------------- */

static void sold(struct service_call *call)
{
    const struct ledger_sale *sale = &call->sale;

    switch (sale->answer) {
    case LEDGER_DONE:
        FAULT_POINT(purchase_sold);
        call->sold = true;
        settle(call);
        break;
    case LEDGER_DONE_BEFORE:
        call->sold = true;
        if (sale->found.told) {
            give(call); /* a second take; if it is the settled one, GIVE says so */
        } else {
            settle(call);
        }
        break;
    case LEDGER_UNKNOWN:
        purchase_refuse_as_ledger(call); /* the take stays until it is known or due */
        break;
    case LEDGER_DIFFERS:
        if (!sale->found.told) {
            purchase_refuse_as_ledger(call); /* the take is the other order's, in flight */
            break;
        }
        give(call);
        break;
    default:
        FAULT_POINT(purchase_refused);
        if (sale->answer == LEDGER_SOLD_OUT || sale->answer == LEDGER_NOT_FOUND) {
            product_distrust(call->product); /* the engine was ahead of the truth */
        }
        give(call);
        break;
    }
}

void purchase_sell(struct service_call *call)
{
    FAULT_POINT(purchase_taken);
    purchase_move(call, PURCHASE_SELLING);
    call->retried = false;
    purchase_fill_sale(call);
    call_sell(call, sold);
}
