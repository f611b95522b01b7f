/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server answers to CLUSTER SLOTS, from its bytes through the reader of hiredis: a map that
 * is within its bounds, or none, with nothing left behind. */
#include "base/check.h"
#include "fuzz.h"
#include "redis/client/slot_map.h"

#include <ctype.h>
#include <string.h>

/* The reader of hiredis reserves room for as many elements as an array says it has: longer numbers
 * than this try the allocator, not the map. */
#define DIGITS_MAX 5

static bool has_long_number(const uint8_t *data, size_t size)
{
    size_t digits = 0;

    for (size_t i = 0; i < size && digits <= DIGITS_MAX; i++) {
        digits = isdigit(data[i]) ? digits + 1 : 0;
    }
    return digits > DIGITS_MAX;
}

static int count_distinct(const struct slot_map *map)
{
    bool has_master[REDIS_SLOTS] = {false};
    int count = 0;

    for (size_t i = 0; i < map->range_count; i++) {
        for (int slot = map->ranges[i].first; slot <= map->ranges[i].last; slot++) {
            count += !has_master[slot];
            has_master[slot] = true;
        }
    }
    return count;
}

static void check_map(const struct slot_map *map, const redisReply *reply)
{
    CHECK(map->range_count >= 1 && map->range_count <= reply->elements && map->node_count >= 1);
    for (size_t i = 0; i < map->range_count; i++) {
        const struct slot_range *range = &map->ranges[i];
        CHECK(range->first >= 0 && range->first <= range->last && range->last < REDIS_SLOTS);
        CHECK(range->master < map->node_count);
    }
    for (size_t i = 0; i < map->node_count; i++) {
        const struct redis_host *node = &map->nodes[i];
        CHECK(memchr(node->name, '\0', sizeof node->name) != NULL && node->name[0] != '\0');
        CHECK(node->port != 0);
        for (size_t j = 0; j < i; j++) {
            CHECK(map->nodes[j].port != node->port || strcmp(map->nodes[j].name, node->name) != 0);
        }
    }
    CHECK(map->covered >= 1 && map->covered == count_distinct(map));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct redis_host asked = {.name = "10.0.0.9", .port = 7000};
    struct slot_map map;
    void *reply = NULL;

    if (has_long_number(data, size)) {
        return -1;
    }
    redisReader *reader = redisReaderCreate();
    CHECK(reader != NULL);
    if (redisReaderFeed(reader, (const char *)data, size) == REDIS_OK &&
        redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL) {
        if (slot_map_read(&map, reply, &asked)) {
            check_map(&map, reply);
            slot_map_free(&map);
        }
        CHECK(map.nodes == NULL && map.ranges == NULL && map.covered == 0);
        freeReplyObject(reply);
    }
    redisReaderFree(reader);
    return 0;
}
