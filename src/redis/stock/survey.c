/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a survey, the reading of all counters, and the end. Wants that join meanwhile are
 * for the next survey, which starts when this one ends. */
#include "redis/stock/survey_parts.h"

#include "base/check.h"

#include <stdlib.h>

/* A suggested survey, which no command waits for, starts no sooner after the last one. */
#define SUGGESTED_EVERY_MS 20
/* So often the counts of all transfers are read, even if nothing suggests it: a failover may have
 * lost one half of a transfer, and what is there twice is not to be sold. What a shard has passed
 * on, and has then forgotten both to have got and to have given, is missing in no sum. With many
 * shards it is done more rarely, so that it costs an engine at most 100 such reads a second. */
#define COUNTED_EVERY_MS 1000
#define COUNTED_MS_EACH 10

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
    if (survey->with_counts && survey->problem.code == HF_OK) {
        survey->counted_ms = survey->ended_ms;
    }
    if (product->stocks->stopped || list_empty(&survey->next)) {
        survey->running = false;
        stock_product_release(product);
    } else {
        start(survey);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static const struct problem no_memory = {HF_BUSY, "out of memory"};
static const struct problem strange = {HF_INTERNAL, "a shard answered with nonsense"};

static void read_page(struct stock_probe *probe);

/* Takes the figures of a page. Those of the first are the reading; whether a transfer came or went
 * before the last is told by the others. Returns whether the counts of all counters are there. */
static bool take_page(struct stock_probe *probe, const struct counter_figures *figures)
{
    if (probe->told == 0) {
        probe->now = *figures;
    }
    probe->moved = probe->moved || counter_figures_moved(figures, &probe->now);
    probe->told += STOCK_COUNTS_AT_ONCE;
    return !probe->survey->with_counts || probe->told >= probe->survey->count;
}

static void probed(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct stock_probe *probe = call->context;
    struct stock_survey *survey = probe->survey;
    struct counter_figures figures = {.known = false};

    if (fate != REDIS_ANSWERED) {
        survey->problem = problem->code == HF_TIMEOUT ? stock_shard_silent : *problem;
    } else if (!counter_figures_read(&figures, reply)) {
        survey->problem = strange;
    } else if (!stock_survey_keep_transfers(survey, reply, probe->counter)) {
        survey->problem = no_memory;
    } else if (!take_page(probe, &figures)) {
        read_page(probe);
        return;
    } else {
        probe->read = true;
    }
    if (--survey->in_flight == 0) {
        stock_survey_weigh(survey);
    }
}

static void read_page(struct stock_probe *probe)
{
    const struct stock_survey *survey = probe->survey;

    counter_call_read(&probe->call, survey->product, probe->counter, survey->with_counts,
                      probe->told);
    script_call_send(&probe->call, true, 0, probed, probe);
}

void stock_survey_collect(struct stock_survey *survey)
{
    survey->readings++;
    survey->epoch = survey->product->epoch;
    survey->problem.code = HF_OK;
    survey->open_count = survey->counts_used = 0;
    survey->total_before = survey->total;
    survey->in_flight = survey->count;
    for (size_t i = 0; i < survey->count; i++) {
        struct stock_probe *probe = &survey->probes[i];
        probe->before = probe->now;
        probe->read = probe->moved = false;
        probe->told = 0;
        read_page(probe);
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

/* Is it time to read the counts of all transfers? */
static bool is_count_due(const struct stock_survey *survey)
{
    uint64_t all_ms = (uint64_t)survey->product->counters * COUNTED_MS_EACH;
    uint64_t every_ms = all_ms > COUNTED_EVERY_MS ? all_ms : COUNTED_EVERY_MS;

    return uv_now(survey->product->stocks->env->loop) >= survey->counted_ms + every_ms;
}

static void start(struct stock_survey *survey)
{
    CHECK(list_empty(&survey->wants));
    list_splice_last(&survey->wants, &survey->next);
    survey->readings = 0;
    survey->with_counts = is_count_due(survey);
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
        survey->counted_ms = uv_now(product->stocks->env->loop);
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

void stock_survey_routine(struct stock_product *product)
{
    struct stock_survey *survey = survey_of(product);

    if (survey != NULL && is_count_due(survey)) {
        stock_survey_suggest(product);
    }
}

void stock_survey_free(struct stock_survey *survey)
{
    if (survey != NULL) {
        CHECK(!survey->running);
        free_probes(survey);
        free(survey->open);
        free(survey->counts);
        script_call_free(&survey->turn_call);
        free(survey);
    }
}
