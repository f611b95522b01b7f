/* SPDX-License-Identifier: Apache-2.0
 *
 * A purchase, as its two files see it: purchase.c, which comes to the sale, and purchase_sold.c,
 * which goes on from the ledger's answer. */
#ifndef SERVICE_PURCHASE_H
#define SERVICE_PURCHASE_H

#include "service/service_state.h"

enum purchase_state {
    PURCHASE_ENTERING, /* waits until the product is open */
    PURCHASE_TAKING,
    PURCHASE_SELLING,
    PURCHASE_SETTLING,
    PURCHASE_RETAKING,
    PURCHASE_UNSETTLED, /* sold and answered, and the engine fails */
    PURCHASE_GIVING,
    PURCHASE_ASKING,
    PURCHASE_DIRECT,
    PURCHASE_DONE,
    PURCHASE_STATES
};

static inline const struct hf_stock_buy_args *purchase_args(const struct service_call *call)
{
    return &call->command.args.stock_buy;
}

/* Goes to another state, which the table must allow. */
void purchase_move(struct service_call *call, enum purchase_state to);

/* The client has its answer; nothing is left to do. */
void purchase_finish(struct service_call *call, enum service_outcome outcome);
void purchase_finish_refused(struct service_call *call, enum hf_error code);
/* It is in the ledger; the engine knows it, or is left to reconciliation. */
void purchase_finish_sold(struct service_call *call, enum service_outcome outcome);
void purchase_answer_sold(struct service_call *call);
/* Answers with the ledger's refusal, and finishes. */
void purchase_refuse_as_ledger(struct service_call *call);

/* Submits the take, with the user's limit or without one. */
void purchase_take(struct service_call *call, int64_t max, engine_done *done);
void purchase_fill_sale(struct service_call *call);

/* The engine holds it: sells it in the ledger, and goes on to the end. */
void purchase_sell(struct service_call *call);

#endif
