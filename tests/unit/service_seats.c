/* SPDX-License-Identifier: Apache-2.0
 *
 * Zones and bookings with a ledger that was given: capacity, confirmation and refund on both
 * sides. */
#include "service_fixture.h"

#include <stdio.h>

static int64_t sold(struct sale_world *w)
{
    return sale_sql(w, "SELECT sold FROM zones");
}

static void open_zone(struct sale_world *w)
{
    sale_open(w, SALE_GUARDED);
    sale_expect(w, "SEATS.OPEN gala floor 10", "1 10 10");
    assert_int_equal(sale_sql(w, "SELECT capacity FROM zones"), 10);
}

static void reserve(struct sale_world *w, const char *words, const char *starts)
{
    sale_run(w, words);
    if (strncmp(w->last.text, starts, strlen(starts)) != 0) {
        fail_msg("%s: %s %s", words, w->last.text, w->last.message);
    }
}

static void a_confirmed_booking_is_in_the_ledger(void **state)
{
    struct sale_world *w = *state;
    char text[1024];

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5 PRICE 20", "1 7 3 ");
    assert_int_equal(sold(w), 0);
    reserve(w, "SEATS.CONFIRM gala b1 PAYMENT p1", "1 CONFIRMED ");
    snprintf(text, sizeof text, "%s", w->last.text);
    assert_int_equal(sold(w), 3);
    assert_int_equal(sale_sql(w, "SELECT quantity * unit_price FROM bookings WHERE status = "
                                 "'confirmed' AND payment_id = 'p1'"),
                     60);
    sale_expect(w, "SEATS.CONFIRM gala b1 PAYMENT p1", text);
    sale_expect(w, "SEATS.CONFIRM gala b1 PAYMENT p2", "0 INVALID_STATE");
    assert_int_equal(sold(w), 3);
}

static void a_refund_gives_back_on_both_sides_once(void **state)
{
    struct sale_world *w = *state;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5", "1 7 3 ");
    sale_expect(w, "SEATS.REFUND gala b1", "0 INVALID_STATE");
    reserve(w, "SEATS.CONFIRM gala b1", "1 CONFIRMED ");
    sale_expect(w, "SEATS.REFUND gala b1 USER bob", "0 NOT_OWNER");
    assert_int_equal(sold(w), 3);
    sale_expect(w, "SEATS.REFUND gala b1 USER ann", "1 REFUNDED 10");
    sale_expect(w, "SEATS.REFUND gala b1 USER ann", "1 REFUNDED 10");
    assert_int_equal(sold(w), 0);
    sale_expect(w, "SEATS.REFUND gala b9", "0 RESERVATION_NOT_FOUND");
}

static void what_the_engine_refuses_does_not_reach_the_ledger(void **state)
{
    struct sale_world *w = *state;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5", "1 7 3 ");
    sale_expect(w, "SEATS.CONFIRM gala b9", "0 RESERVATION_NOT_FOUND");
    sale_expect(w, "SEATS.CONFIRM gala b1 USER bob", "0 NOT_OWNER");
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings"), 0);
}

static void the_ledger_has_the_last_word(void **state)
{
    struct sale_world *w = *state;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5", "1 7 3 ");
    sale_sql(w, "UPDATE zones SET sold = 8");
    sale_expect(w, "SEATS.CONFIRM gala b1", "0 INSUFFICIENT_STOCK");
    reserve(w, "SEATS.GET gala b1", "1 b1 ann floor"); /* the hold stays */
    sale_sql(w, "UPDATE zones SET sold = 0");
    reserve(w, "SEATS.CONFIRM gala b1", "1 CONFIRMED ");
}

/* The hold lapses, or is released, between the sale and the confirmation. */
static void a_hold_that_lapsed_meanwhile_is_taken_again(void **state)
{
    struct sale_world *w = *state;
    struct sale_answer confirm, release;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5", "1 7 3 ");
    sale_submit(w, "SEATS.CONFIRM gala b1", &confirm);
    sale_submit(w, "SEATS.RELEASE gala b1", &release);
    assert_true(release.done && !confirm.done);
    sale_wait(w, &confirm, 1);
    assert_memory_equal(confirm.text, "1 CONFIRMED ", 12);
    assert_int_equal(sold(w), 3);
    sale_expect(w, "SEATS.ZONE gala floor", "1 10 7 0 3");
}

/* The deadline of b1 in the answer to SEATS.GET. */
static int64_t deadline(struct sale_world *w)
{
    long long created, expires;

    reserve(w, "SEATS.GET gala b1", "1 b1 ann floor");
    assert_int_equal(
        sscanf(strstr(w->last.text, "reserved"), "reserved %lld %lld", &created, &expires), 2);
    return expires;
}

/* So that it does not lapse between the two sides. */
static void a_hold_that_is_about_to_lapse_is_extended_first(void **state)
{
    struct sale_world *w = *state;
    struct sale_answer confirm;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5 TTL 5s", "1 7 3 ");
    int64_t first = deadline(w);
    sale_submit(w, "SEATS.CONFIRM gala b1", &confirm);
    assert_true(!confirm.done && deadline(w) > first);
    sale_wait(w, &confirm, 1);
    assert_memory_equal(confirm.text, "1 CONFIRMED ", 12);
    assert_int_equal(sold(w), 3);
}

static void if_the_seats_are_gone_the_sale_is_taken_back(void **state)
{
    struct sale_world *w = *state;
    struct sale_answer confirm, other;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5", "1 7 3 ");
    sale_submit(w, "SEATS.CONFIRM gala b1", &confirm);
    sale_submit(w, "SEATS.RELEASE gala b1", &other);
    sale_submit(w, "SEATS.RESERVE gala floor b2 bob 10 10", &other);
    assert_true(other.done && other.code == HF_OK && !confirm.done);
    sale_wait(w, &confirm, 1);
    assert_string_equal(confirm.text, "0 RESERVATION_NOT_FOUND");
    assert_int_equal(sold(w), 0);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM bookings WHERE status = 'refunded'"), 1);
}

static void the_capacity_changes_on_both_sides(void **state)
{
    struct sale_world *w = *state;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5", "1 7 3 ");
    reserve(w, "SEATS.CONFIRM gala b1", "1 CONFIRMED ");
    sale_expect(w, "SEATS.OPEN gala floor 20", "1 17 20");
    assert_int_equal(sale_sql(w, "SELECT capacity FROM zones"), 20);
    sale_expect(w, "SEATS.OPEN gala floor 5", "1 2 5");
    assert_int_equal(sale_sql(w, "SELECT capacity FROM zones"), 5);
    sale_expect(w, "SEATS.OPEN gala floor 2", "0 CAPACITY_IN_USE");
    assert_int_equal(sale_sql(w, "SELECT capacity FROM zones"), 5);
    sale_expect(w, "SEATS.ZONE gala floor", "1 5 2 0 3");
}

static void a_zone_that_only_the_ledger_knows_is_opened_with_what_is_left(void **state)
{
    struct sale_world *w = *state;

    open_zone(w);
    reserve(w, "SEATS.RESERVE gala floor b1 ann 3 5", "1 7 3 ");
    reserve(w, "SEATS.CONFIRM gala b1", "1 CONFIRMED ");
    sale_close(w);
    sale_open(w, SALE_GUARDED); /* in memory: the engine knows nothing */
    reserve(w, "SEATS.RESERVE gala floor b2 bob 2 5", "1 5 2 ");
    reserve(w, "SEATS.CONFIRM gala b2", "1 CONFIRMED ");
    assert_int_equal(sold(w), 5);
    /* Three of them are the ledger's alone. */
    sale_expect(w, "SEATS.OPEN gala floor 12", "1 7 12");
    assert_int_equal(sale_sql(w, "SELECT capacity FROM zones"), 12);
    sale_expect(w, "SEATS.RESERVE gala stalls b3 bob 1 5", "0 ZONE_NOT_FOUND");
    sale_expect(w, "SEATS.REFUND gala b1 USER bob", "0 NOT_OWNER");
    sale_expect(w, "SEATS.REFUND gala b1 USER ann", "1 REFUNDED 10");
    assert_int_equal(sold(w), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sale_setup, sale_teardown)
        CASE(a_confirmed_booking_is_in_the_ledger),
        CASE(a_refund_gives_back_on_both_sides_once),
        CASE(what_the_engine_refuses_does_not_reach_the_ledger),
        CASE(the_ledger_has_the_last_word),
        CASE(a_hold_that_lapsed_meanwhile_is_taken_again),
        CASE(a_hold_that_is_about_to_lapse_is_extended_first),
        CASE(if_the_seats_are_gone_the_sale_is_taken_back),
        CASE(the_capacity_changes_on_both_sides),
        CASE(a_zone_that_only_the_ledger_knows_is_opened_with_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
