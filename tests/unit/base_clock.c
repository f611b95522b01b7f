/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks never run backwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

static void simulated_clock_stands_where_it_is_put(void **state)
{
    struct clock clock;

    (void)state;
    clock_simulated(&clock, 1700000000000);
    assert_int_equal(clock_now(&clock), 1700000000000);
    assert_int_equal(clock_now(&clock), 1700000000000);
    clock_set(&clock, 1700000000001);
    assert_int_equal(clock_now(&clock), 1700000000001);
}

static void clock_set_back_stands_still_until_it_has_caught_up(void **state)
{
    struct clock clock;

    (void)state;
    clock_simulated(&clock, 1000);
    assert_int_equal(clock_now(&clock), 1000);
    clock_set(&clock, 400);
    assert_int_equal(clock_now(&clock), 1000);
    clock_set(&clock, 999);
    assert_int_equal(clock_now(&clock), 1000);
    clock_set(&clock, 1000);
    assert_int_equal(clock_now(&clock), 1000);
    clock_set(&clock, 1001);
    assert_int_equal(clock_now(&clock), 1001);
}

static void time_nobody_was_told_binds_nobody(void **state)
{
    struct clock clock;

    (void)state;
    clock_simulated(&clock, 1000);
    assert_int_equal(clock_now(&clock), 1000);
    clock_set(&clock, 5000);
    clock_set(&clock, 2000);
    assert_int_equal(clock_now(&clock), 2000);
}

static void real_clock_tells_the_time_of_day(void **state)
{
    struct clock clock;
    int64_t before_ms = (int64_t)time(NULL) * 1000;

    (void)state;
    clock_real(&clock);
    int64_t now_ms = clock_now(&clock);
    assert_true(now_ms >= before_ms - 2000);
    assert_true(now_ms <= (int64_t)time(NULL) * 1000 + 3000);
}

static void real_clock_never_runs_back(void **state)
{
    struct clock clock;
    int64_t last_ms = 0;
    uint64_t last_ns = 0;

    (void)state;
    clock_real(&clock);
    for (int i = 0; i < 10000; i++) {
        int64_t now_ms = clock_now(&clock);
        uint64_t now_ns = clock_nanoseconds();
        assert_true(now_ms >= last_ms);
        assert_true(now_ns >= last_ns);
        last_ms = now_ms;
        last_ns = now_ns;
    }
    clock.offset_ms -= 100000; /* whatever happens to what it reads */
    assert_true(clock_now(&clock) >= last_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated_clock_stands_where_it_is_put),
        cmocka_unit_test(clock_set_back_stands_still_until_it_has_caught_up),
        cmocka_unit_test(time_nobody_was_told_binds_nobody),
        cmocka_unit_test(real_clock_tells_the_time_of_day),
        cmocka_unit_test(real_clock_never_runs_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
