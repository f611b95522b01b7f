/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a STOCK command for a product in shards: begin, calls and surveys, retries within its
 * time, and the ways to end. What each command does is in the files beside this one. */
#include "redis/stock/stock_command.h"

#include "redis/script/script_reply.h"

#include <stdlib.h>

#define TRIES_MAX 40    /* a command that begins more often is refused with BUSY */
#define PAUSE_MAX_MS 32 /* the longest pause before a try, from the third on */

static uint64_t now_ms(const struct stock_command *command)
{
    return uv_now(command->product->stocks->env->loop);
}

int64_t stock_command_left_ms(const struct stock_command *command)
{
    uint64_t now = now_ms(command);
    return command->due_ms > now ? (int64_t)(command->due_ms - now) : 0;
}

/* ---- the end of a command -------------------------------------------------------------------- */

struct pending_command *stock_command_end(struct stock_command *command)
{
    struct pending_command *pending = command->pending;

    alarm_stop(&command->alarm);
    if (command->waiting) {
        stock_survey_leave(&command->want);
    }
    list_remove(&command->node);
    order_search_free(&command->search);
    stock_product_release(command->product);
    free(command);
    return pending;
}

void stock_command_answer_number(struct stock_command *command, int64_t number)
{
    struct pending_command *pending = stock_command_end(command);

    reply_clear(&pending->reply);
    reply_number(&pending->reply, number);
    pending_finish(pending);
}

void stock_command_succeed(struct stock_command *command)
{
    stock_command_answer_number(command, stock_product_estimate(command->product));
}

void stock_command_fail(struct stock_command *command, const struct problem *problem)
{
    if (command->booked) { /* the difference is applied, whatever failed after it */
        stock_command_succeed(command);
        return;
    }
    struct problem copy = *problem;
    pending_refuse(stock_command_end(command), &copy);
}

void stock_command_refuse(struct stock_command *command, enum hf_error code, const char *why,
                          int64_t a, int64_t b, int64_t c)
{
    struct pending_command *pending = stock_command_end(command);

    reply_clear(&pending->reply);
    reply_refuse_with(&pending->reply, code, why, a, b, c);
    pending_finish(pending);
}

void stock_command_answer(struct stock_command *command, const redisReply *reply)
{
    pending_answer(stock_command_end(command), REDIS_ANSWERED, reply, NULL);
}

static const struct problem too_many = {
    HF_BUSY, "too many want the same stock at the same time; nothing was changed, try again"};
static const struct problem no_memory = {HF_BUSY, "out of memory"};

/* Ends a command that has tried often enough, or for long enough. If transfers do not get through,
 * that is why. */
static void give_up(struct stock_command *command)
{
    const struct problem *obstacle = &command->product->obstacle;

    stock_command_fail(command, obstacle->code != HF_OK ? obstacle : &too_many);
}

/* ---- retries --------------------------------------------------------------------------------- */

/* Either the pause before a retry is over, or the time that the command had for a survey. */
static void ring(struct alarm *alarm)
{
    struct stock_command *command = LIST_ENTRY(alarm, struct stock_command, alarm);

    if (command->waiting) {
        give_up(command);
    } else {
        stock_command_begin(command);
    }
}

void stock_command_retry(struct stock_command *command)
{
    uint16_t dice;

    if (++command->tries > TRIES_MAX || stock_command_left_ms(command) == 0) {
        give_up(command);
        return;
    }
    if (command->tries <= 2) {
        stock_command_begin(command);
        return;
    }
    struct stocks *stocks = command->product->stocks;
    unsigned longest = command->tries < 7 ? 1U << (command->tries - 2) : PAUSE_MAX_MS;
    random_bytes(&stocks->env->random, &dice, sizeof dice);
    alarm_set(&stocks->env->alarms, &command->alarm, 1 + dice % longest);
}

void stock_command_survey(struct stock_command *command, enum stock_want_kind kind, size_t target,
                          int64_t quantity)
{
    int64_t timeout_ms = stock_command_left_ms(command);

    if (timeout_ms == 0) {
        give_up(command);
        return;
    }
    command->want = (struct stock_want){
        .kind = kind, .target = target, .quantity = quantity, .done = stock_command_surveyed};
    command->waiting = true;
    alarm_set(&command->product->stocks->env->alarms, &command->alarm, (uint64_t)timeout_ms);
    if (!stock_survey_join(command->product, &command->want)) {
        command->waiting = false;
        stock_command_fail(command, &no_memory);
    }
}

void stock_command_relearn(struct stock_command *command)
{
    stock_command_survey(command, STOCK_WANT_QUANTITY, COUNTER_MAIN, 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool stock_command_answered(struct stock_command *command, enum redis_fate fate,
                            const redisReply *reply, const struct problem *problem)
{
    if (command->product->stocks->stopped) {
        return false;
    }
    if (fate != REDIS_ANSWERED) {
        stock_command_fail(command, problem);
        return false;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        stock_command_answer(command, reply);
        return false;
    }
    if (stock_reply_says(reply, "STALE")) {
        if (command->product->epoch == 0) {
            stock_command_learn(command);
        } else {
            stock_command_relearn(command);
        }
        return false;
    }
    return true;
}

void stock_command_send(struct stock_command *command, script_call_done *done)
{
    int64_t limit_ms = stock_command_left_ms(command);

    script_call_send(&command->pending->call, false, limit_ms > 0 ? limit_ms : 1, done, command);
}

/* ---- reading the product --------------------------------------------------------------------- */

static void learned(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    struct stock_command *command = call->context;
    struct stock_product *product = command->product;
    struct counter_figures main;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (!counter_figures_read(&main, reply)) {
        stock_command_answer(command, reply);
        return;
    }
    if (!main.known || main.main.shard_count == 0) { /* it has no shards after all, or any more */
        stock_product_unlearn(product);
        if (command->shut) {
            stock_command_shut(command);
            return;
        }
        struct stocks *stocks = product->stocks;
        stock_single(stocks, stock_command_end(command));
        return;
    }
    if (!stock_product_learn(product, &main)) {
        stock_command_fail(command, &no_memory);
        return;
    }
    stock_product_saw(product, COUNTER_MAIN, &main);
    command->learned = true;
    stock_command_begin(command);
}

void stock_command_learn(struct stock_command *command)
{
    counter_call_read(&command->pending->call, command->product, COUNTER_MAIN, false, 0);
    stock_command_send(command, learned);
}

/* ---- begin ----------------------------------------------------------------------------------- */

void stock_command_begin(struct stock_command *command)
{
    enum command_id id = command_id(command->pending->command.spec);
    bool books = (id == STOCK_LOAD || id == STOCK_ADJUST) && !command->booked;

    if (command->product->epoch == 0 && !(books && id == STOCK_LOAD)) {
        stock_command_learn(command);
    } else if (command->product->epoch != 0 &&
               (command->product->end != PRODUCT_OPEN || id == STOCK_CLOSE)) {
        stock_command_shut(command);
    } else if (books) {
        stock_command_book(command);
    } else if (command->booked && !command->spread) {
        stock_command_survey(command, STOCK_WANT_SPREAD, COUNTER_MAIN, 0);
    } else if (id == STOCK_TAKE) {
        stock_command_take(command);
    } else if (id == STOCK_SETTLE || id == STOCK_GIVE || id == STOCK_EXTEND) {
        stock_command_close(command);
    } else if (id == STOCK_LIST) {
        stock_command_list(command);
    } else if (id == STOCK_SHARDS) {
        stock_command_shards(command);
    } else {
        stock_command_survey(command, STOCK_WANT_FIGURES, COUNTER_MAIN, 0);
    }
}

void stock_command_start(struct stocks *stocks, struct pending_command *pending,
                         struct stock_product *product)
{
    struct stock_command *command = product != NULL ? calloc(1, sizeof *command) : NULL;

    if (command == NULL) {
        pending_refuse(pending, &no_memory);
        return;
    }
    command->pending = pending;
    command->product = product;
    command->refused_for = -1;
    command->due_ms = uv_now(stocks->env->loop) + (uint64_t)stocks->env->url.timeout_ms;
    alarm_init(&command->alarm, ring);
    list_add_last(&stocks->commands, &command->node);
    stock_product_hold(product);
    stock_command_begin(command);
}

/* ---- the engine closes ----------------------------------------------------------------------- */

void stock_commands_stop(struct stocks *stocks)
{
    for (struct list *at = stocks->commands.next; at != &stocks->commands; at = at->next) {
        alarm_stop(&LIST_ENTRY(at, struct stock_command, node)->alarm);
    }
}

void stock_commands_free(struct stocks *stocks)
{
    for (struct list *node = stocks->commands.next, *next; node != &stocks->commands; node = next) {
        struct stock_command *command = LIST_ENTRY(node, struct stock_command, node);
        next = node->next;
        command->waiting = false;
        stock_command_end(command);
    }
}
