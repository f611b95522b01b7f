/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that are lost, COMMITs without an answer, databases that hang: every sale is carried
 * out once or not at all, and answered once. */
#include "ledger_faulty.h"
#include "ledger_fixture.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>

static int make(void **state)
{
    int failed = ledger_world_make(state);
    struct world *world = *state;

    world->driver = &sql_faulty;
    faulty_reset();
    return failed;
}

static int64_t stock(struct world *world)
{
    return world_ask(world, "SELECT stock FROM inventory WHERE product_id = 'lamp'");
}

static int64_t orders(struct world *world)
{
    return world_ask(world, "SELECT count(*) FROM orders");
}

/* ---- what is tried again --------------------------------------------------------------------- */

static void what_comes_to_nothing_is_tried_again(void **state)
{
    static const enum fault faults[] = {FAULT_AGAIN, FAULT_AWAY, FAULT_LOST_BEFORE};
    struct world *world = *state;
    char order[16];

    world_stocked(world, "lamp", 100);
    for (int i = 0; i < 3; i++) {
        faulty_fail(faults[i], LEDGER_ORDER_ADD, 0, 3);
        snprintf(order, sizeof order, "o-%d", i);
        assert_int_equal(world_buy(world, "lamp", order, "ann", 1), LEDGER_DONE);
        assert_int_equal(stock(world), 99 - i);
        assert_int_equal(orders(world), i + 1);
    }
    world_tell_all(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

static void a_commit_without_an_answer_is_looked_up(void **state)
{
    struct world *world = *state;
    struct ledger_figures figures;

    world_stocked(world, "lamp", 100);
    faulty_fail(FAULT_LOST_AFTER, LEDGER_ORDER_ADD, 0, 1);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 2), LEDGER_DONE);
    assert_int_equal(stock(world), 98);
    assert_int_equal(orders(world), 1);
    ledger_figures(world->ledger, &figures);
    assert_int_equal(figures.unknown, 1);
    assert_int_equal(world_read(world, "lamp").selling, 2);
    world_tell_all(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

static void a_transaction_that_lingers_is_waited_for(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    faulty_fail(FAULT_LINGER, LEDGER_ORDER_ADD, 0, 1);
    const struct sold *sold = world_sell(world, "lamp", "o-1", "ann", 2);
    faulty_wait_for_connects(2);
    faulty_commit();
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_DONE);
    assert_int_equal(stock(world), 98);
}

static void a_writer_that_comes_back_has_another_epoch(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    int64_t before = world_ask(world, "SELECT epoch FROM writers");
    faulty_fail(FAULT_LOST_BEFORE, LEDGER_ORDER_ADD, 0, 1);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 2), LEDGER_DONE);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM writers"), 1);
    assert_true(world_ask(world, "SELECT epoch FROM writers") > before);
}

/* Has the writer hang with a sale until it is released, so that what follows is one batch. */
static void hold_the_writer(struct world *world, int number)
{
    char order[16];

    snprintf(order, sizeof order, "held-%d", number);
    faulty_hang();
    faulty_fail(FAULT_NONE, LEDGER_ORDER_ADD, 0, 1);
    world_sell(world, "lamp", order, "zoe", 1);
    faulty_wait_until_hanging();
}

static void the_slow_way_finds_out_too(void **state)
{
    static const enum fault faults[] = {FAULT_AGAIN, FAULT_AWAY, FAULT_LOST_BEFORE,
                                        FAULT_LOST_AFTER};
    struct world *world = *state;
    char order[16];

    world_stocked(world, "lamp", 5);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(world_stock(world, "lamp", 5 - stock(world)), 5);
        hold_the_writer(world, i);
        snprintf(order, sizeof order, "fits-%d", i);
        const struct sold *fits = world_sell(world, "lamp", order, "ann", 2);
        snprintf(order, sizeof order, "too-much-%d", i);
        const struct sold *too_much = world_sell(world, "lamp", order, "ann", 9);
        faulty_fail(faults[i], LEDGER_ORDER_ADD, 1, 1); /* the first is the fast way */
        faulty_release();
        world_wait(world);
        assert_int_equal(fits->sale.answer, LEDGER_DONE);
        assert_int_equal(too_much->sale.answer, LEDGER_SOLD_OUT);
    }
    assert_int_equal(orders(world), 8);
    world_tell_all(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

static void a_job_without_an_answer_is_looked_up(void **state)
{
    static const enum fault faults[] = {FAULT_AGAIN, FAULT_AWAY, FAULT_LOST_BEFORE,
                                        FAULT_LOST_AFTER};
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    for (int i = 0; i < 4; i++) {
        faulty_fail(faults[i], LEDGER_STOCK_ADD, 0, 1);
        assert_int_equal(world_stock(world, "lamp", 1), 101 + i);
        assert_int_equal(stock(world), 101 + i);
    }
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* One sale hangs in the database, another waits behind it; both have 50 ms. */
static void hang(struct world *world, enum fault fault, struct sold *sold[2])
{
    world_stocked(world, "lamp", 100);
    faulty_hang();
    faulty_fail(fault, LEDGER_ORDER_ADD, 0, 1);
    for (int i = 0; i < 2; i++) {
        sold[i] = world_sale(world, "lamp", i == 0 ? "hangs" : "waits", "ann", 2);
        sold[i]->sale.deadline_ms = sql_now_ms() + 50;
        world_submit(world, sold[i]);
        if (i == 0) {
            faulty_wait_until_hanging();
        }
    }
    world_wait(world);
    assert_int_equal(sold[0]->sale.answer, LEDGER_UNKNOWN);
    assert_int_equal(sold[0]->sale.problem.code, HF_TIMEOUT);
    assert_int_equal(sold[1]->sale.answer, LEDGER_AWAY);
    assert_int_equal(world->late_count, 0);
}

static void who_has_waited_long_enough_is_answered_while_the_database_hangs(void **state)
{
    struct world *world = *state;
    struct sold *sold[2];

    hang(world, FAULT_LOST_AFTER, sold);
    faulty_release();
    world_wait_for_late(world, 1);
    assert_string_equal(world->late[0].id, "hangs");
    assert_int_equal(world->late[0].answer, LEDGER_DONE);
    assert_int_equal(stock(world), 98);
    assert_int_equal(orders(world), 1);
    assert_int_equal(world_read(world, "lamp").selling, 2);
    ledger_told(world->ledger, world->late[0].writer, world->late[0].batch);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

static void what_hung_and_came_to_nothing_is_not_done_later(void **state)
{
    struct world *world = *state;
    struct sold *sold[2];

    hang(world, FAULT_LOST_BEFORE, sold);
    faulty_release();
    world_wait_for_late(world, 1);
    assert_int_equal(world->late[0].answer, LEDGER_AWAY);
    assert_int_equal(stock(world), 100);
    assert_int_equal(orders(world), 0);
    assert_int_equal(world_buy(world, "lamp", "hangs", "ann", 2), LEDGER_DONE);
}

static void without_a_callback_nobody_waits_to_be_told(void **state)
{
    struct world *world = *state;
    struct sold *sold[2];

    world->options.late = NULL;
    hang(world, FAULT_LOST_AFTER, sold);
    faulty_release();
    assert_int_equal(world_buy(world, "lamp", "next", "ann", 1), LEDGER_DONE);
    world_tell_all(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

static void the_same_again_finds_what_is_still_unknown(void **state)
{
    struct world *world = *state;
    struct sold *sold[2];

    hang(world, FAULT_LOST_AFTER, sold);
    const struct sold *again = world_sell(world, "lamp", "hangs", "ann", 2);
    faulty_release();
    world_wait(world);
    assert_int_equal(again->sale.answer, LEDGER_DONE_BEFORE);
    world_wait_for_late(world, 1);
    assert_int_equal(world->late[0].answer, LEDGER_DONE);
    assert_int_equal(stock(world), 98);
}

static void a_job_past_its_deadline_is_answered_while_the_database_hangs(void **state)
{
    struct world *world = *state;
    struct sold *sold[2];

    hang(world, FAULT_LOST_BEFORE, sold);
    struct ledger_job job = {.task = LEDGER_TASK_FIND,
                             .scope = hf_text("lamp"),
                             .id = hf_text("hangs"),
                             .deadline_ms = sql_now_ms() + 20};
    assert_int_equal(world_job(world, &job), LEDGER_AWAY);
    faulty_release();
    world_wait_for_late(world, 1);
}

/* ---- no connection --------------------------------------------------------------------------- */

static void a_database_that_is_away_answers_at_once(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    assert_null(ledger_unready(world->ledger));
    faulty_refuse(true);
    faulty_fail(FAULT_AWAY, LEDGER_ORDER_ADD, 0, 1);
    const struct sold *sold = world_sell(world, "lamp", "o-1", "ann", 2);
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_AWAY);
    assert_string_equal(sold->sale.problem.message, "nobody is let in");
    assert_string_equal(ledger_unready(world->ledger), "nobody is let in");
    assert_int_equal(world_buy(world, "lamp", "o-2", "ann", 2), LEDGER_AWAY);
    struct ledger_job job = {
        .task = LEDGER_TASK_FIND, .scope = hf_text("lamp"), .id = hf_text("o-1")};
    assert_int_equal(world_job(world, &job), LEDGER_AWAY);
    unsigned connects = faulty_connects();
    faulty_refuse(false);
    faulty_wait_for_connects(connects + 1);
    while (ledger_unready(world->ledger) != NULL) {
        ledger_turn(world->ledger);
    }
    assert_int_equal(world_buy(world, "lamp", "o-2", "ann", 2), LEDGER_DONE);
    assert_int_equal(orders(world), 1);
}

static void a_ledger_can_be_opened_before_its_database(void **state)
{
    struct world *world = *state;

    faulty_refuse(true);
    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 2), LEDGER_AWAY);
    faulty_refuse(false);
    while (ledger_unready(world->ledger) != NULL) {
        ledger_turn(world->ledger);
    }
    assert_int_equal(world_stock(world, "lamp", 10), 10);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 2), LEDGER_DONE);
}

/* To connect takes longer than a transaction may. */
static void a_database_slow_to_let_in_is_connected_to_in_the_end(void **state)
{
    struct world *world = *state;

    world->options.timeout_ms = 2000;
    faulty_slow(3500);
    assert_int_equal(world_open(world), HF_OK);
    faulty_wait_for_entry();
    while (ledger_unready(world->ledger) != NULL) {
        ledger_turn(world->ledger);
    }
    faulty_slow(0);
    assert_int_equal(world_stock(world, "lamp", 10), 10);
    faulty_slow(3500);
    faulty_fail(FAULT_LOST_BEFORE, LEDGER_ORDER_ADD, 0, 1);
    const struct sold *sold = world_sell(world, "lamp", "o-1", "ann", 2);
    faulty_wait_for_entry(); /* to look the COMMIT up */
    faulty_slow(0);
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_DONE);
    assert_int_equal(stock(world), 8);
}

static void a_ledger_is_closed_while_an_outcome_is_unknown(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    unsigned connects = faulty_connects();
    faulty_refuse(true);
    faulty_fail(FAULT_LOST_AFTER, LEDGER_ORDER_ADD, 0, 1);
    world_sell(world, "lamp", "o-1", "ann", 2);
    faulty_wait_for_connects(connects + 1);
    world_close(world);
    assert_int_equal(world->answered, 0);
    assert_int_equal(orders(world), 1);
    /* It is in flight, until somebody sees to the dead. */
    assert_int_equal(world_ask(world, "SELECT count(*) FROM orders, writers"
                                      " WHERE writer = writer_id AND orders.batch > told"),
                     1);
}

/* ---- taken for dead -------------------------------------------------------------------------- */

static void a_writer_that_was_buried_joins_anew(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 2), LEDGER_DONE);
    int64_t before = world_ask(world, "SELECT writer_id FROM writers");
    world_do(world, "DELETE FROM writers");
    assert_int_equal(world_buy(world, "lamp", "o-2", "ann", 2), LEDGER_DONE);
    assert_int_not_equal(world_ask(world, "SELECT writer_id FROM writers"), before);
    assert_int_equal(world_ask(world, "SELECT count(DISTINCT writer) FROM orders"), 2);
    assert_int_equal(stock(world), 96);
    world_tell_all(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
}

static void a_writer_that_was_buried_looks_its_ids_up(void **state)
{
    static const enum fault faults[] = {FAULT_LOST_BEFORE, FAULT_LOST_AFTER};
    static const enum ledger_answer expected[] = {LEDGER_DONE, LEDGER_DONE_BEFORE};
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    for (int i = 0; i < 2; i++) {
        faulty_hang();
        faulty_fail(faults[i], LEDGER_ORDER_ADD, 0, 1);
        const struct sold *sold = world_sell(world, "lamp", i == 0 ? "o-0" : "o-1", "ann", 2);
        faulty_wait_until_hanging();
        unsigned connects = faulty_connects();
        faulty_refuse(true);
        faulty_release();
        faulty_wait_for_connects(connects + 1);
        world_do(world, "DELETE FROM writers");
        faulty_refuse(false);
        world_wait(world);
        assert_int_equal(sold->sale.answer, expected[i]);
        assert_true(i == 0 || sold->sale.found.told);
        assert_int_equal(stock(world), 98 - 2 * i);
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, ledger_world_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_comes_to_nothing_is_tried_again),
        CASE(a_commit_without_an_answer_is_looked_up),
        CASE(a_transaction_that_lingers_is_waited_for),
        CASE(a_writer_that_comes_back_has_another_epoch),
        CASE(the_slow_way_finds_out_too),
        CASE(a_job_without_an_answer_is_looked_up),
        CASE(who_has_waited_long_enough_is_answered_while_the_database_hangs),
        CASE(what_hung_and_came_to_nothing_is_not_done_later),
        CASE(without_a_callback_nobody_waits_to_be_told),
        CASE(the_same_again_finds_what_is_still_unknown),
        CASE(a_job_past_its_deadline_is_answered_while_the_database_hangs),
        CASE(a_database_that_is_away_answers_at_once),
        CASE(a_ledger_can_be_opened_before_its_database),
        CASE(a_database_slow_to_let_in_is_connected_to_in_the_end),
        CASE(a_ledger_is_closed_while_an_outcome_is_unknown),
        CASE(a_writer_that_was_buried_joins_anew),
        CASE(a_writer_that_was_buried_looks_its_ids_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
