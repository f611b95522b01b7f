/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.BUY, ORDER and RETURN on an embedded engine and SQLite: what the buyer is told at each
 * answer of the ledger and of the engine, and that both sides agree afterwards. */
#include "service_fixture.h"

#include <stdio.h>

/* The engine and the ledger have so many left, and nothing is taken. */
static void expect_left(struct sale_world *w, const char *product, int64_t left)
{
    char words[128], sql[160];

    snprintf(words, sizeof words, "STOCK.GET %s", product);
    sale_run(w, words);
    assert_int_equal(w->last.code, HF_OK);
    long long available, taken;
    assert_int_equal(sscanf(w->last.text, "%*d %lld %lld", &available, &taken), 2);
    assert_int_equal(available, left);
    assert_int_equal(taken, 0);
    snprintf(sql, sizeof sql, "SELECT stock FROM inventory WHERE product_id = '%s'", product);
    assert_int_equal(sale_sql(w, sql), left);
}

static void a_purchase_is_sold_on_both_sides(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "1 9 SOLD");
    sale_expect(w, "STOCK.BUY sneaker o2 bob 4 PRICE 250", "1 5 SOLD");
    expect_left(w, "sneaker", 5);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM orders WHERE status = 'sold'"), 2);
    assert_int_equal(sale_sql(w, "SELECT unit_price FROM orders WHERE order_id = 'o2'"), 250);
}

static void the_same_purchase_again_is_answered_the_same(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 2", "1 8 SOLD");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 2", "1 8 SOLD");
    expect_left(w, "sneaker", 8);
    sale_expect(w, "STOCK.BUY sneaker o1 ann 3", "0 INVALID_STATE");
    sale_expect(w, "STOCK.BUY sneaker o1 bob 2", "0 INVALID_STATE");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 2 PRICE 7", "0 INVALID_STATE");
    expect_left(w, "sneaker", 8);
}

static void purchases_of_one_id_at_once_are_one(void **state)
{
    struct sale_world *w = *state;
    struct sale_answer answers[8];

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    for (int i = 0; i < 8; i++) {
        sale_submit(w, "STOCK.BUY sneaker o1 ann 3", &answers[i]);
    }
    sale_wait(w, answers, 8);
    for (int i = 0; i < 8; i++) {
        assert_string_equal(answers[i].text, "1 7 SOLD");
    }
    expect_left(w, "sneaker", 7);
}

static void nobody_buys_more_than_there_is(void **state)
{
    struct sale_world *w = *state;
    static struct sale_answer answers[300];
    int sold = 0;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 100", "1 100");
    for (int i = 0; i < 300; i++) {
        char words[64];
        snprintf(words, sizeof words, "STOCK.BUY sneaker o%d u%d 1", i, i);
        sale_submit(w, words, &answers[i]);
    }
    sale_wait(w, answers, 300);
    for (int i = 0; i < 300; i++) {
        sold += answers[i].code == HF_OK;
        assert_true(answers[i].code == HF_OK || answers[i].code == HF_SOLD_OUT);
    }
    assert_int_equal(sold, 100);
    expect_left(w, "sneaker", 0);
}

static void a_limit_per_user_holds(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 2 MAX 3", "1 8 SOLD");
    sale_expect(w, "STOCK.BUY sneaker o2 ann 2 MAX 3", "0 USER_LIMIT_EXCEEDED");
    sale_expect(w, "STOCK.BUY sneaker o3 ann 1 MAX 3", "1 7 SOLD");
    expect_left(w, "sneaker", 7);
}

/* The engine has more than the ledger: somebody took from the shop's table. */
static void the_ledger_has_the_last_word(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "1 9 SOLD");
    sale_sql(w, "UPDATE inventory SET stock = 2");
    sale_expect(w, "STOCK.BUY sneaker o2 ann 3", "0 SOLD_OUT");
    assert_string_equal(w->last.message, "2 left, 3 requested");
    /* The engine is corrected before the next one takes. */
    sale_expect(w, "STOCK.BUY sneaker o3 ann 2", "1 0 SOLD");
    expect_left(w, "sneaker", 0);
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM drift"), 1);
    assert_int_equal(sale_sql(w, "SELECT before_value - after_value FROM drift"), 7);
}

static void an_order_can_be_read_and_returned_once(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 3 PRICE 5", "1 7 SOLD");
    sale_run(w, "STOCK.ORDER sneaker o1");
    assert_memory_equal(w->last.text, "1 o1 sneaker ann 3 5 sold ", 26);
    sale_expect(w, "STOCK.RETURN sneaker o1", "1 RETURNED 10");
    sale_expect(w, "STOCK.RETURN sneaker o1", "1 RETURNED 10");
    expect_left(w, "sneaker", 10);
    sale_run(w, "STOCK.ORDER sneaker o1");
    assert_memory_equal(w->last.text, "1 o1 sneaker ann 3 5 returned ", 30);
    sale_expect(w, "STOCK.BUY sneaker o1 ann 3 PRICE 5", "0 INVALID_STATE");
    expect_left(w, "sneaker", 10);
    sale_expect(w, "STOCK.ORDER sneaker o9", "0 NOT_FOUND");
    sale_expect(w, "STOCK.RETURN sneaker o9", "0 NOT_FOUND");
    sale_expect(w, "STOCK.ORDER other o1", "0 NOT_FOUND");
    sale_expect(w, "STOCK.RETURN other o1", "0 NOT_FOUND");
}

static void a_product_the_ledger_does_not_have_is_not_sold(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "0 PRODUCT_NOT_FOUND");
    sale_expect(w, "STOCK.OPEN sneaker", "0 PRODUCT_NOT_FOUND");
    sale_sql(w, "INSERT INTO inventory (product_id, stock) VALUES ('sneaker', 5)");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "1 4 SOLD"); /* opened at its first use */
    sale_sql(w, "INSERT INTO inventory (product_id, stock) VALUES ('boot', 8)");
    sale_expect(w, "STOCK.OPEN boot", "1 8");
    sale_expect(w, "STOCK.OPEN boot", "1 8");
    expect_left(w, "sneaker", 4);
    expect_left(w, "boot", 8);
}

static void without_any_ledger_the_refusal_names_the_flag(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_NO_LEDGER);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "0 LEDGER_DOWN");
    assert_non_null(strstr(w->last.message, "--ledger"));
    sale_expect(w, "RECONCILE", "0 LEDGER_DOWN");
    sale_expect(w, "STOCK.TAKE sneaker o1 ann 1", "1 9");
    assert_null(service_status(w->engine));
}

/* ---- the default ledger ---------------------------------------------------------------------- */

static void the_default_ledger_is_made_when_first_needed(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_DEFAULT);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.TAKE sneaker t1 ann 1", "1 9");
    assert_null(service_status(w->engine));
    sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "1 8 SOLD"); /* adopted with what is taken */
    assert_int_equal(sale_sql(w, "SELECT stock FROM inventory"), 9);
    sale_expect(w, "STOCK.GIVE sneaker t1", "1 9");
    expect_left(w, "sneaker", 9);
    assert_non_null(strstr(service_status(w->engine), "breaker closed"));
}

static void loading_moves_the_ledger_by_the_same_difference(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_DEFAULT);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    sale_expect(w, "STOCK.BUY sneaker o1 ann 4", "1 6 SOLD");
    sale_expect(w, "STOCK.LOAD sneaker 15", "1 11");
    expect_left(w, "sneaker", 11);
    sale_expect(w, "STOCK.LOAD sneaker 15", "1 11");
    expect_left(w, "sneaker", 11);
    sale_expect(w, "STOCK.ADJUST sneaker -2 damaged", "1 9");
    expect_left(w, "sneaker", 9);
    sale_expect(w, "STOCK.LOAD sneaker 5", "0 CAPACITY_IN_USE");
    expect_left(w, "sneaker", 9);
    sale_expect(w, "STOCK.LOAD boot 7", "1 7"); /* nobody has bought of it: the engine's alone */
    assert_int_equal(sale_sql(w, "SELECT count(*) FROM inventory"), 1);
}

static void loading_with_a_ledger_writes_the_row(void **state)
{
    struct sale_world *w = *state;

    sale_open(w, SALE_GUARDED);
    sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
    expect_left(w, "sneaker", 10);
    sale_expect(w, "STOCK.LOAD sneaker 25", "1 25");
    expect_left(w, "sneaker", 25);
    sale_expect(w, "STOCK.BUY sneaker o1 ann 5", "1 20 SOLD");
    sale_expect(w, "STOCK.ADJUST sneaker 3 found", "1 23");
    expect_left(w, "sneaker", 23);
    /* The ledger has less than is to be taken away: neither side is changed. */
    sale_sql(w, "UPDATE inventory SET stock = 1");
    sale_expect(w, "STOCK.ADJUST sneaker -5 damaged", "0 CAPACITY_IN_USE");
    sale_run(w, "STOCK.GET sneaker");
    assert_memory_equal(w->last.text, "1 23 0 5 28", 11);
    assert_int_equal(sale_sql(w, "SELECT stock FROM inventory"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sale_setup, sale_teardown)
        CASE(a_purchase_is_sold_on_both_sides),
        CASE(the_same_purchase_again_is_answered_the_same),
        CASE(purchases_of_one_id_at_once_are_one),
        CASE(nobody_buys_more_than_there_is),
        CASE(a_limit_per_user_holds),
        CASE(the_ledger_has_the_last_word),
        CASE(an_order_can_be_read_and_returned_once),
        CASE(a_product_the_ledger_does_not_have_is_not_sold),
        CASE(without_any_ledger_the_refusal_names_the_flag),
        CASE(the_default_ledger_is_made_when_first_needed),
        CASE(loading_moves_the_ledger_by_the_same_difference),
        CASE(loading_with_a_ledger_writes_the_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
