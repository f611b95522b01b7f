/* SPDX-License-Identifier: Apache-2.0
 *
 * What a mistyped word was meant to be: the nearest of those there are, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"

static const char *nearest(const char *given)
{
    static const char *const words[] = {"serve",   "demo", "call",      "exec",
                                        "journal", "top",  "resp-port", "http-port"};
    struct text_guess guess = {.given = hf_text(given)};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        text_guess_try(&guess, words[i]);
    }
    return guess.nearest;
}

static void a_slip_of_the_finger_is_understood(void **state)
{
    (void)state;
    assert_string_equal(nearest("serv"), "serve");
    assert_string_equal(nearest("sreve"), "serve");
    assert_string_equal(nearest("SERVE"), "serve");
    assert_string_equal(nearest("clal"), "call");
    assert_string_equal(nearest("jurnal"), "journal");
    assert_string_equal(nearest("tpo"), "top");
    assert_string_equal(nearest("resp_port"), "resp-port");
    assert_string_equal(nearest("htp-prot"), "http-port");
}

static void another_word_is_not_guessed(void **state)
{
    (void)state;
    assert_null(nearest("launch"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
    assert_null(nearest("a-word-that-is-longer-than-any-that-is-worth-guessing-at-all"));
}

static void a_hint_is_empty_without_a_guess(void **state)
{
    struct text_guess guess = {.given = HF_TEXT("tpo")};
    char hint[TEXT_HINT_SIZE];

    (void)state;
    assert_string_equal(text_hint(&guess, "--", hint), "");
    text_guess_try(&guess, "top");
    assert_int_equal(guess.distance, 1);
    assert_string_equal(text_hint(&guess, "--", hint), " (did you mean --top?)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_of_the_finger_is_understood),
        cmocka_unit_test(another_word_is_not_guessed),
        cmocka_unit_test(a_hint_is_empty_without_a_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
