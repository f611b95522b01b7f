/* SPDX-License-Identifier: Apache-2.0
 *
 * The slab: records come zeroed, never move, are handed out once at a time, and can be rebuilt with
 * the indexes they had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/slab.h"

enum { RECORD = 24 };

static struct memory memory;
static struct slab slab;

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    slab_init(&slab, &memory, RECORD);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    slab_free(&slab);
    assert_int_equal(memory.used, 0);
    return 0;
}

static bool is_zero(const void *record)
{
    static const char zeros[RECORD];
    return memcmp(record, zeros, RECORD) == 0;
}

static void empty_slab_has_no_record(void **state)
{
    (void)state;
    assert_false(slab_has(&slab, 0));
    assert_false(slab_has(&slab, NONE));
    assert_int_equal(slab_next(&slab, 0), NONE);
    assert_int_equal(memory.used, 0);
}

static void records_come_zeroed_every_time(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        uint32_t indexes[100];
        for (int i = 0; i < 100; i++) {
            indexes[i] = slab_take(&slab);
            assert_true(is_zero(slab_at(&slab, indexes[i])));
            memset(slab_at(&slab, indexes[i]), 0xa5, RECORD);
        }
        for (int i = 0; i < 100; i++) {
            slab_give(&slab, indexes[i]);
        }
    }
    assert_int_equal(slab.count, 0);
    assert_int_equal(slab.top, 100);
}

static void records_never_move_while_the_slab_grows(void **state)
{
    enum { COUNT = 20 * SLAB_CHUNK + 1 };
    void **places = malloc(COUNT * sizeof *places);

    (void)state;
    assert_non_null(places);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t index = slab_take(&slab);
        assert_int_equal(index, i);
        places[i] = slab_at(&slab, index);
        assert_int_equal((uintptr_t)places[i] % 8, 0);
        memcpy(places[i], &i, sizeof i);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_ptr_equal(slab_at(&slab, i), places[i]);
        assert_memory_equal(places[i], &i, sizeof i);
    }
    free(places);
}

static void given_back_is_gone_and_used_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        slab_take(&slab);
    }
    slab_give(&slab, 3);
    slab_give(&slab, 7);
    assert_false(slab_has(&slab, 3));
    assert_false(slab_has(&slab, 7));
    assert_int_equal(slab.count, 8);

    uint32_t a = slab_take(&slab), b = slab_take(&slab);
    assert_int_equal(a + b, 10);
    assert_true(a == 3 || a == 7);
    assert_int_equal(slab_take(&slab), 10);
}

static void walk_meets_every_record_once_in_order(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * SLAB_CHUNK; i++) {
        slab_take(&slab);
    }
    /* Holes of all sizes, whole words and a whole chunk among them. */
    for (uint32_t i = 0; i < 3 * SLAB_CHUNK; i++) {
        bool keep = i % 7 == 0 && i / 64 % 3 != 1 && i >> SLAB_CHUNK_BITS != 1;
        if (!keep) {
            slab_give(&slab, i);
        }
    }
    uint32_t seen = 0, last = NONE;
    for (uint32_t i = slab_next(&slab, 0); i != NONE; i = slab_next(&slab, i + 1)) {
        assert_true(last == NONE || i > last);
        assert_true(slab_has(&slab, i));
        assert_int_equal(slab_next(&slab, i), i);
        last = i;
        seen++;
    }
    assert_int_equal(seen, slab.count);
    assert_int_equal(slab_next(&slab, NONE), NONE);
}

static void reserved_room_needs_no_memory_later(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        slab_take(&slab);
    }
    for (uint32_t i = 0; i < 50; i++) {
        slab_give(&slab, i);
    }
    assert_true(slab_reserve(&slab, 5 * SLAB_CHUNK));
    size_t used = memory.used;
    for (uint32_t i = 0; i < 5 * SLAB_CHUNK; i++) {
        assert_int_not_equal(slab_take(&slab), NONE);
    }
    assert_int_equal(memory.used, used);
    assert_false(slab_reserve(&slab, RECORDS_MAX));
    assert_int_equal(memory.used, used);
}

static void random_operations_agree_with_an_array(void **state)
{
    enum { INDEXES = 3000, STEPS = 100000 };
    static uint32_t value_of[INDEXES];
    uint32_t count = 0;

    (void)state;
    srandom(2);
    for (uint32_t step = 1; step <= STEPS; step++) {
        uint32_t i = (uint32_t)(random() % INDEXES);
        assert_int_equal(slab_has(&slab, i), value_of[i] != 0);
        if (value_of[i] != 0) {
            assert_memory_equal(slab_at(&slab, i), &value_of[i], sizeof value_of[i]);
            slab_give(&slab, i);
            value_of[i] = 0;
            count--;
        } else if (count < INDEXES) {
            uint32_t index = slab_take(&slab);
            assert_true(index < INDEXES && value_of[index] == 0);
            memcpy(slab_at(&slab, index), &step, sizeof step);
            value_of[index] = step;
            count++;
        }
        assert_int_equal(slab.count, count);
    }
}

/* Takes `count` records, which have the indexes from 0 on. */
static void fill(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(slab_take(&slab), i);
    }
}

enum { LARGE = (8 + 4 * 84) * SLAB_CHUNK }; /* four huge pages are full */

/* Filled, emptied and filled again, in whatever order: the memory is back each time. */
static void emptied_slab_gives_its_memory_back(void **state)
{
    size_t first = 0;

    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        fill(LARGE);
        size_t full = memory.used;
        for (uint32_t i = 0; i < LARGE; i++) {
            uint32_t index = round % 2 ? LARGE - 1 - i : round == 0 ? i : i * 7919 % LARGE;
            slab_give(&slab, index);
        }
        assert_int_equal(slab.count, 0);
        assert_true(memory.used < full / 100);
        assert_true(round == 0 || memory.used == first);
        first = memory.used;
        assert_int_equal(slab_next(&slab, 0), NONE);
        assert_true(slab.top <= SLAB_CHUNK);
    }
}

/* With little in use nothing is given back, and the next records need no memory. */
static void little_memory_is_retained(void **state)
{
    (void)state;
    memory.retained = SIZE_MAX;
    for (uint32_t round = 0; round < 2; round++) {
        fill(LARGE);
        size_t full = memory.used;
        for (uint32_t i = 0; i < LARGE; i++) {
            slab_give(&slab, i);
        }
        assert_int_equal(slab.count, 0);
        assert_int_equal(slab_next(&slab, 0), NONE);
        assert_int_equal(memory.used, full);
    }
    memory.retained = 0;
}

/* Blocks are freed in the middle: what stays is found, and the gap is filled first. */
static void gap_of_freed_blocks_is_walked_over_and_filled(void **state)
{
    (void)state;
    fill(LARGE);
    assert_int_equal(slab.size, LARGE);
    size_t full = memory.used;
    for (uint32_t i = SLAB_CHUNK; i < LARGE - 1; i++) {
        slab_give(&slab, i);
    }
    assert_true(memory.used < full * 6 / 10);
    assert_int_equal(slab_next(&slab, SLAB_CHUNK), LARGE - 1);
    assert_false(slab_has(&slab, LARGE / 2));
    assert_true(slab_has(&slab, LARGE - 1));
    assert_int_equal(slab.top, LARGE);
    for (uint32_t i = SLAB_CHUNK; i < LARGE - 1; i++) {
        uint32_t index = slab_take(&slab);
        assert_true(index < LARGE && is_zero(slab_at(&slab, index)));
    }
    assert_int_equal(slab.top, LARGE);
    assert_int_equal(memory.used, full);
}

/* One more, one less, at the edge of a block: no memory comes or goes. */
static void edge_of_a_block_is_crossed_without_allocating(void **state)
{
    (void)state;
    fill(20 * SLAB_CHUNK);
    while (slab.size > slab.count) {
        slab_take(&slab);
    }
    uint32_t next = slab_take(&slab);
    size_t used = memory.used;
    for (int i = 0; i < 10; i++) {
        slab_give(&slab, next);
        assert_int_equal(memory.used, used);
        next = slab_take(&slab);
        assert_int_equal(memory.used, used);
    }
}

/* What the owner promised needs no memory, whatever was given back. */
static void kept_records_stay_free(void **state)
{
    (void)state;
    assert_true(slab_reserve(&slab, LARGE));
    slab.kept = LARGE / 2;
    fill(LARGE / 4);
    for (uint32_t i = 0; i < LARGE / 4; i++) {
        slab_give(&slab, i);
    }
    void *(*zeroed)(struct memory *, size_t) = memory.zeroed;
    memory.zeroed = NULL; /* not even asked any more */
    for (uint32_t i = 0; i < LARGE / 2; i++) {
        assert_int_not_equal(slab_take(&slab), NONE);
    }
    memory.zeroed = zeroed;
}

/* As above with an array, over many blocks that come and go: a tide of records. */
static void random_tides_agree_with_an_array(void **state)
{
    static uint32_t value_of[LARGE];
    uint32_t count = 0;

    (void)state;
    memset(value_of, 0, sizeof value_of);
    srandom(3);
    for (uint32_t step = 1; step <= 3000000; step++) {
        bool rising = step / (LARGE * 3 / 2) % 2 == 0;
        uint32_t i = (uint32_t)(random() % LARGE);
        if (value_of[i] != 0 && (!rising || random() % 4 == 0)) {
            assert_memory_equal(slab_at(&slab, i), &value_of[i], sizeof value_of[i]);
            slab_give(&slab, i);
            value_of[i] = 0;
            count--;
        } else if (rising && count < LARGE - 1) {
            uint32_t index = slab_take(&slab);
            assert_true(index < LARGE && value_of[index] == 0);
            memcpy(slab_at(&slab, index), &step, sizeof step);
            value_of[index] = step;
            count++;
        }
        assert_int_equal(slab.count, count);
        assert_int_equal(slab_has(&slab, i), value_of[i] != 0);
    }
    uint32_t seen = 0;
    for (uint32_t i = slab_next(&slab, 0); i != NONE; i = slab_next(&slab, i + 1), seen++) {
        assert_memory_equal(slab_at(&slab, i), &value_of[i], sizeof value_of[i]);
    }
    assert_int_equal(seen, count);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(empty_slab_has_no_record),
        TEST(records_come_zeroed_every_time),
        TEST(records_never_move_while_the_slab_grows),
        TEST(given_back_is_gone_and_used_again),
        TEST(walk_meets_every_record_once_in_order),
        TEST(reserved_room_needs_no_memory_later),
        TEST(random_operations_agree_with_an_array),
        TEST(emptied_slab_gives_its_memory_back),
        TEST(little_memory_is_retained),
        TEST(gap_of_freed_blocks_is_walked_over_and_filled),
        TEST(edge_of_a_block_is_crossed_without_allocating),
        TEST(kept_records_stay_free),
        TEST(random_tides_agree_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
