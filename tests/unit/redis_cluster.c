/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of a cluster: two masters that share the slots, and others that take over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis_fake.h"

#define CLUSTER "redis+cluster://127.0.0.1:%u,127.0.0.1:%u"
#define HALF 8192

/* Who has the lower and the upper half of the slots: the map that everybody tells. */
static uint16_t lower, upper;
static const char *redirect; /* what redis[0] answers to a command on a key */
static unsigned redirects;   /* so many times */
static unsigned maps;        /* how often a map was told */

static const char *answer(struct fake_redis *redis, struct fake_session *session,
                          const redisReply *command)
{
    (void)session;
    if (fake_is(command, "CLUSTER")) {
        maps++;
        snprintf(redis->said, sizeof redis->said,
                 "*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n$9\r\n127.0.0.1\r\n:%u\r\n"
                 "*3\r\n:8192\r\n:16383\r\n*2\r\n$0\r\n\r\n:%u\r\n",
                 lower, upper);
        return redis->said;
    }
    if (fake_is(command, "ASKING")) {
        return "+OK\r\n";
    }
    if (redirects > 0 && redirect != NULL) {
        redirects--;
        return redirect;
    }
    snprintf(redis->said, sizeof redis->said, ":%u\r\n", redis->port);
    return redis->said;
}

static void begin(struct fake *fake)
{
    lower = fake->redis[0].port;
    upper = fake->redis[1].port;
    redirect = NULL;
    redirects = maps = 0;
    for (size_t i = 0; i < 4; i++) {
        fake->redis[i].answer = answer;
    }
    fake_open_ready(fake, CLUSTER);
}

/* The port of whoever carried it out. */
static uint16_t ask_who(struct fake *fake, int slot)
{
    struct fake_call call = {.request = {.slot = slot}};

    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
    return (uint16_t)call.integer;
}

static void each_slot_has_its_master(void **state)
{
    struct fake *fake = *state;

    begin(fake);
    assert_int_equal(ask_who(fake, 0), lower);
    assert_int_equal(ask_who(fake, HALF - 1), lower);
    assert_int_equal(ask_who(fake, HALF), upper);
    assert_int_equal(ask_who(fake, REDIS_SLOTS - 1), upper);
    assert_int_not_equal(ask_who(fake, -1), 0);
}

static void count_masters(void *context, struct redis_node *node)
{
    (*(unsigned *)context)++;
    assert_memory_equal(redis_node_name(node), "127.0.0.1:", 10);
}

static void masters_can_be_asked_each(void **state)
{
    unsigned count = 0;

    begin(*state);
    redis_client_masters(((struct fake *)*state)->client, count_masters, &count);
    assert_int_equal(count, 2);
}

static bool map_was_told(void *context)
{
    return maps > *(unsigned *)context;
}

static void moved_is_followed_remembered_and_the_map_read_anew(void **state)
{
    struct fake *fake = *state;
    char said[64];
    unsigned before;

    begin(fake);
    snprintf(said, sizeof said, "-MOVED 5 127.0.0.1:%u\r\n", fake->redis[2].port);
    redirect = said;
    redirects = 1;
    before = maps;
    lower = fake->redis[2].port;
    assert_int_equal(ask_who(fake, 5), lower);
    assert_int_equal(redis_client_figures(fake->client)->redirects, 1);
    fake_until(fake, map_was_told, &before);
    fake_turn_for(fake, 20);
    assert_int_equal(ask_who(fake, 6), lower);
}

static void ask_is_followed_this_once(void **state)
{
    struct fake *fake = *state;
    char said[64];

    begin(fake);
    snprintf(said, sizeof said, "-ASK 5 :%u\r\n", fake->redis[2].port);
    redirect = said;
    redirects = 1;
    assert_int_equal(ask_who(fake, 5), fake->redis[2].port);
    assert_string_equal(fake->redis[2].log, "ASKING INCR ");
    assert_int_equal(ask_who(fake, 5), lower);
}

static void redirects_in_a_circle_end_with_the_time(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = 5, .timeout_ms = 1000}};
    char said[64];

    begin(fake);
    snprintf(said, sizeof said, "-MOVED 5 127.0.0.1:%u\r\n", fake->redis[1].port);
    redirect = said;
    redirects = UINT32_MAX;
    fake_ask(fake, &call, "INCR a");
    assert_int_equal(call.fate, REDIS_NOT_DONE);
    assert_int_equal(call.code, HF_ENGINE_DOWN);
    assert_in_range(redis_client_figures(fake->client)->redirects, 4, 500);
}

/* A slot that moves from redis[0] to redis[2], and whose scripts both refuse. */
static const char *move_on(struct fake_redis *redis, struct fake_session *session,
                           const redisReply *command)
{
    if (fake_is(command, "CLUSTER") || fake_is(command, "ASKING") || redirects == 0) {
        return answer(redis, session, command);
    }
    redirects--;
    return redis->port == lower ? redirect : "-TRYAGAIN the slot of these keys is moving\r\n";
}

static void a_slot_that_moves_too_long_is_busy_and_not_hammered(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = 5, .timeout_ms = 1000}};
    char said[64];

    begin(fake);
    snprintf(said, sizeof said, "-ASK 5 127.0.0.1:%u\r\n", fake->redis[2].port);
    redirect = said;
    redirects = UINT32_MAX;
    fake->redis[0].answer = fake->redis[2].answer = move_on;
    uint64_t start_ms = uv_now(&fake->loop);
    fake_ask(fake, &call, "INCR a");
    assert_int_equal(call.fate, REDIS_NOT_DONE);
    assert_int_equal(call.code, HF_BUSY);
    /* With pauses of 40 ms there would be 2 * 25 in a second. */
    uint64_t seconds = (uv_now(&fake->loop) - start_ms + 999) / 1000;
    assert_in_range(UINT32_MAX - redirects, 2 * 3, 2 * 20 * seconds);
}

static void a_master_that_is_lost_is_replaced_within_the_time(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = 5}};

    begin(fake);
    fake_close(&fake->redis[0]);
    fake_hang_up(&fake->redis[0]);
    fake_turn_for(fake, 20);
    fake_send(fake, &call, "INCR a");
    fake_turn_for(fake, 100);
    assert_int_equal(call.done, 0);
    lower = fake->redis[2].port;
    fake_until_done(fake, &call);
    assert_int_equal(call.integer, lower);
}

static const char *stay_silent(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command)
{
    return fake_is(command, "CLUSTER") ? answer(redis, session, command) : NULL;
}

static void what_a_replaced_master_owes_is_unknown(void **state)
{
    struct fake *fake = *state;
    struct fake_call write = {.request = {.slot = 5, .timeout_ms = 60000}};
    struct fake_call read = {.request = {.slot = 5, .repeatable = true}};

    begin(fake);
    fake->redis[0].answer = stay_silent;
    fake_send(fake, &write, "INCR a");
    fake_send(fake, &read, "GET a");
    fake_turn_for(fake, 20);
    lower = fake->redis[2].port;
    fake_until_done(fake, &write);
    assert_int_equal(write.fate, REDIS_UNKNOWN);
    assert_int_equal(write.code, HF_TIMEOUT);
    fake_until_done(fake, &read);
    assert_int_equal(read.integer, lower);
}

static struct redis_node *some_node;

static void pick(void *context, struct redis_node *node)
{
    char name[32];

    snprintf(name, sizeof name, "127.0.0.1:%u", *(const uint16_t *)context);
    some_node = strcmp(name, redis_node_name(node)) == 0 ? node : some_node;
}

static void a_request_for_one_node_goes_there_or_nowhere(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};
    uint16_t port;

    begin(fake);
    port = upper;
    redis_client_masters(fake->client, pick, &port);
    call.request.node = some_node;
    fake_send(fake, &call, "SCAN 0");
    fake_until_done(fake, &call);
    assert_int_equal(call.integer, upper);

    /* It is no master any more before it has answered. */
    fake->redis[1].answer = stay_silent;
    fake_send(fake, &call, "SCAN 0");
    upper = fake->redis[2].port;
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_UNKNOWN);
}

static bool is_ready(void *context)
{
    return ((struct fake *)context)->ready;
}

static const char *no_cluster(struct fake_redis *redis, struct fake_session *session,
                              const redisReply *command)
{
    (void)redis;
    (void)session;
    (void)command;
    return "-ERR This instance has cluster support disabled\r\n";
}

static void a_server_that_is_no_cluster_is_said_to_be_none_at_once(void **state)
{
    struct fake *fake = *state;

    fake->redis[0].answer = fake->redis[1].answer = no_cluster;
    fake_open(fake, CLUSTER "?connect_timeout=60000");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(fake->problem.message, "cluster support disabled"));
}

static void one_of_the_urls_hosts_that_answers_is_enough(void **state)
{
    struct fake *fake = *state;

    fake_close(&fake->redis[0]);
    lower = upper = fake->redis[1].port;
    fake->redis[1].answer = answer;
    fake_open_ready(fake, CLUSTER);
    assert_int_equal(ask_who(fake, 0), upper);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_slot_has_its_master),
        CASE(masters_can_be_asked_each),
        CASE(moved_is_followed_remembered_and_the_map_read_anew),
        CASE(ask_is_followed_this_once),
        CASE(redirects_in_a_circle_end_with_the_time),
        CASE(a_slot_that_moves_too_long_is_busy_and_not_hammered),
        CASE(a_master_that_is_lost_is_replaced_within_the_time),
        CASE(what_a_replaced_master_owes_is_unknown),
        CASE(a_request_for_one_node_goes_there_or_nowhere),
        CASE(a_server_that_is_no_cluster_is_said_to_be_none_at_once),
        CASE(one_of_the_urls_hosts_that_answers_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
