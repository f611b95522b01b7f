/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/stock/survey_parts.h"

#include "base/check.h"

#include <stdlib.h>

/* What nobody waits for is not done more often than this. */
#define SUGGESTED_EVERY_MS 20

static void start(struct scan *scan);

void scan_answer(struct want *want, enum want_result result, const struct totals *totals,
                 const struct problem *problem)
{
    list_remove(&want->node);
    list_init(&want->node);
    want->done(want, result, totals, problem);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void answer_all(struct scan *scan, enum want_result result, const struct problem *problem)
{
    while (!list_empty(&scan->wants)) {
        scan_answer(want_at(scan->wants.next), result, NULL, problem);
    }
}

void scan_finish(struct scan *scan, enum want_result result, const struct problem *problem)
{
    struct product *product = scan->product;

    answer_all(scan, result, problem);
    scan->ended_ms = uv_now(product->stocks->env->loop);
    if (product->stocks->stopped || list_empty(&scan->next)) {
        scan->running = false;
        product_release(product);
    } else {
        start(scan);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool keep_open(struct scan *scan, const redisReply *reply, size_t place)
{
    size_t more = figures_open_count(reply);

    if (scan->open_count + more > scan->open_capacity) {
        size_t capacity = scan->open_count + more;
        struct open_transfer *open = realloc(scan->open, capacity * sizeof *open);
        if (open == NULL) {
            return false;
        }
        scan->open = open;
        scan->open_capacity = capacity;
    }
    for (size_t i = 0; i < more; i++) {
        if (figures_open(&scan->open[scan->open_count], reply, i, place, scan->count)) {
            scan->open_count++;
        }
    }
    return true;
}

static const struct problem no_memory = {HF_BUSY, "out of memory"};
static const struct problem strange = {HF_INTERNAL, "a shard answered with nonsense"};
static const struct problem silent = {
    HF_ENGINE_DOWN, "not all shards of the product answer; nothing was changed, try again later"};

static void probed(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct probe *probe = call->context;
    struct scan *scan = probe->scan;

    if (fate != REDIS_ANSWERED) {
        scan->problem = problem->code == HF_TIMEOUT ? silent : *problem;
    } else if (!figures_read(&probe->now, reply)) {
        scan->problem = strange;
    } else if (!keep_open(scan, reply, probe->place)) {
        scan->problem = no_memory;
    } else {
        probe->read = true;
    }
    if (--scan->under_way == 0) {
        scan_weigh(scan);
    }
}

void scan_collect(struct scan *scan)
{
    scan->readings++;
    scan->problem.code = HF_OK;
    scan->open_count = 0;
    scan->total_before = scan->total;
    scan->under_way = scan->count;
    for (size_t i = 0; i < scan->count; i++) {
        struct probe *probe = &scan->probes[i];
        probe->before = probe->now;
        probe->read = false;
        place_read(&probe->call, scan->product, i);
        script_call_send(&probe->call, true, 0, probed, probe);
    }
}

/* ---- begin ----------------------------------------------------------------------------------- */

static void free_probes(struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        script_call_free(&scan->probes[i].call);
    }
    free(scan->probes);
    scan->probes = NULL;
    scan->count = 0;
}

/* A probe for each place the product has now. */
static bool prepare_probes(struct scan *scan)
{
    struct product *product = scan->product;

    if (scan->count == product->places) {
        return true;
    }
    free_probes(scan);
    scan->probes = calloc(product->places, sizeof *scan->probes);
    if (scan->probes == NULL) {
        return false;
    }
    scan->count = product->places;
    for (size_t i = 0; i < scan->count; i++) {
        script_call_init(&scan->probes[i].call, product->stocks->env);
        scan->probes[i].scan = scan;
        scan->probes[i].place = i;
    }
    return true;
}

static void start(struct scan *scan)
{
    struct list *first = scan->next.next, *last = scan->next.prev;

    CHECK(list_empty(&scan->wants));
    if (!list_empty(&scan->next)) {
        first->prev = &scan->wants;
        scan->wants.next = first;
        last->next = &scan->wants;
        scan->wants.prev = last;
        list_init(&scan->next);
    }
    scan->readings = 0;
    if (prepare_probes(scan)) {
        scan_collect(scan);
    } else {
        scan_finish(scan, SCAN_FAILED, &no_memory);
    }
}

static struct scan *scan_of(struct product *product)
{
    struct scan *scan = product->scan != NULL ? product->scan : calloc(1, sizeof *scan);

    if (scan != NULL && product->scan == NULL) {
        product->scan = scan;
        scan->product = product;
        list_init(&scan->wants);
        list_init(&scan->next);
        script_call_init(&scan->turn_call, product->stocks->env);
    }
    return scan;
}

static void run(struct scan *scan)
{
    if (!scan->running) {
        scan->running = true;
        product_hold(scan->product);
        start(scan);
    }
}

bool scan_join(struct product *product, struct want *want)
{
    struct scan *scan = scan_of(product);

    if (scan == NULL) {
        return false;
    }
    list_add_last(&scan->next, &want->node);
    run(scan);
    return true;
}

void scan_leave(struct want *want)
{
    list_remove(&want->node);
    list_init(&want->node);
}

void scan_suggest(struct product *product)
{
    struct scan *scan = scan_of(product);
    uint64_t now_ms = uv_now(product->stocks->env->loop);

    if (scan != NULL && !scan->running && !product->stocks->stopped &&
        now_ms >= scan->ended_ms + SUGGESTED_EVERY_MS) {
        run(scan);
    }
}

void scan_free(struct scan *scan)
{
    if (scan != NULL) {
        CHECK(!scan->running);
        free_probes(scan);
        free(scan->open);
        script_call_free(&scan->turn_call);
        free(scan);
    }
}
