/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands for one order of a product in shards: TAKE, SETTLE and GIVE. An order is known at
 * its own shard or at the main counter, by the mode the product had when it was taken; so a command
 * looks at one of the two before it believes the other. */
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

/* ---- TAKE ------------------------------------------------------------------------------------ */

static size_t home_of(const struct stock_command *command)
{
    /* The order stands in the same place in all of them. */
    return stock_product_home(command->product, command->pending->command.args.stock_take.order);
}

_Static_assert(offsetof(struct hf_stock_take_args, order) ==
                       offsetof(struct hf_stock_settle_args, order) &&
                   offsetof(struct hf_stock_take_args, order) ==
                       offsetof(struct hf_stock_give_args, order),
               "home_of() reads the order of any of them");

/* Does the counter know no order in this epoch? Then a call to look one up would be wasted. */
static bool is_empty(const struct stock_command *command, size_t counter)
{
    return command->product->seen[counter].empty_epoch == command->product->epoch;
}

static void take_at(struct stock_command *command, size_t counter, bool makes,
                    script_call_done *done)
{
    struct script_call *call = &command->pending->call;

    counter_call(call, command->product, "take_shard", counter, NULL, 8);
    script_call_row_args(call, &command->pending->command);
    counter_call_belief(call, command->product);
    script_call_text(call, hf_text(makes ? "1" : "0"));
    script_call_number(call, command->given_until);
    command->counter = counter;
    command->epoch = command->product->epoch;
    stock_command_send(command, done);
}

/* Notifies the release worker of when the order falls due. */
static void note_deadline(const struct stock_command *command)
{
    char name[COUNTER_NAME_SIZE];

    counter_name(command->counter, name);
    script_env_note_deadline(command->product->stocks->env, &command->pending->command, name);
}

/* Suggests a survey, which merges the product, once the stock is at or below the watermark. */
static void watch_level(struct stock_product *product)
{
    if (!product->merged && !product->steal &&
        stock_product_estimate(product) <= product->watermark) {
        stock_survey_suggest(product);
    }
}

static void took(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                 const struct problem *problem)
{
    struct stock_command *command = call->context;
    struct stock_product *product = command->product;
    int64_t lead, available;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (stock_reply_says(reply, "SHORT")) {
        stock_command_survey(command, STOCK_WANT_QUANTITY, command->counter,
                             command->pending->command.args.stock_take.quantity);
    } else if (script_reply_number(reply, 0, &lead) && lead == 1 &&
               script_reply_number(reply, 1, &available)) {
        stock_product_saw_available(product, command->counter, available);
        note_deadline(command);
        watch_level(product);
        stock_command_succeed(command);
    } else {
        stock_command_answer(command, reply);
    }
}

static void looked(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct stock_command *command = call->context;
    struct stock_product *product = command->product;
    int64_t records, given_until;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (!stock_reply_says(reply, "SHORT")) { /* the order is known at the other counter */
        int64_t lead;
        if (script_reply_number(reply, 0, &lead) && lead == 1) {
            stock_command_succeed(command);
        } else {
            stock_command_answer(command, reply);
        }
        return;
    }
    if (product->epoch != command->epoch) { /* the mode has changed since */
        stock_command_retry(command);
        return;
    }
    if (script_reply_number(reply, 3, &records) && records == 0) {
        product->seen[command->counter].empty_epoch = product->epoch;
    }
    command->looked = true;
    command->given_until = script_reply_number(reply, 4, &given_until) ? given_until : 0;
    stock_command_take(command);
}

void stock_command_take(struct stock_command *command)
{
    const struct stock_product *product = command->product;
    size_t home = home_of(command), other = stock_product_other(product, home);
    bool known = command->looked && command->epoch == product->epoch;

    if (!known) {
        command->given_until = 0;
    }
    if (known || is_empty(command, other)) {
        take_at(command, stock_product_active(product, home), true, took);
    } else {
        command->looked = false;
        take_at(command, other, false, looked);
    }
}

/* ---- SETTLE and GIVE ------------------------------------------------------------------------- */

static void close_at(struct stock_command *command, size_t counter, script_call_done *done)
{
    struct script_call *call = &command->pending->call;
    bool settles = command_id(command->pending->command.spec) == STOCK_SETTLE;

    counter_call(call, command->product, "close_shard", counter, NULL, 4);
    script_call_row_args(call, &command->pending->command);
    script_call_text(call, hf_text(settles ? "S" : "G"));
    counter_call_belief(call, command->product);
    command->counter = counter;
    command->epoch = command->product->epoch;
    stock_command_send(command, done);
}

static void close_more(struct stock_command *command);

/* Is the reply {1, available, state}? Then the order was closed at that counter, now or before. */
static bool is_closed(struct stock_command *command, const redisReply *reply)
{
    int64_t lead, available;

    if (!script_reply_number(reply, 0, &lead) || lead != 1 ||
        !script_reply_number(reply, 1, &available)) {
        return false;
    }
    struct stock_product *product = command->product;
    stock_product_saw_available(product, command->counter, available);
    if (available > 0 && product->merged && command->counter != COUNTER_MAIN) {
        stock_survey_suggest(
            product); /* what was given back is to be moved to the main counter, where it is sold */
    }
    return true;
}

/* Until when the counter remembers that the order was given back before; 0: it was not. */
static int64_t was_given(const redisReply *reply)
{
    int64_t until;

    return reply->elements == 4 && script_reply_number(reply, 3, &until) ? until : 0;
}

/* Until when what the other counter remembers does not count, because the order expired here after
 * it was given back there; 0: it has not expired. */
static int64_t was_hidden(const redisReply *reply)
{
    int64_t until;

    return stock_reply_says(reply, "EXPIRED") && script_reply_number(reply, 2, &until) ? until : 0;
}

/* Answers with what the counter replied, or, if all it knows is in the past, with NOT_FOUND. */
static void answer_closed(struct stock_command *command, const redisReply *reply)
{
    if (was_given(reply) != 0 || was_hidden(reply) != 0) {
        stock_command_refuse(command, HF_NOT_FOUND,
                             "no such order: never taken, given back or expired", 0, 0, 0);
    } else {
        stock_command_answer(command, reply);
    }
}

/* The reply of the counter asked first. That the order was given back there, or has expired there,
 * is the answer only if the other counter knows nothing newer. */
static void closed_first(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                         const struct problem *problem)
{
    struct stock_command *command = call->context;
    struct stock_product *product = command->product;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (product->epoch != command->epoch) {
        stock_command_retry(command);
        return;
    }
    bool done = is_closed(command, reply);
    bool asks_more = !is_empty(command, stock_product_other(product, home_of(command)));
    command->given_until = done ? was_given(reply) : 0;
    command->hidden_until = was_hidden(reply);
    if (done && (command->given_until == 0 || !asks_more)) {
        stock_command_succeed(command);
    } else if (asks_more &&
               (done || command->hidden_until != 0 || stock_reply_says(reply, "NOT_FOUND"))) {
        close_more(command);
    } else {
        answer_closed(command, reply);
    }
}

/* The reply of the other counter. */
static void closed_second(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct stock_command *command = call->context;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (command->product->epoch != command->epoch) {
        stock_command_retry(command);
        return;
    }
    int64_t given_until = was_given(reply), hidden_until = was_hidden(reply);
    bool unknown = hidden_until != 0 || stock_reply_says(reply, "NOT_FOUND");
    if (is_closed(command, reply) ? given_until == 0 || given_until > command->hidden_until
                                  : unknown && command->given_until > hidden_until) {
        stock_command_succeed(command);
    } else {
        answer_closed(command, reply);
    }
}

void stock_command_close(struct stock_command *command)
{
    close_at(command, stock_product_active(command->product, home_of(command)), closed_first);
}

static void close_more(struct stock_command *command)
{
    close_at(command, stock_product_other(command->product, home_of(command)), closed_second);
}
