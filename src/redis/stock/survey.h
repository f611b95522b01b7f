/* SPDX-License-Identifier: Apache-2.0
 *
 * A survey reads all counters of a product: to move stock to the counter that wants it, or to be
 * certain that there is too little.
 *
 * Certain is what two readings of every counter agree on, the second begun when the first was over.
 * If no counter gained anything and no transfer left or arrived between its two readings, then at
 * the moment between them all counters together had no more than the first reading has shown, what
 * was in transit included. The survey also completes the transfers that it finds in an outbox.
 *
 * An engine has one survey of a product in flight at a time. A command that falls short meanwhile
 * joins the next one, so that a thousand commands on a sold-out product cost as few reads as
 * one. */
#ifndef REDIS_STOCK_SURVEY_H
#define REDIS_STOCK_SURVEY_H

#include "redis/stock/product.h"

enum stock_want_kind {
    STOCK_WANT_QUANTITY, /* a quantity at one counter */
    STOCK_WANT_PROOF,    /* whether all counters together have a quantity; none is moved */
    STOCK_WANT_FIGURES,  /* the totals */
    STOCK_WANT_SPREAD,   /* what is at the main counter, spread over the shards */
};

enum stock_survey_result {
    STOCK_SURVEY_RETRY,   /* the quantity may be at the counter now, or there is enough */
    STOCK_SURVEY_SHORT,   /* all counters together had less than the quantity */
    STOCK_SURVEY_FIGURES, /* the totals are valid */
    STOCK_SURVEY_FAILED,  /* the problem says why; nothing was changed */
};

/* Totals over all counters. */
struct stock_totals {
    int64_t available; /* what is in transit included, less what is owed: may be negative */
    int64_t taken, sold, loaded, shards;
    bool merged;
    bool moving; /* a transfer stood in an outbox */
};

struct stock_want;
typedef void stock_want_done(struct stock_want *want, enum stock_survey_result result,
                             const struct stock_totals *totals, const struct problem *problem);

/* What a command wants of a survey; part of the caller's own struct. */
struct stock_want {
    struct list node;
    enum stock_want_kind kind;
    size_t target;
    int64_t quantity;
    stock_want_done *done;
};

/* Joins the next survey of the product, and starts it if none is in flight; `done` may be called
 * before this returns. False when there is no memory: then it is never called. */
bool stock_survey_join(struct stock_product *product, struct stock_want *want);
/* Leaves the survey: `done` is not called any more. */
void stock_survey_leave(struct stock_want *want);
/* Starts a survey that no command waits for, because stock is to be moved or the product merged. */
void stock_survey_suggest(struct stock_product *product);
/* The product sells: starts a survey if transfers were not checked for a second. */
void stock_survey_routine(struct stock_product *product);

void stock_survey_free(struct stock_survey *survey);

#endif
