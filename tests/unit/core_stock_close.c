/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.CLOSE: a product of which nothing is taken goes, with its orders and its users. */
#include "core_fixture.h"

#include "core/state.h"

static struct fixture *ten_pairs(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "STOCK.LOAD shoe 10");
    return f;
}

static uint32_t records(const struct fixture *f)
{
    return f->core->stores[CORE_PRODUCTS].slab.count + f->core->stores[CORE_ORDERS].slab.count +
           f->core->stores[CORE_STOCK_USERS].slab.count;
}

static void it_answers_what_was_sold_and_left(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 3");
    run(f, "STOCK.SETTLE shoe o1");
    expect(f, "STOCK.CLOSE shoe", "1 3 7");
    expect(f, "STOCK.GET shoe", "0 PRODUCT_NOT_FOUND");
    expect(f, "STOCK.SETTLE shoe o1", "0 PRODUCT_NOT_FOUND");
    expect(f, "STOCK.CLOSE shoe", "1 0 0");
}

static void what_is_taken_keeps_it_open(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 3 TTL 10s");
    expect_unchanged(f, "STOCK.CLOSE shoe", "0 INVALID_STATE");
    at(f, 10999);
    expect(f, "STOCK.CLOSE shoe", "0 INVALID_STATE");
    at(f, 11000);
    expect(f, "STOCK.CLOSE shoe", "1 0 10");
}

static void a_new_product_of_the_name_knows_nothing_of_it(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 3 MAX 3");
    run(f, "STOCK.SETTLE shoe o1");
    run(f, "STOCK.TAKE shoe o2 bob 1");
    run(f, "STOCK.GIVE shoe o2");
    run(f, "STOCK.CLOSE shoe");
    expect(f, "STOCK.LOAD shoe 4", "1 4");
    expect(f, "STOCK.GIVE shoe o2", "0 NOT_FOUND");
    expect(f, "STOCK.TAKE shoe o1 ann 3 MAX 3", "1 1");
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
}

static void nothing_of_it_is_left(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 3");
    run(f, "STOCK.TAKE shoe o2 a-user-with-a-name-that-is-rather-long 1");
    run(f, "STOCK.SETTLE shoe o1");
    run(f, "STOCK.GIVE shoe o2");
    run(f, "STOCK.LOAD sock 1");
    run(f, "STOCK.CLOSE shoe");
    core_settle(f->core);
    assert_int_equal(records(f), 1);
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(it_answers_what_was_sold_and_left),
        CASE(what_is_taken_keeps_it_open),
        CASE(a_new_product_of_the_name_knows_nothing_of_it),
        CASE(nothing_of_it_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
