/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.REFUND: a confirmed booking is given back, and remembered for the retry window. */
#include "core_fixture.h"

#define START INT64_C(1000000)
#define RETRY_WINDOW INT64_C(300000)

/* ann has b1 (2 seats) confirmed and b2 (3 seats) reserved in a zone of 10. */
static struct fixture *one_sold(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "SEATS.OPEN gala floor 10");
    expect(f, "SEATS.RESERVE gala floor b1 ann 2 9", "1 8 2 *");
    expect(f, "SEATS.CONFIRM gala b1 PAYMENT p-1", "1 CONFIRMED *");
    expect(f, "SEATS.RESERVE gala floor b2 ann 3 9 TTL 1h", "1 5 3 *");
    return f;
}

static void its_seats_are_free_again(void **state)
{
    struct fixture *f = one_sold(state);

    expect(f, "SEATS.REFUND gala b1", "1 REFUNDED 7");
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 7 reserved 3 confirmed 0");
    expect(f, "SEATS.USER gala ann", "3 0");
    expect(f, "SEATS.RESERVE gala floor b3 bob 7 9", "1 0 7 *");
}

static void the_booking_and_its_code_are_gone(void **state)
{
    struct fixture *f = one_sold(state);

    run(f, "SEATS.REFUND gala b1 USER ann");
    expect_unchanged(f, "SEATS.GET gala b1", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.CONFIRM gala b1 PAYMENT p-1", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.EXTEND gala b1 60", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.RELEASE gala b1", "0 RESERVATION_NOT_FOUND");
}

static void it_is_repeated_within_the_retry_window_with_current_figures(void **state)
{
    struct fixture *f = one_sold(state);

    expect(f, "SEATS.REFUND gala b1", "1 REFUNDED 7");
    expect_unchanged(f, "SEATS.REFUND gala b1", "1 REFUNDED 7");
    run(f, "SEATS.RELEASE gala b2");
    at(f, START + RETRY_WINDOW - 1);
    expect_unchanged(f, "SEATS.REFUND gala b1 USER ann", "1 REFUNDED 10");
    expect_unchanged(f, "SEATS.REFUND gala b1 USER bob", "0 NOT_OWNER");
    at(f, START + RETRY_WINDOW);
    expect(f, "SEATS.REFUND gala b1", "0 RESERVATION_NOT_FOUND");
}

static void only_a_confirmed_booking_is_refunded(void **state)
{
    struct fixture *f = one_sold(state);

    expect_unchanged(f, "SEATS.REFUND gala b2", "0 INVALID_STATE");
    expect_unchanged(f, "SEATS.REFUND gala b1 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "SEATS.REFUND gala b2 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "SEATS.REFUND gala b9", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.REFUND ball b1", "0 RESERVATION_NOT_FOUND");
    run(f, "SEATS.RELEASE gala b2");
    expect_unchanged(f, "SEATS.REFUND gala b2", "0 RESERVATION_NOT_FOUND");
    run(f, "SEATS.RESERVE gala floor b3 ann 1 9 TTL 10s");
    at(f, START + 10000);
    expect(f, "SEATS.REFUND gala b3", "0 RESERVATION_NOT_FOUND");
}

static void the_id_can_be_reserved_anew(void **state)
{
    struct fixture *f = one_sold(state);

    run(f, "SEATS.REFUND gala b1");
    expect(f, "SEATS.RESERVE gala floor b1 bob 4 9", "1 3 4 *");
    expect_unchanged(f, "SEATS.REFUND gala b1", "0 INVALID_STATE");
    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
    expect(f, "SEATS.REFUND gala b1", "1 REFUNDED 7");
}

static void seats_for_life_no_longer_count(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 2 LIFETIME");
    run(f, "SEATS.CONFIRM gala b1");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 1 2", "0 USER_LIMIT_EXCEEDED");
    expect(f, "SEATS.REFUND gala b1", "1 REFUNDED 10");
    expect(f, "SEATS.RESERVE gala floor b2 ann 2 2", "1 8 2 *");
}

static void a_snapshot_has_what_was_refunded(void **state)
{
    struct fixture *f = one_sold(state);

    run(f, "SEATS.REFUND gala b1");
    snapshot_and_restore(f);
    expect_unchanged(f, "SEATS.REFUND gala b1", "1 REFUNDED 7");
    at(f, START + RETRY_WINDOW);
    expect(f, "SEATS.REFUND gala b1", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 7 reserved 3 confirmed 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(its_seats_are_free_again),
        CASE(the_booking_and_its_code_are_gone),
        CASE(it_is_repeated_within_the_retry_window_with_current_figures),
        CASE(only_a_confirmed_booking_is_refunded),
        CASE(the_id_can_be_reserved_anew),
        CASE(seats_for_life_no_longer_count),
        CASE(a_snapshot_has_what_was_refunded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
