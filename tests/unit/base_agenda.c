/* SPDX-License-Identifier: Apache-2.0
 *
 * An agenda against the obvious: an array of deadlines searched from end to end. What is due is
 * popped at its millisecond and not before, in the order of deadlines, however time moves, and also
 * where there is no memory to split a bucket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/agenda.h"

enum { TIMERS = 400 };

struct record {
    uint64_t other;
    struct timer timer;
};

static struct memory memory;
static struct slab slab;
static struct agenda_pool pool;
static struct agenda agenda;

/* What the wheel should know: when each timer falls due, 0 if it is not armed. */
static int64_t due_at[TIMERS];

/* ---- memory that runs out -------------------------------------------------------------------- */

static void *(*plenty)(struct memory *memory, size_t size);
static unsigned blocks_left;

static void *sparse(struct memory *from, size_t size)
{
    if (blocks_left == 0) {
        return NULL;
    }
    blocks_left--;
    return plenty(from, size);
}

static void refuse_after(unsigned blocks)
{
    blocks_left = blocks;
    memory.zeroed = sparse;
}

static void memory_init_again(void)
{
    memory.zeroed = plenty;
}

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    plenty = memory.zeroed;
    slab_init(&slab, &memory, sizeof(struct record));
    for (uint32_t i = 0; i < TIMERS; i++) {
        assert_int_equal(slab_take(&slab), i);
        due_at[i] = 0;
    }
    agenda_pool_init(&pool, &memory, &slab, offsetof(struct record, timer));
    agenda = (struct agenda){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    memory_init_again();
    agenda_pool_free(&pool);
    slab_free(&slab);
    assert_int_equal(memory.used, 0);
    return 0;
}

/* The earliest time at which one of the timers falls due. */
static int64_t true_next(void)
{
    int64_t next = AGENDA_NEVER;

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
    agenda_add(&pool, &agenda, i, deadline_ms);
    due_at[i] = deadline_ms;
}

static void disarm(uint32_t i)
{
    agenda_remove(&pool, &agenda, i);
    due_at[i] = 0;
}

static uint32_t pop(int64_t now_ms)
{
    int64_t deadline_ms = 0;
    uint32_t index = agenda_pop(&pool, &agenda, now_ms, &deadline_ms);

    assert_int_equal(deadline_ms, index == NONE ? 0 : due_at[index]);
    return index;
}

/* A deadline years away puts nodes above all others, which are gone with it. */
static void arm_far_and_back(void)
{
    agenda_remove(&pool, &agenda, 0);
    agenda_add(&pool, &agenda, 0, (INT64_C(1) << 48) - 1);
    assert_true(agenda_next(&pool, &agenda) <= INT64_C(1700000000001));
    agenda_remove(&pool, &agenda, 0);
    agenda_add(&pool, &agenda, 0, INT64_C(1700000000000));
}

/* Pops all that is due by now: each must be the earliest there is, and in the end none is left. */
static void pop_all(int64_t now_ms)
{
    for (uint32_t i; (i = pop(now_ms)) != NONE;) {
        assert_true(i < TIMERS && due_at[i] != 0);
        assert_true(due_at[i] <= now_ms);
        assert_int_equal(due_at[i], true_next());
        const struct record *record = slab_at(&slab, i);
        assert_int_equal(record->timer.deadline_ms, 0);
        due_at[i] = 0;
    }
    assert_true(true_next() > now_ms);
    assert_int_equal(agenda.count, armed());
}

static void check_next(void)
{
    assert_int_equal(agenda_next(&pool, &agenda), true_next());
}

static void empty_agenda_never_has_anything(void **state)
{
    (void)state;
    assert_int_equal(agenda_next(&pool, &agenda), AGENDA_NEVER);
    assert_int_equal(pop(0), NONE);
    assert_int_equal(pop(INT64_C(1) << 47), NONE);
    assert_int_equal(agenda_next(&pool, &agenda), AGENDA_NEVER);
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
        arm(0, deadlines[d]);
        assert_int_equal(pop(deadlines[d] - 1), NONE);
        assert_true(agenda_next(&pool, &agenda) <= deadlines[d]);
        assert_int_equal(pop(deadlines[d]), 0);
        assert_int_equal(pop(deadlines[d]), NONE);
        due_at[0] = 0;
    }
}

static void deadline_that_has_passed_is_due_at_once(void **state)
{
    (void)state;
    assert_int_equal(pop(100000), NONE);
    arm(0, 1);
    arm(1, 100000);
    assert_int_equal(agenda_next(&pool, &agenda), 1);
    pop_all(100000);
    assert_int_equal(agenda.count, 0);
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
    assert_int_equal(agenda.count, 0);
}

static void due_timer_can_be_disarmed_before_it_is_popped(void **state)
{
    (void)state;
    arm(0, 10);
    arm(1, 10);
    arm(2, 10);
    assert_int_equal(pop(10), 0);
    due_at[0] = 0;
    disarm(1);
    pop_all(10);
    assert_int_equal(agenda.count, 0);
}

static void popped_timer_can_be_armed_again_at_once(void **state)
{
    (void)state;
    for (int64_t now_ms = 0, round = 0; round < 1000; round++) {
        arm(0, now_ms + 7);
        now_ms += 7;
        assert_int_equal(pop(now_ms - 1), NONE);
        assert_int_equal(pop(now_ms), 0);
        due_at[0] = 0;
    }
}

/* Asking only when agenda_next() says so finds every timer at its very deadline. */
static void following_next_misses_no_deadline(void **state)
{
    (void)state;
    srandom(4);
    for (uint32_t i = 0; i < TIMERS; i++) {
        arm(i, 1 + random() % 5000000);
    }
    int looks = 0;
    int64_t last = 0;
    while (agenda.count > 0) {
        int64_t next = agenda_next(&pool, &agenda);
        assert_true(next > last);
        last = next;
        pop_all(next);
        looks++;
    }
    assert_true(looks <= TIMERS);
}

static int64_t random_step(int64_t now_ms)
{
    switch (random() % 6) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return random() % 64;
    case 3:
        return true_next() == AGENDA_NEVER ? 5
               : true_next() > now_ms      ? true_next() - now_ms
                                           : 0; /* exactly due */
    case 4:
        return random() % 100000;
    default:
        return random() % 50 ? random() % 5000 : random() * 3;
    }
}

static void random_operations(unsigned seed, int steps)
{
    int64_t now_ms = 1700000000123;

    srandom(seed);
    pop_all(now_ms);
    for (int step = 0; step < steps; step++) {
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
        now_ms += random_step(now_ms);
        if (random() % 3 == 0) { /* one only; the rest stays due */
            uint32_t i = pop(now_ms);
            assert_true(i == NONE ? true_next() > now_ms : due_at[i] == true_next());
            if (i != NONE) {
                due_at[i] = 0;
            }
        } else {
            pop_all(now_ms);
        }
    }
}

static void random_operations_agree_with_an_array(void **state)
{
    (void)state;
    random_operations(5, 30000);
}

static void buckets_that_cannot_be_split_are_searched(void **state)
{
    (void)state;
    refuse_after(0);
    random_operations(6, 10000);
    assert_int_equal(pool.nodes.count, 0);
}

/* Memory comes and goes: what was split before goes on, and nothing is lost on the way. */
static void memory_may_run_out_at_any_time(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        refuse_after(round % 4);
        random_operations(100 + round, 500);
        memory_init_again();
        random_operations(200 + round, 500);
    }
}

static void same_deadline_comes_in_the_order_of_arming(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TIMERS; i++) {
        arm(i, 5000 + i % 3);
    }
    for (uint32_t i = 0; i < TIMERS; i++) {
        uint32_t expected = i < 134 ? 3 * i : i < 267 ? 3 * (i - 134) + 1 : 3 * (i - 267) + 2;
        assert_int_equal(pop(6000), expected);
        due_at[expected] = 0;
    }
}

/* Every node is given back with the last of its records, and so is every promise of one. */
static void nodes_are_given_back(void **state)
{
    (void)state;
    srandom(7);
    for (int round = 0; round < 50; round++) {
        int64_t base_ms = random() * (INT64_C(1) << (random() % 14));
        for (uint32_t i = 0; i < TIMERS; i++) {
            arm(i, 1 + base_ms + random() % (INT64_C(1) << (1 + random() % 30)));
        }
        for (uint32_t i = 0; i < TIMERS && round % 2; i++) {
            disarm(i);
        }
        pop_all((INT64_C(1) << 48) - 1);
        assert_int_equal(pool.nodes.count, 0);
        assert_int_equal(pool.nodes.kept, 0);
    }
}

/* Millions in one millisecond or over hours: no operation touches more than a bucket's worth. */
static void top_is_as_low_as_its_records_allow(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TIMERS; i++) {
        arm(i, INT64_C(1700000000000) + i);
    }
    uint32_t nodes = pool.nodes.count;
    assert_true(nodes <= TIMERS / 64 + 4);
    arm_far_and_back();
    assert_int_equal(pool.nodes.count, nodes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(empty_agenda_never_has_anything),
        TEST(due_at_its_millisecond_and_not_before),
        TEST(deadline_that_has_passed_is_due_at_once),
        TEST(one_long_jump_pops_in_the_order_of_deadlines),
        TEST(due_timer_can_be_disarmed_before_it_is_popped),
        TEST(popped_timer_can_be_armed_again_at_once),
        TEST(following_next_misses_no_deadline),
        TEST(random_operations_agree_with_an_array),
        TEST(buckets_that_cannot_be_split_are_searched),
        TEST(memory_may_run_out_at_any_time),
        TEST(same_deadline_comes_in_the_order_of_arming),
        TEST(nodes_are_given_back),
        TEST(top_is_as_low_as_its_records_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
