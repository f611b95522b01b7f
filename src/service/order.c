/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.ORDER reads an order in the ledger. STOCK.RETURN brings one back, once, however often it
 * is said: the ledger first, whose row goes from sold to returned together with the stock, then
 * the engine by the same quantity. If the engine cannot be told, reconciliation moves it. */
#include "base/fault.h"
#include "service/service_state.h"

static void refuse_missing(struct service_call *call, struct hf_bytes product,
                           struct hf_bytes order)
{
    call_refuse(call, HF_NOT_FOUND,
                "the ledger has no such order; product \"%.*s\", order \"%.*s\"", (int)product.size,
                product.data, (int)order.size, order.data);
}

/* ---- STOCK.ORDER ----------------------------------------------------------------------------- */

static void found(struct service_call *call)
{
    const struct hf_stock_order_args *args = &call->command.args.stock_order;
    const struct ledger_row *row = &call->job.found;
    struct reply *reply = call_reply(call);

    switch (call->job.answer) {
    case LEDGER_DONE:
    case LEDGER_DONE_BEFORE:
    case LEDGER_ENDED_BEFORE:
        reply_text(reply, args->order.data, args->order.size);
        reply_text(reply, args->product.data, args->product.size);
        reply_word(reply, row->user);
        reply_number(reply, row->quantity);
        reply_number(reply, row->unit_price);
        reply_word(reply, row->status);
        reply_number(reply, row->made_at_ms);
        reply_number(reply, row->ended_at_ms);
        call_answer(call, reply);
        break;
    case LEDGER_NOT_FOUND:
    case LEDGER_DIFFERS: /* an order of another product */
        refuse_missing(call, args->product, args->order);
        break;
    default:
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        break;
    }
    call_end(call);
}

void order_find(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_FIND);

    job->kind = LEDGER_ORDER;
    job->scope = call->command.args.stock_order.product;
    job->id = call->command.args.stock_order.order;
    call_submit(call, found);
}

/* ---- STOCK.RETURN ---------------------------------------------------------------------------- */

static void answer_returned(struct service_call *call)
{
    struct reply *reply = call_reply(call);

    reply_word(reply, "RETURNED");
    reply_number(reply, call->remaining);
    call_answer(call, reply);
}

/* Where the engine was not moved it has less than the ledger, which reconciliation finds. */
static void adjusted(struct service_call *call)
{
    struct service_product *product =
        product_find(call->service, call->command.args.stock_return.product);

    if (call->engine.code == HF_OK) {
        FAULT_POINT(return_adjusted);
        call->remaining = call->engine.numbers[0];
    } else if (product != NULL) {
        product_distrust(product);
    }
    answer_returned(call);
    call_told(call);
    FAULT_POINT(return_told);
    call_end(call);
}

static void adjust(struct service_call *call)
{
    struct command adjust = {.spec = &command_table[STOCK_ADJUST]};

    FAULT_POINT(return_ended);
    adjust.args.stock_adjust =
        (struct hf_stock_adjust_args){.product = call->command.args.stock_return.product,
                                      .delta = call->job.found.quantity,
                                      .reason = hf_text("returned")};
    call_engine(call, &adjust, adjusted);
}

static void read_again(struct service_call *call)
{
    if (call->engine.code == HF_OK) {
        call->remaining = call->engine.numbers[0];
    }
    answer_returned(call);
    call_end(call);
}

/* It was returned before: only what is left is to be read. */
static void repeat(struct service_call *call)
{
    struct command get = {.spec = &command_table[STOCK_GET]};

    get.args.stock_get.product = call->command.args.stock_return.product;
    call_engine(call, &get, read_again);
}

static void ended(struct service_call *call)
{
    const struct hf_stock_return_args *args = &call->command.args.stock_return;

    call->remaining = call->job.left;
    switch (call->job.answer) {
    case LEDGER_DONE:
        adjust(call);
        return;
    case LEDGER_DONE_BEFORE:
    case LEDGER_ENDED_BEFORE:
        repeat(call);
        return;
    case LEDGER_NOT_FOUND:
    case LEDGER_DIFFERS:
        refuse_missing(call, args->product, args->order);
        break;
    default:
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        break;
    }
    call_end(call);
}

void order_return(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_END);

    job->notice.type = webhooks_type(call->service, "order.returned");
    job->notice.trace = hf_text(call->trace);
    job->kind = LEDGER_ORDER;
    job->scope = call->command.args.stock_return.product;
    job->id = call->command.args.stock_return.order;
    call_submit(call, ended);
}
