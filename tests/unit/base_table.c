/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash table: it finds what was added, and nothing else, while it grows, while entries collide
 * and while removals close their gaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/table.h"

static int setup(void **state)
{
    struct memory *memory = calloc(1, sizeof *memory);

    assert_non_null(memory);
    memory_init(memory);
    *state = memory;
    return 0;
}

static int teardown(void **state)
{
    struct memory *memory = *state;

    assert_int_equal(memory->used, 0);
    free(memory);
    return 0;
}

static bool contains(const struct table *table, uint32_t hash, uint32_t index)
{
    for (uint32_t at = table_first(table, hash); at != NONE; at = table_next(table, hash, at)) {
        if (table_index(table, at) == index) {
            return true;
        }
    }
    return false;
}

/* How many entries a walk over the candidates of a hash meets. */
static size_t candidates(const struct table *table, uint32_t hash)
{
    size_t count = 0;

    for (uint32_t at = table_first(table, hash); at != NONE; at = table_next(table, hash, at)) {
        count++;
    }
    return count;
}

static void empty_table_finds_nothing_and_owns_nothing(void **state)
{
    struct memory *memory = *state;
    struct table table;

    table_init(&table, memory);
    assert_int_equal(table_first(&table, 0), NONE);
    assert_int_equal(table_first(&table, UINT32_MAX), NONE);
    assert_int_equal(memory->used, 0);
    table_free(&table);
}

static void entries_survive_growing(void **state)
{
    struct table table;

    table_init(&table, *state);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(table_add(&table, i * 2654435761U, i));
        assert_true((uint64_t)table.count * 4 <= ((uint64_t)table.mask + 1) * 3);
    }
    assert_int_equal(table.count, 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(contains(&table, i * 2654435761U, i));
    }
    table_free(&table);
    assert_int_equal(table_first(&table, 0), NONE);
}

static void equal_hashes_are_all_candidates(void **state)
{
    struct table table;

    table_init(&table, *state);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(table_add(&table, 7, i));
    }
    assert_int_equal(candidates(&table, 7), 100);
    assert_int_equal(candidates(&table, 8), 0);
    for (uint32_t i = 0; i < 100; i += 2) {
        table_remove(&table, 7, i);
    }
    assert_int_equal(candidates(&table, 7), 50);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(contains(&table, 7, i), i % 2);
    }
    table_free(&table);
}

/* Entries whose home is the same slot, or the one after, across the end of the array: whichever is
 * removed first, the others must still be found. */
static void removal_closes_the_gap_across_the_end(void **state)
{
    static const uint32_t hashes[] = {14, 30, 15, 31, 47, 0, 16, 1, 13};
    enum { COUNT = sizeof hashes / sizeof hashes[0] };

    for (uint32_t gone = 0; gone < COUNT; gone++) {
        struct table table;
        table_init(&table, *state);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_true(table_add(&table, hashes[i], i));
        }
        assert_int_equal(table.mask, 15);
        table_remove(&table, hashes[gone], gone);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(contains(&table, hashes[i], i), i != gone);
        }
        assert_int_equal(table.count, COUNT - 1);
        table_free(&table);
    }
}

static void hash_of_all_ones_is_like_any_other(void **state)
{
    struct table table;

    table_init(&table, *state);
    assert_int_equal(table_first(&table, UINT32_MAX), NONE);
    assert_true(table_add(&table, UINT32_MAX, 0));
    assert_true(table_add(&table, UINT32_MAX, UINT32_MAX - 1));
    assert_int_equal(candidates(&table, UINT32_MAX), 2);
    table_remove(&table, UINT32_MAX, 0);
    assert_true(contains(&table, UINT32_MAX, UINT32_MAX - 1));
    table_free(&table);
}

static void reserved_room_needs_no_memory_later(void **state)
{
    struct memory *memory = *state;
    struct table table;

    table_init(&table, memory);
    assert_true(table_add(&table, 1, 1));
    assert_true(table_reserve(&table, 1000));
    assert_true(contains(&table, 1, 1));
    size_t used = memory->used;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(table_add(&table, i, i + 2));
    }
    assert_int_equal(memory->used, used);
    table_free(&table);
}

static void more_than_a_table_can_hold_is_refused(void **state)
{
    struct memory *memory = *state;
    struct table table;

    table_init(&table, memory);
    assert_true(table_add(&table, 9, 9));
    memory->resize = NULL; /* not even asked */
    table.mask = RECORDS_MAX - 1;
    table.count = RECORDS_MAX / 4 * 3;
    assert_false(table_reserve(&table, 1));
    assert_false(table_add(&table, 1, 1));
    memory_init(memory);
    memory->used = 16 * sizeof(struct table_slot);
    table.mask = 15;
    table.count = 1;
    assert_true(contains(&table, 9, 9));
    table_free(&table);
}

/* Against an array that says which indexes are there. Hashes are few, so that runs are long. */
static void random_operations_agree_with_an_array(void **state)
{
    enum { INDEXES = 600, STEPS = 60000 };
    static uint32_t hash_of[INDEXES];
    static bool is_there[INDEXES];
    struct table table;
    uint32_t count = 0;

    srandom(1);
    table_init(&table, *state);
    for (int step = 0; step < STEPS; step++) {
        uint32_t i = (uint32_t)(random() % INDEXES);
        if (is_there[i]) {
            assert_true(contains(&table, hash_of[i], i));
            table_remove(&table, hash_of[i], i);
            count--;
        } else {
            hash_of[i] = (uint32_t)(random() % 97) * (random() % 2 ? 1U : 0x01000193U);
            assert_false(contains(&table, hash_of[i], i));
            assert_true(table_add(&table, hash_of[i], i));
            count++;
        }
        is_there[i] = !is_there[i];
        assert_int_equal(table.count, count);
        for (uint32_t j = 0; step % 500 == 0 && j < INDEXES; j++) {
            assert_int_equal(contains(&table, hash_of[j], j), is_there[j]);
        }
    }
    table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(empty_table_finds_nothing_and_owns_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(entries_survive_growing, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_hashes_are_all_candidates, setup, teardown),
        cmocka_unit_test_setup_teardown(removal_closes_the_gap_across_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(hash_of_all_ones_is_like_any_other, setup, teardown),
        cmocka_unit_test_setup_teardown(reserved_room_needs_no_memory_later, setup, teardown),
        cmocka_unit_test_setup_teardown(more_than_a_table_can_hold_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(random_operations_agree_with_an_array, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
