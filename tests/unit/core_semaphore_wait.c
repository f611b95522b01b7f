/* SPDX-License-Identifier: Apache-2.0
 *
 * SEM.ACQUIRE that waits: woken by a grant, or answered TIMEOUT and gone without a trace. */
#include "core_fixture.h"

#define START INT64_C(1000000)

/* a holds the only slot; b waits up to 100 ms for it, as ticket 1. */
static struct fixture *one_waits(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "SEM.ACQUIRE pool a 1", "1 1 1");
    expect(f, "SEM.ACQUIRE pool b 1 HEARTBEAT 20ms TTL 300ms WAIT 100", "WAIT");
    expect_wakes(f, "");
    return f;
}

/* ---- woken ----------------------------------------------------------------------------------- */

static void release_wakes_the_next_in_line_in_the_same_step(void **state)
{
    struct fixture *f = one_waits(state);

    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "1:1 1 2");
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
}

static void a_dead_holder_wakes_the_next_in_line(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.PING pool a 50ms 1h");
    at(f, START + 49);
    run(f, "SEM.CARD other");
    expect_wakes(f, "");
    at(f, START + 50);
    run(f, "SEM.CARD other");
    expect_wakes(f, "1:1 1 2");
}

static void the_call_itself_is_the_sign_of_life(void **state)
{
    struct fixture *f = one_waits(state);

    at(f, START + 99);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 1");
    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "1:1 1 2");
}

static void the_heartbeat_counts_from_the_grant_on(void **state)
{
    struct fixture *f = one_waits(state);

    at(f, START + 90);
    run(f, "SEM.RELEASE pool a");
    at(f, START + 90 + 19);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 90 + 20);
    expect(f, "SEM.CARD pool", "0");
}

static void the_end_of_the_wait_does_not_touch_a_granted_slot(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.RELEASE pool a");
    run(f, "SEM.PING pool b 10 300ms");
    at(f, START + 299);
    expect(f, "SEM.CARD pool", "1");
    expect_wakes(f, "1:1 1 2");
    at(f, START + 300);
    expect(f, "SEM.CARD pool", "0");
}

static void many_are_woken_in_their_order(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool d 1 WAIT 100");
    run(f, "SEM.ACQUIRE pool c 1 WAIT 100");
    expect(f, "SEM.WAKE pool 4 60 60", "3");
    expect_wakes(f, "1:1 2 2; 2:1 3 3; 3:1 4 4");
}

static void joining_hands_out_what_the_new_limit_allows(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.QUEUE pool c 60 60");
    expect(f, "SEM.ACQUIRE pool d 3 WAIT 100", "WAIT");
    expect_wakes(f, "1:1 2 2");
    expect(f, "SEM.STATS pool", "in_use 3 max 3 waiting 1");
    expect(f, "SEM.PING pool c 60 60", "0 1");
}

/* ---- the wait runs out ----------------------------------------------------------------------- */

static void a_wait_ends_at_the_millisecond_and_leaves_no_trace(void **state)
{
    struct fixture *f = one_waits(state);

    at(f, START + 99);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 1");
    expect_wakes(f, "");
    at(f, START + 100);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
    expect_wakes(f, "1:0 TIMEOUT");
    expect_unchanged(f, "SEM.PING pool b 60 60", "0 0");
    expect_unchanged(f, "SEM.RELEASE pool b", "0");
    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "");
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
}

static void a_wait_that_ran_out_lets_those_behind_up(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 200");
    at(f, START + 100);
    expect(f, "SEM.QUEUE pool c 60 60", "1 1");
    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "1:0 TIMEOUT; 2:1 1 2");
}

static void a_slot_freed_when_the_wait_runs_out_comes_too_late(void **state)
{
    struct fixture *f = one_waits(state);

    at(f, START + 100);
    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "1:0 TIMEOUT");
    expect(f, "SEM.CARD pool", "0");
}

static void a_wait_and_a_holder_due_together_both_go_first(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 101");
    run(f, "SEM.PING pool a 100ms 1h");
    at(f, START + 100);
    expect(f, "SEM.CARD pool", "1");
    expect_wakes(f, "1:0 TIMEOUT; 2:1 1 2");
}

static void a_wait_counts_milliseconds_or_in_the_unit_given(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 2s");
    at(f, START + 1999);
    run(f, "SEM.CARD pool");
    expect_wakes(f, "1:0 TIMEOUT");
    at(f, START + 2000);
    run(f, "SEM.CARD pool");
    expect_wakes(f, "2:0 TIMEOUT");
}

static void a_clock_stepping_back_only_delays_the_end_of_a_wait(void **state)
{
    struct fixture *f = one_waits(state);

    at(f, START - 1000);
    expect(f, "SEM.ACQUIRE pool c 1 WAIT 50", "WAIT");
    at(f, START + 49);
    run(f, "SEM.CARD pool");
    expect_wakes(f, "");
    at(f, START + 50);
    run(f, "SEM.CARD pool");
    expect_wakes(f, "2:0 TIMEOUT");
}

/* ---- the same id again ----------------------------------------------------------------------- */

static void a_second_wait_takes_the_place_over(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 500");
    at(f, START + 50);
    expect(f, "SEM.ACQUIRE pool b 1 HEARTBEAT 30ms WAIT 100", "WAIT");
    expect_wakes(f, "1:0 TIMEOUT");
    at(f, START + 149);
    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "3:1 1 2");
    at(f, START + 149 + 30);
    run(f, "SEM.CARD pool");
    expect_wakes(f, "2:1 1 3");
}

static void a_second_call_that_gets_the_slot_ends_the_first(void **state)
{
    struct fixture *f = one_waits(state);

    expect(f, "SEM.ACQUIRE pool b 2", "1 2 2");
    expect_wakes(f, "1:0 TIMEOUT");
    expect_unchanged(f, "SEM.ACQUIRE pool b 2", "1 2 2");
}

static void a_second_call_that_gets_no_slot_leaves_the_first_alone(void **state)
{
    struct fixture *f = one_waits(state);

    expect_unchanged(f, "SEM.ACQUIRE pool b 1", "0 NO_SLOT");
    expect_wakes(f, "");
    run(f, "SEM.RELEASE pool a");
    expect_wakes(f, "1:1 1 2");
}

static void release_of_a_waiting_id_answers_it(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 100");
    expect(f, "SEM.RELEASE pool b", "1");
    expect_wakes(f, "1:0 TIMEOUT");
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 1");
    expect(f, "SEM.RELEASE pool b", "0");
}

static void queue_by_a_waiting_id_answers_the_place_and_changes_nothing(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 100");
    expect_unchanged(f, "SEM.QUEUE pool c 1h 1h", "1 2");
    expect_unchanged(f, "SEM.QUEUE pool b 1h 1h", "1 1");
}

static void a_wait_from_the_line_keeps_the_place_and_ends_it(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.QUEUE pool c 1h 1h");
    run(f, "SEM.QUEUE pool d 1h 1h");
    expect(f, "SEM.ACQUIRE pool c 1 WAIT 50", "WAIT");
    expect(f, "SEM.QUEUE pool c 1h 1h", "1 2");
    at(f, START + 50);
    expect(f, "SEM.QUEUE pool d 1h 1h", "1 2");
    expect_wakes(f, "2:0 TIMEOUT");
}

static void ping_leaves_the_terms_of_a_waiting_call_alone(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "SEM.ACQUIRE pool a 1");
    expect(f, "SEM.ACQUIRE pool b 1 HEARTBEAT 20ms WAIT 1h", "WAIT");
    expect_unchanged(f, "SEM.PING pool b 40ms 1h", "1 0");
    run(f, "SEM.RELEASE pool a");
    expect_wakes(f, "1:1 1 2");
    expect(f, "SEM.ACQUIRE pool b 1 HEARTBEAT 20ms", "1 1 2");
    at(f, START + 19);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 20);
    expect(f, "SEM.CARD pool", "0");
}

static void a_retry_of_acquire_succeeds_after_a_ping_with_another_interval(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 10", "1 1 1");
    expect(f, "SEM.PING pool a 20 1h", "0 1");
    expect(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 10", "1 1 1");
}

static void ping_does_not_lengthen_the_wait(void **state)
{
    struct fixture *f = one_waits(state);

    at(f, START + 99);
    expect(f, "SEM.PING pool b 1h 1h", "1 0");
    at(f, START + 100);
    expect(f, "SEM.PING pool b 1h 1h", "0 0");
    expect_wakes(f, "1:0 TIMEOUT");
}

static void calls_go_on_waiting_over_a_snapshot(void **state)
{
    struct fixture *f = one_waits(state);

    run(f, "SEM.ACQUIRE pool c 1 WAIT 500");
    snapshot_and_restore(f);
    at(f, START + 100);
    run(f, "SEM.RELEASE pool a");
    expect_wakes(f, "1:0 TIMEOUT; 2:1 1 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(release_wakes_the_next_in_line_in_the_same_step),
        CASE(a_dead_holder_wakes_the_next_in_line),
        CASE(the_call_itself_is_the_sign_of_life),
        CASE(the_heartbeat_counts_from_the_grant_on),
        CASE(the_end_of_the_wait_does_not_touch_a_granted_slot),
        CASE(many_are_woken_in_their_order),
        CASE(joining_hands_out_what_the_new_limit_allows),
        CASE(a_wait_ends_at_the_millisecond_and_leaves_no_trace),
        CASE(a_wait_that_ran_out_lets_those_behind_up),
        CASE(a_slot_freed_when_the_wait_runs_out_comes_too_late),
        CASE(a_wait_and_a_holder_due_together_both_go_first),
        CASE(a_wait_counts_milliseconds_or_in_the_unit_given),
        CASE(a_clock_stepping_back_only_delays_the_end_of_a_wait),
        CASE(a_second_wait_takes_the_place_over),
        CASE(a_second_call_that_gets_the_slot_ends_the_first),
        CASE(a_second_call_that_gets_no_slot_leaves_the_first_alone),
        CASE(release_of_a_waiting_id_answers_it),
        CASE(queue_by_a_waiting_id_answers_the_place_and_changes_nothing),
        CASE(a_wait_from_the_line_keeps_the_place_and_ends_it),
        CASE(ping_leaves_the_terms_of_a_waiting_call_alone),
        CASE(a_retry_of_acquire_succeeds_after_a_ping_with_another_interval),
        CASE(ping_does_not_lengthen_the_wait),
        CASE(calls_go_on_waiting_over_a_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
