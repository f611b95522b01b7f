/* SPDX-License-Identifier: Apache-2.0
 *
 * When the timer of the quota sync runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/quota_sync.h"

#define MINUTE ((int64_t)60 * 1000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define MIDNIGHT (20000 * DAY)

static struct sync_when read_when(const char *text)
{
    struct sync_when when;
    struct problem problem;

    assert_int_equal(sync_when_read(text, &when, &problem), HF_OK);
    return when;
}

static void a_time_of_the_day_comes_once_a_day(void **state)
{
    struct sync_when when = read_when("03:30");

    (void)state;
    assert_true(sync_when_next(&when, MIDNIGHT) == MIDNIGHT + 210 * MINUTE);
    assert_true(sync_when_next(&when, MIDNIGHT + 210 * MINUTE - 1) == MIDNIGHT + 210 * MINUTE);
    assert_true(sync_when_next(&when, MIDNIGHT + 210 * MINUTE) == MIDNIGHT + DAY + 210 * MINUTE);
    when = read_when("00:00");
    assert_true(sync_when_next(&when, MIDNIGHT) == MIDNIGHT + DAY);
    when = read_when("23:59");
    assert_true(sync_when_next(&when, MIDNIGHT) == MIDNIGHT + DAY - MINUTE);
}

static void every_so_often_counts_from_now(void **state)
{
    struct sync_when when = read_when("every 90m");

    (void)state;
    assert_true(sync_when_next(&when, MIDNIGHT + 7) == MIDNIGHT + 7 + 90 * MINUTE);
    when = read_when("every 24h");
    assert_true(sync_when_next(&when, MIDNIGHT) == MIDNIGHT + DAY);
}

static void never_does_not_come(void **state)
{
    struct sync_when when = read_when("never");

    (void)state;
    assert_true(sync_when_next(&when, MIDNIGHT) == INT64_MAX);
    when = read_when(NULL);
    assert_true(sync_when_next(&when, MIDNIGHT) == INT64_MAX);
}

static void what_is_no_time_is_refused_by_name(void **state)
{
    static const char *const wrong[] = {"",      "24:00",     "12:60",  "3:00",       "03.00",
                                        "03:0x", "every",     "every ", "every 99ms", "every 25h",
                                        "noon",  "every day", "-1:00",  "03:00:00",   "0 3:00"};
    struct sync_when when;
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(sync_when_read(wrong[i], &when, &problem), HF_INVALID_ARGUMENT);
        assert_non_null(strstr(problem.message, "quota-sync-at"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_of_the_day_comes_once_a_day),
        cmocka_unit_test(every_so_often_counts_from_now),
        cmocka_unit_test(never_does_not_come),
        cmocka_unit_test(what_is_no_time_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
