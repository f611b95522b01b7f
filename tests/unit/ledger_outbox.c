/* SPDX-License-Identifier: Apache-2.0
 *
 * The outbox: notices that are written with the change they tell of or not at all, read when they
 * are due, settled, made pending again and removed. */
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

#define HOUR_MS ((int64_t)3600 * 1000)
#define PAGE 128

static struct ledger_event events[PAGE];

static struct ledger_outbox due(struct world *world, int64_t ahead_ms)
{
    struct ledger_outbox outbox = {.events = events, .max = PAGE, .ahead_ms = ahead_ms};
    struct ledger_job job = {.task = LEDGER_TASK_DUE, .outbox = &outbox};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    return outbox;
}

static void settle(struct world *world, int64_t id, enum ledger_event_state state, int64_t due_ms)
{
    struct ledger_settled settled = {.id = id, .state = state, .attempts = 1, .due_ms = due_ms};
    struct ledger_outbox outbox = {.settled = &settled, .settled_count = 1};
    struct ledger_job job = {.task = LEDGER_TASK_SETTLE, .outbox = &outbox};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
}

static struct ledger_outbox replay(struct world *world, struct ledger_outbox outbox)
{
    struct ledger_job job = {.task = LEDGER_TASK_REPLAY, .outbox = &outbox};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    return outbox;
}

static void sell(struct world *world, const char *order, int64_t quantity)
{
    struct sold *sold = world_sale(world, "lamp", order, "ann", quantity);

    sold->sale.notice = "order.sold";
    world_submit(world, sold);
    world_wait(world);
}

static void note(struct world *world, const char *id, const char *data)
{
    struct ledger_job job = {.task = LEDGER_TASK_NOTE,
                             .notice = {.type = "saga.needs_attention",
                                        .scope = hf_text("gala"),
                                        .id = hf_text(id),
                                        .data = hf_text(data)}};

    assert_int_equal(world_job(world, &job), LEDGER_DONE);
}

static void a_sale_is_told_and_a_refused_one_is_not(void **state)
{
    struct world *world = *state;

    world_stocked(world, "lamp", 5);
    sell(world, "o-1", 3);
    sell(world, "o-2", 3);
    sell(world, "o-1", 3);
    world_buy(world, "lamp", "o-3", "ann", 1);
    assert_int_equal(due(world, 0).count, 1);
    assert_string_equal(events[0].type, "order.sold");
    assert_string_equal(events[0].scope, "lamp");
    assert_string_equal(events[0].subject, "o-1");
    assert_int_equal(events[0].behind_ms, -1);
    events[0].data[events[0].data_size] = '\0';
    assert_string_equal(events[0].data, "{\"order_id\":\"o-1\",\"product_id\":\"lamp\","
                                        "\"user_id\":\"ann\",\"quantity\":3,\"unit_price\":100,"
                                        "\"status\":\"sold\"}");
}

static void many_sales_of_a_batch_are_all_told(void **state)
{
    struct world *world = *state;
    char order[16];

    world_stocked(world, "lamp", 1000);
    for (int i = 0; i < 100; i++) {
        snprintf(order, sizeof order, "o-%d", i);
        struct sold *sold = world_sale(world, "lamp", order, "ann", 1);
        sold->sale.notice = "order.sold";
        world_submit(world, sold);
    }
    world_wait(world);
    assert_int_equal(due(world, 0).count, 100);
    assert_int_equal(due(world, 0).pending, 100);
    assert_int_equal(world_ask(world, "SELECT count(DISTINCT subject_id) FROM outbox"), 100);
}

static void a_return_is_told_behind_its_sale(void **state)
{
    struct world *world = *state;
    struct ledger_job job = {.task = LEDGER_TASK_END,
                             .kind = LEDGER_ORDER,
                             .scope = hf_text("lamp"),
                             .id = hf_text("o-1"),
                             .notice = {.type = "order.returned"}};

    world_stocked(world, "lamp", 5);
    sell(world, "o-1", 2);
    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    assert_int_equal(world_job(world, &job), LEDGER_ENDED_BEFORE);
    assert_int_equal(due(world, 0).count, 2);
    assert_string_equal(events[1].type, "order.returned");
    assert_int_equal(events[1].behind_ms, 0);
    events[1].data[events[1].data_size] = '\0';
    assert_non_null(strstr(events[1].data, "\"status\":\"returned\""));
    assert_non_null(strstr(events[1].data, "\"quantity\":2"));
    settle(world, events[0].id, LEDGER_EVENT_DELIVERED, 0);
    assert_int_equal(due(world, 0).count, 1);
    assert_string_equal(events[0].type, "order.returned");
    assert_int_equal(events[0].behind_ms, -1);
}

static void one_that_failed_is_due_again_later(void **state)
{
    struct world *world = *state;

    assert_int_equal(world_open(world), HF_OK);
    note(world, "b-1", "{\"n\":1}");
    note(world, "b-1", "{\"n\":2}");
    assert_int_equal(due(world, 0).count, 2);
    settle(world, events[0].id, LEDGER_EVENT_PENDING, HOUR_MS);
    assert_int_equal(due(world, 0).count, 1);
    assert_memory_equal(events[0].data, "{\"n\":2}", 7);
    assert_true(events[0].behind_ms > HOUR_MS / 2);
    assert_int_equal(due(world, 0).pending, 2);
    assert_int_equal(due(world, 2 * HOUR_MS).count, 2);
    assert_int_equal(events[0].behind_ms, 0);
    assert_true(events[1].age_ms >= 2 * HOUR_MS);
}

static void texts_are_kept_as_they_are(void **state)
{
    struct world *world = *state;
    struct memory memory;
    struct buffer out;
    struct ledger_noticed noticed = {.scope = hf_text("a\"b\\c"),
                                     .id = hf_text("\xc3\xa9"),
                                     .quantity = 1,
                                     .status = "reserved"};

    memory_init(&memory);
    buffer_init(&out, &memory);
    ledger_notice_write(&out, &noticed);
    buffer_byte(&out, '\0');
    assert_string_equal(out.data, "{\"booking_id\":\"\xc3\xa9\",\"event_id\":\"a\\\"b\\\\c\","
                                  "\"quantity\":1,\"unit_price\":0,\"status\":\"reserved\"}");
    assert_int_equal(world_open(world), HF_OK);
    note(world, "b-1", out.data);
    assert_int_equal(due(world, 0).count, 1);
    assert_memory_equal(events[0].data, out.data, out.size - 1);
    assert_int_equal(events[0].data_size, out.size - 1);
    buffer_free(&out);
}

static void what_has_ended_is_made_pending_again(void **state)
{
    struct world *world = *state;

    assert_int_equal(world_open(world), HF_OK);
    for (int i = 0; i < 3; i++) {
        note(world, i == 2 ? "b-2" : "b-1", "{}");
    }
    assert_int_equal(due(world, 0).count, 3);
    settle(world, events[0].id, LEDGER_EVENT_DELIVERED, 0);
    settle(world, events[1].id, LEDGER_EVENT_GIVEN_UP, 0);
    settle(world, events[2].id, LEDGER_EVENT_DELIVERED, 0);
    assert_int_equal(due(world, 0).count, 0);
    assert_int_equal(replay(world, (struct ledger_outbox){.type = hf_text("other")}).changed, 0);
    assert_int_equal(replay(world, (struct ledger_outbox){.since_ms = INT64_MAX / 2}).changed, 0);
    assert_int_equal(replay(world, (struct ledger_outbox){.since_ms = 0}).changed, 1);
    assert_int_equal(due(world, 0).count, 1);
    assert_int_equal(
        replay(world, (struct ledger_outbox){.delivered = true, .subject = hf_text("b-1")}).changed,
        1);
    assert_int_equal(due(world, 0).count, 2);
    assert_int_equal(replay(world, (struct ledger_outbox){.delivered = true}).changed, 1);
    assert_int_equal(due(world, 0).count, 3);
}

static void the_old_are_removed_but_never_what_is_pending(void **state)
{
    struct world *world = *state;
    struct ledger_outbox outbox = {
        .ahead_ms = 10 * HOUR_MS, .keep_delivered_ms = HOUR_MS, .keep_given_up_ms = 20 * HOUR_MS};
    struct ledger_job job = {.task = LEDGER_TASK_SWEEP, .outbox = &outbox};

    assert_int_equal(world_open(world), HF_OK);
    for (int i = 0; i < 3; i++) {
        note(world, "b-1", "{}");
    }
    assert_int_equal(due(world, 0).count, 3);
    settle(world, events[0].id, LEDGER_EVENT_DELIVERED, 0);
    settle(world, events[1].id, LEDGER_EVENT_GIVEN_UP, 0);
    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    assert_int_equal(outbox.changed, 1);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM outbox WHERE state <> 1"), 2);
    outbox.ahead_ms = 100 * HOUR_MS;
    assert_int_equal(world_job(world, &job), LEDGER_DONE);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM outbox WHERE state = 0"), 1);
    assert_int_equal(world_ask(world, "SELECT count(*) FROM outbox"), 1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, ledger_world_make, ledger_world_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_sale_is_told_and_a_refused_one_is_not),
        CASE(many_sales_of_a_batch_are_all_told),
        CASE(a_return_is_told_behind_its_sale),
        CASE(one_that_failed_is_due_again_later),
        CASE(texts_are_kept_as_they_are),
        CASE(what_has_ended_is_made_pending_again),
        CASE(the_old_are_removed_but_never_what_is_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
