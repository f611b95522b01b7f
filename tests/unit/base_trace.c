/* SPDX-License-Identifier: Apache-2.0
 *
 * Which traceparents, tracestates and ids of requests count, and what is written of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/trace.h"

#define ID "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static struct trace_parent trace;

static bool reads(const char *text)
{
    trace = (struct trace_parent){.flags = 0};
    return trace_read(hf_text(text), &trace);
}

static void a_traceparent_is_read_and_written_again(void **state)
{
    char text[TRACE_PARENT_SIZE], id[TRACE_ID_SIZE];

    (void)state;
    assert_true(reads("00-" ID "-" PARENT "-01"));
    assert_true(trace_is_known(&trace));
    trace_write(&trace, text);
    assert_string_equal(text, "00-" ID "-" PARENT "-01");
    trace_write_id(&trace, id);
    assert_string_equal(id, ID);
}

static void what_is_not_of_the_form_does_not_count(void **state)
{
    static const char *const bad[] = {
        "",
        "00",
        "00-" ID "-" PARENT,
        "00-" ID "-" PARENT "-",
        "00-" ID "-" PARENT "-1",
        "00-" ID "-" PARENT "-01-",
        "00-" ID "-" PARENT "-01-more",
        "00-" ID "-" PARENT "-011",
        "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01",
        "00-" ID "-B7AD6B7169203331-01",
        "00-" ID "-" PARENT "-0A",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" ID "-0000000000000000-01",
        "ff-" ID "-" PARENT "-01",
        "FF-" ID "-" PARENT "-01",
        "0g-" ID "-" PARENT "-01",
        "00_" ID "-" PARENT "-01",
        "00-" ID "_" PARENT "-01",
        "00-" ID "-" PARENT "_01",
        "00-" ID "-" PARENT "-0\n",
        " 00-" ID "-" PARENT "-01",
        "cc-" ID "-" PARENT "-01.what",
        "cc-" ID "-" PARENT "-0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (reads(bad[i]) || trace_is_known(&trace)) {
            fail_msg("\"%s\" counts", bad[i]);
        }
    }
}

static void of_later_versions_the_fields_of_this_one_count(void **state)
{
    char text[TRACE_PARENT_SIZE];

    (void)state;
    assert_true(reads("cc-" ID "-" PARENT "-01"));
    assert_true(reads("cc-" ID "-" PARENT "-01-what-the-future-will-be-like"));
    trace_write(&trace, text);
    assert_string_equal(text, "00-" ID "-" PARENT "-01");
}

static void flags_without_a_meaning_are_not_passed_on(void **state)
{
    char text[TRACE_PARENT_SIZE];

    (void)state;
    assert_true(reads("00-" ID "-" PARENT "-fe"));
    trace_write(&trace, text);
    assert_string_equal(text, "00-" ID "-" PARENT "-02");
}

static void a_call_of_ours_is_the_same_trace_with_another_parent(void **state)
{
    char first[TRACE_PARENT_SIZE], second[TRACE_PARENT_SIZE];
    struct trace_parent next;
    struct random random;

    (void)state;
    random_init(&random);
    assert_true(reads("00-" ID "-" PARENT "-01"));
    trace_continue(&trace, &random, first);
    trace_continue(&trace, &random, second);
    assert_memory_equal(first, "00-" ID "-", 36);
    assert_memory_equal(second, "00-" ID "-", 36);
    assert_string_not_equal(first, second);
    assert_true(trace_read(hf_text(first), &next));
    assert_memory_not_equal(next.parent, trace.parent, sizeof next.parent);
    assert_int_equal(next.flags, 1);
}

static void a_trace_of_our_own_follows_from_what_it_is_of(void **state)
{
    static const uint8_t key[SIPHASH_KEY] = {1}, other_key[SIPHASH_KEY] = {2};
    struct trace_parent one, same, other, elsewhere;
    char text[TRACE_PARENT_SIZE];

    (void)state;
    trace_derive(key, "a", 1, &one);
    trace_derive(key, "a", 1, &same);
    trace_derive(key, "b", 1, &other);
    trace_derive(other_key, "a", 1, &elsewhere);
    assert_memory_equal(one.id, same.id, sizeof one.id);
    assert_memory_not_equal(one.id, other.id, sizeof one.id);
    assert_memory_not_equal(one.id, elsewhere.id, sizeof one.id);
    trace_write(&one, text);
    assert_true(reads(text));
}

static void a_tracestate_is_a_list_that_can_stand_in_a_header(void **state)
{
    static const char *const good[] = {"a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
                                       "t@v=x, b-_*/=y z,", "0=0"};
    static const char *const bad[] = {"",        "a",         "=1",     "a=",    "A=1",
                                      "a=1\r\n", "a=1\nX: y", "a=\x80", "a=b=c", "_a=1"};
    char large[TRACE_STATE_MAX + 2];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(trace_state_is_valid(hf_text(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(trace_state_is_valid(hf_text(bad[i])));
    }
    memset(large, 'a', sizeof large);
    large[1] = '=';
    assert_true(trace_state_is_valid((struct hf_bytes){large, TRACE_STATE_MAX}));
    assert_false(trace_state_is_valid((struct hf_bytes){large, TRACE_STATE_MAX + 1}));
}

static void an_id_of_a_request_is_printable_and_not_too_long(void **state)
{
    char large[TRACE_REQUEST_MAX + 1];

    (void)state;
    memset(large, '~', sizeof large);
    assert_true(trace_request_is_valid(hf_text("a\"\\{}<>-1")));
    assert_true(trace_request_is_valid((struct hf_bytes){large, TRACE_REQUEST_MAX}));
    assert_false(trace_request_is_valid((struct hf_bytes){large, TRACE_REQUEST_MAX + 1}));
    assert_false(trace_request_is_valid(hf_text("")));
    assert_false(trace_request_is_valid((struct hf_bytes){NULL, 0}));
    assert_false(trace_request_is_valid(hf_text("a b")));
    assert_false(trace_request_is_valid(hf_text("a\n")));
    assert_false(trace_request_is_valid(hf_text("\x7f")));
    assert_false(trace_request_is_valid(hf_text("\xc3\xa9")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_traceparent_is_read_and_written_again),
        cmocka_unit_test(what_is_not_of_the_form_does_not_count),
        cmocka_unit_test(of_later_versions_the_fields_of_this_one_count),
        cmocka_unit_test(flags_without_a_meaning_are_not_passed_on),
        cmocka_unit_test(a_call_of_ours_is_the_same_trace_with_another_parent),
        cmocka_unit_test(a_trace_of_our_own_follows_from_what_it_is_of),
        cmocka_unit_test(a_tracestate_is_a_list_that_can_stand_in_a_header),
        cmocka_unit_test(an_id_of_a_request_is_printable_and_not_too_long),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
