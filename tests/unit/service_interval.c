/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of reconciliation, against a simulated system: two orders and a return, each at
 * any of its steps when each of the three readings is made, an engine that is off by anything from
 * -3 to 3. All of them are tried. */
#include "service/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ORDER_NONE, ORDER_TAKEN, ORDER_COMMITTED, ORDER_SETTLED, ORDER_TOLD, ORDER_STEPS };
enum { RETURN_NONE, RETURN_COMMITTED, RETURN_ADJUSTED, RETURN_TOLD, RETURN_STEPS };

#define STOCK 20
#define ORDERS 2
static const int64_t order_quantity[ORDERS] = {1, 2};
static const int64_t return_quantity = 4;

/* How far everything is at one moment. */
struct moment {
    int orders[ORDERS], back;
};

struct seen {
    int64_t available, taken, total; /* in the engine */
    int64_t stock, selling, ending;  /* in the ledger */
};

/* What the two sides show at a moment, if the engine is off by `drift`. */
static struct seen see(const struct moment *moment, int64_t drift)
{
    struct seen seen = {.available = STOCK + drift, .total = 50 + drift, .stock = STOCK};

    for (int i = 0; i < ORDERS; i++) {
        int64_t quantity = order_quantity[i];
        int step = moment->orders[i];
        seen.available -= step >= ORDER_TAKEN ? quantity : 0;
        seen.taken += step == ORDER_TAKEN || step == ORDER_COMMITTED ? quantity : 0;
        seen.stock -= step >= ORDER_COMMITTED ? quantity : 0;
        seen.selling += step == ORDER_COMMITTED || step == ORDER_SETTLED ? quantity : 0;
    }
    if (moment->back >= RETURN_COMMITTED) {
        seen.stock += return_quantity;
    }
    if (moment->back >= RETURN_ADJUSTED) {
        seen.available += return_quantity;
        seen.total += return_quantity;
    }
    seen.ending =
        moment->back == RETURN_COMMITTED || moment->back == RETURN_ADJUSTED ? return_quantity : 0;
    return seen;
}

/* Reads the engine, the ledger, the engine again, at three moments. */
static struct interval_reading read_at(const struct moment moments[3], int64_t drift)
{
    struct seen before = see(&moments[0], drift), at = see(&moments[1], drift),
                after = see(&moments[2], drift);

    return (struct interval_reading){.engine_before = before.available + before.taken,
                                     .engine_after = after.available + after.taken,
                                     .total_before = before.total,
                                     .total_after = after.total,
                                     .available_after = after.available,
                                     .stock = at.stock,
                                     .selling = at.selling,
                                     .ending = at.ending};
}

/* Calls for all three times that one operation can be read at. */
typedef void every(const struct moment moments[3], int64_t drift, void *context);

static void over_orders(struct moment moments[3], int order, int64_t drift, every *each,
                        void *context)
{
    if (order == ORDERS) {
        each(moments, drift, context);
        return;
    }
    for (int a = 0; a < ORDER_STEPS; a++) {
        for (int b = a; b < ORDER_STEPS; b++) {
            for (int c = b; c < ORDER_STEPS; c++) {
                moments[0].orders[order] = a;
                moments[1].orders[order] = b;
                moments[2].orders[order] = c;
                over_orders(moments, order + 1, drift, each, context);
            }
        }
    }
}

static void over_all(every *each, void *context)
{
    struct moment moments[3];

    for (int64_t drift = -3; drift <= 3; drift++) {
        for (int a = 0; a < RETURN_STEPS; a++) {
            for (int b = a; b < RETURN_STEPS; b++) {
                for (int c = b; c < RETURN_STEPS; c++) {
                    moments[0].back = a;
                    moments[1].back = b;
                    moments[2].back = c;
                    over_orders(moments, 0, drift, each, context);
                }
            }
        }
    }
}

struct tally {
    long cases, known, corrected, points, naive_wrong;
};

static void bounds_hold_one(const struct moment moments[3], int64_t drift, void *context)
{
    struct tally *tally = context;
    struct interval_reading reading = read_at(moments, drift);
    struct interval interval = interval_of(&reading);
    int64_t correction = interval_correction(&interval, &reading);

    tally->cases++;
    if (!interval.known) {
        assert_int_equal(correction, 0);
        return;
    }
    tally->known++;
    assert_true(interval.low <= drift && drift <= interval.high);
    /* A correction never goes past what is right, nor the wrong way. */
    assert_true(drift >= 0 ? correction <= 0 && -correction <= drift
                           : correction >= 0 && correction <= -drift);
    assert_true(interval_is_suspicious(&reading) || correction == 0);
    tally->corrected += correction != 0;
}

static void what_is_corrected_is_never_in_flight(void **state)
{
    struct tally tally = {0};
    (void)state;

    over_all(bounds_hold_one, &tally);
    assert_int_equal(tally.cases, 7 * 20 * 35 * 35);
    assert_true(tally.known > tally.cases / 3);
    assert_true(tally.corrected > 0);
}

static bool is_quiet(const struct moment *moment)
{
    bool quiet = moment->back == RETURN_NONE || moment->back == RETURN_TOLD;

    for (int i = 0; i < ORDERS; i++) {
        quiet = quiet && (moment->orders[i] <= ORDER_TAKEN || moment->orders[i] == ORDER_TOLD);
    }
    return quiet;
}

static bool is_still(const struct moment moments[3])
{
    bool still = moments[0].back == moments[2].back;

    for (int i = 0; i < ORDERS; i++) {
        int first = moments[0].orders[i], last = moments[2].orders[i];
        still = still && (first == last || (first <= ORDER_TAKEN && last <= ORDER_TAKEN));
    }
    return still;
}

static void points_one(const struct moment moments[3], int64_t drift, void *context)
{
    struct tally *tally = context;

    if (is_quiet(&moments[0]) && is_still(moments)) {
        struct interval_reading reading = read_at(moments, drift);
        struct interval interval = interval_of(&reading);
        tally->points++;
        assert_true(interval.known && interval.low == drift && interval.high == drift);
        assert_int_equal(interval_correction(&interval, &reading), -drift);
    }
}

/* Takes come and go all the while: they are not in flight between the two sides. */
static void with_nothing_in_flight_the_whole_difference_is_certain(void **state)
{
    struct tally tally = {0};
    (void)state;

    over_all(points_one, &tally);
    assert_true(tally.points > 0);
}

/* Whoever puts the ledger's stock, less what is taken, in the place of what is available. */
static int64_t naive_correction(const struct moment moments[3], int64_t drift)
{
    struct seen at = see(&moments[1], drift), after = see(&moments[2], drift);
    return at.stock - after.taken - after.available;
}

static void naive_one(const struct moment moments[3], int64_t drift, void *context)
{
    struct tally *tally = context;
    struct interval_reading reading = read_at(moments, drift);
    struct interval interval = interval_of(&reading);

    if (drift == 0) {
        assert_int_equal(interval_correction(&interval, &reading), 0);
        tally->naive_wrong += naive_correction(moments, drift) != 0;
    }
}

static void a_naive_overwrite_would_break_what_is_right(void **state)
{
    struct tally tally = {0};
    (void)state;

    over_all(naive_one, &tally);
    assert_true(tally.naive_wrong > 0);
    /* For one: sold in the ledger, not settled yet, nothing else happening. */
    struct moment committed = {.orders = {ORDER_COMMITTED, ORDER_NONE}, .back = RETURN_NONE};
    struct moment moments[3] = {committed, committed, committed};
    assert_int_equal(naive_correction(moments, 0), -1);
}

static void no_more_is_taken_away_than_is_there(void **state)
{
    struct interval_reading reading = {.engine_before = 10,
                                       .engine_after = 10,
                                       .total_before = 10,
                                       .total_after = 10,
                                       .available_after = 4,
                                       .stock = 3};
    struct interval interval = interval_of(&reading);
    (void)state;

    assert_int_equal(interval.low, 7);
    assert_int_equal(interval_correction(&interval, &reading), -4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_corrected_is_never_in_flight),
        cmocka_unit_test(with_nothing_in_flight_the_whole_difference_is_certain),
        cmocka_unit_test(a_naive_overwrite_would_break_what_is_right),
        cmocka_unit_test(no_more_is_taken_away_than_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
