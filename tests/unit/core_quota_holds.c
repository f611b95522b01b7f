/* SPDX-License-Identifier: Apache-2.0
 *
 * Quota on hold: used at once, returned at the TTL unless committed, safe to send again. */
#include "core_fixture.h"

#define START INT64_C(1000000)
#define RESERVE "QUOTA.RESERVE acme 20 HOLD h1 TTL 100"

/* Of 100, 20 are on hold for 100 s from START. */
static struct fixture *one_hold(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "QUOTA.LIMIT acme 100", "1 0 100");
    expect(f, RESERVE, "1 20 100");
    return f;
}

/* ---- the TTL --------------------------------------------------------------------------------- */

static void a_hold_returns_at_the_millisecond(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 99999);
    expect(f, "QUOTA.GET acme", "20 100 20");
    expect_unchanged(f, "QUOTA.RESERVE acme 81", "-1 20 100");
    at(f, START + 100000);
    expect(f, "QUOTA.RESERVE acme 100", "1 100 100");
    expect(f, "QUOTA.GET acme", "100 100 0");
}

static void the_default_ttl_is_900_s(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.RESERVE acme 7 HOLD h2");
    at(f, START + 899999);
    expect(f, "QUOTA.GET acme", "7 100 7");
    at(f, START + 900000);
    expect(f, "QUOTA.GET acme", "0 100 0");
}

static void an_expired_hold_is_unknown_at_once(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 100000);
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "0 HOLD_NOT_FOUND");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "0 HOLD_NOT_FOUND");
    expect(f, "QUOTA.RESERVE acme 5 HOLD h1", "1 5 100");
}

static void a_ttl_without_hold_makes_no_sense(void **state)
{
    expect_unchanged(one_hold(state), "QUOTA.RESERVE acme 20 TTL 100", "0 INVALID_ARGUMENT");
}

static void a_clock_stepping_back_only_delays_expiry(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, 5);
    expect(f, "QUOTA.RESERVE acme 1 HOLD h2 TTL 50", "1 21 100");
    at(f, START + 49999);
    expect(f, "QUOTA.GET acme", "21 100 21");
    at(f, START + 50000);
    expect(f, "QUOTA.GET acme", "20 100 20");
    at(f, START + 100000);
    expect(f, "QUOTA.GET acme", "0 100 0");
    at(f, START);
    expect(f, "QUOTA.GET acme", "0 100 0");
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "0 HOLD_NOT_FOUND");
}

/* ---- commit and cancel ----------------------------------------------------------------------- */

static void a_committed_hold_stays_used(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 99999);
    expect(f, "QUOTA.COMMIT acme h1", "1 20 100");
    expect(f, "QUOTA.GET acme", "20 100 0");
    at(f, START + 100000000);
    expect(f, "QUOTA.GET acme", "20 100 0");
}

static void a_cancelled_hold_is_given_back_at_once(void **state)
{
    struct fixture *f = one_hold(state);

    expect(f, "QUOTA.CANCEL acme h1", "1 0 100");
    expect(f, "QUOTA.GET acme", "0 100 0");
}

static void an_unknown_hold_is_not_found(void **state)
{
    struct fixture *f = one_hold(state);

    expect_unchanged(f, "QUOTA.COMMIT acme h9", "0 HOLD_NOT_FOUND");
    expect_unchanged(f, "QUOTA.CANCEL acme h9", "0 HOLD_NOT_FOUND");
    expect_unchanged(f, "QUOTA.COMMIT other h1", "0 HOLD_NOT_FOUND");
    expect_unchanged(f, "QUOTA.CANCEL other h1", "0 HOLD_NOT_FOUND");
}

static void commit_and_cancel_touch_only_their_own_hold(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h2");
    run(f, "QUOTA.RESERVE acme 7 HOLD h3");
    expect(f, "QUOTA.COMMIT acme h2", "1 32 100");
    expect(f, "QUOTA.CANCEL acme h3", "1 25 100");
    expect(f, "QUOTA.GET acme", "25 100 20");
}

static void a_hold_can_be_committed_under_a_lower_limit(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.LIMIT acme 0");
    expect(f, "QUOTA.COMMIT acme h1", "1 20 0");
}

/* ---- sent again ------------------------------------------------------------------------------ */

static void reserve_again_answers_again_with_current_figures(void **state)
{
    struct fixture *f = one_hold(state);

    expect_unchanged(f, RESERVE, "1 20 100");
    run(f, "QUOTA.RESERVE acme 75");
    at(f, START + 99999);
    expect_unchanged(f, RESERVE, "1 95 100");
    run(f, "QUOTA.LIMIT acme 10");
    expect_unchanged(f, RESERVE, "1 95 10");
}

static void reserve_again_does_not_move_the_deadline(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 99999);
    expect_unchanged(f, RESERVE, "1 20 100");
    at(f, START + 100000);
    expect(f, "QUOTA.GET acme", "0 100 0");
}

static void reserve_with_another_amount_or_ttl_conflicts(void **state)
{
    struct fixture *f = one_hold(state);

    expect_unchanged(f, "QUOTA.RESERVE acme 21 HOLD h1 TTL 100", "0 INVALID_STATE");
    expect_unchanged(f, "QUOTA.RESERVE acme 20 HOLD h1 TTL 101", "0 INVALID_STATE");
    expect_unchanged(f, "QUOTA.RESERVE acme 20 HOLD h1", "0 INVALID_STATE");
    expect_unchanged(f, "QUOTA.RESERVE acme 500 HOLD h1 TTL 100", "0 INVALID_STATE");
}

static void omitted_and_default_ttl_are_the_same(void **state)
{
    struct fixture *f = one_hold(state);

    expect(f, "QUOTA.RESERVE acme 1 HOLD h2", "1 21 100");
    expect_unchanged(f, "QUOTA.RESERVE acme 1 TTL 15m HOLD h2", "1 21 100");
}

static void commit_again_answers_again(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.COMMIT acme h1");
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "1 20 100");
    run(f, "QUOTA.REFUND acme 20");
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "1 0 100");
}

static void a_committed_hold_answers_reserve_and_refuses_cancel(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.COMMIT acme h1");
    expect_unchanged(f, RESERVE, "1 20 100");
    expect_unchanged(f, "QUOTA.RESERVE acme 21 HOLD h1 TTL 100", "0 INVALID_STATE");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "0 INVALID_STATE");
}

static void cancel_again_answers_again(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.CANCEL acme h1");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "1 0 100");
    run(f, "QUOTA.RESERVE acme 3");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "1 3 100");
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "0 HOLD_NOT_FOUND");
}

static void a_cancelled_id_can_be_held_anew(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.CANCEL acme h1");
    expect_unchanged(f, "QUOTA.RESERVE acme 101 HOLD h1", "-1 0 100");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "1 0 100");
    expect(f, "QUOTA.RESERVE acme 9 HOLD h1", "1 9 100");
    at(f, START + 300000);
    expect(f, "QUOTA.COMMIT acme h1", "1 9 100");
}

static void a_commit_is_remembered_for_300_s(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 500);
    run(f, "QUOTA.COMMIT acme h1");
    snapshot_and_restore(f);
    at(f, START + 500 + 299999);
    expect_unchanged(f, RESERVE, "1 20 100");
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "1 20 100");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "0 INVALID_STATE");
    at(f, START + 500 + 300000);
    expect_unchanged(f, "QUOTA.COMMIT acme h1", "0 HOLD_NOT_FOUND");
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "0 HOLD_NOT_FOUND");
    expect(f, RESERVE, "1 40 100");
}

static void a_cancel_is_remembered_for_300_s(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.CANCEL acme h1");
    at(f, START + 299999);
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "1 0 100");
    at(f, START + 300000);
    expect_unchanged(f, "QUOTA.CANCEL acme h1", "0 HOLD_NOT_FOUND");
}

/* The shortest id is a hold like every other, and not taken for none. */
static void an_id_of_one_byte_is_a_hold(void **state)
{
    struct fixture *f = *state;

    run(f, "QUOTA.LIMIT acme 100");
    expect(f, "QUOTA.RESERVE acme 5 HOLD h", "1 5 100");
    expect(f, "QUOTA.GET acme", "5 100 5");
    expect(f, "QUOTA.RESERVE acme 5 HOLD h", "1 5 100");
    expect(f, "QUOTA.CANCEL acme h", "1 0 100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(a_hold_returns_at_the_millisecond),
        CASE(the_default_ttl_is_900_s),
        CASE(an_expired_hold_is_unknown_at_once),
        CASE(a_ttl_without_hold_makes_no_sense),
        CASE(a_clock_stepping_back_only_delays_expiry),
        CASE(a_committed_hold_stays_used),
        CASE(a_cancelled_hold_is_given_back_at_once),
        CASE(an_unknown_hold_is_not_found),
        CASE(commit_and_cancel_touch_only_their_own_hold),
        CASE(a_hold_can_be_committed_under_a_lower_limit),
        CASE(reserve_again_answers_again_with_current_figures),
        CASE(reserve_again_does_not_move_the_deadline),
        CASE(reserve_with_another_amount_or_ttl_conflicts),
        CASE(omitted_and_default_ttl_are_the_same),
        CASE(commit_again_answers_again),
        CASE(a_committed_hold_answers_reserve_and_refuses_cancel),
        CASE(cancel_again_answers_again),
        CASE(a_cancelled_id_can_be_held_anew),
        CASE(a_commit_is_remembered_for_300_s),
        CASE(a_cancel_is_remembered_for_300_s),
        CASE(an_id_of_one_byte_is_a_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
