/* SPDX-License-Identifier: Apache-2.0
 *
 * Where clients come from: an origin is there while somebody is connected from it, and after that
 * only if there is something to remember, within a bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/origins.h"

static struct memory memory;
static struct origins origins;

static int begin(void **state)
{
    (void)state;
    memory_init(&memory);
    origins_init(&origins, &memory);
    return 0;
}

static int end(void **state)
{
    (void)state;
    origins_free(&origins);
    assert_int_equal(memory.used, 0);
    return 0;
}

static void an_origin_lasts_as_long_as_its_sessions(void **state)
{
    struct origin *first = origin_enter(&origins, 7), *second = origin_enter(&origins, 7);

    (void)state;
    assert_non_null(first);
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(origin_enter(&origins, 8), first);
    origin_leave(&origins, first);
    assert_ptr_equal(origin_find(&origins, 7), first);
    origin_leave(&origins, first);
    assert_null(origin_find(&origins, 7));
    origin_leave(&origins, origin_find(&origins, 8));
    origin_leave(&origins, NULL);
}

static void one_from_which_passwords_were_guessed_is_remembered(void **state)
{
    struct origin *origin = origin_enter(&origins, 7);

    (void)state;
    origin->guesses = 3;
    origin_leave(&origins, origin);
    assert_ptr_equal(origin_find(&origins, 7), origin);
    assert_ptr_equal(origin_enter(&origins, 7), origin);
    assert_int_equal(origin->guesses, 3);
    origin_leave(&origins, origin);
}

static void no_more_than_a_bound_are_remembered(void **state)
{
    (void)state;
    struct origin *stays = origin_enter(&origins, 1);
    for (uint64_t number = 2; number < 3 * ORIGINS_IDLE_MAX; number++) {
        struct origin *origin = origin_enter(&origins, number);
        origin->guesses = 1;
        origin_leave(&origins, origin);
    }
    assert_int_equal(origins.idle_count, ORIGINS_IDLE_MAX);
    assert_null(origin_find(&origins, 2));
    assert_non_null(origin_find(&origins, 3 * ORIGINS_IDLE_MAX - 1));
    assert_ptr_equal(origin_find(&origins, 1), stays);
    origin_leave(&origins, stays);
}

static void the_most_crowded_one_is_found(void **state)
{
    (void)state;
    assert_null(origin_most_crowded(&origins));
    for (uint64_t number = 1; number < 50; number++) {
        origin_enter(&origins, number)->stranger_count = number % 17;
    }
    assert_int_equal(origin_most_crowded(&origins)->stranger_count, 16);
    for (uint64_t number = 1; number < 50; number++) {
        struct origin *origin = origin_find(&origins, number);
        origin->stranger_count = 0;
        origin_leave(&origins, origin);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_origin_lasts_as_long_as_its_sessions, begin, end),
        cmocka_unit_test_setup_teardown(one_from_which_passwords_were_guessed_is_remembered, begin,
                                        end),
        cmocka_unit_test_setup_teardown(no_more_than_a_bound_are_remembered, begin, end),
        cmocka_unit_test_setup_teardown(the_most_crowded_one_is_found, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
