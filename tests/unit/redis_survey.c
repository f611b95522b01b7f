/* SPDX-License-Identifier: Apache-2.0
 *
 * Surveys of a product that has no shards any more: nothing is read, nobody is kept waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "redis/stock/survey_parts.h"

#include <stdlib.h>

static struct script_env env;
static struct stocks stocks;
static uv_loop_t loop;
static int answers;
static enum stock_survey_result last;

static void take_answer(struct stock_want *want, enum stock_survey_result result,
                        const struct stock_totals *totals, const struct problem *problem)
{
    (void)want;
    (void)totals;
    (void)problem;
    answers++;
    last = result;
}

static int begin(void **state)
{
    (void)state;
    answers = 0;
    memory_init(&env.memory);
    assert_int_equal(uv_loop_init(&loop), 0);
    env.loop = &loop;
    stocks = (struct stocks){.env = &env};
    list_init(&stocks.recent);
    for (size_t i = 0; i < STOCK_PRODUCT_BUCKETS; i++) {
        list_init(&stocks.buckets[i]);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    stock_products_free(&stocks);
    assert_int_equal(env.memory.used, 0);
    return uv_loop_close(&loop);
}

/* It had shards when the command began; another command has since read that they are gone. */
static struct stock_product *without_shards(void)
{
    struct stock_product *product = stock_product_add(&stocks, hf_text("shoe"));
    struct counter_figures main = {.known = true, .epoch = 5, .main = {.shard_count = 8}};

    assert_non_null(product);
    assert_true(stock_product_learn(product, &main));
    stock_product_unlearn(product);
    assert_int_equal(product->epoch, 0); /* who uses it reads it again */
    return product;
}

static void a_want_is_answered_at_once(void **state)
{
    struct stock_product *product = without_shards();
    struct stock_want want = {
        .kind = STOCK_WANT_QUANTITY, .target = 3, .quantity = 1, .done = take_answer};

    (void)state;
    stock_product_hold(product);
    assert_true(stock_survey_join(product, &want));
    assert_int_equal(answers, 1);
    assert_int_equal(last, STOCK_SURVEY_RETRY);
    assert_false(product->survey->running);
    stock_product_release(product);
}

static void a_suggestion_comes_to_nothing(void **state)
{
    struct stock_product *product = without_shards();

    (void)state;
    stock_product_hold(product);
    stock_survey_suggest(product);
    assert_true(product->survey == NULL || !product->survey->running);
    stock_product_release(product);
    assert_null(stock_product_find(&stocks, hf_text("shoe")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_want_is_answered_at_once, begin, end),
        cmocka_unit_test_setup_teardown(a_suggestion_comes_to_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
