/* SPDX-License-Identifier: Apache-2.0
 *
 * One call of find_order.lua for each counter, and what their replies add up to. */
#include "redis/stock/order_search.h"

#include "redis/script/script_reply.h"

#include <stdlib.h>

struct order_search_call {
    struct script_call call;
    struct order_search *search;
    size_t counter;
};

static const struct problem nonsense = {HF_INTERNAL, "a shard answered with nonsense"};

void order_search_begin(struct order_search *search, struct stock_product *product)
{
    order_search_free(search);
    *search = (struct order_search){.product = product, .found = {.counter = COUNTER_NONE}};
}

void order_search_free(struct order_search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        script_call_free(&search->calls[i].call);
    }
    free(search->calls);
    search->calls = NULL;
    search->count = search->capacity = 0;
}

bool order_search_add(struct order_search *search, size_t counter)
{
    if (search->count == search->capacity) {
        size_t capacity = search->capacity == 0 ? 2 : search->product->counters;
        struct order_search_call *calls = realloc(search->calls, capacity * sizeof *calls);
        if (calls == NULL) {
            return false;
        }
        search->calls = calls;
        search->capacity = capacity;
    }
    struct order_search_call *call = &search->calls[search->count++];
    script_call_init(&call->call, search->product->stocks->env);
    call->counter = counter;
    return true;
}

/* Takes over what a counter knows; false if the reply is malformed. */
static bool take_over(struct order_found *found, size_t counter, const redisReply *reply)
{
    int64_t lead, given_until, hidden_until, is_users, has;

    if (stock_reply_says(reply, "STALE")) {
        found->stale = true;
        return true;
    }
    if (!script_reply_number(reply, 0, &lead) || lead != 1 || reply->elements < 7 ||
        reply->element[1]->type != REDIS_REPLY_STRING ||
        !script_reply_number(reply, 2, &given_until) ||
        !script_reply_number(reply, 3, &hidden_until) ||
        !script_reply_number(reply, 4, &is_users) || !script_reply_number(reply, 5, &has)) {
        return false;
    }
    char state = reply->element[1]->len == 1 ? reply->element[1]->str[0] : 0;
    if (state == 'T' || (state == 'S' && found->counter == COUNTER_NONE)) {
        found->counter = counter;
    }
    if (given_until > found->given_until) {
        found->given_until = given_until;
        found->given_by_user = is_users != 0;
    }
    if (hidden_until > found->hidden_until) {
        found->hidden_until = hidden_until;
    }
    found->user_has = counter_sum(found->user_has, has);
    return true;
}

/* A counter that knows no order need not be asked again in this epoch, unless it takes some. */
static void note_empty(struct order_search *search, size_t counter, const redisReply *reply)
{
    int64_t records;

    if (search->product->epoch == search->epoch && script_reply_number(reply, 6, &records) &&
        records == 0) {
        search->product->seen[counter].empty_epoch = search->product->epoch;
    }
}

static void answered(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                     const struct problem *problem)
{
    struct order_search_call *asked = call->context;
    struct order_search *search = asked->search;

    if (fate != REDIS_ANSWERED) {
        search->problem = problem->code == HF_TIMEOUT ? stock_shard_silent : *problem;
    } else if (!take_over(&search->found, asked->counter, reply)) {
        search->problem = nonsense;
    } else {
        note_empty(search, asked->counter, reply);
    }
    if (--search->in_flight == 0) {
        search->done(search);
    }
}

void order_search_send(struct order_search *search, struct hf_bytes order, struct hf_bytes user,
                       int64_t timeout_ms, order_search_done *done, void *context)
{
    search->done = done;
    search->context = context;
    search->in_flight = search->count;
    search->epoch = search->product->epoch;
    if (search->count == 0) {
        done(search);
        return;
    }
    for (size_t i = 0; i < search->count; i++) {
        struct order_search_call *asked = &search->calls[i];
        asked->search = search;
        counter_call(&asked->call, search->product, "find_order", asked->counter, NULL, 4);
        script_call_text(&asked->call, order);
        script_call_text(&asked->call, user);
        counter_call_belief(&asked->call, search->product);
        script_call_send(&asked->call, true, timeout_ms, answered, asked);
    }
}
