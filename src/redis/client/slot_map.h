/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer to CLUSTER SLOTS: which nodes there are, and which master has which slots. */
#ifndef REDIS_CLIENT_SLOT_MAP_H
#define REDIS_CLIENT_SLOT_MAP_H

#include "redis/client/client.h"

struct slot_range {
    int first, last;
    size_t master; /* among the nodes */
};

struct slot_map {
    struct slot_range *ranges;
    size_t range_count;
    struct redis_host *nodes; /* each once, replicas too */
    size_t node_count;
    int covered; /* slots that have a master */
};

/* False, with nothing to free, if it is no such answer, or tells of no slot, or there is no memory.
 * A node without an address of its own is at that of the node that was asked. */
bool slot_map_read(struct slot_map *map, const redisReply *reply, const struct redis_host *asked);
void slot_map_free(struct slot_map *map);

#endif
