/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of holds, written many at a time and in any order: a row is only ever moved on, and one that
 * is sold is left alone. */
#include "ledger_fixture.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>

static struct ledger_booking hold(const char *booking, const char *status, int64_t created_ms,
                                  int64_t expires_ms)
{
    return (struct ledger_booking){.event = hf_text("gala"),
                                   .booking = hf_text(booking),
                                   .zone = hf_text("floor"),
                                   .user = hf_text("ann"),
                                   .show = hf_text(""),
                                   .status = hf_text(status),
                                   .quantity = 2,
                                   .created_ms = created_ms,
                                   .expires_ms = expires_ms,
                                   .ended_ms = strcmp(status, "reserved") == 0 ? 0 : expires_ms};
}

static void write_holds(struct world *world, const struct ledger_booking *holds, size_t count)
{
    struct ledger_job job = {.task = LEDGER_TASK_HOLDS, .holds = holds, .count = count};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
}

static void write_one(struct world *world, const char *status, int64_t created_ms,
                      int64_t expires_ms)
{
    struct ledger_booking one = hold("b-1", status, created_ms, expires_ms);

    write_holds(world, &one, 1);
}

/* The row of b-1 is as these say. */
static void expect(struct world *world, const char *status, int64_t created_ms, int64_t expires_ms)
{
    char query[256];

    snprintf(query, sizeof query,
             "SELECT count(*) FROM bookings WHERE booking_id = 'b-1' AND status = '%s'"
             " AND created_at = %lld AND expires_at = %lld",
             status, (long long)created_ms, (long long)expires_ms);
    if (world_ask(world, query) != 1) {
        fail_msg("no such row: %s", query);
    }
    assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings"), 1);
}

static void begin(struct world *world)
{
    assert_int_equal(world_open(world), HF_OK);
    world_do(
        world,
        "INSERT INTO zones (event_id, zone_id, capacity, sold) VALUES ('gala', 'floor', 10, 0)");
}

static void a_hold_moves_on(void **state)
{
    struct world *world = *state;

    begin(world);
    write_one(world, "reserved", 100, 200);
    expect(world, "reserved", 100, 200);
    write_one(world, "reserved", 100, 250); /* extended */
    expect(world, "reserved", 100, 250);
    write_one(world, "expired", 100, 250);
    expect(world, "expired", 100, 250);
    write_one(world, "reserved", 300, 400); /* made again */
    expect(world, "reserved", 300, 400);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings WHERE ended_at IS NULL"), 1);
    write_one(world, "cancelled", 300, 400);
    expect(world, "cancelled", 300, 400);
    write_one(world, "", 300, 400);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings"), 0);
}

static void what_is_late_undoes_nothing(void **state)
{
    struct world *world = *state;

    begin(world);
    write_one(world, "cancelled", 100, 250); /* before the hold itself */
    write_one(world, "reserved", 100, 250);
    expect(world, "cancelled", 100, 250);
    write_one(world, "reserved", 100, 200); /* as it was before it was extended */
    expect(world, "cancelled", 100, 250);
    write_one(world, "expired", 100, 250);
    expect(world, "cancelled", 100, 250);
    write_one(world, "reserved", 300, 400);
    write_one(world, "cancelled", 100, 250); /* of the one before */
    write_one(world, "expired", 100, 250);
    write_one(world, "reserved", 100, 250);
    expect(world, "reserved", 300, 400);
    write_one(world, "expired", 300, 350); /* it was extended meanwhile */
    expect(world, "reserved", 300, 400);
}

static void sell(struct world *world)
{
    struct sold *sold = world_sale(world, "gala", "b-1", "ann", 2);

    sold->sale.kind = LEDGER_BOOKING;
    sold->sale.zone = hf_text("floor");
    sold->sale.show = hf_text("late");
    sold->sale.code = hf_text("0123456789");
    sold->sale.created_ms = 100;
    world_submit(world, sold);
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_DONE);
}

static void a_sale_takes_the_place_of_a_hold(void **state)
{
    static const char *const status[] = {"reserved", "cancelled", "expired", ""};
    struct world *world = *state;

    begin(world);
    write_one(world, "reserved", 100, 250);
    sell(world);
    for (size_t i = 0; i < sizeof status / sizeof status[0]; i++) {
        write_one(world, status[i], 100, 250);
        write_one(world, status[i], 300, 400);
        assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings WHERE status = 'confirmed'"
                                          " AND created_at = 100 AND expires_at IS NULL"
                                          " AND show_id = 'late'"
                                          " AND confirmation_code = '0123456789'"),
                         1);
    }
    assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings"), 1);
    assert_int_equal(world_ask(world, "SELECT sold FROM zones"), 2);
}

/* A batch that does not fit is done with care, which sees no holds either. */
static void a_hold_is_no_sale_to_the_careful(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.task = LEDGER_TASK_FIND,
                             .kind = LEDGER_BOOKING,
                             .scope = hf_text("gala"),
                             .id = hf_text("b-1")};

    begin(world);
    write_one(world, "cancelled", 100, 250);
    assert_int_equal(world_job(world, &job), LEDGER_NOT_FOUND);
    job = (struct ledger_job){.task = LEDGER_TASK_END,
                              .kind = LEDGER_BOOKING,
                              .scope = hf_text("gala"),
                              .id = hf_text("b-1")};
    assert_int_equal(world_job(world, &job), LEDGER_NOT_FOUND);
    world_do(world, "UPDATE zones SET sold = 9");
    struct sold *sold = world_sale(world, "gala", "b-1", "ann", 2);
    sold->sale.kind = LEDGER_BOOKING;
    sold->sale.zone = hf_text("floor");
    world_submit(world, sold);
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_SOLD_OUT);
    expect(world, "cancelled", 100, 250); /* it was rolled back */
    world_do(world, "UPDATE zones SET sold = 0");
    sell(world);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings"), 1);
}

#define MANY LEDGER_HOLDS_MAX

static void many_are_written_at_once(void **state)
{
    struct world *world = *state;
    static struct ledger_booking holds[MANY];
    static char ids[MANY][16];

    begin(world);
    for (size_t i = 0; i < MANY; i++) {
        /* Each id twice: what comes later counts. */
        snprintf(ids[i], sizeof ids[i], "b-%zu", i / 2);
        holds[i] = hold(ids[i], i % 2 == 0 ? "reserved" : "cancelled", 100, 200);
    }
    write_holds(world, holds, MANY);
    write_holds(world, holds, MANY); /* again: nothing is changed */
    assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings WHERE status = 'cancelled'"),
                     MANY / 2);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM bookings"), MANY / 2);
}

/* ---- reading --------------------------------------------------------------------------------- */

static char listed[256];

static void see(void *context, const struct ledger_booking *row)
{
    (void)context;
    if (row == NULL) {
        listed[0] = '\0';
        return;
    }
    size_t size = strlen(listed);
    snprintf(listed + size, sizeof listed - size, "%.*s/%.*s=%.*s ", (int)row->event.size,
             row->event.data, (int)row->booking.size, row->booking.data, (int)row->status.size,
             row->status.data);
}

static void list(struct world *world, struct ledger_job job)
{
    job.booking = see;
    job.delta = 2;
    assert_int_equal(world_job(world, &job), LEDGER_DONE);
}

static void pages_are_in_the_order_of_ids(void **state)
{
    struct world *world = *state;
    int64_t later = INT64_C(4000000000000);
    struct ledger_booking holds[] = {hold("b-2", "reserved", 100, later),
                                     hold("b-1", "reserved", 100, 200),
                                     hold("b-3", "cancelled", 100, 200)};

    begin(world);
    holds[2].event = hf_text("opera");
    write_holds(world, holds, 3);
    list(world, (struct ledger_job){.task = LEDGER_TASK_LIST, .scope = hf_text("gala")});
    assert_string_equal(listed, "gala/b-1=expired gala/b-2=reserved ");
    list(world,
         (struct ledger_job){.task = LEDGER_TASK_LIST, .scope = hf_text("gala"), .after = "b-1"});
    assert_string_equal(listed, "gala/b-2=reserved ");
    list(world, (struct ledger_job){.task = LEDGER_TASK_LIST, .user = hf_text("ann")});
    assert_string_equal(listed, "gala/b-1=expired gala/b-2=reserved ");
    list(world, (struct ledger_job){.task = LEDGER_TASK_LIST,
                                    .user = hf_text("ann"),
                                    .after_event = "gala",
                                    .after = "b-2"});
    assert_string_equal(listed, "opera/b-3=cancelled ");
    list(world, (struct ledger_job){.task = LEDGER_TASK_LAPSED});
    assert_string_equal(listed, "gala/b-1=expired ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, ledger_world_make, ledger_world_remove)
        CASE(a_hold_moves_on),
        CASE(what_is_late_undoes_nothing),
        CASE(a_sale_takes_the_place_of_a_hold),
        CASE(a_hold_is_no_sale_to_the_careful),
        CASE(many_are_written_at_once),
        CASE(pages_are_in_the_order_of_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
