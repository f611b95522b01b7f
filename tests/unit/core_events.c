/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: each thing that falls due leaves one, in the order of the deadlines; those nobody fetches
 * are dropped past a bound, and counted. */
#include "core_fixture.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>

/* The next event, written "time name scope id quantity". */
static void expect_event_at(struct fixture *f, const char *text, const char *file, int line)
{
    struct event event;
    char got[400] = "none";

    if (core_next_event(f->core, &event)) {
        snprintf(got, sizeof got, "%" PRId64 " %s %s %s %" PRId64, event.time_ms,
                 event_name(event.kind), event.scope, event.id, event.quantity);
    }
    if (strcmp(got, text) != 0) {
        print_error("event\n  expected %s\n  got      %s\n", text, got);
        _fail(file, line);
    }
}
#define expect_event(f, text) expect_event_at((f), (text), __FILE__, __LINE__)

static void nothing_is_kept_unless_asked_for(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10ms ID k1");
    core_advance(f->core, 2000);
    expect_event(f, "none");
}

static void each_expiry_leaves_its_event(void **state)
{
    struct fixture *f = *state;

    core_collect_events(f->core, true);
    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 4 4 TTL 10ms");
    run(f, "QUOTA.LIMIT acme 100");
    run(f, "QUOTA.RESERVE acme 60 HOLD h1 TTL 20ms");
    run(f, "LOCK.TRY seat-1 30ms ID k1");
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 7 TTL 40ms");
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.ADMIT gala 1 PASS 60ms");
    run(f, "ROOM.JOIN gala bob TTL 50ms");
    run(f, "IDEM.BEGIN i1 f1 TTL 70ms"); /* nobody's hold: it leaves none */
    expect_event(f, "none");
    core_advance(f->core, 100000);
    expect_event(f, "1010 booking_expired gala b1 4");
    expect_event(f, "1020 quota_hold_expired acme h1 60");
    expect_event(f, "1030 lock_expired seat-1 seat-1 1");
    expect_event(f, "1040 order_expired shoe o1 7");
    expect_event(f, "1050 queue_entry_lapsed gala bob 1");
    expect_event(f, "1060 pass_lapsed gala ann 1");
    expect_event(f, "none");
}

static void a_slot_leaves_events_of_loss_and_grant(void **state)
{
    struct fixture *f = *state;

    core_collect_events(f->core, true);
    at(f, 1000);
    run(f, "SEM.ACQUIRE gpu a 1 HEARTBEAT 10ms");
    run(f, "SEM.QUEUE gpu b 5 5");
    run(f, "SEM.ACQUIRE gpu c 1 WAIT 15");
    expect_event(f, "1000 slot_granted gpu a 1");
    at(f, 1020);
    run(f, "SEM.CARD gpu");
    expect_event(f, "1010 slot_lost gpu a 1");
    expect_event(f, "1010 slot_granted gpu b 2");
    expect_event(f, "1015 waiter_lost gpu c 0");
    expect_event(f, "none");
}

static void what_ends_before_its_deadline_leaves_none(void **state)
{
    struct fixture *f = *state;

    core_collect_events(f->core, true);
    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 4 4");
    run(f, "SEATS.RELEASE gala b1");
    run(f, "SEATS.RESERVE gala floor b2 ann 4 4");
    run(f, "SEATS.CONFIRM gala b2");
    run(f, "LOCK.TRY seat-1 10 ID k1");
    run(f, "LOCK.UNLOCK seat-1 k1");
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.LEAVE gala ann");
    core_advance(f->core, 10000000);
    expect_event(f, "none");
}

static void events_come_in_the_order_of_the_deadlines(void **state)
{
    struct fixture *f = *state;

    core_collect_events(f->core, true);
    at(f, 1000);
    run(f, "LOCK.TRY seat-1 2h ID k1");
    run(f, "LOCK.TRY seat-2 30ms ID k2");
    run(f, "LOCK.TRY seat-3 9 ID k3");
    run(f, "LOCK.EXTEND seat-1 k1 20ms");
    core_advance(f->core, 10000000);
    expect_event(f, "1020 lock_expired seat-1 seat-1 1");
    expect_event(f, "1030 lock_expired seat-2 seat-2 1");
    expect_event(f, "10000 lock_expired seat-3 seat-3 1");
    expect_event(f, "none");
}

static void long_names_come_whole(void **state)
{
    struct fixture *f = *state;

    core_collect_events(f->core, true);
    at(f, 1000);
    run(f, "LOCK.TRY 7b6c1b60-64f5-4d4c-9f8e-0123456789ab 10ms");
    run(f, "LOCK.TRY a-resource-with-a-name-past-sixteen-bytes 20ms");
    core_advance(f->core, 2000);
    expect_event(f, "1010 lock_expired 7b6c1b60-64f5-4d4c-9f8e-0123456789ab "
                    "7b6c1b60-64f5-4d4c-9f8e-0123456789ab 1");
    expect_event(f, "1020 lock_expired a-resource-with-a-name-past-sixteen-bytes "
                    "a-resource-with-a-name-past-sixteen-bytes 1");
}

static void turning_events_off_forgets_them(void **state)
{
    struct fixture *f = *state;

    core_collect_events(f->core, true);
    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10ms ID k1");
    core_advance(f->core, 1010);
    core_collect_events(f->core, false);
    expect_event(f, "none");
    core_collect_events(f->core, true);
    expect_event(f, "none");
    run(f, "LOCK.TRY seat-1 10ms ID k1");
    core_advance(f->core, 1020);
    expect_event(f, "1020 lock_expired seat-1 seat-1 1");
}

/* Locks that expire in the order of their numbers, one a millisecond; without an audit after each.
 */
static void lock_many(struct fixture *f, int from, int count)
{
    for (int i = from; i < from + count; i++) {
        struct command command;
        char name[16], ttl[16];
        struct hf_bytes words[] = {HF_TEXT("LOCK.TRY"), {name, 0}, {ttl, 0}};
        words[1].size = (size_t)snprintf(name, sizeof name, "r%d", i);
        words[2].size = (size_t)snprintf(ttl, sizeof ttl, "%dms", 10 + i);
        assert_int_equal(command_from_words(&command, 3, words, NULL), HF_OK);
        memset(command.entropy, 7, sizeof command.entropy);
        core_apply(f->core, &command, 1000, &f->reply);
    }
}

static void past_the_bound_events_are_dropped(void **state)
{
    static const uint64_t seed[2] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9};
    struct fixture *f = *state;
    struct event event;

    core_destroy(f->core);
    f->core = core_create(&f->memory, seed); /* the fixture's seed is slow with many records */
    core_collect_events(f->core, true);
    lock_many(f, 0, EVENTS_MAX + 100);
    core_advance(f->core, 1000000);
    for (int i = 0; i < EVENTS_MAX; i++) { /* the oldest are kept */
        assert_true(core_next_event(f->core, &event));
        assert_int_equal(event.time_ms, 1010 + i);
    }
    expect_event(f, "none");
    at(f, 2000000);
    run(f, "LOCK.TRY seat-1 10ms ID k1");
    core_advance(f->core, 3000000);
    expect_event(f, "2000010 lock_expired seat-1 seat-1 1");
}

static void what_fell_due_is_counted_in_the_figures(void **state)
{
    struct fixture *f = *state;
    struct hf_info info;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10ms ID k1");
    run(f, "LOCK.TRY seat-2 20ms ID k2");
    run(f, "SEM.ACQUIRE gpu a 1");
    run(f, "SEM.QUEUE gpu b 5 5");
    run(f, "ROOM.JOIN gala ann");
    core_info(f->core, &info);
    assert_int_equal(info.expired, 0);
    assert_int_equal(info.holds, 3);
    assert_int_equal(info.waiting, 2);
    assert_int_equal(info.memory_bytes, f->memory.used);
    core_advance(f->core, 1010);
    core_info(f->core, &info);
    assert_int_equal(info.expired, 1);
    assert_int_equal(info.holds, 2);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_kept_unless_asked_for),
        CASE(each_expiry_leaves_its_event),
        CASE(a_slot_leaves_events_of_loss_and_grant),
        CASE(what_ends_before_its_deadline_leaves_none),
        CASE(events_come_in_the_order_of_the_deadlines),
        CASE(long_names_come_whole),
        CASE(turning_events_off_forgets_them),
        CASE(past_the_bound_events_are_dropped),
        CASE(what_fell_due_is_counted_in_the_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
