/* SPDX-License-Identifier: Apache-2.0
 *
 * Purchases while the engine fails: certain failures, unknown ones, at each step; the breaker and
 * the trickle; an engine that comes back older, or empty. */
#include "service_fixture.h"

#include <stdio.h>

static int64_t stock(struct sale_world *w)
{
    return sale_sql(w, "SELECT stock FROM inventory");
}

static int64_t orders(struct sale_world *w)
{
    return sale_sql(w, "SELECT count(*) FROM orders WHERE status = 'sold'");
}

static void load(struct sale_world *w)
{
    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o0 ann 1", "1 9 SOLD");
}

/* ---- single failures ------------------------------------------------------------------------- */

static void a_take_that_cannot_be_made_is_no_purchase(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_fail(w, FAULT_DOWN, STOCK_TAKE, 1);
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "0 ENGINE_DOWN");
    assert_int_equal(orders(w), 1);
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "1 8 SOLD");
    assert_int_equal(stock(w), 8);
}

static void a_take_whose_outcome_is_unknown_is_asked_for_again(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_fail(w, FAULT_DONE_UNHEARD, STOCK_TAKE, 1);
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "1 8 SOLD");
    sale_fail(w, FAULT_LOST, STOCK_TAKE, 1);
    sale_expect(w, "STOCK.BUY sneaker o2 ann 1", "1 7 SOLD");
    sale_fail(w, FAULT_LOST, STOCK_TAKE, 2);
    sale_expect(w, "STOCK.BUY sneaker o3 ann 1", "0 TIMEOUT");
    assert_true(w->last.unknown);
    assert_int_equal(orders(w), 3);
    sale_expect(w, "STOCK.BUY sneaker o3 ann 1", "1 6 SOLD");
}

static void what_is_sold_stays_sold_if_the_engine_cannot_be_told(void **state)
{
    static const enum sale_fault faults[] = {FAULT_DOWN, FAULT_LOST, FAULT_DONE_UNHEARD};
    struct sale_world *w = *state;

    load(w);
    for (int i = 0; i < 3; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker s%d ann 1", i);
        sale_fail(w, faults[i], STOCK_SETTLE, 2);
        sale_run(w, words);
        assert_int_equal(w->last.code, HF_OK);
        assert_int_equal(stock(w), 8 - i);
    }
    /* Nothing is sold twice, and nothing is corrected: the orders are in flight. */
    sale_expect(w, "STOCK.BUY sneaker all ann 7", "0 SOLD_OUT");
    sale_expect(w, "STOCK.BUY sneaker rest ann 1", "1 5 SOLD");
    sale_expect(w, "RECONCILE", "1 1 0 0");
    /* The engine is told of them as soon as it answers. */
    while (strcmp(sale_run(w, "STOCK.GET sneaker")->text, "1 5 0 5 10 1 single") != 0) {
        sale_turn(w);
        engine_wait(w->engine, 10);
    }
    sale_expect(w, "RECONCILE", "1 1 0 0");
}

static void a_return_that_the_engine_was_not_told_of_is_put_right(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_fail(w, FAULT_DOWN, STOCK_ADJUST, 1);
    sale_expect(w, "STOCK.RETURN sneaker o0", "1 RETURNED 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 10", "1 0 SOLD");
    assert_int_equal(stock(w), 0);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 1);
}

/* The take ran out, or was given back, between the two. */
static void a_take_that_is_gone_is_taken_again(void **state)
{
    struct sale_world *w = *state;
    struct sale_answer answer, give;

    load(w);
    sale_submit(w, "STOCK.BUY sneaker o1 ann 2", &answer);
    assert_false(answer.done);
    sale_submit(w, "STOCK.GIVE sneaker o1", &give);
    sale_wait(w, &answer, 1);
    assert_string_equal(answer.text, "1 7 SOLD");
    sale_expect(w, "STOCK.GET sneaker", "1 7 0 3 10 1 single");
}

/* ---- the breaker ----------------------------------------------------------------------------- */

static void fail_often(struct sale_world *w, int count)
{
    sale_fail(w, FAULT_DOWN, COMMAND_COUNT, 1000000);
    for (int i = 0; i < count; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker f%d ann 1", i);
        sale_run(w, words);
    }
}

static void behind_an_open_breaker_a_trickle_is_sold(void **state)
{
    struct sale_world *w = *state;
    int sold = 0, busy = 0;

    w->settings.breaker_open_for_ms = 3600 * 1000;
    w->settings.fallback_rate = 20;
    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 1000", "1 1000");
    sale_expect(w, "STOCK.BUY sneaker o0 ann 1", "1 999 SOLD");
    fail_often(w, 2 * BREAKER_CALLS_MIN);
    assert_non_null(strstr(service_status(w->engine), "breaker open"));
    uint64_t commands = w->commands;
    int64_t before = orders(w);
    for (int i = 0; i < 200; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker d%d ann 1", i);
        enum hf_error code = sale_run(w, words)->code;
        sold += code == HF_OK;
        busy += code == HF_BUSY;
    }
    assert_int_equal(w->commands, commands); /* the engine was left alone */
    assert_int_equal(sold + busy, 200);
    assert_true(sold < 150 && busy > 0);
    assert_int_equal(orders(w), before + sold);
    assert_int_equal(stock(w), 1000 - before - sold);
}

static void a_repaired_engine_is_put_right_before_it_sells(void **state)
{
    struct sale_world *w = *state;

    w->settings.breaker_open_for_ms = 10;
    load(w);
    fail_often(w, 3 * BREAKER_CALLS_MIN);
    assert_true(orders(w) > 1); /* the trickle */
    sale_fail(w, FAULT_NONE, COMMAND_COUNT, 0);
    const struct breaker *breaker = &service_self(w->engine)->breaker;
    for (int i = 0; breaker->state != BREAKER_CLOSED; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker r%d ann 1", i);
        sale_run(w, words);
    }
    for (int i = 0; sale_run(w, "STOCK.GET sneaker")->text[2] != '0'; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker x%d ann 1", i);
        sale_run(w, words);
    }
    assert_int_equal(orders(w), 10);
    sale_expect(w, "RECONCILE", "1 1 0 0");
    assert_true(sale_sql(w, "SELECT count(*) FROM drift") > 0);
    /* The engine knows nothing of those that went past it; they are sold all the same. */
    int again = 0;
    for (int i = 0; i < 3 * BREAKER_CALLS_MIN; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker f%d ann 1", i);
        again += sale_run(w, words)->code == HF_OK;
    }
    assert_int_equal(again, sale_sql(w, "SELECT count(*) FROM orders WHERE order_id LIKE 'f%'"));
    assert_int_equal(orders(w), 10);
}

/* ---- rollback and rebuild -------------------------------------------------------------------- */

static void in_a_directory(struct sale_world *w)
{
    snprintf(w->engine_url, sizeof w->engine_url, "embedded:%s/data?fsync=no", w->folder);
}

static int buy_many(struct sale_world *w, const char *prefix, int count)
{
    static struct sale_answer answers[300];
    int sold = 0;

    for (int i = 0; i < count; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker %s%d u%d 1", prefix, i, i);
        sale_submit(w, words, &answers[i]);
    }
    sale_wait(w, answers, (size_t)count);
    for (int i = 0; i < count; i++) {
        assert_true(answers[i].code == HF_OK || answers[i].code == HF_SOLD_OUT);
        sold += answers[i].code == HF_OK;
    }
    return sold;
}

/* Sells 60 of 100, puts the engine back to when it had sold 30, lets 200 rush. */
static void an_engine_that_was_rolled_back_sells_nothing_twice(void **state)
{
    struct sale_world *w = *state;

    in_a_directory(w);
    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 100", "1 100");
    assert_int_equal(buy_many(w, "a", 30), 30);
    sale_close(w);
    sale_copy(w, "data", "old");
    sale_open(w, SALE_GUARDED);
    assert_int_equal(buy_many(w, "b", 30), 30);
    sale_close(w);
    sale_copy(w, "old", "data");
    sale_open(w, SALE_GUARDED);
    assert_int_equal(buy_many(w, "c", 200), 40);
    assert_int_equal(orders(w), 100);
    assert_int_equal(stock(w), 0);
    /* Those that the engine has forgotten are still sold. */
    assert_int_equal(buy_many(w, "b", 30), 30);
    assert_int_equal(buy_many(w, "c", 200), 40);
    assert_int_equal(orders(w), 100);
    sale_expect(w, "RECONCILE", "1 1 0 0");
}

static void an_engine_that_comes_up_empty_is_filled(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 100", "1 100");
    assert_int_equal(buy_many(w, "a", 60), 60);
    sale_close(w);
    sale_open(w, SALE_GUARDED); /* in memory: all is gone */
    sale_expect(w, "STOCK.TAKE sneaker t1 ann 5", "1 35");
    sale_expect(w, "STOCK.GIVE sneaker t1", "1 40");
    assert_int_equal(buy_many(w, "b", 200), 40);
    assert_int_equal(orders(w), 100);
    assert_int_equal(buy_many(w, "a", 60), 60);
    assert_int_equal(orders(w), 100);
}

/* The same without a restart of the service: only the engine was away. */
static void an_engine_that_was_away_is_compared_again(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 4", "1 6 SOLD");
    struct service *service = service_self(w->engine);
    w->away = true;
    sale_turn(w);
    /* What became of the engine meanwhile. */
    struct engine *after;
    struct problem problem;
    assert_int_equal(engine_open("embedded:", &(struct engine_options){.log = {.level = LOG_ERROR}},
                                 &after, &problem),
                     HF_OK);
    engine_close(w->inner);
    w->inner = after;
    w->away = false;
    sale_turn(w);
    assert_int_equal(service->era, 2);
    sale_expect(w, "STOCK.BUY sneaker o2 ann 1", "1 5 SOLD");
    assert_int_equal(stock(w), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sale_setup, sale_teardown)
        CASE(a_take_that_cannot_be_made_is_no_purchase),
        CASE(a_take_whose_outcome_is_unknown_is_asked_for_again),
        CASE(what_is_sold_stays_sold_if_the_engine_cannot_be_told),
        CASE(a_return_that_the_engine_was_not_told_of_is_put_right),
        CASE(a_take_that_is_gone_is_taken_again),
        CASE(behind_an_open_breaker_a_trickle_is_sold),
        CASE(a_repaired_engine_is_put_right_before_it_sells),
        CASE(an_engine_that_was_rolled_back_sells_nothing_twice),
        CASE(an_engine_that_comes_up_empty_is_filled),
        CASE(an_engine_that_was_away_is_compared_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
