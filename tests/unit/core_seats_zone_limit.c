/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.OPEN with MAX and LIFETIME: a zone's own limit per user, beside the caller's. */
#include "core_fixture.h"

static void the_zone_limits_what_the_caller_would_allow(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 10 MAX 3", "1 10 10");
    expect_unchanged(f, "SEATS.RESERVE gala floor b1 ann 4 9", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.RESERVE gala floor b1 ann 3 9", "1 7 3 *");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 1 9", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.RESERVE gala floor b2 bob 3 9", "1 4 3 *");
}

static void the_caller_s_limit_holds_beside_it(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10 MAX 3");
    expect_unchanged(f, "SEATS.RESERVE gala floor b1 ann 2 1", "0 USER_LIMIT_EXCEEDED");
}

static void seats_of_the_user_in_other_zones_count(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10 MAX 3");
    run(f, "SEATS.OPEN gala balcony 10");
    run(f, "SEATS.RESERVE gala balcony b1 ann 2 9");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 2 9", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.RESERVE gala floor b2 ann 1 9", "1 9 3 *");
    expect(f, "SEATS.RESERVE gala balcony b3 ann 5 9", "1 3 8 *");
}

static void confirmed_seats_count_with_lifetime_only(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10 MAX 2");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 9");
    run(f, "SEATS.CONFIRM gala b1");
    expect(f, "SEATS.RESERVE gala floor b2 ann 1 9", "1 7 1 *");
    run(f, "SEATS.RELEASE gala b2");
    expect(f, "SEATS.OPEN gala floor 10 MAX 2 LIFETIME", "1 8 10");
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 ann 1 9", "0 USER_LIMIT_EXCEEDED");
    run(f, "SEATS.REFUND gala b1");
    expect(f, "SEATS.RESERVE gala floor b3 ann 2 9", "1 8 2 *");
}

static void a_reserve_for_life_counts_without_the_zone_s_lifetime(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10 MAX 2");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 9 LIFETIME");
    run(f, "SEATS.CONFIRM gala b1");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 1 9", "0 USER_LIMIT_EXCEEDED");
}

static void every_open_states_all_settings(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10 MAX 2 LIFETIME");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 9");
    expect(f, "SEATS.OPEN gala floor 12", "1 10 12");
    expect(f, "SEATS.RESERVE gala floor b2 ann 1 9", "1 9 3 *");
    expect(f, "SEATS.OPEN gala floor 12 MAX 2", "1 9 12"); /* ann has more, and keeps it */
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 ann 1 9", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.CONFIRM gala b2", "1 CONFIRMED *");
    expect_unchanged(f, "SEATS.OPEN gala floor 1 MAX 5", "0 CAPACITY_IN_USE");
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 ann 1 9", "0 USER_LIMIT_EXCEEDED");
}

static void its_bounds(void **state)
{
    struct fixture *f = *state;

    expect_unchanged(f, "SEATS.OPEN gala floor 10 MAX 0", "0 INVALID_QUANTITY");
    expect_unchanged(f, "SEATS.OPEN gala floor 10 MAX -1", "0 INVALID_QUANTITY");
    expect_unchanged(f, "SEATS.OPEN gala floor 10 MAX 9007199254740992", "0 INVALID_QUANTITY");
    expect_unchanged(f, "SEATS.OPEN gala floor 10 MAX few", "-ERR");
    expect_unchanged(f, "SEATS.OPEN gala floor 10 LIFETIME", "0 INVALID_ARGUMENT");
    expect(f, "SEATS.OPEN gala floor 10 LIFETIME MAX 9007199254740991", "1 10 10");
    expect(f, "SEATS.RESERVE gala floor b1 ann 10 10", "1 0 10 *");
}

static void a_snapshot_has_the_limit(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10 MAX 2 LIFETIME");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 9");
    run(f, "SEATS.CONFIRM gala b1");
    snapshot_and_restore(f);
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 2 9", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.RESERVE gala floor b2 ann 1 9", "1 8 1 *");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(the_zone_limits_what_the_caller_would_allow),
        CASE(the_caller_s_limit_holds_beside_it),
        CASE(seats_of_the_user_in_other_zones_count),
        CASE(confirmed_seats_count_with_lifetime_only),
        CASE(a_reserve_for_life_counts_without_the_zone_s_lifetime),
        CASE(every_open_states_all_settings),
        CASE(its_bounds),
        CASE(a_snapshot_has_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
