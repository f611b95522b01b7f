/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readings of a survey prove: whether they are to be repeated, which wants they answer,
 * and which mode the product should have. No call is made here. */
#include "redis/stock/survey_parts.h"

/* After so many readings that did not agree, wants that need certainty are answered without it. */
#define READINGS_MAX 6

/* ---- totals ---------------------------------------------------------------------------------- */

#define MODULUS (UINT64_C(1) << 53)

/* What is available and in transit; only what is available where it was read, if a counter was
 * not. */
static int64_t total_of(const struct stock_survey *survey)
{
    int64_t sum = 0;
    uint64_t transit = 0;

    for (size_t i = 0; i < survey->count; i++) {
        const struct stock_probe *probe = &survey->probes[i];
        sum = counter_sum(sum, probe->read ? probe->now.available : 0);
        transit += (uint64_t)probe->now.sent - (uint64_t)probe->now.received;
    }
    return survey->problem.code == HF_OK ? counter_sum(sum, (int64_t)(transit % MODULUS)) : sum;
}

/* Has no transfer left or arrived at any counter since the reading before? */
static bool nothing_moved(const struct stock_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct stock_probe *probe = &survey->probes[i];
        if (probe->now.sent != probe->before.sent ||
            probe->now.received != probe->before.received) {
            return false;
        }
    }
    return true;
}

static bool nothing_grew(const struct stock_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        if (survey->probes[i].now.gains != survey->probes[i].before.gains) {
            return false;
        }
    }
    return true;
}

/* The totals by the last reading. Unless it is exact, because transfers came in between, what is
 * available follows from the other figures. */
static struct stock_totals totals_of(const struct stock_survey *survey, bool exact)
{
    const struct counter_figures *main = &survey->probes[COUNTER_MAIN].now;
    struct stock_totals totals = {.loaded = main->main.loaded,
                                  .shards = main->main.shards_reported,
                                  .merged = main->merged,
                                  .moving = survey->open_count > 0};

    for (size_t i = 0; i < survey->count; i++) {
        totals.taken = counter_sum(totals.taken, survey->probes[i].now.taken);
        totals.sold = counter_sum(totals.sold, survey->probes[i].now.sold);
    }
    totals.available = exact ? survey->total : totals.loaded - totals.taken - totals.sold;
    return totals;
}

/* ---- weighing -------------------------------------------------------------------------------- */

static bool wants_quantity(const struct stock_want *want)
{
    return want->kind == STOCK_WANT_QUANTITY || want->kind == STOCK_WANT_PROOF;
}

/* Would the want be refused for too little stock, or answered with the totals? */
static bool needs_certainty(const struct stock_survey *survey, const struct stock_want *want)
{
    return want->kind == STOCK_WANT_FIGURES ||
           (wants_quantity(want) && want->quantity > survey->total);
}

/* Answers the wants for which two readings in a row agree. */
static void answer_certain(struct stock_survey *survey)
{
    bool unmoved = nothing_moved(survey), certain = unmoved && nothing_grew(survey);
    struct stock_totals totals = totals_of(survey, true);

    for (struct list *at = survey->wants.next, *next; at != &survey->wants; at = next) {
        struct stock_want *want = stock_want_at(at);
        next = at->next;
        if (want->kind == STOCK_WANT_FIGURES && unmoved) {
            stock_survey_answer(want, STOCK_SURVEY_FIGURES, &totals, NULL);
        } else if (wants_quantity(want) && certain && want->quantity > survey->total_before) {
            totals.available = survey->total_before;
            stock_survey_answer(want, STOCK_SURVEY_SHORT, &totals, NULL);
            totals.available = survey->total;
        }
    }
}

/* Answers the wants that need certainty and have not got it. */
static void answer_uncertain(struct stock_survey *survey)
{
    struct stock_totals totals = totals_of(survey, false);
    bool complete = survey->problem.code == HF_OK;

    for (struct list *at = survey->wants.next, *next; at != &survey->wants; at = next) {
        struct stock_want *want = stock_want_at(at);
        next = at->next;
        if (!needs_certainty(survey, want)) {
            continue;
        }
        if (!complete) {
            stock_survey_answer(want, STOCK_SURVEY_FAILED, NULL, &survey->problem);
        } else if (want->kind == STOCK_WANT_FIGURES) {
            stock_survey_answer(want, STOCK_SURVEY_FIGURES, &totals, NULL);
        } else {
            stock_survey_answer(want, STOCK_SURVEY_RETRY, NULL, NULL);
        }
    }
}

static bool any_needs_certainty(struct stock_survey *survey)
{
    for (struct list *at = survey->wants.next; at != &survey->wants; at = at->next) {
        if (needs_certainty(survey, stock_want_at(at))) {
            return true;
        }
    }
    return false;
}

static bool any_spreads(struct stock_survey *survey)
{
    for (struct list *at = survey->wants.next; at != &survey->wants; at = at->next) {
        if (stock_want_at(at)->kind == STOCK_WANT_SPREAD) {
            return true;
        }
    }
    return false;
}

/* Has the product as many shards as this survey has read? Otherwise the survey ends, and the
 * product is to be read again. */
static bool is_same_product(struct stock_survey *survey)
{
    const struct counter_figures *main = &survey->probes[COUNTER_MAIN].now;

    if (main->known && (size_t)main->main.shard_count + 1 == survey->count) {
        return true;
    }
    survey->product->epoch = 0;
    stock_survey_finish(survey, STOCK_SURVEY_RETRY, NULL);
    return false;
}

/* The highest epoch that any counter knows of. */
static int64_t highest_epoch(const struct stock_survey *survey)
{
    int64_t highest = 0;

    for (size_t i = 0; i < survey->count; i++) {
        const struct stock_probe *probe = &survey->probes[i];
        highest = probe->read && probe->now.epoch > highest ? probe->now.epoch : highest;
    }
    return highest;
}

/* Should the product be merged? A merged one is sharded again only when it is loaded again. */
static bool should_be_merged(struct stock_survey *survey)
{
    const struct stock_product *product = survey->product;
    bool low = !product->steal && survey->total <= product->watermark;

    return product->merged ? low || !any_spreads(survey) : low;
}

void stock_survey_weigh(struct stock_survey *survey)
{
    struct stock_product *product = survey->product;
    bool complete = survey->problem.code == HF_OK;

    if (product->stocks->stopped || !survey->probes[COUNTER_MAIN].read) {
        stock_survey_finish(survey, STOCK_SURVEY_FAILED, &survey->problem);
        return;
    }
    if (!is_same_product(survey)) {
        return;
    }
    stock_product_learn(product, &survey->probes[COUNTER_MAIN].now);
    for (size_t i = 0; i < survey->count; i++) {
        if (survey->probes[i].read) {
            stock_product_saw(product, i, &survey->probes[i].now);
        }
    }
    survey->total = total_of(survey);
    if (complete && survey->readings > 1) {
        answer_certain(survey);
    }
    if (complete && survey->readings < READINGS_MAX && any_needs_certainty(survey)) {
        stock_survey_collect(survey);
        return;
    }
    answer_uncertain(survey);
    int64_t highest = highest_epoch(survey);
    bool open = product->end == PRODUCT_OPEN; /* otherwise the CLOSE changes the mode */
    if (open && highest > product->epoch) {   /* a failover lost the last change of mode */
        stock_survey_turn(survey, product->merged, highest);
    } else if (open && complete && should_be_merged(survey) != product->merged) {
        stock_survey_turn(survey, !product->merged, 0);
    } else {
        stock_survey_carry_on(survey);
    }
}
