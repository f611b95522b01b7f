/* SPDX-License-Identifier: Apache-2.0
 *
 * QUOTA.CLOSE: a tenant without open holds is gone at once, with what was remembered of it. */
#include "snapshot_fixture.h"

#define START 1000

static struct fixture *one_tenant(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 100");
    run(f, "QUOTA.RESERVE acme 10");
    return f;
}

static void it_answers_what_was_used_and_the_limit(void **state)
{
    struct fixture *f = one_tenant(state);

    expect(f, "QUOTA.CLOSE acme", "1 10 100");
    expect(f, "QUOTA.GET acme", "0 0 0");
    expect(f, "QUOTA.RESERVE acme 1", "-1 0 0");
}

static void a_tenant_that_nobody_knows_is_closed_already(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.CLOSE acme");
    expect_unchanged(f, "QUOTA.CLOSE acme", "1 0 0");
    expect_unchanged(f, "QUOTA.CLOSE nobody", "1 0 0");
}

static void open_holds_stand_against_it(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h1 TTL 10s");
    expect_unchanged(f, "QUOTA.CLOSE acme", "0 INVALID_STATE");
    at(f, START + 10000);
    expect(f, "QUOTA.CLOSE acme", "1 10 100");
}

static void what_was_remembered_is_gone(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h1");
    run(f, "QUOTA.COMMIT acme h1");
    run(f, "QUOTA.RESERVE acme 5 HOLD h2");
    run(f, "QUOTA.CANCEL acme h2");
    expect(f, "QUOTA.CLOSE acme", "1 15 100");
    expect(f, "QUOTA.COMMIT acme h1", "0 HOLD_NOT_FOUND");
    expect(f, "QUOTA.CANCEL acme h2", "0 HOLD_NOT_FOUND");
    expect(f, "QUOTA.LIST acme", "end");
}

static void a_tenant_of_the_same_name_is_another_one(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h1");
    run(f, "QUOTA.COMMIT acme h1");
    run(f, "QUOTA.CLOSE acme");
    expect(f, "QUOTA.LIMIT acme 50", "1 0 50");
    expect(f, "QUOTA.RESERVE acme 7 HOLD h1 TTL 10s", "1 7 50");
    at(f, START + 300000);
    expect(f, "QUOTA.GET acme", "0 50 0");
    expect(f, "QUOTA.GET other", "0 0 0");
}

static void other_tenants_stay(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.LIMIT other 10");
    run(f, "QUOTA.RESERVE other 4 HOLD h1");
    run(f, "QUOTA.CLOSE acme");
    expect(f, "QUOTA.GET other", "4 10 4");
    expect(f, "QUOTA.COMMIT other h1", "1 4 10");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(it_answers_what_was_used_and_the_limit),
        CASE(a_tenant_that_nobody_knows_is_closed_already),
        CASE(open_holds_stand_against_it),
        CASE(what_was_remembered_is_gone),
        CASE(a_tenant_of_the_same_name_is_another_one),
        CASE(other_tenants_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
