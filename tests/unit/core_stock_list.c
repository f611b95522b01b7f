/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.LIST: the orders of a product that are taken, each once, whatever comes and goes during the
 * walk. */
#include "list_fixture.h"

#define START 1000

static const struct listing listing = {&command_table[STOCK_LIST], "STOCK.LIST shoe"};

static struct fixture *many_orders(void **state)
{
    struct fixture *f = *state;
    char line[80];

    at(f, START);
    run(f, "STOCK.LOAD shoe 1000");
    for (int i = 0; i < LISTED; i++) {
        snprintf(line, sizeof line, "STOCK.TAKE shoe o-%d u-%d 1 TTL 60s", i, i % 9);
        expect(f, line, "1 *");
    }
    return f;
}

static void every_order_that_is_taken_comes_once(void **state)
{
    struct fixture *f = many_orders(state);

    run(f, "STOCK.SETTLE shoe o-3");
    run(f, "STOCK.GIVE shoe o-4");
    expect_each_once(f, &listing, (const int[]){3, 4});
}

static void what_goes_meanwhile_moves_no_other(void **state)
{
    struct fixture *f = many_orders(state);
    int seen[LISTED] = {0};

    walk(f, &listing, 10, seen, "STOCK.GIVE shoe o-0");
    for (int number = 1; number < LISTED; number++) {
        assert_int_equal(seen[number], 1);
    }
}

static void what_is_due_is_not_listed(void **state)
{
    struct fixture *f = many_orders(state);
    int seen[LISTED] = {0};

    run(f, "STOCK.EXTEND shoe o-7 120s");
    at(f, START + 60000);
    walk(f, &listing, 100, seen, NULL);
    for (int number = 0; number < LISTED; number++) {
        assert_int_equal(seen[number], number == 7);
    }
}

static void an_item_has_its_user_the_start_and_the_deadline(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o-1 ann 4 TTL 10s");
    expect(f, "STOCK.LIST shoe", "end o-1 ann 4 1000 11000 taken");
    at(f, START + 5000);
    run(f, "STOCK.EXTEND shoe o-1 20s");
    expect(f, "STOCK.LIST shoe", "end o-1 ann 4 1000 26000 taken");
    run(f, "STOCK.GIVE shoe o-1");
    expect(f, "STOCK.LIST shoe", "end");
    run(f, "STOCK.TAKE shoe o-1 bob 3 TTL 10s");
    expect(f, "STOCK.LIST shoe", "end o-1 bob 3 6000 16000 taken");
}

static void a_cursor_outlives_a_snapshot(void **state)
{
    expect_behind_snapshot(many_orders(state), &listing, "end o-249 u-6 1 1000 61000 taken");
}

static void what_stands_against_a_page(void **state)
{
    struct fixture *f = many_orders(state);

    expect_unchanged(f, "STOCK.LIST shoe AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "STOCK.LIST shoe AFTER :o-1", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "STOCK.LIST shoe AFTER main:o-1", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "STOCK.LIST nothing", "0 PRODUCT_NOT_FOUND");
    expect_unchanged(f, "STOCK.LIST nothing AFTER !", "0 PRODUCT_NOT_FOUND");
    expect_unchanged(f, "STOCK.LIST shoe COUNT 1001", "0 INVALID_QUANTITY");
}

static void a_product_has_one_counter_here(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "STOCK.SHARDS shoe", "0 PRODUCT_NOT_FOUND");
    expect(f, "STOCK.SHARDS shoe AFTER 0", "0 PRODUCT_NOT_FOUND");
    run(f, "STOCK.LOAD shoe 10 SHARDS 4");
    run(f, "STOCK.TAKE shoe o-1 ann 2 TTL 60s");
    run(f, "STOCK.TAKE shoe o-2 ann 3 TTL 60s");
    run(f, "STOCK.SETTLE shoe o-2");
    run(f, "STOCK.SHARDS shoe COUNT 1");
    assert_int_equal(reply_items(&f->reply, &command_table[STOCK_SHARDS]), 1);
    struct hf_stock_shard shard;
    reply_item_to_struct(&f->reply, &command_table[STOCK_SHARDS], 0, &shard);
    assert_string_equal(shard.shard, "main");
    assert_string_equal(shard.node, "");
    assert_int_equal(shard.available, 5);
    assert_int_equal(shard.taken, 2);
    assert_int_equal(shard.sold, 3);
    expect(f, "STOCK.SHARDS shoe AFTER 0", "0 INVALID_ARGUMENT");
    at(f, START + 60000);
    run(f, "STOCK.SHARDS shoe");
    reply_item_to_struct(&f->reply, &command_table[STOCK_SHARDS], 0, &shard);
    assert_int_equal(shard.available, 7);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(every_order_that_is_taken_comes_once),
        CASE(what_goes_meanwhile_moves_no_other),
        CASE(what_is_due_is_not_listed),
        CASE(an_item_has_its_user_the_start_and_the_deadline),
        CASE(a_cursor_outlives_a_snapshot),
        CASE(what_stands_against_a_page),
        CASE(a_product_has_one_counter_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
