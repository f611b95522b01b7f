/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.* on a cluster, where a product that was loaded with SHARDS > 1 is spread over the nodes.
 *
 * A product has a main counter and n shards; in the names of keys the counter stands behind the
 * product ("shoes_main", "shoes_3"). An order belongs to one shard, by the CRC16 of its id: it is
 * taken there while the product is `sharded`. Once the product is `merged`, new orders are taken at
 * the main counter. Stock that falls short at a counter is moved there from the others
 * (transfer.h). A client is refused with SOLD_OUT only after a survey of all counters, read twice
 * with nothing gained or moved in between, has shown that at one moment all of them together had
 * too little (survey.h).
 *
 * The first LOAD with SHARDS > 1 decides how many shards there are; a later one changes only what
 * GET reports. `remaining` in the replies to TAKE, SETTLE and GIVE is the sum of what this engine
 * saw last of each counter; the figures of LOAD, ADJUST and GET are read at all counters. */
#ifndef REDIS_STOCK_STOCK_H
#define REDIS_STOCK_STOCK_H

#include "redis/script/pending.h"

struct stocks;

/* NULL when there is no memory. */
struct stocks *stocks_open(struct script_env *env);
/* Nothing new is begun. Commands in flight are not answered any more. */
void stocks_stop(struct stocks *stocks);
/* After the client is closed. */
void stocks_free(struct stocks *stocks);

/* Is it a command that stock_execute() carries out? */
bool stock_has(const struct command *command);

void stock_execute(struct stocks *stocks, struct pending_command *pending);

#endif
