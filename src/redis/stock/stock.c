/* SPDX-License-Identifier: Apache-2.0
 *
 * A product that is in no shards costs nothing more than its one call: only if its main place
 * answers that there are shards does all the rest come into play. */
#include "redis/stock/stock.h"

#include "redis/stock/stock_command.h"

#include <stdlib.h>

/* ---- a product in no shards ------------------------------------------------------------------ */

static struct hf_bytes product_id(const struct command *command)
{
    return command->args.stock_get.product; /* the first argument of all of them */
}

static bool says_sharded(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "SHARDED", 7) == 0;
}

static void single_done(struct call *call, enum redis_fate fate, const redisReply *reply,
                        const struct problem *problem)
{
    struct job *job = call->context;
    struct stocks *stocks = call->redis->stocks;

    if (stocks->stopped) {
        return;
    }
    if (fate == REDIS_ANSWERED && says_sharded(reply)) {
        trade_start(stocks, job, product_add(stocks, product_id(&job->command)));
        return;
    }
    if (fate == REDIS_ANSWERED) {
        redis_note_deadline(call->redis, &job->command, NULL);
    }
    job_answer(job, fate, reply, problem);
}

void stock_single(struct redis *redis, struct job *job)
{
    bool reads = !(job->command.spec->flags & COMMAND_WRITES);

    (void)redis;
    call_row(&job->call, &job->command, NULL, 0);
    call_send(&job->call, reads, 0, single_done, job);
}

bool stock_has(const struct command *command)
{
    enum command_id id = command_id(command->spec);
    return id >= STOCK_LOAD && id <= STOCK_ADJUST;
}

void stock_execute(struct redis *redis, struct job *job)
{
    struct stocks *stocks = redis->stocks;
    const struct command *command = &job->command;
    struct product *product = product_find(stocks, product_id(command));
    bool splits = command_id(command->spec) == STOCK_LOAD && command->args.stock_load.shards > 1;

    if (product != NULL) {
        trade_start(stocks, job, product);
    } else if (splits) {
        trade_start(stocks, job, product_add(stocks, product_id(command)));
    } else {
        stock_single(redis, job);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct stocks *stocks_open(struct redis *redis)
{
    struct stocks *stocks = calloc(1, sizeof *stocks);

    if (stocks == NULL) {
        return NULL;
    }
    stocks->redis = redis;
    list_init(&stocks->recent);
    list_init(&stocks->trades);
    for (size_t i = 0; i < PRODUCT_BUCKETS; i++) {
        list_init(&stocks->buckets[i]);
    }
    return stocks;
}

void stocks_stop(struct stocks *stocks)
{
    stocks->stopped = true;
    trades_stop(stocks);
}

void stocks_free(struct stocks *stocks)
{
    if (stocks == NULL) {
        return;
    }
    trades_free(stocks);
    products_free(stocks);
    free(stocks);
}
