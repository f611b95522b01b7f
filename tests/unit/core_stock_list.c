/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.LIST: the orders of a product that are taken, each once, whatever comes and goes during the
 * walk. */
#include "snapshot_fixture.h"

#include <stdio.h>

#define START 1000
#define ORDERS 250

/* Walks the list in pages of `count`, and counts how often each order was there. Between two pages
 * `meanwhile` is run, if there is one. */
static void walk(struct fixture *f, int count, int seen[ORDERS], const char *meanwhile)
{
    char line[300], cursor[HF_CURSOR_SIZE] = "";

    do {
        snprintf(line, sizeof line, "STOCK.LIST shoe COUNT %d%s%s", count, *cursor ? " AFTER " : "",
                 cursor);
        run(f, line);
        size_t items = reply_items(&f->reply, &command_table[STOCK_LIST]);
        assert_true(items <= (size_t)count);
        for (size_t i = 0; i < items; i++) {
            struct hf_stock_order item;
            int number;
            reply_item_to_struct(&f->reply, &command_table[STOCK_LIST], i, &item);
            assert_int_equal(sscanf(item.order_id, "o-%d", &number), 1);
            assert_in_range(number, 0, ORDERS - 1);
            assert_int_equal(item.quantity, 1);
            assert_string_equal(item.status, "taken");
            seen[number]++;
        }
        struct hf_bytes next = reply_bytes(&f->reply, 0);
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.size, next.data);
        if (meanwhile != NULL) {
            run(f, meanwhile);
        }
    } while (*cursor != '\0');
}

static struct fixture *many_orders(void **state)
{
    struct fixture *f = *state;
    char line[80];

    at(f, START);
    run(f, "STOCK.LOAD shoe 1000");
    for (int i = 0; i < ORDERS; i++) {
        snprintf(line, sizeof line, "STOCK.TAKE shoe o-%d u-%d 1 TTL 60s", i, i % 9);
        expect(f, line, "1 *");
    }
    return f;
}

static void every_order_that_is_taken_comes_once(void **state)
{
    static const int counts[] = {1, 7, 100, ORDERS, 1000};
    struct fixture *f = many_orders(state);

    run(f, "STOCK.SETTLE shoe o-3");
    run(f, "STOCK.GIVE shoe o-4");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int seen[ORDERS] = {0};
        walk(f, counts[i], seen, NULL);
        for (int number = 0; number < ORDERS; number++) {
            assert_int_equal(seen[number], number != 3 && number != 4);
        }
    }
}

static void what_goes_meanwhile_moves_no_other(void **state)
{
    struct fixture *f = many_orders(state);
    int seen[ORDERS] = {0};

    walk(f, 10, seen, "STOCK.GIVE shoe o-0");
    for (int number = 1; number < ORDERS; number++) {
        assert_int_equal(seen[number], 1);
    }
}

static void what_is_due_is_not_listed(void **state)
{
    struct fixture *f = many_orders(state);
    int seen[ORDERS] = {0};

    run(f, "STOCK.EXTEND shoe o-7 120s");
    at(f, START + 60000);
    walk(f, 100, seen, NULL);
    for (int number = 0; number < ORDERS; number++) {
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
    struct fixture *f = many_orders(state);

    run(f, "STOCK.LIST shoe COUNT 249");
    char line[300];
    struct hf_bytes cursor = reply_bytes(&f->reply, 0);
    snprintf(line, sizeof line, "STOCK.LIST shoe AFTER %.*s", (int)cursor.size, cursor.data);
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    assert_non_null(core);
    core_destroy(f->core);
    f->core = core;
    expect(f, line, "end o-249 u-6 1 1000 61000 taken");
    buffer_free(&bytes);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
