/* SPDX-License-Identifier: Apache-2.0
 *
 * QUOTA.SYNC with SINCE: what was committed since a reading of the database began stays counted,
 * in bounded memory, and never less than that. */
#include "snapshot_fixture.h"

#include <stdio.h>

#define START 1000000
#define DAY 86400000

static struct fixture *one_tenant(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 9007199254740991");
    return f;
}

static void expect_sync(struct fixture *f, long long since, const char *reply)
{
    char command[96];

    snprintf(command, sizeof command, "QUOTA.SYNC acme 100 SINCE %lld", since);
    expect(f, command, reply);
}

static void mark_answers_the_time(void **state)
{
    struct fixture *f = one_tenant(state);

    expect_unchanged(f, "QUOTA.MARK acme", "1 1000000");
    at(f, START + 5);
    expect_unchanged(f, "QUOTA.MARK nobody", "1 1000005");
}

static void what_was_committed_since_stays_counted(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 10");
    run(f, "QUOTA.RESERVE acme 20 HOLD h1");
    run(f, "QUOTA.RESERVE acme 40 HOLD h2");
    at(f, START + 1);
    run(f, "QUOTA.COMMIT acme h1 AMOUNT 15");
    expect_sync(f, START + 1, "1 155 9007199254740991");
    expect_sync(f, START + 1, "1 155 9007199254740991");
    at(f, START + 2);
    expect_sync(f, START + 2, "1 140 9007199254740991");
    expect_sync(f, START, "1 165 9007199254740991");
    run(f, "QUOTA.SYNC acme 100");
    expect(f, "QUOTA.GET acme", "140 9007199254740991 40");
}

static void a_refund_since_is_not_taken_off(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 10");
    run(f, "QUOTA.REFUND acme 10");
    expect_sync(f, START, "1 110 9007199254740991");
}

static void a_repeated_commit_counts_once(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 10 HOLD h1");
    run(f, "QUOTA.COMMIT acme h1");
    run(f, "QUOTA.COMMIT acme h1");
    expect_sync(f, START, "1 110 9007199254740991");
}

static void the_time_has_bounds(void **state)
{
    struct fixture *f = one_tenant(state);

    at(f, START + DAY);
    expect_unchanged(f, "QUOTA.SYNC acme 1 SINCE 87400001", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "QUOTA.SYNC acme 1 SINCE 999999", "0 INVALID_ARGUMENT");
    expect(f, "QUOTA.SYNC acme 1 SINCE 1000000", "1 1 9007199254740991");
    expect_unchanged(f, "QUOTA.SYNC fresh 1 SINCE 999999", "0 INVALID_ARGUMENT");
}

static void the_sum_has_a_bound(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 9007199254740991");
    run(f, "QUOTA.REFUND acme 9007199254740991");
    run(f, "QUOTA.RESERVE acme 9007199254740991");
    expect_unchanged(f, "QUOTA.SYNC acme 1 SINCE 1000000", "0 INVALID_AMOUNT");
    expect(f, "QUOTA.SYNC acme 0 SINCE 1000000", "1 9007199254740991 9007199254740991");
}

/* Ten thousand commits at uneven times: whatever the time asked for, nothing is missing, and what
 * is too much was committed not long before. */
static void never_less_however_many(void **state)
{
    enum { COMMITS = 10000 };
    struct fixture *f = one_tenant(state);
    static int64_t times[COMMITS];
    int64_t now = START;

    for (int i = 0; i < COMMITS; i++) {
        now += i * 7919 % 37 * (i % 100 == 0 ? 50 : 1);
        at(f, now);
        run(f, "QUOTA.RESERVE acme 1");
        times[i] = now;
    }
    for (int i = 0; i < COMMITS; i += 97) {
        char reply[64], command[96];
        int least = 0, most = 0;
        int64_t early = times[i] - 2 * (now - times[i]) - 2000;
        for (int j = 0; j < COMMITS; j++) {
            least += times[j] >= times[i];
            most += times[j] >= early;
        }
        snprintf(command, sizeof command, "QUOTA.SYNC acme 0 SINCE %lld", (long long)times[i]);
        run(f, command);
        long long used = f->reply.values[0].number;
        snprintf(reply, sizeof reply, "%d <= %lld <= %d", least, used, most);
        if (used < least || used > most) {
            fail_msg("%s: %s", command, reply);
        }
    }
}

static void nothing_set_and_nothing_used_is_no_tenant(void **state)
{
    struct fixture *f = one_tenant(state);

    run(f, "QUOTA.RESERVE acme 10 HOLD h1");
    run(f, "QUOTA.COMMIT acme h1"); /* which is remembered for its retries */
    run(f, "QUOTA.REFUND acme 10");
    run(f, "QUOTA.LIMIT acme 0");
    expect(f, "QUOTA.SYNC acme 0 SINCE 1000000", "1 0 0");
    run(f, "QUOTA.LIMIT acme 50");
    run(f, "QUOTA.RESERVE acme 10");
    run(f, "QUOTA.CLOSE acme");
    expect(f, "QUOTA.SYNC acme 0 SINCE 1000000", "1 0 0");
}

static void a_snapshot_has_what_was_committed_lately(void **state)
{
    struct fixture *f = one_tenant(state);

    for (int i = 0; i < 40; i++) {
        at(f, START + 100 * i * i);
        run(f, "QUOTA.RESERVE acme 1");
    }
    run(f, "QUOTA.LIMIT other 50");
    run(f, "QUOTA.RESERVE other 10 HOLD h1");
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    assert_non_null(core);
    assert_true(core_digest(core) == core_digest(f->core));
    core_destroy(f->core);
    f->core = core;
    expect_sync(f, START + 152100, "1 101 9007199254740991");
    expect_sync(f, START, "1 140 9007199254740991");
    expect(f, "QUOTA.COMMIT other h1", "1 10 50");
    buffer_free(&bytes);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(mark_answers_the_time),
        CASE(what_was_committed_since_stays_counted),
        CASE(a_refund_since_is_not_taken_off),
        CASE(a_repeated_commit_counts_once),
        CASE(the_time_has_bounds),
        CASE(the_sum_has_a_bound),
        CASE(never_less_however_many),
        CASE(nothing_set_and_nothing_used_is_no_tenant),
        CASE(a_snapshot_has_what_was_committed_lately),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
