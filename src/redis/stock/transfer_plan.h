/* SPDX-License-Identifier: Apache-2.0
 *
 * Which transfers bring a product's stock to the counters that want it, by what this engine saw
 * last of each counter. A plan changes nothing itself. */
#ifndef REDIS_STOCK_TRANSFER_PLAN_H
#define REDIS_STOCK_TRANSFER_PLAN_H

#include "redis/stock/survey.h"

struct transfer_plan_move {
    size_t source, target;
    int64_t quantity; /* at most */
};

struct transfer_plan {
    const struct stock_product *product;
    size_t counters;
    int64_t *left; /* of each counter, after all moves and with the wanted quantities taken off */
    struct transfer_plan_move *moves;
    size_t count, capacity;
    bool failed; /* there was no memory: some moves are missing */
};

/* A plan for the first `counters` counters of the product; there are at least two. */
void transfer_plan_init(struct transfer_plan *plan, const struct stock_product *product,
                        size_t counters);
void transfer_plan_free(struct transfer_plan *plan);

/* First counters that owe some get it. For a merged product, everything else goes to the main
 * counter. For a sharded one, each want in turn
 * gets what its counter is short of: from the richest counter, half of its stock or what is
 * missing, whichever is more. A want that all counters together cannot satisfy gets nothing, so
 * that the others are not short as well. */
void transfer_plan_make(struct transfer_plan *plan, const struct list *wants);

#endif
