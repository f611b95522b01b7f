/* SPDX-License-Identifier: Apache-2.0
 *
 * Every command that changes the state is tried where all memory is in use that may be: which need
 * more, and are refused, and which go on or give back. A new row has to be put here. */
#include "core_fixture.h"

#include "core/state.h"

#include <stdio.h>

enum need { UNKNOWN, MORE, NO_MORE };

static const struct {
    enum need need;
    const char *words;
} cases[COMMAND_COUNT] = {
    [SEATS_OPEN] = {MORE, "SEATS.OPEN gala new 5"},
    [SEATS_RESERVE] = {MORE, "SEATS.RESERVE gala floor new new 1 9"},
    [SEATS_CONFIRM] = {NO_MORE, "SEATS.CONFIRM gala b1 PAYMENT an-id-past-sixteen-bytes"},
    [SEATS_RELEASE] = {NO_MORE, "SEATS.RELEASE gala b2"},
    [SEATS_REFUND] = {NO_MORE, "SEATS.REFUND gala sold"},
    [SEATS_EXTEND] = {NO_MORE, "SEATS.EXTEND gala b3 1h"},
    [SEATS_CLOSE] = {NO_MORE, "SEATS.CLOSE over FORCE"},
    [QUOTA_LIMIT] = {MORE, "QUOTA.LIMIT new 5"},
    [QUOTA_RESERVE] = {MORE, "QUOTA.RESERVE acme 5 HOLD new"},
    [QUOTA_REFUND] = {NO_MORE, "QUOTA.REFUND acme 1"},
    [QUOTA_COMMIT] = {NO_MORE, "QUOTA.COMMIT acme h1"},
    [QUOTA_CANCEL] = {NO_MORE, "QUOTA.CANCEL acme h2"},
    [QUOTA_EXTEND] = {NO_MORE, "QUOTA.EXTEND acme h3 1h"},
    [QUOTA_CLOSE] = {NO_MORE, "QUOTA.CLOSE over"},
    [QUOTA_SYNC] = {MORE, "QUOTA.SYNC new 5"},
    [SEM_ACQUIRE] = {MORE, "SEM.ACQUIRE gpu new 9"},
    [SEM_QUEUE] = {MORE, "SEM.QUEUE gpu new 1m 1m"},
    [SEM_WAKE] = {NO_MORE, "SEM.WAKE gpu 9 1m 1m"},
    [SEM_CONFIRM] = {NO_MORE, "SEM.CONFIRM gpu a 9 1m 1m"},
    [SEM_RELEASE] = {NO_MORE, "SEM.RELEASE gpu a"},
    [SEM_PING] = {NO_MORE, "SEM.PING gpu b 1m 1m"},
    [LOCK_TRY] = {MORE, "LOCK.TRY new 10m"},
    [LOCK_UNLOCK] = {NO_MORE, "LOCK.UNLOCK seat k"},
    [LOCK_EXTEND] = {NO_MORE, "LOCK.EXTEND stage k 20m"},
    [STOCK_LOAD] = {MORE, "STOCK.LOAD new 5"},
    [STOCK_TAKE] = {MORE, "STOCK.TAKE shoe new new 1"},
    [STOCK_EXTEND] = {NO_MORE, "STOCK.EXTEND shoe o1 1h"},
    [STOCK_SETTLE] = {NO_MORE, "STOCK.SETTLE shoe o2"},
    [STOCK_GIVE] = {NO_MORE, "STOCK.GIVE shoe o3"},
    [STOCK_CLOSE] = {NO_MORE, "STOCK.CLOSE over"},
    [STOCK_ADJUST] = {NO_MORE, "STOCK.ADJUST shoe 5 counted"},
    [ROOM_OPEN] = {MORE, "ROOM.OPEN new RATE 5"},
    [ROOM_JOIN] = {MORE, "ROOM.JOIN gala new"},
    [ROOM_LEAVE] = {NO_MORE, "ROOM.LEAVE gala ann"},
    [ROOM_ADMIT] = {NO_MORE, "ROOM.ADMIT gala 1"},
    [ROOM_TICK] = {NO_MORE, "ROOM.TICK gala"},
    [ROOM_CHECK] = {NO_MORE, "ROOM.CHECK gala eve token"},
    [ROOM_DONE] = {NO_MORE, "ROOM.DONE gala eve token"},
    [IDEM_BEGIN] = {MORE, "IDEM.BEGIN new f"},
    [IDEM_COMPLETE] = {NO_MORE, "IDEM.COMPLETE key done"},
    [IDEM_ABORT] = {NO_MORE, "IDEM.ABORT other"},
};

static void fill(struct fixture *f)
{
    static const char *const before[] = {
        "SEATS.OPEN gala floor 100",
        "SEATS.RESERVE gala floor b1 ann 1 9",
        "SEATS.RESERVE gala floor b2 ann 1 9",
        "SEATS.RESERVE gala floor b3 ann 1 9",
        "SEATS.RESERVE gala floor sold ann 1 9",
        "SEATS.CONFIRM gala sold",
        "SEATS.OPEN over floor 5",
        "QUOTA.LIMIT acme 100",
        "QUOTA.LIMIT over 1",
        "QUOTA.RESERVE acme 5 HOLD h1",
        "QUOTA.RESERVE acme 5 HOLD h2",
        "QUOTA.RESERVE acme 5 HOLD h3",
        "QUOTA.RESERVE acme 5",
        "SEM.ACQUIRE gpu a 2",
        "SEM.ACQUIRE gpu b 2",
        "LOCK.TRY seat 10m ID k",
        "LOCK.TRY stage 10m ID k",
        "STOCK.LOAD shoe 100",
        "STOCK.LOAD over 1",
        "STOCK.TAKE shoe o1 ann 1",
        "STOCK.TAKE shoe o2 ann 1",
        "STOCK.TAKE shoe o3 ann 1",
        "ROOM.JOIN gala ann",
        "ROOM.JOIN gala bob",
        "ROOM.JOIN gala cid",
        "ROOM.ADMIT gala 1",
        "IDEM.BEGIN key f",
        "IDEM.BEGIN other f",
    };

    at(f, 1000);
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        assert_int_not_equal(run(f, before[i])[0], '-');
    }
    core_limit_memory(f->core, f->memory.used / 2); /* the keys of requests are full as well */
}

static bool changes_the_state(const struct command_spec *spec)
{
    return spec->flags & COMMAND_WRITES && !(spec->flags & COMMAND_SERVICE);
}

static void every_row_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        bool known = cases[i].need != UNKNOWN;
        if (known != changes_the_state(&command_table[i])) {
            fail_msg("%s: does it need more memory, or does it go on without?",
                     command_table[i].name);
        }
        assert_true(!known || strncmp(cases[i].words, command_table[i].name,
                                      strlen(command_table[i].name)) == 0);
    }
}

static void what_needs_more_is_refused_and_says_why(void **state)
{
    struct fixture *f = *state;

    fill(f);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (cases[i].need == MORE) {
            expect_unchanged(f, cases[i].words, "-BUSY");
            assert_non_null(strstr(f->reply.why, "max-memory"));
        }
    }
}

static void everything_else_goes_on(void **state)
{
    struct fixture *f = *state;

    fill(f);
    size_t used = f->memory.used;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (cases[i].need == NO_MORE) {
            run(f, cases[i].words);
            if (f->reply.code != HF_OK && f->reply.code != HF_NOT_ADMITTED) {
                fail_msg("%s: %s", cases[i].words, f->text);
            }
        }
    }
    assert_true(f->memory.used < used + used); /* nothing of it takes much */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_known),
        TEST(what_needs_more_is_refused_and_says_why),
        TEST(everything_else_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
