/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit bites: a counter, an index, a place or a timer that is damaged is found and named. */
#include "core_fixture.h"

#include "core/state.h"

#include <stdio.h>

struct findings {
    size_t count;
    char text[2000]; /* all of them, one a line */
};

static void note(void *context, const char *finding)
{
    struct findings *findings = context;
    size_t used = strlen(findings->text);

    findings->count++;
    snprintf(findings->text + used, sizeof findings->text - used, "%s\n", finding);
}

/* Exactly these findings, each on a line of its own. */
static void expect_findings(struct fixture *f, const char *text)
{
    struct findings findings = {.count = 0};

    uint64_t count = core_audit(f->core, note, &findings);
    assert_int_equal(count, findings.count);
    assert_string_equal(findings.text, text);
}

/* A number is one too many, which is found as `text`, then put right again. */
#define EXPECT_BITE(f, number, text)                                                               \
    do {                                                                                           \
        (number)++;                                                                                \
        expect_findings(f, text "\n");                                                             \
        (number)--;                                                                                \
        expect_findings(f, "");                                                                    \
    } while (0)

static void *record(struct fixture *f, enum kind kind, const char *scope, const char *id)
{
    enum kind parent = kinds[kind].parent;
    uint32_t in = parent == CORE_NO_KIND ? 0 : core_find(f->core, parent, 0, hf_text(scope));
    uint32_t index = core_find(f->core, kind, in, hf_text(id));

    assert_int_not_equal(index, NONE);
    return core_at(f->core, kind, index);
}

static void an_untouched_state_is_clean(void **state)
{
    struct fixture *f = *state;

    expect_findings(f, "");
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 4");
    expect_findings(f, "");
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
}

static void an_event_that_does_not_add_up_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 4");
    run(f, "SEATS.RESERVE gala floor b2 ann 1 4");
    run(f, "SEATS.CONFIRM gala b2");
    struct seat_event *event = record(f, CORE_EVENTS, "", "gala");
    EXPECT_BITE(f, event->reserved.rest, "event gala: reserved is 3, the records say 2");
    EXPECT_BITE(f, event->confirmed.rest, "event gala: confirmed is 2, the records say 1");
    EXPECT_BITE(f, event->reserved.whole,
                "event gala: reserved by the whole is 1, the records say 0");
    EXPECT_BITE(f, event->confirmed.whole,
                "event gala: confirmed by the whole is 1, the records say 0");
}

static void a_zone_that_does_not_add_up_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 4");
    run(f, "SEATS.RESERVE gala floor b2 ann 1 4");
    run(f, "SEATS.CONFIRM gala b2");
    struct zone *zone = record(f, CORE_ZONES, "gala", "floor");
    EXPECT_BITE(f, zone->reserved, "zone floor of gala: reserved is 3, the records say 2");
    EXPECT_BITE(f, zone->confirmed, "zone floor of gala: confirmed is 2, the records say 1");
    zone->capacity = 1;
    expect_findings(f, "zone floor of gala: oversold is 2, the records say 0\n");
}

static void a_user_who_does_not_add_up_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 9");
    run(f, "SEATS.RESERVE gala floor b2 ann 3 9 LIFETIME");
    run(f, "SEATS.CONFIRM gala b2");
    struct seat_user *user = record(f, CORE_SEAT_USERS, "gala", "ann");
    EXPECT_BITE(f, user->held, "user ann of gala: held is 3, the records say 2");
    EXPECT_BITE(f, user->confirmed, "user ann of gala: confirmed is 4, the records say 3");
    EXPECT_BITE(f, user->lifetime, "user ann of gala: lifetime is 4, the records say 3");
    EXPECT_BITE(f, user->bookings, "user ann of gala: bookings is 3, the records say 2");
}

static void shows_and_lapsed_bookings_are_counted(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 9 SHOW matinee");
    run(f, "SEATS.RESERVE gala floor b2 ann 2 9 TTL 10ms");
    at(f, 1010);
    run(f, "SEATS.USER gala ann");
    struct show *show = record(f, CORE_SHOWS, "gala", "matinee");
    EXPECT_BITE(f, show->bookings, "show matinee of gala: bookings is 2, the records say 1");
    EXPECT_BITE(f, f->core->lapsed,
                "all of kind booking: number in their grace is 2, the records say 1");
}

static void a_booking_in_a_zone_of_another_event_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.OPEN ball floor 10");
    run(f, "SEATS.RESERVE gala floor b1 ann 2 9");
    struct booking *booking = record(f, CORE_BOOKINGS, "gala", "b1");
    uint32_t zone = booking->zone;
    booking->zone = core_find(
        f->core, CORE_ZONES, core_find(f->core, CORE_EVENTS, 0, hf_text("ball")), hf_text("floor"));
    expect_findings(f, "booking b1 of gala: event of its zone is 1, the records say 0\n"
                       "zone floor of gala: reserved is 2, the records say 0\n"
                       "zone floor of ball: reserved is 0, the records say 2\n");
    booking->zone = zone;
}

static void a_tenant_that_does_not_add_up_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "QUOTA.LIMIT acme 100");
    run(f, "QUOTA.RESERVE acme 10 HOLD h1");
    run(f, "QUOTA.RESERVE acme 5 HOLD h2");
    run(f, "QUOTA.COMMIT acme h2");
    struct tenant *tenant = record(f, CORE_TENANTS, "", "acme");
    EXPECT_BITE(f, tenant->held, "tenant acme: held is 11, the records say 10");
    EXPECT_BITE(f, tenant->holds, "tenant acme: holds is 3, the records say 2");
    tenant->committed = -1;
    expect_findings(f, "tenant acme: used below 0 is 1, the records say 0\n");
}

static void a_product_that_does_not_add_up_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    run(f, "STOCK.TAKE shoe o2 ann 3");
    run(f, "STOCK.SETTLE shoe o2");
    struct core_product *product = record(f, CORE_PRODUCTS, "", "shoe");
    EXPECT_BITE(f, product->taken, "product shoe: taken is 5, the records say 4");
    product->sold += 4;
    expect_findings(f, "product shoe: oversold is 1, the records say 0\n");
}

static void a_semaphore_that_does_not_add_up_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE gpu a 1");
    run(f, "SEM.ACQUIRE gpu b 1 WAIT 1000");
    struct semaphore *semaphore = record(f, CORE_SEMAPHORES, "", "gpu");
    struct sem_client *holder = record(f, CORE_SEM_CLIENTS, "gpu", "a");
    EXPECT_BITE(f, semaphore->in_use, "semaphore gpu: in use is 2, the records say 1");
    EXPECT_BITE(f, f->core->holders,
                "all of kind semaphore client: number of holders is 2, the records say 1");
    EXPECT_BITE(f, f->core->in_line,
                "all of kind semaphore client: number in line is 2, the records say 1");
    EXPECT_BITE(f, f->core->waiting_calls,
                "all of kind semaphore client: number of waiting calls is 2, the records say 1");
    EXPECT_BITE(f, holder->fence,
                "semaphore client a of gpu: fence past the last is 1, the records say 0");
    semaphore->line.count++;
    expect_findings(f, "semaphore client b of gpu: position is 2, the records say 1\n"
                       "semaphore gpu: line is 2, the records say 1\n");
    semaphore->line.count--;
    semaphore->line.weight++;
    expect_findings(f,
                    "semaphore gpu: slots waited for is 2, the records say 1\n"
                    "semaphore client b of gpu: slots up to its place is 2, the records say 1\n");
    semaphore->line.weight--;
    EXPECT_BITE(f, holder->slots, "semaphore gpu: in use is 1, the records say 2");
}

static void a_place_in_line_that_is_wrong_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    struct room_entry *entry = record(f, CORE_ROOM_ENTRIES, "gala", "bob");
    struct room *room = record(f, CORE_ROOMS, "", "gala");
    EXPECT_BITE(f, entry->place, "queue entry bob of gala: place is 2, the records say 1");
    EXPECT_BITE(f, room->line.count,
                "room gala: in line is 3, the records say 2\n"
                "queue entry bob of gala: position is 3, the records say 2\n"
                "room gala: line is 3, the records say 2");
}

/* The line must hold those who wait, and nobody else. */
static void a_holder_who_stands_in_line_is_found(void **state)
{
    struct fixture *f = *state;

    run(f, "SEM.ACQUIRE gpu a 1");
    run(f, "SEM.QUEUE gpu b 1 1");
    struct semaphore *semaphore = record(f, CORE_SEMAPHORES, "", "gpu");
    struct sem_client *holder = record(f, CORE_SEM_CLIENTS, "gpu", "a");
    const struct sem_client *waiter = record(f, CORE_SEM_CLIENTS, "gpu", "b");
    uint32_t *slot = &semaphore->line.parts[0]->records[waiter->place], stood = *slot;
    *slot = core_find(f->core, CORE_SEM_CLIENTS, holder->record.scope, hf_text("a"));
    holder->place = waiter->place;
    struct findings findings = {.count = 0};
    core_audit(f->core, note, &findings);
    *slot = stood;
    assert_non_null(strstr(findings.text, " of gpu: "));
}

static void a_room_that_does_not_add_up_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    run(f, "ROOM.ADMIT gala 1");
    struct room *room = record(f, CORE_ROOMS, "", "gala");
    EXPECT_BITE(f, room->passes, "room gala: passes is 2, the records say 1");
    room->line.count++;
    expect_findings(f, "room gala: in line is 2, the records say 1\n"
                       "queue entry bob of gala: position is 2, the records say 1\n"
                       "room gala: line is 2, the records say 1\n");
    room->line.count--;
    run(f, "ROOM.OPEN gala RATE 2");
    EXPECT_BITE(f, room->allowance, "room gala: allowance beyond its rate is 1, the records say 0");
    EXPECT_BITE(f, room->allowance_ms,
                "room gala: allowance of a time to come is 1, the records say 0");
}

/* ---- timers and indexes ---------------------------------------------------------------------- */

static void a_slot_with_another_deadline_than_its_terms_say_is_named(void **state)
{
    struct fixture *f = *state;

    at(f, 1000000);
    run(f, "SEM.ACQUIRE gpu a 1");
    uint32_t gpu = core_find(f->core, CORE_SEMAPHORES, 0, hf_text("gpu"));
    uint32_t index = core_find(f->core, CORE_SEM_CLIENTS, gpu, hf_text("a"));
    core_arm(f->core, CORE_SEM_CLIENTS, index, 1180001);
    expect_findings(f, "semaphore client a of gpu: deadline is 1180001, the records say 1180000\n");
    core_arm(f->core, CORE_SEM_CLIENTS, index, 1180000);
}

static void a_hold_without_its_timer_is_named(void **state)
{
    static const struct {
        const char *command, *scope, *id, *finding;
        enum kind kind;
    } cases[] = {
        {"LOCK.TRY seat-1 10 ID k1", "", "seat-1", "lock seat-1", CORE_LOCKS},
        {"IDEM.BEGIN k1 f1", "", "k1", "idempotency key k1", CORE_IDEM_KEYS},
        {"ROOM.JOIN gala ann", "gala", "ann", "queue entry ann of gala", CORE_ROOM_ENTRIES},
        {"QUOTA.RESERVE acme 1 HOLD h1", "acme", "h1", "quota hold h1 of acme", CORE_QUOTA_HOLDS},
    };
    struct fixture *f = *state;

    run(f, "QUOTA.LIMIT acme 10");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[200];
        run(f, cases[i].command);
        struct record *held = record(f, cases[i].kind, cases[i].scope, cases[i].id);
        uint32_t in = held->scope;
        uint32_t index = core_find(f->core, cases[i].kind, in, hf_text(cases[i].id));
        int64_t deadline_ms = record_deadline_ms(held);
        store_disarm(&f->core->stores[cases[i].kind], index);
        snprintf(expected, sizeof expected, "%s: timer is 0, the records say 1\n",
                 cases[i].finding);
        expect_findings(f, expected);
        core_arm(f->core, cases[i].kind, index, deadline_ms);
        expect_findings(f, "");
    }
}

static void a_deadline_that_has_passed_is_named(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "LOCK.TRY seat-1 10 ID k1");
    struct lock *lock = record(f, CORE_LOCKS, "", "seat-1");
    lock->timer.deadline_ms = 1000;
    expect_findings(f, "lock seat-1: overdue is 1, the records say 0\n");
    lock->timer.deadline_ms = 11000;
}

static void counts_of_timers_names_and_closed_records_are_checked(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 4");
    run(f, "STOCK.TAKE shoe o2 ann 3");
    run(f, "STOCK.GIVE shoe o2");
    struct store *orders = &f->core->stores[CORE_ORDERS];
    EXPECT_BITE(f, orders->armed, "all of kind order: number of timers is 2, the records say 1");
    EXPECT_BITE(f, orders->table.count,
                "all of kind order: number of names in the index is 3, the records say 2");
    EXPECT_BITE(f, orders->closed_count,
                "all of kind order: number of closed records is 2, the records say 1");
}

static void a_record_that_is_not_found_under_its_name_is_named(void **state)
{
    struct fixture *f = *state;

    run(f, "LOCK.TRY seat-1 10 ID k1");
    struct lock *lock = record(f, CORE_LOCKS, "", "seat-1");
    uint64_t word = lock->record.name_words[0];
    memcpy(lock->record.name_words, "seat-9", 6);
    expect_findings(f, "lock seat-9: found under its name is 0, the records say 1\n");
    lock->record.name_words[0] = word;
}

static void every_finding_is_counted_and_reported(void **state)
{
    struct fixture *f = *state;

    run(f, "STOCK.LOAD shoe 10");
    run(f, "QUOTA.LIMIT acme 10");
    ((struct core_product *)record(f, CORE_PRODUCTS, "", "shoe"))->taken = 3;
    ((struct tenant *)record(f, CORE_TENANTS, "", "acme"))->held = 4;
    assert_int_equal(core_audit(f->core, NULL, NULL), 2);
    expect_findings(f, "tenant acme: held is 4, the records say 0\n"
                       "product shoe: taken is 3, the records say 0\n");
}

static void *refuse(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)memory;
    (void)block;
    (void)old_size;
    (void)new_size;
    return NULL;
}

static void without_memory_nothing_is_called_clean(void **state)
{
    struct fixture *f = *state;
    struct memory usual = f->memory;

    f->memory.resize = refuse;
    uint64_t findings = core_audit(f->core, NULL, NULL);
    f->memory.resize = usual.resize;
    assert_true(findings == UINT64_MAX);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(an_untouched_state_is_clean),
        CASE(an_event_that_does_not_add_up_is_named),
        CASE(a_zone_that_does_not_add_up_is_named),
        CASE(a_user_who_does_not_add_up_is_named),
        CASE(shows_and_lapsed_bookings_are_counted),
        CASE(a_booking_in_a_zone_of_another_event_is_named),
        CASE(a_tenant_that_does_not_add_up_is_named),
        CASE(a_product_that_does_not_add_up_is_named),
        CASE(a_semaphore_that_does_not_add_up_is_named),
        CASE(a_place_in_line_that_is_wrong_is_named),
        CASE(a_holder_who_stands_in_line_is_found),
        CASE(a_room_that_does_not_add_up_is_named),
        CASE(a_slot_with_another_deadline_than_its_terms_say_is_named),
        CASE(a_hold_without_its_timer_is_named),
        CASE(a_deadline_that_has_passed_is_named),
        CASE(counts_of_timers_names_and_closed_records_are_checked),
        CASE(a_record_that_is_not_found_under_its_name_is_named),
        CASE(every_finding_is_counted_and_reported),
        CASE(without_memory_nothing_is_called_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
