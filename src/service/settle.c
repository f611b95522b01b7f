/* SPDX-License-Identifier: Apache-2.0
 *
 * Settles in the engine what is in the ledger already, and whose purchase does not do it: the
 * orders of servers that are no more (stale.c), and those of which the ledger learns late that
 * they were sold. Settling twice does no harm; a take that is gone is taken again, whatever the
 * user's limit; what the engine refuses then is left to reconciliation. */
#include "service/seats_booking.h"

/* ---- an order -------------------------------------------------------------------------------- */

static void submit_settle(struct service_call *call, service_run *next)
{
    struct command settle = {.spec = &command_table[STOCK_SETTLE]};

    settle.args.stock_settle =
        (struct hf_stock_settle_args){.product = call->order.product, .order = call->order.order};
    call_engine(call, &settle, next);
}

static void taken(struct service_call *call)
{
    if (call->engine.code == HF_OK) {
        submit_settle(call, call->after);
    } else {
        call->after(call);
    }
}

static void settled(struct service_call *call)
{
    struct command take = {.spec = &command_table[STOCK_TAKE]};

    if (call->engine.code != HF_NOT_FOUND) {
        call->after(call);
        return;
    }
    take.args.stock_take = call->order;
    take.args.stock_take.ttl_ms = PURCHASE_TTL_MS;
    take.args.stock_take.max = HF_INTEGER_MAX;
    call_engine(call, &take, taken);
}

void settle_order(struct service_call *call, const struct hf_stock_take_args *order,
                  service_run *next)
{
    call->order = *order;
    call->after = next;
    submit_settle(call, settled);
}

/* ---- sales that were answered as unknown ----------------------------------------------------- */

static void late_done(struct service_call *call)
{
    call_told(call);
    call_end(call);
}

static void settle_late(struct service_call *call)
{
    struct hf_stock_take_args order = call->command.args.stock_take;

    settle_order(call, &order, late_done);
}

static void confirm_late(struct service_call *call)
{
    call_engine(call, &call->command, late_done);
}

void settle_late_sale(void *context, const struct ledger_sale *sale)
{
    struct service *service = context;
    bool order = sale->kind == LEDGER_ORDER;
    struct command command = {.spec = &command_table[order ? STOCK_TAKE : SEATS_CONFIRM]};

    if (sale->answer != LEDGER_DONE) {
        return; /* it was not carried out; the take returns at its TTL */
    }
    if (order) {
        command.args.stock_take = (struct hf_stock_take_args){.product = sale->scope,
                                                              .order = sale->id,
                                                              .user = sale->user,
                                                              .quantity = sale->quantity};
    } else {
        command.args.seats_confirm = (struct hf_seats_confirm_args){
            .event = sale->scope, .booking = sale->id, .payment = sale->payment};
        seats_seed(&command, sale->code);
    }
    struct service_call *call = call_new(service, &command, NULL, NULL);
    if (call == NULL) {
        ledger_told(service->ledger, sale->writer, sale->batch); /* for reconciliation to find */
        return;
    }
    call->untold = true;
    call->writer = sale->writer;
    call->batch = sale->batch;
    call_ready(call, order ? settle_late : confirm_late);
}
