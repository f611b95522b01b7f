/* SPDX-License-Identifier: Apache-2.0
 *
 * The snapshot: what comes back is what was written, whatever families and corners it holds. Random
 * runs with restarts are in core_time.c, damaged snapshots in core_snapshot_damaged.c. */
#include "snapshot_fixture.h"

#include "core/state.h"

#include <stdio.h>

/* ---- whole ----------------------------------------------------------------------------------- */

static void an_empty_state_comes_back(void **state)
{
    struct fixture *f = *state;

    snapshot_and_restore(f);
    expect(f, "QUOTA.GET acme", "0 0 0");
}

static void a_state_of_all_families_comes_back(void **state)
{
    struct fixture *f = *state;

    fill(f);
    snapshot_and_restore(f);
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
    expect(f, "SEATS.ZONE gala floor", "capacity 100 available 94 reserved 3 confirmed 3");
    expect(f, "SEATS.RESERVE gala floor b1 ann 2 9 SHOW matinee PRICE 250", "1 94 5 *");
    expect(f, "SEATS.CONFIRM gala b2 PAYMENT a-payment-id-longer-than-sixteen-bytes",
           "1 CONFIRMED *");
    expect(f, "SEATS.RELEASE gala b4", "1 SUCCESS 94 1");
    expect(f, "QUOTA.GET acme", "38 100 20");
    expect(f, "QUOTA.COMMIT acme h2", "1 38 100");
    expect(f, "QUOTA.CANCEL acme h3", "1 38 100");
    expect(f, "QUOTA.COMMIT acme h4 AMOUNT 3", "1 38 100");
    expect(f, "SEM.STATS gpu", "in_use 1 max 1 waiting 2");
    expect(f, "LOCK.GET seat-1", "k1 2 59990");
    expect(f, "STOCK.GET shoe", "available 42 taken 2 sold 3 loaded 47 shards 4 mode single");
    expect(f, "STOCK.SETTLE shoe o2", "1 42");
    expect(f, "STOCK.GIVE shoe o3", "1 42");
    expect(f, "ROOM.POSITION gala dan", "2 2");
    expect(f, "IDEM.BEGIN i1 f1", "0 PROCESSING");
    expect(f, "IDEM.BEGIN i2 a-fingerprint-longer-than-sixteen-bytes", "2 COMPLETED created");
}

static void what_was_closed_is_forgotten_in_time_after_a_restore(void **state)
{
    struct fixture *f = *state;

    fill(f);
    snapshot_and_restore(f);
    at(f, 300999);
    expect(f, "SEATS.RELEASE gala b4", "1 SUCCESS 94 0");
    expect(f, "STOCK.SETTLE shoe o2", "1 42");
    at(f, 301000);
    expect(f, "SEATS.RELEASE gala b4", "0 RESERVATION_NOT_FOUND");
    expect(f, "QUOTA.COMMIT acme h2", "0 HOLD_NOT_FOUND");
    expect(f, "STOCK.SETTLE shoe o2", "0 NOT_FOUND");
}

static void a_lapsed_booking_counts_until_its_grace_is_over_after_a_restore(void **state)
{
    struct fixture *f = *state;

    fill(f);
    snapshot_and_restore(f);
    at(f, 61009);
    expect(f, "SEATS.USER gala bob", "1 0");
    at(f, 61010);
    expect(f, "SEATS.USER gala bob", "0 0");
}

static void calls_that_waited_are_answered_after_a_restore(void **state)
{
    struct fixture *f = *state;

    fill(f);
    snapshot_and_restore(f);
    at(f, 1050);
    expect(f, "SEM.STATS gpu", "in_use 1 max 1 waiting 1");
    expect_wakes(f, "2:0 TIMEOUT");
    expect(f, "SEM.RELEASE gpu a", "1");
    expect_wakes(f, "1:1 1 4");
    expect(f, "SEM.ACQUIRE gpu d 1 WAIT 10", "WAIT");
    assert_int_equal(f->ticket, 3);
}

static void the_original_and_the_restored_go_on_alike(void **state)
{
    static const char *const commands[] = {
        "SEATS.RESERVE gala floor b5 dan 3 9",
        "SEATS.RELEASE gala b1",
        "QUOTA.COMMIT acme h1",
        "SEM.ACQUIRE gpu d 1 WAIT 90",
        "SEM.RELEASE gpu a",
        "LOCK.TRY seat-3 9",
        "STOCK.TAKE shoe o3 bob 40",
        "ROOM.JOIN gala eva",
        "ROOM.ADMIT gala 2",
        "IDEM.COMPLETE i1 done",
        "SEATS.CONFIRM gala b5",
        "QUOTA.SYNC acme 3",
        "SEM.PING gpu b 50ms 1",
        "LOCK.UNLOCK seat-1 k1",
        "STOCK.SETTLE shoe o1",
        "ROOM.LEAVE gala bob",
        "IDEM.BEGIN i3 f3 TTL 1",
        "SEATS.USER gala bob",
    };
    struct fixture *f = *state, *g;

    fixture_setup((void **)&g);
    fill(f);
    fill(g);
    for (int64_t round = 0; round < 400; round++) {
        if (round % 40 == 0) {
            snapshot_and_restore(g);
        }
        at(f, 1010 + round * round);
        at(g, 1010 + round * round);
        run(f, commands[(size_t)round % (sizeof commands / sizeof commands[0])]);
        run(g, commands[(size_t)round % (sizeof commands / sizeof commands[0])]);
        assert_string_equal(f->text, g->text);
        assert_true(core_digest(f->core) == core_digest(g->core));
    }
    fixture_teardown((void **)&g);
}

static void a_snapshot_of_a_restored_state_is_the_same(void **state)
{
    struct fixture *f = *state;

    fill(f);
    struct buffer first = snapshot_of(f);
    snapshot_and_restore(f);
    struct buffer second = snapshot_of(f);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    buffer_free(&first);
    buffer_free(&second);
}

static void a_snapshot_is_appended_to_what_is_there(void **state)
{
    struct fixture *f = *state;
    struct buffer bytes;
    struct problem problem;

    fill(f);
    buffer_init(&bytes, &f->memory);
    buffer_text(&bytes, "before");
    assert_true(core_snapshot(f->core, &bytes));
    struct core *core = restore(&f->memory, bytes.data + 6, bytes.size - 6, &problem);
    assert_non_null(core);
    assert_true(core_digest(core) == core_digest(f->core));
    core_destroy(core);
    buffer_free(&bytes);
}

static void the_digest_tells_states_apart(void **state)
{
    struct fixture *f = *state;
    uint64_t before = core_digest(f->core);

    run(f, "QUOTA.LIMIT acme 1");
    uint64_t after = core_digest(f->core);
    assert_true(before != after);
    run(f, "QUOTA.LIMIT acme 2");
    assert_true(core_digest(f->core) != after);
    run(f, "QUOTA.LIMIT acme 1");
    assert_true(core_digest(f->core) == after);
}

/* What `first` and `second` make of the same state is not the same. Commands are separated by
 * ";". */
static void expect_apart(struct fixture *f, const char *common, const char *first,
                         const char *second)
{
    void *other;
    assert_int_equal(fixture_setup(&other), 0);
    struct fixture *both[] = {f, other};
    const char *lists[2][2] = {{common, first}, {common, second}};
    char line[256];

    for (int i = 0; i < 4; i++) {
        for (const char *at = lists[i / 2][i % 2]; *at != '\0';) {
            size_t size = strcspn(at, ";");
            snprintf(line, sizeof line, "%.*s", (int)size, at);
            run(both[i / 2], line);
            at += size + (at[size] == ';');
        }
    }
    assert_true(core_digest(both[0]->core) != core_digest(both[1]->core));
    assert_int_equal(fixture_teardown(&other), 0);
}

/* The same bookings and the same users, each with as many seats: only who has which differs. */
static void the_digest_tells_whose_a_booking_is(void **state)
{
    struct fixture *f = *state;

    expect_apart(f,
                 "SEATS.OPEN gala floor 100;SEATS.RESERVE gala floor a ann 1 9;"
                 "SEATS.RESERVE gala floor b bob 1 9",
                 "SEATS.RESERVE gala floor c ann 1 9;SEATS.RESERVE gala floor d bob 1 9",
                 "SEATS.RESERVE gala floor c bob 1 9;SEATS.RESERVE gala floor d ann 1 9");
}

static void the_digest_tells_who_is_first_in_line(void **state)
{
    expect_apart(*state, "SEM.ACQUIRE s h 1", "SEM.QUEUE s x 9 9;SEM.QUEUE s y 9 9",
                 "SEM.QUEUE s y 9 9;SEM.QUEUE s x 9 9");
}

static void the_digest_tells_what_is_only_kept(void **state)
{
    expect_apart(*state, "STOCK.LOAD hat 10", "STOCK.LOAD shoe 10 SHARDS 8 POLICY steal",
                 "STOCK.LOAD shoe 10 SHARDS 8");
}

/* A slot that passes on takes the next fence. Of two that do so in the same millisecond, the same
 * one must come first before and after a restart, or a client's fence would change. */
static void a_restore_keeps_the_order_within_a_millisecond(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEM.ACQUIRE s1 a 1 HEARTBEAT 30ms");
    run(f, "SEM.ACQUIRE s2 b 1 HEARTBEAT 40ms");
    run(f, "SEM.QUEUE s1 x 1 1");
    run(f, "SEM.QUEUE s2 y 1 1");
    at(f, 1010);
    run(f, "SEM.PING s1 a 30ms 1"); /* now due together with b, but armed after it */
    struct buffer bytes = snapshot_of(f);
    core_advance(f->core, 1040);
    uint64_t digest = core_digest(f->core);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    core_advance(core, 1040);
    assert_true(core_digest(core) == digest);
    core_destroy(core);
    buffer_free(&bytes);
}

/* They are in snapshots that were written long ago. */
static void kinds_and_states_keep_their_numbers(void **state)
{
    static const enum kind expected[] = {
        CORE_EVENTS,      CORE_ZONES,        CORE_SEAT_USERS,  CORE_SHOWS,
        CORE_BOOKINGS,    CORE_TENANTS,      CORE_QUOTA_HOLDS, CORE_SEMAPHORES,
        CORE_SEM_CLIENTS, CORE_LOCKS,        CORE_PRODUCTS,    CORE_ORDERS,
        CORE_ROOMS,       CORE_ROOM_ENTRIES, CORE_ROOM_PASSES, CORE_IDEM_KEYS,
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(expected[i], i);
        bool is_scoped = kinds[i].parent != CORE_NO_KIND;
        assert_true(!is_scoped || (size_t)kinds[i].parent < i);
    }
    assert_int_equal(BOOKING_CONFIRMED, 1);
    assert_int_equal(BOOKING_RELEASED, 2);
    assert_int_equal(BOOKING_LAPSED, 3);
    assert_int_equal(BOOKING_REFUNDED, 4);
    assert_int_equal(HOLD_COMMITTED, 1);
    assert_int_equal(HOLD_CANCELLED, 2);
    assert_int_equal(CLIENT_HOLDING, 1);
    assert_int_equal(ORDER_SETTLED, 1);
    assert_int_equal(ORDER_GIVEN, 2);
    assert_int_equal(IDEM_COMPLETED, 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(an_empty_state_comes_back),
        CASE(a_state_of_all_families_comes_back),
        CASE(what_was_closed_is_forgotten_in_time_after_a_restore),
        CASE(a_lapsed_booking_counts_until_its_grace_is_over_after_a_restore),
        CASE(calls_that_waited_are_answered_after_a_restore),
        CASE(the_original_and_the_restored_go_on_alike),
        CASE(a_snapshot_of_a_restored_state_is_the_same),
        CASE(a_snapshot_is_appended_to_what_is_there),
        CASE(the_digest_tells_states_apart),
        CASE(the_digest_tells_whose_a_booking_is),
        CASE(the_digest_tells_who_is_first_in_line),
        CASE(the_digest_tells_what_is_only_kept),
        CASE(a_restore_keeps_the_order_within_a_millisecond),
        cmocka_unit_test(kinds_and_states_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
