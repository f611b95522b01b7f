/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that hears of a failover by what sentinels announce. When they are polled these name the
 * first master for ever, so that nothing but an announcement can lead to another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis_fake.h"

/* redis[0] and redis[1] are sentinels, redis[2] and redis[3] servers; the first of these is the
 * master at the beginning. */
#define SENTINELS "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u/mymaster"

static uint16_t polled;                       /* whom a sentinel names that is polled */
static struct fake_session *subscribers[2];   /* of each sentinel; NULL: none */
static unsigned queries[2], subscriptions[2]; /* how many each sentinel got */

static const char *be_sentinel(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command, size_t index)
{
    char port[8];

    if (fake_is(command, "SUBSCRIBE")) {
        assert_string_equal(command->element[1]->str, "+switch-master");
        subscribers[index] = session;
        subscriptions[index]++;
        return "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n";
    }
    assert_string_equal(command->element[0]->str, "SENTINEL");
    queries[index]++;
    snprintf(port, sizeof port, "%u", polled);
    snprintf(redis->said, sizeof redis->said, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n",
             strlen(port), port);
    return redis->said;
}

static const char *be_first(struct fake_redis *redis, struct fake_session *session,
                            const redisReply *command)
{
    return be_sentinel(redis, session, command, 0);
}

static const char *be_second(struct fake_redis *redis, struct fake_session *session,
                             const redisReply *command)
{
    return be_sentinel(redis, session, command, 1);
}

static const char *say_port(struct fake_redis *redis, struct fake_session *session,
                            const redisReply *command)
{
    (void)session;
    (void)command;
    snprintf(redis->said, sizeof redis->said, ":%u\r\n", redis->port);
    return redis->said;
}

static bool all_are_subscribed(void *context)
{
    (void)context;
    return subscribers[0] != NULL && subscribers[1] != NULL;
}

static void begin_with(struct fake *fake, const char *url)
{
    memset(subscribers, 0, sizeof subscribers);
    memset(queries, 0, sizeof queries);
    memset(subscriptions, 0, sizeof subscriptions);
    fake->redis[0].answer = be_first;
    fake->redis[1].answer = be_second;
    fake->redis[2].answer = fake->redis[3].answer = say_port;
    polled = fake->redis[2].port;
    fake_open_ready(fake, url);
    fake_until(fake, all_are_subscribed, NULL);
}

static void begin(struct fake *fake)
{
    begin_with(fake, SENTINELS);
}

static void announce(size_t index, const char *text)
{
    char said[700];
    int size = snprintf(said, sizeof said,
                        "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s\r\n",
                        strlen(text), text);

    fake_say(subscribers[index], said, (size_t)size);
}

/* From the first server to the second, or back. */
static void announce_switch(const struct fake *fake, size_t index, const char *name, bool back)
{
    char text[128];

    snprintf(text, sizeof text, "%s 127.0.0.1 %u 127.0.0.1 %u", name,
             fake->redis[back ? 3 : 2].port, fake->redis[back ? 2 : 3].port);
    announce(index, text);
}

/* It may be in flight when the master changes: it is sent again then. */
static uint16_t ask_who(struct fake *fake)
{
    struct fake_call call = {.request = {.slot = 77, .repeatable = true}};

    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
    return (uint16_t)call.integer;
}

static bool second_answers(void *context)
{
    return ask_who(context) == ((const struct fake *)context)->redis[3].port;
}

static bool first_answers(void *context)
{
    return ask_who(context) == ((const struct fake *)context)->redis[2].port;
}

static bool second_is_asked(void *context)
{
    return ((const struct fake *)context)->redis[3].connections > 1;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_failover_is_followed_as_it_is_announced(void **state)
{
    struct fake *fake = *state;

    begin(fake);
    assert_int_equal(ask_who(fake), fake->redis[2].port);
    announce_switch(fake, 1, "mymaster", false);
    fake_until(fake, second_answers, fake);
}

static bool is_polled_enough(void *context)
{
    return queries[0] + queries[1] >= *(unsigned *)context;
}

/* Those who have not heard of it go on naming the old master, which may still take itself for
 * one. */
static void an_outdated_answer_does_not_lead_back(void **state)
{
    struct fake *fake = *state;

    begin(fake);
    announce_switch(fake, 1, "mymaster", false);
    fake_until(fake, second_answers, fake);
    unsigned enough = queries[0] + queries[1] + 3;
    fake_until(fake, is_polled_enough, &enough);
    assert_int_equal(ask_who(fake), fake->redis[3].port);
    assert_int_equal(fake->redis[2].connections, 1);
}

static void a_second_failover_leads_back(void **state)
{
    struct fake *fake = *state;

    begin(fake);
    announce_switch(fake, 1, "mymaster", false);
    fake_until(fake, second_answers, fake);
    polled = fake->redis[3].port;
    announce_switch(fake, 0, "mymaster", true);
    fake_until(fake, first_answers, fake);
}

static void announcements_of_others_and_what_is_none_are_ignored(void **state)
{
    static const char *const texts[] = {
        "",
        "mymaster",
        "mymaster ",
        "mymaster 127.0.0.1 1",
        "mymaster 127.0.0.1 1 127.0.0.1",
        "mymaster 127.0.0.1 1 127.0.0.1 0",
        "mymaster 127.0.0.1 1 127.0.0.1 65536",
        "mymaster 127.0.0.1 1 127.0.0.1 2 3",
        "mymaster 127.0.0.1 1 127.0.0.1 2 ",
        "mymaster 127.0.0.1 x 127.0.0.1 2",
        "mymaster 127.0.0.1 1  2",
        " mymaster 127.0.0.1 1 127.0.0.1 2",
    };
    struct fake *fake = *state;
    char longest[400] = "mymaster 127.0.0.1 1 ";

    begin(fake);
    announce_switch(fake, 0, "mymaster2", false);
    announce_switch(fake, 0, "mymaste", false);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        announce(0, texts[i]);
    }
    memset(longest + 21, 'h', 256); /* cut off, it would be another host */
    strcpy(longest + 21 + 256, " 1");
    announce(0, longest);
    fake_turn_for(fake, 100);
    assert_int_equal(ask_who(fake), fake->redis[2].port);
    assert_int_equal(fake->redis[3].connections, 0);
    announce_switch(fake, 0, "mymaster", false); /* it still listens */
    fake_until(fake, second_answers, fake);
}

static void who_is_announced_is_asked_for_its_role_before_anything_is_sent(void **state)
{
    struct fake *fake = *state;

    begin(fake);
    fake->redis[3].role = "slave";
    announce_switch(fake, 0, "mymaster", false);
    fake_until(fake, second_is_asked, fake); /* more than once */
    assert_int_equal(ask_who(fake), fake->redis[2].port);
    assert_int_equal(fake->redis[3].commands, 0);
    fake->redis[3].role = NULL;
    fake_until(fake, second_answers, fake);
}

static bool is_subscribed_again(void *context)
{
    (void)context;
    return subscriptions[0] > 1 && subscriptions[1] > 1;
}

static void a_subscription_that_breaks_is_made_again(void **state)
{
    struct fake *fake = *state;

    begin(fake);
    fake_hang_up(&fake->redis[0]);
    fake_hang_up(&fake->redis[1]);
    fake_until(fake, is_subscribed_again, NULL);
    announce_switch(fake, 0, "mymaster", false);
    fake_until(fake, second_answers, fake);
}

/* What was announced in between was missed. */
static void sentinels_are_polled_when_a_subscription_was_made_again(void **state)
{
    struct fake *fake = *state;

    begin(fake);
    polled = fake->redis[3].port;
    fake_hang_up(&fake->redis[0]);
    fake_hang_up(&fake->redis[1]);
    fake_until(fake, is_subscribed_again, NULL);
    unsigned enough = queries[0] + queries[1] + 1;
    fake_until(fake, is_polled_enough, &enough);
    fake_until(fake, second_answers, fake);
}

static void every_sentinel_is_given_its_password(void **state)
{
    struct fake *fake = *state;

    begin_with(fake, "redis+sentinel://:secret@127.0.0.1:%u,127.0.0.1:%u/mymaster"
                     "?sentinel_user=watch&sentinel_password=shh");
    for (size_t i = 0; i < 2; i++) {
        assert_true(subscribers[i]->authenticated);
        assert_string_equal(fake->redis[i].auth, "AUTH watch shh");
    }
    assert_string_equal(fake->redis[2].auth, "AUTH secret");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_failover_is_followed_as_it_is_announced),
        CASE(an_outdated_answer_does_not_lead_back),
        CASE(a_second_failover_leads_back),
        CASE(announcements_of_others_and_what_is_none_are_ignored),
        CASE(who_is_announced_is_asked_for_its_role_before_anything_is_sent),
        CASE(a_subscription_that_breaks_is_made_again),
        CASE(sentinels_are_polled_when_a_subscription_was_made_again),
        CASE(every_sentinel_is_given_its_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
