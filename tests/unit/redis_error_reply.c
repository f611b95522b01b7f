/* SPDX-License-Identifier: Apache-2.0
 *
 * What the error replies of Redis ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/error_reply.h"

static struct error_reply read_error(const char *text)
{
    char copy[512];
    redisReply reply = {.type = REDIS_REPLY_ERROR, .str = copy, .len = strlen(text)};
    struct error_reply error;

    strncpy(copy, text, sizeof copy - 1);
    copy[sizeof copy - 1] = '\0';
    error_reply_read(&reply, &error);
    return error;
}

static void the_first_word_decides(void **state)
{
    static const struct {
        const char *text;
        enum error_action action;
        enum hf_error code;
    } cases[] = {
        {"NOSCRIPT No matching script. Please use EVAL.", ERROR_NO_SCRIPT, HF_ENGINE_DOWN},
        {"MOVED 3999 127.0.0.1:6381", ERROR_MOVED, HF_ENGINE_DOWN},
        {"ASK 3999 127.0.0.1:6381", ERROR_ASK, HF_BUSY},
        {"TRYAGAIN Multiple keys request during rehashing of slot", ERROR_RETRY, HF_BUSY},
        {"CLUSTERDOWN Hash slot not served", ERROR_RETRY, HF_ENGINE_DOWN},
        {"LOADING Redis is loading the dataset in memory", ERROR_RETRY, HF_LOADING},
        {"MASTERDOWN Link with MASTER is down", ERROR_RETRY, HF_ENGINE_DOWN},
        {"BUSY Redis is busy running a script.", ERROR_RETRY, HF_BUSY},
        {"READONLY You can't write against a read only replica.", ERROR_RETRY, HF_ENGINE_DOWN},
        {"OOM command not allowed when used memory > 'maxmemory'.", ERROR_REFUSED, HF_BUSY},
        {"MISCONF Redis is configured to save RDB snapshots", ERROR_REFUSED, HF_ENGINE_DOWN},
        {"NOREPLICAS Not enough good replicas to write.", ERROR_REFUSED, HF_ENGINE_DOWN},
        {"NOAUTH Authentication required.", ERROR_REFUSED, HF_ENGINE_DOWN},
        {"WRONGPASS invalid username-password pair", ERROR_REFUSED, HF_ENGINE_DOWN},
        {"NOPERM this user has no permissions", ERROR_REFUSED, HF_ENGINE_DOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error_reply error = read_error(cases[i].text);
        assert_int_equal(error.action, cases[i].action);
        assert_int_equal(error.code, cases[i].code);
    }
}

static void what_a_script_says_itself_is_an_answer(void **state)
{
    static const char *const cases[] = {
        "ERR unknown command",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "UNKILLABLE Sorry the script already executed write commands",
        "OOMPH",
        "",
        /* Met on the way through a script, perhaps after it has written. */
        "NOPERM this user has no permissions. script: 61636018, on @user_script:1.",
        "ERR Error running script (call to f_61636018): @user_script:1: -NOPERM no permissions",
        "ERR Error running script (call to f_61636018): @user_script:1: user_script:1: oh no",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_error(cases[i]).action, ERROR_ANSWER);
    }
}

static void a_script_that_says_again_has_its_call_made_again(void **state)
{
    (void)state;
    assert_int_equal(read_error("AGAIN more fell due than one call returns: call again").action,
                     ERROR_AGAIN);
    assert_int_equal(read_error("AGAINST").action, ERROR_ANSWER);
}

static void what_a_script_meets_at_its_first_write_has_changed_nothing(void **state)
{
    struct error_reply error;

    (void)state;
    error = read_error("OOM command not allowed. script: 61636018, on @user_script:1.");
    assert_int_equal(error.action, ERROR_REFUSED);
    error = read_error("ERR Error running script (call to f_61636018): @user_script:1: -OOM no");
    assert_int_equal(error.action, ERROR_REFUSED);
    assert_int_equal(error.code, HF_BUSY);
    error = read_error("READONLY You can't write. script: 61636018, on @user_script:1.");
    assert_int_equal(error.action, ERROR_RETRY);
    assert_true(error.not_master);
    error = read_error("ERR Error running script (call to f_6): @user_script:1: -READONLY no");
    assert_int_equal(error.action, ERROR_RETRY);
    assert_true(error.not_master);
}

static void redirects_say_where(void **state)
{
    struct error_reply error;

    (void)state;
    error = read_error("MOVED 3999 127.0.0.1:6381");
    assert_int_equal(error.action, ERROR_MOVED);
    assert_int_equal(error.slot, 3999);
    assert_string_equal(error.host, "127.0.0.1");
    assert_int_equal(error.port, 6381);
    error = read_error("ASK 0 ::1:6381");
    assert_int_equal(error.action, ERROR_ASK);
    assert_string_equal(error.host, "::1");
    error = read_error("MOVED 16383 :6381");
    assert_int_equal(error.action, ERROR_MOVED);
    assert_string_equal(error.host, "");
}

static void the_longest_host_fits_and_a_longer_one_is_none(void **state)
{
    char text[300] = "MOVED 7 ";

    (void)state;
    memset(text + 8, 'h', 255);
    strcpy(text + 8 + 255, ":6381");
    assert_int_equal(read_error(text).action, ERROR_MOVED);
    assert_int_equal(strlen(read_error(text).host), 255);
    text[8 + 255] = 'h';
    strcpy(text + 8 + 256, ":6381");
    assert_int_equal(read_error(text).action, ERROR_ANSWER);
}

static void malformed_redirects_are_answers(void **state)
{
    static const char *const cases[] = {
        "MOVED",          "MOVED 1",         "MOVED 1 host",        "MOVED 1 host:0",
        "MOVED 1 host:x", "MOVED 16384 a:1", "MOVED -1 host:65535", "ASK 1 host:65536",
        "MOVED  a:1",     "MOVED 1 a:",      "MOVED x a:1",         "MOVED 1 a:6381 more",
        "MOVED a:1",      "MOVED 1 a: 1",    "MOVED 1.5 a:1",       "moved 1 a:1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_error(cases[i]).action, ERROR_ANSWER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_word_decides),
        cmocka_unit_test(what_a_script_says_itself_is_an_answer),
        cmocka_unit_test(a_script_that_says_again_has_its_call_made_again),
        cmocka_unit_test(what_a_script_meets_at_its_first_write_has_changed_nothing),
        cmocka_unit_test(redirects_say_where),
        cmocka_unit_test(the_longest_host_fits_and_a_longer_one_is_none),
        cmocka_unit_test(malformed_redirects_are_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
