/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that polls sentinels for the master, and one that is subscribed to a channel. These
 * sentinels announce nothing; those of redis_sentinel_channel.c do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis_fake.h"

/* redis[0] and redis[1] are sentinels, redis[2] and redis[3] servers. */
#define SENTINELS "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u/mymaster"

static uint16_t master; /* whom the sentinels name; 0: nobody */
static bool wants_password;

static const char *name_master(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command)
{
    char port[8];

    (void)session;
    if (fake_is(command, "SUBSCRIBE")) {
        return "-NOPERM this user has no permissions to run the 'subscribe' command\r\n";
    }
    assert_string_equal(command->element[0]->str, "SENTINEL");
    assert_string_equal(command->element[2]->str, "mymaster");
    if (wants_password) {
        wants_password = false;
        return "-NOAUTH Authentication required.\r\n";
    }
    if (master == 0) {
        return "*-1\r\n";
    }
    snprintf(port, sizeof port, "%u", master);
    snprintf(redis->said, sizeof redis->said, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n",
             strlen(port), port);
    return redis->said;
}

static const char *say_port(struct fake_redis *redis, struct fake_session *session,
                            const redisReply *command)
{
    (void)session;
    if (fake_is(command, "SLOW")) {
        return NULL;
    }
    if (fake_is(command, "SUBSCRIBE")) {
        return "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n";
    }
    snprintf(redis->said, sizeof redis->said, ":%u\r\n", redis->port);
    return redis->said;
}

static void prepare(struct fake *fake)
{
    wants_password = false;
    fake->redis[0].answer = fake->redis[1].answer = name_master;
    fake->redis[2].answer = fake->redis[3].answer = say_port;
    master = fake->redis[2].port;
}

static void begin(struct fake *fake)
{
    prepare(fake);
    fake_open_ready(fake, SENTINELS);
}

static uint16_t ask_who(struct fake *fake)
{
    struct fake_call call = {.request = {.slot = 77}};

    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
    return (uint16_t)call.integer;
}

static void the_master_that_is_named_is_used(void **state)
{
    begin(*state);
    assert_int_equal(ask_who(*state), master);
}

static void sentinels_that_are_away_are_passed_over(void **state)
{
    struct fake *fake = *state;

    fake_close(&fake->redis[0]);
    begin(fake);
    assert_int_equal(ask_who(fake), master);
}

static void a_sentinel_may_want_the_password(void **state)
{
    struct fake *fake = *state;

    prepare(fake);
    wants_password = true;
    fake_open_ready(fake, "redis+sentinel://:secret@127.0.0.1:%u,127.0.0.1:%u/mymaster");
    assert_string_equal(fake->redis[0].auth, "AUTH secret");
}

static void sentinels_may_have_a_password_of_their_own(void **state)
{
    struct fake *fake = *state;

    prepare(fake);
    fake_open_ready(fake, "redis+sentinel://ann:secret@127.0.0.1:%u,127.0.0.1:%u/mymaster"
                          "?sentinel_user=watch&sentinel_password=sh%%40h");
    assert_string_equal(fake->redis[0].auth, "AUTH watch sh@h");
    assert_string_equal(fake->redis[2].auth, "AUTH ann secret");
}

static void a_password_may_be_the_sentinels_alone(void **state)
{
    struct fake *fake = *state;

    prepare(fake);
    fake_open_ready(fake, SENTINELS "?sentinel_password=shh");
    assert_string_equal(fake->redis[0].auth, "AUTH shh");
    assert_string_equal(fake->redis[2].auth, "");
}

static bool is_ready(void *context)
{
    return ((struct fake *)context)->ready;
}

static void a_master_that_nobody_knows_is_said(void **state)
{
    struct fake *fake = *state;

    prepare(fake);
    master = 0;
    fake_open(fake, SENTINELS "?connect_timeout=1000");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(fake->problem.message, "no master mymaster"));
}

static const char *name_long_host(struct fake_redis *redis, struct fake_session *session,
                                  const redisReply *command)
{
    static char said[320] = "*2\r\n$256\r\n";

    (void)redis;
    (void)session;
    (void)command;
    memset(said + 10, 'h', 256);
    strcpy(said + 10 + 256, "\r\n$4\r\n6379\r\n");
    return said;
}

/* Cut to what there is room for, it would be another host. */
static void a_master_whose_host_does_not_fit_is_none(void **state)
{
    struct fake *fake = *state;

    prepare(fake);
    fake->redis[0].answer = fake->redis[1].answer = name_long_host;
    fake_open(fake, SENTINELS "?connect_timeout=1000");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(fake->problem.message, "no master mymaster"));
}

static void who_says_it_is_a_replica_is_not_used(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = 1}};

    prepare(fake);
    fake->redis[2].role = "slave";
    fake_open(fake, SENTINELS);
    fake_send(fake, &call, "INCR a");
    fake_turn_for(fake, 300);
    assert_int_equal(call.done, 0);
    assert_int_equal(fake->redis[2].commands, 0);
    fake->redis[2].role = NULL;
    fake_until_done(fake, &call);
    assert_int_equal(call.integer, master);
}

static void a_failover_is_followed_though_the_old_master_answers(void **state)
{
    struct fake *fake = *state;
    struct fake_call owed = {.request = {.slot = 1, .timeout_ms = 60000}};

    begin(fake);
    fake_send(fake, &owed, "SLOW");
    fake_turn_for(fake, 20);
    master = fake->redis[3].port;
    fake_until_done(fake, &owed);
    assert_int_equal(owed.fate, REDIS_UNKNOWN);
    assert_int_equal(ask_who(fake), master);
}

static void a_failover_is_followed_when_the_old_master_is_gone(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = 1}};

    begin(fake);
    fake_close(&fake->redis[2]);
    fake_hang_up(&fake->redis[2]);
    fake_turn_for(fake, 20);
    fake_send(fake, &call, "INCR a");
    fake_turn_for(fake, 100);
    assert_int_equal(call.done, 0);
    master = fake->redis[3].port;
    fake_until_done(fake, &call);
    assert_int_equal(call.integer, master);
}

/* ---- a channel ------------------------------------------------------------------------------- */

struct channel {
    unsigned again, messages;
    char last[32];
};

static void hear(void *context, struct hf_bytes payload)
{
    struct channel *channel = context;

    channel->messages++;
    snprintf(channel->last, sizeof channel->last, "%.*s", (int)payload.size, payload.data);
}

static void stand_again(void *context)
{
    ((struct channel *)context)->again++;
}

static bool stands(void *context)
{
    return ((struct channel *)context)->again > 0;
}

static bool stands_twice(void *context)
{
    return ((struct channel *)context)->again > 1;
}

static bool heard(void *context)
{
    return ((struct channel *)context)->messages > 0;
}

/* Says it to everybody who is connected last: that is the subscriber. */
static void publish(struct fake_redis *redis)
{
    static const char said[] = "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n";
    struct fake_session *last = NULL;

    for (size_t i = 0; i < FAKE_SESSIONS_MAX; i++) {
        last = redis->sessions[i].redis != NULL ? &redis->sessions[i] : last;
    }
    assert_non_null(last);
    fake_say(last, said, sizeof said - 1);
}

static void messages_come_and_the_subscription_moves_with_the_master(void **state)
{
    struct fake *fake = *state;
    struct channel channel = {.again = 0};

    begin(fake);
    redis_client_subscribe(fake->client, "news", hear, stand_again, &channel);
    fake_until(fake, stands, &channel);
    publish(&fake->redis[2]);
    fake_until(fake, heard, &channel);
    assert_string_equal(channel.last, "hello");

    channel.messages = 0;
    master = fake->redis[3].port;
    fake_until(fake, stands_twice, &channel);
    publish(&fake->redis[3]);
    fake_until(fake, heard, &channel);
}

static void a_subscription_that_breaks_is_made_again(void **state)
{
    struct fake *fake = *state;
    struct channel channel = {.again = 0};

    fake->redis[2].answer = say_port;
    fake->redis[0].port = fake->redis[2].port;
    fake_open_ready(fake, "redis://127.0.0.1:%u");
    redis_client_subscribe(fake->client, "news", hear, stand_again, &channel);
    fake_until(fake, stands, &channel);
    fake_hang_up(&fake->redis[2]);
    fake_until(fake, stands_twice, &channel);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_master_that_is_named_is_used),
        CASE(sentinels_that_are_away_are_passed_over),
        CASE(a_sentinel_may_want_the_password),
        CASE(sentinels_may_have_a_password_of_their_own),
        CASE(a_password_may_be_the_sentinels_alone),
        CASE(a_master_that_nobody_knows_is_said),
        CASE(a_master_whose_host_does_not_fit_is_none),
        CASE(who_says_it_is_a_replica_is_not_used),
        CASE(a_failover_is_followed_though_the_old_master_answers),
        CASE(a_failover_is_followed_when_the_old_master_is_gone),
        CASE(messages_come_and_the_subscription_moves_with_the_master),
        CASE(a_subscription_that_breaks_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
