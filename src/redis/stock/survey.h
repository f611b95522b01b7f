/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at all counters of a product: to move stock to where it is wanted, or to be certain that
 * there is too little.
 *
 * Certain is what two readings of every counter agree on, the second begun when the first was over:
 * if no counter gained anything and no transfer left or arrived between its two readings, then at the
 * moment between them there was no more in all than the first has shown, what was in transit
 * included. Transfers that somebody left half done are carried on with.
 *
 * Of each product one survey is under way at a time in an engine. Whoever falls short meanwhile
 * joins the next one, so that many who find nothing read no more than one of them would. */
#ifndef REDIS_STOCK_SURVEY_H
#define REDIS_STOCK_SURVEY_H

#include "redis/stock/product.h"

enum stock_want_kind {
    STOCK_WANT_QUANTITY, /* so much at a counter */
    STOCK_WANT_FIGURES,  /* to know the totals */
    STOCK_WANT_SPREAD,   /* what is at the main counter is to go to where it is sold */
};

enum stock_survey_result {
    STOCK_SURVEY_RETRY,   /* it may be there now */
    STOCK_SURVEY_SHORT,   /* there was not as much in all counters together */
    STOCK_SURVEY_FIGURES, /* here they are */
    STOCK_SURVEY_FAILED,  /* see the problem; nothing was changed */
};

/* Totals over all counters. */
struct stock_totals {
    int64_t available; /* and in transit */
    int64_t taken, sold, loaded, shards;
    bool merged;
};

struct stock_want;
typedef void stock_want_done(struct stock_want *want, enum stock_survey_result result,
                             const struct stock_totals *totals, const struct problem *problem);

/* Part of the caller's own struct. */
struct stock_want {
    struct list node;
    enum stock_want_kind kind;
    size_t target;
    int64_t quantity;
    stock_want_done *done;
};

/* Asks for it; `done` comes later. False when there is no memory: then it does not. */
bool stock_survey_join(struct stock_product *product, struct stock_want *want);
/* Gives up: `done` is not called any more. */
void stock_survey_leave(struct stock_want *want);
/* Nobody waits for it, but something is to be moved or merged. */
void stock_survey_suggest(struct stock_product *product);

void stock_survey_free(struct stock_survey *survey);

#endif
