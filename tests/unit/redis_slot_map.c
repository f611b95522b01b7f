/* SPDX-License-Identifier: Apache-2.0
 *
 * The reply to CLUSTER SLOTS becomes a map of the cluster, or is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/slot_map.h"

static bool read_bytes(struct slot_map *map, const char *resp, size_t size)
{
    static const struct redis_host asked = {.name = "10.0.0.9", .port = 7000};
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    redisReaderFeed(reader, resp, size);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    bool fine = slot_map_read(map, reply, &asked);
    freeReplyObject(reply);
    redisReaderFree(reader);
    return fine;
}

static bool read_map(struct slot_map *map, const char *resp)
{
    return read_bytes(map, resp, strlen(resp));
}

/* NODE("1\r\na", "7001") is ["a", 7001]; RANGE("0", "99") begins [0, 99, one node]. */
#define NODE(host, port) "*2\r\n$" host "\r\n:" port "\r\n"
#define RANGE(first, last) "*3\r\n:" first "\r\n:" last "\r\n"

static void a_map_has_ranges_with_masters_and_every_node_once(void **state)
{
    struct slot_map map;

    (void)state;
    assert_true(read_map(&map, "*3\r\n"
                               "*4\r\n:0\r\n:99\r\n" NODE("1\r\na", "7001")
                                   NODE("1\r\nb", "7002") "*3\r\n:100\r\n:16383\r\n" NODE(
                                       "1\r\nb", "7002") "*4\r\n:5\r\n:5\r\n" NODE("1\r\na", "7001")
                                       NODE("1\r\na", "7003")));
    assert_int_equal(map.range_count, 3);
    assert_int_equal(map.node_count, 3);
    assert_int_equal(map.ranges[0].last, 99);
    assert_int_equal(map.ranges[1].master, 1);
    assert_string_equal(map.nodes[1].name, "b");
    assert_int_equal(map.nodes[2].port, 7003);
    slot_map_free(&map);
}

static void a_node_without_a_host_is_where_we_asked(void **state)
{
    struct slot_map map;

    (void)state;
    assert_true(read_map(&map, "*2\r\n"
                               "*3\r\n:0\r\n:99\r\n" NODE(
                                   "0\r\n", "7001") "*3\r\n:100\r\n:199\r\n" NODE("-1", "7002")));
    assert_int_equal(map.covered, 200);
    assert_string_equal(map.nodes[0].name, "10.0.0.9");
    assert_string_equal(map.nodes[1].name, "10.0.0.9");
    assert_int_equal(map.nodes[1].port, 7002);
    slot_map_free(&map);
}

static void slots_of_a_master_without_an_address_have_none(void **state)
{
    struct slot_map map;

    (void)state;
    assert_true(read_map(&map,
                         "*2\r\n"
                         "*3\r\n:0\r\n:99\r\n" NODE("1\r\n?", "7001") "*3\r\n:100\r\n:199\r\n" NODE(
                             "1\r\na", "7002")));
    assert_int_equal(map.covered, 100);
    assert_int_equal(map.range_count, 1);
    slot_map_free(&map);
}

static void a_slot_that_is_named_twice_is_covered_once(void **state)
{
    struct slot_map map;

    (void)state;
    assert_true(read_map(&map, "*2\r\n" RANGE("0", "8191") NODE("1\r\na", "7001") RANGE("0", "8191")
                                   NODE("1\r\nb", "7002")));
    assert_int_equal(map.covered, 8192);
    slot_map_free(&map);
    assert_true(read_map(&map, "*2\r\n" RANGE("0", "16383") NODE("1\r\na", "7001") RANGE("5", "5")
                                   NODE("1\r\nb", "7002")));
    assert_int_equal(map.covered, REDIS_SLOTS);
    assert_int_equal(map.range_count, 2);
    slot_map_free(&map);
}

static void replicas_are_nodes_and_masters_of_nothing(void **state)
{
    struct slot_map map;

    (void)state;
    assert_true(read_map(&map, "*1\r\n*5\r\n:0\r\n:16383\r\n" NODE("1\r\na", "7001")
                                   NODE("1\r\nb", "7001") NODE("1\r\n?", "7009")));
    assert_int_equal(map.node_count, 2);
    assert_int_equal(map.range_count, 1);
    assert_int_equal(map.ranges[0].master, 0);
    assert_string_equal(map.nodes[1].name, "b");
    slot_map_free(&map);
}

static void addresses_may_be_ipv6_and_hosts_differ_by_port(void **state)
{
    struct slot_map map;

    (void)state;
    assert_true(read_map(&map, "*2\r\n" RANGE("0", "0") NODE("3\r\n::1", "7001")
                                   RANGE("16383", "16383") NODE("3\r\n::1", "65535")));
    assert_int_equal(map.covered, 2);
    assert_int_equal(map.node_count, 2);
    assert_string_equal(map.nodes[0].name, "::1");
    assert_int_equal(map.nodes[1].port, 65535);
    slot_map_free(&map);
}

/* Redis 7 adds an id and metadata to each node. */
static void more_may_stand_behind_host_and_port(void **state)
{
    struct slot_map map;

    (void)state;
    assert_true(read_map(
        &map, "*1\r\n" RANGE("0", "16383") "*4\r\n$1\r\na\r\n:7001\r\n"
                                           "$2\r\nid\r\n*2\r\n$8\r\nhostname\r\n$1\r\nb\r\n"));
    assert_string_equal(map.nodes[0].name, "a");
    slot_map_free(&map);
}

/* A host cut to what there is room for would be another host. */
static void a_host_that_does_not_fit_is_refused(void **state)
{
    char resp[512], host[300];
    struct slot_map map;

    (void)state;
    memset(host, 'h', sizeof host);
    for (int size = 255; size <= 256; size++) {
        snprintf(resp, sizeof resp, "*1\r\n" RANGE("0", "9") "*2\r\n$%d\r\n%.*s\r\n:7001\r\n", size,
                 size, host);
        assert_int_equal(read_map(&map, resp), size == 255);
        slot_map_free(&map);
    }
    static const char with_nul[] = "*1\r\n" RANGE("0", "9") NODE("3\r\na\0b", "7001");
    assert_false(read_bytes(&map, with_nul, sizeof with_nul - 1));
}

static void every_slot_may_be_a_range_of_its_own(void **state)
{
    static char resp[REDIS_SLOTS * 64];
    struct slot_map map;
    size_t used = (size_t)snprintf(resp, sizeof resp, "*%d\r\n", REDIS_SLOTS);

    (void)state;
    for (int slot = 0; slot < REDIS_SLOTS; slot++) {
        used += (size_t)snprintf(resp + used, sizeof resp - used,
                                 "*3\r\n:%d\r\n:%d\r\n*2\r\n$1\r\n%c\r\n:7001\r\n", slot, slot,
                                 'a' + slot % 3);
    }
    assert_true(read_map(&map, resp));
    assert_int_equal(map.range_count, REDIS_SLOTS);
    assert_int_equal(map.covered, REDIS_SLOTS);
    assert_int_equal(map.node_count, 3);
    slot_map_free(&map);
}

static void what_is_no_map_is_refused(void **state)
{
    static const char *const cases[] = {
        "*0\r\n",
        "*-1\r\n",
        "$-1\r\n",
        ":1\r\n",
        "+OK\r\n",
        "-ERR This instance has cluster support disabled\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:0\r\n:99\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n" NODE("1\r\na", "7001"),
        "*1\r\n*3\r\n:-1\r\n:8\r\n" NODE("1\r\na", "7001"),
        "*1\r\n*3\r\n$1\r\n0\r\n:8\r\n" NODE("1\r\na", "7001"),
        "*1\r\n*3\r\n:0\r\n:9\r\n" NODE("1\r\na", "65536"),
        "*1\r\n*3\r\n:0\r\n:9\r\n*1\r\n$1\r\na\r\n",
        "*1\r\n*3\r\n:0\r\n:9\r\n*2\r\n:1\r\n:7001\r\n",
        "*1\r\n*3\r\n:0\r\n:9\r\n*0\r\n",
        "*1\r\n*3\r\n:9\r\n:8\r\n" NODE("1\r\na", "7001"),
        "*1\r\n*3\r\n:0\r\n:9\r\n" NODE("1\r\na", "0"),
        "*1\r\n*3\r\n:0\r\n:9\r\n" NODE("1\r\n?", "7001"),
        "*1\r\n*4\r\n:0\r\n:9\r\n" NODE("1\r\na", "7001") ":1\r\n",
    };
    struct slot_map map;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_false(read_map(&map, cases[i]));
        assert_null(map.nodes);
        assert_null(map.ranges);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_has_ranges_with_masters_and_every_node_once),
        cmocka_unit_test(a_node_without_a_host_is_where_we_asked),
        cmocka_unit_test(slots_of_a_master_without_an_address_have_none),
        cmocka_unit_test(a_slot_that_is_named_twice_is_covered_once),
        cmocka_unit_test(replicas_are_nodes_and_masters_of_nothing),
        cmocka_unit_test(addresses_may_be_ipv6_and_hosts_differ_by_port),
        cmocka_unit_test(more_may_stand_behind_host_and_port),
        cmocka_unit_test(a_host_that_does_not_fit_is_refused),
        cmocka_unit_test(every_slot_may_be_a_range_of_its_own),
        cmocka_unit_test(what_is_no_map_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
