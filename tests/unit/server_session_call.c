/* SPDX-License-Identifier: Apache-2.0
 *
 * A session on an engine that answers later, as the one on Redis does: whatever the order in which
 * answers arrive, the client reads them in the order of its requests, also those that the engine
 * was never asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "command/binary.h"
#include "server/server.h"

/* ---- an engine that answers when it is told to ----------------------------------------------- */

#define PENDING_MAX 8

/* Submitted and not answered yet. */
struct held {
    struct buffer command;
    engine_done *done;
    void *context;
};

/* Holds every command until the test lets it through to the engine in this process. */
struct slow {
    struct engine engine;
    struct engine *inner;
    struct memory memory;
    struct held held[PENDING_MAX];
    size_t count;
};

static struct slow slow;

static void slow_submit(struct engine *engine, struct command *command, engine_done *done,
                        void *context)
{
    struct held *held = &slow.held[slow.count++];
    (void)engine;

    assert_true(slow.count <= PENDING_MAX);
    *held = (struct held){.done = done, .context = context};
    buffer_init(&held->command, &slow.memory);
    command_to_binary(command, &held->command);
    assert_false(held->command.failed);
}

/* Answers the command that was submitted as number i, counted from 0. */
static void answer(size_t i)
{
    struct held *held = &slow.held[i];
    struct hf_bytes bytes = {held->command.data, held->command.size};
    struct command command;
    struct binary_scratch scratch;

    assert_true(i < slow.count && held->done != NULL);
    assert_int_equal(command_from_binary(&command, bytes, &scratch, NULL), HF_OK);
    engine_submit(slow.inner, &command, held->done, held->context);
    buffer_free(&held->command);
    held->done = NULL;
}

static void slow_close(struct engine *engine)
{
    (void)engine;
    for (size_t i = 0; i < slow.count; i++) {
        buffer_free(&slow.held[i].command);
    }
    assert_int_equal(slow.memory.used, 0);
    engine_close(slow.inner);
}

static void slow_turn(struct engine *engine)
{
    (void)engine;
    engine_turn(slow.inner);
}

static int64_t slow_idle_ms(struct engine *engine)
{
    (void)engine;
    return engine_idle_ms(slow.inner);
}

static const struct engine_type slow_type = {
    .close = slow_close, .submit = slow_submit, .turn = slow_turn, .idle_ms = slow_idle_ms};

/* ---- a conversation with it ------------------------------------------------------------------ */

static struct server_options options;
static struct server server;
static struct session client;
static bool is_open;
static unsigned released;

static void release(struct session *session)
{
    released++;
    session_free(session);
}

static int setup(void **state)
{
    char *argv[] = {"serve", "--memory", NULL};
    struct engine_options none = {.log = {.level = LOG_ERROR}};
    struct problem problem;
    (void)state;

    slow = (struct slow){.engine = {.type = &slow_type, .name = "slow"}};
    memory_init(&slow.memory);
    released = 0;
    assert_int_equal(options_load(&options, 2, argv, &problem), HF_OK);
    server_init(&server, &options);
    server.release = release;
    assert_int_equal(engine_open("embedded:", &none, &slow.inner, &problem), HF_OK);
    server_attach(&server, &slow.engine);
    is_open = session_open(&client, &server, &front_resp);
    return !is_open;
}

static int teardown(void **state)
{
    (void)state;
    if (is_open) {
        session_close(&client, true);
        session_free(&client);
    }
    server_free(&server);
    options_free(&options);
    return 0;
}

/* What the client has been answered since the last time. */
static const char *heard(void)
{
    static char text[4096];

    server_commit(&server);
    snprintf(text, sizeof text, "%.*s", (int)client.out.size, client.out.data);
    client.out.size = client.firm = 0;
    return text;
}

static void say(const char *text)
{
    assert_int_equal(session_feed(&client, text, strlen(text)), strlen(text));
}

#define OPENED_5 "*3\r\n:1\r\n:5\r\n:5\r\n"
#define OPENED_7 "*3\r\n:1\r\n:7\r\n:7\r\n"
#define GRANTED "*3\r\n:1\r\n:1\r\n:" /* and the fence */
#define MALFORMED "-ERR wrong number of arguments"

static void answers_come_in_the_order_of_the_requests(void **state)
{
    (void)state;
    say("SEATS.OPEN e five 5\r\nSEATS.OPEN e seven 7\r\n");
    assert_int_equal(slow.count, 2);
    answer(1);
    assert_string_equal(heard(), "");
    answer(0);
    assert_string_equal(heard(), OPENED_5 OPENED_7);
}

/* The engine never hears of a malformed request, and yet its refusal has to wait its turn. */
static void a_malformed_request_waits_for_those_before_it(void **state)
{
    (void)state;
    say("SEATS.OPEN e five 5\r\nSEATS.OPEN e\r\nSEATS.OPEN e seven 7\r\n");
    assert_int_equal(slow.count, 2);
    assert_string_equal(heard(), "");
    answer(1);
    assert_string_equal(heard(), "");
    answer(0);
    const char *text = heard();
    assert_memory_equal(text, OPENED_5 MALFORMED, strlen(OPENED_5 MALFORMED));
    assert_string_equal(strstr(text, "\r\n*") + 2, OPENED_7);
}

static void with_nothing_before_it_it_is_refused_at_once(void **state)
{
    (void)state;
    say("SEATS.OPEN e\r\n");
    assert_memory_equal(heard(), MALFORMED, strlen(MALFORMED));
    say("SEATS.OPEN e five 5\r\n");
    answer(0);
    assert_string_equal(heard(), OPENED_5);
}

/* What comes behind a command that may wait in line is not read before that is answered. */
static void nothing_is_read_behind_a_command_that_may_wait(void **state)
{
    const char *text = "SEM.ACQUIRE s a 1 WAIT 1000\r\nSEATS.OPEN e five 5\r\n";
    (void)state;

    assert_int_equal(session_feed(&client, text, strlen(text)), strcspn(text, "\n") + 1);
    assert_int_equal(slow.count, 1);
    assert_true(session_stopped(&client));
    answer(0);
    assert_false(session_stopped(&client));
    assert_memory_equal(heard(), GRANTED, strlen(GRANTED));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *no_memory(struct memory *memory, size_t size)
{
    (void)memory;
    (void)size;
    return NULL;
}

/* An answer in another's place would be worse than none: the connection has to end. */
static void without_memory_to_put_a_refusal_off_the_connection_fails(void **state)
{
    (void)state;
    say("SEATS.OPEN e five 5\r\n");
    server.memory.zeroed = no_memory;
    say("SEATS.OPEN e\r\n");
    assert_true(client.out.failed && client.is_touched);
    answer(0);
}

static void without_memory_a_command_is_refused_and_not_submitted(void **state)
{
    (void)state;
    server.memory.zeroed = no_memory;
    say("SEATS.OPEN e five 5\r\n");
    assert_int_equal(slow.count, 0);
    assert_string_equal(heard(), "-BUSY out of memory\r\n");
}

/* What was not submitted granted nothing: the slot may be the client's by another connection. */
static void without_memory_nothing_is_taken_back_either(void **state)
{
    (void)state;
    server.memory.zeroed = no_memory;
    say("SEM.ACQUIRE s a 1\r\n");
    assert_string_equal(heard(), "-BUSY out of memory\r\n");
    session_close(&client, false);
    session_free(&client);
    is_open = false;
    assert_int_equal(slow.count, 0);
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void who_leaves_is_kept_until_the_last_answer(void **state)
{
    (void)state;
    say("SEATS.OPEN e five 5\r\nSEATS.OPEN e seven 7\r\n");
    session_close(&client, true);
    is_open = false;
    answer(1);
    assert_int_equal(released, 0);
    answer(0);
    assert_int_equal(released, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_come_in_the_order_of_the_requests),
        TEST(a_malformed_request_waits_for_those_before_it),
        TEST(with_nothing_before_it_it_is_refused_at_once),
        TEST(nothing_is_read_behind_a_command_that_may_wait),
        TEST(without_memory_to_put_a_refusal_off_the_connection_fails),
        TEST(without_memory_a_command_is_refused_and_not_submitted),
        TEST(without_memory_nothing_is_taken_back_either),
        TEST(who_leaves_is_kept_until_the_last_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
