/* SPDX-License-Identifier: Apache-2.0
 *
 * SEM.CONFIRM of a slot that was handed over, and the fences that come with every grant. */
#include "core_fixture.h"

#define START INT64_C(1000000)

/* a was granted a slot of one at START, b waits. */
static struct fixture *granted(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "SEM.QUEUE pool a 60 100");
    run(f, "SEM.QUEUE pool b 1h 1h");
    expect(f, "SEM.WAKE pool 1 60 60", "1");
    return f;
}

/* ---- confirm --------------------------------------------------------------------------------- */

static void confirm_restarts_the_heartbeat_with_the_interval_given(void **state)
{
    struct fixture *f = granted(state);

    at(f, START + 59999);
    expect(f, "SEM.CONFIRM pool a 1 70 1h", "1 1");
    expect_unchanged(f, "SEM.CONFIRM pool a 1 70 1h", "1 1");
    at(f, START + 59999 + 69999);
    expect(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 70 TTL 1h", "1 1 1");
    at(f, START + 59999 + 70000);
    expect(f, "SEM.PING pool b 1h 1h", "0 1");
}

static void the_ttl_counts_from_the_grant_with_the_length_given(void **state)
{
    struct fixture *f = granted(state);

    at(f, START + 20000);
    expect(f, "SEM.CONFIRM pool a 1 1h 50", "1 1");
    at(f, START + 49999);
    expect(f, "SEM.PING pool a 1h 1h", "0 1");
    at(f, START + 50000);
    expect(f, "SEM.PING pool a 1h 1h", "0 0");
}

static void confirm_may_lengthen_the_ttl(void **state)
{
    struct fixture *f = granted(state);

    expect(f, "SEM.CONFIRM pool a 1 1h 200", "1 1");
    at(f, START + 199999);
    expect(f, "SEM.PING pool a 1h 1h", "0 1");
    at(f, START + 200000);
    expect(f, "SEM.PING pool a 1h 1h", "0 0");
}

static void confirm_records_the_limit_and_hands_out_what_it_allows(void **state)
{
    struct fixture *f = granted(state);

    run(f, "SEM.QUEUE pool c 1h 1h");
    expect(f, "SEM.CONFIRM pool a 2 60 100", "1 2");
    expect(f, "SEM.STATS pool", "in_use 2 max 2 waiting 1");
    expect(f, "SEM.PING pool b 1h 1h", "0 1");
    expect(f, "SEM.CONFIRM pool a 1 60 100", "1 2");
    expect(f, "SEM.STATS pool", "in_use 2 max 1 waiting 1");
}

static void a_ttl_that_has_passed_already_loses_the_slot_at_once(void **state)
{
    struct fixture *f = granted(state);

    at(f, START + 50000);
    expect(f, "SEM.CONFIRM pool a 9 1h 50", "0 1");
    expect(f, "SEM.PING pool a 1h 1h", "0 0");
    expect(f, "SEM.PING pool b 1h 1h", "0 1");
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
    at(f, START + 60000);
    expect(f, "SEM.CONFIRM pool b 1 1h 10001ms", "1 1");
    expect(f, "SEM.CONFIRM pool b 1 1h 10", "0 0");
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
}

static void a_stale_grant_changes_nothing(void **state)
{
    struct fixture *f = granted(state);

    expect_unchanged(f, "SEM.CONFIRM pool b 9 60 60", "0 1");
    expect_unchanged(f, "SEM.CONFIRM pool zoe 9 60 60", "0 1");
    expect_unchanged(f, "SEM.CONFIRM other a 9 60 60", "0 0");
    at(f, START + 60000);
    expect_unchanged(f, "SEM.CONFIRM pool a 9 60 60", "0 1");
}

static void confirm_of_a_waiting_call_changes_nothing(void **state)
{
    struct fixture *f = granted(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 1000");
    expect_unchanged(f, "SEM.CONFIRM pool c 9 60 60", "0 1");
    expect_wakes(f, "");
}

static void confirm_keeps_the_fence(void **state)
{
    struct fixture *f = granted(state);

    run(f, "SEM.CONFIRM pool a 1 60 100");
    expect(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 60 TTL 100", "1 1 1");
}

/* ---- fences ---------------------------------------------------------------------------------- */

static void fences_grow_with_every_grant(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 1", "1 1 1");
    expect(f, "SEM.RELEASE pool a", "1");
    expect(f, "SEM.ACQUIRE pool a 1", "1 1 2");
    run(f, "SEM.ACQUIRE pool b 1 WAIT 1000");
    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "1:1 1 3");
    at(f, f->now_ms + 180000);
    expect(f, "SEM.ACQUIRE pool a 1", "1 1 4");
}

static void refusals_repeats_and_waits_take_no_fence(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 1", "1 1 1");
    run(f, "SEM.ACQUIRE pool a 1");
    run(f, "SEM.ACQUIRE pool b 1");
    run(f, "SEM.ACQUIRE pool c 1 WAIT 10");
    run(f, "SEM.QUEUE pool d 60 60");
    run(f, "SEM.PING pool a 60 60");
    at(f, f->now_ms + 10);
    expect(f, "SEM.ACQUIRE other a 1", "1 1 2");
}

static void slots_and_locks_share_one_counter(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 1", "1 1 1");
    expect(f, "LOCK.TRY seat-1 10 ID l1", "l1 2");
    expect(f, "SEM.ACQUIRE other a 1", "1 1 3");
    expect(f, "LOCK.TRY seat-2 10 ID l1", "l1 4");
}

static void fences_survive_a_snapshot(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 1");
    run(f, "SEM.RELEASE pool a");
    expect(f, "SEM.ACQUIRE pool b 1", "1 1 2");
    snapshot_and_restore(f);
    expect(f, "SEM.ACQUIRE pool b 1", "1 1 2");
    expect(f, "SEM.RELEASE pool b", "1");
    snapshot_and_restore(f);
    expect(f, "SEM.ACQUIRE pool c 1", "1 1 3");
}

static void holders_waiters_and_limit_survive_a_snapshot(void **state)
{
    struct fixture *f = granted(state);

    run(f, "SEM.QUEUE pool c 60 60");
    at(f, START + 50000);
    run(f, "SEM.PING pool a 20 100");
    snapshot_and_restore(f);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 2");
    at(f, START + 59999);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 2");
    at(f, START + 60000);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 1");
    at(f, START + 70000);
    expect(f, "SEM.PING pool b 1h 1h", "0 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(confirm_restarts_the_heartbeat_with_the_interval_given),
        CASE(the_ttl_counts_from_the_grant_with_the_length_given),
        CASE(confirm_may_lengthen_the_ttl),
        CASE(confirm_records_the_limit_and_hands_out_what_it_allows),
        CASE(a_ttl_that_has_passed_already_loses_the_slot_at_once),
        CASE(a_stale_grant_changes_nothing),
        CASE(confirm_of_a_waiting_call_changes_nothing),
        CASE(confirm_keeps_the_fence),
        CASE(fences_grow_with_every_grant),
        CASE(refusals_repeats_and_waits_take_no_fence),
        CASE(slots_and_locks_share_one_counter),
        CASE(fences_survive_a_snapshot),
        CASE(holders_waiters_and_limit_survive_a_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
