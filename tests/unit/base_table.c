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

/* What a lookup is shown; it takes the one it wants, or goes on to the end if that is NONE. */
struct look {
    uint32_t wanted;
    uint32_t *shown; /* counted here */
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct look *look = context;

    ++*look->shown;
    return index == look->wanted;
}

static bool contains(const struct table *table, uint32_t hash, uint32_t index)
{
    uint32_t shown = 0;
    uint32_t found = table_find(table, hash, is_wanted, &(struct look){index, &shown});

    assert_true(found == index || found == NONE);
    return found == index;
}

static uint32_t candidates(const struct table *table, uint32_t hash)
{
    uint32_t shown = 0;

    assert_int_equal(table_find(table, hash, is_wanted, &(struct look){NONE, &shown}), NONE);
    return shown;
}

static void empty_table_finds_nothing_and_owns_nothing(void **state)
{
    struct memory *memory = *state;
    struct table table;

    table_init(&table, memory);
    assert_int_equal(candidates(&table, 0), 0);
    assert_int_equal(candidates(&table, UINT32_MAX), 0);
    assert_int_equal(memory->used, 0);
    table_free(&table);
}

/* Entries may be on their way from a smaller array to a larger one: all are found at every step. */
static void entries_survive_growing(void **state)
{
    struct table table;

    table_init(&table, *state);
    for (uint32_t i = 0; i < 2000; i++) {
        assert_true(table_add(&table, i * 2654435761U, i));
        assert_int_equal(table.count, i + 1);
        for (uint32_t j = 0; j <= i; j++) {
            assert_int_equal(candidates(&table, j * 2654435761U), 1);
        }
        assert_false(contains(&table, (i + 1) * 2654435761U, i + 1));
    }
    table_free(&table);
    assert_int_equal(candidates(&table, 0), 0);
}

static void entries_can_be_removed_at_any_moment_of_growing(void **state)
{
    for (uint32_t size = 1; size < 220; size++) {
        struct table table;
        table_init(&table, *state);
        for (uint32_t i = 0; i < size; i++) {
            assert_true(table_add(&table, i * 7 % 64, i));
        }
        for (uint32_t i = 0; i < size; i++) {
            uint32_t gone = i * 101 % size; /* each once if 101 does not divide size */
            if (contains(&table, gone * 7 % 64, gone)) {
                table_remove(&table, gone * 7 % 64, gone);
            }
            assert_false(contains(&table, gone * 7 % 64, gone));
        }
        uint32_t left = 0;
        for (uint32_t i = 0; i < size; i++) {
            left += contains(&table, i * 7 % 64, i);
        }
        assert_int_equal(table.count, left);
        table_free(&table);
    }
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

/* Entries whose home is the last slot, or a neighbour of it, in an array of any size: whichever is
 * removed first, the others must still be found. */
static void removal_closes_the_gap_across_the_end(void **state)
{
    static const uint32_t hashes[] = {0xfffffffe, 0x7ffffffe, 0xffffffff, 0x7fffffff, 0x3fffffff,
                                      0,          0x80000000, 1,          0xfffffffd};
    enum { COUNT = sizeof hashes / sizeof hashes[0] };

    for (uint32_t gone = 0; gone < COUNT; gone++) {
        struct table table;
        table_init(&table, *state);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_true(table_add(&table, hashes[i], i));
        }
        table_remove(&table, hashes[gone], gone);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(contains(&table, hashes[i], i), i != gone);
        }
        assert_int_equal(table.count, COUNT - 1);
        table_free(&table);
    }
}

static void hashes_and_indexes_at_their_bounds_are_like_any_other(void **state)
{
    struct table table;

    table_init(&table, *state);
    assert_true(table_add(&table, UINT32_MAX, 0));
    assert_true(table_add(&table, UINT32_MAX, RECORDS_MAX - 1));
    assert_true(table_add(&table, 0, 0));
    assert_int_equal(candidates(&table, UINT32_MAX), 2);
    table_remove(&table, UINT32_MAX, 0);
    assert_true(contains(&table, UINT32_MAX, RECORDS_MAX - 1));
    assert_true(contains(&table, 0, 0));
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
    memory->zeroed = NULL; /* not even asked any more */
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(table_add(&table, i, i + 2));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(contains(&table, i, i + 2));
    }
    table_free(&table);
}

/* A hash can name so many segments, and a segment has so many slots of which one stays empty. */
static void more_than_a_table_can_hold_is_refused(void **state)
{
    struct memory *memory = *state;
    struct table table;

    table_init(&table, memory);
    uint32_t added = 0;
    while (table_add(&table, 9, added)) {
        added++;
    }
    assert_int_equal(added, TABLE_SEGMENT - 1);
    assert_int_equal(table.count, added);
    assert_int_equal(candidates(&table, 9), added);
    assert_int_equal(candidates(&table, 10), 0);
    uint32_t segments = table.segment_count;
    table.segment_count = UINT32_C(1) << (32 - TABLE_SEGMENT_BITS);
    table.count = RECORDS_MAX;
    assert_false(table_reserve(&table, 1));
    table.segment_count = segments;
    table.count = added;
    table_free(&table);
}

static uint32_t spread(uint32_t i)
{
    return i * 2654435761U ^ i << 13;
}

/* Each addition takes at most one segment of fresh memory, and moves at most one. */
static void large_table_grows_by_a_segment_at_a_time(void **state)
{
    enum { ENTRIES = 300000 };
    struct table table;
    uint32_t last = 0;

    table_init(&table, *state);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        assert_true(table_add(&table, spread(i), i));
        assert_true(table.segment_count <= last + 2);
        last = table.segment_count;
        if (i % 997 == 0) {
            assert_true(contains(&table, spread(i / 2), i / 2));
            assert_true(contains(&table, spread(i / 3), i / 3));
        }
    }
    for (uint32_t i = 0; i < ENTRIES; i++) {
        assert_true(contains(&table, spread(i), i));
    }
    for (uint32_t i = 0; i < ENTRIES; i += 2) {
        table_remove(&table, spread(i), i);
    }
    for (uint32_t i = 0; i < ENTRIES; i++) {
        assert_int_equal(contains(&table, spread(i), i), i % 2);
    }
    table_free(&table);
}

/* Filled and emptied, again and again: every entry is found at each size on the way, no removal
 * gives up more than a segment, and the memory is back. */
static void emptied_table_gives_its_memory_back(void **state)
{
    enum { ENTRIES = 300000 };
    struct memory *memory = *state;
    struct table table;

    table_init(&table, memory);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < ENTRIES; i++) {
            assert_true(table_add(&table, spread(i), i));
        }
        size_t full = memory->used;
        for (uint32_t i = 0; i < ENTRIES; i++) {
            uint32_t gone = round == 0 ? i : round == 1 ? ENTRIES - 1 - i : i * 7919 % ENTRIES;
            uint32_t segments = table.segment_count;
            table_remove(&table, spread(gone), gone);
            assert_true(table.segment_count + 1 >= segments);
            assert_false(contains(&table, spread(gone), gone));
            uint32_t other = (gone * 31 + i) % ENTRIES;
            bool left = round == 0 ? other > i : round == 1 ? other < ENTRIES - 1 - i : false;
            assert_true(!left || contains(&table, spread(other), other));
        }
        assert_int_equal(table.count, 0);
        assert_true(memory->used < full / 1000);
    }
    table_free(&table);
}

/* With little in use nothing is given back, and the next entries need no memory. */
static void little_memory_is_retained(void **state)
{
    enum { ENTRIES = 20000 };
    struct memory *memory = *state;
    struct table table;
    size_t full = 0;

    memory->retained = SIZE_MAX;
    table_init(&table, memory);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < ENTRIES; i++) {
            assert_true(table_add(&table, spread(i), i));
        }
        assert_true(round == 0 || memory->used == full);
        full = memory->used;
        for (uint32_t i = 0; i < ENTRIES; i++) {
            table_remove(&table, spread(i), i);
        }
        assert_int_equal(table.count, 0);
        assert_int_equal(memory->used, full);
    }
    table_free(&table);
}

/* One more, one less, wherever: a table does not move its entries to and fro. */
static void shrinking_begins_well_below_growing(void **state)
{
    struct memory *memory = *state;
    struct table table;
    uint32_t count = 0;

    table_init(&table, memory);
    while (count < 100000) {
        uint32_t segments = table.segment_count;
        assert_true(table_add(&table, spread(count), count));
        count++;
        if (table.segment_count == segments) {
            continue;
        }
        size_t used = memory->used;
        for (uint32_t i = 0; i < count / 3; i++) {
            table_remove(&table, spread(i), i);
        }
        assert_int_equal(memory->used, used);
        for (uint32_t i = 0; i < count / 3; i++) {
            assert_true(table_add(&table, spread(i), i));
        }
        assert_int_equal(memory->used, used);
        for (uint32_t i = 0; i < 2000 && count < 100000; i++, count++) {
            assert_true(table_add(&table, spread(count), count));
        }
    }
    table_free(&table);
}

static bool refusing;

static void *at_times(struct memory *memory, size_t size)
{
    (void)memory;
    return refusing ? NULL : calloc(1, size);
}

static void without_memory_a_large_table_stays_as_it_is(void **state)
{
    struct memory *memory = *state;
    struct table table;
    uint32_t count = 0;

    memory->zeroed = at_times;
    table_init(&table, memory);
    for (int round = 0; round < 40; round++) {
        refusing = false;
        for (int i = 0; i < 2500; i++, count++) {
            assert_true(table_add(&table, spread(count), count));
        }
        refusing = true;
        while (table_add(&table, spread(count), count)) {
            count++;
        }
        assert_int_equal(table.count, count);
    }
    refusing = false;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(contains(&table, spread(i), i));
    }
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(empty_table_finds_nothing_and_owns_nothing),
        TEST(entries_survive_growing),
        TEST(entries_can_be_removed_at_any_moment_of_growing),
        TEST(equal_hashes_are_all_candidates),
        TEST(removal_closes_the_gap_across_the_end),
        TEST(hashes_and_indexes_at_their_bounds_are_like_any_other),
        TEST(reserved_room_needs_no_memory_later),
        TEST(more_than_a_table_can_hold_is_refused),
        TEST(large_table_grows_by_a_segment_at_a_time),
        TEST(emptied_table_gives_its_memory_back),
        TEST(little_memory_is_retained),
        TEST(shrinking_begins_well_below_growing),
        TEST(without_memory_a_large_table_stays_as_it_is),
        TEST(random_operations_agree_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
