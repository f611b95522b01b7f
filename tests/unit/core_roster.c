/* SPDX-License-Identifier: Apache-2.0
 *
 * The roster, against a plain array: the lowest free place is taken, nobody moves, a walk meets
 * everybody, what is empty is freed, and without memory nothing changes. */
#include "core_fixture.h"

#include "core/roster.h"

#include <stdlib.h>

#define PLACES 20000

struct hall {
    struct memory memory;
    struct roster roster;
    uint32_t who[PLACES]; /* by place; NONE: nobody */
    uint32_t count;
};

static int setup(void **state)
{
    struct hall *hall = calloc(1, sizeof *hall);

    assert_non_null(hall);
    memory_init(&hall->memory);
    memset(hall->who, 0xff, sizeof hall->who);
    *state = hall;
    return 0;
}

static int teardown(void **state)
{
    struct hall *hall = *state;

    roster_free(&hall->roster, &hall->memory);
    assert_int_equal(hall->memory.used, 0);
    free(hall);
    return 0;
}

static uint32_t lowest_free(const struct hall *hall)
{
    uint32_t place = 0;

    while (hall->who[place] != NONE) {
        place++;
    }
    return place;
}

static void come(struct hall *hall, uint32_t index)
{
    uint32_t place = roster_add(&hall->roster, &hall->memory, index);

    assert_int_equal(place, lowest_free(hall));
    hall->who[place] = index;
    hall->count++;
}

static void go(struct hall *hall, uint32_t place)
{
    roster_remove(&hall->roster, &hall->memory, place);
    hall->who[place] = NONE;
    hall->count--;
}

/* The roster has who is in the array, where the array has them. */
static void expect_same(const struct hall *hall)
{
    uint32_t place = 0, end = 0, index, met = 0;

    for (uint32_t i = 0; i < PLACES; i++) {
        end = hall->who[i] != NONE ? i + 1 : end;
    }
    assert_int_equal(roster_end(&hall->roster), end);
    assert_int_equal(hall->roster.count, hall->count);
    while ((index = roster_next(&hall->roster, &place)) != NONE) {
        assert_int_equal(hall->who[place], index);
        assert_int_equal(roster_at(&hall->roster, place), index);
        met++;
        place++;
    }
    assert_int_equal(met, hall->count);
    assert_int_equal(roster_at(&hall->roster, PLACES + 1), NONE);
    assert_int_equal(roster_at(&hall->roster, NONE - 1), NONE);
}

static void nobody_takes_no_memory(void **state)
{
    struct hall *hall = *state;

    expect_same(hall);
    come(hall, 7);
    assert_true(hall->memory.used <= 32);
    expect_same(hall);
    go(hall, 0);
    assert_int_equal(hall->memory.used, 0);
    assert_null(hall->roster.root);
}

static void many_take_little_more_than_four_bytes_each(void **state)
{
    struct hall *hall = *state;

    for (uint32_t i = 0; i < 16384; i++) {
        assert_int_equal(roster_add(&hall->roster, &hall->memory, i), i);
    }
    assert_true(hall->memory.used < 16384 * 45 / 10);
    for (uint32_t i = 16384; i-- > 0;) {
        roster_remove(&hall->roster, &hall->memory, i);
    }
    assert_int_equal(hall->memory.used, 0);
}

static void who_comes_takes_the_lowest_free_place(void **state)
{
    struct hall *hall = *state;

    for (uint32_t i = 0; i < 300; i++) {
        come(hall, i);
    }
    go(hall, 200);
    go(hall, 3);
    go(hall, 64);
    come(hall, 1000);
    assert_int_equal(hall->who[3], 1000);
    come(hall, 1001);
    assert_int_equal(hall->who[64], 1001);
    come(hall, 1002);
    assert_int_equal(hall->who[200], 1002);
    expect_same(hall);
}

static void coming_and_going_leaves_the_others_where_they_are(void **state)
{
    struct hall *hall = *state;
    uint64_t dice = 1;

    for (uint32_t step = 0; step < 60000; step++) {
        dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t place = (uint32_t)(dice >> 33) % 9000;
        bool fills = step / 15000 % 2 == 0;
        if (hall->who[place] != NONE && (!fills || dice >> 60 < 4)) {
            go(hall, place);
        } else if (fills && hall->count < 8000) {
            come(hall, step);
        }
        if (step % 5000 == 0) {
            expect_same(hall);
        }
    }
    expect_same(hall);
    for (uint32_t i = 0; i < PLACES; i++) {
        if (hall->who[i] != NONE) {
            go(hall, i);
        }
    }
    assert_int_equal(hall->memory.used, 0);
}

static void a_place_may_be_given(void **state)
{
    struct hall *hall = *state;
    static const uint32_t given[] = {5000, 0, 63, 64, 4095, 4096, 19999};

    for (uint32_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        assert_true(roster_put(&hall->roster, &hall->memory, given[i], 100 + i));
        assert_false(roster_put(&hall->roster, &hall->memory, given[i], 1));
        hall->who[given[i]] = 100 + i;
        hall->count++;
    }
    expect_same(hall);
    come(hall, 9); /* at 1 */
    expect_same(hall);
    assert_true(roster_put(&hall->roster, &hall->memory, RECORDS_MAX, 5));
    assert_int_equal(roster_at(&hall->roster, RECORDS_MAX), 5);
}

/* ---- without memory -------------------------------------------------------------------------- */

static void *refuse_resize(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    struct memory plain;

    if (new_size > old_size) {
        return NULL;
    }
    memory_init(&plain);
    memory->used -= old_size - new_size;
    return plain.resize(&plain, block, old_size, new_size);
}

static void *refuse_zeroed(struct memory *memory, size_t size)
{
    (void)memory;
    (void)size;
    return NULL;
}

static void without_memory_nothing_changes(void **state)
{
    static const uint32_t sizes[] = {0, 2, 4, 64, 128, 4096, 4160, 8192};
    struct hall *hall = *state;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        while (hall->count < sizes[i]) {
            come(hall, hall->count);
        }
        struct memory plain = hall->memory;
        hall->memory.resize = refuse_resize;
        hall->memory.zeroed = refuse_zeroed;
        assert_int_equal(roster_add(&hall->roster, &hall->memory, 1), NONE);
        hall->memory.resize = plain.resize;
        hall->memory.zeroed = plain.zeroed;
        expect_same(hall);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(nobody_takes_no_memory),
        T(many_take_little_more_than_four_bytes_each),
        T(who_comes_takes_the_lowest_free_place),
        T(coming_and_going_leaves_the_others_where_they_are),
        T(a_place_may_be_given),
        T(without_memory_nothing_changes),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
