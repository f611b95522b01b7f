/* SPDX-License-Identifier: Apache-2.0
 *
 * The token bucket: never more than its rate and its burst, and no less than its rate. */
#include "service/limiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int take_many(struct limiter *limiter, int64_t now_ms, int wanted)
{
    int taken = 0;

    for (int i = 0; i < wanted; i++) {
        taken += limiter_take(limiter, now_ms);
    }
    return taken;
}

static void it_begins_with_a_tenth_of_a_second(void **state)
{
    struct limiter limiter;
    (void)state;

    limiter_init(&limiter, 50, 1, 1000);
    assert_int_equal(take_many(&limiter, 1000, 100), 5);
    assert_int_equal(limiter.let, 5);
    assert_int_equal(limiter.refused, 95);
}

static void a_low_rate_still_has_one(void **state)
{
    struct limiter limiter;
    (void)state;

    limiter_init(&limiter, 1, 3, 0);
    assert_int_equal(take_many(&limiter, 0, 10), 1);
    assert_int_equal(take_many(&limiter, 2900, 10), 0);
    assert_int_equal(take_many(&limiter, 3100, 10), 1);
}

/* In every stretch of time, whichever way the calls come. */
static void it_keeps_its_rate(void **state)
{
    static const int64_t steps_ms[] = {1, 3, 7, 20, 100, 333, 1000};
    (void)state;

    for (size_t i = 0; i < sizeof steps_ms / sizeof steps_ms[0]; i++) {
        struct limiter limiter;
        int taken = 0;
        limiter_init(&limiter, 50, 1, 0);
        for (int64_t now_ms = 0; now_ms <= 20000; now_ms += steps_ms[i]) {
            taken += take_many(&limiter, now_ms, 60);
            assert_true(taken * 1000 <= 50 * now_ms + 5000);
        }
        /* It holds no more than its burst while nobody comes. */
        int64_t fewest = steps_ms[i] <= 100 ? 50 * 20 - 5 : 20000 / steps_ms[i] * 5;
        assert_true(taken >= fewest);
    }
}

static void servers_divide_the_rate(void **state)
{
    struct limiter limiters[4];
    int taken = 0;
    (void)state;

    for (int i = 0; i < 4; i++) {
        limiter_init(&limiters[i], 50, 4, 0);
    }
    for (int64_t now_ms = 0; now_ms <= 10000; now_ms += 10) {
        for (int i = 0; i < 4; i++) {
            taken += take_many(&limiters[i], now_ms, 10);
        }
    }
    assert_in_range(taken, 500 - 4, 500 + 8);
}

static void a_rate_of_nothing_lets_nothing_through(void **state)
{
    struct limiter limiter;
    (void)state;

    limiter_init(&limiter, 0, 1, 0);
    assert_int_equal(take_many(&limiter, 0, 10), 0);
    assert_int_equal(take_many(&limiter, INT64_C(1) << 40, 10), 0);
}

static void a_pause_of_years_fills_it_and_no_more(void **state)
{
    struct limiter limiter;
    (void)state;

    limiter_init(&limiter, 1000000, 1, 0);
    assert_int_equal(take_many(&limiter, INT64_C(1) << 46, 200000), 100000);
}

static void a_clock_that_stands_gives_nothing(void **state)
{
    struct limiter limiter;
    (void)state;

    limiter_init(&limiter, 10, 1, 5000);
    assert_int_equal(take_many(&limiter, 5000, 10), 1);
    assert_int_equal(take_many(&limiter, 4000, 10), 0);
    assert_int_equal(take_many(&limiter, 5000, 10), 0);
    assert_int_equal(take_many(&limiter, 5100, 10), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_with_a_tenth_of_a_second),
        cmocka_unit_test(a_low_rate_still_has_one),
        cmocka_unit_test(it_keeps_its_rate),
        cmocka_unit_test(servers_divide_the_rate),
        cmocka_unit_test(a_rate_of_nothing_lets_nothing_through),
        cmocka_unit_test(a_pause_of_years_fills_it_and_no_more),
        cmocka_unit_test(a_clock_that_stands_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
