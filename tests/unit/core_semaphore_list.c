/* SPDX-License-Identifier: Apache-2.0
 *
 * SEM.LIST: holders and waiters of a semaphore, each once, also if a waiter becomes a holder in the
 * middle of a walk. */
#include "core_fixture.h"

#include <stdio.h>

#define START INT64_C(1000000)

static struct fixture *two_hold_two_wait(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "SEM.ACQUIRE pool a 3 SLOTS 2 HEARTBEAT 50s");
    run(f, "SEM.ACQUIRE pool b 3 HEARTBEAT 50s TTL 40s");
    run(f, "SEM.ACQUIRE pool c 3 SLOTS 3 WAIT 30s");
    run(f, "SEM.QUEUE pool d 20s 60s");
    return f;
}

static void holders_and_waiters_are_told_apart(void **state)
{
    struct fixture *f = two_hold_two_wait(state);

    at(f, START + 1000);
    run(f, "SEM.LIST pool");
    assert_int_equal(reply_items(&f->reply, &command_table[SEM_LIST]), 4);
    struct hf_sem_client item;
    reply_item_to_struct(&f->reply, &command_table[SEM_LIST], 1, &item);
    assert_string_equal(item.id, "b");
    assert_string_equal(item.state, "holding");
    assert_int_equal(item.fence, 2);
    assert_int_equal(item.age_ms, 1000);
    assert_int_equal(item.expires_in_ms, 39000);
    reply_item_to_struct(&f->reply, &command_table[SEM_LIST], 2, &item);
    assert_string_equal(item.state, "waiting");
    assert_int_equal(item.slots, 3);
    assert_int_equal(item.position, 1);
    assert_int_equal(item.expires_in_ms, 29000);
}

static void a_waiter_that_is_granted_during_a_walk_comes_once(void **state)
{
    struct fixture *f = two_hold_two_wait(state);
    char line[300], cursor[HF_CURSOR_SIZE] = "";
    int seen[4] = {0};

    do {
        snprintf(line, sizeof line, "SEM.LIST pool COUNT 1%s%s", *cursor ? " AFTER " : "", cursor);
        run(f, line);
        for (size_t i = 0; i < reply_items(&f->reply, &command_table[SEM_LIST]); i++) {
            struct hf_sem_client item;
            reply_item_to_struct(&f->reply, &command_table[SEM_LIST], i, &item);
            seen[item.id[0] - 'a']++;
        }
        struct hf_bytes next = reply_bytes(&f->reply, 0);
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.size, next.data);
        run(f, "SEM.WAKE pool 9 60 60");
    } while (*cursor != '\0');
    for (int i = 0; i < 4; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static void what_is_no_cursor_is_refused(void **state)
{
    struct fixture *f = two_hold_two_wait(state);

    expect_unchanged(f, "SEM.LIST pool AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "SEM.LIST nobody AFTER !", "0 INVALID_ARGUMENT");
    expect_unchanged(f, "SEM.LIST nobody", "end");
    expect_unchanged(f, "SEM.LIST pool COUNT 1001", "0 INVALID_QUANTITY");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        CASE(holders_and_waiters_are_told_apart),
        CASE(a_waiter_that_is_granted_during_a_walk_comes_once),
        CASE(what_is_no_cursor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
