/* SPDX-License-Identifier: Apache-2.0
 *
 * Which transfers bring a product's stock to where it is wanted, by what was last seen of its
 * counters. Changes nothing itself. */
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
    int64_t *left; /* of each counter, once all this is done and those who want it have theirs */
    struct transfer_plan_move *moves;
    size_t count, capacity;
    bool failed; /* no memory: it is only a part */
};

/* For the first `counters` counters of the product. */
void transfer_plan_init(struct transfer_plan *plan, const struct stock_product *product,
                        size_t counters);
void transfer_plan_free(struct transfer_plan *plan);

/* Merged: everything to the main counter. Sharded: to each of the wants in turn what it is short of,
 * from the richest counter half of what it has or what is missing, whichever is more; the first one
 * gets it all if it can be had, so that not all fall short at the same time. */
void transfer_plan_make(struct transfer_plan *plan, const struct list *wants);

#endif
