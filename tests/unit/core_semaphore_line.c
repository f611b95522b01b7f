/* SPDX-License-Identifier: Apache-2.0
 *
 * The line for a semaphore: order of arrival and nothing else, SEM.QUEUE, SEM.WAKE, SEM.RELEASE,
 * and the figures of SEM.CARD and SEM.STATS. */
#include "core_fixture.h"

#include <stdio.h>

#define START INT64_C(1000000)
#define MANY 150

/* "words", with the k-th of MANY ids, which are in no order at all, in place of %s. */
static void expect_of(struct fixture *f, const char *format, int k, const char *reply)
{
    char id[16], words[80];

    snprintf(id, sizeof id, "c%d", k * 67 % MANY * 7919 % 1009);
    snprintf(words, sizeof words, format, id);
    expect(f, words, reply);
}

/* MANY queue up, in the same millisecond. */
static struct fixture *many_queue(void **state)
{
    struct fixture *f = *state;
    char reply[16];

    at(f, START);
    for (int k = 0; k < MANY; k++) {
        snprintf(reply, sizeof reply, "1 %d", k + 1);
        expect_of(f, "SEM.QUEUE pool %s 60 1h", k, reply);
    }
    return f;
}

/* One slot after the other goes to the next of those who queued. */
static void expect_order_of_arrival(struct fixture *f)
{
    char wake[40];

    for (int k = 0; k < MANY; k++) {
        expect_of(f, "SEM.PING pool %s 60 1h", k, "1 0");
        snprintf(wake, sizeof wake, "SEM.WAKE pool %d 60 1h", k + 1);
        expect(f, wake, "1");
        expect_of(f, "SEM.PING pool %s 60 1h", k, "0 1");
    }
}

/* ---- first come, first served ---------------------------------------------------------------- */

static void arrivals_in_the_same_millisecond_keep_their_order(void **state)
{
    expect_order_of_arrival(many_queue(state));
}

static void a_heartbeat_never_moves_a_place(void **state)
{
    struct fixture *f = many_queue(state);

    for (int k = MANY - 1; k >= 0; k -= 3) {
        at(f, f->now_ms + 10);
        expect_of(f, "SEM.PING pool %s 70 1h", k, "1 0");
    }
    expect_order_of_arrival(f);
}

static void queueing_again_keeps_the_place(void **state)
{
    struct fixture *f = many_queue(state);
    char reply[16];

    for (int k = MANY - 1; k >= 0; k--) {
        at(f, f->now_ms + 10);
        snprintf(reply, sizeof reply, "1 %d", k + 1);
        expect_of(f, "SEM.QUEUE pool %s 60 1h", k, reply);
    }
    expect_order_of_arrival(f);
}

static void a_clock_stepping_back_reorders_nobody(void **state)
{
    struct fixture *f = *state;
    char reply[16];

    for (int k = 0; k < MANY; k++) {
        at(f, START - k * 1000);
        snprintf(reply, sizeof reply, "1 %d", k + 1);
        expect_of(f, "SEM.QUEUE pool %s 60 1h", k, reply);
    }
    expect_order_of_arrival(f);
}

static void a_snapshot_keeps_the_order(void **state)
{
    struct fixture *f = many_queue(state);

    snapshot_and_restore(f);
    expect_order_of_arrival(f);
}

static void waiting_calls_and_those_queued_stand_in_one_line(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 1");
    run(f, "SEM.ACQUIRE pool b 1 WAIT 1000");
    expect(f, "SEM.QUEUE pool c 60 60", "1 2");
    run(f, "SEM.ACQUIRE pool d 1 WAIT 1000");
    expect(f, "SEM.QUEUE pool e 60 60", "1 4");
    run(f, "SEM.RELEASE pool a");
    run(f, "SEM.RELEASE pool b");
    expect_wakes(f, "1:1 1 2");
    expect(f, "SEM.PING pool c 60 60", "0 1");
    run(f, "SEM.RELEASE pool c");
    expect_wakes(f, "2:1 1 4");
    run(f, "SEM.RELEASE pool d");
    expect(f, "SEM.PING pool e 60 60", "0 1");
}

/* ---- queue ----------------------------------------------------------------------------------- */

static void queue_grants_nothing(void **state)
{
    struct fixture *f = *state;

    expect(f, "SEM.QUEUE pool a 60 60", "1 1");
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 1");
    run(f, "SEM.WAKE pool 3 60 60");
    expect(f, "SEM.QUEUE pool b 60 60", "1 1");
    expect(f, "SEM.STATS pool", "in_use 1 max 3 waiting 1");
}

static void queue_again_at_once_changes_nothing(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.QUEUE pool a 60 60");
    run(f, "SEM.QUEUE pool b 60 60");
    expect_unchanged(f, "SEM.QUEUE pool b 60 60", "1 2");
}

static void queue_again_renews_heartbeat_and_ttl(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "SEM.QUEUE pool a 60 60");
    at(f, START + 59999);
    expect(f, "SEM.QUEUE pool a 50 2", "1 1");
    at(f, START + 59999 + 49999);
    expect(f, "SEM.WAKE pool 1 60 60", "1");
    at(f, START + 59999 + 49999 + 1999);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 59999 + 49999 + 2000);
    expect(f, "SEM.CARD pool", "0");
}

static void queue_by_a_holder_answers_0_and_changes_nothing(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 1");
    expect_unchanged(f, "SEM.QUEUE pool a 10 10", "1 0");
}

/* ---- wake ------------------------------------------------------------------------------------ */

static void wake_hands_free_slots_to_the_first_in_line(void **state)
{
    struct fixture *f = many_queue(state);

    expect(f, "SEM.WAKE pool 3 60 60", "3");
    expect_unchanged(f, "SEM.WAKE pool 3 60 60", "0");
    expect(f, "SEM.WAKE pool 5 60 60", "2");
    expect(f, "SEM.STATS pool", "in_use 5 max 5 waiting 145");
    expect(f, "SEM.WAKE pool 1000 60 60", "145");
    expect(f, "SEM.STATS pool", "in_use 150 max 1000 waiting 0");
}

static void wake_where_nobody_is_does_nothing(void **state)
{
    expect_unchanged(*state, "SEM.WAKE pool 3 60 60", "0");
    expect(*state, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
}

static void wake_records_the_limit_up_and_down(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 2");
    expect(f, "SEM.WAKE pool 7 60 60", "0");
    expect(f, "SEM.STATS pool", "in_use 1 max 7 waiting 0");
    expect(f, "SEM.WAKE pool 1 60 60", "0");
    expect(f, "SEM.STATS pool", "in_use 1 max 1 waiting 0");
}

static void a_grant_gives_the_waiters_own_heartbeat_and_ttl(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "SEM.QUEUE pool a 40 50");
    run(f, "SEM.QUEUE pool b 60 30");
    at(f, START + 1000);
    expect(f, "SEM.WAKE pool 2 1h 1h", "2");
    at(f, START + 1000 + 29999);
    expect(f, "SEM.CARD pool", "2");
    at(f, START + 1000 + 30000);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 1000 + 39999);
    expect(f, "SEM.CARD pool", "1");
    at(f, START + 1000 + 40000);
    expect(f, "SEM.CARD pool", "0");
}

/* ---- release and the figures ----------------------------------------------------------------- */

static void release_grants_the_next_in_line_in_the_same_step(void **state)
{
    struct fixture *f = many_queue(state);

    run(f, "SEM.WAKE pool 1 60 60");
    for (int k = 0; k < MANY - 1; k++) {
        expect_of(f, "SEM.PING pool %s 60 1h", k + 1, "1 0");
        expect_of(f, "SEM.RELEASE pool %s", k, "1");
        expect_of(f, "SEM.PING pool %s 60 1h", k + 1, "0 1");
    }
}

static void release_of_somebody_unknown_is_0(void **state)
{
    struct fixture *f = *state;

    expect_unchanged(f, "SEM.RELEASE pool a", "0");
    run(f, "SEM.ACQUIRE pool a 1");
    expect_unchanged(f, "SEM.RELEASE pool b", "0");
    expect(f, "SEM.RELEASE pool a", "1");
    expect_unchanged(f, "SEM.RELEASE pool a", "0");
}

static void leaving_the_line_lets_those_behind_up(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.QUEUE pool a 60 60");
    run(f, "SEM.QUEUE pool b 60 60");
    run(f, "SEM.QUEUE pool c 60 60");
    expect(f, "SEM.RELEASE pool b", "1");
    expect_unchanged(f, "SEM.QUEUE pool c 60 60", "1 2");
    expect(f, "SEM.QUEUE pool b 60 60", "1 3");
}

static void leaving_the_line_hands_out_nothing(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 2");
    run(f, "SEM.QUEUE pool b 60 60");
    run(f, "SEM.QUEUE pool c 60 60");
    expect(f, "SEM.RELEASE pool b", "1");
    expect(f, "SEM.STATS pool", "in_use 1 max 2 waiting 1");
    expect(f, "SEM.RELEASE pool a", "1");
    expect(f, "SEM.STATS pool", "in_use 1 max 2 waiting 0");
}

static void card_and_stats_read_and_change_nothing(void **state)
{
    struct fixture *f = *state;

    expect_unchanged(f, "SEM.CARD pool", "0");
    expect_unchanged(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
    run(f, "SEM.ACQUIRE pool a 2");
    run(f, "SEM.QUEUE pool b 60 60");
    expect_unchanged(f, "SEM.CARD pool", "1");
    expect_unchanged(f, "SEM.STATS pool", "in_use 1 max 2 waiting 1");
}

static void an_idle_semaphore_disappears(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE pool a 5");
    run(f, "SEM.RELEASE pool a");
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
    run(f, "SEM.ACQUIRE pool a 5 HEARTBEAT 1");
    at(f, f->now_ms + 1000);
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
    run(f, "SEM.QUEUE pool a 1 1");
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 1");
    at(f, f->now_ms + 1000);
    expect_unchanged(f, "SEM.WAKE pool 4 60 60", "0");
    expect(f, "SEM.STATS pool", "in_use 0 max 0 waiting 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(arrivals_in_the_same_millisecond_keep_their_order),
        CASE(a_heartbeat_never_moves_a_place),
        CASE(queueing_again_keeps_the_place),
        CASE(a_clock_stepping_back_reorders_nobody),
        CASE(a_snapshot_keeps_the_order),
        CASE(waiting_calls_and_those_queued_stand_in_one_line),
        CASE(queue_grants_nothing),
        CASE(queue_again_at_once_changes_nothing),
        CASE(queue_again_renews_heartbeat_and_ttl),
        CASE(queue_by_a_holder_answers_0_and_changes_nothing),
        CASE(wake_hands_free_slots_to_the_first_in_line),
        CASE(wake_where_nobody_is_does_nothing),
        CASE(wake_records_the_limit_up_and_down),
        CASE(a_grant_gives_the_waiters_own_heartbeat_and_ttl),
        CASE(release_grants_the_next_in_line_in_the_same_step),
        CASE(release_of_somebody_unknown_is_0),
        CASE(leaving_the_line_lets_those_behind_up),
        CASE(leaving_the_line_hands_out_nothing),
        CASE(card_and_stats_read_and_change_nothing),
        CASE(an_idle_semaphore_disappears),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
