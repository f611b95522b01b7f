/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.LIST: which bookings of an event it shows, and what stands against a page. */
#include "core_fixture.h"

#include <string.h>

static void it_refuses_what_is_no_page(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    expect_unchanged(f, "SEATS.LIST gala AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "SEATS.LIST gala STATUS released", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "SEATS.LIST gala COUNT 0", "0 INVALID_QUANTITY");
    expect_unchanged(f, "SEATS.LIST gala COUNT 1001", "0 INVALID_QUANTITY");
}

static void nothing_there_is_an_empty_page(void **state)
{
    struct fixture *f = *state;

    expect_unchanged(f, "SEATS.LIST gala", "end");
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 9 TTL 1s");
    expect_unchanged(f, "SEATS.LIST gala ZONE pit", "end");
    expect_unchanged(f, "SEATS.LIST gala USER bob", "end");
    expect_unchanged(f, "SEATS.LIST gala STATUS confirmed", "end");
    run(f, "SEATS.RELEASE gala b1");
    expect_unchanged(f, "SEATS.LIST gala", "end");
}

static void it_shows_what_get_does_and_the_filters_hold(void **state)
{
    struct fixture *f = *state;

    at(f, 1000000);
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 9 TTL 1s");
    run(f, "SEATS.RESERVE gala floor b2 bob 2 9");
    run(f, "SEATS.CONFIRM gala b2 PAYMENT p");
    assert_non_null(strstr(run(f, "SEATS.LIST gala STATUS reserved"), "b1"));
    assert_null(strstr(run(f, "SEATS.LIST gala STATUS reserved"), "b2"));
    assert_non_null(strstr(run(f, "SEATS.LIST gala USER bob ZONE floor"), "b2"));
    assert_null(strstr(run(f, "SEATS.LIST gala USER bob ZONE floor"), "b1"));
    at(f, 1001000);
    assert_null(strstr(run(f, "SEATS.LIST gala"), "b1"));
    assert_non_null(strstr(run(f, "SEATS.LIST gala"), "b2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(it_refuses_what_is_no_page),
        CASE(nothing_there_is_an_empty_page),
        CASE(it_shows_what_get_does_and_the_filters_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
