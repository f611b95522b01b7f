/* SPDX-License-Identifier: Apache-2.0
 *
 * Signs of life: heartbeats and TTLs, exact to the millisecond; who is dead makes way at the time
 * it was due, and never takes anybody else along. */
#include "core_fixture.h"

#define START INT64_C(1000000)

static struct fixture *begin(void **state)
{
    at(*state, START);
    return *state;
}

/* ---- heartbeat and TTL ----------------------------------------------------------------------- */

static void a_holder_is_dead_at_the_millisecond(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 30");
    at(f, START + 29999);
    expect_unchanged(f, "SEM.ACQUIRE pool b 1", "0 NO_SLOT");
    at(f, START + 30000);
    expect(f, "SEM.ACQUIRE pool b 1", "1 1 2");
}

static void a_waiter_is_dead_at_the_millisecond(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.QUEUE pool a 30 1h");
    at(f, START + 29999);
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 1");
    at(f, START + 30000);
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
    expect(f, "SEM.QUEUE pool a 30 1h", "1 1");
}

static void the_default_heartbeat_is_180_s(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1");
    at(f, START + 179999);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 180000);
    expect(f, "SEM.CARD pool", "0");
}

static void the_default_ttl_is_24_h(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 720h");
    at(f, START + 86400000 - 1);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 86400000);
    expect(f, "SEM.CARD pool", "0");
}

static void a_ping_keeps_alive(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 30");
    run(f, "SEM.QUEUE pool b 30 1h");
    for (int i = 1; i <= 5; i++) {
        at(f, START + i * 29999);
        expect(f, "SEM.PING pool a 30 1h", "0 1");
        expect_unchanged(f, "SEM.PING pool a 30 1h", "0 1");
        expect(f, "SEM.PING pool b 30 1h", "1 0");
        expect_unchanged(f, "SEM.PING pool b 30 1h", "1 0");
    }
}

static void a_ping_restarts_with_the_interval_given(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 30");
    expect(f, "SEM.PING pool a 10 1h", "0 1");
    at(f, START + 9999);
    expect(f, "SEM.PING pool a 100 1h", "0 1");
    at(f, START + 9999 + 99999);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 9999 + 100000);
    expect(f, "SEM.CARD pool", "0");
}

static void a_ping_of_the_dead_and_unknown_is_0_0(void **state)
{
    struct fixture *f = begin(state);

    expect_unchanged(f, "SEM.PING pool a 30 1h", "0 0");
    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 30");
    run(f, "SEM.QUEUE pool b 60 60");
    expect_unchanged(f, "SEM.PING pool c 30 1h", "0 0");
    expect_unchanged(f, "SEM.PING other a 30 1h", "0 0");
    at(f, START + 30000);
    expect_unchanged(f, "SEM.PING pool a 30 1h", "0 0");
}

static void the_ttl_ends_a_slot_however_alive(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 30 TTL 60");
    run(f, "SEM.QUEUE pool b 1h 1h");
    at(f, START + 29999);
    expect(f, "SEM.PING pool a 1h 1h", "0 1");
    at(f, START + 59999);
    expect(f, "SEM.PING pool a 1h 1h", "0 1");
    at(f, START + 60000);
    expect_unchanged(f, "SEM.PING pool a 1h 1h", "0 0");
    expect(f, "SEM.PING pool b 1h 1h", "0 1");
}

static void the_ttl_does_not_run_while_waiting(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.QUEUE pool a 1h 10");
    at(f, START + 20000);
    expect(f, "SEM.WAKE pool 1 60 60", "1");
    at(f, START + 29999);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 30000);
    expect(f, "SEM.CARD pool", "0");
}

static void one_clients_short_ttl_evicts_nobody_else(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 3");
    run(f, "SEM.ACQUIRE pool b 3 HEARTBEAT 10ms TTL 10ms");
    run(f, "SEM.QUEUE pool c 1h 1h");
    run(f, "SEM.WAKE pool 3 10ms 10ms");
    at(f, START + 10);
    expect(f, "SEM.STATS pool", "in_use 2 max 3 waiting 0");
    expect(f, "SEM.PING pool a 10ms 10ms", "0 1");
    expect(f, "SEM.PING pool c 1h 10ms", "0 1");
    at(f, START + 20);
    expect(f, "SEM.CARD pool", "1");
    expect(f, "SEM.PING pool c 1h 1h", "0 1");
}

/* ---- at the due time, whoever notices -------------------------------------------------------- */

static void a_dead_holders_slot_passes_on_at_its_due_time(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 100ms");
    run(f, "SEM.QUEUE pool b 1000ms 500ms");
    at(f, START + 599);
    expect(f, "SEM.PING pool b 1h 1h", "0 1");
    at(f, START + 600);
    expect_unchanged(f, "SEM.PING pool b 1h 1h", "0 0");
}

static void a_handed_on_slots_heartbeat_runs_from_the_due_time(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 TTL 100ms");
    run(f, "SEM.QUEUE pool b 300ms 1h");
    at(f, START + 399);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 400);
    expect(f, "SEM.CARD pool", "0");
}

static void slots_pass_down_the_line_unnoticed(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 100ms");
    run(f, "SEM.QUEUE pool b 1h 100ms");
    run(f, "SEM.QUEUE pool c 1h 100ms");
    run(f, "SEM.QUEUE pool d 1h 100ms");
    at(f, START + 399);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
    expect(f, "SEM.ACQUIRE pool d 1 HEARTBEAT 1h TTL 100ms", "1 1 4");
    at(f, START + 400);
    expect(f, "SEM.CARD pool", "0");
}

static void it_makes_no_difference_how_often_anybody_looks(void **state)
{
    uint64_t digests[2];

    for (int often = 0; often < 2; often++) {
        struct fixture *f = begin(state);
        run(f, "SEM.ACQUIRE pool a 2 HEARTBEAT 100ms");
        run(f, "SEM.ACQUIRE pool b 2 TTL 150ms");
        run(f, "SEM.QUEUE pool c 120ms 1h");
        run(f, "SEM.QUEUE pool d 1h 200ms");
        run(f, "SEM.ACQUIRE pool e 2 HEARTBEAT 1h WAIT 1000");
        for (int t = 1; often && t < 500; t++) {
            at(f, START + t);
            run(f, "SEM.CARD pool");
        }
        at(f, START + 500);
        expect(f, "SEM.CARD pool", "1");
        expect_wakes(f, "1:1 2 5");
        digests[often] = core_digest(f->core);
        fixture_teardown(state);
        fixture_setup(state);
    }
    assert_true(digests[0] == digests[1]);
}

/* ---- who comes next -------------------------------------------------------------------------- */

static void dead_waiters_are_skipped(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1");
    run(f, "SEM.QUEUE pool b 10ms 1h");
    run(f, "SEM.QUEUE pool c 1h 1h");
    at(f, START + 10);
    expect(f, "SEM.RELEASE pool a", "1");
    expect(f, "SEM.PING pool b 1h 1h", "0 0");
    expect(f, "SEM.PING pool c 1h 1h", "0 1");
}

static void all_due_in_a_millisecond_go_before_slots_are_handed_on(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 100ms");
    run(f, "SEM.QUEUE pool b 100ms 1h");
    run(f, "SEM.QUEUE pool c 100ms 1h");
    run(f, "SEM.QUEUE pool d 101ms 1h");
    at(f, START + 100);
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
    expect(f, "SEM.PING pool d 1h 1h", "0 1");
}

static void a_waiter_due_a_millisecond_later_still_gets_the_slot(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 100ms");
    run(f, "SEM.QUEUE pool b 101ms 1h");
    at(f, START + 150);
    expect(f, "SEM.PING pool b 1h 1h", "0 1");
}

static void several_slots_due_together_go_down_the_line_in_order(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 2 HEARTBEAT 100ms");
    run(f, "SEM.ACQUIRE pool b 2 HEARTBEAT 100ms");
    run(f, "SEM.ACQUIRE pool c 2 WAIT 1000");
    run(f, "SEM.ACQUIRE pool d 2 WAIT 1000");
    run(f, "SEM.ACQUIRE pool e 2 WAIT 1000");
    at(f, START + 100);
    expect(f, "SEM.STATS pool", "in_use 2 max 2 waiting 1");
    expect_wakes(f, "1:1 1 3; 2:1 2 4");
}

static void a_dead_waiter_hands_out_nothing(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 2");
    run(f, "SEM.QUEUE pool b 10ms 1h");
    run(f, "SEM.QUEUE pool c 1h 1h");
    at(f, START + 10);
    expect(f, "SEM.STATS pool", "in_use 1 max 2 waiting 1");
}

/* ---- a clock that steps back ----------------------------------------------------------------- */

static void a_clock_stepping_back_revives_and_kills_nobody(void **state)
{
    struct fixture *f = begin(state);

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 100ms");
    run(f, "SEM.QUEUE pool b 1h 1h");
    at(f, START + 100);
    expect(f, "SEM.CARD pool", "1");
    at(f, START);
    expect_unchanged(f, "SEM.PING pool a 1h 1h", "0 0");
    expect(f, "SEM.PING pool b 50ms 1h", "0 1");
    at(f, START + 149);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 150);
    expect(f, "SEM.CARD pool", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(a_holder_is_dead_at_the_millisecond),
        CASE(a_waiter_is_dead_at_the_millisecond),
        CASE(the_default_heartbeat_is_180_s),
        CASE(the_default_ttl_is_24_h),
        CASE(a_ping_keeps_alive),
        CASE(a_ping_restarts_with_the_interval_given),
        CASE(a_ping_of_the_dead_and_unknown_is_0_0),
        CASE(the_ttl_ends_a_slot_however_alive),
        CASE(the_ttl_does_not_run_while_waiting),
        CASE(one_clients_short_ttl_evicts_nobody_else),
        CASE(a_dead_holders_slot_passes_on_at_its_due_time),
        CASE(a_handed_on_slots_heartbeat_runs_from_the_due_time),
        CASE(slots_pass_down_the_line_unnoticed),
        CASE(it_makes_no_difference_how_often_anybody_looks),
        CASE(dead_waiters_are_skipped),
        CASE(all_due_in_a_millisecond_go_before_slots_are_handed_on),
        CASE(a_waiter_due_a_millisecond_later_still_gets_the_slot),
        CASE(several_slots_due_together_go_down_the_line_in_order),
        CASE(a_dead_waiter_hands_out_nothing),
        CASE(a_clock_stepping_back_revives_and_kills_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
