/* SPDX-License-Identifier: Apache-2.0
 *
 * LIST: what is there of each kind and nothing that is due, page by page, whatever else comes and
 * goes between two pages, and over a snapshot. */
#include "core_fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* The names of a page, without their totals; the cursor first. */
static const char *names(struct fixture *f, const char *command)
{
    static char text[4096];
    size_t fields = command_table[LIST].field_count, size = 0;

    run(f, command);
    assert_int_equal(f->reply.code, HF_OK);
    for (size_t i = 0; i < f->reply.count; i += i == 0 ? 1 : fields) {
        struct hf_bytes name = reply_bytes(&f->reply, i);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%.*s", i > 0 ? " " : "",
                                 (int)name.size, name.data);
    }
    return text;
}

/* A number of an item of the last page, by its name. */
static int64_t total(const struct fixture *f, size_t item, const char *name)
{
    const struct command_spec *spec = &command_table[LIST];
    size_t i = 0;

    while (strcmp(spec->fields[i].name, name) != 0) {
        i++;
    }
    const struct value *value = &f->reply.values[1 + item * spec->field_count + i];
    assert_int_equal(value->kind, VALUE_NUMBER);
    return value->number;
}

static void an_empty_engine_lists_nothing(void **state)
{
    static const char *const kinds[] = {"events", "zones",    "tenants", "semaphores",
                                        "locks",  "products", "rooms",   "keys"};
    char command[64];

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        snprintf(command, sizeof command, "LIST %s", kinds[i]);
        assert_string_equal(names(*state, command), "");
    }
    expect(*state, "LIST seats", "0 INVALID_ARGUMENT");
}

static void zones_have_their_event_in_front_of_them(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    run(f, "SEATS.OPEN expo hall 5");
    run(f, "SEATS.OPEN gala pit 7");
    run(f, "SEATS.RESERVE gala pit b ann 2 4");
    assert_string_equal(names(f, "LIST events"), " gala expo");
    assert_string_equal(names(f, "LIST zones"), " gala floor gala pit expo hall");
    assert_string_equal(names(f, "LIST zones MATCH gala COUNT 1"), "0.1.2 gala floor");
    assert_string_equal(names(f, "LIST zones AFTER 0.1.2 COUNT 1"), "0.2.2 gala pit");
    assert_string_equal(names(f, "LIST zones AFTER 0.2.2"), " expo hall");
    assert_string_equal(names(f, "LIST zones MATCH e"), " expo hall");
    run(f, "LIST zones MATCH gala");
    assert_int_equal(total(f, 1, "available"), 5);
    run(f, "LIST events MATCH gala");
    assert_int_equal(total(f, 0, "zones"), 2);
    assert_int_equal(total(f, 0, "bookings"), 1);
    run(f, "SEATS.RELEASE gala b");
    run(f, "LIST events MATCH gala");
    assert_int_equal(total(f, 0, "bookings"), 0);
}

static void a_room_is_there_with_settings_with_a_line_or_with_somebody_inside(void **state)
{
    struct fixture *f = *state;

    run(f, "ROOM.OPEN gala INSIDE 5");
    assert_string_equal(names(f, "LIST rooms"), " gala");
    assert_int_equal(total(f, 0, "waiting"), 0);
    assert_int_equal(total(f, 0, "inside"), 0);
    run(f, "ROOM.JOIN gala ann");
    run(f, "ROOM.JOIN gala bob");
    run(f, "ROOM.ADMIT gala 1");
    assert_string_equal(names(f, "LIST rooms"), " gala");
    assert_int_equal(total(f, 0, "waiting"), 1);
    assert_int_equal(total(f, 0, "inside"), 1);
    run(f, "ROOM.OPEN gala");
    run(f, "ROOM.LEAVE gala bob");
    assert_string_equal(names(f, "LIST rooms"), " gala");
    run(f, "ROOM.DONE gala ann");
    assert_string_equal(names(f, "LIST rooms"), "");
}

static void what_is_due_is_not_listed(void **state)
{
    struct fixture *f = *state;
    int64_t start = f->now_ms;

    run(f, "LOCK.TRY seat 10s ID me");
    run(f, "IDEM.BEGIN key print TTL 10s");
    run(f, "ROOM.JOIN gala ann TTL 10s");
    run(f, "QUOTA.LIMIT acme 5");
    run(f, "QUOTA.RESERVE acme 5 HOLD h TTL 10s");
    run(f, "QUOTA.LIMIT acme 0");
    run(f, "SEM.ACQUIRE s me 1 TTL 10s");
    at(f, start + 9999);
    assert_string_equal(names(f, "LIST locks"), " seat");
    assert_string_equal(names(f, "LIST keys"), " key");
    assert_string_equal(names(f, "LIST rooms"), " gala");
    assert_string_equal(names(f, "LIST tenants"), " acme");
    assert_string_equal(names(f, "LIST semaphores"), " s");
    at(f, start + 10000);
    assert_string_equal(names(f, "LIST locks"), "");
    assert_string_equal(names(f, "LIST keys"), "");
    assert_string_equal(names(f, "LIST rooms"), "");
    assert_string_equal(names(f, "LIST tenants"), "");
    assert_string_equal(names(f, "LIST semaphores"), "");
}

static void who_comes_and_goes_moves_nobody(void **state)
{
    struct fixture *f = *state;
    char command[64];

    for (int i = 0; i < 8; i++) {
        snprintf(command, sizeof command, "LOCK.TRY l%d 100 ID me", i);
        run(f, command);
    }
    assert_string_equal(names(f, "LIST locks COUNT 3"), "3.8 l0 l1 l2");
    run(f, "LOCK.UNLOCK l1 me");
    run(f, "LOCK.UNLOCK l4 me");
    run(f, "LOCK.TRY new 100 ID me");  /* at the place of l1 */
    run(f, "LOCK.TRY next 100 ID me"); /* at that of l4 */
    run(f, "LOCK.TRY last 100 ID me"); /* behind the end that the walk began with */
    assert_string_equal(names(f, "LIST locks AFTER 3.8 COUNT 3"), "6.8 l3 next l5");
    assert_string_equal(names(f, "LIST locks AFTER 6.8 COUNT 3"), " l6 l7");
}

static void a_cursor_is_two_places_or_of_zones_three(void **state)
{
    struct fixture *f = *state;

    run(f, "SEATS.OPEN gala floor 10");
    expect(f, "LIST events AFTER x", "0 INVALID_ARGUMENT");
    expect(f, "LIST events AFTER 1", "0 INVALID_ARGUMENT");
    expect(f, "LIST events AFTER 1.", "0 INVALID_ARGUMENT");
    expect(f, "LIST events AFTER -1.2", "0 INVALID_ARGUMENT");
    expect(f, "LIST events AFTER 1.2.3", "0 INVALID_ARGUMENT");
    expect(f, "LIST events AFTER 1.99999999999", "0 INVALID_ARGUMENT");
    expect(f, "LIST zones AFTER 1.2", "0 INVALID_ARGUMENT");
    assert_string_equal(names(f, "LIST events AFTER 5.9"), "");
    assert_string_equal(names(f, "LIST zones AFTER 2147483648.2147483648.2147483648"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        T(an_empty_engine_lists_nothing),
        T(zones_have_their_event_in_front_of_them),
        T(a_room_is_there_with_settings_with_a_line_or_with_somebody_inside),
        T(what_is_due_is_not_listed),
        T(who_comes_and_goes_moves_nobody),
        T(a_cursor_is_two_places_or_of_zones_three),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
