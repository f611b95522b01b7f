/* SPDX-License-Identifier: Apache-2.0
 *
 * Which transfers a product's stock takes to the counters that want it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/stock/transfer_plan.h"

#define COUNTERS_MAX (1 + STOCK_SHARDS_MAX)

static struct counter_seen seen[COUNTERS_MAX];
static struct stock_product product;
static struct transfer_plan plan;
static struct list wants;
static struct stock_want want[4];
static size_t want_count;

/* A product with these counters, the main one first, of which all others have nothing. */
static void has(size_t counters, size_t count, const int64_t *available)
{
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < count; i++) {
        seen[i].available = available[i];
    }
    product = (struct stock_product){.counters = counters, .seen = seen};
    list_init(&wants);
    want_count = 0;
}

#define HAS(counters, ...)                                                                         \
    has(counters, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static void wants_kind(enum stock_want_kind kind, size_t target, int64_t quantity)
{
    struct stock_want *added = &want[want_count++];

    *added = (struct stock_want){.kind = kind, .target = target, .quantity = quantity};
    list_add_last(&wants, &added->node);
}

static void wants_quantity(size_t target, int64_t quantity)
{
    wants_kind(STOCK_WANT_QUANTITY, target, quantity);
}

static int64_t sum_seen(void)
{
    int64_t sum = 0;

    for (size_t i = 0; i < product.counters; i++) {
        sum += seen[i].available;
    }
    return sum;
}

/* Makes the plan. Every move has a source and a target of the product, and something to move. */
static void make_plan(void)
{
    transfer_plan_init(&plan, &product, product.counters);
    transfer_plan_make(&plan, &wants);
    assert_false(plan.failed);
    for (size_t i = 0; i < plan.count; i++) {
        const struct transfer_plan_move *move = &plan.moves[i];
        assert_true(move->source < product.counters && move->target < product.counters);
        assert_true(move->source != move->target && move->quantity > 0);
        for (size_t j = 0; j < i; j++) { /* of two between the same counters one would be lost */
            assert_true(plan.moves[j].source != move->source ||
                        plan.moves[j].target != move->target);
        }
    }
}

static void assert_move(size_t i, size_t source, size_t target, int64_t quantity)
{
    assert_true(i < plan.count);
    assert_int_equal(plan.moves[i].source, source);
    assert_int_equal(plan.moves[i].target, target);
    assert_int_equal(plan.moves[i].quantity, quantity);
}

static int end(void **state)
{
    (void)state;
    transfer_plan_free(&plan);
    plan = (struct transfer_plan){.count = 0};
    return 0;
}

/* ---- a sharded product ----------------------------------------------------------------------- */

static void nothing_is_moved_without_a_want(void **state)
{
    (void)state;
    HAS(3, 5, 0, 7);
    make_plan();
    assert_int_equal(plan.count, 0);
}

static void a_counter_that_has_enough_gets_nothing(void **state)
{
    (void)state;
    HAS(3, 0, 5, 100);
    wants_quantity(1, 5);
    make_plan();
    assert_int_equal(plan.count, 0);
}

static void half_of_the_richest_comes_if_less_is_missing(void **state)
{
    (void)state;
    HAS(4, 3, 1, 101, 50);
    wants_quantity(1, 2);
    make_plan();
    assert_int_equal(plan.count, 1);
    assert_move(0, 2, 1, 51);
}

static void what_is_missing_comes_if_half_is_less(void **state)
{
    (void)state;
    HAS(3, 0, 1, 10);
    wants_quantity(1, 9);
    make_plan();
    assert_int_equal(plan.count, 1);
    assert_move(0, 2, 1, 8);
}

static void several_counters_help_if_one_has_too_little(void **state)
{
    (void)state;
    HAS(5, 2, 0, 3, 4, 5);
    wants_quantity(1, 14);
    make_plan();
    assert_int_equal(plan.count, 4);
    assert_move(0, 4, 1, 5);
    assert_move(1, 3, 1, 4);
    assert_move(2, 2, 1, 3);
    assert_move(3, 0, 1, 2);
}

static void what_all_together_have_not_moves_nothing(void **state)
{
    (void)state;
    HAS(3, 2, 3, 4);
    wants_quantity(1, 10);
    make_plan();
    assert_int_equal(plan.count, 0);
}

static void exactly_all_there_is_can_be_wanted(void **state)
{
    (void)state;
    HAS(3, 2, 3, 4);
    wants_quantity(2, 9);
    make_plan();
    assert_int_equal(plan.count, 2);
    assert_move(0, 1, 2, 3);
    assert_move(1, 0, 2, 2);
    assert_int_equal(plan.left[0] + plan.left[1] + plan.left[2], 0);
}

static void the_main_counter_can_want_too(void **state)
{
    (void)state;
    HAS(3, 0, 0, 8);
    wants_quantity(COUNTER_MAIN, 3);
    make_plan();
    assert_int_equal(plan.count, 1);
    assert_move(0, 2, 0, 4);
}

static void what_one_want_gets_no_other_is_promised(void **state)
{
    (void)state;
    HAS(3, 0, 10, 0);
    wants_quantity(1, 8);
    wants_quantity(2, 3); /* of 10, 8 are the first want's */
    wants_quantity(2, 2);
    make_plan();
    assert_int_equal(plan.count, 1);
    assert_move(0, 1, 2, 2);
    assert_int_equal(plan.left[1] + plan.left[2], 0);
}

static void two_wants_at_a_counter_make_one_move(void **state)
{
    (void)state;
    HAS(2, 10, 0);
    wants_quantity(1, 6);
    wants_quantity(1, 4);
    make_plan();
    assert_int_equal(plan.count, 1);
    assert_move(0, 0, 1, 10);
}

/* A command that only wants the product to be read again asks for 0 at the main counter. */
static void nothing_is_wanted_and_nothing_moved(void **state)
{
    (void)state;
    HAS(3, 0, 5, 5);
    wants_quantity(COUNTER_MAIN, 0);
    wants_kind(STOCK_WANT_FIGURES, COUNTER_MAIN, 7);
    make_plan();
    assert_int_equal(plan.count, 0);
}

/* The product had more shards when the want was made. */
static void a_counter_that_is_not_there_gets_nothing(void **state)
{
    (void)state;
    HAS(3, 5, 5, 5);
    wants_quantity(3, 1);
    wants_quantity(SIZE_MAX, 1);
    make_plan();
    assert_int_equal(plan.count, 0);
}

static void all_stock_in_the_last_of_1024_shards_is_found(void **state)
{
    (void)state;
    HAS(COUNTERS_MAX, 0);
    seen[STOCK_SHARDS_MAX].available = 1000;
    wants_quantity(1, 1);
    wants_quantity(512, 600);
    make_plan();
    assert_int_equal(plan.count, 3);
    assert_move(0, STOCK_SHARDS_MAX, 1, 500);
    assert_move(1, STOCK_SHARDS_MAX, 512, 500);
    assert_move(2, 1, 512, 250);
}

static void one_from_each_of_1024_shards_is_gathered(void **state)
{
    (void)state;
    HAS(COUNTERS_MAX, 0);
    for (size_t i = 1; i < COUNTERS_MAX; i++) {
        seen[i].available = 1;
    }
    wants_quantity(COUNTER_MAIN, STOCK_SHARDS_MAX);
    make_plan();
    assert_int_equal(plan.count, STOCK_SHARDS_MAX);
    for (size_t i = 0; i < plan.count; i++) {
        assert_int_equal(plan.moves[i].target, COUNTER_MAIN);
        assert_int_equal(plan.moves[i].quantity, 1);
    }
}

static void the_largest_numbers_do_not_overflow(void **state)
{
    (void)state;
    HAS(COUNTERS_MAX, 0);
    for (size_t i = 1; i < COUNTERS_MAX; i++) { /* no product has so much: a key was damaged */
        seen[i].available = HF_INTEGER_MAX;
    }
    seen[0].available = HF_INTEGER_MAX - 1;
    wants_quantity(COUNTER_MAIN, HF_INTEGER_MAX);
    make_plan();
    assert_int_equal(plan.count, 1);
    assert_move(0, 1, 0, HF_INTEGER_MAX / 2 + 1);
}

/* A failover lost a transfer that it had made, or another program took more than there was. */
static void a_counter_that_owes_some_gives_nothing_and_is_made_up_for(void **state)
{
    (void)state;
    HAS(3, -4, 0, 20);
    wants_quantity(COUNTER_MAIN, 10);
    make_plan();
    assert_int_equal(plan.count, 1);
    assert_move(0, 2, 0, 14);
    end(NULL);
    HAS(3, -4, 0, 20);
    wants_quantity(1, 17);
    make_plan();
    assert_int_equal(plan.count, 1); /* what is owed, and nothing for a want that is too large */
    assert_move(0, 2, 0, 4);
}

static void what_is_owed_is_paid_as_far_as_there_is_any(void **state)
{
    (void)state;
    HAS(4, 2, -9, 3, -1);
    make_plan();
    assert_int_equal(plan.count, 2);
    assert_move(0, 2, 1, 3);
    assert_move(1, 0, 1, 2);
    assert_int_equal(plan.left[1], -4);
}

/* ---- spreading ------------------------------------------------------------------------------- */

static void the_main_counter_is_spread_in_equal_shares(void **state)
{
    (void)state;
    HAS(4, 11, 100, 0, 0);
    wants_kind(STOCK_WANT_SPREAD, COUNTER_MAIN, 0);
    make_plan();
    assert_int_equal(plan.count, 3);
    assert_move(0, 0, 1, 4);
    assert_move(1, 0, 2, 4);
    assert_move(2, 0, 3, 3);
    assert_int_equal(plan.left[0], 0);
}

static void fewer_than_shards_go_to_the_first_ones(void **state)
{
    (void)state;
    HAS(COUNTERS_MAX, 3);
    wants_kind(STOCK_WANT_SPREAD, COUNTER_MAIN, 0);
    make_plan();
    assert_int_equal(plan.count, 3);
    assert_move(2, 0, 3, 1);
}

static void a_large_stock_is_spread_over_1024_shards_to_the_last_one(void **state)
{
    (void)state;
    HAS(COUNTERS_MAX, HF_INTEGER_MAX);
    wants_kind(STOCK_WANT_SPREAD, COUNTER_MAIN, 0);
    make_plan();
    assert_int_equal(plan.count, STOCK_SHARDS_MAX);
    int64_t sum = 0;
    for (size_t i = 0; i < plan.count; i++) {
        sum += plan.moves[i].quantity;
    }
    assert_int_equal(sum, HF_INTEGER_MAX);
}

static void nothing_to_spread_moves_nothing(void **state)
{
    (void)state;
    HAS(3, 0, 5, 5);
    wants_kind(STOCK_WANT_SPREAD, COUNTER_MAIN, 0);
    make_plan();
    assert_int_equal(plan.count, 0);
    end(NULL);
    HAS(1, 9); /* no shards */
    wants_kind(STOCK_WANT_SPREAD, COUNTER_MAIN, 0);
    wants_quantity(COUNTER_MAIN, 9);
    wants_quantity(COUNTER_MAIN, 1);
    make_plan();
    assert_int_equal(plan.count, 0);
}

/* ---- a merged product ------------------------------------------------------------------------ */

static void merged_shards_are_emptied_whatever_is_wanted(void **state)
{
    (void)state;
    HAS(4, 7, 3, 0, 9);
    product.merged = true;
    wants_quantity(1, 100);
    wants_kind(STOCK_WANT_SPREAD, COUNTER_MAIN, 0);
    make_plan();
    assert_int_equal(plan.count, 2);
    assert_move(0, 1, 0, HF_INTEGER_MAX); /* whatever the shard has by then */
    assert_move(1, 3, 0, HF_INTEGER_MAX);
}

static void nothing_is_drained_of_empty_shards(void **state)
{
    (void)state;
    HAS(COUNTERS_MAX, 7, 0, 0);
    product.merged = true;
    make_plan();
    assert_int_equal(plan.count, 0);
}

static void a_merged_shard_that_owes_some_is_paid_by_the_main_counter(void **state)
{
    (void)state;
    HAS(3, 7, 2, -3);
    product.merged = true;
    make_plan();
    assert_int_equal(plan.count, 2);
    assert_move(0, 0, 2, 3);
    assert_move(1, 1, 0, HF_INTEGER_MAX);
}

/* ---- any product ----------------------------------------------------------------------------- */

static uint32_t dice = 1;

static int64_t roll(int64_t most)
{
    dice = dice * 1103515245 + 12345;
    return (int64_t)(dice >> 8) % (most + 1);
}

static void no_plan_makes_or_loses_stock(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        int64_t wanted = 0;
        HAS((size_t)roll(8) + 2, 0);
        for (size_t i = 0; i < product.counters; i++) {
            seen[i].available = roll(20);
        }
        for (int i = 0; i < 3; i++) {
            wants_quantity((size_t)roll(9), roll(60));
        }
        make_plan();
        int64_t left = 0;
        for (size_t i = 0; i < product.counters; i++) {
            assert_true(plan.left[i] >= 0);
            left += plan.left[i];
        }
        wanted = sum_seen() - left;
        assert_true(wanted >= 0);
        for (unsigned set = 0;; set++) { /* what is gone is what some of the wants got */
            int64_t sum = 0;
            assert_true(set < 8);
            for (unsigned i = 0; i < 3; i++) {
                sum += set >> i & 1 ? want[i].quantity : 0;
            }
            if (sum == wanted) {
                break;
            }
        }
        end(NULL);
    }
}

#define CASE(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_moved_without_a_want),
        CASE(a_counter_that_has_enough_gets_nothing),
        CASE(half_of_the_richest_comes_if_less_is_missing),
        CASE(what_is_missing_comes_if_half_is_less),
        CASE(several_counters_help_if_one_has_too_little),
        CASE(what_all_together_have_not_moves_nothing),
        CASE(exactly_all_there_is_can_be_wanted),
        CASE(the_main_counter_can_want_too),
        CASE(what_one_want_gets_no_other_is_promised),
        CASE(two_wants_at_a_counter_make_one_move),
        CASE(nothing_is_wanted_and_nothing_moved),
        CASE(a_counter_that_is_not_there_gets_nothing),
        CASE(all_stock_in_the_last_of_1024_shards_is_found),
        CASE(one_from_each_of_1024_shards_is_gathered),
        CASE(the_largest_numbers_do_not_overflow),
        CASE(a_counter_that_owes_some_gives_nothing_and_is_made_up_for),
        CASE(what_is_owed_is_paid_as_far_as_there_is_any),
        CASE(the_main_counter_is_spread_in_equal_shares),
        CASE(fewer_than_shards_go_to_the_first_ones),
        CASE(a_large_stock_is_spread_over_1024_shards_to_the_last_one),
        CASE(nothing_to_spread_moves_nothing),
        CASE(merged_shards_are_emptied_whatever_is_wanted),
        CASE(nothing_is_drained_of_empty_shards),
        CASE(a_merged_shard_that_owes_some_is_paid_by_the_main_counter),
        CASE(no_plan_makes_or_loses_stock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
