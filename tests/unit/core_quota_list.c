/* SPDX-License-Identifier: Apache-2.0
 *
 * QUOTA.LIST: the open holds of a tenant, each once, whatever comes and goes during the walk. */
#include "snapshot_fixture.h"

#include <stdio.h>

#define START 1000
#define HOLDS 250

static void hold(struct fixture *f, int number, const char *ttl)
{
    char line[80];

    snprintf(line, sizeof line, "QUOTA.RESERVE acme 1 HOLD h-%d TTL %s", number, ttl);
    expect(f, line, "1 * 1000");
}

/* Walks the list in pages of `count`, and counts how often each hold was there. Between two pages
 * `meanwhile` is run, if there is one. */
static void walk(struct fixture *f, int count, int seen[HOLDS], const char *meanwhile)
{
    char line[300], cursor[HF_CURSOR_SIZE] = "";

    do {
        snprintf(line, sizeof line, "QUOTA.LIST acme COUNT %d%s%s", count, *cursor ? " AFTER " : "",
                 cursor);
        run(f, line);
        size_t items = reply_items(&f->reply, &command_table[QUOTA_LIST]);
        assert_true(items <= (size_t)count);
        for (size_t i = 0; i < items; i++) {
            struct hf_quota_hold item;
            int number;
            reply_item_to_struct(&f->reply, &command_table[QUOTA_LIST], i, &item);
            assert_int_equal(sscanf(item.hold_id, "h-%d", &number), 1);
            assert_in_range(number, 0, HOLDS - 1);
            assert_int_equal(item.amount, 1);
            seen[number]++;
        }
        struct hf_bytes next = reply_bytes(&f->reply, 0);
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.size, next.data);
        if (meanwhile != NULL) {
            run(f, meanwhile);
        }
    } while (*cursor != '\0');
}

static struct fixture *many_holds(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 1000");
    for (int i = 0; i < HOLDS; i++) {
        hold(f, i, "60s");
    }
    return f;
}

static void every_open_hold_comes_once(void **state)
{
    static const int counts[] = {1, 7, 100, HOLDS, 1000};
    struct fixture *f = many_holds(state);

    run(f, "QUOTA.COMMIT acme h-3");
    run(f, "QUOTA.CANCEL acme h-4");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int seen[HOLDS] = {0};
        walk(f, counts[i], seen, NULL);
        for (int number = 0; number < HOLDS; number++) {
            assert_int_equal(seen[number], number != 3 && number != 4);
        }
    }
}

static void what_goes_meanwhile_moves_no_other(void **state)
{
    struct fixture *f = many_holds(state);
    int seen[HOLDS] = {0};

    walk(f, 10, seen, "QUOTA.CANCEL acme h-0");
    for (int number = 1; number < HOLDS; number++) {
        assert_int_equal(seen[number], 1);
    }
}

static void what_is_due_is_not_listed(void **state)
{
    struct fixture *f = many_holds(state);
    int seen[HOLDS] = {0};

    run(f, "QUOTA.EXTEND acme h-7 120s");
    at(f, START + 60000);
    walk(f, 100, seen, NULL);
    for (int number = 0; number < HOLDS; number++) {
        assert_int_equal(seen[number], number == 7);
    }
}

static void an_item_has_the_start_and_the_deadline(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "QUOTA.LIMIT acme 1000");
    hold(f, 1, "10s");
    expect(f, "QUOTA.LIST acme", "end h-1 1 1000 11000");
    at(f, START + 5000);
    run(f, "QUOTA.EXTEND acme h-1 20s");
    expect(f, "QUOTA.LIST acme", "end h-1 1 1000 26000");
}

static void a_cursor_outlives_a_snapshot(void **state)
{
    struct fixture *f = many_holds(state);

    run(f, "QUOTA.LIST acme COUNT 249");
    char line[300];
    struct hf_bytes cursor = reply_bytes(&f->reply, 0);
    snprintf(line, sizeof line, "QUOTA.LIST acme AFTER %.*s", (int)cursor.size, cursor.data);
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    assert_non_null(core);
    core_destroy(f->core);
    f->core = core;
    expect(f, line, "end h-249 1 1000 61000");
    buffer_free(&bytes);
}

static void what_is_no_cursor_is_refused(void **state)
{
    struct fixture *f = many_holds(state);

    expect_unchanged(f, "QUOTA.LIST acme AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "QUOTA.LIST acme AFTER :h-1", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "QUOTA.LIST nobody AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "QUOTA.LIST nobody", "end");
    expect_unchanged(f, "QUOTA.LIST acme COUNT 1001", "0 INVALID_QUANTITY");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(every_open_hold_comes_once),   CASE(what_goes_meanwhile_moves_no_other),
        CASE(what_is_due_is_not_listed),    CASE(an_item_has_the_start_and_the_deadline),
        CASE(a_cursor_outlives_a_snapshot), CASE(what_is_no_cursor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
