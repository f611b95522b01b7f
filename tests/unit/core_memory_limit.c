/* SPDX-License-Identifier: Apache-2.0
 *
 * With all the memory in use that may be, nothing new is taken; what exists goes on, and whatever
 * gives back is let through. Nothing that a retry may ask for is forgotten to make room. */
#include "core_fixture.h"

#include "core/state.h"

#include <stdio.h>

static struct fixture *full(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 100");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 9");
    run(f, "SEATS.RESERVE gala floor b2 ann 1 9");
    run(f, "QUOTA.LIMIT acme 100");
    run(f, "QUOTA.RESERVE acme 5 HOLD h1");
    run(f, "STOCK.LOAD shoe 100");
    run(f, "STOCK.TAKE shoe o1 ann 1");
    run(f, "LOCK.TRY seat 10m ID k");
    run(f, "SEM.ACQUIRE gpu a 1");
    run(f, "ROOM.JOIN gala ann");
    run(f, "IDEM.BEGIN key f");
    core_limit_memory(f->core, f->memory.used);
    return f;
}

static void nothing_new_is_taken(void **state)
{
    static const char *const refused[] = {"SEATS.OPEN gala stage 100",
                                          "SEATS.OPEN fair floor 1",
                                          "SEATS.RESERVE gala floor b3 bob 1 9",
                                          "QUOTA.LIMIT other 5",
                                          "QUOTA.RESERVE acme 5 HOLD h2",
                                          "STOCK.LOAD hat 5",
                                          "STOCK.TAKE shoe o2 ann 1",
                                          "LOCK.TRY other 10m",
                                          "SEM.ACQUIRE gpu b 2",
                                          "SEM.QUEUE gpu b 1m 1m",
                                          "ROOM.JOIN gala bob",
                                          "IDEM.BEGIN other f"};
    struct fixture *f = full(state);

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        expect_unchanged(f, refused[i], "-BUSY");
        assert_non_null(strstr(f->reply.why, "max-memory"));
    }
}

static void what_is_there_goes_on(void **state)
{
    struct fixture *f = full(state);

    expect(f, "SEATS.RESERVE gala floor b1 ann 1 9", "1 98 2 *");
    expect(f, "SEATS.OPEN gala floor 200", "1 198 200");
    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
    expect(f, "QUOTA.RESERVE acme 5", "1 10 100");
    expect(f, "QUOTA.COMMIT acme h1", "1 10 100");
    expect(f, "STOCK.SETTLE shoe o1", "1 99");
    expect(f, "LOCK.EXTEND seat k 20m", "1");
    expect(f, "SEM.PING gpu a 1m 1m", "0 1");
    expect(f, "IDEM.COMPLETE key done", "1");
    expect(f, "SEATS.RELEASE gala b2", "1 SUCCESS 199 0");
    expect(f, "LOCK.UNLOCK seat k", "1");
    expect(f, "SEM.RELEASE gpu a", "1");
    expect(f, "ROOM.LEAVE gala ann", "1");
}

/* A retry finds what it did, however little memory is left for others. */
static void retries_are_answered_for_the_whole_window(void **state)
{
    struct fixture *f = full(state);

    run(f, "STOCK.SETTLE shoe o1");
    run(f, "SEATS.RELEASE gala b1");
    at(f, 1000 + RETRY_WINDOW_MS - 1);
    expect(f, "STOCK.SETTLE shoe o1", "1 99");
    expect(f, "STOCK.TAKE shoe o1 ann 1", "1 99");
    expect(f, "SEATS.RELEASE gala b1", "1 SUCCESS 99 1");
}

static void given_back_memory_is_handed_out_again(void **state)
{
    struct fixture *f = full(state);

    core_limit_memory(f->core, f->memory.used + 1);
    expect(f, "SEATS.RESERVE gala floor a-booking-with-an-id-that-needs-room cid 1 9", "1 97 1 *");
    expect(f, "SEATS.RESERVE gala floor b5 bob 1 9", "-BUSY");
    at(f, 1000 + SEATS_TTL_DEFAULT_MS + SEATS_USER_GRACE_MS + RETRY_WINDOW_MS);
    expect(f, "SEATS.RESERVE gala floor b5 bob 1 9", "1 99 1 *");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_new_is_taken),
        TEST(what_is_there_goes_on),
        TEST(retries_are_answered_for_the_whole_window),
        TEST(given_back_memory_is_handed_out_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
