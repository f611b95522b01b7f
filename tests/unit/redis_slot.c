/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash slots, and the answer to CLUSTER SLOTS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/slot_map.h"

static void keys_have_the_slots_that_redis_gives_them(void **state)
{
    static const struct {
        const char *key;
        int slot;
    } cases[] = {
        {"", 0},
        {"foo", 12182},
        {"123456789", 12739},
        {"somekey", 11058},
        {"foo{hash_tag}", 2515},
        {"bar{hash_tag}", 2515},
        {"{user1000}.following", 3443},
        {"foo{}{bar}", 8363},
        {"foo{{bar}}zap", 4015},
        {"foo{bar}{zap}", 5061},
        {"foo{bar", 15278},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(redis_slot(hf_text(cases[i].key)), cases[i].slot);
    }
}

static bool read_map(struct slot_map *map, const char *resp)
{
    static const struct redis_host asked = {.name = "10.0.0.9", .port = 7000};
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    redisReaderFeed(reader, resp, strlen(resp));
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    bool fine = slot_map_read(map, reply, &asked);
    freeReplyObject(reply);
    redisReaderFree(reader);
    return fine;
}

#define NODE(host, port) "*2\r\n$" host "\r\n:" port "\r\n"

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

static void what_is_no_map_is_refused(void **state)
{
    static const char *const cases[] = {
        "*0\r\n",
        "+OK\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:0\r\n:99\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n" NODE("1\r\na", "7001"),
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
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_the_slots_that_redis_gives_them),
        cmocka_unit_test(a_map_has_ranges_with_masters_and_every_node_once),
        cmocka_unit_test(a_node_without_a_host_is_where_we_asked),
        cmocka_unit_test(slots_of_a_master_without_an_address_have_none),
        cmocka_unit_test(what_is_no_map_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
