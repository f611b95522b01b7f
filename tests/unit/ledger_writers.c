/* SPDX-License-Identifier: Apache-2.0
 *
 * Writers that die: what was in flight of them is listed, in pages, and then they are forgotten.
 * Two ledgers on one file are two servers. */
#include "ledger_fixture.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>

struct listed {
    size_t count, ended;
    int64_t quantity;
    char last[HF_ID_MAX + 1];
    bool sorted;
};

static struct listed listed;

static void note(void *context, const struct ledger_item *item)
{
    char id[HF_ID_MAX + 1];

    (void)context;
    snprintf(id, sizeof id, "%.*s", (int)item->id.size, item->id.data);
    listed.sorted = listed.sorted && strcmp(listed.last, id) < 0;
    memcpy(listed.last, id, sizeof id);
    listed.count++;
    listed.ended += item->ended ? 1 : 0;
    listed.quantity += item->quantity;
    assert_true(item->scope.size == 4 && memcmp(item->scope.data, "lamp", 4) == 0);
    assert_true(item->user.size == 3 && memcmp(item->user.data, "ann", 3) == 0);
    assert_true(item->at_ms > 0);
}

/* All pages; how many there were. */
static int list_stale(struct world *world, int64_t dead_after_ms)
{
    struct ledger_job job = {.task = LEDGER_TASK_STALE, .delta = dead_after_ms, .each = note};
    int pages = 0;

    listed = (struct listed){.sorted = true};
    do {
        assert_int_equal(world_job(world, &job), LEDGER_DONE);
        pages++;
    } while (job.more);
    assert_true(listed.sorted);
    return pages;
}

static void bury(struct world *world)
{
    struct ledger_job job = {.task = LEDGER_TASK_BURY};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
}

static void mark(struct world *world)
{
    struct ledger_job job = {.task = LEDGER_TASK_MARK};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
}

/* A server that is gone, with so many orders of 2 that nobody told the engine of. */
static void die(struct world *world, int orders)
{
    char order[16];

    world_stocked(world, "lamp", 10000);
    for (int i = 0; i < orders; i++) {
        snprintf(order, sizeof order, "o-%05d", i);
        world_sell(world, "lamp", order, "ann", 2);
    }
    world_wait(world);
    world_close(world);
    world_do(world, "UPDATE writers SET seen_at = seen_at - 60000");
}

static void what_was_in_flight_of_the_dead_is_listed_in_pages(void **state)
{
    struct world *world = *state;

    die(world, 1234);
    assert_int_equal(world_open(world), HF_OK);
    assert_int_equal(world_read(world, "lamp").selling, 2468);
    assert_int_equal(list_stale(world, 0), 3);
    assert_int_equal(listed.count, 1234);
    assert_int_equal(listed.quantity, 2468);
    assert_int_equal(listed.ended, 0);
    bury(world);
    assert_int_equal(world_read(world, "lamp").selling, 0);
    assert_int_equal(list_stale(world, 0), 1);
    assert_int_equal(listed.count, 0);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM writers"), 1);
}

static void who_was_seen_is_not_dead(void **state)
{
    struct world *world = *state;

    die(world, 5);
    world_do(world, "UPDATE writers SET seen_at = seen_at + 40000"); /* 20 s ago */
    assert_int_equal(world_open(world), HF_OK);
    list_stale(world, 0);
    assert_int_equal(listed.count, 0);
    bury(world);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM writers"), 2);
    list_stale(world, 10000);
    assert_int_equal(listed.count, 5);
}

/* Its orders were read when it still lived: to bury it now would lose sight of them. */
static void who_dies_while_bookings_are_read_waits_for_the_next_time(void **state)
{
    struct world *world = *state;
    struct ledger_job bookings = {.task = LEDGER_TASK_STALE, .kind = LEDGER_BOOKING, .each = note};

    die(world, 5);
    world_do(world, "UPDATE writers SET seen_at = seen_at + 60000");
    assert_int_equal(world_open(world), HF_OK);
    list_stale(world, 0);
    assert_int_equal(listed.count, 0);
    world_do(world, "UPDATE writers SET seen_at = seen_at - 60000 WHERE told < batch");
    assert_int_equal(world_job(world, &bookings), LEDGER_DONE);
    bury(world);
    list_stale(world, 0);
    assert_int_equal(listed.count, 5);
}

static void a_return_in_flight_is_listed_as_one(void **state)
{
    struct world *world = *state;
    struct ledger_job end = {
        .task = LEDGER_TASK_END, .scope = hf_text("lamp"), .id = hf_text("o-00001")};

    world_stocked(world, "lamp", 100);
    world_sell(world, "lamp", "o-00000", "ann", 2);
    world_sell(world, "lamp", "o-00001", "ann", 3);
    world_wait(world);
    world_tell_all(world);
    assert_int_equal(world_job(world, &end), LEDGER_DONE);
    mark(world);
    world_close(world);
    world_do(world, "UPDATE writers SET seen_at = seen_at - 60000");
    assert_int_equal(world_open(world), HF_OK);
    list_stale(world, 0);
    assert_int_equal(listed.count, 1);
    assert_int_equal(listed.ended, 1);
    assert_int_equal(listed.quantity, 3);
}

static void who_has_told_everything_leaves_nothing_behind(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    world_buy(world, "lamp", "o-1", "ann", 2);
    world_tell_all(world);
    world_close(world);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM writers"), 0);
}

static void a_mark_says_what_is_told_and_that_the_writer_lives(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 100);
    world_buy(world, "lamp", "o-1", "ann", 2);
    world_do(world, "UPDATE writers SET seen_at = seen_at - 60000");
    world_tell_all(world);
    assert_int_equal(world_ask(world, "SELECT told < batch FROM writers"), 1);
    mark(world);
    assert_int_equal(world_ask(world, "SELECT told = batch FROM writers"), 1);
    list_stale(world, 0);
    assert_int_equal(world_ask(world, "SELECT sum(fenced) FROM writers"), 0);
}

/* Two servers: the second takes the first for dead, which then wakes up. */
static void who_was_taken_for_dead_goes_on_as_another(void **state)
{
    struct world *first = *state;
    struct world *second;
    void *other;

    ledger_world_make(&other);
    second = other;
    second->options.url = first->url;
    world_stocked(first, "lamp", 100);
    world_buy(first, "lamp", "o-1", "ann", 2);
    assert_int_equal(world_open(second), HF_OK);
    world_do(first, "UPDATE writers SET seen_at = seen_at - 60000");
    mark(second);
    list_stale(second, 0);
    assert_int_equal(listed.count, 1);
    assert_int_equal(world_buy(first, "lamp", "o-2", "ann", 2), LEDGER_DONE);
    bury(second);
    assert_int_equal(world_ask(first, "SELECT count(*) FROM writers"), 2);
    assert_int_equal(world_read(second, "lamp").selling, 2); /* of the second order alone */
    world_tell_all(first);
    mark(first);
    assert_int_equal(world_read(second, "lamp").selling, 0);
    assert_int_equal(world_ask(first, "SELECT stock FROM inventory"), 96);
    ledger_world_remove(&other);
}

static void two_servers_sell_no_more_than_there_is(void **state)
{
    struct world *worlds[2] = {*state, NULL};
    void *other;
    char order[16];
    size_t sold = 0;

    ledger_world_make(&other);
    worlds[1] = other;
    worlds[1]->options.url = worlds[0]->url;
    world_stocked(worlds[0], "lamp", 500);
    assert_int_equal(world_open(worlds[1]), HF_OK);
    for (int i = 0; i < 1000; i++) {
        snprintf(order, sizeof order, "o-%d", i / 2);
        world_sell(worlds[i % 2], "lamp", order, "ann", 2); /* each order at both */
    }
    for (int i = 0; i < 2; i++) {
        world_wait(worlds[i]);
        for (size_t k = 0; k < worlds[i]->sold_count; k++) {
            sold += worlds[i]->sold[k].sale.answer == LEDGER_DONE ? 1 : 0;
        }
    }
    assert_int_equal(sold, 250);
    assert_int_equal(world_ask(worlds[0], "SELECT stock FROM inventory"), 0);
    assert_int_equal(world_ask(worlds[0], "SELECT count(*) FROM orders"), 250);
    ledger_world_remove(&other);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, ledger_world_make, ledger_world_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_in_flight_of_the_dead_is_listed_in_pages),
        CASE(who_was_seen_is_not_dead),
        CASE(who_dies_while_bookings_are_read_waits_for_the_next_time),
        CASE(a_return_in_flight_is_listed_as_one),
        CASE(who_has_told_everything_leaves_nothing_behind),
        CASE(a_mark_says_what_is_told_and_that_the_writer_lives),
        CASE(who_was_taken_for_dead_goes_on_as_another),
        CASE(two_servers_sell_no_more_than_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
