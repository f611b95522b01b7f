/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: orders and bookings found, ended and kept out, counters, leases, drift, and writers. */
#include "ledger_fixture.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>

static enum ledger_answer do_row(struct world *world, struct ledger_job *job, enum ledger_task task,
                                 const char *scope, const char *id)
{
    *job = (struct ledger_job){
        .task = task, .kind = job->kind, .scope = hf_text(scope), .id = hf_text(id)};
    return world_job(world, job);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void an_order_is_found(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.kind = LEDGER_ORDER};

    world_stocked(world, "lamp", 10);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_FIND, "lamp", "o-1"), LEDGER_NOT_FOUND);
    world_buy(world, "lamp", "o-1", "ann", 3);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_FIND, "lamp", "o-1"), LEDGER_DONE_BEFORE);
    assert_string_equal(job.found.user, "ann");
    assert_int_equal(job.found.quantity, 3);
    assert_false(job.found.told);
    world_tell_all(world);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_FIND, "lamp", "o-1"), LEDGER_DONE_BEFORE);
    assert_true(job.found.told);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_FIND, "chair", "o-1"), LEDGER_NOT_FOUND);
}

static void an_order_is_ended_once(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.kind = LEDGER_ORDER};

    world_stocked(world, "lamp", 10);
    world_buy(world, "lamp", "o-1", "ann", 3);
    world_tell_all(world);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_END, "chair", "o-1"), LEDGER_NOT_FOUND);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_END, "lamp", "o-1"), LEDGER_DONE);
    assert_int_equal(job.left, 10);
    assert_int_equal(job.found.quantity, 3);
    assert_true(job.batch > 0);
    assert_int_equal(world_read(world, "lamp").ending, 3);
    assert_int_equal(world_read(world, "lamp").selling, 0);
    ledger_told(world->ledger, job.writer, job.batch);
    assert_int_equal(world_read(world, "lamp").ending, 0);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_END, "lamp", "o-1"), LEDGER_ENDED_BEFORE);
    assert_true(job.found.ended_at_ms >= job.found.made_at_ms);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 3), LEDGER_ENDED_BEFORE);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 10);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM barriers WHERE scope = 'lamp'"
                                      " AND id = 'o-1' AND step = 'return'"),
                     1);
}

static void an_order_that_was_cancelled_first_is_never_sold(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.kind = LEDGER_ORDER};

    world_stocked(world, "lamp", 10);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_CANCEL, "lamp", "o-1"), LEDGER_DONE);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 3), LEDGER_ENDED_BEFORE);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_CANCEL, "lamp", "o-1"), LEDGER_ENDED_BEFORE);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_END, "lamp", "o-1"), LEDGER_ENDED_BEFORE);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 10);
    assert_int_equal(world_read(world, "lamp").selling, 0);
    world_buy(world, "lamp", "o-2", "ann", 3);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_CANCEL, "lamp", "o-2"), LEDGER_DONE_BEFORE);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_CANCEL, "chair", "o-2"), LEDGER_DIFFERS);
}

/* ---- counters -------------------------------------------------------------------------------- */

static void the_stock_changes_by_a_difference(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {
        .task = LEDGER_TASK_STOCK, .scope = hf_text("lamp"), .delta = 5, .create = false};

    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(world_job(world, &job), LEDGER_NOT_FOUND);
    assert_int_equal(world_stock(world, "lamp", 5), 5);
    assert_int_equal(world_stock(world, "lamp", 7), 12);
    assert_int_equal(world_stock(world, "lamp", -12), 0);
    job.delta = -1;
    assert_int_equal(world_job(world, &job), LEDGER_SOLD_OUT);
    assert_int_equal(job.left, 0);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 0);
}

static void a_counter_is_read_with_what_is_in_flight(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    assert_int_equal(world_stock(world, "chair", 10), 10);
    assert_false(world_read(world, "table").found);
    world_buy(world, "lamp", "o-1", "ann", 3);
    struct ledger_counter lamp = world_read(world, "lamp");
    assert_true(lamp.found);
    assert_int_equal(lamp.left, 7);
    assert_int_equal(lamp.selling, 3);
    assert_int_equal(lamp.ending, 0);
    assert_int_equal(world_read(world, "chair").selling, 0);
    world_buy(world, "lamp", "o-2", "ann", 1);
    assert_int_equal(world_read(world, "lamp").selling, 4);
    /* What is told out of turn counts when all before it was told, too. */
    const struct ledger_sale *second = &world->sold[1].sale;
    ledger_told(world->ledger, second->writer, second->batch);
    world->sold[1].sale.batch = 0;
    assert_int_equal(world_read(world, "lamp").selling, 4);
    world_tell_all(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static enum ledger_answer lease(struct world *world, struct ledger_job *job, enum ledger_task task,
                                const char *owner, int64_t for_ms)
{
    *job = (struct ledger_job){
        .task = task, .scope = hf_text("lamp"), .id = hf_text(owner), .delta = for_ms};
    return world_job(world, job);
}

static void a_lease_has_one_owner(void **state)
{
    struct world *world = *state;
    struct ledger_job job;

    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(lease(world, &job, LEDGER_TASK_LEASE, "one", 60000), LEDGER_DONE);
    int64_t fence = job.fence;
    assert_int_equal(lease(world, &job, LEDGER_TASK_LEASE, "two", 60000), LEDGER_SOLD_OUT);
    assert_string_equal(job.found.user, "one");
    assert_true(job.left > 0 && job.left <= 60000);
    assert_int_equal(lease(world, &job, LEDGER_TASK_UNLEASE, "two", 0), LEDGER_NOT_FOUND);
    assert_int_equal(lease(world, &job, LEDGER_TASK_LEASE, "one", 60000), LEDGER_DONE);
    assert_int_equal(job.fence, fence); /* renewed */
    assert_int_equal(lease(world, &job, LEDGER_TASK_UNLEASE, "one", 0), LEDGER_DONE);
    assert_int_equal(lease(world, &job, LEDGER_TASK_UNLEASE, "one", 0), LEDGER_NOT_FOUND);
    assert_int_equal(lease(world, &job, LEDGER_TASK_LEASE, "two", 60000), LEDGER_DONE);
    assert_true(job.fence > fence);
}

static void a_lease_that_ran_out_is_anybodys(void **state)
{
    struct world *world = *state;
    struct ledger_job job;

    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(lease(world, &job, LEDGER_TASK_LEASE, "one", 60000), LEDGER_DONE);
    int64_t fence = job.fence;
    world_do(world, "UPDATE leases SET expires_at = expires_at - 60001");
    assert_int_equal(lease(world, &job, LEDGER_TASK_LEASE, "two", 60000), LEDGER_DONE);
    assert_int_equal(job.fence, fence + 1);
    assert_int_equal(lease(world, &job, LEDGER_TASK_LEASE, "one", 60000), LEDGER_SOLD_OUT);
}

/* ---- drift and audit ------------------------------------------------------------------------- */

static void drift_is_written_down(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.task = LEDGER_TASK_DRIFT,
                             .scope = hf_text("lamp"),
                             .id = hf_text("engine ahead of the ledger"),
                             .user = hf_text("server-1"),
                             .before = 7,
                             .now = 5,
                             .in_flight = 1};

    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM drift WHERE scope = 'lamp'"
                                      " AND before_value = 7 AND after_value = 5 AND in_flight = 1"
                                      " AND cause = 'engine ahead of the ledger'"
                                      " AND server = 'server-1' AND made_at > 0"),
                     1);
}

static char findings[1024];

static void note_finding(void *context, const char *finding)
{
    (void)context;
    strncat(findings, finding, sizeof findings - strlen(findings) - 2);
    strcat(findings, "\n");
}

static const char *audit(struct world *world)
{
    struct ledger_job job = {.task = LEDGER_TASK_AUDIT, .finding = note_finding};

    findings[0] = '\0';
    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    return findings;
}

static void the_audit_names_what_does_not_agree(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.kind = LEDGER_ORDER};

    world_stocked(world, "lamp", 10);
    world_buy(world, "lamp", "o-1", "ann", 3);
    world_buy(world, "lamp", "o-2", "ann", 3);
    do_row(world, &job, LEDGER_TASK_END, "lamp", "o-2");
    assert_string_equal(audit(world), "");
    world_do(
        world,
        "INSERT INTO zones (event_id, zone_id, capacity, sold) VALUES ('gala', 'floor', 10, 4);"
        "UPDATE orders SET status = 'returned' WHERE order_id = 'o-1';"
        "UPDATE orders SET status = 'sold' WHERE order_id = 'o-2'");
    assert_string_equal(
        audit(world), "event gala, zone floor: 4 seats are sold, and 0 confirmed in bookings\n"
                      "product lamp, order o-1: returned without a barrier\n"
                      "lamp, o-2: there is a barrier 'return', and the row is not in that state\n");
}

/* ---- seats ----------------------------------------------------------------------------------- */

static struct sold *book(struct world *world, const char *zone, const char *id, int64_t quantity)
{
    struct sold *sold = world_sale(world, "gala", id, "ann", quantity);

    sold->sale.kind = LEDGER_BOOKING;
    sold->sale.zone = hf_text(zone);
    sold->sale.payment = hf_text("pay-1");
    world_submit(world, sold);
    return sold;
}

static enum ledger_answer set_zone(struct world *world, struct ledger_job *job, int64_t capacity)
{
    *job = (struct ledger_job){.task = LEDGER_TASK_ZONE,
                               .kind = LEDGER_BOOKING,
                               .scope = hf_text("gala"),
                               .zone = hf_text("floor"),
                               .delta = capacity,
                               .create = true};
    return world_job(world, job);
}

static void bookings_are_counted_in_their_zone(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.kind = LEDGER_BOOKING};

    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(set_zone(world, &job, 5), LEDGER_DONE);
    assert_int_equal(job.left, 5);
    const struct sold *fits = book(world, "floor", "b-1", 3);
    const struct sold *too_many = book(world, "floor", "b-2", 3);
    const struct sold *nowhere = book(world, "roof", "b-3", 1);
    world_wait(world);
    assert_int_equal(fits->sale.answer, LEDGER_DONE);
    assert_int_equal(too_many->sale.answer, LEDGER_SOLD_OUT);
    assert_int_equal(too_many->sale.left, 2);
    assert_int_equal(nowhere->sale.answer, LEDGER_NOT_FOUND);
    assert_int_equal(set_zone(world, &job, 2), LEDGER_SOLD_OUT);
    assert_int_equal(set_zone(world, &job, 4), LEDGER_DONE);
    assert_int_equal(job.left, 1);

    struct hf_bytes event = hf_text("gala"), zone = hf_text("floor");
    struct ledger_counter counter;
    struct ledger_job read = {.task = LEDGER_TASK_READ,
                              .kind = LEDGER_BOOKING,
                              .scopes = &event,
                              .zones = &zone,
                              .counters = &counter,
                              .count = 1};
    assert_int_equal(world_job(world, &read), LEDGER_DONE);
    assert_int_equal(counter.left, 1);
    assert_int_equal(counter.size, 4);
    assert_int_equal(counter.selling, 3);
    world_tell_all(world);
    job.kind = LEDGER_BOOKING;
    assert_int_equal(do_row(world, &job, LEDGER_TASK_FIND, "gala", "b-1"), LEDGER_DONE_BEFORE);
    assert_string_equal(job.found.payment, "pay-1");
    assert_string_equal(job.found.zone, "floor");
    assert_int_equal(do_row(world, &job, LEDGER_TASK_END, "gala", "b-1"), LEDGER_DONE);
    assert_int_equal(job.left, 4);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_END, "gala", "b-1"), LEDGER_ENDED_BEFORE);
    assert_int_equal(do_row(world, &job, LEDGER_TASK_CANCEL, "gala", "b-9"), LEDGER_DONE);
    const struct sold *late = book(world, "floor", "b-9", 1);
    world_wait(world);
    assert_int_equal(late->sale.answer, LEDGER_ENDED_BEFORE);
    assert_string_equal(audit(world), "");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, ledger_world_make, ledger_world_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_order_is_found),
        CASE(an_order_is_ended_once),
        CASE(an_order_that_was_cancelled_first_is_never_sold),
        CASE(the_stock_changes_by_a_difference),
        CASE(a_counter_is_read_with_what_is_in_flight),
        CASE(a_lease_has_one_owner),
        CASE(a_lease_that_ran_out_is_anybodys),
        CASE(drift_is_written_down),
        CASE(the_audit_names_what_does_not_agree),
        CASE(bookings_are_counted_in_their_zone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
