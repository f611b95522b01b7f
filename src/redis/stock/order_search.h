/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks several counters of a product, all at once, what they know of an order and of a user. At
 * most one counter has the order taken or settled; others may remember that it was given back
 * before, or know that such a memory does not count any more (lua/parts/stock.lua).
 *
 * Every counter that answers has learnt the epoch of the caller: from then on it takes no order of
 * an earlier one. */
#ifndef REDIS_STOCK_ORDER_SEARCH_H
#define REDIS_STOCK_ORDER_SEARCH_H

#include "redis/stock/product.h"

#define COUNTER_NONE SIZE_MAX

struct order_search;
typedef void order_search_done(struct order_search *search);

/* What all counters together answered. */
struct order_found {
    size_t counter;       /* where the order is taken or settled, or COUNTER_NONE */
    int64_t given_until;  /* how long it is remembered that it was given back; 0: it was not */
    bool given_by_user;   /* by the user that was asked for */
    int64_t hidden_until; /* what is remembered up to then does not count */
    int64_t user_has;     /* what the user has at these counters */
    bool stale;           /* a counter knows of a later epoch, and told nothing else */
};

struct order_search {
    struct stock_product *product; /* retained by the caller */
    struct order_search_call *calls;
    size_t count, capacity;
    size_t in_flight;
    int64_t epoch; /* the product's, when the counters were asked */
    struct order_found found;
    struct problem problem; /* HF_OK: all counters have answered */
    order_search_done *done;
    void *context;
};

/* Begins anew for a product. What a search allocated is freed at the end, when none is in
 * flight. */
void order_search_begin(struct order_search *search, struct stock_product *product);
void order_search_free(struct order_search *search);
/* Is to ask this counter too; false when there is no memory. */
bool order_search_add(struct order_search *search, size_t counter);
/* Asks them, within this time. `done` is called from the loop; before this returns only if there is
 * no counter to ask. `user` may be empty. */
void order_search_send(struct order_search *search, struct hf_bytes order, struct hf_bytes user,
                       int64_t timeout_ms, order_search_done *done, void *context);

#endif
