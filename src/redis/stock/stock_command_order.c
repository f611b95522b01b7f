/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of a product in shards: TAKE, SETTLE, GIVE. */
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

/* ---- TAKE ------------------------------------------------------------------------------------ */

static size_t home_of(const struct trade *trade)
{
    /* The order stands in the same place in all of them. */
    return product_home(trade->product, trade->pending->command.args.stock_take.order);
}

_Static_assert(offsetof(struct hf_stock_take_args, order) ==
                       offsetof(struct hf_stock_settle_args, order) &&
                   offsetof(struct hf_stock_take_args, order) ==
                       offsetof(struct hf_stock_give_args, order),
               "home_of() reads the order of any of them");

/* Does a place know no order, in this epoch? Then it is not worth asking. */
static bool is_empty(const struct trade *trade, size_t place)
{
    return trade->product->seen[place].empty_epoch == trade->product->epoch;
}

static void take_at(struct trade *trade, size_t place, bool makes, script_call_done *done)
{
    struct script_call *call = &trade->pending->call;

    place_call(call, trade->product, "take_shard", place, NULL, 8);
    script_call_row_args(call, &trade->pending->command);
    place_belief(call, trade->product);
    script_call_text(call, hf_text(makes ? "1" : "0"));
    script_call_number(call, trade->given_until);
    trade->place = place;
    trade->epoch = trade->product->epoch;
    trade_send(trade, done);
}

/* The release worker is to know when it falls due. */
static void note_deadline(const struct trade *trade)
{
    char name[PLACE_NAME];

    place_name(trade->place, name);
    script_env_note_deadline(trade->product->stocks->env, &trade->pending->command, name);
}

/* When little is left, it may be time to merge. */
static void watch_level(struct product *product)
{
    if (!product->merged && !product->steal && product_estimate(product) <= product->watermark) {
        stock_survey_suggest(product);
    }
}

static void took(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                 const struct problem *problem)
{
    struct trade *trade = call->context;
    struct product *product = trade->product;
    int64_t lead, available;

    if (!trade_answered(trade, fate, reply, problem)) {
        return;
    }
    if (reply_says(reply, "SHORT")) {
        trade_ask(trade, STOCK_WANT_QUANTITY, trade->place,
                  trade->pending->command.args.stock_take.quantity);
    } else if (script_reply_number(reply, 0, &lead) && lead == 1 &&
               script_reply_number(reply, 1, &available)) {
        product->seen[trade->place].available = available;
        note_deadline(trade);
        watch_level(product);
        trade_succeed(trade);
    } else {
        trade_answer(trade, reply);
    }
}

static void looked(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct trade *trade = call->context;
    struct product *product = trade->product;
    int64_t records, given_until;

    if (!trade_answered(trade, fate, reply, problem)) {
        return;
    }
    if (!reply_says(reply, "SHORT")) { /* it is known there */
        int64_t lead;
        if (script_reply_number(reply, 0, &lead) && lead == 1) {
            trade_succeed(trade);
        } else {
            trade_answer(trade, reply);
        }
        return;
    }
    if (product->epoch != trade->epoch) { /* it has changed since */
        trade_try_again(trade);
        return;
    }
    if (script_reply_number(reply, 3, &records) && records == 0) {
        product->seen[trade->place].empty_epoch = product->epoch;
    }
    trade->looked = true;
    trade->given_until = script_reply_number(reply, 4, &given_until) ? given_until : 0;
    trade_take(trade);
}

void trade_take(struct trade *trade)
{
    const struct product *product = trade->product;
    size_t home = home_of(trade), other = product_other(product, home);
    bool known = trade->looked && trade->epoch == product->epoch;

    if (!known) {
        trade->given_until = 0;
    }
    if (known || is_empty(trade, other)) {
        take_at(trade, product_active(product, home), true, took);
    } else {
        trade->looked = false;
        take_at(trade, other, false, looked);
    }
}

/* ---- SETTLE and GIVE ------------------------------------------------------------------------- */

static void close_at(struct trade *trade, size_t place, script_call_done *done)
{
    struct script_call *call = &trade->pending->call;
    bool settles = command_id(trade->pending->command.spec) == STOCK_SETTLE;

    place_call(call, trade->product, "close_shard", place, NULL, 4);
    script_call_row_args(call, &trade->pending->command);
    script_call_text(call, hf_text(settles ? "S" : "G"));
    place_belief(call, trade->product);
    trade->place = place;
    trade->epoch = trade->product->epoch;
    trade_send(trade, done);
}

static void close_more(struct trade *trade);

/* Is it {1, available, state}? Then it was closed at that place, now or before. */
static bool is_closed(struct trade *trade, const redisReply *reply)
{
    int64_t lead, available;

    if (!script_reply_number(reply, 0, &lead) || lead != 1 ||
        !script_reply_number(reply, 1, &available)) {
        return false;
    }
    struct product *product = trade->product;
    product->seen[trade->place].available = available;
    if (available > 0 && product->merged && trade->place != PLACE_MAIN) {
        stock_survey_suggest(product); /* it is sold at the main place */
    }
    return true;
}

/* Was it given back before? Until when is it remembered; 0: it was not. */
static int64_t was_given(const redisReply *reply)
{
    int64_t until;

    return reply->elements == 4 && script_reply_number(reply, 3, &until) ? until : 0;
}

/* Has it expired there, after it was given back at the other place? */
static int64_t was_hidden(const redisReply *reply)
{
    int64_t until;

    return reply_says(reply, "EXPIRED") && script_reply_number(reply, 2, &until) ? until : 0;
}

/* As a place has answered, or as if it knew nothing at all. */
static void answer_closed(struct trade *trade, const redisReply *reply)
{
    if (was_given(reply) != 0 || was_hidden(reply) != 0) {
        trade_refuse(trade, HF_NOT_FOUND, "no such order: never taken, given back or expired", 0, 0,
                     0);
    } else {
        trade_answer(trade, reply);
    }
}

/* At the place that was asked first. That it was given back there, or has expired there, is only
 * the answer if the other place knows nothing newer. */
static void closed_first(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                         const struct problem *problem)
{
    struct trade *trade = call->context;
    struct product *product = trade->product;

    if (!trade_answered(trade, fate, reply, problem)) {
        return;
    }
    if (product->epoch != trade->epoch) {
        trade_try_again(trade);
        return;
    }
    bool done = is_closed(trade, reply);
    bool asks_more = !is_empty(trade, product_other(product, home_of(trade)));
    trade->given_until = done ? was_given(reply) : 0;
    trade->hidden_until = was_hidden(reply);
    if (done && (trade->given_until == 0 || !asks_more)) {
        trade_succeed(trade);
    } else if (asks_more && (done || trade->hidden_until != 0 || reply_says(reply, "NOT_FOUND"))) {
        close_more(trade);
    } else {
        answer_closed(trade, reply);
    }
}

/* At the other one. */
static void closed_second(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct trade *trade = call->context;

    if (!trade_answered(trade, fate, reply, problem)) {
        return;
    }
    if (trade->product->epoch != trade->epoch) {
        trade_try_again(trade);
        return;
    }
    int64_t given_until = was_given(reply), hidden_until = was_hidden(reply);
    bool unknown = hidden_until != 0 || reply_says(reply, "NOT_FOUND");
    if (is_closed(trade, reply) ? given_until == 0 || given_until > trade->hidden_until
                                : unknown && trade->given_until > hidden_until) {
        trade_succeed(trade);
    } else {
        answer_closed(trade, reply);
    }
}

void trade_close(struct trade *trade)
{
    close_at(trade, product_active(trade->product, home_of(trade)), closed_first);
}

static void close_more(struct trade *trade)
{
    close_at(trade, product_other(trade->product, home_of(trade)), closed_second);
}
