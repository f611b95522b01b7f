/* SPDX-License-Identifier: Apache-2.0
 *
 * The circuit breaker: when it opens, what it lets through, how it closes again. Time is passed
 * in. */
#include "service/breaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct breaker_options options = {
    .window_ms = 1000, .failures = 50, .open_for_ms = 500};

static void note_many(struct breaker *breaker, unsigned count, bool succeeded, int64_t now_ms)
{
    for (unsigned i = 0; i < count; i++) {
        breaker_note(breaker, succeeded, now_ms);
    }
}

static void open_at(struct breaker *breaker, int64_t now_ms)
{
    breaker_init(breaker, &options, now_ms);
    note_many(breaker, BREAKER_CALLS_MIN, false, now_ms);
    assert_int_equal(breaker->state, BREAKER_OPEN);
}

static void it_stays_closed_while_calls_go_well(void **state)
{
    struct breaker breaker;
    (void)state;

    breaker_init(&breaker, &options, 0);
    for (int64_t now_ms = 0; now_ms < 10000; now_ms += 10) {
        assert_true(breaker_allows(&breaker, now_ms));
        breaker_note(&breaker, true, now_ms);
    }
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_int_equal(breaker.opened, 0);
}

static void a_few_failures_alone_do_not_open_it(void **state)
{
    struct breaker breaker;
    (void)state;

    breaker_init(&breaker, &options, 0);
    note_many(&breaker, BREAKER_CALLS_MIN - 1, false, 5);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    breaker_note(&breaker, false, 5);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_int_equal(breaker.opened, 1);
}

static void it_opens_at_its_share_of_failures(void **state)
{
    struct breaker breaker;
    (void)state;

    breaker_init(&breaker, &options, 0);
    note_many(&breaker, 51, true, 0);
    note_many(&breaker, 50, false, 10);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    breaker_note(&breaker, false, 10);
    assert_int_equal(breaker.state, BREAKER_OPEN);
}

static void what_is_older_than_the_window_is_forgotten(void **state)
{
    struct breaker breaker;
    (void)state;

    breaker_init(&breaker, &options, 0);
    note_many(&breaker, BREAKER_CALLS_MIN - 1, false, 0);
    breaker_note(&breaker, false, 1000);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    /* The window slides: those of half a window ago still count. */
    note_many(&breaker, BREAKER_CALLS_MIN - 2, false, 1500);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    breaker_note(&breaker, false, 1900);
    assert_int_equal(breaker.state, BREAKER_OPEN);
}

static void a_long_pause_empties_the_window(void **state)
{
    struct breaker breaker;
    (void)state;

    breaker_init(&breaker, &options, 0);
    note_many(&breaker, BREAKER_CALLS_MIN - 1, false, 0);
    note_many(&breaker, BREAKER_CALLS_MIN - 1, false, 1000000);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void open_it_lets_nothing_through_until_its_time_is_over(void **state)
{
    struct breaker breaker;
    (void)state;

    open_at(&breaker, 100);
    assert_false(breaker_allows(&breaker, 100));
    assert_false(breaker_allows(&breaker, 599));
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_true(breaker_allows(&breaker, 600));
    assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
}

static void half_open_it_tries_a_few_at_a_time_and_closes(void **state)
{
    struct breaker breaker;
    (void)state;

    open_at(&breaker, 0);
    for (unsigned i = 0; i < BREAKER_TRIALS; i++) {
        assert_true(breaker_allows(&breaker, 500));
    }
    assert_false(breaker_allows(&breaker, 500));
    for (unsigned i = 0; i < BREAKER_TRIALS; i++) {
        assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
        breaker_note(&breaker, true, 510);
    }
    assert_int_equal(breaker.state, BREAKER_CLOSED);
    assert_true(breaker_allows(&breaker, 510));
    /* Failures from before it opened do not count any more. */
    note_many(&breaker, BREAKER_CALLS_MIN - 1, false, 520);
    assert_int_equal(breaker.state, BREAKER_CLOSED);
}

static void half_open_one_failure_opens_it_again(void **state)
{
    struct breaker breaker;
    (void)state;

    open_at(&breaker, 0);
    assert_true(breaker_allows(&breaker, 500));
    breaker_note(&breaker, true, 501);
    assert_true(breaker_allows(&breaker, 501));
    breaker_note(&breaker, false, 502);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_int_equal(breaker.opened, 2);
    assert_false(breaker_allows(&breaker, 1001));
    assert_true(breaker_allows(&breaker, 1002));
}

static void trials_that_were_never_noted_do_not_keep_it_half_open(void **state)
{
    struct breaker breaker;
    (void)state;

    open_at(&breaker, 0);
    for (unsigned i = 0; i < BREAKER_TRIALS; i++) {
        assert_true(breaker_allows(&breaker, 500));
    }
    assert_false(breaker_allows(&breaker, 999));
    assert_true(breaker_allows(&breaker, 1000));
}

static void answers_that_come_while_it_is_open_change_nothing(void **state)
{
    struct breaker breaker;
    (void)state;

    open_at(&breaker, 0);
    note_many(&breaker, 100, true, 10);
    note_many(&breaker, 100, false, 20);
    assert_int_equal(breaker.state, BREAKER_OPEN);
    assert_int_equal(breaker.opened, 1);
    assert_true(breaker_allows(&breaker, 500));
}

static void its_states_have_names(void **state)
{
    (void)state;
    assert_string_equal(breaker_state_name(BREAKER_CLOSED), "closed");
    assert_string_equal(breaker_state_name(BREAKER_OPEN), "open");
    assert_string_equal(breaker_state_name(BREAKER_HALF_OPEN), "half-open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stays_closed_while_calls_go_well),
        cmocka_unit_test(a_few_failures_alone_do_not_open_it),
        cmocka_unit_test(it_opens_at_its_share_of_failures),
        cmocka_unit_test(what_is_older_than_the_window_is_forgotten),
        cmocka_unit_test(a_long_pause_empties_the_window),
        cmocka_unit_test(open_it_lets_nothing_through_until_its_time_is_over),
        cmocka_unit_test(half_open_it_tries_a_few_at_a_time_and_closes),
        cmocka_unit_test(half_open_one_failure_opens_it_again),
        cmocka_unit_test(trials_that_were_never_noted_do_not_keep_it_half_open),
        cmocka_unit_test(answers_that_come_while_it_is_open_change_nothing),
        cmocka_unit_test(its_states_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
