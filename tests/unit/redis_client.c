/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of a server alone: coming in, what becomes of requests, and the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis_fake.h"

#define ONE "redis://127.0.0.1:%u"

static bool is_ready(void *context)
{
    return ((struct fake *)context)->ready;
}

static const char *say_seven(struct fake_redis *redis, struct fake_session *session,
                             const redisReply *command)
{
    (void)redis;
    (void)session;
    (void)command;
    return ":7\r\n";
}

/* ---- coming in ------------------------------------------------------------------------------- */

static void a_client_is_ready_when_it_was_let_in(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    fake->redis[0].answer = say_seven;
    fake_open_ready(fake, "redis://:secret@127.0.0.1:%u/3");
    assert_int_equal(fake->redis[0].loads, script_count + 1);
    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
    assert_int_equal(call.integer, 7);
}

static void names_are_looked_up(void **state)
{
    fake_open_ready(*state, "redis://localhost:%u");
}

static void nobody_there_is_said_after_the_connect_timeout(void **state)
{
    struct fake *fake = *state;

    fake_close(&fake->redis[0]);
    fake_open(fake, ONE "?connect_timeout=1000");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(fake->problem.message, "cannot reach redis 127.0.0.1:"));
    assert_non_null(strstr(fake->problem.message, "connection refused"));
}

static void a_server_that_speaks_tls_is_recognised(void **state)
{
    struct fake *fake = *state;

    fake->redis[0].refuses = "\x15\x03\x01"; /* an alert, or the beginning of it */
    fake_open(fake, "redis://127.0.0.1:%u?connect_timeout=1000");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(fake->problem.message, "it speaks TLS: use rediss://"));
}

static void a_server_without_tls_is_not_waited_for_longer_than_the_timeout(void **state)
{
    struct fake *fake = *state;

    fake->redis[0].silent = true;
    fake_open(fake, "rediss://127.0.0.1:%u?connect_timeout=200");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(fake->problem.message, "no answer to the TLS handshake within 200 ms"));
}

static void a_wrong_password_is_said_at_once_and_fails_requests_at_once(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    fake->redis[0].refuses = "-WRONGPASS invalid username-password pair\r\n";
    fake_open(fake, "redis://:secret@127.0.0.1:%u?connect_timeout=60000&timeout=60000");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(fake->problem.message, "WRONGPASS"));
    assert_null(strstr(fake->problem.message, "secret"));
    fake_send(fake, &call, "GET a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_NOT_DONE);
    assert_int_equal(call.code, HF_ENGINE_DOWN);
}

static void a_server_that_loads_its_data_is_waited_for(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    fake->redis[0].refuses = "-LOADING Redis is loading the dataset in memory\r\n";
    fake_open(fake, ONE);
    fake_send(fake, &call, "GET a");
    fake_turn_for(fake, 100);
    assert_false(fake->ready);
    assert_int_equal(call.done, 0);
    fake->redis[0].refuses = NULL;
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
}

static void one_that_does_not_stop_loading_is_said_to_be(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1, .timeout_ms = 1000}};

    fake->redis[0].refuses = "-LOADING Redis is loading the dataset in memory\r\n";
    fake_open(fake, ONE);
    fake_send(fake, &call, "GET a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_NOT_DONE);
    assert_int_equal(call.code, HF_LOADING);
}

static bool is_tried_again(void *context)
{
    return ((struct fake *)context)->redis[0].connections > 1;
}

static void a_server_that_accepts_and_says_nothing_is_given_up(void **state)
{
    struct fake *fake = *state;

    fake->redis[0].silent = true;
    fake_open(fake, ONE "?connect_timeout=100");
    fake_until(fake, is_ready, fake);
    assert_int_equal(fake->problem.code, HF_ENGINE_DOWN);
    fake_until(fake, is_tried_again, fake);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void without_a_connection_a_request_is_not_done_when_its_time_is_over(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1, .timeout_ms = 500}};

    fake_close(&fake->redis[0]);
    fake_open(fake, ONE);
    uint64_t start_ms = uv_now(&fake->loop);
    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_in_range(uv_now(&fake->loop) - start_ms, 500, 10000);
    assert_int_equal(call.fate, REDIS_NOT_DONE);
    assert_int_equal(call.code, HF_ENGINE_DOWN);
    assert_non_null(strstr(call.message, "connection refused"));
}

static const char *say_later(struct fake_redis *redis, struct fake_session *session,
                             const redisReply *command)
{
    (void)redis;
    (void)session;
    return fake_is(command, "SLOW") ? NULL : ":8\r\n";
}

static void an_answer_that_does_not_come_in_time_is_unknown_and_swallowed_later(void **state)
{
    struct fake *fake = *state;
    struct fake_call slow = {.request = {.slot = -1, .timeout_ms = 50}};
    struct fake_call next = {.request = {.slot = -1}};

    fake->redis[0].answer = say_later;
    fake_open_ready(fake, ONE);
    uint64_t start_ms = uv_now(&fake->loop);
    fake_send(fake, &slow, "SLOW");
    fake_until_done(fake, &slow);
    assert_in_range(uv_now(&fake->loop) - start_ms, 50, 10000);
    assert_int_equal(slow.fate, REDIS_UNKNOWN);
    assert_int_equal(slow.code, HF_TIMEOUT);
    assert_non_null(strstr(slow.message, "outcome unknown: "));
    assert_non_null(strstr(slow.message, "same id"));
    /* The answer comes, and is not taken for that of the next. */
    memset(&slow, 0xaa, sizeof slow);
    fake_say(&fake->redis[0].sessions[0], ":1\r\n", 4);
    fake_send(fake, &next, "QUICK");
    fake_until_done(fake, &next);
    assert_int_equal(next.integer, 8);
    assert_int_equal(fake->redis[0].connections, 1);
}

static void a_connection_that_is_silent_for_a_whole_timeout_is_made_anew(void **state)
{
    struct fake *fake = *state;
    struct fake_call write = {.request = {.slot = -1, .timeout_ms = 500}};
    struct fake_call read = {.request = {.slot = -1, .timeout_ms = 5000, .repeatable = true}};
    struct fake_call other = {.request = {.slot = -1, .timeout_ms = 5000}};

    fake->redis[0].answer = say_later;
    fake_open_ready(fake, ONE "?timeout=500");
    fake->redis[0].silent = true;
    fake_send(fake, &write, "INCR a");
    fake_send(fake, &read, "GET a");
    fake_send(fake, &other, "INCR b");
    fake_until_done(fake, &write);
    assert_int_equal(write.fate, REDIS_UNKNOWN);
    fake->redis[0].silent = false;
    fake_until_done(fake, &other);
    assert_int_equal(other.fate, REDIS_UNKNOWN);
    fake_until_done(fake, &read);
    assert_int_equal(read.fate, REDIS_ANSWERED);
    assert_int_equal(fake->redis[0].connections, 2);
}

/* ---- a connection that breaks ---------------------------------------------------------------- */

static const char *hang_up_first(struct fake_redis *redis, struct fake_session *session,
                                 const redisReply *command)
{
    (void)session;
    (void)command;
    if (redis->connections == 1) {
        fake_hang_up(redis);
    }
    return ":9\r\n";
}

static void what_was_sent_and_may_not_be_repeated_is_unknown_at_once(void **state)
{
    struct fake *fake = *state;
    struct fake_call write = {.request = {.slot = -1, .timeout_ms = 60000}};
    struct fake_call read = {.request = {.slot = -1, .repeatable = true}};

    fake->redis[0].answer = hang_up_first;
    fake_open_ready(fake, ONE);
    fake_send(fake, &write, "INCR a");
    fake_send(fake, &read, "GET a");
    fake_until_done(fake, &write);
    assert_int_equal(write.fate, REDIS_UNKNOWN);
    assert_int_equal(write.code, HF_TIMEOUT);
    fake_until_done(fake, &read);
    assert_int_equal(read.fate, REDIS_ANSWERED);
    assert_int_equal(read.integer, 9);
    assert_string_equal(fake->redis[0].log, "INCR GET ");
    assert_int_equal(redis_client_figures(fake->client)->unknown, 1);
}

static const char *say_half(struct fake_redis *redis, struct fake_session *session,
                            const redisReply *command)
{
    (void)command;
    if (redis->connections > 1) {
        return ":9\r\n";
    }
    uv_buf_t half = uv_buf_init("*2\r\n:1\r\n$5\r\nhal", 15);
    uv_try_write((uv_stream_t *)&session->tcp, &half, 1);
    fake_hang_up(redis);
    return NULL;
}

static void half_an_answer_is_none(void **state)
{
    struct fake *fake = *state;
    struct fake_call write = {.request = {.slot = -1}};

    fake->redis[0].answer = say_half;
    fake_open_ready(fake, ONE);
    fake_send(fake, &write, "INCR a");
    fake_until_done(fake, &write);
    assert_int_equal(write.fate, REDIS_UNKNOWN);
    fake_send(fake, &write, "INCR a");
    fake_until_done(fake, &write);
    assert_int_equal(write.integer, 9);
}

static const char *say_garbage(struct fake_redis *redis, struct fake_session *session,
                               const redisReply *command)
{
    (void)session;
    (void)command;
    return redis->connections == 1 ? "HTTP/1.1 400 Bad Request\r\n" : "+OK\r\n";
}

static void what_is_no_answer_breaks_the_connection(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    fake->redis[0].answer = say_garbage;
    fake_open_ready(fake, ONE);
    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_UNKNOWN);
    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
}

static void a_server_that_comes_back_is_found_within_the_time(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    fake_open_ready(fake, ONE);
    fake_close(&fake->redis[0]);
    fake_hang_up(&fake->redis[0]);
    fake_turn_for(fake, 50);
    fake_send(fake, &call, "INCR a");
    fake_turn_for(fake, 100);
    assert_int_equal(call.done, 0);
    fake_listen(fake, &fake->redis[0]);
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
}

/* ---- bounds and end -------------------------------------------------------------------------- */

static void beyond_the_queue_it_is_busy(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[4] = {{.request = {.slot = -1}},
                                 {.request = {.slot = -1}},
                                 {.request = {.slot = -1}},
                                 {.request = {.slot = -1}}};

    fake_open_ready(fake, ONE "?queue=3");
    for (size_t i = 0; i < 4; i++) {
        fake_send(fake, &calls[i], "INCR a");
    }
    for (size_t i = 0; i < 4; i++) {
        fake_until_done(fake, &calls[i]);
        assert_int_equal(calls[i].fate, i < 3 ? REDIS_ANSWERED : REDIS_NOT_DONE);
    }
    assert_int_equal(calls[3].code, HF_BUSY);
    fake_send(fake, &calls[3], "INCR a");
    fake_until_done(fake, &calls[3]);
    assert_int_equal(calls[3].fate, REDIS_ANSWERED);
}

static void mark_closed(void *context)
{
    *(bool *)context = true;
}

static bool is_true(void *context)
{
    return *(bool *)context;
}

static void closing_answers_everything(void **state)
{
    struct fake *fake = *state;
    struct fake_call sent = {.request = {.slot = -1}}, waits = {.request = {.slot = -1}};
    bool closed = false;

    fake->redis[0].answer = say_later;
    fake_open_ready(fake, ONE);
    fake_send(fake, &sent, "SLOW");
    fake_turn_for(fake, 20);
    fake_send(fake, &waits, "SLOW");
    redis_client_close(fake->client, mark_closed, &closed);
    fake->client = NULL;
    assert_int_equal(sent.done, 0);
    fake_until(fake, is_true, &closed);
    assert_int_equal(sent.done, 1);
    assert_int_equal(sent.fate, REDIS_UNKNOWN);
    assert_int_equal(waits.done, 1);
}

static void a_client_can_be_closed_while_it_connects(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};
    bool closed = false;

    fake_open(fake, "redis://localhost:%u");
    fake_send(fake, &call, "GET a");
    redis_client_close(fake->client, mark_closed, &closed);
    fake->client = NULL;
    fake_until(fake, is_true, &closed);
    assert_int_equal(call.done, 1);
    assert_int_equal(call.fate, REDIS_NOT_DONE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_client_is_ready_when_it_was_let_in),
        CASE(names_are_looked_up),
        CASE(nobody_there_is_said_after_the_connect_timeout),
        CASE(a_server_that_speaks_tls_is_recognised),
        CASE(a_server_without_tls_is_not_waited_for_longer_than_the_timeout),
        CASE(a_wrong_password_is_said_at_once_and_fails_requests_at_once),
        CASE(a_server_that_loads_its_data_is_waited_for),
        CASE(one_that_does_not_stop_loading_is_said_to_be),
        CASE(a_server_that_accepts_and_says_nothing_is_given_up),
        CASE(without_a_connection_a_request_is_not_done_when_its_time_is_over),
        CASE(an_answer_that_does_not_come_in_time_is_unknown_and_swallowed_later),
        CASE(a_connection_that_is_silent_for_a_whole_timeout_is_made_anew),
        CASE(what_was_sent_and_may_not_be_repeated_is_unknown_at_once),
        CASE(half_an_answer_is_none),
        CASE(what_is_no_answer_breaks_the_connection),
        CASE(a_server_that_comes_back_is_found_within_the_time),
        CASE(beyond_the_queue_it_is_busy),
        CASE(closing_answers_everything),
        CASE(a_client_can_be_closed_while_it_connects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
