/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readings of a survey prove: whether they are to be repeated, which wants they answer,
 * and which mode the product should have. No call is made here. */
#include "redis/stock/survey_parts.h"

/* After so many readings that did not agree, wants that need certainty are answered without it. */
#define READINGS_MAX 6

/* ---- totals ---------------------------------------------------------------------------------- */

/* What all counters together sent and did not receive, by the sums that each has of it. */
static int64_t sent_and_not_received(const struct stock_survey *survey)
{
    uint64_t sent = 0, received = 0;

    for (size_t i = 0; i < survey->count; i++) {
        sent += (uint64_t)survey->probes[i].now.sent;
        received += (uint64_t)survey->probes[i].now.received;
    }
    return counter_ahead((int64_t)(sent & (uint64_t)HF_INTEGER_MAX),
                         (int64_t)(received & (uint64_t)HF_INTEGER_MAX));
}

static int64_t in_outboxes(const struct stock_survey *survey)
{
    int64_t sum = 0;

    for (size_t i = 0; i < survey->open_count; i++) {
        sum = counter_sum(sum, survey->open[i].quantity);
    }
    return sum;
}

/* Finds what is in transit. That is what the outboxes hold, unless some of it has arrived, or a
 * failover lost one end of a transfer: false if it takes the counts of all transfers to tell. */
static bool find_transit(struct stock_survey *survey)
{
    if (survey->with_counts) {
        if (!stock_survey_compare(survey, &survey->transit)) {
            survey->problem = (struct problem){HF_BUSY, "out of memory"};
        }
        return true;
    }
    survey->transit = sent_and_not_received(survey);
    return survey->transit == 0 || survey->transit == in_outboxes(survey);
}

/* What is available and in transit, less what is owed; only what is available where it was read, if
 * a counter was not. */
static int64_t total_of(const struct stock_survey *survey)
{
    int64_t sum = 0;

    for (size_t i = 0; i < survey->count; i++) {
        const struct counter_figures *now = &survey->probes[i].now;
        sum = counter_sum(sum, survey->probes[i].read ? now->available - now->owed : 0);
    }
    return survey->problem.code == HF_OK ? counter_sum(sum, survey->transit) : sum;
}

/* Has no transfer left or arrived at any counter since the reading before? */
static bool nothing_moved(const struct stock_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct stock_probe *probe = &survey->probes[i];
        if (probe->moved || counter_figures_moved(&probe->now, &probe->before)) {
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

/* Does a counter know that orders go by their user, which the main counter may have forgotten? */
static bool any_limited(const struct stock_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        if (survey->probes[i].read && survey->probes[i].now.limited) {
            return true;
        }
    }
    return false;
}

/* Has a counter learnt, in that epoch, that the product is closed? */
static bool was_closed(const struct stock_survey *survey, int64_t epoch)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct stock_probe *probe = &survey->probes[i];
        if (probe->read && probe->now.epoch == epoch && probe->now.end == PRODUCT_CLOSED) {
            return true;
        }
    }
    return false;
}

/* Should the product be merged? A merged one is sharded again only when it is loaded again. */
static bool should_be_merged(struct stock_survey *survey)
{
    const struct stock_product *product = survey->product;
    bool low = !product->steal && survey->total <= product->watermark;

    return product->merged ? low || !any_spreads(survey) : low;
}

/* Takes over what the counters say of the product. Returns whether a failover has lost the main
 * counter's last change of mode; while the product is being closed, the CLOSE sees to that. */
static bool learn(struct stock_survey *survey)
{
    struct stock_product *product = survey->product;

    stock_product_learn(product, &survey->probes[COUNTER_MAIN].now);
    for (size_t i = 0; i < survey->count; i++) {
        if (survey->probes[i].read) {
            stock_product_saw(product, i, &survey->probes[i].now);
        }
    }
    bool forgot_limit = !product->limited && any_limited(survey);
    product->limited = product->limited || forgot_limit;
    product->newest = highest_epoch(survey);
    return product->end == PRODUCT_OPEN && (product->newest > product->epoch || forgot_limit);
}

/* Changes the mode of the product if it has to change, then completes transfers. */
static void go_on(struct stock_survey *survey)
{
    struct stock_product *product = survey->product;
    bool may_turn = survey->problem.code == HF_OK && product->end == PRODUCT_OPEN;

    if (may_turn && should_be_merged(survey) != product->merged) {
        stock_survey_turn(survey, stock_mode(!product->merged, product->limited), 0);
    } else {
        stock_survey_carry_on(survey);
    }
}

/* Tells the main counter the mode that it has lost. A product that was closed is none any more,
 * since its shards are wiped, or about to be. */
static void turn_again(struct stock_survey *survey)
{
    struct stock_product *product = survey->product;
    bool closed = was_closed(survey, product->newest);

    stock_survey_turn(survey, closed ? "closed" : stock_product_mode(product), product->newest);
}

void stock_survey_weigh(struct stock_survey *survey)
{
    if (survey->product->stocks->stopped || !survey->probes[COUNTER_MAIN].read) {
        stock_survey_finish(survey, STOCK_SURVEY_FAILED, &survey->problem);
        return;
    }
    if (!is_same_product(survey)) {
        return;
    }
    if (learn(survey)) {
        turn_again(survey);
        return;
    }
    if (survey->product->end == PRODUCT_CLOSED) { /* to the commands there is no product any more */
        stock_survey_finish(survey, STOCK_SURVEY_RETRY, NULL);
        return;
    }
    if (survey->problem.code == HF_OK && !find_transit(survey)) {
        survey->with_counts = true;
        survey->readings = 0;
        stock_survey_collect(survey);
        return;
    }
    bool complete = survey->problem.code == HF_OK;
    survey->total = total_of(survey);
    if (complete && survey->readings > 1) {
        answer_certain(survey);
    }
    if (complete && survey->readings < READINGS_MAX && any_needs_certainty(survey)) {
        stock_survey_collect(survey);
        return;
    }
    answer_uncertain(survey);
    go_on(survey);
}
