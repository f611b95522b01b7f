/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.OPEN, SEATS.ZONE and SEATS.USER: capacities, and the two totals that must add up. */
#include "core_fixture.h"

/* Of 10 seats 3 are reserved and 2 confirmed. */
static struct fixture *half_sold(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    expect(f, "SEATS.RESERVE gala floor b1 ann 3 9", "1 7 3 *");
    expect(f, "SEATS.RESERVE gala floor b2 bob 2 9", "1 5 2 *");
    expect(f, "SEATS.CONFIRM gala b2", "1 CONFIRMED *");
    return f;
}

static void a_new_zone_is_all_available(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 500", "1 500 500");
    expect(f, "SEATS.ZONE gala floor", "capacity 500 available 500 reserved 0 confirmed 0");
}

static void opening_wider_adds_the_difference(void **state)
{
    struct fixture *f = half_sold(state);

    expect(f, "SEATS.OPEN gala floor 12", "1 7 12");
    expect(f, "SEATS.ZONE gala floor", "capacity 12 available 7 reserved 3 confirmed 2");
}

static void opening_narrower_takes_the_difference_away(void **state)
{
    struct fixture *f = half_sold(state);

    expect(f, "SEATS.OPEN gala floor 8", "1 3 8");
    expect(f, "SEATS.OPEN gala floor 5", "1 0 5");
    expect(f, "SEATS.ZONE gala floor", "capacity 5 available 0 reserved 3 confirmed 2");
}

static void opening_below_what_is_held_and_sold_is_refused(void **state)
{
    struct fixture *f = half_sold(state);

    expect_unchanged(f, "SEATS.OPEN gala floor 4", "0 CAPACITY_IN_USE");
    expect_unchanged(f, "SEATS.OPEN gala floor 0", "0 CAPACITY_IN_USE");
}

static void expired_and_released_seats_are_not_in_use(void **state)
{
    struct fixture *f = half_sold(state);

    at(f, f->now_ms + 599999);
    expect_unchanged(f, "SEATS.OPEN gala floor 2", "0 CAPACITY_IN_USE");
    at(f, f->now_ms + 1);
    expect(f, "SEATS.OPEN gala floor 2", "1 0 2");
    expect_unchanged(f, "SEATS.OPEN gala floor 1", "0 CAPACITY_IN_USE");
}

static void a_capacity_of_0_is_allowed(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 0", "1 0 0");
    expect_unchanged(f, "SEATS.RESERVE gala floor b1 ann 1 1", "0 INSUFFICIENT_STOCK");
    expect(f, "SEATS.OPEN gala floor 1", "1 1 1");
    expect(f, "SEATS.OPEN gala floor 0", "1 0 0");
}

static void opening_again_changes_nothing(void **state)
{
    expect_unchanged(half_sold(state), "SEATS.OPEN gala floor 10", "1 5 10");
}

static void zones_do_not_touch_each_other(void **state)
{
    struct fixture *f = half_sold(state);

    expect(f, "SEATS.OPEN gala balcony 7", "1 7 7");
    expect(f, "SEATS.OPEN other floor 9", "1 9 9");
    expect(f, "SEATS.RESERVE gala balcony b3 ann 1 9", "1 6 4 *");
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 5 reserved 3 confirmed 2");
    expect(f, "SEATS.ZONE gala balcony", "capacity 7 available 6 reserved 1 confirmed 0");
    expect(f, "SEATS.ZONE other floor", "capacity 9 available 9 reserved 0 confirmed 0");
}

static void an_unknown_zone_is_not_found(void **state)
{
    struct fixture *f = half_sold(state);

    expect_unchanged(f, "SEATS.ZONE gala balcony", "0 ZONE_NOT_FOUND");
    expect_unchanged(f, "SEATS.ZONE other floor", "0 ZONE_NOT_FOUND");
}

static void an_unknown_booking_is_not_found(void **state)
{
    struct fixture *f = half_sold(state);

    expect_unchanged(f, "SEATS.GET gala b9", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.GET other b1", "0 RESERVATION_NOT_FOUND");
}

static void an_unknown_user_has_nothing(void **state)
{
    struct fixture *f = half_sold(state);

    expect_unchanged(f, "SEATS.USER gala zoe", "0 0");
    expect_unchanged(f, "SEATS.USER other ann", "0 0");
}

static void user_answers_held_and_confirmed(void **state)
{
    struct fixture *f = half_sold(state);

    expect_unchanged(f, "SEATS.USER gala ann", "3 0");
    expect_unchanged(f, "SEATS.USER gala bob", "0 2");
    expect(f, "SEATS.RESERVE gala floor b3 bob 1 9 LIFETIME", "1 4 1 *");
    expect(f, "SEATS.CONFIRM gala b3", "1 CONFIRMED *");
    expect(f, "SEATS.RESERVE gala floor b4 bob 4 9", "1 0 5 *");
    expect_unchanged(f, "SEATS.USER gala bob", "4 3");
}

static void reading_changes_nothing(void **state)
{
    struct fixture *f = half_sold(state);

    expect_unchanged(f, "SEATS.ZONE gala floor", "capacity 10 available 5 reserved 3 confirmed 2");
    expect_unchanged(f, "SEATS.GET gala b1",
                     "booking_id b1 user_id ann zone_id floor event_id gala show_id  quantity 3 "
                     "unit_price 0 status reserved created_at 1000000 expires_at 1600000");
}

static void zones_bookings_and_users_survive_a_snapshot(void **state)
{
    struct fixture *f = half_sold(state);

    run(f, "SEATS.RESERVE gala floor b3 ann 1 9 SHOW late PRICE 5 LIFETIME");
    run(f, "SEATS.RESERVE gala floor b4 ann 1 9");
    run(f, "SEATS.RELEASE gala b4");
    snapshot_and_restore(f);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 4 reserved 4 confirmed 2");
    expect(f, "SEATS.USER gala ann", "4 0");
    expect(f, "SEATS.RELEASE gala b4", "1 SUCCESS 4 4");
    expect(f, "SEATS.RESERVE gala floor b3 ann 1 9 SHOW late PRICE 5 LIFETIME", "1 4 4 *");
    expect(f, "SEATS.CONFIRM gala b3", "1 CONFIRMED *");
    expect(f, "SEATS.RESERVE gala floor b5 ann 1 9", "1 3 5 *");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(a_new_zone_is_all_available),
        CASE(opening_wider_adds_the_difference),
        CASE(opening_narrower_takes_the_difference_away),
        CASE(opening_below_what_is_held_and_sold_is_refused),
        CASE(expired_and_released_seats_are_not_in_use),
        CASE(a_capacity_of_0_is_allowed),
        CASE(opening_again_changes_nothing),
        CASE(zones_do_not_touch_each_other),
        CASE(an_unknown_zone_is_not_found),
        CASE(an_unknown_booking_is_not_found),
        CASE(an_unknown_user_has_nothing),
        CASE(user_answers_held_and_confirmed),
        CASE(reading_changes_nothing),
        CASE(zones_bookings_and_users_survive_a_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
