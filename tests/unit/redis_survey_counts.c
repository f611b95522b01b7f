/* SPDX-License-Identifier: Apache-2.0
 *
 * The transfers that a survey finds in the counts of their two ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "redis/stock/survey_parts.h"

static struct stock_survey survey;
static int64_t transit;

static int begin(void **state)
{
    (void)state;
    survey = (struct stock_survey){.count = 4};
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(survey.open);
    free(survey.counts);
    return 0;
}

static void counted(size_t source, size_t target, bool arrived, int64_t total)
{
    survey.counts =
        realloc(survey.counts, (survey.counts_used + 1) * sizeof *survey.counts); /* in a test */
    assert_non_null(survey.counts);
    survey.counts[survey.counts_used++] =
        (struct stock_transfer_count){source, target, arrived, total};
}

static void assert_open(size_t i, size_t source, size_t target, int64_t total)
{
    assert_true(i < survey.open_count);
    assert_int_equal(survey.open[i].source, source);
    assert_int_equal(survey.open[i].target, target);
    assert_int_equal(survey.open[i].total, total);
    assert_int_equal(survey.open[i].quantity, 0);
}

static void without_counts_nothing_is_in_transit(void **state)
{
    (void)state;
    assert_true(stock_survey_compare(&survey, &transit));
    assert_int_equal(transit, 0);
    assert_int_equal(survey.open_count, 0);
}

static void ends_that_agree_are_left_alone(void **state)
{
    (void)state;
    counted(2, 1, true, 9); /* in any order */
    counted(1, 2, false, 5);
    counted(2, 1, false, 9);
    counted(1, 2, true, 5);
    assert_true(stock_survey_compare(&survey, &transit));
    assert_int_equal(transit, 0);
    assert_int_equal(survey.open_count, 0);
}

static void ends_that_differ_are_to_be_completed_whichever_is_behind(void **state)
{
    (void)state;
    counted(1, 2, false, 5);
    counted(1, 2, true, 2);
    counted(2, 0, false, 4);
    counted(2, 0, true, 10);
    assert_true(stock_survey_compare(&survey, &transit));
    assert_int_equal(transit, 3 - 6);
    assert_int_equal(survey.open_count, 2);
    assert_open(0, 1, 2, 5);
    assert_open(1, 2, 0, 4);
}

static void an_end_that_knows_of_nothing_has_counted_none(void **state)
{
    (void)state;
    counted(0, 1, false, 7);
    counted(0, 2, true, 8);
    assert_true(stock_survey_compare(&survey, &transit));
    assert_int_equal(transit, 7 - 8);
    assert_open(0, 0, 1, 7);
    assert_open(1, 0, 2, 0);
}

static void what_stands_in_an_outbox_is_not_added_twice(void **state)
{
    (void)state;
    survey.open = calloc(1, sizeof *survey.open);
    survey.open_count = survey.open_capacity = 1;
    assert_non_null(survey.open);
    survey.open[0] = (struct stock_open_transfer){1, 2, 5, 3};
    counted(1, 2, false, 5);
    counted(1, 2, true, 2);
    assert_true(stock_survey_compare(&survey, &transit));
    assert_int_equal(transit, 3);
    assert_int_equal(survey.open_count, 1);
    assert_int_equal(survey.open[0].quantity, 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_counts_nothing_is_in_transit),
        CASE(ends_that_agree_are_left_alone),
        CASE(ends_that_differ_are_to_be_completed_whichever_is_behind),
        CASE(an_end_that_knows_of_nothing_has_counted_none),
        CASE(what_stands_in_an_outbox_is_not_added_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
