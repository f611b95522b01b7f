/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the reply to CLUSTER SLOTS, which comes from another program: nothing in it is trusted. */
#include "redis/client/slot_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_NODE SIZE_MAX

void slot_map_free(struct slot_map *map)
{
    free(map->ranges);
    free(map->nodes);
    *map = (struct slot_map){.covered = 0};
}

static bool is_number(const redisReply *reply, long long least, long long most)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= least && reply->integer <= most;
}

/* [host, port, id, …]. The index of the node, which is added if it is new; UNKNOWN_NODE if its
 * address is not known ("?"). There must be room. */
static bool read_node(struct slot_map *map, const redisReply *reply, const struct redis_host *asked,
                      size_t *index)
{
    struct redis_host *host = &map->nodes[map->node_count];

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2 ||
        !is_number(reply->element[1], 1, UINT16_MAX)) {
        return false;
    }
    const redisReply *name = reply->element[0];
    bool has_name = name->type == REDIS_REPLY_STRING && name->len > 0;
    if (!has_name && name->type != REDIS_REPLY_NIL && name->type != REDIS_REPLY_STRING) {
        return false;
    }
    if (has_name && (name->len >= sizeof host->name || strlen(name->str) != name->len)) {
        return false; /* cut off, it would name another host */
    }
    if (has_name && strcmp(name->str, "?") == 0) {
        *index = UNKNOWN_NODE;
        return true;
    }
    snprintf(host->name, sizeof host->name, "%s", has_name ? name->str : asked->name);
    host->port = (uint16_t)reply->element[1]->integer;
    size_t at = 0;
    while (strcmp(map->nodes[at].name, host->name) != 0 || map->nodes[at].port != host->port) {
        at++;
    }
    map->node_count += at == map->node_count;
    *index = at;
    return true;
}

/* How many slots some range has: a slot that is in two of them counts once. */
static int count_covered(const struct slot_map *map)
{
    bool has_master[REDIS_SLOTS] = {false};
    int count = 0;

    for (size_t i = 0; i < map->range_count; i++) {
        const struct slot_range *range = &map->ranges[i];
        for (int slot = range->first; slot <= range->last; slot++) {
            count += !has_master[slot];
            has_master[slot] = true;
        }
    }
    return count;
}

/* [first, last, master, replica, …]. */
static bool read_range(struct slot_map *map, const redisReply *reply,
                       const struct redis_host *asked)
{
    struct slot_range *range = &map->ranges[map->range_count];
    size_t replica;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
        !is_number(reply->element[0], 0, REDIS_SLOTS - 1) ||
        !is_number(reply->element[1], reply->element[0]->integer, REDIS_SLOTS - 1) ||
        !read_node(map, reply->element[2], asked, &range->master)) {
        return false;
    }
    range->first = (int)reply->element[0]->integer;
    range->last = (int)reply->element[1]->integer;
    map->range_count += range->master != UNKNOWN_NODE;
    for (size_t i = 3; i < reply->elements; i++) {
        if (!read_node(map, reply->element[i], asked, &replica)) {
            return false;
        }
    }
    return true;
}

bool slot_map_read(struct slot_map *map, const redisReply *reply, const struct redis_host *asked)
{
    size_t nodes_max = 1; /* room for one to be compared */
    bool fine = true;

    *map = (struct slot_map){.covered = 0};
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0 || reply->elements > REDIS_SLOTS) {
        return false;
    }
    for (size_t i = 0; i < reply->elements; i++) {
        nodes_max += reply->element[i]->elements;
    }
    map->ranges = calloc(reply->elements, sizeof *map->ranges);
    map->nodes = calloc(nodes_max, sizeof *map->nodes);
    fine = map->ranges != NULL && map->nodes != NULL;
    for (size_t i = 0; i < reply->elements && fine; i++) {
        fine = read_range(map, reply->element[i], asked);
    }
    if (!fine || map->range_count == 0) {
        slot_map_free(map);
        return false;
    }
    map->covered = count_covered(map);
    return true;
}
