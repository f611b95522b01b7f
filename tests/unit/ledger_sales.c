/* SPDX-License-Identifier: Apache-2.0
 *
 * Sales: what each is answered, how they travel together, and where a batch is cut. */
#include "ledger_fixture.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>

static void a_sale_is_a_row_and_the_stock_less_its_quantity(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    const struct sold *sold = world_sell(world, "lamp", "o-1", "ann", 3);
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_DONE);
    assert_true(sold->sale.batch > 0);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory WHERE product_id = 'lamp'"), 7);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM orders WHERE order_id = 'o-1' AND"
                                      " product_id = 'lamp' AND user_id = 'ann' AND quantity = 3"
                                      " AND unit_price = 100 AND status = 'sold'"
                                      " AND abs(sold_at - 1000 * strftime('%s', 'now')) < 60000"),
                     1);
}

static void a_product_that_is_not_there_is_not_found(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    assert_int_equal(world_buy(world, "chair", "o-1", "ann", 1), LEDGER_NOT_FOUND);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM orders"), 0);
}

static void what_is_not_there_is_not_sold(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 3);
    const struct sold *sold = world_sell(world, "lamp", "o-1", "ann", 4);
    world_wait(world);
    assert_int_equal(sold->sale.answer, LEDGER_SOLD_OUT);
    assert_int_equal(sold->sale.left, 3);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 3);
    assert_int_equal(world_buy(world, "lamp", "o-2", "ann", 3), LEDGER_DONE);
    assert_int_equal(world_buy(world, "lamp", "o-3", "ann", 1), LEDGER_SOLD_OUT);
}

static void the_same_again_was_done_before(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 3), LEDGER_DONE);
    const struct sold *again = world_sell(world, "lamp", "o-1", "ann", 3);
    world_wait(world);
    assert_int_equal(again->sale.answer, LEDGER_DONE_BEFORE);
    assert_string_equal(again->sale.found.user, "ann");
    assert_string_equal(again->sale.found.status, "sold");
    assert_int_equal(again->sale.found.quantity, 3);
    assert_int_equal(again->sale.found.unit_price, 100);
    assert_true(again->sale.found.made_at_ms > 0);
    assert_false(again->sale.found.told);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 7);
}

static void the_same_again_says_whether_the_engine_was_told(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 3), LEDGER_DONE);
    world_tell_all(world);
    const struct sold *again = world_sell(world, "lamp", "o-1", "ann", 3);
    world_wait(world);
    assert_int_equal(again->sale.answer, LEDGER_DONE_BEFORE);
    assert_true(again->sale.found.told);
}

static void the_same_id_with_other_arguments_differs(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    assert_int_equal(world_stock(world, "chair", 10), 10);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 3), LEDGER_DONE);
    assert_int_equal(world_buy(world, "lamp", "o-1", "bob", 3), LEDGER_DIFFERS);
    assert_int_equal(world_buy(world, "lamp", "o-1", "ann", 2), LEDGER_DIFFERS);
    assert_int_equal(world_buy(world, "chair", "o-1", "ann", 3), LEDGER_DIFFERS);
    struct sold *dearer = world_sale(world, "lamp", "o-1", "ann", 3);
    dearer->sale.unit_price = 101;
    world_submit(world, dearer);
    world_wait(world);
    assert_int_equal(dearer->sale.answer, LEDGER_DIFFERS);
    assert_int_equal(dearer->sale.found.unit_price, 100);
    assert_int_equal(world_ask(world, "SELECT sum(stock) FROM inventory"), 17);
}

static void the_users_limit_is_checked_against_the_rows(void **state)
{
    struct world *world = *state;
    enum ledger_answer expected[] = {LEDGER_DONE, LEDGER_OVER_LIMIT, LEDGER_DONE, LEDGER_DONE,
                                     LEDGER_OVER_LIMIT};
    int64_t quantities[] = {2, 3, 2, 1, 1};
    struct sold *sold[5];

    world_stocked(world, "lamp", 100);
    assert_int_equal(world_buy(world, "lamp", "other", "bob", 50), LEDGER_DONE);
    for (int i = 0; i < 5; i++) {
        char order[16];
        snprintf(order, sizeof order, "o-%d", i);
        sold[i] = world_sale(world, "lamp", order, "ann", quantities[i]);
        sold[i]->sale.max = i == 3 ? 0 : 4; /* who has no limit of his own still counts */
        world_submit(world, sold[i]);
    }
    world_wait(world);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sold[i]->sale.answer, expected[i]);
    }
    assert_int_equal(sold[1]->sale.left, 2);
    assert_int_equal(sold[4]->sale.left, 5);
    assert_int_equal(world_ask(world, "SELECT sum(quantity) FROM orders WHERE user_id = 'ann'"), 5);
}

static void sales_travel_together(void **state)
{
    struct world *world = *state;
    struct ledger_figures before, after;
    char order[16];

    world_stocked(world, "lamp", 100000);
    ledger_figures(world->ledger, &before);
    for (int i = 0; i < 4000; i++) {
        snprintf(order, sizeof order, "o-%d", i);
        world_sell(world, "lamp", order, "ann", 2);
    }
    world_wait(world);
    ledger_figures(world->ledger, &after);
    assert_true(after.batches - before.batches <= 40);
    assert_int_equal(after.sales - before.sales, 4000);
    assert_int_equal(after.careful, 0);
    assert_int_equal(after.pending, 0);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 92000);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM orders WHERE status = 'sold'"), 4000);
    assert_true(world_ask(world, "SELECT count(DISTINCT batch) FROM orders") <= 40);
}

static void many_products_are_each_counted_once(void **state)
{
    struct world *world = *state;
    char product[16], order[16];

    assert_int_equal(world_open(world), HF_OK);
    for (int i = 0; i < 50; i++) {
        snprintf(product, sizeof product, "p-%d", i);
        assert_int_equal(world_stock(world, product, 100), 100);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(product, sizeof product, "p-%d", i % 50);
        snprintf(order, sizeof order, "o-%d", i);
        world_sell(world, product, order, "ann", 1);
    }
    world_wait(world);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM inventory WHERE stock = 60"), 50);
}

/* Keeps the writer busy, so that what follows has the time to become one batch. */
static void hold_the_writer(struct world *world)
{
    world_sell(world, "lamp", "first", "zoe", 1);
}

static void a_batch_is_cut_in_the_order_of_arrival(void **state)
{
    struct world *world = *state;
    int64_t quantities[] = {4, 3, 5, 2, 1, 1};
    enum ledger_answer expected[] = {LEDGER_DONE, LEDGER_DONE, LEDGER_SOLD_OUT,
                                     LEDGER_DONE, LEDGER_DONE, LEDGER_SOLD_OUT};
    struct sold *sold[6];

    world_stocked(world, "lamp", 11);
    hold_the_writer(world);
    for (int i = 0; i < 6; i++) {
        char order[16];
        snprintf(order, sizeof order, "o-%d", i);
        sold[i] = world_sell(world, "lamp", order, "ann", quantities[i]);
    }
    world_wait(world);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(sold[i]->sale.answer, expected[i]);
        assert_true(i == 0 || sold[i]->order == sold[i - 1]->order + 1);
    }
    assert_int_equal(sold[2]->sale.left, 3);
    assert_int_equal(sold[5]->sale.left, 0);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 0);
}

static void an_id_twice_in_a_batch_is_sold_once(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    hold_the_writer(world);
    const struct sold *first = world_sell(world, "lamp", "o-1", "ann", 2);
    const struct sold *same = world_sell(world, "lamp", "o-1", "ann", 2);
    const struct sold *other = world_sell(world, "lamp", "o-1", "bob", 2);
    const struct sold *next = world_sell(world, "lamp", "o-2", "bob", 2);
    world_wait(world);
    assert_int_equal(first->sale.answer, LEDGER_DONE);
    assert_int_equal(same->sale.answer, LEDGER_DONE_BEFORE);
    assert_int_equal(other->sale.answer, LEDGER_DIFFERS);
    assert_int_equal(next->sale.answer, LEDGER_DONE);
    assert_int_equal(world_ask(world, "SELECT stock FROM inventory"), 5);
}

static void products_do_not_hold_each_other_up(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 10);
    assert_int_equal(world_stock(world, "chair", 1), 1);
    hold_the_writer(world);
    const struct sold *too_much = world_sell(world, "chair", "o-1", "ann", 2);
    const struct sold *fits = world_sell(world, "lamp", "o-2", "ann", 2);
    const struct sold *none = world_sell(world, "table", "o-3", "ann", 2);
    const struct sold *last = world_sell(world, "chair", "o-4", "ann", 1);
    world_wait(world);
    assert_int_equal(too_much->sale.answer, LEDGER_SOLD_OUT);
    assert_int_equal(fits->sale.answer, LEDGER_DONE);
    assert_int_equal(none->sale.answer, LEDGER_NOT_FOUND);
    assert_int_equal(last->sale.answer, LEDGER_DONE);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, ledger_world_make, ledger_world_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_sale_is_a_row_and_the_stock_less_its_quantity),
        CASE(a_product_that_is_not_there_is_not_found),
        CASE(what_is_not_there_is_not_sold),
        CASE(the_same_again_was_done_before),
        CASE(the_same_again_says_whether_the_engine_was_told),
        CASE(the_same_id_with_other_arguments_differs),
        CASE(the_users_limit_is_checked_against_the_rows),
        CASE(sales_travel_together),
        CASE(many_products_are_each_counted_once),
        CASE(a_batch_is_cut_in_the_order_of_arrival),
        CASE(an_id_twice_in_a_batch_is_sold_once),
        CASE(products_do_not_hold_each_other_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
