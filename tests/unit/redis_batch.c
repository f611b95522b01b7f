/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of one scope that travel together: which do, in which order, and what comes of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/batch.h"
#include "redis_fake.h"

#define ONE "redis://127.0.0.1:%u"
#define MANY 8

/* A call of a script with one key in common, one of its own and one argument. */
static void send_call(struct fake *fake, struct fake_call *call, const char *script,
                      const char *scope, const char *id)
{
    char words[FAKE_TEXT_SIZE];

    call->request.script = script_find(script);
    call->request.slot = -1;
    call->request.scope = hf_text(scope);
    snprintf(words, sizeof words, "EVALSHA %s 2 due:%s key:%s %s", call->request.script->sha1,
             scope, id, id);
    call->request.keys_at = strlen("*6\r\n$7\r\nEVALSHA\r\n$40\r\n\r\n$1\r\n2\r\n") + 40;
    size_t keys = strlen("due:") + strlen(scope) + strlen("key:") + strlen(id);
    call->request.args_at = call->request.keys_at + keys + 2 * strlen("$5\r\n\r\n");
    call->request.key_count = 2;
    call->request.arg_count = 1;
    fake_send(fake, call, words); /* words are short: the size of each is one digit */
}

static void send_all(struct fake *fake, struct fake_call *calls, size_t count)
{
    char id[16];

    for (size_t i = 0; i < count; i++) {
        snprintf(id, sizeof id, "b%zu", i);
        send_call(fake, &calls[i], "confirm_booking", "gala", id);
    }
}

static bool is_batch(const redisReply *command)
{
    return strcmp(command->element[1]->str, script_find("seats_batch")->sha1) == 0;
}

/* Every item of a batch is answered with its number, and a single call with 100. */
static const char *count_items(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command)
{
    (void)session;
    if (!is_batch(command)) {
        return ":100\r\n";
    }
    size_t keys = (size_t)strtoul(command->element[2]->str, NULL, 10);
    size_t count = command->element[3 + keys + 1]->len;
    int size = snprintf(redis->said, sizeof redis->said, "*%zu\r\n", 2 * count);
    for (size_t i = 0; i < count; i++) {
        size += snprintf(redis->said + size, sizeof redis->said - (size_t)size, ":-1\r\n:%zu\r\n",
                         i + 1);
    }
    return redis->said;
}

/* ---- who travels together -------------------------------------------------------------------- */

static void requests_of_one_turn_travel_together(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[MANY] = {0};

    fake->redis[0].answer = count_items;
    fake_open_ready(fake, ONE);
    send_all(fake, calls, MANY);
    for (size_t i = 0; i < MANY; i++) {
        fake_until_done(fake, &calls[i]);
        assert_int_equal(calls[i].fate, REDIS_ANSWERED);
        assert_int_equal(calls[i].integer, i + 1);
    }
    assert_int_equal(fake->redis[0].commands, 1);
    assert_int_equal(redis_client_figures(fake->client)->batches, 1);
    assert_int_equal(redis_client_figures(fake->client)->batched, MANY);
}

static void one_alone_goes_as_it_is(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {0};

    fake->redis[0].answer = count_items;
    fake_open_ready(fake, ONE);
    send_all(fake, &call, 1);
    fake_until_done(fake, &call);
    assert_int_equal(call.integer, 100);
}

static void other_scopes_and_scripts_without_a_batch_go_apart(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[4] = {0};

    fake->redis[0].answer = count_items;
    fake_open_ready(fake, ONE);
    send_call(fake, &calls[0], "confirm_booking", "gala", "a");
    send_call(fake, &calls[1], "confirm_booking", "ball", "b");
    send_call(fake, &calls[2], "open_zone", "gala", "c");
    send_call(fake, &calls[3], "release_seats", "ball", "d");
    for (size_t i = 0; i < 4; i++) {
        fake_until_done(fake, &calls[i]);
    }
    assert_int_equal(calls[0].integer, 100);
    assert_int_equal(calls[1].integer, 1); /* with the release of the same event */
    assert_int_equal(calls[2].integer, 100);
    assert_int_equal(calls[3].integer, 2);
}

static const char *note_order(struct fake_redis *redis, struct fake_session *session,
                              const redisReply *command)
{
    bool opens = strcmp(command->element[1]->str, script_find("open_zone")->sha1) == 0;

    strcat(redis->log, opens ? "open " : is_batch(command) ? "batch " : "alone ");
    return count_items(redis, session, command);
}

static void none_overtakes_another_of_its_scope(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[5] = {0};

    fake->redis[0].answer = note_order;
    fake_open_ready(fake, ONE);
    fake->redis[0].log[0] = '\0';
    send_call(fake, &calls[0], "confirm_booking", "gala", "a");
    send_call(fake, &calls[1], "release_seats", "gala", "a");
    send_call(fake, &calls[2], "open_zone", "gala", "z");
    send_call(fake, &calls[3], "confirm_booking", "gala", "b");
    fake_until_done(fake, &calls[3]);
    assert_non_null(strstr(fake->redis[0].log, "batch"));
    assert_true(strstr(fake->redis[0].log, "batch") < strstr(fake->redis[0].log, "open"));
    assert_true(strstr(fake->redis[0].log, "open") < strstr(fake->redis[0].log, "alone"));
    fake_until_done(fake, &calls[2]);
}

/* ---- what becomes of each -------------------------------------------------------------------- */

static const char *answer_half(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command)
{
    (void)redis;
    (void)session;
    (void)command;
    return "*6\r\n:2\r\n:1\r\n:8\r\n:-1\r\n-OOM no memory\r\n:-1\r\n";
}

static void an_answer_of_the_wrong_length_answers_none(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[3] = {0};

    fake->redis[0].answer = answer_half; /* its third reply is missing */
    fake_open_ready(fake, ONE);
    send_all(fake, calls, 3);
    for (size_t i = 0; i < 3; i++) {
        fake_until_done(fake, &calls[i]);
        assert_int_equal(calls[i].fate, REDIS_ANSWERED);
        assert_non_null(strstr(calls[i].message, "no answer to it"));
    }
}

static const char *answer_alike(struct fake_redis *redis, struct fake_session *session,
                                const redisReply *command)
{
    (void)session;
    (void)command;
    return redis->said;
}

/* What three items are answered if all of them are answered this. */
static void are_answered(struct fake *fake, const char *resp, const char *const answers[3])
{
    struct fake_call calls[3] = {0};

    snprintf(fake->redis[0].said, sizeof fake->redis[0].said, "%s", resp);
    send_all(fake, calls, 3);
    for (size_t i = 0; i < 3; i++) {
        fake_until_done(fake, &calls[i]);
        assert_int_equal(calls[i].fate, REDIS_ANSWERED);
        assert_non_null(strstr(calls[i].message, answers[i]));
    }
}

static void an_answer_may_tell_only_what_is_different_in_it(void **state)
{
    static const char *const none[] = {"no answer to it", "no answer to it", "no answer to it"};
    struct fake *fake = *state;

    fake->redis[0].answer = answer_alike;
    fake_open_ready(fake, ONE);
    are_answered(fake,
                 "*12\r\n:5\r\n:1\r\n:9\r\n:2\r\n:70\r\n:80\r\n:-2\r\n:8\r\n:3\r\n"
                 ":-2\r\n:7\r\n:1\r\n",
                 (const char *const[]){"1 9 2 70 80", "1 8 3 70 80", "1 7 1 70 80"});
    /* From nothing; from one of another length; from none; and without its second element. */
    are_answered(fake, "*9\r\n:-2\r\n:8\r\n:3\r\n:-2\r\n:8\r\n:3\r\n:-2\r\n:7\r\n:1\r\n", none);
    are_answered(fake, "*8\r\n:1\r\n:9\r\n:-2\r\n:8\r\n:3\r\n:-2\r\n:7\r\n:1\r\n", none);
    are_answered(fake, "*8\r\n:-1\r\n:9\r\n:-2\r\n:8\r\n:3\r\n:-2\r\n:7\r\n:1\r\n", none);
    are_answered(fake,
                 "*11\r\n:5\r\n:1\r\n:9\r\n:2\r\n:70\r\n:80\r\n:-2\r\n:8\r\n:3\r\n"
                 ":-2\r\n:7\r\n",
                 none);
}

static const char *answer_two(struct fake_redis *redis, struct fake_session *session,
                              const redisReply *command)
{
    (void)redis;
    (void)session;
    (void)command;
    return "*5\r\n:2\r\n:1\r\n:8\r\n:-1\r\n-OOM no memory\r\n";
}

static void a_refused_item_refuses_no_other(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[2] = {0};

    fake->redis[0].answer = answer_two;
    fake_open_ready(fake, ONE);
    send_all(fake, calls, 2);
    fake_until_done(fake, &calls[1]);
    fake_until_done(fake, &calls[0]);
    assert_int_equal(calls[0].fate, REDIS_ANSWERED);
    assert_int_equal(calls[1].fate, REDIS_NOT_DONE);
    assert_int_equal(calls[1].code, HF_BUSY);
}

static const char *lose_batch(struct fake_redis *redis, struct fake_session *session,
                              const redisReply *command)
{
    (void)command;
    (void)session;
    fake_hang_up(redis);
    return NULL;
}

static void the_outcome_of_all_is_unknown_when_the_connection_breaks(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[MANY] = {0};

    fake->redis[0].answer = lose_batch;
    fake_open_ready(fake, ONE);
    send_all(fake, calls, MANY);
    for (size_t i = 0; i < MANY; i++) {
        fake_until_done(fake, &calls[i]);
        assert_int_equal(calls[i].fate, REDIS_UNKNOWN);
        assert_int_equal(calls[i].code, HF_TIMEOUT);
    }
}

static const char *forget_once(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command)
{
    return redis->commands == 1 ? "-NOSCRIPT No matching script.\r\n"
                                : count_items(redis, session, command);
}

static void a_script_that_is_missing_is_loaded_and_called_again(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[3] = {0};

    fake->redis[0].answer = forget_once;
    fake_open_ready(fake, ONE);
    send_all(fake, calls, 3);
    for (size_t i = 0; i < 3; i++) {
        fake_until_done(fake, &calls[i]);
        assert_int_equal(calls[i].integer, i + 1);
    }
    assert_int_equal(fake->redis[0].loads, script_count + 3);
}

/* ---- what is held back ----------------------------------------------------------------------- */

static const char *say_nothing(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command)
{
    (void)redis;
    (void)session;
    (void)command;
    return NULL;
}

static void what_was_held_back_was_not_sent_when_its_time_is_over(void **state)
{
    struct fake *fake = *state;
    static struct fake_call calls[BATCH_CALLS_MAX]; /* answered when the client is closed */
    struct fake_call late = {.request = {.timeout_ms = 60}};
    char id[16];

    fake->redis[0].answer = say_nothing;
    fake_open_ready(fake, ONE);
    for (unsigned i = 0; i < BATCH_CALLS_MAX; i++) { /* a turn each, so that each is a call */
        snprintf(id, sizeof id, "b%u", i);
        send_call(fake, &calls[i], "confirm_booking", "gala", id);
        fake_turn_for(fake, 1);
    }
    assert_int_equal(fake->redis[0].commands, BATCH_CALLS_MAX);
    send_call(fake, &late, "confirm_booking", "gala", "late");
    fake_until_done(fake, &late);
    assert_int_equal(late.fate, REDIS_NOT_DONE);
    assert_int_equal(late.code, HF_ENGINE_DOWN);
    assert_int_equal(fake->redis[0].commands, BATCH_CALLS_MAX);
}

static void a_full_batch_waits_for_nothing(void **state)
{
    struct fake *fake = *state;
    static struct fake_call calls[BATCH_CALLS_MAX], more[BATCH_MAX];
    char id[16];

    fake->redis[0].answer = say_nothing;
    fake_open_ready(fake, ONE);
    for (unsigned i = 0; i < BATCH_CALLS_MAX; i++) {
        snprintf(id, sizeof id, "a%u", i);
        send_call(fake, &calls[i], "confirm_booking", "gala", id);
        fake_turn_for(fake, 1);
    }
    send_all(fake, more, BATCH_MAX - 1);
    fake_turn_for(fake, 20);
    assert_int_equal(fake->redis[0].commands, BATCH_CALLS_MAX);
    send_call(fake, &more[BATCH_MAX - 1], "confirm_booking", "gala", "last");
    fake_turn_for(fake, 20);
    assert_int_equal(fake->redis[0].commands, BATCH_CALLS_MAX + 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(requests_of_one_turn_travel_together),
        CASE(one_alone_goes_as_it_is),
        CASE(other_scopes_and_scripts_without_a_batch_go_apart),
        CASE(none_overtakes_another_of_its_scope),
        CASE(an_answer_of_the_wrong_length_answers_none),
        CASE(an_answer_may_tell_only_what_is_different_in_it),
        CASE(a_refused_item_refuses_no_other),
        CASE(the_outcome_of_all_is_unknown_when_the_connection_breaks),
        CASE(a_script_that_is_missing_is_loaded_and_called_again),
        CASE(what_was_held_back_was_not_sent_when_its_time_is_over),
        CASE(a_full_batch_waits_for_nothing),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
