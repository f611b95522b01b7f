/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks never run backwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"

static int64_t kept_ms;

static int64_t read_kept(void *context)
{
    return *(int64_t *)context;
}

/* A clock that shows kept_ms. */
static void keep(struct clock *clock, int64_t now_ms)
{
    kept_ms = now_ms;
    clock_asked(clock, read_kept, &kept_ms);
}

static void kept_clock_stands_where_it_is_put(void **state)
{
    struct clock clock;

    (void)state;
    keep(&clock, 1700000000000);
    assert_int_equal(clock_now(&clock), 1700000000000);
    assert_int_equal(clock_now(&clock), 1700000000000);
    kept_ms = 1700000000001;
    assert_int_equal(clock_now(&clock), 1700000000001);
}

static void clock_set_back_stands_still_until_it_has_caught_up(void **state)
{
    struct clock clock;

    (void)state;
    keep(&clock, 1000);
    assert_int_equal(clock_now(&clock), 1000);
    kept_ms = 400;
    assert_int_equal(clock_now(&clock), 1000);
    kept_ms = 999;
    assert_int_equal(clock_now(&clock), 1000);
    kept_ms = 1000;
    assert_int_equal(clock_now(&clock), 1000);
    kept_ms = 1001;
    assert_int_equal(clock_now(&clock), 1001);
}

static void time_nobody_was_told_binds_nobody(void **state)
{
    struct clock clock;

    (void)state;
    keep(&clock, 1000);
    assert_int_equal(clock_now(&clock), 1000);
    kept_ms = 5000;
    kept_ms = 2000;
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

/* ---- running clocks -------------------------------------------------------------------------- */

static const uint8_t one_boot[CLOCK_BOOT_BYTES] = {1}, other_boot[CLOCK_BOOT_BYTES] = {2};
static const struct clock_run no_run;
static int64_t elapsed_ms, wall_ms;

static int64_t read_elapsed(struct clock *clock)
{
    (void)clock;
    return elapsed_ms;
}

static int64_t read_wall(struct clock *clock)
{
    (void)clock;
    return wall_ms;
}

/* A clock as after a start at these times. */
static struct clock begin(int64_t elapsed, int64_t wall, int64_t last_ms,
                          const struct clock_run *before)
{
    struct clock clock;
    struct clock_beginning found;

    elapsed_ms = elapsed;
    wall_ms = wall;
    clock_running(&clock, read_elapsed, read_wall, one_boot);
    assert_true(clock_begin(&clock, last_ms, before, &found));
    return clock;
}

static void pass(int64_t ms)
{
    elapsed_ms += ms;
    wall_ms += ms;
}

static void a_wall_clock_that_is_ahead_is_followed_at_the_start(void **state)
{
    (void)state;
    struct clock clock = begin(500, 1000000, 4000, &no_run);
    assert_int_equal(clock_now(&clock), 1000000);
    assert_int_equal(clock_ahead_ms(&clock), 0);
}

static void time_goes_on_at_once_from_where_it_was_if_the_wall_clock_is_behind(void **state)
{
    (void)state;
    struct clock clock = begin(500, 1000000, 4600000, &no_run);
    assert_int_equal(clock_now(&clock), 4600000);
    assert_int_equal(clock_ahead_ms(&clock), 3600000);
    pass(1);
    assert_int_equal(clock_now(&clock), 4600001);
    pass(999);
    assert_int_equal(clock_now(&clock), 4600999); /* 1 ms nearer to the wall */
}

static void on_the_same_boot_the_time_between_two_runs_is_known(void **state)
{
    struct clock_run before = {.boot = {1}, .offset_ms = 1000000};

    (void)state;
    struct clock clock = begin(70000, 5, 1010000, &before);
    assert_int_equal(clock_now(&clock), 1070000);
    memcpy(before.boot, other_boot, sizeof before.boot);
    clock = begin(70000, 5, 1010000, &before);
    assert_int_equal(clock_now(&clock), 1010000);
}

static void a_boot_that_is_not_known_is_never_the_same(void **state)
{
    static const uint8_t unknown[CLOCK_BOOT_BYTES];
    struct clock_beginning found;
    struct clock clock;

    (void)state;
    elapsed_ms = 70000;
    wall_ms = 5;
    clock_running(&clock, read_elapsed, read_wall, unknown);
    assert_true(clock_begin(&clock, 10, &(struct clock_run){.offset_ms = 1000000}, &found));
    assert_false(found.same_boot);
    assert_int_equal(clock_now(&clock), 10);
}

static void a_step_of_the_wall_clock_moves_nothing_at_once(void **state)
{
    static const int64_t steps_ms[] = {-3600000, 3600000, -315360000000, 315360000000};

    (void)state;
    for (size_t i = 0; i < sizeof steps_ms / sizeof steps_ms[0]; i++) {
        struct clock clock = begin(500, 1700000000000, 0, &no_run);
        int64_t start_ms = clock_now(&clock);
        wall_ms += steps_ms[i];
        assert_int_equal(clock_now(&clock), start_ms);
        pass(10000);
        int64_t late_ms = clock_now(&clock) - start_ms - 10000;
        assert_int_equal(late_ms, steps_ms[i] > 0 ? 10 : -10);
    }
}

static void the_wall_clock_is_neared_and_not_passed(void **state)
{
    (void)state;
    for (int64_t step_ms = -50; step_ms <= 50; step_ms += 10) {
        struct clock clock = begin(500, 1700000000000, 0, &no_run);
        int64_t last_ms = clock_now(&clock);
        wall_ms += step_ms;
        for (int i = 0; i < 1000; i++) {
            pass(100);
            int64_t now_ms = clock_now(&clock);
            assert_true(now_ms >= last_ms + 99 && now_ms <= last_ms + 101);
            last_ms = now_ms;
        }
        assert_int_equal(clock_ahead_ms(&clock), 0);
    }
}

static void a_run_says_what_the_next_goes_on_from(void **state)
{
    (void)state;
    struct clock clock = begin(500, 1000000, 0, &no_run);
    struct clock_run run = clock_run(&clock);
    assert_memory_equal(run.boot, one_boot, sizeof one_boot);
    assert_int_equal(run.offset_ms, 999500);
    pass(60000);
    clock = begin(elapsed_ms, 3, 1000000, &run);
    assert_int_equal(clock_now(&clock), 1060000);
}

static void times_out_of_bounds_are_refused(void **state)
{
    static const int64_t wrong[] = {-1, CLOCK_MAX_MS + 1, INT64_MIN, INT64_MAX};
    struct clock_beginning found;
    struct clock clock;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        elapsed_ms = 500;
        wall_ms = 1000;
        clock_running(&clock, read_elapsed, read_wall, one_boot);
        assert_false(clock_begin(&clock, wrong[i], &no_run, &found));
        wall_ms = wrong[i];
        assert_false(clock_begin(&clock, 1000, &no_run, &found));
    }
    wall_ms = CLOCK_MAX_MS;
    assert_true(clock_begin(&clock, 1000, &no_run, &found));
}

static void the_real_clock_knows_its_boot(void **state)
{
    static const uint8_t unknown[CLOCK_BOOT_BYTES];
    struct clock clocks[2];

    (void)state;
    clock_real(&clocks[0]);
    clock_real(&clocks[1]);
    assert_memory_equal(clocks[0].boot, clocks[1].boot, sizeof clocks[0].boot);
    assert_memory_not_equal(clocks[0].boot, unknown, sizeof unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_clock_stands_where_it_is_put),
        cmocka_unit_test(clock_set_back_stands_still_until_it_has_caught_up),
        cmocka_unit_test(time_nobody_was_told_binds_nobody),
        cmocka_unit_test(real_clock_tells_the_time_of_day),
        cmocka_unit_test(real_clock_never_runs_back),
        cmocka_unit_test(a_wall_clock_that_is_ahead_is_followed_at_the_start),
        cmocka_unit_test(time_goes_on_at_once_from_where_it_was_if_the_wall_clock_is_behind),
        cmocka_unit_test(on_the_same_boot_the_time_between_two_runs_is_known),
        cmocka_unit_test(a_boot_that_is_not_known_is_never_the_same),
        cmocka_unit_test(a_step_of_the_wall_clock_moves_nothing_at_once),
        cmocka_unit_test(the_wall_clock_is_neared_and_not_passed),
        cmocka_unit_test(a_run_says_what_the_next_goes_on_from),
        cmocka_unit_test(times_out_of_bounds_are_refused),
        cmocka_unit_test(the_real_clock_knows_its_boot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
