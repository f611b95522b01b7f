/* SPDX-License-Identifier: Apache-2.0
 *
 * A crew does every item of a round exactly once, however many rounds follow one another and
 * whether its threads look for work or sleep, and ends at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crew.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define MOST 32

struct item {
    unsigned times; /* not atomic: who runs the crew sees what its threads wrote */
};

static void count(void *item)
{
    ((struct item *)item)->times++;
}

static void run_rounds(struct crew *crew, unsigned rounds, const struct timespec *between)
{
    struct item items[MOST] = {{0}};
    void *pointers[MOST];
    unsigned expected[MOST] = {0};

    for (size_t i = 0; i < MOST; i++) {
        pointers[i] = &items[i];
    }
    for (unsigned round = 0; round < rounds; round++) {
        size_t size = round % (MOST + 1);
        crew_run(crew, count, pointers, size);
        for (size_t i = 0; i < size; i++) {
            expected[i]++;
            assert_int_equal(items[i].times, expected[i]);
        }
        if (between != NULL) {
            nanosleep(between, NULL);
        }
    }
}

static void every_item_is_done_once_a_round(void **state)
{
    struct crew *crew = crew_start(3);

    (void)state;
    assert_non_null(crew);
    assert_int_equal(crew_size(crew), 4);
    run_rounds(crew, 20000, NULL);
    crew_stop(crew);
}

/* Between two rounds every thread falls asleep, sometimes just then. */
static void threads_that_sleep_are_woken(void **state)
{
    struct crew *crew = crew_start(2);
    static const struct timespec between[] = {{0, 10000}, {0, 40000}, {0, 1000000}};

    (void)state;
    assert_non_null(crew);
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        run_rounds(crew, 200, &between[i]);
    }
    crew_stop(crew);
}

static atomic_uint arrived;

static void wait_for_all(void *item)
{
    unsigned all = *(unsigned *)item;

    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < all) {
        sched_yield();
    }
}

/* Each item waits until all others have begun: on fewer threads it would not end. */
static void items_of_a_round_are_done_side_by_side(void **state)
{
    struct crew *crew = crew_start(3);
    unsigned all = 4;
    void *items[] = {&all, &all, &all, &all};

    (void)state;
    assert_non_null(crew);
    crew_run(crew, wait_for_all, items, 4);
    assert_int_equal(atomic_load(&arrived), 4);
    crew_stop(crew);
}

static void a_crew_ends_with_nothing_done(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct crew *crew = crew_start(4);
        assert_non_null(crew);
        crew_stop(crew);
    }
    crew_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once_a_round),
        cmocka_unit_test(threads_that_sleep_are_woken),
        cmocka_unit_test(items_of_a_round_are_done_side_by_side),
        cmocka_unit_test(a_crew_ends_with_nothing_done),
    };

    return cmocka_run_group_tests_name("base_crew", tests, NULL, NULL);
}
