/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves stock from one counter of a product to another, in three steps that each happen as a whole:
 *
 *     send     at the source: it leaves what is available, stands in the outbox, and is added to
 *              all that was ever sent to the target
 *     receive  at the target: all that was sent and has not arrived yet arrives, and is added to
 *              all that ever arrived from the source
 *     forget   at the source: it leaves the outbox
 *
 * At no time is the stock nowhere or at two counters. An engine that crashes between two steps, or
 * loses a reply, leaves a transfer in the outbox that any engine's survey completes; each step may
 * be repeated. From one counter to another at most one transfer is in flight: a second send is
 * answered with the first.
 *
 * A failover may lose any of these steps at either end, also long after the transfer was over. Then
 * the two sums differ, and the same steps make them equal: the target receives again what it lost;
 * a source that is behind its target takes off again, in `forget`, what it had sent. */
#ifndef REDIS_STOCK_TRANSFER_H
#define REDIS_STOCK_TRANSFER_H

#include "redis/stock/product.h"

struct stock_transfer;
typedef void stock_transfer_done(struct stock_transfer *transfer);

struct stock_transfer {
    struct stock_product *product; /* retained by the caller until `done` */
    int64_t epoch;                 /* the product's, when what it is done for was read */
    size_t source, target;
    int64_t least, most;     /* see send_stock.lua */
    int64_t total, quantity; /* what the source sent in all, and this time */
    int64_t arrived;         /* what arrived at the target in all */
    bool failed;             /* a step was not answered: the transfer may still be in flight */
    struct problem problem;  /* why it failed */
    struct script_call call;
    stock_transfer_done *done;
    void *context;
};

/* A counter that was wiped in this epoch of the product or a later one is left alone: what is there
 * by now, if anything, is another product of that name. */
void stock_transfer_init(struct stock_transfer *transfer, struct stock_product *product,
                         int64_t epoch, size_t source, size_t target);
void stock_transfer_free(struct stock_transfer *transfer);

/* Starts with the first step, or completes a transfer that was found in an outbox. `done` is called
 * from the loop. */
void stock_transfer_send(struct stock_transfer *transfer, int64_t least, int64_t most,
                         stock_transfer_done *done, void *context);
void stock_transfer_carry_on(struct stock_transfer *transfer,
                             const struct stock_open_transfer *open, stock_transfer_done *done,
                             void *context);

#endif
