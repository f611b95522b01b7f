/* SPDX-License-Identifier: Apache-2.0
 *
 * Quota without holds: limits, reserving and refunding, and SYNC with what the database says. */
#include "core_fixture.h"

/* Of 100, 30 are used and 20 more on hold. */
static struct fixture *half_used(void **state)
{
    struct fixture *f = *state;

    expect(f, "QUOTA.LIMIT acme 100", "1 0 100");
    expect(f, "QUOTA.RESERVE acme 30", "1 30 100");
    expect(f, "QUOTA.RESERVE acme 20 HOLD h1", "1 50 100");
    return f;
}

/* ---- limit ----------------------------------------------------------------------------------- */

static void an_unset_limit_is_0(void **state)
{
    expect_unchanged(*state, "QUOTA.GET acme", "0 0 0");
    expect_unchanged(*state, "QUOTA.RESERVE acme 1", "-1 0 0");
    expect_unchanged(*state, "QUOTA.RESERVE acme 1 HOLD h1", "-1 0 0");
}

static void limit_answers_used_and_limit(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.LIMIT acme 70", "1 50 70");
    expect_unchanged(f, "QUOTA.LIMIT acme 70", "1 50 70");
    expect_unchanged(f, "QUOTA.GET acme", "50 70 20");
}

static void a_limit_below_used_refuses_until_used_has_come_down(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.LIMIT acme 40", "1 50 40");
    expect_unchanged(f, "QUOTA.RESERVE acme 1", "-1 50 40");
    expect(f, "QUOTA.REFUND acme 10", "40");
    expect_unchanged(f, "QUOTA.RESERVE acme 1", "-1 40 40");
    expect(f, "QUOTA.REFUND acme 1", "39");
    expect(f, "QUOTA.RESERVE acme 1", "1 40 40");
}

static void a_limit_of_0_lets_nothing_in(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.LIMIT acme 0", "1 50 0");
    expect_unchanged(f, "QUOTA.RESERVE acme 1", "-1 50 0");
    expect_unchanged(f, "QUOTA.GET acme", "50 0 20");
}

/* ---- reserve and refund ---------------------------------------------------------------------- */

static void reserve_goes_up_to_the_limit_and_no_further(void **state)
{
    struct fixture *f = half_used(state);

    expect_unchanged(f, "QUOTA.RESERVE acme 51", "-1 50 100");
    expect_unchanged(f, "QUOTA.RESERVE acme 51 HOLD h2", "-1 50 100");
    expect(f, "QUOTA.RESERVE acme 50", "1 100 100");
    expect_unchanged(f, "QUOTA.RESERVE acme 1", "-1 100 100");
}

static void without_hold_every_reserve_counts(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.RESERVE acme 5", "1 55 100");
    expect(f, "QUOTA.RESERVE acme 5", "1 60 100");
    at(f, f->now_ms + INT64_C(86400000) * 365);
    expect(f, "QUOTA.GET acme", "40 100 0");
}

static void get_answers_used_limit_and_held(void **state)
{
    expect_unchanged(half_used(state), "QUOTA.GET acme", "50 100 20");
}

static void refund_answers_what_is_used(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.REFUND acme 10", "40");
    expect(f, "QUOTA.GET acme", "40 100 20");
}

static void refund_never_goes_below_0(void **state)
{
    struct fixture *f = *state;

    expect(f, "QUOTA.LIMIT acme 100", "1 0 100");
    expect(f, "QUOTA.RESERVE acme 30", "1 30 100");
    expect(f, "QUOTA.REFUND acme 31", "0");
    expect_unchanged(f, "QUOTA.REFUND acme 9007199254740991", "0");
    expect(f, "QUOTA.RESERVE acme 100", "1 100 100");
}

static void refund_does_not_touch_what_is_on_hold(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.REFUND acme 50", "20");
    expect_unchanged(f, "QUOTA.REFUND acme 1", "20");
    expect(f, "QUOTA.GET acme", "20 100 20");
    expect(f, "QUOTA.COMMIT acme h1", "1 20 100");
    expect(f, "QUOTA.REFUND acme 1", "19");
}

static void refund_of_an_unknown_tenant_is_0(void **state)
{
    expect_unchanged(*state, "QUOTA.REFUND acme 5", "0");
}

static void an_amount_of_0_or_less_is_refused(void **state)
{
    struct fixture *f = half_used(state);

    expect_unchanged(f, "QUOTA.RESERVE acme 0", "0 INVALID_AMOUNT");
    expect_unchanged(f, "QUOTA.RESERVE acme -1", "0 INVALID_AMOUNT");
    expect_unchanged(f, "QUOTA.RESERVE acme 0 HOLD h1", "0 INVALID_AMOUNT");
    expect_unchanged(f, "QUOTA.REFUND acme 0", "0 INVALID_AMOUNT");
    expect_unchanged(f, "QUOTA.REFUND acme -1", "0 INVALID_AMOUNT");
}

static void tenants_do_not_touch_each_other(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.LIMIT other 10", "1 0 10");
    expect(f, "QUOTA.RESERVE other 10 HOLD h1", "1 10 10");
    expect_unchanged(f, "QUOTA.RESERVE other 1", "-1 10 10");
    expect(f, "QUOTA.CANCEL other h1", "1 0 10");
    expect(f, "QUOTA.GET acme", "50 100 20");
}

/* ---- sync ------------------------------------------------------------------------------------ */

static void sync_sets_used_to_actual_plus_what_is_on_hold(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.SYNC acme 75", "1 95 100");
    expect_unchanged(f, "QUOTA.SYNC acme 75", "1 95 100");
    expect(f, "QUOTA.SYNC acme 0", "1 20 100");
    expect(f, "QUOTA.GET acme", "20 100 20");
}

static void holds_go_on_after_a_sync(void **state)
{
    struct fixture *f = half_used(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h2");
    run(f, "QUOTA.RESERVE acme 5 HOLD h3 TTL 10");
    expect(f, "QUOTA.SYNC acme 40", "1 70 100");
    expect(f, "QUOTA.COMMIT acme h1", "1 70 100");
    expect(f, "QUOTA.CANCEL acme h2", "1 65 100");
    at(f, f->now_ms + 10000);
    expect(f, "QUOTA.GET acme", "60 100 0");
}

static void sync_may_pass_the_limit(void **state)
{
    struct fixture *f = half_used(state);

    expect(f, "QUOTA.SYNC acme 500", "1 520 100");
    expect_unchanged(f, "QUOTA.RESERVE acme 1", "-1 520 100");
}

static void sync_of_an_unknown_tenant_counts(void **state)
{
    expect(*state, "QUOTA.SYNC acme 7", "1 7 0");
    expect(*state, "QUOTA.GET acme", "7 0 0");
}

static void used_never_passes_the_largest_integer(void **state)
{
    struct fixture *f = half_used(state);

    expect_unchanged(f, "QUOTA.SYNC acme 9007199254740972", "0 INVALID_AMOUNT");
    expect(f, "QUOTA.SYNC acme 9007199254740971", "1 9007199254740991 100");
    expect(f, "QUOTA.LIMIT acme 9007199254740991", "1 9007199254740991 9007199254740991");
    expect_unchanged(f, "QUOTA.RESERVE acme 1", "-1 9007199254740991 9007199254740991");
    expect_unchanged(f, "QUOTA.RESERVE acme 9007199254740991",
                     "-1 9007199254740991 9007199254740991");
}

static void quotas_survive_a_snapshot(void **state)
{
    struct fixture *f = half_used(state);

    run(f, "QUOTA.SYNC other 7");
    snapshot_and_restore(f);
    expect(f, "QUOTA.GET acme", "50 100 20");
    expect(f, "QUOTA.GET other", "7 0 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(an_unset_limit_is_0),
        CASE(limit_answers_used_and_limit),
        CASE(a_limit_below_used_refuses_until_used_has_come_down),
        CASE(a_limit_of_0_lets_nothing_in),
        CASE(reserve_goes_up_to_the_limit_and_no_further),
        CASE(without_hold_every_reserve_counts),
        CASE(get_answers_used_limit_and_held),
        CASE(refund_answers_what_is_used),
        CASE(refund_never_goes_below_0),
        CASE(refund_does_not_touch_what_is_on_hold),
        CASE(refund_of_an_unknown_tenant_is_0),
        CASE(an_amount_of_0_or_less_is_refused),
        CASE(tenants_do_not_touch_each_other),
        CASE(sync_sets_used_to_actual_plus_what_is_on_hold),
        CASE(holds_go_on_after_a_sync),
        CASE(sync_may_pass_the_limit),
        CASE(sync_of_an_unknown_tenant_counts),
        CASE(used_never_passes_the_largest_integer),
        CASE(quotas_survive_a_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
