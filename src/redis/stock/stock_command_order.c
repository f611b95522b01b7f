/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands for one order of a product in shards: TAKE, SETTLE, GIVE and EXTEND.
 *
 * A new order is taken at one counter only, by the mode that the product has then: at its shard or
 * at the main counter. Its shard is that of its id; once a TAKE with MAX has limited the product,
 * that of its user, so that one counter knows what a user has. An order of an earlier mode, or of
 * the time before the limit, may be at any other of the counters that a command searches before it
 * believes that there is none. What a user has at those only falls in this epoch, and is added to
 * what the counter that takes knows. */
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

/* ---- where an order may be ------------------------------------------------------------------- */

/* Product, order and user stand first in the arguments of all of them. */
static const struct hf_stock_settle_args *args_of(const struct stock_command *command)
{
    return &command->pending->command.args.stock_settle;
}

#define SAME_PLACE(command, member)                                                                \
    (offsetof(struct hf_stock_##command##_args, member) ==                                         \
     offsetof(struct hf_stock_settle_args, member))

_Static_assert(SAME_PLACE(take, order) && SAME_PLACE(give, order) && SAME_PLACE(extend, order) &&
                   SAME_PLACE(take, user) && SAME_PLACE(give, user) && SAME_PLACE(extend, user),
               "args_of() reads the arguments of any of them");

/* The counter where the order is taken, if it is taken now; COUNTER_NONE if that depends on a user
 * that is not known. */
static size_t active_of(const struct stock_command *command)
{
    const struct stock_product *product = command->product;
    const struct hf_stock_settle_args *args = args_of(command);

    if (product->limited && args->user.size == 0) {
        return COUNTER_NONE;
    }
    return stock_product_active(
        product, stock_product_home(product, product->limited ? args->user : args->order));
}

/* The counter that takes no new orders, but may know an order that is not limited. */
static size_t other_of(const struct stock_command *command)
{
    return stock_product_other(command->product,
                               stock_product_home(command->product, args_of(command)->order));
}

/* Does the counter know no order in this epoch? Then a call to look one up would be wasted. */
static bool is_empty(const struct stock_command *command, size_t counter)
{
    return command->product->seen[counter].empty_epoch == command->product->epoch;
}

/* ---- searching ------------------------------------------------------------------------------- */

static void searched(struct order_search *search)
{
    struct stock_command *command = search->context;

    if (command->product->stocks->stopped) {
        return;
    }
    if (search->problem.code != HF_OK) {
        stock_command_fail(command, &search->problem);
    } else if (search->found.stale) {
        stock_command_relearn(command);
    } else if (search->epoch != command->product->epoch) { /* the mode has changed since */
        stock_command_retry(command);
    } else {
        command->searched = true;
        stock_command_begin(command);
    }
}

/* Adds all counters where the order may be, except for one. */
static bool add_counters(struct stock_command *command, size_t but)
{
    const struct stock_product *product = command->product;
    struct order_search *search = &command->search;

    if (!product->limited) {
        size_t active = active_of(command), other = other_of(command);
        return (active == but || order_search_add(search, active)) &&
               (is_empty(command, other) || order_search_add(search, other));
    }
    for (size_t i = 0; i < product->counters; i++) {
        if (i != but && !order_search_add(search, i)) {
            return false;
        }
    }
    return true;
}

/* Searches the order, then begins again. */
static void search_order(struct stock_command *command, size_t but)
{
    static const struct problem no_memory = {HF_BUSY, "out of memory"};
    const struct hf_stock_settle_args *args = args_of(command);
    int64_t left_ms = stock_command_left_ms(command);

    command->searched = false;
    order_search_begin(&command->search, command->product);
    if (add_counters(command, but)) {
        order_search_send(&command->search, args->order, args->user, left_ms > 0 ? left_ms : 1,
                          searched, command);
    } else {
        stock_command_fail(command, &no_memory);
    }
}

/* Is what was found still valid? */
static bool has_found(const struct stock_command *command)
{
    return command->searched && command->search.epoch == command->product->epoch;
}

/* ---- TAKE ------------------------------------------------------------------------------------ */

static void take_at(struct stock_command *command, size_t counter, bool makes,
                    script_call_done *done)
{
    struct script_call *call = &command->pending->call;

    counter_call(call, command->product, "take_shard", counter, NULL, 10);
    script_call_row_args(call, &command->pending->command);
    counter_call_belief(call, command->product);
    script_call_text(call, hf_text(makes ? "1" : "0"));
    script_call_number(call, command->search.found.given_until);
    script_call_number(call, command->search.found.user_has);
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

/* Suggests a survey, which merges the product, once the stock is at or below the watermark; before
 * and after that, the routine one. */
static void watch_level(struct stock_product *product)
{
    if (!product->merged && !product->steal &&
        stock_product_estimate(product) <= product->watermark) {
        stock_survey_suggest(product);
    } else {
        stock_survey_routine(product);
    }
}

/* The counter has too little. If the user has too much besides, all that matters is whether there
 * is enough anywhere. */
static void fall_short(struct stock_command *command, const redisReply *reply)
{
    int64_t over;
    bool too_much = script_reply_number(reply, 3, &command->user_has) &&
                    script_reply_number(reply, 4, &over) && over != 0;

    stock_command_survey(command, too_much ? STOCK_WANT_PROOF : STOCK_WANT_QUANTITY,
                         command->counter, command->pending->command.args.stock_take.quantity);
}

/* The user has too much, by what other counters said before. That is certain once they have said
 * the same again, since what a user has there only falls. */
static void refuse_limit(struct stock_command *command, const redisReply *reply)
{
    int64_t elsewhere = command->search.found.user_has;

    if (elsewhere == 0 || elsewhere == command->refused_for) {
        stock_command_answer(command, reply);
        return;
    }
    command->refused_for = elsewhere;
    command->searched = false;
    stock_command_retry(command);
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
        fall_short(command, reply);
    } else if (stock_reply_says(reply, "USER_LIMIT_EXCEEDED")) {
        refuse_limit(command, reply);
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

/* The reply of a counter that knew the order when it was searched. */
static void took_before(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                        const struct problem *problem)
{
    struct stock_command *command = call->context;
    int64_t lead;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (stock_reply_says(reply, "SHORT")) { /* the order has ended since */
        command->searched = false;
        stock_command_retry(command);
    } else if (script_reply_number(reply, 0, &lead) && lead == 1) {
        stock_command_succeed(command);
    } else {
        stock_command_answer(command, reply);
    }
}

static void limited(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    struct stock_command *command = call->context;

    if (stock_command_answered(command, fate, reply, problem)) {
        stock_command_learn(command);
    }
}

/* The first TAKE with MAX: from now on orders go to the shard of their user. */
static void limit_product(struct stock_command *command)
{
    counter_call(&command->pending->call, command->product, "limit_shards", COUNTER_MAIN, NULL, 0);
    stock_command_send(command, limited);
}

void stock_command_take(struct stock_command *command)
{
    const struct hf_stock_take_args *args = &command->pending->command.args.stock_take;
    size_t active = active_of(command);

    if (args->max < HF_INTEGER_MAX && !command->product->limited) {
        limit_product(command);
    } else if (!has_found(command)) {
        search_order(command, active);
    } else if (command->search.found.counter != COUNTER_NONE) {
        take_at(command, command->search.found.counter, false, took_before);
    } else {
        take_at(command, active, true, took);
    }
}

/* ---- SETTLE, GIVE and EXTEND ----------------------------------------------------------------- */

static enum command_id id_of(const struct stock_command *command)
{
    return command_id(command->pending->command.spec);
}

static void close_at(struct stock_command *command, size_t counter, script_call_done *done)
{
    struct script_call *call = &command->pending->call;
    enum command_id id = id_of(command);

    counter_call(call, command->product, id == STOCK_EXTEND ? "extend_shard" : "close_shard",
                 counter, NULL, 5);
    script_call_row_args(call, &command->pending->command);
    if (id != STOCK_EXTEND) {
        script_call_text(call, hf_text(id == STOCK_SETTLE ? "S" : "G"));
    }
    counter_call_belief(call, command->product);
    command->counter = counter;
    command->epoch = command->product->epoch;
    stock_command_send(command, done);
}

/* Answers with what the counter replied, which knows the order. */
static void answer_known(struct stock_command *command, const redisReply *reply)
{
    struct stock_product *product = command->product;
    int64_t lead, available;

    if (id_of(command) == STOCK_EXTEND) {
        note_deadline(command);
    } else if (script_reply_number(reply, 0, &lead) && lead == 1 &&
               script_reply_number(reply, 1, &available)) {
        stock_product_saw_available(product, command->counter, available);
        if (available > 0 && product->merged && command->counter != COUNTER_MAIN) {
            stock_survey_suggest(product); /* what was given back is sold at the main counter */
        }
        stock_command_succeed(command);
        return;
    }
    stock_command_answer(command, reply);
}

/* No counter has the order taken or settled. It may have been given back before. */
static void answer_ended(struct stock_command *command)
{
    const struct order_found *found = &command->search.found;
    struct hf_bytes user = args_of(command)->user;

    if (id_of(command) != STOCK_GIVE || found->given_until <= found->hidden_until) {
        stock_command_refuse(command, HF_NOT_FOUND,
                             "no such order: never taken, given back or expired", 0, 0, 0);
    } else if (user.size > 0 && !found->given_by_user) {
        struct pending_command *pending = stock_command_end(command);
        reply_clear(&pending->reply);
        reply_refuse_texts(&pending->reply, HF_NOT_OWNER, "the order does not belong to user @",
                           user, user);
        pending_finish(pending);
    } else {
        stock_command_succeed(command);
    }
}

/* The reply of the counter that would have taken the order. */
static void closed_first(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                         const struct problem *problem)
{
    struct stock_command *command = call->context;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (!stock_reply_says(reply, "NOT_FOUND")) {
        answer_known(command, reply);
    } else if (command->product->epoch != command->epoch) {
        stock_command_retry(command);
    } else {
        search_order(command, COUNTER_NONE);
    }
}

/* The reply of the counter where the order was found. */
static void closed_there(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                         const struct problem *problem)
{
    struct stock_command *command = call->context;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (stock_reply_says(reply, "NOT_FOUND")) { /* the order has ended since */
        command->searched = false;
        stock_command_retry(command);
    } else {
        answer_known(command, reply);
    }
}

void stock_command_close(struct stock_command *command)
{
    size_t active = active_of(command);

    if (!has_found(command)) {
        if (active != COUNTER_NONE) {
            close_at(command, active, closed_first);
        } else {
            search_order(command, COUNTER_NONE);
        }
    } else if (command->search.found.counter != COUNTER_NONE) {
        close_at(command, command->search.found.counter, closed_there);
    } else {
        answer_ended(command);
    }
}
