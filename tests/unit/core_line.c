/* SPDX-License-Identifier: Apache-2.0
 *
 * The line, against one that is kept as a plain list. */
#include "core_fixture.h"

#include "core/line.h"

#include <stdlib.h>

#define PEOPLE 400

/* Everybody's place as the line tells it, and the plain list. */
struct crowd {
    struct memory memory;
    struct line line;
    uint32_t place[PEOPLE];
    bool waits[PEOPLE];
    uint32_t list[PEOPLE];
    uint32_t count;
};

static int setup(void **state)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);

    assert_non_null(crowd);
    memory_init(&crowd->memory);
    *state = crowd;
    return 0;
}

static int teardown(void **state)
{
    struct crowd *crowd = *state;

    line_free(&crowd->line, &crowd->memory);
    assert_int_equal(crowd->memory.used, 0);
    free(crowd);
    return 0;
}

static uint16_t weight_of(uint32_t who)
{
    return (uint16_t)(who % 7 == 0 ? 1000 : who % 5 + 1);
}

static void join(struct crowd *crowd, uint32_t who)
{
    assert_true(line_reserve(&crowd->line, &crowd->memory));
    crowd->place[who] = line_join(&crowd->line, who, weight_of(who));
    crowd->waits[who] = true;
    crowd->list[crowd->count++] = who;
}

static void leave(struct crowd *crowd, uint32_t who)
{
    uint32_t at = 0;

    line_leave(&crowd->line, &crowd->memory, crowd->place[who]);
    crowd->waits[who] = false;
    while (crowd->list[at] != who) {
        at++;
    }
    crowd->count--;
    memmove(crowd->list + at, crowd->list + at + 1, (crowd->count - at) * sizeof crowd->list[0]);
}

/* Those that a weight suffices for are the same: from the first on, and none is left out. */
static void assert_fitting(const struct crowd *crowd, uint64_t most)
{
    struct line_sum sum = line_fitting(&crowd->line, most);
    uint64_t weight = 0;
    uint32_t count = 0;

    while (count < crowd->count && weight + weight_of(crowd->list[count]) <= most) {
        weight += weight_of(crowd->list[count++]);
    }
    assert_int_equal(sum.count, count);
    assert_int_equal(sum.weight, weight);
}

static void assert_same(struct crowd *crowd)
{
    uint32_t place = line_start(&crowd->line);
    uint64_t weight = 0;

    assert_int_equal(crowd->line.count, crowd->count);
    assert_int_equal(line_first(&crowd->line), crowd->count ? crowd->list[0] : NONE);
    for (uint32_t i = 0; i < crowd->count; i++) {
        uint32_t who = crowd->list[i];
        assert_int_equal(line_position(&crowd->line, crowd->place[who]), i + 1);
        assert_int_equal(line_place(&crowd->line, i + 1), crowd->place[who]);
        assert_int_equal(line_at(&crowd->line, crowd->place[who]), who);
        weight += weight_of(who);
        assert_int_equal(line_upto(&crowd->line, crowd->place[who]).weight, weight);
        assert_int_equal(line_walk(&crowd->line, &place), who);
        assert_int_equal(place, crowd->place[who] + 1);
    }
    assert_int_equal(line_walk(&crowd->line, &place), NONE);
    assert_int_equal(crowd->line.weight, weight);
    for (uint64_t most = 0; most <= weight; most += weight / 13 + 1) {
        assert_fitting(crowd, most);
    }
    assert_fitting(crowd, weight);
}

static void an_empty_line_has_no_first(void **state)
{
    assert_same(*state);
}

static void the_first_to_come_is_the_first(void **state)
{
    struct crowd *crowd = *state;

    for (uint32_t who = 0; who < 100; who++) {
        join(crowd, who);
        assert_same(crowd);
    }
    for (uint32_t who = 0; who < 100; who++) {
        assert_int_equal(line_first(&crowd->line), who);
        leave(crowd, who);
        assert_same(crowd);
    }
}

static void those_behind_move_up_whoever_leaves(void **state)
{
    struct crowd *crowd = *state;
    unsigned seed = 3;

    for (int i = 0; i < 20000; i++) {
        uint32_t who = (uint32_t)rand_r(&seed) % PEOPLE;
        /* By turns the line grows and shrinks. */
        bool coming = rand_r(&seed) % 4 != (i / 2000) % 2 * 3 && (i / 2000) % 2 == 0;
        if (crowd->waits[who] && !coming) {
            leave(crowd, who);
        } else if (!crowd->waits[who] && (coming || rand_r(&seed) % 3 == 0)) {
            join(crowd, who);
        }
        if (i % 7 == 0) {
            assert_same(crowd);
        }
    }
}

static void a_line_that_keeps_moving_needs_no_more_room(void **state)
{
    struct crowd *crowd = *state;

    for (uint32_t i = 0; i < 10000; i++) {
        join(crowd, i % PEOPLE);
        if (crowd->count > 8) {
            leave(crowd, crowd->list[0]);
        }
    }
    assert_same(crowd);
    assert_true(crowd->line.capacity <= 64);
}

/* Places wrap around; so many stand in line that positions are summed up by the block. */
static void a_long_line_knows_every_position(void **state)
{
    enum { LONG = 50000 };
    struct crowd *crowd = *state;
    static uint32_t place[LONG];
    static bool waits[LONG];
    unsigned seed = 7;

    crowd->line.next = UINT32_MAX - LONG / 2;
    crowd->line.first = crowd->line.next >> LINE_PART_BITS;
    for (uint32_t i = 0; i < LONG; i++) {
        assert_true(line_reserve(&crowd->line, &crowd->memory));
        place[i] = line_join(&crowd->line, i, 1);
        waits[i] = true;
    }
    for (int round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < LONG; i++) {
            if (waits[i] && rand_r(&seed) % 3 == 0) {
                line_leave(&crowd->line, &crowd->memory, place[i]);
                waits[i] = false;
            }
        }
        uint32_t position = 0, at = line_start(&crowd->line);
        for (uint32_t i = 0; i < LONG; i++) {
            if (waits[i]) {
                assert_int_equal(line_position(&crowd->line, place[i]), ++position);
                assert_int_equal(line_walk(&crowd->line, &at), i);
            }
        }
        assert_int_equal(line_walk(&crowd->line, &at), NONE);
        assert_int_equal(crowd->line.count, position);
        for (uint64_t most = 0; most < position; most += 997) {
            assert_int_equal(line_fitting(&crowd->line, most).count, most);
        }
        assert_int_equal(line_fitting(&crowd->line, UINT64_MAX).count, position);
    }
}

static bool refusing;

static void *at_times(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)memory;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return refusing ? NULL : realloc(block, new_size);
}

static void *zeroed_at_times(struct memory *memory, size_t size)
{
    (void)memory;
    return refusing ? NULL : calloc(1, size);
}

static void without_memory_the_line_stays_as_it_is(void **state)
{
    struct crowd *crowd = *state;
    uint32_t who = 0;

    crowd->memory.resize = at_times;
    crowd->memory.zeroed = zeroed_at_times;
    do {
        join(crowd, who++);
        refusing = true;
    } while (line_reserve(&crowd->line, &crowd->memory) || (refusing = false));
    assert_same(crowd);
    refusing = false;
    join(crowd, who);
    assert_same(crowd);
}

/* Whether it drains from the front or from the back, a long line gives its memory back. */
static void a_line_that_drained_gives_its_memory_back(void **state)
{
    struct crowd *crowd = *state;
    size_t few = 0;

    for (uint32_t round = 0; round < 4; round++) {
        enum { LONG = 20000 };
        static uint32_t place[LONG];
        for (uint32_t i = 0; i < LONG; i++) {
            assert_true(line_reserve(&crowd->line, &crowd->memory));
            place[i] = line_join(&crowd->line, i, 1);
        }
        size_t full = crowd->memory.used;
        for (uint32_t i = 0; i < LONG; i++) {
            uint32_t gone = round % 2 ? LONG - 1 - i : i;
            line_leave(&crowd->line, &crowd->memory, place[gone]);
            if (round % 2 == 0 && i + 1 < LONG) {
                assert_int_equal(line_first(&crowd->line), i + 1);
                assert_int_equal(line_position(&crowd->line, place[LONG - 1]), LONG - 1 - i);
            }
        }
        assert_int_equal(crowd->line.count, 0);
        assert_true(crowd->memory.used < full / 50);
        assert_true(round < 2 || crowd->memory.used <= few);
        few = crowd->memory.used > few ? crowd->memory.used : few;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_line_has_no_first, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_to_come_is_the_first, setup, teardown),
        cmocka_unit_test_setup_teardown(those_behind_move_up_whoever_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_that_keeps_moving_needs_no_more_room, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_long_line_knows_every_position, setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_that_drained_gives_its_memory_back, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_the_line_stays_as_it_is, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
