/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers, durations and words as people type them. Ids are in base_text_id.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void expect_integer(const char *text, int64_t expected)
{
    int64_t number = -12345;

    assert_true(text_to_integer(hf_text(text), &number));
    assert_true(number == expected);
}

static void expect_duration(const char *text, int64_t expected_ms)
{
    int64_t duration_ms = -12345;

    assert_true(text_to_duration(hf_text(text), 1000, &duration_ms));
    assert_true(duration_ms == expected_ms);
}

static void digits_with_an_optional_minus_are_a_number(void **state)
{
    (void)state;
    expect_integer("0", 0);
    expect_integer("-0", 0);
    expect_integer("7", 7);
    expect_integer("-7", -7);
    expect_integer("007", 7);
    expect_integer("9007199254740991", HF_INTEGER_MAX);
    expect_integer("-9007199254740992", -HF_INTEGER_MAX - 1);
    expect_integer("9223372036854775807", INT64_MAX);
    expect_integer("-9223372036854775807", -INT64_MAX);
    expect_integer("0000000000000000000000000000000000000012", 12);
}

static void anything_else_is_no_number(void **state)
{
    static const char *const texts[] = {"",    "-",   "+1",  " 1",  "1 ",    "--1", "1-",
                                        "1.0", "1e3", "0x1", "1_0", "1,000", "abc", "1a",
                                        "a1",  "- 1", "\t1", "1\n", "/",     ":",   "\xd9\xa1"};
    int64_t number;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(text_to_integer(hf_text(texts[i]), &number));
    }
    assert_false(text_to_integer((struct hf_bytes){"1\0", 2}, &number));
    assert_false(text_to_integer(hf_text(NULL), &number));
}

static void a_number_ends_where_its_text_ends(void **state)
{
    int64_t number;

    (void)state;
    assert_true(text_to_integer((struct hf_bytes){"123456", 3}, &number));
    assert_int_equal(number, 123);
}

static void too_big_for_64_bits_saturates(void **state)
{
    int64_t number;

    (void)state;
    expect_integer("9223372036854775808", INT64_MAX);
    expect_integer("9223372036854775817", INT64_MAX);
    expect_integer("92233720368547758070", INT64_MAX);
    expect_integer("18446744073709551617", INT64_MAX);
    expect_integer("99999999999999999999999999999999999999999999999999", INT64_MAX);
    assert_true(text_to_integer(hf_text("-9223372036854775808"), &number));
    assert_true(number <= -INT64_MAX);
    assert_true(text_to_integer(hf_text("-99999999999999999999999999999"), &number));
    assert_true(number <= -INT64_MAX);
}

static void a_duration_has_one_of_four_units(void **state)
{
    (void)state;
    expect_duration("1500ms", 1500);
    expect_duration("30s", 30000);
    expect_duration("10m", 600000);
    expect_duration("2h", 7200000);
    expect_duration("0ms", 0);
    expect_duration("-5m", -300000);
    expect_duration("720h", HF_TTL_MAX_MS);
}

static void a_bare_number_counts_in_the_unit_given(void **state)
{
    int64_t duration_ms;

    (void)state;
    expect_duration("30", 30000);
    expect_duration("-30", -30000);
    assert_true(text_to_duration(hf_text("30"), 1, &duration_ms));
    assert_int_equal(duration_ms, 30);
    assert_true(text_to_duration(hf_text("30s"), 1, &duration_ms));
    assert_int_equal(duration_ms, 30000);
}

static void anything_else_is_no_duration(void **state)
{
    static const char *const texts[] = {"",      "-",   "s",    "ms",   "h",     "10 s",  "10S",
                                        "10MS",  "10H", "1.5s", "10d",  "10sec", "10mss", "10mm",
                                        "1h30m", "s10", "+10s", " 10s", "10s ",  "10m s", "-ms"};
    int64_t duration_ms;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(text_to_duration(hf_text(texts[i]), 1000, &duration_ms));
    }
    assert_false(text_to_duration((struct hf_bytes){"10s\0", 4}, 1000, &duration_ms));
}

static void a_duration_that_does_not_fit_saturates(void **state)
{
    int64_t duration_ms;

    (void)state;
    expect_duration("9223372036854775807ms", INT64_MAX);
    expect_duration("9223372036854775s", INT64_C(9223372036854775000));
    expect_duration("9223372036854776s", INT64_MAX);
    expect_duration("9223372036854776", INT64_MAX);
    expect_duration("153722867280912m", INT64_C(9223372036854720000));
    expect_duration("153722867280913m", INT64_MAX);
    expect_duration("2562047788015h", INT64_C(9223372036854000000));
    expect_duration("2562047788016h", INT64_MAX);
    expect_duration("99999999999999999999999999h", INT64_MAX);
    assert_true(text_to_duration(hf_text("-2562047788016h"), 1000, &duration_ms));
    assert_true(duration_ms <= -INT64_MAX);
}

static void a_word_is_the_same_in_any_case(void **state)
{
    (void)state;
    assert_true(text_is_word(hf_text("TTL"), "TTL"));
    assert_true(text_is_word(hf_text("ttl"), "TTL"));
    assert_true(text_is_word(hf_text("tTl"), "TTL"));
    assert_true(text_is_word(hf_text("seats.open"), "SEATS.OPEN"));
    assert_false(text_is_word(hf_text(""), "TTL"));
    assert_false(text_is_word(hf_text("TT"), "TTL"));
    assert_false(text_is_word(hf_text("TTLS"), "TTL"));
    assert_false(text_is_word(hf_text("TTX"), "TTL"));
    assert_false(text_is_word((struct hf_bytes){"TTL\0", 4}, "TTL"));
    assert_true(text_is_word(hf_text(""), ""));
}

/* Only letters have a case: no other byte may pass for one of a word's. */
static void only_letters_have_two_cases(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[] = {'A', (char)c};
        struct hf_bytes bytes = {text, 2};
        assert_int_equal(text_is_word(bytes, "AZ"), c == 'Z' || c == 'z');
        assert_int_equal(text_is_word(bytes, "A."), c == '.');
        assert_int_equal(text_is_word(bytes, "A@"), c == '@');
        assert_int_equal(text_is_word(bytes, "A["), c == '[');
    }
}

static void texts_are_equal_byte_by_byte(void **state)
{
    (void)state;
    assert_true(text_equal(hf_text("ann"), hf_text("ann")));
    assert_false(text_equal(hf_text("ann"), hf_text("Ann")));
    assert_false(text_equal(hf_text("ann"), hf_text("anna")));
    assert_false(text_equal((struct hf_bytes){"a\0b", 3}, (struct hf_bytes){"a\0c", 3}));
    assert_true(text_equal(hf_text(NULL), hf_text("")));
}

static void percent_signs_are_undone(void **state)
{
    char out[6];

    (void)state;
    assert_true(text_unescape((struct hf_bytes)HF_TEXT("a%2Fb%25"), out, sizeof out));
    assert_string_equal(out, "a/b%");
    assert_true(text_unescape((struct hf_bytes)HF_TEXT("%41%42cde"), out, sizeof out));
    assert_string_equal(out, "ABcde");
    assert_true(text_unescape((struct hf_bytes)HF_TEXT(""), out, sizeof out));
    assert_string_equal(out, "");
    assert_false(text_unescape((struct hf_bytes)HF_TEXT("abcdef"), out, sizeof out));
    assert_false(text_unescape((struct hf_bytes)HF_TEXT("a%2"), out, sizeof out));
    assert_false(text_unescape((struct hf_bytes)HF_TEXT("%zz"), out, sizeof out));
    assert_false(text_unescape((struct hf_bytes)HF_TEXT("%00"), out, sizeof out));
}

static void codes_have_ten_digits_of_32(void **state)
{
    char out[TEXT_CODE + 1] = "";

    (void)state;
    text_code(out, 0);
    assert_string_equal(out, "0000000000");
    text_code(out, 31 | 30 << 5);
    assert_string_equal(out, "ZY00000000");
}

static void a_code_is_read_back(void **state)
{
    uint64_t numbers[] = {0, 1, 31 | 30 << 5, (UINT64_C(1) << 50) - 1, UINT64_C(0x2345678901abc)};
    const char *others[] = {"",           "012345678",  "01234567890",
                            "012345678I", "012345678a", "0123 56789"};
    uint64_t number;
    char out[TEXT_CODE];

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        text_code(out, numbers[i]);
        assert_true(text_code_read((struct hf_bytes){out, sizeof out}, &number));
        assert_int_equal(number, numbers[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(text_code_read(hf_text(others[i]), &number));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percent_signs_are_undone),
        cmocka_unit_test(codes_have_ten_digits_of_32),
        cmocka_unit_test(a_code_is_read_back),
        cmocka_unit_test(digits_with_an_optional_minus_are_a_number),
        cmocka_unit_test(anything_else_is_no_number),
        cmocka_unit_test(a_number_ends_where_its_text_ends),
        cmocka_unit_test(too_big_for_64_bits_saturates),
        cmocka_unit_test(a_duration_has_one_of_four_units),
        cmocka_unit_test(a_bare_number_counts_in_the_unit_given),
        cmocka_unit_test(anything_else_is_no_duration),
        cmocka_unit_test(a_duration_that_does_not_fit_saturates),
        cmocka_unit_test(a_word_is_the_same_in_any_case),
        cmocka_unit_test(only_letters_have_two_cases),
        cmocka_unit_test(texts_are_equal_byte_by_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
