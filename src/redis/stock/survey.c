/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a survey, the reading of all counters, and the end. Wants that join meanwhile are
 * for the next survey, which starts when this one ends. */
#include "redis/stock/survey_parts.h"

#include "base/check.h"

#include <stdlib.h>

/* A suggested survey, which no command waits for, starts no sooner after the last one. */
#define SUGGESTED_EVERY_MS 20

static void start(struct stock_survey *survey);

void stock_survey_answer(struct stock_want *want, enum stock_survey_result result,
                         const struct stock_totals *totals, const struct problem *problem)
{
    list_remove(&want->node);
    list_init(&want->node);
    want->done(want, result, totals, problem);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void answer_all(struct stock_survey *survey, enum stock_survey_result result,
                       const struct problem *problem)
{
    while (!list_empty(&survey->wants)) {
        stock_survey_answer(stock_want_at(survey->wants.next), result, NULL, problem);
    }
}

void stock_survey_finish(struct stock_survey *survey, enum stock_survey_result result,
                         const struct problem *problem)
{
    struct stock_product *product = survey->product;

    answer_all(survey, result, problem);
    survey->ended_ms = uv_now(product->stocks->env->loop);
    if (product->stocks->stopped || list_empty(&survey->next)) {
        survey->running = false;
        stock_product_release(product);
    } else {
        start(survey);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool keep_open(struct stock_survey *survey, const redisReply *reply, size_t counter)
{
    size_t more = counter_figures_open_count(reply);

    if (survey->open_count + more > survey->open_capacity) {
        size_t capacity = survey->open_count + more;
        struct stock_open_transfer *open = realloc(survey->open, capacity * sizeof *open);
        if (open == NULL) {
            return false;
        }
        survey->open = open;
        survey->open_capacity = capacity;
    }
    for (size_t i = 0; i < more; i++) {
        if (counter_figures_open(&survey->open[survey->open_count], reply, i, counter,
                                 survey->count)) {
            survey->open_count++;
        }
    }
    return true;
}

static const struct problem no_memory = {HF_BUSY, "out of memory"};
static const struct problem strange = {HF_INTERNAL, "a shard answered with nonsense"};

static void probed(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct stock_probe *probe = call->context;
    struct stock_survey *survey = probe->survey;

    if (fate != REDIS_ANSWERED) {
        survey->problem = problem->code == HF_TIMEOUT ? stock_shard_silent : *problem;
    } else if (!counter_figures_read(&probe->now, reply)) {
        survey->problem = strange;
    } else if (!keep_open(survey, reply, probe->counter)) {
        survey->problem = no_memory;
    } else {
        probe->read = true;
    }
    if (--survey->in_flight == 0) {
        stock_survey_weigh(survey);
    }
}

void stock_survey_collect(struct stock_survey *survey)
{
    survey->readings++;
    survey->problem.code = HF_OK;
    survey->open_count = 0;
    survey->total_before = survey->total;
    survey->in_flight = survey->count;
    for (size_t i = 0; i < survey->count; i++) {
        struct stock_probe *probe = &survey->probes[i];
        probe->before = probe->now;
        probe->read = false;
        counter_call_read(&probe->call, survey->product, i);
        script_call_send(&probe->call, true, 0, probed, probe);
    }
}

/* ---- begin ----------------------------------------------------------------------------------- */

static void free_probes(struct stock_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        script_call_free(&survey->probes[i].call);
    }
    free(survey->probes);
    survey->probes = NULL;
    survey->count = 0;
}

/* A probe for each counter the product has now. */
static bool prepare_probes(struct stock_survey *survey)
{
    struct stock_product *product = survey->product;

    if (survey->count == product->counters) {
        return true;
    }
    free_probes(survey);
    survey->probes = calloc(product->counters, sizeof *survey->probes);
    if (survey->probes == NULL) {
        return false;
    }
    survey->count = product->counters;
    for (size_t i = 0; i < survey->count; i++) {
        script_call_init(&survey->probes[i].call, product->stocks->env);
        survey->probes[i].survey = survey;
        survey->probes[i].counter = i;
    }
    return true;
}

static void start(struct stock_survey *survey)
{
    CHECK(list_empty(&survey->wants));
    list_splice_last(&survey->wants, &survey->next);
    survey->readings = 0;
    if (survey->product->counters < 2) { /* there are no shards to read any more */
        stock_survey_finish(survey, STOCK_SURVEY_RETRY, NULL);
    } else if (prepare_probes(survey)) {
        stock_survey_collect(survey);
    } else {
        stock_survey_finish(survey, STOCK_SURVEY_FAILED, &no_memory);
    }
}

static struct stock_survey *survey_of(struct stock_product *product)
{
    struct stock_survey *survey =
        product->survey != NULL ? product->survey : calloc(1, sizeof *survey);

    if (survey != NULL && product->survey == NULL) {
        product->survey = survey;
        survey->product = product;
        list_init(&survey->wants);
        list_init(&survey->next);
        script_call_init(&survey->turn_call, product->stocks->env);
    }
    return survey;
}

static void run(struct stock_survey *survey)
{
    if (!survey->running) {
        survey->running = true;
        stock_product_hold(survey->product);
        start(survey);
    }
}

bool stock_survey_join(struct stock_product *product, struct stock_want *want)
{
    struct stock_survey *survey = survey_of(product);

    if (survey == NULL) {
        return false;
    }
    list_add_last(&survey->next, &want->node);
    run(survey);
    return true;
}

void stock_survey_leave(struct stock_want *want)
{
    list_remove(&want->node);
    list_init(&want->node);
}

void stock_survey_suggest(struct stock_product *product)
{
    struct stock_survey *survey = survey_of(product);
    uint64_t now_ms = uv_now(product->stocks->env->loop);

    if (survey != NULL && !survey->running && !product->stocks->stopped &&
        now_ms >= survey->ended_ms + SUGGESTED_EVERY_MS) {
        run(survey);
    }
}

void stock_survey_free(struct stock_survey *survey)
{
    if (survey != NULL) {
        CHECK(!survey->running);
        free_probes(survey);
        free(survey->open);
        script_call_free(&survey->turn_call);
        free(survey);
    }
}
