/* SPDX-License-Identifier: Apache-2.0
 *
 * The moves of a plan are worked out on a copy of the counters, each in O(counters). */
#include "redis/stock/transfer_plan.h"

#include <stdlib.h>

void transfer_plan_init(struct transfer_plan *plan, const struct stock_product *product,
                        size_t counters)
{
    *plan = (struct transfer_plan){.product = product, .counters = counters};
    plan->left = calloc(counters, sizeof *plan->left);
    plan->failed = plan->left == NULL;
    for (size_t i = 0; i < counters && !plan->failed; i++) {
        plan->left[i] = product->seen[i].available;
    }
}

void transfer_plan_free(struct transfer_plan *plan)
{
    free(plan->left);
    free(plan->moves);
}

static struct transfer_plan_move *find(struct transfer_plan *plan, size_t source, size_t target)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->moves[i].source == source && plan->moves[i].target == target) {
            return &plan->moves[i];
        }
    }
    return NULL;
}

static bool make_room(struct transfer_plan *plan)
{
    if (plan->count < plan->capacity) {
        return true;
    }
    size_t capacity = plan->capacity * 2 + 16;
    struct transfer_plan_move *moves = realloc(plan->moves, capacity * sizeof *moves);
    if (moves == NULL) {
        plan->failed = true;
        return false;
    }
    plan->moves = moves;
    plan->capacity = capacity;
    return true;
}

static void add(struct transfer_plan *plan, size_t source, size_t target, int64_t quantity)
{
    struct transfer_plan_move *move = find(plan, source, target);

    plan->left[source] -= quantity;
    plan->left[target] += quantity;
    if (move != NULL) {
        move->quantity += quantity;
    } else if (make_room(plan)) {
        plan->moves[plan->count++] = (struct transfer_plan_move){source, target, quantity};
    }
}

/* The counter that has most, except for `but`. */
static size_t richest(const struct transfer_plan *plan, size_t but)
{
    size_t best = but == 0 ? 1 : 0;

    for (size_t i = 0; i < plan->counters; i++) {
        if (i != but && plan->left[i] > plan->left[best]) {
            best = i;
        }
    }
    return best;
}

static bool is_enough(const struct transfer_plan *plan, int64_t quantity)
{
    int64_t sum = 0;

    for (size_t i = 0; i < plan->counters; i++) {
        sum = counter_sum(sum, plan->left[i]);
    }
    return sum >= quantity;
}

static void bring(struct transfer_plan *plan, size_t target, int64_t quantity)
{
    if (target >= plan->counters || !is_enough(plan, quantity)) {
        return;
    }
    while (plan->left[target] < quantity) {
        size_t source = richest(plan, target);
        int64_t missing = quantity - plan->left[target], has = plan->left[source];
        int64_t half = has - has / 2, asked = half > missing ? half : missing;
        add(plan, source, target, asked < has ? asked : has);
    }
    plan->left[target] -= quantity; /* so that the next want does not count on it */
}

/* Moves stock to the counters that owe some, as far as there is any. */
static void pay_debts(struct transfer_plan *plan)
{
    for (size_t i = 0; i < plan->counters; i++) {
        while (plan->left[i] < 0 && plan->left[richest(plan, i)] > 0) {
            size_t source = richest(plan, i);
            int64_t owed = -plan->left[i], has = plan->left[source];
            add(plan, source, i, owed < has ? owed : has);
        }
    }
}

/* Moves what the main counter has to the shards, in equal shares. */
static void spread(struct transfer_plan *plan)
{
    int64_t shards = (int64_t)plan->counters - 1, all = plan->left[COUNTER_MAIN];

    for (int64_t k = 0; k < shards; k++) {
        int64_t share = all / shards + (k < all % shards ? 1 : 0);
        if (share > 0) {
            add(plan, COUNTER_MAIN, (size_t)k + 1, share);
        }
    }
}

/* Moves whatever a shard has by then, not only what was seen of it, to the main counter. */
static void drain(struct transfer_plan *plan)
{
    for (size_t i = 1; i < plan->counters; i++) {
        if (plan->left[i] > 0 && make_room(plan)) {
            plan->moves[plan->count++] =
                (struct transfer_plan_move){i, COUNTER_MAIN, HF_INTEGER_MAX};
        }
    }
}

void transfer_plan_make(struct transfer_plan *plan, const struct list *wants)
{
    if (plan->failed || plan->product->end != PRODUCT_OPEN) {
        return;
    }
    pay_debts(plan);
    if (plan->product->merged) {
        drain(plan);
        return;
    }
    for (const struct list *at = wants->next; at != wants && !plan->failed; at = at->next) {
        const struct stock_want *want = LIST_ENTRY(at, struct stock_want, node);
        if (want->kind == STOCK_WANT_SPREAD) {
            spread(plan);
        } else if (want->kind == STOCK_WANT_QUANTITY) {
            bring(plan, want->target, want->quantity);
        }
    }
}
