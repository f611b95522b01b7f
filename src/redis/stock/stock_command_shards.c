/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.SHARDS of a product in shards: its counters are read one after the other, the main one
 * first, and shown with the node that has each. The cursor is the name of the counter that the walk
 * goes on with.
 *
 * A counter that does not answer is shown with figures that are not known: the rest of the product
 * can be looked at while a node is away, which is when an operator looks. The other counters of
 * that node are not asked on the same page. Only the main counter, which says how many there are,
 * has to answer. */
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

static const struct problem no_memory = {HF_BUSY, "out of memory for the list"};

static const struct hf_stock_shards_args *args_of(const struct stock_command *command)
{
    return &command->pending->command.args.stock_shards;
}

static struct reply *page_of(struct stock_command *command)
{
    return &command->pending->reply;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* NULL: none is known now. */
static struct redis_node *node_of(const struct stock_command *command)
{
    const struct script_call *call = &command->pending->call;

    return redis_client_owner(call->client, call->request.slot);
}

/* Adds the counter to the page; `figures` is NULL if it did not answer. False when there is no
 * memory. */
static bool add_item(struct stock_command *command, const struct counter_figures *figures)
{
    struct reply *reply = page_of(command);
    struct redis_node *node = node_of(command);
    const char *node_name = node != NULL ? redis_node_name(node) : "";
    char name[COUNTER_NAME_SIZE];

    counter_name(command->counter, name);
    if (!reply_reserve(reply, command->pending->command.spec->field_count,
                       sizeof name + HF_NODE_SIZE)) {
        return false;
    }
    bool known = figures != NULL;
    reply_word(reply, name);
    reply_number(reply, !known ? -1 : figures->available > 0 ? figures->available : 0);
    reply_number(reply, known ? figures->taken : -1);
    reply_number(reply, known ? figures->sold : -1);
    reply_word(reply, strlen(node_name) < HF_NODE_SIZE ? node_name : "");
    return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void ask(struct stock_command *command, size_t counter);

static void finish(struct stock_command *command, const char *cursor)
{
    if (reply_set_cursor(page_of(command), hf_text(cursor))) {
        pending_finish(stock_command_end(command));
    } else {
        stock_command_fail(command, &no_memory);
    }
}

/* Is so much of the time gone that a healthy node might be taken for one that does not answer? */
static bool is_late(const struct stock_command *command)
{
    return stock_command_left_ms(command) < command->product->stocks->env->url.timeout_ms / 4;
}

static bool is_last(const struct stock_command *command)
{
    return command->counter + 1 >= command->product->counters;
}

static bool is_page_over(struct stock_command *command)
{
    int64_t shown = (int64_t)reply_items(page_of(command), command->pending->command.spec);

    return is_last(command) || shown >= args_of(command)->count || is_late(command);
}

/* The counter is on the page: the next one, or the end of the page. */
static void go_on(struct stock_command *command)
{
    char name[COUNTER_NAME_SIZE];

    if (!is_page_over(command)) {
        ask(command, command->counter + 1);
    } else if (is_last(command)) {
        finish(command, "");
    } else {
        counter_name(command->counter + 1, name);
        finish(command, name);
    }
}

static void counter_read(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                         const struct problem *problem)
{
    struct stock_command *command = call->context;
    struct counter_figures figures;
    (void)problem;

    if (command->product->stocks->stopped) {
        return;
    }
    bool known = fate == REDIS_ANSWERED && counter_figures_read(&figures, reply);
    if (known && command->counter < command->product->counters) {
        stock_product_saw(command->product, command->counter, &figures);
    }
    if (!known) {
        command->silent = node_of(command);
    }
    if (add_item(command, known ? &figures : NULL)) {
        go_on(command);
    } else {
        stock_command_fail(command, &no_memory);
    }
}

/* Half of what is left of the time for each, so that one node that hangs does not take the time of
 * those behind it. Those of a node that did not answer are passed over. */
static void ask(struct stock_command *command, size_t counter)
{
    struct script_call *call = &command->pending->call;

    for (;; counter++) {
        command->counter = counter;
        counter_call_read(call, command->product, counter, false, 0);
        if (command->silent == NULL || command->silent != node_of(command)) {
            break;
        }
        if (!add_item(command, NULL)) {
            stock_command_fail(command, &no_memory);
            return;
        }
        if (is_page_over(command)) {
            go_on(command);
            return;
        }
    }
    script_call_send(call, true, stock_command_left_ms(command) / 2 + 1, counter_read, command);
}

void stock_command_shards(struct stock_command *command)
{
    struct hf_bytes after = args_of(command)->after;
    size_t counters = command->product->counters, counter = COUNTER_MAIN;

    if (!command->learned) {
        stock_command_learn(command);
        return;
    }
    if (after.size > 0) {
        counter = counter_from_name(after, counters);
    }
    if (counter >= counters) {
        struct pending_command *pending = stock_command_end(command);
        reply_clear(&pending->reply);
        reply_refuse_texts(&pending->reply, HF_INVALID_ARGUMENT,
                           "AFTER @ is no cursor of this list: begin without it, or with what a "
                           "page ended with",
                           pending->command.args.stock_shards.after, (struct hf_bytes){"", 0});
        pending_finish(pending);
        return;
    }
    reply_clear(page_of(command));
    reply_word(page_of(command), "");
    ask(command, counter);
}
