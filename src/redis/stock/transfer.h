/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves stock from one place of a product to another, in three steps that each happen as a whole:
 *
 *     send     at the source: it leaves what is available and stands in the outbox, numbered
 *     receive  at the target: it arrives, unless the target has heard of that number before
 *     forget   at the source: it leaves the outbox
 *
 * At no time is it nowhere or in two places. Whoever dies on the way, or loses an answer, leaves a
 * transfer that anybody who meets it in the outbox carries on with; to do a step twice is as good
 * as once. There is at most one under way from a place to another: a second one is that one. */
#ifndef REDIS_STOCK_TRANSFER_H
#define REDIS_STOCK_TRANSFER_H

#include "redis/stock/product.h"

struct transfer;
typedef void transfer_done(struct transfer *transfer);

struct transfer {
    struct product *product; /* held by the caller while it lasts */
    size_t source, target;
    int64_t least, most;      /* see send_stock.lua */
    int64_t number, quantity; /* of what was sent */
    bool failed;              /* some step was not answered: it may be under way still */
    struct problem problem;   /* why */
    struct script_call call;
    transfer_done *done;
    void *context;
};

void transfer_init(struct transfer *transfer, struct product *product, size_t source,
                   size_t target);
void transfer_free(struct transfer *transfer);

/* From the first step, or with one that was met in an outbox. `done` comes from the loop. */
void transfer_send(struct transfer *transfer, int64_t least, int64_t most, transfer_done *done,
                   void *context);
void transfer_carry_on(struct transfer *transfer, const struct open_transfer *open,
                       transfer_done *done, void *context);

#endif
