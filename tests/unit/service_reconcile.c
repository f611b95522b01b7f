/* SPDX-License-Identifier: Apache-2.0
 *
 * Reconciliation: on demand and by the timer, in the middle of a rush, of what dead servers left,
 * on two servers at once; and that what is in flight is left alone. */
#include "service_fixture.h"

#include <stdio.h>

static int64_t stock(struct sale_world *w)
{
    return sale_sql(w, "SELECT stock FROM inventory WHERE product_id = 'sneaker'");
}

/* Moves the engine alone, past the service. */
static void ignore(void *context, const struct reply *reply)
{
    (void)context;
    assert_int_equal(reply->code, HF_OK);
}

static void drift_engine(struct sale_world *w, int64_t delta)
{
    struct command adjust = {.spec = &command_table[STOCK_ADJUST]};

    adjust.args.stock_adjust = (struct hf_stock_adjust_args){
        .product = hf_text("sneaker"), .delta = delta, .reason = hf_text("a test")};
    engine_submit(w->inner, &adjust, ignore, NULL);
}

static void load(struct sale_world *w)
{
    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 100", "1 100");
    sale_expect(w, "STOCK.BUY sneaker o0 ann 10", "1 90 SOLD");
}

/* ---- on demand ------------------------------------------------------------------------------- */

static void it_corrects_the_engine_in_either_direction(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_expect(w, "RECONCILE", "1 1 0 0");
    drift_engine(w, 5);
    sale_expect(w, "RECONCILE DRY", "1 1 1 5");
    sale_expect(w, "STOCK.GET sneaker", "1 95 0 10 105 1 single");
    sale_expect(w, "RECONCILE", "1 1 1 5");
    sale_expect(w, "STOCK.GET sneaker", "1 90 0 10 100 1 single");
    drift_engine(w, -7);
    sale_expect(w, "RECONCILE PRODUCT sneaker", "1 1 1 7");
    sale_expect(w, "STOCK.GET sneaker", "1 90 0 10 100 1 single");
    sale_expect(w, "RECONCILE", "1 1 0 0");
    assert_int_equal(stock(w), 90);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 2);
    assert_int_equal(sale_sql(w, "SELECT before_value FROM drift ORDER BY drift_id"), 95);
    assert_int_equal(sale_sql(w, "SELECT after_value FROM drift ORDER BY drift_id"), 90);
}

static void what_is_taken_is_no_difference(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_expect(w, "STOCK.TAKE sneaker t1 bob 30", "1 60");
    sale_expect(w, "RECONCILE", "1 1 0 0");
    /* More is wrong than is available: as much as can be is corrected, the rest when it can. */
    sale_expect(w, "STOCK.TAKE sneaker t2 bob 58", "1 2");
    sale_sql(w, "UPDATE inventory SET stock = stock - 40");
    sale_expect(w, "RECONCILE", "1 1 1 40");
    sale_expect(w, "STOCK.GET sneaker", "1 0 88 10 98 1 single");
    sale_expect(w, "STOCK.GIVE sneaker t2", "1 58");
    sale_expect(w, "RECONCILE", "1 1 1 38");
    sale_expect(w, "STOCK.GET sneaker", "1 20 30 10 60 1 single");
    sale_expect(w, "RECONCILE", "1 1 0 0");
}

static void only_what_both_sides_have_is_compared(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_sql(w, "INSERT INTO inventory (product_id, stock) VALUES ('boot', 5)");
    for (int i = 0; i < 250; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.LOAD p%d 3", i);
        assert_int_equal(sale_run(w, words)->code, HF_OK);
    }
    sale_expect(w, "RECONCILE", "1 251 0 0");
    sale_sql(w, "UPDATE inventory SET stock = 2 WHERE product_id IN ('p7', 'p249')");
    sale_expect(w, "RECONCILE", "1 251 2 2");
    sale_expect(w, "RECONCILE PRODUCT boot", "1 0 0 0");
    sale_expect(w, "RECONCILE PRODUCT nothing", "0 PRODUCT_NOT_FOUND");
}

/* ---- the timer ------------------------------------------------------------------------------- */

static void the_timer_corrects_by_itself(void **state)
{
    struct sale_world *w = *state;

    w->settings.reconcile_every_ms = 20;
    load(w);
    drift_engine(w, 5);
    while (sale_sql(w, "SELECT count(*) FROM drift") == 0) {
        sale_turn(w);
        engine_wait(w->engine, 10);
    }
    sale_expect(w, "STOCK.GET sneaker", "1 90 0 10 100 1 single");
}

/* What keeps the first pass of a process from being made, and ends. */
enum obstacle { OBSTACLE_AWAY, OBSTACLE_FAILS, OBSTACLE_LEASED, OBSTACLES };

static void put(struct sale_world *w, enum obstacle obstacle)
{
    w->away = obstacle == OBSTACLE_AWAY;
    if (obstacle == OBSTACLE_FAILS) {
        sale_fail(w, FAULT_DOWN, LIST, 1);
    } else if (obstacle == OBSTACLE_LEASED) {
        sale_sql(w, "UPDATE leases SET owner = 'another server', expires_at = 4000000000000 "
                    "WHERE name = 'reconcile'");
    }
}

static void take_away(struct sale_world *w)
{
    w->away = false;
    sale_sql(w, "UPDATE leases SET expires_at = 0");
}

static void a_first_pass_that_was_not_made_is_made_up_for_soon(void **state)
{
    enum { HOUR_MS = 3600000, LEAP_MS = 6000, TURNS = 20 };
    struct sale_world *w = *state;

    snprintf(w->engine_url, sizeof w->engine_url, "embedded:%s/data", w->folder);
    load(w);
    sale_expect(w, "RECONCILE", "1 1 0 0"); /* there is a row of the lease now */
    w->simulated = true;
    w->settings.reconcile_every_ms = HOUR_MS;
    for (enum obstacle obstacle = 0; obstacle < OBSTACLES; obstacle++) {
        sale_close(w);
        sale_sql(w, "UPDATE inventory SET stock = stock - 1");
        put(w, obstacle);
        sale_open(w, SALE_GUARDED);
        int64_t until_ms = w->ahead_ms + HOUR_MS;
        for (int i = 1; sale_sql(w, "SELECT count(*) FROM drift") <= (int64_t)obstacle; i++) {
            sale_turn(w);
            engine_wait(w->engine, 10);
            if (i % TURNS == 0) {
                take_away(w);
                w->ahead_ms += LEAP_MS;
                assert_true(w->ahead_ms < until_ms);
            }
        }
    }
}

/* ---- in a rush ------------------------------------------------------------------------------- */

static void a_rush_that_never_pauses_is_left_alone(void **state)
{
    struct sale_world *w = *state;
    static struct sale_answer answers[64];
    struct sale_answer reconcile = {.done = true};
    int bought = 0, looks = 0;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 2000", "1 2000");
    for (int i = 0; i < 64; i++) {
        answers[i].done = true;
    }
    while (bought < 1500) {
        for (int i = 0; i < 64; i++) {
            char words[64];
            if (answers[i].done) {
                snprintf(words, sizeof words, "STOCK.BUY sneaker o%d ann 1", bought++);
                sale_submit(w, words, &answers[i]);
            }
        }
        if (reconcile.done) {
            sale_submit(w, "RECONCILE", &reconcile);
            looks++;
        }
        sale_turn(w);
        engine_wait(w->engine, 1);
    }
    sale_wait(w, answers, 64);
    sale_wait(w, &reconcile, 1);
    assert_true(looks > 3);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 0);
    assert_int_equal(stock(w), 2000 - bought);
    sale_expect(w, "RECONCILE", "1 1 0 0");
}

/* ---- other servers --------------------------------------------------------------------------- */

/* A server died between the sale and the settlement: its writer is still in the ledger, and so is
 * the order; the take is still in the engine. */
static void what_a_dead_server_left_is_settled(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_expect(w, "STOCK.TAKE sneaker lost bob 4 TTL 60", "1 86");
    sale_sql(w, "INSERT INTO writers (writer_id, epoch, batch, told, seen_at) "
                "VALUES (777, 1, 9, 7, 1000)");
    sale_sql(w, "INSERT INTO orders (order_id, product_id, user_id, quantity, unit_price, writer, "
                "batch) VALUES ('lost', 'sneaker', 'bob', 4, 0, 777, 8)");
    sale_sql(w, "INSERT INTO orders (order_id, product_id, user_id, quantity, unit_price, writer, "
                "batch) VALUES ('gone', 'sneaker', 'eve', 6, 0, 777, 9)");
    sale_sql(w, "UPDATE inventory SET stock = stock - 10");
    sale_expect(w, "RECONCILE", "1 1 0 0");
    sale_expect(w, "STOCK.GET sneaker", "1 80 0 20 100 1 single");
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM writers WHERE writer_id = 777"), 0);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 0);
    sale_expect(w, "STOCK.BUY sneaker gone eve 6", "1 80 SOLD");
}

/* While a server may still live, what it has in flight is nobody else's. */
static void what_a_living_server_has_in_flight_is_left_alone(void **state)
{
    struct sale_world *w = *state;

    load(w);
    sale_expect(w, "STOCK.TAKE sneaker other bob 4 TTL 60", "1 86");
    sale_sql(w, "INSERT INTO writers (writer_id, epoch, batch, told, seen_at) VALUES "
                "(777, 1, 9, 7, CAST(strftime('%s', 'now') AS INTEGER) * 1000)");
    sale_sql(w, "INSERT INTO orders (order_id, product_id, user_id, quantity, unit_price, writer, "
                "batch) VALUES ('other', 'sneaker', 'bob', 4, 0, 777, 8)");
    sale_sql(w, "UPDATE inventory SET stock = stock - 4");
    sale_expect(w, "RECONCILE", "1 1 0 0");
    sale_expect(w, "STOCK.GET sneaker", "1 86 4 10 100 1 single");
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 0);
}

/* Another server holds the product's lease: it corrects, this one does not. */
static void two_servers_correct_once(void **state)
{
    struct sale_world *w = *state;

    load(w);
    drift_engine(w, 5);
    sale_expect(w, "RECONCILE DRY", "1 1 1 5");
    sale_sql(w, "UPDATE leases SET owner = 'another', expires_at = 9000000000000000 "
                "WHERE name LIKE 'stock:%'");
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM leases WHERE owner = 'another'"), 1);
    sale_expect(w, "RECONCILE", "1 1 0 5");
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 0);
    sale_sql(w, "UPDATE leases SET expires_at = 0");
    sale_expect(w, "RECONCILE", "1 1 1 5");
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 1);
}

/* Those of one server are no different. */
static void two_at_once_correct_once(void **state)
{
    struct sale_world *w = *state;
    struct sale_answer answers[5];

    load(w);
    drift_engine(w, 5);
    for (int i = 0; i < 5; i++) {
        sale_submit(w, "RECONCILE PRODUCT sneaker", &answers[i]);
    }
    sale_wait(w, answers, 5);
    sale_expect(w, "RECONCILE", "1 1 0 0");
    sale_expect(w, "STOCK.GET sneaker", "1 90 0 10 100 1 single");
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sale_setup, sale_teardown)
        CASE(it_corrects_the_engine_in_either_direction),
        CASE(what_is_taken_is_no_difference),
        CASE(only_what_both_sides_have_is_compared),
        CASE(the_timer_corrects_by_itself),
        CASE(a_first_pass_that_was_not_made_is_made_up_for_soon),
        CASE(a_rush_that_never_pauses_is_left_alone),
        CASE(what_a_dead_server_left_is_settled),
        CASE(what_a_living_server_has_in_flight_is_left_alone),
        CASE(two_servers_correct_once),
        CASE(two_at_once_correct_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
