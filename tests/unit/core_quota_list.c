/* SPDX-License-Identifier: Apache-2.0
 *
 * QUOTA.LIST: the open holds of a tenant, each once, whatever comes and goes during the walk. */
#include "list_fixture.h"

#define START 1000

static void hold(struct fixture *f, int number, const char *ttl)
{
    char line[80];

    snprintf(line, sizeof line, "QUOTA.RESERVE acme 1 HOLD h-%d TTL %s", number, ttl);
    expect(f, line, "1 * 1000");
}

static const struct listing listing = {&command_table[QUOTA_LIST], "QUOTA.LIST acme"};

static struct fixture *many_holds(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 1000");
    for (int i = 0; i < LISTED; i++) {
        hold(f, i, "60s");
    }
    return f;
}

static void every_open_hold_comes_once(void **state)
{
    struct fixture *f = many_holds(state);

    run(f, "QUOTA.COMMIT acme h-3");
    run(f, "QUOTA.CANCEL acme h-4");
    expect_each_once(f, &listing, (const int[]){3, 4});
}

static void what_goes_meanwhile_moves_no_other(void **state)
{
    struct fixture *f = many_holds(state);
    int seen[LISTED] = {0};

    walk(f, &listing, 10, seen, "QUOTA.CANCEL acme h-0");
    for (int number = 1; number < LISTED; number++) {
        assert_int_equal(seen[number], 1);
    }
}

static void what_is_due_is_not_listed(void **state)
{
    struct fixture *f = many_holds(state);
    int seen[LISTED] = {0};

    run(f, "QUOTA.EXTEND acme h-7 120s");
    at(f, START + 60000);
    walk(f, &listing, 100, seen, NULL);
    for (int number = 0; number < LISTED; number++) {
        assert_int_equal(seen[number], number == 7);
    }
}

static void an_item_has_the_start_and_the_deadline(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 1000");
    hold(f, 1, "10s");
    expect(f, "QUOTA.LIST acme", "end h-1 1 1000 11000");
    at(f, START + 5000);
    run(f, "QUOTA.EXTEND acme h-1 20s");
    expect(f, "QUOTA.LIST acme", "end h-1 1 1000 26000");
}

static void a_cursor_outlives_a_snapshot(void **state)
{
    expect_behind_snapshot(many_holds(state), &listing, "end h-249 1 1000 61000");
}

static void what_is_no_cursor_is_refused(void **state)
{
    struct fixture *f = many_holds(state);

    expect_unchanged(f, "QUOTA.LIST acme AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "QUOTA.LIST acme AFTER :h-1", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "QUOTA.LIST nobody AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "QUOTA.LIST nobody", "end");
    expect_unchanged(f, "QUOTA.LIST acme COUNT 1001", "0 INVALID_QUANTITY");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(every_open_hold_comes_once),   CASE(what_goes_meanwhile_moves_no_other),
        CASE(what_is_due_is_not_listed),    CASE(an_item_has_the_start_and_the_deadline),
        CASE(a_cursor_outlives_a_snapshot), CASE(what_is_no_cursor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
