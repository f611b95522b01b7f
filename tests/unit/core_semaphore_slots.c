/* SPDX-License-Identifier: Apache-2.0
 *
 * SEM.ACQUIRE with SLOTS: several slots at once, waited for strictly in the order of arrival. */
#include "core_fixture.h"

#define START INT64_C(1000000)

/* ---- granted or refused ---------------------------------------------------------------------- */

static void several_slots_are_taken_and_given_back_at_once(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 5 SLOTS 3", "1 3 1");
    expect(f, "SEM.CARD pool", "3");
    expect(f, "SEM.STATS pool", "in_use 3 max 5 waiting 0");
    expect_unchanged(f, "SEM.ACQUIRE pool b 5 SLOTS 3", "0 NO_SLOT");
    expect(f, "SEM.ACQUIRE pool b 5 SLOTS 2", "1 5 2");
    expect(f, "SEM.RELEASE pool a", "1");
    expect(f, "SEM.CARD pool", "2");
}

static void more_than_the_limit_is_refused_at_once(void **state)
{
    struct fixture *f = *state;

    expect_unchanged(f, "SEM.ACQUIRE pool a 2 SLOTS 3", "0 INVALID_QUANTITY");
    expect_unchanged(f, "SEM.ACQUIRE pool a 2 SLOTS 3 WAIT 1000", "0 INVALID_QUANTITY");
    expect_unchanged(f, "SEM.ACQUIRE pool a 2000 SLOTS 129", "0 INVALID_QUANTITY");
    expect_unchanged(f, "SEM.ACQUIRE pool a 2000 SLOTS 0", "0 INVALID_QUANTITY");
    expect(f, "SEM.ACQUIRE pool a 2000 SLOTS 128", "1 128 1");
    /* Also for the one that holds them. */
    expect_unchanged(f, "SEM.ACQUIRE pool a 127 SLOTS 128", "0 INVALID_QUANTITY");
}

static void a_retry_asks_for_as_many(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 3 SLOTS 2", "1 2 1");
    expect(f, "SEM.ACQUIRE pool a 3 SLOTS 2", "1 2 1");
    expect_unchanged(f, "SEM.ACQUIRE pool a 3", "0 INVALID_STATE");
    expect_unchanged(f, "SEM.ACQUIRE pool a 3 SLOTS 3", "0 INVALID_STATE");
    expect(f, "SEM.ACQUIRE pool b 3 SLOTS 3 WAIT 1000", "WAIT");
    expect_unchanged(f, "SEM.ACQUIRE pool b 3 SLOTS 1 WAIT 1000", "0 INVALID_STATE");
    expect_unchanged(f, "SEM.ACQUIRE pool b 3 WAIT 1000", "0 INVALID_STATE");
    expect(f, "SEM.ACQUIRE pool b 3 SLOTS 3 WAIT 1000", "WAIT");
    expect_wakes(f, "1:0 TIMEOUT");
    /* Who queued stands in line for one. */
    expect(f, "SEM.QUEUE pool c 60 60", "1 2");
    expect_unchanged(f, "SEM.ACQUIRE pool c 3 SLOTS 2 WAIT 1000", "0 INVALID_STATE");
}

/* ---- the line -------------------------------------------------------------------------------- */

/* a and b have two slots each of four; c wants three, d one. Tickets 1 and 2. */
static struct fixture *two_wait(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "SEM.ACQUIRE pool a 4 SLOTS 2", "1 2 1");
    expect(f, "SEM.ACQUIRE pool b 4 SLOTS 2", "1 4 2");
    expect(f, "SEM.ACQUIRE pool c 4 SLOTS 3 WAIT 100", "WAIT");
    expect(f, "SEM.ACQUIRE pool d 4 WAIT 1000", "WAIT");
    return f;
}

static void what_falls_free_adds_up_for_the_first_in_line(void **state)
{
    struct fixture *f = two_wait(state);

    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "");
    expect(f, "SEM.STATS pool", "in_use 2 max 4 waiting 2");
    expect_unchanged(f, "SEM.ACQUIRE pool e 4", "0 NO_SLOT");
    expect(f, "SEM.WAKE pool 4 60 60", "0");
    expect(f, "SEM.RELEASE pool b", "1");
    expect_wakes(f, "1:1 3 3; 2:1 4 4");
    expect(f, "SEM.STATS pool", "in_use 4 max 4 waiting 0");
}

static void wake_counts_clients(void **state)
{
    struct fixture *f = two_wait(state);

    expect(f, "SEM.WAKE pool 7 60 60", "1");
    expect_wakes(f, "1:1 7 3");
    expect(f, "SEM.WAKE pool 8 60 60", "1");
    expect_wakes(f, "2:1 8 4");
}

static void those_behind_move_up_when_the_first_gives_up(void **state)
{
    struct fixture *f = two_wait(state);

    run(f, "SEM.RELEASE pool a");
    at(f, START + 99);
    run(f, "SEM.CARD other");
    expect_wakes(f, "");
    at(f, START + 100);
    run(f, "SEM.CARD other");
    expect_wakes(f, "1:0 TIMEOUT; 2:1 3 3");
}

static void those_behind_move_up_when_the_first_is_released(void **state)
{
    struct fixture *f = two_wait(state);

    run(f, "SEM.RELEASE pool a");
    expect(f, "SEM.RELEASE pool c", "1");
    expect_wakes(f, "1:0 TIMEOUT; 2:1 3 3");
}

static void a_waiter_can_be_granted_when_all_ahead_fit(void **state)
{
    struct fixture *f = two_wait(state);

    expect_unchanged(f, "SEM.ACQUIRE pool d 7", "0 NO_SLOT");
    expect(f, "SEM.ACQUIRE pool d 8", "1 8 4");
    expect_wakes(f, "2:0 TIMEOUT; 1:1 7 3");
}

static void a_lower_limit_refuses_the_first_when_its_turn_comes(void **state)
{
    struct fixture *f = two_wait(state);

    expect(f, "SEM.WAKE pool 2 60 60", "0");
    expect_wakes(f, ""); /* no slot is free: nobody's turn */
    expect(f, "SEM.RELEASE pool a", "1");
    expect_wakes(f, "");
    expect(f, "SEM.RELEASE pool b", "1");
    expect_wakes(f, "1:0 INVALID_QUANTITY; 2:1 1 3");
    expect(f, "SEM.STATS pool", "in_use 1 max 2 waiting 0");
}

static void a_limit_that_is_raised_in_time_refuses_nobody(void **state)
{
    struct fixture *f = two_wait(state);

    run(f, "SEM.WAKE pool 2 60 60");
    run(f, "SEM.RELEASE pool a");
    run(f, "SEM.WAKE pool 4 60 60");
    run(f, "SEM.RELEASE pool b");
    expect_wakes(f, "1:1 3 3; 2:1 4 4");
}

static void a_semaphore_whose_last_waiter_is_refused_is_gone(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 3 SLOTS 3 HEARTBEAT 50ms");
    expect(f, "SEM.ACQUIRE pool b 3 SLOTS 3 WAIT 1000", "WAIT");
    run(f, "SEM.WAKE pool 2 60 60");
    run(f, "SEM.RELEASE pool a");
    expect_wakes(f, "1:0 INVALID_QUANTITY");
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
    expect(f, "SEM.ACQUIRE pool c 1", "1 1 2");
}

/* ---- death and time -------------------------------------------------------------------------- */

static void a_dead_holder_gives_all_its_slots_back(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "SEM.ACQUIRE pool a 4 SLOTS 4 HEARTBEAT 50ms", "1 4 1");
    expect(f, "SEM.ACQUIRE pool b 4 SLOTS 2 WAIT 1000", "WAIT");
    expect(f, "SEM.ACQUIRE pool c 4 SLOTS 2 WAIT 1000", "WAIT");
    expect(f, "SEM.PING pool a 60ms 1h", "0 1");
    at(f, START + 59);
    expect(f, "SEM.CARD pool", "4");
    at(f, START + 60);
    expect(f, "SEM.CARD pool", "4");
    expect_wakes(f, "1:1 2 2; 2:1 4 3");
    expect(f, "SEM.PING pool a 60ms 1h", "0 0");
}

static void a_ttl_ends_all_slots_of_its_holder(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "SEM.ACQUIRE pool a 4 SLOTS 3 TTL 50ms", "1 3 1");
    expect(f, "SEM.CONFIRM pool a 4 1h 80ms", "1 3");
    at(f, START + 79);
    expect(f, "SEM.CARD pool", "3");
    at(f, START + 80);
    expect(f, "SEM.CARD pool", "0");
}

static void a_stale_confirm_gives_all_slots_back(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "SEM.ACQUIRE pool a 4 SLOTS 3", "1 3 1");
    at(f, START + 50);
    expect(f, "SEM.CONFIRM pool a 4 1h 50ms", "0 0");
    expect(f, "SEM.CARD pool", "0");
}

static void slots_outlive_a_snapshot(void **state)
{
    struct fixture *f = two_wait(state);

    snapshot_and_restore(f);
    expect(f, "SEM.STATS pool", "in_use 4 max 4 waiting 2");
    expect(f, "SEM.ACQUIRE pool a 4 SLOTS 2", "1 4 1");
    run(f, "SEM.RELEASE pool b");
    expect_wakes(f, "");
    run(f, "SEM.RELEASE pool a");
    expect_wakes(f, "1:1 3 3; 2:1 4 4");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(several_slots_are_taken_and_given_back_at_once),
        CASE(more_than_the_limit_is_refused_at_once),
        CASE(a_retry_asks_for_as_many),
        CASE(what_falls_free_adds_up_for_the_first_in_line),
        CASE(wake_counts_clients),
        CASE(those_behind_move_up_when_the_first_gives_up),
        CASE(those_behind_move_up_when_the_first_is_released),
        CASE(a_waiter_can_be_granted_when_all_ahead_fit),
        CASE(a_lower_limit_refuses_the_first_when_its_turn_comes),
        CASE(a_limit_that_is_raised_in_time_refuses_nobody),
        CASE(a_semaphore_whose_last_waiter_is_refused_is_gone),
        CASE(a_dead_holder_gives_all_its_slots_back),
        CASE(a_ttl_ends_all_slots_of_its_holder),
        CASE(a_stale_confirm_gives_all_slots_back),
        CASE(slots_outlive_a_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
