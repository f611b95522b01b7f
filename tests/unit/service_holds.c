/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of holds, written behind the engine: what is refused is dropped alone, and counted; what
 * waits when the service is closed is written first. */
#include "service_fixture.h"

#include <stdio.h>
#include <unistd.h>

#define PATIENCE_TURNS 30000 /* of a millisecond each, at least */

static struct service *service_of(struct sale_world *w)
{
    return (struct service *)w->engine;
}

/* Turns the service until all that waits was written or dropped. */
static void wait_for_rows(struct sale_world *w)
{
    for (int i = 0; i < PATIENCE_TURNS; i++) {
        sale_turn(w);
        if (service_of(w)->holds_waiting == 0 && !service_of(w)->holds_writing) {
            return;
        }
        usleep(1000);
    }
    fail_msg("%zu wait", service_of(w)->holds_waiting);
}

static void reserve(struct sale_world *w, const char *booking)
{
    char words[128];

    snprintf(words, sizeof words, "SEATS.RESERVE gala floor %s ann 1 1000", booking);
    assert_int_equal(sale_run(w, words)->code, HF_OK);
}

static void open_zone(struct sale_world *w)
{
    sale_open(w, SALE_GUARDED);
    sale_expect(w, "SEATS.OPEN gala floor 1000", "1 1000 1000");
}

static void a_row_follows_each_change(void **state)
{
    struct sale_world *w = *state;

    open_zone(w);
    reserve(w, "b1");
    reserve(w, "b2");
    sale_expect(w, "SEATS.RELEASE gala b2", "1 SUCCESS 999 1");
    wait_for_rows(w);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings WHERE status = 'reserved'"), 1);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings WHERE status = 'cancelled'"), 1);
    assert_int_equal(service_of(w)->holds_written, 3);
    assert_int_equal(service_of(w)->holds_dropped, 0);
}

static void a_row_that_is_refused_is_dropped_alone(void **state)
{
    struct sale_world *w = *state;
    char booking[16];

    open_zone(w);
    sale_sql(w, "CREATE TRIGGER picky BEFORE INSERT ON bookings WHEN NEW.booking_id = 'b37'"
                " BEGIN SELECT RAISE(ABORT, 'not that one'); END");
    for (int i = 0; i < 100; i++) {
        snprintf(booking, sizeof booking, "b%d", i);
        reserve(w, booking);
    }
    wait_for_rows(w);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings"), 99);
    assert_int_equal(service_of(w)->holds_dropped, 1);
    assert_int_equal(service_of(w)->holds_written, 99);
}

static void a_sale_needs_no_row_of_its_hold(void **state)
{
    struct sale_world *w = *state;

    open_zone(w);
    reserve(w, "b1");
    assert_int_equal(sale_run(w, "SEATS.CONFIRM gala b1")->code, HF_OK);
    wait_for_rows(w);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings WHERE status = 'confirmed'"
                                 " AND length(confirmation_code) = 10 AND created_at > 0"),
                     1);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings"), 1);
}

static void what_waits_is_written_at_the_end(void **state)
{
    struct sale_world *w = *state;
    char booking[16];

    open_zone(w);
    for (int i = 0; i < 600; i++) {
        snprintf(booking, sizeof booking, "b%d", i);
        reserve(w, booking);
    }
    sale_close(w);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings"), 600);
}

/* Only a ledger that was given has bookings. */
static void a_default_ledger_has_none(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_DEFAULT);
    sale_expect(w, "SEATS.OPEN gala floor 1000", "1 1000 1000");
    reserve(w, "b1");
    sale_turn(w);
    assert_int_equal(service_of(w)->holds_waiting, 0);
    sale_expect(w, "SEATS.SUMMARY gala ann ZONE floor", "1 1 0 no");
    sale_expect(w, "SEATS.SUMMARY gala ann", "1 1 0 unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sale_setup, sale_teardown)
        CASE(a_row_follows_each_change),       CASE(a_row_that_is_refused_is_dropped_alone),
        CASE(a_sale_needs_no_row_of_its_hold), CASE(what_waits_is_written_at_the_end),
        CASE(a_default_ledger_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
