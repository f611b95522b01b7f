/* SPDX-License-Identifier: Apache-2.0
 *
 * QUOTA.EXTEND: a hold's deadline moves on, up to 12 first TTLs after its start. */
#include "snapshot_fixture.h"

#include <stdio.h>

#define START 1000
#define TTL 10000

/* One hold of 20, of 10 s. */
static struct fixture *one_hold(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 100");
    expect(f, "QUOTA.RESERVE acme 20 HOLD h1 TTL 10s", "1 20 100");
    return f;
}

static void expect_deadline(struct fixture *f, const char *line, int64_t deadline_ms)
{
    char reply[32];

    snprintf(reply, sizeof reply, "1 %lld", (long long)deadline_ms);
    expect(f, line, reply);
}

static void the_deadline_is_now_and_the_ttl(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 5000);
    expect_deadline(f, "QUOTA.EXTEND acme h1 10s", START + 15000);
    at(f, START + 14999);
    expect(f, "QUOTA.GET acme", "20 100 20");
    at(f, START + 15000);
    expect(f, "QUOTA.GET acme", "0 100 0");
    expect_unchanged(f, "QUOTA.EXTEND acme h1 10s", "0 HOLD_NOT_FOUND");
}

static void it_never_comes_earlier(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 1000);
    expect_unchanged(f, "QUOTA.EXTEND acme h1 10ms", "1 11000");
    expect_unchanged(f, "QUOTA.EXTEND acme h1 9s", "1 11000");
    at(f, START + TTL);
    expect(f, "QUOTA.GET acme", "0 100 0");
}

static void it_is_at_most_12_first_ttls_after_the_start(void **state)
{
    struct fixture *f = one_hold(state);

    at(f, START + 1);
    expect_deadline(f, "QUOTA.EXTEND acme h1 60s", START + 60001);
    at(f, START + 60000);
    expect_deadline(f, "QUOTA.EXTEND acme h1 1h", START + 12 * TTL);
    at(f, START + 12 * TTL - 1);
    expect_unchanged(f, "QUOTA.EXTEND acme h1 1h", "1 121000");
    at(f, START + 12 * TTL);
    expect(f, "QUOTA.GET acme", "0 100 0");
}

static void reserve_again_compares_with_the_first_ttl(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.EXTEND acme h1 30s");
    expect_unchanged(f, "QUOTA.RESERVE acme 20 HOLD h1 TTL 10s", "1 20 100");
    expect_unchanged(f, "QUOTA.RESERVE acme 20 HOLD h1 TTL 30s", "0 INVALID_STATE");
}

static void only_an_open_hold_is_extended(void **state)
{
    struct fixture *f = one_hold(state);

    expect_unchanged(f, "QUOTA.EXTEND acme h9 10s", "0 HOLD_NOT_FOUND");
    expect_unchanged(f, "QUOTA.EXTEND other h1 10s", "0 HOLD_NOT_FOUND");
    run(f, "QUOTA.RESERVE acme 5 HOLD h2");
    run(f, "QUOTA.CANCEL acme h2");
    expect_unchanged(f, "QUOTA.EXTEND acme h2 10s", "0 HOLD_NOT_FOUND");
    run(f, "QUOTA.EXTEND acme h1 30s");
    run(f, "QUOTA.COMMIT acme h1");
    expect_unchanged(f, "QUOTA.EXTEND acme h1 10s", "0 INVALID_STATE");
    at(f, START + 300000);
    expect(f, "QUOTA.EXTEND acme h1 10s", "0 HOLD_NOT_FOUND");
}

static void other_holds_keep_their_deadline(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h2 TTL 10s");
    run(f, "QUOTA.EXTEND acme h1 30s");
    at(f, START + TTL);
    expect(f, "QUOTA.GET acme", "20 100 20");
}

/* A hold that was extended and one that was not, there and back again. */
static void a_snapshot_has_the_start_of_an_extended_hold(void **state)
{
    struct fixture *f = one_hold(state);

    run(f, "QUOTA.RESERVE acme 5 HOLD h2 TTL 20s");
    at(f, START + 5000);
    run(f, "QUOTA.EXTEND acme h1 60s");
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    assert_non_null(core);
    assert_true(core_digest(core) == core_digest(f->core));
    core_destroy(f->core);
    f->core = core;
    expect_deadline(f, "QUOTA.EXTEND acme h1 1h", START + 12 * TTL);
    expect_deadline(f, "QUOTA.EXTEND acme h2 1h", START + 12 * 2 * TTL);
    buffer_free(&bytes);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(the_deadline_is_now_and_the_ttl),
        CASE(it_never_comes_earlier),
        CASE(it_is_at_most_12_first_ttls_after_the_start),
        CASE(reserve_again_compares_with_the_first_ttl),
        CASE(only_an_open_hold_is_extended),
        CASE(other_holds_keep_their_deadline),
        CASE(a_snapshot_has_the_start_of_an_extended_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
