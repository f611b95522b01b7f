/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.RESERVE: what it checks and in which order, what it records, what it answers. */
#include "core_fixture.h"

/* ---- the order of the checks: each is reported before every later one ------------------------ */

/* ann holds all she may; the floor has 2 seats left. */
static struct fixture *nearly_full(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 5", "1 5 5");
    expect(f, "SEATS.RESERVE gala floor b1 ann 3 3", "1 2 3 *");
    return f;
}

static void reserve_checks_quantity_before_zone(void **state)
{
    expect_unchanged(*state, "SEATS.RESERVE gala nowhere b2 ann 0 3", "0 INVALID_QUANTITY");
    expect_unchanged(*state, "SEATS.RESERVE gala nowhere b2 ann -1 3", "0 INVALID_QUANTITY");
}

static void reserve_checks_quantity_before_booking(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala floor b1 ann 0 3",
                     "0 INVALID_QUANTITY");
}

static void reserve_checks_quantity_before_stock(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala floor b2 bob 9007199254740992 3",
                     "0 INVALID_QUANTITY");
}

static void reserve_checks_quantity_before_user_limit(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala floor b2 ann 0 0",
                     "0 INVALID_QUANTITY");
}

static void reserve_checks_zone_before_booking(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala nowhere b1 ann 3 3",
                     "0 ZONE_NOT_FOUND");
}

static void reserve_checks_zone_before_stock_and_user_limit(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala nowhere b2 bob 9 9",
                     "0 ZONE_NOT_FOUND");
    expect_unchanged(*state, "SEATS.RESERVE gala nowhere b2 ann 1 3", "0 ZONE_NOT_FOUND");
}

static void reserve_checks_booking_before_stock(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala floor b1 ann 4 9", "0 BOOKING_EXISTS");
}

static void reserve_checks_booking_before_user_limit(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala floor b1 ann 1 3", "0 BOOKING_EXISTS");
}

static void reserve_checks_stock_before_user_limit(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala floor b2 ann 3 3",
                     "0 INSUFFICIENT_STOCK");
}

/* ---- each check on its own ------------------------------------------------------------------- */

static void a_zone_is_known_in_its_own_event_only(void **state)
{
    struct fixture *f = nearly_full(state);

    expect_unchanged(f, "SEATS.RESERVE gala balcony b2 bob 1 1", "0 ZONE_NOT_FOUND");
    expect_unchanged(f, "SEATS.RESERVE other floor b2 bob 1 1", "0 ZONE_NOT_FOUND");
}

static void insufficient_stock_says_available_and_requested(void **state)
{
    struct fixture *f = nearly_full(state);
    char message[MESSAGE_SIZE];

    expect_unchanged(f, "SEATS.RESERVE gala floor b2 bob 4 9", "0 INSUFFICIENT_STOCK");
    reply_message(&f->reply, message);
    assert_string_equal(message, "2 seats available, 4 requested");
}

static void the_last_seat_can_be_had_and_no_more(void **state)
{
    struct fixture *f = nearly_full(state);

    expect(f, "SEATS.RESERVE gala floor b2 bob 2 9", "1 0 2 *");
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 cid 1 9", "0 INSUFFICIENT_STOCK");
}

static void a_user_may_reserve_up_to_the_limit_over_all_zones(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    expect(f, "SEATS.OPEN gala balcony 10", "1 10 10");
    expect(f, "SEATS.RESERVE gala floor b1 ann 2 4", "1 8 2 *");
    expect(f, "SEATS.RESERVE gala balcony b2 ann 2 4", "1 8 4 *");
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 ann 1 4", "0 USER_LIMIT_EXCEEDED");
}

static void the_limit_is_the_one_of_each_command(void **state)
{
    struct fixture *f = nearly_full(state);

    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 1 3", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.RESERVE gala floor b2 ann 1 4", "1 1 4 *");
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 ann 1 2", "0 USER_LIMIT_EXCEEDED");
}

static void a_limit_of_zero_lets_nobody_in(void **state)
{
    expect_unchanged(nearly_full(state), "SEATS.RESERVE gala floor b2 bob 1 0",
                     "0 USER_LIMIT_EXCEEDED");
}

static void users_are_counted_per_event(void **state)
{
    struct fixture *f = nearly_full(state);

    expect(f, "SEATS.OPEN other floor 5", "1 5 5");
    expect(f, "SEATS.RESERVE other floor b1 ann 3 3", "1 2 3 *");
}

static void a_users_seats_never_pass_the_largest_integer(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 9007199254740991");
    run(f, "SEATS.OPEN gala balcony 9007199254740991");
    expect(f, "SEATS.RESERVE gala floor b1 ann 9007199254740991 9007199254740991",
           "1 0 9007199254740991 *");
    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
    expect(f, "SEATS.USER gala ann", "0 9007199254740991");
    expect_unchanged(f, "SEATS.RESERVE gala balcony b2 ann 1 9007199254740991",
                     "0 USER_LIMIT_EXCEEDED");
}

/* ---- what it records ------------------------------------------------------------------------- */

static void get_shows_what_was_reserved(void **state)
{
    struct fixture *f = nearly_full(state);

    at(f, 2000000);
    run(f, "SEATS.RESERVE gala floor b2 bob 2 4 SHOW late PRICE 1250 TTL 90");
    expect(f, "SEATS.GET gala b2",
           "booking_id b2 user_id bob zone_id floor event_id gala show_id late quantity 2 "
           "unit_price 1250 status reserved created_at 2000000 expires_at 2090000");
}

static void show_is_empty_price_0_and_ttl_600_s_by_default(void **state)
{
    expect(nearly_full(state), "SEATS.GET gala b1",
           "booking_id b1 user_id ann zone_id floor event_id gala show_id  quantity 3 "
           "unit_price 0 status reserved created_at 1000000 expires_at 1600000");
}

static void bookings_are_known_in_their_own_event_only(void **state)
{
    struct fixture *f = nearly_full(state);

    expect(f, "SEATS.OPEN other floor 5", "1 5 5");
    expect_unchanged(f, "SEATS.GET other b1", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.RESERVE other floor b1 bob 1 1", "1 4 1 *");
    expect(f, "SEATS.RELEASE other b1", "1 SUCCESS 5 0");
    expect(f, "SEATS.ZONE gala floor", "capacity 5 available 2 reserved 3 confirmed 0");
}

static void ids_are_compared_byte_by_byte(void **state)
{
    struct fixture *f = nearly_full(state);

    expect(f, "SEATS.RESERVE gala floor B1 Ann 1 1", "1 1 1 *");
    expect_unchanged(f, "SEATS.RESERVE gala Floor b2 bob 1 1", "0 ZONE_NOT_FOUND");
}

static void optional_arguments_come_in_any_order_and_case(void **state)
{
    struct fixture *f = nearly_full(state);

    expect(f, "seats.reserve gala floor b2 bob 1 4 lifetime Ttl 90 price 7 shoW late", "1 1 1 *");
    expect(f, "SEATS.RESERVE gala floor b2 bob 1 4 SHOW late PRICE 7 TTL 90 LIFETIME", "1 1 1 *");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(reserve_checks_quantity_before_zone),
        CASE(reserve_checks_quantity_before_booking),
        CASE(reserve_checks_quantity_before_stock),
        CASE(reserve_checks_quantity_before_user_limit),
        CASE(reserve_checks_zone_before_booking),
        CASE(reserve_checks_zone_before_stock_and_user_limit),
        CASE(reserve_checks_booking_before_stock),
        CASE(reserve_checks_booking_before_user_limit),
        CASE(reserve_checks_stock_before_user_limit),
        CASE(a_zone_is_known_in_its_own_event_only),
        CASE(insufficient_stock_says_available_and_requested),
        CASE(the_last_seat_can_be_had_and_no_more),
        CASE(a_user_may_reserve_up_to_the_limit_over_all_zones),
        CASE(the_limit_is_the_one_of_each_command),
        CASE(a_limit_of_zero_lets_nobody_in),
        CASE(users_are_counted_per_event),
        CASE(a_users_seats_never_pass_the_largest_integer),
        CASE(get_shows_what_was_reserved),
        CASE(show_is_empty_price_0_and_ttl_600_s_by_default),
        CASE(bookings_are_known_in_their_own_event_only),
        CASE(ids_are_compared_byte_by_byte),
        CASE(optional_arguments_come_in_any_order_and_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
