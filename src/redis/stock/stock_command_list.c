/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.LIST of a product in shards: a walk over its counters, the main one first. Orders never
 * move from one counter to another, and at a counter they are listed in the order of their names.
 * So the cursor, "COUNTER:ORDER", names where the walk is, whatever else comes and goes. A cursor
 * with an empty order stands before the first one of its counter.
 *
 * The main counter is read first, for how many counters there are: a product may have been closed
 * and loaded again since this engine saw it last. */
#include "base/text.h"
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

#define CALLS_MAX 64 /* pages of counters in one page of the list */

static const struct problem nonsense = {HF_INTERNAL, "a shard answered with nonsense"};
static const struct problem no_memory = {HF_BUSY, "out of memory for the list"};

static const struct hf_stock_list_args *args_of(const struct stock_command *command)
{
    return &command->pending->command.args.stock_list;
}

static int64_t shown(const struct stock_command *command)
{
    return (int64_t)reply_items(&command->pending->reply, command->pending->command.spec);
}

/* Ends the page. The walk goes on at `counter`, behind the cursor `after` of that counter. */
static void end_page(struct stock_command *command, size_t counter, struct hf_bytes after)
{
    struct reply *reply = &command->pending->reply;
    char name[COUNTER_NAME_SIZE], cursor[HF_CURSOR_SIZE];

    counter_name(counter, name);
    struct hf_bytes place = hf_text(name);
    memcpy(cursor, place.data, place.size);
    memcpy(cursor + place.size, after.data, after.size);
    if (!reply_set_cursor(reply, (struct hf_bytes){cursor, place.size + after.size})) {
        stock_command_fail(command, &no_memory);
        return;
    }
    pending_finish(stock_command_end(command));
}

static void ask(struct stock_command *command, size_t counter, struct hf_bytes after);

/* Goes on behind a page of a counter, whose cursor was `after`. */
static void go_on(struct stock_command *command, struct hf_bytes after)
{
    size_t counter = command->counter;

    if (after.size == 0) { /* that was all at this counter */
        after = hf_text(":");
        if (++counter >= command->product->counters) {
            pending_finish(stock_command_end(command));
            return;
        }
    }
    if (shown(command) >= args_of(command)->count || command->calls >= CALLS_MAX ||
        stock_command_left_ms(command) == 0) {
        end_page(command, counter, after);
    } else {
        ask(command, counter, after);
    }
}

static void listed(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct stock_command *command = call->context;
    struct pending_command *pending = command->pending;

    if (fate != REDIS_ANSWERED && problem->code == HF_TIMEOUT) {
        problem = &stock_shard_silent;
    }
    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (stock_reply_says(reply, "INVALID_ARGUMENT")) {
        stock_command_answer(command, reply);
        return;
    }
    if (!script_reply_add_items(&pending->reply, pending->command.spec, reply) ||
        reply->element[0]->type != REDIS_REPLY_STRING || reply->element[0]->len > 1 + HF_ID_MAX) {
        stock_command_fail(command, &nonsense);
        return;
    }
    go_on(command, (struct hf_bytes){reply->element[0]->str, reply->element[0]->len});
}

static void ask(struct stock_command *command, size_t counter, struct hf_bytes after)
{
    struct script_call *call = &command->pending->call;
    int64_t left_ms = stock_command_left_ms(command);

    counter_call(call, command->product, "list_shard", counter, NULL, 2);
    script_call_text(call, after);
    script_call_number(call, args_of(command)->count - shown(command));
    command->counter = counter;
    command->calls++;
    script_call_send(call, true, left_ms > 0 ? left_ms : 1, listed, command);
}

void stock_command_list(struct stock_command *command)
{
    struct hf_bytes after = args_of(command)->after;
    const char *colon = after.size > 0 ? memchr(after.data, ':', after.size) : NULL;
    size_t size = colon != NULL ? (size_t)(colon - after.data) : 0, counter;

    if (!command->learned) {
        stock_command_learn(command);
        return;
    }
    reply_clear(&command->pending->reply);
    reply_word(&command->pending->reply, "");
    counter = counter_from_name((struct hf_bytes){after.data, size}, command->product->counters);
    if (colon == NULL || counter == command->product->counters) {
        ask(command, COUNTER_MAIN, after); /* the script refuses what is no cursor */
    } else {
        ask(command, counter, (struct hf_bytes){after.data + size, after.size - size});
    }
}
