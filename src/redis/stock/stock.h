/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.* on a cluster, where a product that was loaded with SHARDS > 1 is spread over the nodes.
 *
 * A product has a main counter and n shards; the counter of its keys stands behind its name
 * ("shoes_main", "shoes_3"). An order belongs to one shard, by the CRC16 of its id: there it is
 * taken while the product is `sharded`. Once it is `merged`, new orders are taken at the main
 * counter. What falls short where it is wanted is moved there from other counters (transfer.h), and
 * nobody is told SOLD_OUT before all counters, read twice with nothing gained or moved in between,
 * have shown that there was a moment with too little in all of them together (survey.h).
 *
 * How many shards there are is settled by the first LOAD with SHARDS > 1; a later one changes what
 * GET reports. `remaining` in the answers of TAKE, SETTLE and GIVE is the sum of what this engine
 * has seen last of each counter; the figures of LOAD, ADJUST and GET are read at all of them. */
#ifndef REDIS_STOCK_STOCK_H
#define REDIS_STOCK_STOCK_H

#include "redis/script/script_env.h"

struct stocks;

/* NULL when there is no memory. */
struct stocks *stocks_open(struct script_env *env);
/* Nothing new is begun. Commands under way are not answered any more. */
void stocks_stop(struct stocks *stocks);
/* After the client is closed. */
void stocks_free(struct stocks *stocks);

/* Is it a command for here? */
bool stock_has(const struct command *command);

void stock_execute(struct script_env *env, struct pending_command *pending);

#endif
