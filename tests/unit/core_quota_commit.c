/* SPDX-License-Identifier: Apache-2.0
 *
 * QUOTA.COMMIT with an amount: what was really used becomes usage, and the rest of the hold goes
 * back. */
#include "snapshot_fixture.h"

#define START 1000
#define RETRY_WINDOW 300000

/* 50 of 100 are on hold, and 10 are used. */
static struct fixture *one_hold(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 100");
    run(f, "QUOTA.RESERVE acme 10");
    expect(f, "QUOTA.RESERVE acme 50 HOLD h1 TTL 60s", "1 60 100");
    return f;
}

static void less_than_was_held_gives_the_rest_back(void **state)
{
    struct fixture *f = one_hold(state);

    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 20", "1 30 100");
    expect(f, "QUOTA.GET acme", "30 100 0");
    at(f, START + 60000);
    expect(f, "QUOTA.GET acme", "30 100 0");
    expect(f, "QUOTA.REFUND acme 100", "0");
}

static void nothing_gives_all_of_it_back(void **state)
{
    struct fixture *f = one_hold(state);

    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 0", "1 10 100");
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 0", "1 10 100");
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "0 INVALID_STATE");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "0 INVALID_STATE");
}

static void more_is_committed_as_far_as_the_limit_allows(void **state)
{
    struct fixture *f = one_hold(state);

    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 91", "0 QUOTA_EXCEEDED");
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 9007199254740991", "0 QUOTA_EXCEEDED");
    expect(f, "QUOTA.GET acme", "60 100 50");
    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 90", "1 100 100");
}

static void a_hold_that_stays_keeps_its_deadline(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 59999);
    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 91", "0 QUOTA_EXCEEDED");
    at(f, START + 60000);
    expect(f, "QUOTA.GET acme", "10 100 0");
    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 1", "0 HOLD_NOT_FOUND");
}

static void what_was_held_is_committed_above_a_lowered_limit(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.LIMIT acme 5");
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 51", "0 QUOTA_EXCEEDED");
    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 50", "1 60 5");
}

static void a_retry_has_the_same_amount(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.COMMIT acme h1 AMOUNT 20");
    at(f, START + RETRY_WINDOW - 1);
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 20", "1 30 100");
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 21", "0 INVALID_STATE");
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "0 INVALID_STATE");
    expect_unchanged(f, "QUOTA.RESERVE acme 50 HOLD h1 TTL 60s", "1 30 100");
    at(f, START + RETRY_WINDOW);
    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 20", "0 HOLD_NOT_FOUND");
}

static void all_of_it_is_the_same_with_and_without_the_amount(void **state)
{
    struct fixture *f = one_hold(state);

    expect(f, "QUOTA.COMMIT acme h1", "1 60 100");
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 50", "1 60 100");
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 0", "0 INVALID_STATE");
}

static void the_amount_has_bounds(void **state)
{
    struct fixture *f = one_hold(state);

    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT -1", "0 INVALID_AMOUNT");
    expect_unchanged(f, "QUOTA.COMMIT acme h1 AMOUNT 9007199254740992", "0 INVALID_AMOUNT");
    expect_unchanged(f, "QUOTA.COMMIT acme nothing AMOUNT 1", "0 HOLD_NOT_FOUND");
}

static void a_snapshot_has_what_was_committed(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h2");
    run(f, "QUOTA.COMMIT acme h1 AMOUNT 20");
    run(f, "QUOTA.COMMIT acme h2 AMOUNT 0");
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    assert_non_null(core);
    assert_true(core_digest(core) == core_digest(f->core));
    core_destroy(f->core);
    f->core = core;
    expect(f, "QUOTA.COMMIT acme h1 AMOUNT 20", "1 30 100");
    expect(f, "QUOTA.COMMIT acme h1", "0 INVALID_STATE");
    expect(f, "QUOTA.COMMIT acme h2 AMOUNT 0", "1 30 100");
    buffer_free(&bytes);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(less_than_was_held_gives_the_rest_back),
        CASE(nothing_gives_all_of_it_back),
        CASE(more_is_committed_as_far_as_the_limit_allows),
        CASE(a_hold_that_stays_keeps_its_deadline),
        CASE(what_was_held_is_committed_above_a_lowered_limit),
        CASE(a_retry_has_the_same_amount),
        CASE(all_of_it_is_the_same_with_and_without_the_amount),
        CASE(the_amount_has_bounds),
        CASE(a_snapshot_has_what_was_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
