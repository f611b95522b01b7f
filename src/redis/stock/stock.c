/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry to STOCK.* on a cluster. A product without shards costs one call of its row's script;
 * only if its main counter answers SHARDED does the command become a stock_command. */
#include "redis/stock/stock.h"

#include "redis/stock/stock_command.h"

#include <stdlib.h>

/* ---- a product without shards ---------------------------------------------------------------- */

static struct hf_bytes product_id(const struct command *command)
{
    return command->args.stock_get.product; /* the first argument of all of them */
}

static bool says_sharded(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "SHARDED", 7) == 0;
}

static void single_done(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                        const struct problem *problem)
{
    struct stocks *stocks = call->context;
    struct pending_command *pending = LIST_ENTRY(call, struct pending_command, call);

    if (stocks->stopped) {
        return;
    }
    if (fate == REDIS_ANSWERED && says_sharded(reply)) {
        stock_command_start(stocks, pending,
                            stock_product_add(stocks, product_id(&pending->command)));
        return;
    }
    if (fate == REDIS_ANSWERED) {
        script_env_note_deadline(call->env, &pending->command, NULL);
    }
    pending_answer(pending, fate, reply, problem);
}

void stock_single(struct stocks *stocks, struct pending_command *pending)
{
    bool reads = !(pending->command.spec->flags & COMMAND_WRITES);

    script_call_row(&pending->call, &pending->command, NULL, 0);
    script_call_send(&pending->call, reads, 0, single_done, stocks);
}

bool stock_has(const struct command *command)
{
    return command->spec->keys[0] == KEY_STOCK;
}

void stock_execute(struct stocks *stocks, struct pending_command *pending)
{
    const struct command *command = &pending->command;
    struct stock_product *product = stock_product_find(stocks, product_id(command));
    bool splits = command_id(command->spec) == STOCK_LOAD && command->args.stock_load.shards > 1;

    if (product != NULL) {
        stock_command_start(stocks, pending, product);
    } else if (splits) {
        stock_command_start(stocks, pending, stock_product_add(stocks, product_id(command)));
    } else {
        stock_single(stocks, pending);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct stocks *stocks_open(struct script_env *env)
{
    struct stocks *stocks = calloc(1, sizeof *stocks);

    if (stocks == NULL) {
        return NULL;
    }
    stocks->env = env;
    list_init(&stocks->recent);
    list_init(&stocks->commands);
    for (size_t i = 0; i < STOCK_PRODUCT_BUCKETS; i++) {
        list_init(&stocks->buckets[i]);
    }
    return stocks;
}

void stocks_stop(struct stocks *stocks)
{
    stocks->stopped = true;
    stock_commands_stop(stocks);
}

void stocks_free(struct stocks *stocks)
{
    if (stocks == NULL) {
        return;
    }
    stock_commands_free(stocks);
    stock_products_free(stocks);
    free(stocks);
}
