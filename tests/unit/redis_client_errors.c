/* SPDX-License-Identifier: Apache-2.0
 *
 * Error replies: which are answers, which are tried again, and what the others are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis_fake.h"

#define ONE "redis://127.0.0.1:%u"

static const char *first_answer; /* of the first commands … */
static unsigned first_count;     /* … this many */

static const char *say_first(struct fake_redis *redis, struct fake_session *session,
                             const redisReply *command)
{
    (void)session;
    (void)command;
    return redis->commands <= first_count ? first_answer : ":1\r\n";
}

static void begin(struct fake *fake, const char *answer, unsigned count)
{
    first_answer = answer;
    first_count = count;
    fake->redis[0].answer = say_first;
    fake_open_ready(fake, ONE);
}

static void a_missing_script_is_loaded_once_for_many_that_miss_it(void **state)
{
    struct fake *fake = *state;
    struct fake_call calls[10];

    begin(fake, "-NOSCRIPT No matching script.\r\n", 10);
    unsigned loads = fake->redis[0].loads;
    for (size_t i = 0; i < 10; i++) {
        calls[i] = (struct fake_call){.request = {.slot = -1, .script = &script_table[3]}};
        fake_send(fake, &calls[i], "EVALSHA x 0");
    }
    for (size_t i = 0; i < 10; i++) {
        fake_until_done(fake, &calls[i]);
        assert_int_equal(calls[i].fate, REDIS_ANSWERED);
        assert_int_equal(calls[i].integer, 1);
    }
    assert_int_equal(fake->redis[0].loads, loads + 1);
    assert_int_equal(redis_client_figures(fake->client)->script_loads, 1);
}

static void a_script_of_the_callers_own_may_be_missing(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    begin(fake, "-NOSCRIPT No matching script.\r\n", 1);
    fake_send(fake, &call, "EVALSHA x 0");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
    assert_string_equal(call.message, "NOSCRIPT No matching script.");
}

static void errors_of_the_moment_are_tried_again(void **state)
{
    static const char *const errors[] = {
        "-BUSY Redis is busy running a script.\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-READONLY You can't write against a read only replica.\r\n",
    };
    struct fake *fake = *state;

    begin(fake, "", 0);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct fake_call call = {.request = {.slot = -1}};
        first_answer = errors[i];
        first_count = fake->redis[0].commands + 3;
        fake_send(fake, &call, "INCR a");
        fake_until_done(fake, &call);
        assert_int_equal(call.fate, REDIS_ANSWERED);
        assert_int_equal(call.integer, 1);
    }
}

static void what_lasts_is_not_done_when_the_time_is_over(void **state)
{
    static const struct {
        const char *answer;
        enum hf_error code;
        const char *says;
    } cases[] = {
        {"-BUSY Redis is busy running a script.\r\n", HF_BUSY, "running a script"},
        {"-LOADING Redis is loading\r\n", HF_LOADING, "loading"},
        {"-CLUSTERDOWN The cluster is down\r\n", HF_ENGINE_DOWN, "CLUSTERDOWN"},
        {"-MASTERDOWN Link with MASTER is down\r\n", HF_ENGINE_DOWN, "MASTERDOWN"},
        {"-READONLY You can't write\r\n", HF_ENGINE_DOWN, "READONLY"},
    };
    struct fake *fake = *state;

    begin(fake, "", UINT32_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_call call = {.request = {.slot = -1, .timeout_ms = 500}};
        first_answer = cases[i].answer;
        fake_ask(fake, &call, "INCR a");
        assert_int_equal(call.fate, REDIS_NOT_DONE);
        assert_int_equal(call.code, cases[i].code);
        assert_non_null(strstr(call.message, cases[i].says));
    }
}

static void what_is_refused_for_good_is_not_done_at_once(void **state)
{
    static const struct {
        const char *answer;
        enum hf_error code;
        const char *says;
    } cases[] = {
        {"-OOM command not allowed\r\n", HF_BUSY, "out of memory (maxmemory)"},
        {"-MISCONF Errors writing to the AOF file\r\n", HF_ENGINE_DOWN, "AOF"},
        {"-NOREPLICAS Not enough good replicas\r\n", HF_ENGINE_DOWN, "replicas"},
        {"-NOPERM this user has no permissions\r\n", HF_ENGINE_DOWN, "permissions"},
        {"-NOAUTH Authentication required.\r\n", HF_ENGINE_DOWN, "NOAUTH"},
    };
    struct fake *fake = *state;

    begin(fake, "", UINT32_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_call call = {.request = {.slot = -1, .timeout_ms = 60000}};
        first_answer = cases[i].answer;
        fake_send(fake, &call, "INCR a");
        fake_until_done(fake, &call);
        assert_int_equal(call.fate, REDIS_NOT_DONE);
        assert_int_equal(call.code, cases[i].code);
        assert_non_null(strstr(call.message, cases[i].says));
    }
    assert_int_equal(fake->redis[0].commands, 5);
}

static void a_scripts_own_error_is_its_answer(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    begin(fake, "-AGAIN more fell due than one call returns: call again\r\n", 1);
    fake_send(fake, &call, "EVALSHA x 0");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
    assert_string_equal(call.message, "AGAIN more fell due than one call returns: call again");
}

static void a_server_that_takes_no_writes_is_connected_to_anew(void **state)
{
    struct fake *fake = *state;
    struct fake_call call = {.request = {.slot = -1}};

    begin(fake, "-READONLY You can't write against a read only replica.\r\n", 1);
    fake_send(fake, &call, "INCR a");
    fake_until_done(fake, &call);
    assert_int_equal(call.fate, REDIS_ANSWERED);
    assert_int_equal(fake->redis[0].connections, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_missing_script_is_loaded_once_for_many_that_miss_it),
        CASE(a_script_of_the_callers_own_may_be_missing),
        CASE(errors_of_the_moment_are_tried_again),
        CASE(what_lasts_is_not_done_when_the_time_is_over),
        CASE(what_is_refused_for_good_is_not_done_at_once),
        CASE(a_scripts_own_error_is_its_answer),
        CASE(a_server_that_takes_no_writes_is_connected_to_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
