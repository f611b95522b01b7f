/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.CONFIRM and SEATS.RELEASE: the two ways a booking ends before its deadline. */
#include "core_fixture.h"

#include <stdio.h>
#include <string.h>

/* ann has b1 (2 seats) and b2 (3 seats) in a zone of 10. */
static struct fixture *two_bookings(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    expect(f, "SEATS.RESERVE gala floor b1 ann 2 5", "1 8 2 *");
    expect(f, "SEATS.RESERVE gala floor b2 ann 3 5", "1 5 5 *");
    return f;
}

/* ---- confirm --------------------------------------------------------------------------------- */

static void confirm_moves_reserved_seats_to_confirmed(void **state)
{
    struct fixture *f = two_bookings(state);

    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 5 reserved 3 confirmed 2");
}

static void confirm_touches_only_its_own_booking(void **state)
{
    struct fixture *f = two_bookings(state);

    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
    expect(f, "SEATS.USER gala ann", "3 2");
    expect(f, "SEATS.GET gala b2",
           "booking_id b2 user_id ann zone_id floor event_id gala show_id  quantity 3 "
           "unit_price 0 status reserved created_at 1000000 expires_at 1600000");
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 ann 3 5", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.RESERVE gala floor b3 ann 2 5", "1 3 5 *");
}

static void a_confirmed_booking_has_no_deadline(void **state)
{
    struct fixture *f = two_bookings(state);

    run(f, "SEATS.CONFIRM gala b1");
    at(f, INT64_C(1000000) * 1000000);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 8 reserved 0 confirmed 2");
    expect(f, "SEATS.USER gala ann", "0 2");
}

static void get_shows_what_was_confirmed(void **state)
{
    struct fixture *f = two_bookings(state);
    char code[HF_CODE_SIZE], wanted[512];

    at(f, 1000500);
    assert_int_equal(
        sscanf(run(f, "SEATS.CONFIRM gala b1 USER ann PAYMENT p-9"), "1 CONFIRMED %10s", code), 1);
    snprintf(wanted, sizeof wanted,
             "booking_id b1 user_id ann zone_id floor event_id gala show_id  quantity 2 "
             "unit_price 0 status confirmed created_at 1000000 expires_at 0 "
             "confirmed_at 1000500 payment_id p-9 confirmation_code %s",
             code);
    expect(f, "SEATS.GET gala b1", wanted);
}

static void payment_is_empty_if_not_given(void **state)
{
    struct fixture *f = two_bookings(state);

    run(f, "SEATS.CONFIRM gala b1");
    expect(f, "SEATS.GET gala b1",
           "booking_id b1 user_id ann zone_id floor event_id gala show_id  quantity 2 "
           "unit_price 0 status confirmed created_at 1000000 expires_at 0 "
           "confirmed_at 1000000 payment_id  confirmation_code *");
}

static void the_code_is_ten_digits_of_crockford_base_32(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    struct fixture *f = *state;
    uint32_t seen[10] = {0}; /* at each place, a bit for each digit */
    char command[80];

    expect(f, "SEATS.OPEN gala floor 300", "1 300 300");
    for (int i = 0; i < 300; i++) {
        if (i == 150) {
            run(f, "SEATS.ZONE gala floor"); /* entropy counts commands: now the other half of it */
        }
        snprintf(command, sizeof command, "SEATS.RESERVE gala floor b%d u%d 1 1", i, i);
        run(f, command);
        snprintf(command, sizeof command, "SEATS.CONFIRM gala b%d", i);
        const char *code = strrchr(run(f, command), ' ') + 1;
        assert_int_equal(strlen(code), 10);
        assert_int_equal(strspn(code, digits), 10);
        for (int k = 0; k < 10; k++) {
            seen[k] |= UINT32_C(1) << (strchr(digits, code[k]) - digits);
        }
    }
    for (int k = 0; k < 10; k++) {
        assert_int_equal(seen[k], UINT32_MAX); /* every digit in every place */
    }
}

static void the_code_is_made_of_the_entropy_given(void **state)
{
    struct fixture *f = two_bookings(state);
    char first[32];

    snprintf(first, sizeof first, "%s", run(f, "SEATS.CONFIRM gala b1"));
    assert_string_not_equal(first, run(f, "SEATS.CONFIRM gala b2"));
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static void confirmed_seats_leave_the_users_count(void **state)
{
    struct fixture *f = two_bookings(state);

    run(f, "SEATS.CONFIRM gala b1");
    run(f, "SEATS.CONFIRM gala b2");
    expect(f, "SEATS.RESERVE gala floor b3 ann 5 5", "1 0 5 *");
}

static void lifetime_seats_go_on_counting(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    expect(f, "SEATS.RESERVE gala floor b1 ann 3 4 LIFETIME", "1 7 3 *");
    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
    expect(f, "SEATS.USER gala ann", "0 3");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 2 4", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.RESERVE gala floor b2 ann 1 4", "1 6 4 *");
    expect(f, "SEATS.RELEASE gala b2", "1 SUCCESS 7 3");
}

static void lifetime_is_a_matter_of_each_booking(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 4 LIFETIME");
    run(f, "SEATS.RESERVE gala floor b2 ann 2 4");
    run(f, "SEATS.CONFIRM gala b1");
    run(f, "SEATS.CONFIRM gala b2");
    expect(f, "SEATS.USER gala ann", "0 4");
    expect(f, "SEATS.RESERVE gala floor b3 ann 2 4", "1 4 4 *");
}

static void a_lifetime_booking_released_or_expired_counts_no_longer(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 4 LIFETIME");
    run(f, "SEATS.RESERVE gala floor b2 ann 2 4 TTL 1 LIFETIME");
    expect(f, "SEATS.RELEASE gala b1", "1 SUCCESS 8 2");
    at(f, 1061000);
    expect(f, "SEATS.RESERVE gala floor b3 ann 4 4", "1 6 4 *");
}

/* ---- release --------------------------------------------------------------------------------- */

static void release_gives_seats_and_users_count_back_at_once(void **state)
{
    struct fixture *f = two_bookings(state);

    expect(f, "SEATS.RELEASE gala b2", "1 SUCCESS 8 2");
    expect(f, "SEATS.USER gala ann", "2 0");
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 8 reserved 2 confirmed 0");
    expect(f, "SEATS.RESERVE gala floor b3 ann 3 5", "1 5 5 *");
}

static void a_released_booking_is_gone_for_all_others(void **state)
{
    struct fixture *f = two_bookings(state);

    run(f, "SEATS.RELEASE gala b1");
    expect_unchanged(f, "SEATS.GET gala b1", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.CONFIRM gala b1", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.EXTEND gala b1 10", "0 RESERVATION_NOT_FOUND");
}

static void a_confirmed_booking_cannot_be_released(void **state)
{
    struct fixture *f = two_bookings(state);

    run(f, "SEATS.CONFIRM gala b1");
    expect_unchanged(f, "SEATS.RELEASE gala b1", "0 INVALID_STATE");
    expect_unchanged(f, "SEATS.RELEASE gala b1 USER ann", "0 INVALID_STATE");
}

/* ---- unknown, then not the owner, then the state --------------------------------------------- */

static void an_unknown_booking_is_reported_before_its_owner(void **state)
{
    struct fixture *f = two_bookings(state);

    expect_unchanged(f, "SEATS.CONFIRM gala b9 USER bob", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.RELEASE gala b9 USER bob", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.CONFIRM other b1 USER bob", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.RELEASE other b1 USER bob", "0 RESERVATION_NOT_FOUND");
    run(f, "SEATS.RELEASE gala b1");
    expect_unchanged(f, "SEATS.CONFIRM gala b1 USER bob", "0 RESERVATION_NOT_FOUND");
    at(f, 1600000);
    expect_unchanged(f, "SEATS.CONFIRM gala b2 USER bob", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.RELEASE gala b2 USER bob", "0 RESERVATION_NOT_FOUND");
}

static void another_users_booking_is_not_owner(void **state)
{
    struct fixture *f = two_bookings(state);

    expect_unchanged(f, "SEATS.CONFIRM gala b1 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "SEATS.RELEASE gala b1 USER bob", "0 NOT_OWNER");
    expect(f, "SEATS.CONFIRM gala b1 USER ann", "1 CONFIRMED *");
    expect(f, "SEATS.RELEASE gala b2 USER ann", "1 SUCCESS 8 0");
}

static void the_owner_is_checked_before_the_state(void **state)
{
    struct fixture *f = two_bookings(state);

    run(f, "SEATS.CONFIRM gala b1 PAYMENT p1");
    expect_unchanged(f, "SEATS.CONFIRM gala b1 USER bob PAYMENT p2", "0 NOT_OWNER");
    expect_unchanged(f, "SEATS.RELEASE gala b1 USER bob", "0 NOT_OWNER");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(confirm_moves_reserved_seats_to_confirmed),
        CASE(confirm_touches_only_its_own_booking),
        CASE(a_confirmed_booking_has_no_deadline),
        CASE(get_shows_what_was_confirmed),
        CASE(payment_is_empty_if_not_given),
        CASE(the_code_is_ten_digits_of_crockford_base_32),
        CASE(the_code_is_made_of_the_entropy_given),
        CASE(confirmed_seats_leave_the_users_count),
        CASE(lifetime_seats_go_on_counting),
        CASE(lifetime_is_a_matter_of_each_booking),
        CASE(a_lifetime_booking_released_or_expired_counts_no_longer),
        CASE(release_gives_seats_and_users_count_back_at_once),
        CASE(a_released_booking_is_gone_for_all_others),
        CASE(a_confirmed_booking_cannot_be_released),
        CASE(an_unknown_booking_is_reported_before_its_owner),
        CASE(another_users_booking_is_not_owner),
        CASE(the_owner_is_checked_before_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
