/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves stock from one counter of a product to another, in three steps that each happen as a whole:
 *
 *     send     at the source: it leaves what is available and stands in the outbox, numbered
 *     receive  at the target: it arrives, unless the target has heard of that number before
 *     forget   at the source: it leaves the outbox
 *
 * At no time is it nowhere or in two counters. Whoever dies on the way, or loses an answer, leaves a
 * transfer that anybody who meets it in the outbox carries on with; to do a step twice is as good
 * as once. There is at most one under way from a counter to another: a second one is that one. */
#ifndef REDIS_STOCK_TRANSFER_H
#define REDIS_STOCK_TRANSFER_H

#include "redis/stock/product.h"

struct stock_transfer;
typedef void stock_transfer_done(struct stock_transfer *transfer);

struct stock_transfer {
    struct stock_product *product; /* held by the caller while it lasts */
    size_t source, target;
    int64_t least, most;      /* see send_stock.lua */
    int64_t number, quantity; /* of what was sent */
    bool failed;              /* some step was not answered: it may be under way still */
    struct problem problem;   /* why */
    struct script_call call;
    stock_transfer_done *done;
    void *context;
};

void stock_transfer_init(struct stock_transfer *transfer, struct stock_product *product,
                         size_t source, size_t target);
void stock_transfer_free(struct stock_transfer *transfer);

/* From the first step, or with one that was met in an outbox. `done` comes from the loop. */
void stock_transfer_send(struct stock_transfer *transfer, int64_t least, int64_t most,
                         stock_transfer_done *done, void *context);
void stock_transfer_carry_on(struct stock_transfer *transfer,
                             const struct stock_open_transfer *open, stock_transfer_done *done,
                             void *context);

#endif
