/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's share of a turn: what takes long is left for the next turn, and so is a command that
 * the engine cannot take yet, whatever protocol it came in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/server.h"

/* ---- an engine that is slow, or not ready ---------------------------------------------------- */

static struct server server;
static struct engine engine;
static bool is_slow, is_ready;
static unsigned submitted;

static void spend_the_share(void)
{
    while (is_slow && clock_ticks() <= server.turn.share_ends) {}
}

static enum hf_error fake_info(struct engine *fake, struct hf_info *info)
{
    (void)fake;
    spend_the_share();
    *info = (struct hf_info){.holds = 7};
    return HF_OK;
}

static void fake_submit(struct engine *fake, struct command *command, engine_done *done,
                        void *context)
{
    struct reply reply;
    (void)fake;
    (void)command;

    submitted++;
    spend_the_share();
    assert_true(reply_init(&reply, &server.memory));
    reply_number(&reply, 2);
    reply_number(&reply, 3);
    done(context, &reply);
    reply_free(&reply);
}

static bool fake_ready(struct engine *fake, const struct command *command)
{
    (void)fake;
    (void)command;
    return is_ready;
}

static int64_t fake_idle_ms(struct engine *fake)
{
    (void)fake;
    return -1;
}

static void fake_close(struct engine *fake)
{
    (void)fake;
}

static const struct engine_type fake_type = {.submit = fake_submit,
                                             .ready = fake_ready,
                                             .idle_ms = fake_idle_ms,
                                             .info = fake_info,
                                             .close = fake_close};

/* ---- conversations --------------------------------------------------------------------------- */

static struct server_options options;
static struct session resp, web;

static int setup(void **state)
{
    char *argv[] = {"serve", "--memory", NULL};
    struct problem problem;
    (void)state;

    assert_int_equal(options_load(&options, 2, argv, &problem), HF_OK);
    server_init(&server, &options);
    engine = (struct engine){.type = &fake_type, .name = "fake"};
    server_attach(&server, &engine);
    server.turn.bounded = true;
    is_slow = false;
    is_ready = true;
    submitted = 0;
    assert_true(session_open(&resp, &server, &front_resp));
    assert_true(session_open(&web, &server, &front_http));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    session_close(&resp, true);
    session_free(&resp);
    session_close(&web, true);
    session_free(&web);
    server_free(&server);
    options_free(&options);
    return 0;
}

/* What the loop does between two turns. */
static void next_turn(struct session *session)
{
    server_commit(&server);
    server.turn.began_ns = 0;
    if (session->is_resumed) {
        list_remove(&session->resumed);
        session->is_resumed = false;
    }
}

/* Feeds the same bytes turn after turn until all are used, and gives the number of turns. */
static unsigned turns_for(struct session *session, const char *text)
{
    size_t size = strlen(text);
    unsigned turns = 0;

    for (size_t used = 0; used < size || session->yielded; turns++) {
        assert_true(turns < 100);
        used += session_feed(session, text + used, size - used);
        assert_true(used == size || session->yielded);
        next_turn(session);
    }
    return turns;
}

static size_t count_of(const struct session *session, const char *word)
{
    size_t count = 0;

    for (const char *at = session->out.data, *end = at + session->out.size; at < end; at++) {
        at = memmem(at, (size_t)(end - at), word, strlen(word));
        if (at == NULL) {
            break;
        }
        count++;
    }
    return count;
}

/* No share is ever over, however long the machine keeps this process from running. */
static void leave_time(void)
{
    server.turn.bounded = false;
}

static void what_is_quick_is_done_in_one_turn(void **state)
{
    (void)state;
    leave_time();
    assert_int_equal(turns_for(&resp, "PING\r\nPING\r\n"), 1);
    assert_false(resp.is_resumed);
}

static void slow_commands_have_a_turn_each(void **state)
{
    (void)state;
    is_slow = true;
    assert_int_equal(turns_for(&resp, "QUOTA.LIMIT t 1\r\nQUOTA.LIMIT t 1\r\nQUOTA.LIMIT t 1\r\n"),
                     3);
    assert_int_equal(submitted, 3);
    assert_int_equal(count_of(&resp, "*3\r\n:1\r\n:2\r\n:3\r\n"), 3);
}

static void so_have_slow_commands_of_the_server_itself(void **state)
{
    (void)state;
    is_slow = true;
    assert_int_equal(turns_for(&resp, "DBSIZE\r\nDBSIZE\r\nDBSIZE\r\n"), 3);
    assert_int_equal(count_of(&resp, ":7\r\n"), 3);
}

static void so_have_slow_requests_over_http(void **state)
{
    (void)state;
    is_slow = true;
    assert_int_equal(turns_for(&web, "GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                     "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                     "GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                     3);
    assert_int_equal(count_of(&web, "HTTP/1.1 200 OK"), 3);
}

static void who_yielded_waits_for_its_turn(void **state)
{
    const char *text = "DBSIZE\r\nPING\r\n";
    (void)state;

    is_slow = true;
    assert_int_equal(session_feed(&resp, text, strlen(text)), strlen("DBSIZE\r\n"));
    assert_true(session_stopped(&resp));
    assert_true(session_busy(&resp));
    assert_ptr_equal(server.yielded.next, &resp.resumed);
    session_close(&resp, true); /* … and leaves the queue with its client */
    assert_true(list_empty(&server.yielded));
    session_free(&resp);
    assert_true(session_open(&resp, &server, &front_resp));
}

static void a_command_the_engine_cannot_take_yet_is_offered_again(void **state)
{
    const char *text = "PING\r\nQUOTA.LIMIT t 1\r\nPING\r\n";
    size_t size = strlen(text), before = strlen("PING\r\n");
    (void)state;

    leave_time();
    is_ready = false;
    size_t used = session_feed(&resp, text, size);
    assert_int_equal(used, before);
    assert_true(resp.yielded);
    for (int i = 0; i < 3; i++) {
        next_turn(&resp);
        assert_int_equal(session_feed(&resp, text + used, size - used), 0);
        assert_int_equal(submitted, 0);
    }
    is_ready = true;
    next_turn(&resp);
    assert_int_equal(session_feed(&resp, text + used, size - used), size - used);
    assert_false(resp.yielded);
    assert_int_equal(submitted, 1);
    assert_int_equal(count_of(&resp, "+PONG\r\n*3\r\n:1\r\n:2\r\n:3\r\n+PONG\r\n"), 1);
}

static void so_it_is_over_http(void **state)
{
    const char *text = "PUT /v1/quotas/t HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"limit\":1}";
    (void)state;

    leave_time();
    is_ready = false;
    size_t size = strlen(text), used = session_feed(&web, text, size);
    assert_int_equal(used, size);
    for (int i = 0; i < 3; i++) {
        assert_true(web.yielded);
        next_turn(&web);
        session_feed(&web, "", 0);
        assert_int_equal(submitted, 0);
        assert_int_equal(web.out.size, 0);
    }
    is_ready = true;
    next_turn(&web);
    session_feed(&web, "", 0);
    assert_false(web.yielded);
    assert_int_equal(submitted, 1);
    assert_int_equal(count_of(&web, "HTTP/1.1 200 OK"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(what_is_quick_is_done_in_one_turn),
        CASE(slow_commands_have_a_turn_each),
        CASE(so_have_slow_commands_of_the_server_itself),
        CASE(so_have_slow_requests_over_http),
        CASE(who_yielded_waits_for_its_turn),
        CASE(a_command_the_engine_cannot_take_yet_is_offered_again),
        CASE(so_it_is_over_http),
#undef CASE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
