/* SPDX-License-Identifier: Apache-2.0
 *
 * A follower carries out every item once, in order, behind the one that makes them; without a
 * thread it is the maker itself who does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/follower.h"

#define ITEMS 100000
#define SLOTS 64

struct work {
    uint64_t slots[SLOTS]; /* what was made, at its number % SLOTS */
    uint64_t next;         /* the one that must come now */
    uint64_t wrong, sum;
};

static void add_up(void *context, uint64_t from, uint64_t to)
{
    struct work *work = context;

    work->wrong += from != work->next;
    for (uint64_t i = from; i < to; i++) {
        work->wrong += work->slots[i % SLOTS] != i * 3;
        work->sum += work->slots[i % SLOTS];
    }
    work->next = to;
}

/* Makes all items, sixteen at a time, and never one whose slot is not free yet. */
static void expect_all_once(bool alone)
{
    struct work work = {.next = 0};
    struct follower follower;

    follower_begin(&follower, alone, add_up, &work);
    for (uint64_t i = 0; i < ITEMS; i++) {
        if (i >= SLOTS && i % 16 == 0) {
            follower_wait(&follower, i + 16 - SLOTS);
        }
        work.slots[i % SLOTS] = i * 3;
        if (i % 16 == 15) {
            follower_offer(&follower, i + 1);
        }
    }
    follower_wait(&follower, ITEMS);
    assert_int_equal(work.next, ITEMS);
    follower_end(&follower);
    assert_int_equal(work.wrong, 0);
    assert_int_equal(work.sum, (uint64_t)ITEMS * (ITEMS - 1) / 2 * 3);
}

static void every_item_is_carried_out_once_and_in_order(void **state)
{
    (void)state;
    expect_all_once(false);
}

static void without_a_thread_the_maker_carries_them_out(void **state)
{
    (void)state;
    expect_all_once(true);
}

static void what_was_offered_is_carried_out_before_the_end(void **state)
{
    struct work work = {.next = 0};
    struct follower follower;

    (void)state;
    for (uint64_t i = 0; i < SLOTS; i++) {
        work.slots[i] = i * 3;
    }
    follower_begin(&follower, false, add_up, &work);
    follower_offer(&follower, SLOTS);
    follower_offer(&follower, SLOTS); /* nothing new */
    follower_end(&follower);
    assert_int_equal(work.next, SLOTS);
    assert_int_equal(work.wrong, 0);
}

static void one_that_is_offered_nothing_ends(void **state)
{
    struct work work = {.next = 0};
    struct follower follower;

    (void)state;
    follower_begin(&follower, false, add_up, &work);
    follower_wait(&follower, 0);
    follower_end(&follower);
    assert_int_equal(work.next, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_carried_out_once_and_in_order),
        cmocka_unit_test(without_a_thread_the_maker_carries_them_out),
        cmocka_unit_test(what_was_offered_is_carried_out_before_the_end),
        cmocka_unit_test(one_that_is_offered_nothing_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
