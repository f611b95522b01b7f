/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of an event: nobody finds anything of it from then on, what it left behind is freed in
 * bounded steps, and its memory comes back. */
#include "core_fixture.h"

#include "core/state.h"

#include <stdio.h>

/* An event with bookings in every state: reserved r, confirmed c, released x, lapsed l. */
static struct fixture *gala(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 100");
    run(f, "SEATS.OPEN gala stage 10");
    run(f, "SEATS.RESERVE gala floor l ann 1 9 TTL 10ms SHOW evening");
    run(f, "SEATS.RESERVE gala floor c ann 2 9 LIFETIME SHOW evening");
    run(f, "SEATS.CONFIRM gala c PAYMENT a-payment-with-a-long-name");
    run(f, "SEATS.RESERVE gala floor x a-user-with-a-rather-long-name 3 9");
    run(f, "SEATS.RELEASE gala x");
    run(f, "SEATS.RESERVE gala stage r bob 4 9 TTL 1m");
    at(f, 1010);
    run(f, "SEATS.ZONE gala floor");
    return f;
}

/* Closes it without the audit, which would free it. */
static void close_gala(struct fixture *f)
{
    assert_int_equal(run_unaudited(f, "SEATS.CLOSE gala FORCE"), HF_OK);
}

static void reserved_seats_keep_an_event_open(void **state)
{
    struct fixture *f = gala(state);

    expect_unchanged(f, "SEATS.CLOSE gala", "0 INVALID_STATE");
    assert_string_equal(f->reply.why, "# seats are reserved: confirm or release them, or wait "
                                      "until they expire");
    expect_unchanged(f, "SEATS.CLOSE gala FORCE", "0 INVALID_STATE");
    at(f, 1000 + 59999);
    expect_unchanged(f, "SEATS.CLOSE gala FORCE", "0 INVALID_STATE");
    at(f, 1000 + 60000);
    expect(f, "SEATS.CLOSE gala FORCE", "1 1 2");
}

static void confirmed_seats_keep_an_event_open_unless_forced(void **state)
{
    struct fixture *f = gala(state);

    run(f, "SEATS.RELEASE gala r");
    expect_unchanged(f, "SEATS.CLOSE gala", "0 INVALID_STATE");
    assert_string_equal(f->reply.why, "# seats are confirmed: with FORCE they are removed, too");
    expect(f, "SEATS.CLOSE gala FORCE", "1 1 2");
    expect(f, "SEATS.CLOSE gala FORCE", "1 0 0");
    expect(f, "SEATS.CLOSE gala", "1 0 0");
    expect(f, "SEATS.CLOSE never", "1 0 0");
}

/* As many zones as it takes that their seats together are more than 64 bits hold. */
static void the_seats_of_all_zones_may_be_more_than_a_number_holds(void **state)
{
    struct fixture *f = *state;
    char line[200];
    enum { ZONES = 2050 };

    at(f, 1000);
    for (int i = 0; i < ZONES; i++) {
        snprintf(line, sizeof line, "SEATS.OPEN gala z%d 9007199254740991", i);
        assert_int_equal(run_unaudited(f, line), HF_OK);
        snprintf(line, sizeof line, "SEATS.RESERVE gala z%d b%d u%d 9007199254740991 %lld", i, i, i,
                 (long long)HF_INTEGER_MAX);
        assert_int_equal(run_unaudited(f, line), HF_OK);
    }
    expect_unchanged(f, "SEATS.CLOSE gala FORCE", "0 INVALID_STATE");
    assert_int_equal(f->reply.why_numbers[0], HF_INTEGER_MAX);
    snapshot_and_restore(f);
    for (int i = 0; i < ZONES; i++) {
        snprintf(line, sizeof line, "SEATS.CONFIRM gala b%d", i);
        assert_int_equal(run_unaudited(f, line), HF_OK);
    }
    expect_unchanged(f, "SEATS.CLOSE gala", "0 INVALID_STATE");
    for (int i = 0; i < ZONES; i++) {
        snprintf(line, sizeof line, "SEATS.REFUND gala b%d", i);
        assert_int_equal(run_unaudited(f, line), HF_OK);
    }
    expect(f, "SEATS.CLOSE gala", "1 0 2050");
}

static void nothing_of_a_closed_event_is_found(void **state)
{
    struct fixture *f = gala(state);

    run(f, "SEATS.RELEASE gala r");
    run(f, "ROOM.JOIN gala ann");
    run(f, "SEATS.CLOSE gala FORCE");
    expect(f, "SEATS.ZONE gala floor", "0 ZONE_NOT_FOUND");
    expect(f, "SEATS.RESERVE gala floor n ann 1 9", "0 ZONE_NOT_FOUND");
    expect(f, "SEATS.GET gala c", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.CONFIRM gala c", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.RELEASE gala x", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.EXTEND gala r 1m", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.USER gala ann", "0 0");
    expect(f, "ROOM.POSITION gala ann", "1 1");
}

/* While the old one is still there to be freed, another of the same name has nothing of it. */
static void an_event_of_the_same_name_is_another(void **state)
{
    struct fixture *f = gala(state);

    run(f, "SEATS.RELEASE gala r");
    close_gala(f);
    assert_int_equal(f->core->leaving_total, 1);
    assert_int_equal(run_unaudited(f, "SEATS.OPEN gala floor 5"), HF_OK);
    assert_int_equal(run_unaudited(f, "SEATS.RESERVE gala floor c ann 5 5 TTL 10ms"), HF_OK);
    assert_int_equal(run_unaudited(f, "SEATS.ZONE gala stage"), HF_ZONE_NOT_FOUND);
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
    assert_int_equal(f->core->leaving_total, 0);
    expect(f, "SEATS.USER gala ann", "5 0");
    expect(f, "SEATS.GET gala x", "0 RESERVATION_NOT_FOUND");
}

/* Stepped through one record at a time, everything is gone in the end. */
static void a_closed_event_leaves_no_trace(void **state)
{
    struct fixture *f = gala(state);

    run(f, "SEATS.RELEASE gala r");
    close_gala(f);
    assert_int_equal(core_next_due(f->core), core_now(f->core));
    while (!core_step(f->core, core_now(f->core), 1)) {}
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        assert_int_equal(f->core->stores[kind].slab.count, 0);
        assert_int_equal(f->core->stores[kind].table.count, 0);
        assert_int_equal(f->core->stores[kind].armed, 0);
        assert_int_equal(f->core->stores[kind].closed_count, 0);
    }
    assert_int_equal(f->core->sales.count, 0);
    assert_int_equal(f->core->lapsed, 0);
}

static void deadlines_of_a_closed_event_never_fire(void **state)
{
    struct fixture *f = gala(state);
    struct hf_info info;
    struct event event;

    run(f, "SEATS.RELEASE gala r");
    core_collect_events(f->core, true);
    close_gala(f);
    run_unaudited(f, "SEATS.OPEN fair floor 5");
    run_unaudited(f, "SEATS.RESERVE fair floor b ann 1 5 TTL 24h");
    core_info(f->core, &info);
    assert_int_equal(info.holds, 1);
    at(f, 1000 + 2 * RETRY_WINDOW_MS);
    expect(f, "SEATS.USER gala ann", "0 0");
    assert_false(core_next_event(f->core, &event));
    core_info(f->core, &info);
    assert_int_equal(info.holds, 1);
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
}

enum { MANY = 30000 };

static void sell(struct fixture *f, const char *event, int count)
{
    char line[200];

    snprintf(line, sizeof line, "SEATS.OPEN %s floor %d", event, count);
    assert_int_equal(run_unaudited(f, line), HF_OK);
    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof line, "SEATS.RESERVE %s floor booking-number-%d user-%d 1 9", event,
                 i, i);
        assert_int_equal(run_unaudited(f, line), HF_OK);
        snprintf(line, sizeof line, "SEATS.CONFIRM %s booking-number-%d PAYMENT payment-no-%d",
                 event, i, i);
        assert_int_equal(run_unaudited(f, line), HF_OK);
    }
}

/* Each step frees no more than its budget, others are served in between, and at the end all the
 * memory is back: the next event needs no more than the first. */
static void a_large_event_is_freed_in_bounded_steps(void **state)
{
    struct fixture *f = *state;
    size_t first_full = 0, first_empty = 0;

    at(f, 1000);
    for (int round = 0; round < 3; round++) {
        sell(f, "gala", MANY);
        size_t full = f->memory.used;
        assert_true(round == 0 || full <= first_full * 11 / 10);
        close_gala(f);
        assert_int_equal(f->reply.values[0].number, MANY);
        const struct slab *bookings = &f->core->stores[CORE_BOOKINGS].slab;
        bool done = false;
        for (int steps = 0; !done; steps++) {
            uint32_t before = bookings->count;
            done = core_step(f->core, core_now(f->core), 100);
            assert_true(before - bookings->count <= 100);
            assert_true(steps < 4 * MANY / 100);
            if (steps == 5) {
                assert_int_equal(run_unaudited(f, "SEATS.GET gala booking-number-7"),
                                 HF_RESERVATION_NOT_FOUND);
            }
        }
        size_t empty = f->memory.used;
        assert_true(empty < full / 20);
        assert_true(round == 0 || empty == first_empty);
        first_full = round == 0 ? full : first_full;
        first_empty = empty;
    }
}

/* Events that are closed while others are being freed, at every moment of that. */
static void events_may_be_closed_while_others_are_freed(void **state)
{
    struct fixture *f = *state;
    char line[100];

    at(f, 1000);
    for (int i = 0; i < 60; i++) {
        snprintf(line, sizeof line, "gala%d", i);
        sell(f, line, 20 + i % 7);
    }
    for (int i = 0; i < 60; i++) {
        snprintf(line, sizeof line, "SEATS.CLOSE gala%d FORCE", i);
        assert_int_equal(run_unaudited(f, line), HF_OK);
        core_step(f->core, core_now(f->core), 1 + i * 31 % 150);
        if (i % 20 == 19) {
            sell(f, "gala0", 30);
            assert_int_equal(core_audit(f->core, NULL, NULL), 0);
            assert_int_equal(run_unaudited(f, "SEATS.CLOSE gala0 FORCE"), HF_OK);
        }
    }
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
    assert_int_equal(f->core->stores[CORE_EVENTS].slab.count, 0);
    assert_int_equal(f->core->stores[CORE_SEAT_USERS].slab.count, 0);
}

/* Under a limit of memory, closing makes room for what comes next. */
static void closing_makes_room_under_a_limit(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    sell(f, "gala", MANY);
    core_limit_memory(f->core, f->memory.used);
    assert_int_equal(run_unaudited(f, "SEATS.OPEN fair floor 5"), HF_BUSY);
    close_gala(f);
    assert_false(core_step(f->core, core_now(f->core), 10));
    while (!core_step(f->core, core_now(f->core), 1000)) {}
    expect(f, "SEATS.OPEN fair floor 5", "1 5 5");
}

/* Commands alone free what is left behind, too: as when a journal is read. */
static void commands_free_what_is_left_behind(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    sell(f, "gala", 1000);
    close_gala(f);
    for (int i = 0; i < 1000 && f->core->leaving_total > 0; i++) {
        run_unaudited(f, "SEATS.USER gala ann");
    }
    assert_int_equal(f->core->leaving_total, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reserved_seats_keep_an_event_open),
        CASE(confirmed_seats_keep_an_event_open_unless_forced),
        CASE(the_seats_of_all_zones_may_be_more_than_a_number_holds),
        CASE(nothing_of_a_closed_event_is_found),
        CASE(an_event_of_the_same_name_is_another),
        CASE(a_closed_event_leaves_no_trace),
        CASE(deadlines_of_a_closed_event_never_fire),
        CASE(a_large_event_is_freed_in_bounded_steps),
        CASE(events_may_be_closed_while_others_are_freed),
        CASE(closing_makes_room_under_a_limit),
        CASE(commands_free_what_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
