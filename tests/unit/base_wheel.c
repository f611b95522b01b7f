/* SPDX-License-Identifier: Apache-2.0
 *
 * The timing wheel against the obvious: an array of deadlines searched from end to end. What is due
 * is popped at its millisecond and not before, in the order of deadlines, however time moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/wheel.h"

enum { TIMERS = 400 };

struct record {
    uint64_t other;
    struct timer timer;
};

static struct memory memory;
static struct slab slab;
static struct wheel wheel;

/* What the wheel should know: when each timer falls due, 0 if it is not armed. */
static int64_t due_at[TIMERS];

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    slab_init(&slab, &memory, sizeof(struct record));
    for (uint32_t i = 0; i < TIMERS; i++) {
        assert_int_equal(slab_take(&slab), i);
        due_at[i] = 0;
    }
    wheel_init(&wheel, &slab, offsetof(struct record, timer));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    slab_free(&slab);
    assert_int_equal(memory.used, 0);
    return 0;
}

/* The earliest time at which one of the timers falls due. */
static int64_t true_next(void)
{
    int64_t next = WHEEL_NEVER;

    for (uint32_t i = 0; i < TIMERS; i++) {
        if (due_at[i] != 0 && due_at[i] < next) {
            next = due_at[i];
        }
    }
    return next;
}

static uint32_t armed(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < TIMERS; i++) {
        count += due_at[i] != 0;
    }
    return count;
}

static void arm(uint32_t i, int64_t deadline_ms)
{
    wheel_add(&wheel, i, deadline_ms);
    /* One that has passed is due at once, after those that are due already. */
    due_at[i] = deadline_ms > wheel.now_ms ? deadline_ms : wheel.now_ms;
}

static void disarm(uint32_t i)
{
    wheel_remove(&wheel, i);
    due_at[i] = 0;
}

/* Pops all that is due by now: each must be the earliest there is, and in the end none is left. */
static void pop_all(int64_t now_ms)
{
    for (uint32_t i; (i = wheel_pop(&wheel, now_ms)) != NONE;) {
        assert_true(i < TIMERS && due_at[i] != 0);
        assert_true(due_at[i] <= now_ms);
        assert_int_equal(due_at[i], true_next());
        const struct record *record = slab_at(&slab, i);
        assert_int_equal(record->timer.deadline_ms, 0);
        due_at[i] = 0;
    }
    assert_true(true_next() > now_ms);
    assert_int_equal(wheel.count, armed());
}

static void check_next(void)
{
    assert_true(wheel_next(&wheel) <= true_next());
    assert_int_equal(wheel_next(&wheel) == WHEEL_NEVER, armed() == 0);
}

static void empty_wheel_never_has_anything(void **state)
{
    (void)state;
    assert_int_equal(wheel_next(&wheel), WHEEL_NEVER);
    assert_int_equal(wheel_pop(&wheel, 0), NONE);
    assert_int_equal(wheel_pop(&wheel, INT64_C(1) << 47), NONE);
    assert_int_equal(wheel_next(&wheel), WHEEL_NEVER);
}

static void due_at_its_millisecond_and_not_before(void **state)
{
    /* Each side of every digit's edge. */
    static const int64_t deadlines[] = {
        1,      2,        63,       64,         65,          127,           128,
        4095,   4096,     4097,     8191,       8192,        262143,        262144,
        262145, 16777215, 16777216, 1073741824, 68719476736, 1700000000000, (INT64_C(1) << 48) - 1};
    (void)state;
    for (size_t d = 0; d < sizeof deadlines / sizeof deadlines[0]; d++) {
        wheel_init(&wheel, &slab, offsetof(struct record, timer));
        arm(0, deadlines[d]);
        assert_int_equal(wheel_pop(&wheel, deadlines[d] - 1), NONE);
        assert_true(wheel_next(&wheel) <= deadlines[d]);
        assert_int_equal(wheel_pop(&wheel, deadlines[d]), 0);
        assert_int_equal(wheel_pop(&wheel, deadlines[d]), NONE);
        due_at[0] = 0;
    }
}

static void deadline_that_has_passed_is_due_at_once(void **state)
{
    (void)state;
    assert_int_equal(wheel_pop(&wheel, 100000), NONE);
    arm(0, 1);
    arm(1, 100000);
    assert_int_equal(wheel_next(&wheel), 100000);
    pop_all(100000);
    assert_int_equal(wheel.count, 0);
}

static void one_long_jump_pops_in_the_order_of_deadlines(void **state)
{
    (void)state;
    srandom(3);
    for (uint32_t i = 0; i < TIMERS; i++) {
        arm(i, 1 + (random() << 16 ^ random()) % (INT64_C(1) << (1 + random() % 47)));
    }
    check_next();
    pop_all((INT64_C(1) << 48) - 1);
    assert_int_equal(wheel.count, 0);
}

static void due_timer_can_be_disarmed_before_it_is_popped(void **state)
{
    (void)state;
    arm(0, 10);
    arm(1, 10);
    arm(2, 10);
    assert_int_equal(wheel_pop(&wheel, 10), 0);
    due_at[0] = 0;
    disarm(1);
    pop_all(10);
    assert_int_equal(wheel.count, 0);
}

static void popped_timer_can_be_armed_again_at_once(void **state)
{
    (void)state;
    for (int64_t now_ms = 0, round = 0; round < 1000; round++) {
        arm(0, now_ms + 7);
        now_ms += 7;
        assert_int_equal(wheel_pop(&wheel, now_ms - 1), NONE);
        assert_int_equal(wheel_pop(&wheel, now_ms), 0);
        due_at[0] = 0;
    }
}

/* Asking only when wheel_next() says so finds every timer at its very deadline. */
static void following_next_misses_no_deadline(void **state)
{
    (void)state;
    srandom(4);
    for (uint32_t i = 0; i < TIMERS; i++) {
        arm(i, 1 + random() % 5000000);
    }
    int looks = 0;
    while (wheel.count > 0) {
        int64_t next = wheel_next(&wheel);
        assert_true(next <= true_next());
        assert_true(next > wheel.now_ms); /* it gets on */
        pop_all(next);
        looks++;
    }
    assert_true(looks <= TIMERS * WHEEL_LEVELS);
}

static int64_t random_step(void)
{
    switch (random() % 6) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return random() % 64;
    case 3:
        return true_next() == WHEEL_NEVER ? 5 : true_next() - wheel.now_ms; /* exactly due */
    case 4:
        return random() % 100000;
    default:
        return random() % 50 ? random() % 5000 : random() * 3;
    }
}

static void random_operations_agree_with_an_array(void **state)
{
    int64_t now_ms = 1700000000123;

    (void)state;
    srandom(5);
    pop_all(now_ms);
    for (int step = 0; step < 30000; step++) {
        for (int change = (int)(random() % 5); change > 0; change--) {
            uint32_t i = (uint32_t)(random() % TIMERS);
            if (due_at[i] != 0) {
                disarm(i);
            } else {
                int64_t reach = INT64_C(1) << (random() % 33);
                arm(i, now_ms + random() % reach - (random() % 8 == 0 ? 100 : 0));
            }
        }
        check_next();
        now_ms += random_step();
        if (random() % 3 == 0) { /* one only; the rest stays due */
            uint32_t i = wheel_pop(&wheel, now_ms);
            assert_true(i == NONE ? true_next() > now_ms : due_at[i] == true_next());
            if (i != NONE) {
                due_at[i] = 0;
            }
        } else {
            pop_all(now_ms);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(empty_wheel_never_has_anything),
        TEST(due_at_its_millisecond_and_not_before),
        TEST(deadline_that_has_passed_is_due_at_once),
        TEST(one_long_jump_pops_in_the_order_of_deadlines),
        TEST(due_timer_can_be_disarmed_before_it_is_popped),
        TEST(popped_timer_can_be_armed_again_at_once),
        TEST(following_next_misses_no_deadline),
        TEST(random_operations_agree_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
