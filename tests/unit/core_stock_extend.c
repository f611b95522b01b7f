/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.EXTEND: an order's deadline moves on, up to 12 first TTLs after its start; and USER, with
 * which another user's order is refused. */
#include "snapshot_fixture.h"

#include <stdio.h>

#define START 1000
#define TTL 10000

/* Ten pairs, of which one order of ann's has two for 10 s. */
static struct fixture *one_order(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "STOCK.LOAD shoe 10");
    expect(f, "STOCK.TAKE shoe o1 ann 2 TTL 10s", "1 8");
    return f;
}

static void expect_available(struct fixture *f, int available)
{
    char reply[80];

    snprintf(reply, sizeof reply, "available %d taken %d sold 0 loaded 10 shards 1 mode single",
             available, 10 - available);
    expect(f, "STOCK.GET shoe", reply);
}

static void the_deadline_is_now_and_the_ttl(void **state)
{
    struct fixture *f = one_order(state);

    at(f, START + 5000);
    expect(f, "STOCK.EXTEND shoe o1 10s", "1 16000");
    at(f, START + 14999);
    expect_available(f, 8);
    at(f, START + 15000);
    expect_available(f, 10);
    expect_unchanged(f, "STOCK.EXTEND shoe o1 10s", "0 NOT_FOUND");
}

static void it_never_comes_earlier(void **state)
{
    struct fixture *f = one_order(state);

    at(f, START + 1000);
    expect_unchanged(f, "STOCK.EXTEND shoe o1 10ms", "1 11000");
    expect_unchanged(f, "STOCK.EXTEND shoe o1 9s", "1 11000");
}

static void it_is_at_most_12_first_ttls_after_the_start(void **state)
{
    struct fixture *f = one_order(state);

    at(f, START + 9999);
    expect(f, "STOCK.EXTEND shoe o1 60s", "1 70999");
    at(f, START + 60000);
    expect(f, "STOCK.EXTEND shoe o1 1h", "1 121000");
    at(f, START + 12 * TTL - 1);
    expect_unchanged(f, "STOCK.EXTEND shoe o1 30s", "1 121000");
    at(f, START + 12 * TTL);
    expect_available(f, 10);
}

static void take_again_compares_with_the_first_ttl(void **state)
{
    struct fixture *f = one_order(state);

    run(f, "STOCK.EXTEND shoe o1 30s");
    expect_unchanged(f, "STOCK.TAKE shoe o1 ann 2 TTL 10s", "1 8");
    expect_unchanged(f, "STOCK.TAKE shoe o1 ann 2 TTL 30s", "0 INVALID_STATE");
}

static void only_an_order_that_is_taken_is_extended(void **state)
{
    struct fixture *f = one_order(state);

    expect_unchanged(f, "STOCK.EXTEND sock o1 10s", "0 PRODUCT_NOT_FOUND");
    expect_unchanged(f, "STOCK.EXTEND shoe o9 10s", "0 NOT_FOUND");
    run(f, "STOCK.TAKE shoe o2 ann 1");
    run(f, "STOCK.GIVE shoe o2");
    expect_unchanged(f, "STOCK.EXTEND shoe o2 10s", "0 NOT_FOUND");
    run(f, "STOCK.SETTLE shoe o1");
    expect_unchanged(f, "STOCK.EXTEND shoe o1 10s", "0 INVALID_STATE");
    at(f, START + 300000);
    expect(f, "STOCK.EXTEND shoe o1 10s", "0 NOT_FOUND");
}

static void a_snapshot_has_the_start(void **state)
{
    struct fixture *f = one_order(state);

    at(f, START + 5000);
    run(f, "STOCK.EXTEND shoe o1 60s");
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    assert_non_null(core);
    assert_true(core_digest(core) == core_digest(f->core));
    core_destroy(f->core);
    f->core = core;
    expect(f, "STOCK.EXTEND shoe o1 1h", "1 121000");
    buffer_free(&bytes);
}

static void another_users_order_is_refused(void **state)
{
    struct fixture *f = one_order(state);

    expect_unchanged(f, "STOCK.EXTEND shoe o1 20s USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "STOCK.SETTLE shoe o1 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "STOCK.GIVE shoe o1 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "STOCK.GIVE shoe o2 USER bob", "0 NOT_FOUND");
    expect(f, "STOCK.EXTEND shoe o1 20s USER ann", "1 21000");
    expect(f, "STOCK.GIVE shoe o1 USER ann", "1 10");
    expect_unchanged(f, "STOCK.GIVE shoe o1 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "STOCK.SETTLE shoe o1 USER bob", "0 NOT_FOUND");
    expect_unchanged(f, "STOCK.EXTEND shoe o1 20s USER bob", "0 NOT_FOUND");
}

static void a_settled_order_has_an_owner_too(void **state)
{
    struct fixture *f = one_order(state);

    expect(f, "STOCK.SETTLE shoe o1 USER ann", "1 8");
    expect_unchanged(f, "STOCK.SETTLE shoe o1 USER ann", "1 8");
    expect_unchanged(f, "STOCK.SETTLE shoe o1 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "STOCK.GIVE shoe o1 USER bob", "0 NOT_OWNER");
    expect_unchanged(f, "STOCK.EXTEND shoe o1 9s USER bob", "0 NOT_OWNER");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(the_deadline_is_now_and_the_ttl),
        CASE(it_never_comes_earlier),
        CASE(it_is_at_most_12_first_ttls_after_the_start),
        CASE(take_again_compares_with_the_first_ttl),
        CASE(only_an_order_that_is_taken_is_extended),
        CASE(a_snapshot_has_the_start),
        CASE(another_users_order_is_refused),
        CASE(a_settled_order_has_an_owner_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
