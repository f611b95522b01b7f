/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a survey, for the files that make it up:
 *
 *     survey.c         start ── read ──> weigh, and the end
 *     survey_counts.c  the transfers that a reading shows, and whether their two ends agree
 *     survey_weigh.c   what the readings tell: read again until it is certain, or go on
 *     survey_move.c    turn (to merged, or back) ──> carry on ──> move ──> finish
 */
#ifndef REDIS_STOCK_SURVEY_PARTS_H
#define REDIS_STOCK_SURVEY_PARTS_H

#include "redis/stock/survey.h"
#include "redis/stock/transfer.h"

/* One counter: what it replied this time and the time before. */
struct stock_probe {
    struct script_call call;
    struct stock_survey *survey;
    size_t counter;
    size_t told; /* counters of which this reading has told the counts */
    bool read;
    bool moved; /* transfers left or arrived while this reading told of the counts */
    struct counter_figures now, before;
};

struct stock_survey {
    struct stock_product *product;
    bool running;
    uint64_t ended_ms;       /* when the last survey ended; 0: there was none */
    uint64_t counted_ms;     /* when the counts of all transfers were last read */
    struct list wants, next; /* of this survey, and of the next one */

    struct stock_probe *probes;
    size_t count;
    size_t in_flight; /* calls or transfers that are awaited */
    unsigned readings;
    int64_t epoch;    /* the product's, when the last reading began */
    bool with_counts; /* the readings include the counts of all transfers */
    int64_t transit;  /* what has left a counter and not arrived; negative: arrived twice */
    int64_t total, total_before;
    struct problem problem; /* HF_OK: all counters were read; otherwise why one was not */

    struct stock_open_transfer *open; /* transfers that are to be completed */
    size_t open_count, open_capacity;
    struct stock_transfer_count *counts;
    size_t counts_used, counts_capacity;
    struct stock_transfer *transfers;
    size_t transfer_count;
    struct script_call turn_call;
};

static inline struct stock_want *stock_want_at(struct list *node)
{
    return LIST_ENTRY(node, struct stock_want, node);
}

/* Answers one want, which leaves the survey; and all that are left, which ends the survey. */
void stock_survey_answer(struct stock_want *want, enum stock_survey_result result,
                         const struct stock_totals *totals, const struct problem *problem);
void stock_survey_finish(struct stock_survey *survey, enum stock_survey_result result,
                         const struct problem *problem);

/* Reads all counters, then goes on to weigh. */
void stock_survey_collect(struct stock_survey *survey);
void stock_survey_weigh(struct stock_survey *survey);

/* Keeps the transfers that a counter's reply names; false when there is no memory. */
bool stock_survey_keep_transfers(struct stock_survey *survey, const redisReply *reply,
                                 size_t counter);
/* Adds those to `open` whose two ends count differently. Returns in `transit` how much more was
 * sent than has arrived, in all; false when there is no memory. */
bool stock_survey_compare(struct stock_survey *survey, int64_t *transit);

/* Changes the mode of the product, with an epoch above this, then carries on. */
void stock_survey_turn(struct stock_survey *survey, const char *mode, int64_t above);
/* Completes the transfers that were found in outboxes, then moves what the wants are short of and
 * ends the survey. */
void stock_survey_carry_on(struct stock_survey *survey);

#endif
