/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.CLOSE of a product in shards, in steps that any engine can repeat or carry on with:
 *
 *     closing   set at the main counter, in a new epoch. A survey tells it to all counters: from
 *               then on none takes an order, and no transfer begins
 *     sharded   again, if anything is taken then: the product is not closed
 *     closed    once nothing is taken, which cannot change any more, and no transfer is in flight.
 *               There is no way back, and no product any more. The CLOSE, another one, or a LOAD
 *               wipes every counter, the main one last
 *
 * A change of the mode names the epoch that it follows, so that of two engines one changes it and
 * the other reads the product again. */
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

static bool is_close(const struct stock_command *command)
{
    return command_id(command->pending->command.spec) == STOCK_CLOSE;
}

/* ---- changing the mode ----------------------------------------------------------------------- */

static void turned(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct stock_command *command = call->context;

    if (stock_command_answered(command, fate, reply, problem)) {
        stock_command_learn(command);
    }
}

static void turn_to(struct stock_command *command, const char *mode, script_call_done *done)
{
    struct script_call *call = &command->pending->call;

    counter_call(call, command->product, "turn_shards", COUNTER_MAIN, NULL, 3);
    script_call_number(call, command->product->epoch);
    script_call_text(call, hf_text(mode));
    script_call_number(call, command->product->newest);
    stock_command_send(command, done);
}

/* The product is open again, by this engine or another. */
static void reopened(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                     const struct problem *problem)
{
    struct stock_command *command = call->context;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    command->product->epoch = 0; /* it is to be read again */
    if (is_close(command)) {
        stock_command_refuse(command, HF_INVALID_STATE,
                             "# are taken: settle or give them back, or wait until they expire",
                             command->taken, 0, 0);
    } else {
        stock_command_begin(command);
    }
}

void stock_command_shut_counted(struct stock_command *command, const struct stock_totals *totals)
{
    command->counting = false;
    bool changed = /* by another engine */
        command->product->end != PRODUCT_CLOSING || command->product->epoch != command->epoch;
    if (changed || (totals->taken == 0 && totals->moving)) { /* the survey completes a transfer */
        stock_command_retry(command);
    } else if (totals->taken > 0) {
        command->taken = totals->taken;
        turn_to(command, stock_mode(false, command->product->limited), reopened);
    } else {
        turn_to(command, "closed", turned);
    }
}

/* ---- wiping ---------------------------------------------------------------------------------- */

static void wipe_at(struct stock_command *command, size_t counter);

/* There is no product any more. */
static void answer_gone(struct stock_command *command)
{
    int64_t sold = command->sold, available = command->available;

    command->shut = false;
    if (!is_close(command)) { /* a LOAD, which begins anew with what it may have applied before */
        command->booked = command->spread = false;
        stock_command_begin(command);
        return;
    }
    struct pending_command *pending = stock_command_end(command);
    reply_clear(&pending->reply);
    reply_number(&pending->reply, sold);
    reply_number(&pending->reply, available);
    pending_finish(pending);
}

static void wiped(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                  const struct problem *problem)
{
    struct stock_command *command = call->context;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    int64_t sold, available;
    if (script_reply_number(reply, 1, &sold) && script_reply_number(reply, 2, &available)) {
        command->sold = counter_sum(command->sold, sold);
        command->available = counter_sum(command->available, available);
    }
    if (command->counter != COUNTER_MAIN) {
        wipe_at(command, command->counter - 1);
    } else {
        stock_product_unlearn(command->product);
        answer_gone(command);
    }
}

static void wipe_at(struct stock_command *command, size_t counter)
{
    struct script_call *call = &command->pending->call;

    counter_call(call, command->product, "wipe_shard", counter, "both", 2);
    counter_call_belief(call, command->product);
    command->counter = counter;
    command->epoch = command->product->epoch;
    stock_command_send(command, wiped);
}

/* To all other commands a closed product is none, before it is wiped and after. The next command
 * reads it again: another engine may have loaded it since. */
static void refuse_gone(struct stock_command *command)
{
    stock_product_unlearn(command->product);
    struct pending_command *pending = stock_command_end(command);

    reply_clear(&pending->reply);
    reply_refuse(&pending->reply, HF_PRODUCT_NOT_FOUND, NULL);
    pending_finish(pending);
}

void stock_command_shut(struct stock_command *command)
{
    struct stock_product *product = command->product;

    if (product->epoch == 0) {
        answer_gone(command);
    } else if (product->end == PRODUCT_OPEN) {
        turn_to(command, "closing", turned);
    } else if (product->end == PRODUCT_CLOSING) {
        command->shut = command->counting = true;
        command->epoch = product->epoch;
        stock_command_survey(command, STOCK_WANT_FIGURES, COUNTER_MAIN, 0);
    } else if (is_close(command) || command_id(command->pending->command.spec) == STOCK_LOAD) {
        command->shut = true;
        wipe_at(command, product->counters - 1);
    } else {
        refuse_gone(command);
    }
}
