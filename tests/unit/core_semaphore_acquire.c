/* SPDX-License-Identifier: Apache-2.0
 *
 * SEM.ACQUIRE when it is answered at once: granted, refused, or repeated; and the limit it sets. */
#include "core_fixture.h"

/* ---- granted or refused ---------------------------------------------------------------------- */

static void free_slots_are_granted_at_once(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 2", "1 1 1");
    expect(f, "SEM.ACQUIRE pool b 2", "1 2 2");
    expect(f, "SEM.STATS pool", "in_use 2 max 2 waiting 0");
}

static void a_slot_may_be_had_at_once_with_a_wait_too(void **state)
{
    expect(*state, "SEM.ACQUIRE pool a 1 WAIT 1000", "1 1 1");
}

static void without_a_wait_no_slot_changes_nothing(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 1");
    expect_unchanged(f, "SEM.ACQUIRE pool b 1", "0 NO_SLOT");
    expect_unchanged(f, "SEM.ACQUIRE pool b 1 WAIT 0", "0 NO_SLOT");
    expect_unchanged(f, "SEM.ACQUIRE pool b 1 HEARTBEAT 10 TTL 10 WAIT 0ms", "0 NO_SLOT");
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
}

static void semaphores_do_not_touch_each_other(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 1", "1 1 1");
    expect(f, "SEM.ACQUIRE other a 1", "1 1 2");
    expect(f, "SEM.RELEASE pool a", "1");
    expect(f, "SEM.CARD other", "1");
}

/* ---- those in line come first ---------------------------------------------------------------- */

static void nobody_overtakes_those_in_line(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 2");
    expect(f, "SEM.QUEUE pool b 60 60", "1 1");
    expect_unchanged(f, "SEM.ACQUIRE pool c 2", "0 NO_SLOT");
    expect(f, "SEM.STATS pool", "in_use 1 max 2 waiting 1");
}

static void those_ahead_get_their_slots_in_the_same_step(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 2");
    run(f, "SEM.QUEUE pool b 60 60");
    expect(f, "SEM.ACQUIRE pool c 3", "1 3 3");
    expect(f, "SEM.ACQUIRE pool b 3 HEARTBEAT 60 TTL 60", "1 3 2");
    expect(f, "SEM.STATS pool", "in_use 3 max 3 waiting 0");
}

static void somebody_in_line_can_acquire_when_those_ahead_fit(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 1");
    run(f, "SEM.QUEUE pool b 60 60");
    run(f, "SEM.QUEUE pool c 60 60");
    expect_unchanged(f, "SEM.ACQUIRE pool b 1", "0 NO_SLOT");
    expect_unchanged(f, "SEM.ACQUIRE pool c 2", "0 NO_SLOT");
    expect(f, "SEM.ACQUIRE pool b 2", "1 2 2");
    expect(f, "SEM.QUEUE pool c 60 60", "1 1");
}

static void a_wider_limit_serves_those_behind_too(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.QUEUE pool a 60 60");
    run(f, "SEM.QUEUE pool b 60 60");
    run(f, "SEM.QUEUE pool c 60 60");
    expect(f, "SEM.ACQUIRE pool a 2", "1 2 1");
    expect(f, "SEM.STATS pool", "in_use 2 max 2 waiting 1");
    expect(f, "SEM.PING pool b 60 60", "0 1");
}

static void acquire_from_the_line_takes_over_heartbeat_and_ttl(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.QUEUE pool a 1 1");
    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 50 TTL 60");
    expect_unchanged(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 50 TTL 60", "1 1 1");
    at(f, f->now_ms + 49999);
    expect(f, "SEM.CARD pool", "1");
    at(f, f->now_ms + 1);
    expect(f, "SEM.CARD pool", "0");
}

/* ---- a holder asks again --------------------------------------------------------------------- */

static void a_holder_gets_its_own_fence_and_changes_nothing(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 2");
    run(f, "SEM.ACQUIRE pool b 2");
    at(f, f->now_ms + 1000);
    expect_unchanged(f, "SEM.ACQUIRE pool a 2", "1 2 1");
    expect_unchanged(f, "SEM.ACQUIRE pool a 2 WAIT 100", "1 2 1");
    expect_unchanged(f, "SEM.ACQUIRE pool a 9", "1 2 1");
    expect_unchanged(f, "SEM.ACQUIRE pool a 1", "1 2 1");
}

static void acquire_again_is_no_heartbeat(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 10");
    at(f, f->now_ms + 9999);
    expect_unchanged(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 10", "1 1 1");
    at(f, f->now_ms + 1);
    expect(f, "SEM.CARD pool", "0");
}

static void another_heartbeat_or_ttl_conflicts(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 10 TTL 20");
    expect_unchanged(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 11 TTL 20", "0 INVALID_STATE");
    expect_unchanged(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 10 TTL 21", "0 INVALID_STATE");
    expect_unchanged(f, "SEM.ACQUIRE pool a 1 HEARTBEAT 10", "0 INVALID_STATE");
    expect_unchanged(f, "SEM.ACQUIRE pool a 1 TTL 20", "0 INVALID_STATE");
    expect_unchanged(f, "SEM.ACQUIRE pool a 1 WAIT 5", "0 INVALID_STATE");
}

static void omitted_and_default_are_the_same(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 2");
    expect_unchanged(f, "SEM.ACQUIRE pool a 2 HEARTBEAT 180 TTL 24h", "1 1 1");
    run(f, "SEM.ACQUIRE pool b 2 TTL 86400 HEARTBEAT 3m");
    expect_unchanged(f, "SEM.ACQUIRE pool b 2", "1 2 2");
}

/* ---- the limit ------------------------------------------------------------------------------- */

static void the_limit_is_the_one_last_given_by_who_got_in(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 5");
    expect(f, "SEM.ACQUIRE pool b 3", "1 2 2");
    expect(f, "SEM.STATS pool", "in_use 2 max 3 waiting 0");
    expect(f, "SEM.ACQUIRE pool c 2", "0 NO_SLOT");
    expect(f, "SEM.STATS pool", "in_use 2 max 3 waiting 0");
    expect(f, "SEM.ACQUIRE pool c 4", "1 3 3");
    expect(f, "SEM.STATS pool", "in_use 3 max 4 waiting 0");
}

static void a_waiting_acquire_sets_the_limit_too(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 2");
    run(f, "SEM.ACQUIRE pool b 2");
    expect(f, "SEM.ACQUIRE pool c 1 WAIT 1000", "WAIT");
    expect(f, "SEM.STATS pool", "in_use 2 max 1 waiting 1");
}

static void a_lower_limit_evicts_nobody(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 3");
    run(f, "SEM.ACQUIRE pool b 3");
    run(f, "SEM.ACQUIRE pool c 3");
    run(f, "SEM.QUEUE pool d 60 60");
    expect(f, "SEM.WAKE pool 1 60 60", "0");
    expect(f, "SEM.STATS pool", "in_use 3 max 1 waiting 1");
    expect(f, "SEM.RELEASE pool a", "1");
    expect(f, "SEM.RELEASE pool b", "1");
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 1");
    expect(f, "SEM.RELEASE pool c", "1");
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
    expect(f, "SEM.PING pool d 60 60", "0 1");
}

static void the_largest_limit_is_fine(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.ACQUIRE pool a 9007199254740991", "1 1 1");
    expect(f, "SEM.STATS pool", "in_use 1 max 9007199254740991 waiting 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(free_slots_are_granted_at_once),
        CASE(a_slot_may_be_had_at_once_with_a_wait_too),
        CASE(without_a_wait_no_slot_changes_nothing),
        CASE(semaphores_do_not_touch_each_other),
        CASE(nobody_overtakes_those_in_line),
        CASE(those_ahead_get_their_slots_in_the_same_step),
        CASE(somebody_in_line_can_acquire_when_those_ahead_fit),
        CASE(a_wider_limit_serves_those_behind_too),
        CASE(acquire_from_the_line_takes_over_heartbeat_and_ttl),
        CASE(a_holder_gets_its_own_fence_and_changes_nothing),
        CASE(acquire_again_is_no_heartbeat),
        CASE(another_heartbeat_or_ttl_conflicts),
        CASE(omitted_and_default_are_the_same),
        CASE(the_limit_is_the_one_last_given_by_who_got_in),
        CASE(a_waiting_acquire_sets_the_limit_too),
        CASE(a_lower_limit_evicts_nobody),
        CASE(the_largest_limit_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
