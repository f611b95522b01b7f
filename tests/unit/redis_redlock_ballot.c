/* SPDX-License-Identifier: Apache-2.0
 *
 * How a ballot of independent servers is counted, and how long the lock that it won is certain to
 * last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "redis/redlock/redlock_ballot.h"

#define SERVERS 5
#define TTL_MS 10000

static int64_t now_ms;
static struct redlock redlock;
static struct redlock_ballot *ballot;

static int64_t tell_time(void *context)
{
    (void)context;
    return now_ms;
}

static int begin(void **state)
{
    (void)state;
    now_ms = 1000000;
    redlock = (struct redlock){.count = SERVERS, .quorum = SERVERS / 2 + 1};
    clock_asked(&redlock.clock, tell_time, NULL);
    ballot = calloc(1, sizeof *ballot + SERVERS * sizeof ballot->votes[0]);
    assert_non_null(ballot);
    ballot->redlock = &redlock;
    ballot->ttl_ms = TTL_MS;
    ballot->asked_ms = now_ms;
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(ballot);
    return 0;
}

static void say(size_t server, enum redlock_say what)
{
    ballot->votes[server].say = what;
    ballot->votes[server].left_ms = -1; /* the server told no time */
}

/* ---- the count ------------------------------------------------------------------------------- */

static void servers_that_were_not_asked_count_for_nothing(void **state)
{
    (void)state;
    struct redlock_tally tally = redlock_ballot_count(ballot);
    assert_int_equal(tally.fresh + tally.held + tally.no + tally.silent + tally.open, 0);
    assert_false(tally.maybe);
}

static void each_server_counts_once_by_what_it_said(void **state)
{
    (void)state;
    say(0, REDLOCK_YES);
    ballot->votes[0].fresh = true;
    say(1, REDLOCK_YES);
    say(2, REDLOCK_NO);
    say(3, REDLOCK_SILENT);
    say(4, REDLOCK_OPEN);
    struct redlock_tally tally = redlock_ballot_count(ballot);
    assert_int_equal(tally.fresh, 1);
    assert_int_equal(tally.held, 1);
    assert_int_equal(tally.no, 1);
    assert_int_equal(tally.silent, 1);
    assert_int_equal(tally.open, 1);
}

static void a_refusal_has_changed_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < SERVERS; i++) {
        say(i, REDLOCK_NO);
        ballot->votes[i].fresh = true; /* from an earlier attempt */
    }
    struct redlock_tally tally = redlock_ballot_count(ballot);
    assert_int_equal(tally.no, SERVERS);
    assert_int_equal(tally.fresh, 0);
    assert_false(tally.maybe);
}

static void a_silent_server_may_have_the_lock_only_if_it_was_sent_the_call(void **state)
{
    (void)state;
    say(0, REDLOCK_SILENT);
    assert_false(redlock_ballot_count(ballot).maybe);
    ballot->votes[0].maybe = true;
    assert_true(redlock_ballot_count(ballot).maybe);
    say(0, REDLOCK_OPEN); /* asked again: nothing is known of this round */
    assert_false(redlock_ballot_count(ballot).maybe);
}

static void a_server_that_is_away_is_not_waited_for_but_may_have_heard(void **state)
{
    (void)state;
    say(0, REDLOCK_OPEN);
    say(1, REDLOCK_OPEN);
    ballot->votes[1].away = true;
    struct redlock_tally tally = redlock_ballot_count(ballot);

    assert_int_equal(tally.open, 1);
    assert_int_equal(tally.silent, 1);
    assert_true(tally.maybe);
    say(1, REDLOCK_YES);
    tally = redlock_ballot_count(ballot);
    assert_int_equal(tally.held, 1); /* it answered in time all the same */
    assert_int_equal(tally.silent, 0);
}

/* ---- how long it lasts ----------------------------------------------------------------------- */

static void asking_and_drift_are_taken_off_the_time(void **state)
{
    (void)state;
    assert_int_equal(redlock_ballot_validity_ms(ballot), TTL_MS - TTL_MS / 100 - 2);
    now_ms += 500;
    assert_int_equal(redlock_ballot_validity_ms(ballot), TTL_MS - 500 - TTL_MS / 100 - 2);
}

static void the_vote_that_ends_first_decides(void **state)
{
    (void)state;
    say(0, REDLOCK_YES);
    say(1, REDLOCK_YES);
    ballot->votes[0].left_ms = 4000;
    ballot->votes[1].left_ms = 3000;
    say(2, REDLOCK_NO);
    ballot->votes[2].left_ms = 10; /* another's lock */
    assert_int_equal(redlock_ballot_validity_ms(ballot), 3000 - 30 - 2);
}

static void a_vote_that_has_ended_leaves_nothing(void **state)
{
    (void)state;
    say(0, REDLOCK_YES);
    ballot->votes[0].left_ms = 0;
    assert_true(redlock_ballot_validity_ms(ballot) < 0);
}

static void a_longer_time_at_a_server_gives_no_more_than_was_asked_for(void **state)
{
    (void)state;
    say(0, REDLOCK_YES);
    ballot->votes[0].left_ms = 10 * TTL_MS;
    assert_int_equal(redlock_ballot_validity_ms(ballot), TTL_MS - TTL_MS / 100 - 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(servers_that_were_not_asked_count_for_nothing),
        TEST(each_server_counts_once_by_what_it_said),
        TEST(a_refusal_has_changed_nothing),
        TEST(a_silent_server_may_have_the_lock_only_if_it_was_sent_the_call),
        TEST(a_server_that_is_away_is_not_waited_for_but_may_have_heard),
        TEST(asking_and_drift_are_taken_off_the_time),
        TEST(the_vote_that_ends_first_decides),
        TEST(a_vote_that_has_ended_leaves_nothing),
        TEST(a_longer_time_at_a_server_gives_no_more_than_was_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
