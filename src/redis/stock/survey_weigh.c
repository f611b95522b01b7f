/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/stock/survey_parts.h"

/* So many readings in a row that did not agree are enough: whoever needs certainty tries later. */
#define READINGS_MAX 6

/* ---- totals ---------------------------------------------------------------------------------- */

#define MODULUS (UINT64_C(1) << 53)

/* What is available and in transit; only what was seen, if not all places were read. */
static int64_t total_of(const struct scan *scan)
{
    int64_t sum = 0;
    uint64_t transit = 0;

    for (size_t i = 0; i < scan->count; i++) {
        const struct probe *probe = &scan->probes[i];
        sum += probe->read ? probe->now.available : 0;
        transit += (uint64_t)probe->now.sent - (uint64_t)probe->now.received;
    }
    return scan->problem.code == HF_OK ? sum + (int64_t)(transit % MODULUS) : sum;
}

/* Has nothing left or arrived at any place since the reading before? And has nothing grown? */
static bool nothing_moved(const struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        const struct probe *probe = &scan->probes[i];
        if (probe->now.sent != probe->before.sent ||
            probe->now.received != probe->before.received) {
            return false;
        }
    }
    return true;
}

static bool nothing_grew(const struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->probes[i].now.gains != scan->probes[i].before.gains) {
            return false;
        }
    }
    return true;
}

/* As read just now. If transfers came in between, what is available follows from the rest. */
static struct totals totals_of(const struct scan *scan, bool exact)
{
    const struct figures *main = &scan->probes[PLACE_MAIN].now;
    struct totals totals = {
        .loaded = main->main.loaded, .shards = main->main.shards, .merged = main->merged};

    for (size_t i = 0; i < scan->count; i++) {
        totals.taken += scan->probes[i].now.taken;
        totals.sold += scan->probes[i].now.sold;
    }
    totals.available = exact ? scan->total : totals.loaded - totals.taken - totals.sold;
    return totals;
}

/* ---- weighing -------------------------------------------------------------------------------- */

/* Those who would be told that there is too little, or what there is, once it is certain. */
static bool needs_certainty(const struct scan *scan, const struct want *want)
{
    return want->kind == WANT_FIGURES || (want->kind == WANT_STOCK && want->quantity > scan->total);
}

/* Answers those whom two readings in a row have made certain. */
static void answer_certain(struct scan *scan)
{
    bool unmoved = nothing_moved(scan), certain = unmoved && nothing_grew(scan);
    struct totals totals = totals_of(scan, true);

    for (struct list *at = scan->wants.next, *next; at != &scan->wants; at = next) {
        struct want *want = want_at(at);
        next = at->next;
        if (want->kind == WANT_FIGURES && unmoved) {
            scan_answer(want, SCAN_FIGURES, &totals, NULL);
        } else if (want->kind == WANT_STOCK && certain && want->quantity > scan->total_before) {
            totals.available = scan->total_before;
            scan_answer(want, SCAN_SHORT, &totals, NULL);
            totals.available = scan->total;
        }
    }
}

/* Those who need certainty get none. */
static void answer_uncertain(struct scan *scan)
{
    struct totals totals = totals_of(scan, false);
    bool complete = scan->problem.code == HF_OK;

    for (struct list *at = scan->wants.next, *next; at != &scan->wants; at = next) {
        struct want *want = want_at(at);
        next = at->next;
        if (!needs_certainty(scan, want)) {
            continue;
        }
        if (!complete) {
            scan_answer(want, SCAN_FAILED, NULL, &scan->problem);
        } else if (want->kind == WANT_FIGURES) {
            scan_answer(want, SCAN_FIGURES, &totals, NULL);
        } else {
            scan_answer(want, SCAN_TRY_AGAIN, NULL, NULL);
        }
    }
}

static bool somebody_needs_certainty(struct scan *scan)
{
    for (struct list *at = scan->wants.next; at != &scan->wants; at = at->next) {
        if (needs_certainty(scan, want_at(at))) {
            return true;
        }
    }
    return false;
}

static bool somebody_spreads(struct scan *scan)
{
    for (struct list *at = scan->wants.next; at != &scan->wants; at = at->next) {
        if (want_at(at)->kind == WANT_SPREAD) {
            return true;
        }
    }
    return false;
}

/* Is the product still what this scan has read? Otherwise everything is to be learned anew. */
static bool is_same_product(struct scan *scan)
{
    const struct figures *main = &scan->probes[PLACE_MAIN].now;

    if (main->known && (size_t)main->main.places + 1 == scan->count) {
        return true;
    }
    scan->product->epoch = 0;
    scan_finish(scan, SCAN_TRY_AGAIN, NULL);
    return false;
}

/* The highest epoch that a place has heard of. */
static int64_t highest_epoch(const struct scan *scan)
{
    int64_t highest = 0;

    for (size_t i = 0; i < scan->count; i++) {
        const struct probe *probe = &scan->probes[i];
        highest = probe->read && probe->now.epoch > highest ? probe->now.epoch : highest;
    }
    return highest;
}

/* Which mode the product should have. It comes back from `merged` only when it is loaded again. */
static bool should_be_merged(struct scan *scan)
{
    const struct product *product = scan->product;
    bool low = !product->steal && scan->total <= product->watermark;

    return product->merged ? low || !somebody_spreads(scan) : low;
}

void scan_weigh(struct scan *scan)
{
    struct product *product = scan->product;
    bool complete = scan->problem.code == HF_OK;

    if (product->stocks->stopped || !scan->probes[PLACE_MAIN].read) {
        scan_finish(scan, SCAN_FAILED, &scan->problem);
        return;
    }
    if (!is_same_product(scan)) {
        return;
    }
    product_learn(product, &scan->probes[PLACE_MAIN].now);
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->probes[i].read) {
            product_saw(product, i, &scan->probes[i].now);
        }
    }
    scan->total = total_of(scan);
    if (complete && scan->readings > 1) {
        answer_certain(scan);
    }
    if (complete && scan->readings < READINGS_MAX && somebody_needs_certainty(scan)) {
        scan_collect(scan);
        return;
    }
    answer_uncertain(scan);
    int64_t highest = highest_epoch(scan);
    if (highest > product->epoch) { /* the main place has forgotten a change of its own */
        scan_turn(scan, product->merged, highest);
    } else if (complete && should_be_merged(scan) != product->merged) {
        scan_turn(scan, !product->merged, 0);
    } else {
        scan_carry_on(scan);
    }
}
