/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine remembers of products in shards, and how it reads the replies of their
 * counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/stock/product.h"
#include "redis_reply_fixture.h"

/* ---- the table ------------------------------------------------------------------------------- */

static struct stocks *make_stocks(void)
{
    struct stocks *stocks = calloc(1, sizeof *stocks);

    assert_non_null(stocks);
    list_init(&stocks->recent);
    for (size_t i = 0; i < STOCK_PRODUCT_BUCKETS; i++) {
        list_init(&stocks->buckets[i]);
    }
    return stocks;
}

static void free_stocks(struct stocks *stocks)
{
    stock_products_free(stocks);
    assert_int_equal(stocks->count, 0);
    free(stocks);
}

/* As read at the main counter of a product with so many shards. */
static struct counter_figures with_shards(int64_t shards, int64_t epoch)
{
    return (struct counter_figures){
        .known = true, .epoch = epoch, .main = {.shard_count = shards, .loaded = HF_INTEGER_MAX}};
}

static void a_product_is_found_by_its_id_once_it_was_added(void **state)
{
    struct stocks *stocks = make_stocks();

    (void)state;
    assert_null(stock_product_find(stocks, hf_text("shoe")));
    struct stock_product *shoe = stock_product_add(stocks, hf_text("shoe"));
    assert_non_null(shoe);
    assert_ptr_equal(stock_product_add(stocks, hf_text("shoe")), shoe);
    assert_ptr_equal(stock_product_find(stocks, hf_text("shoe")), shoe);
    assert_null(stock_product_find(stocks, hf_text("shoes")));
    assert_null(stock_product_find(stocks, hf_text("sho")));
    assert_int_equal(stocks->count, 1);
    assert_int_equal(shoe->epoch, 0); /* yet to be read */
    free_stocks(stocks);
}

static void the_longest_id_fits(void **state)
{
    struct stocks *stocks = make_stocks();
    char id[HF_ID_MAX];

    (void)state;
    memset(id, 'x', sizeof id);
    struct stock_product *product = stock_product_add(stocks, (struct hf_bytes){id, sizeof id});
    assert_ptr_equal(stock_product_find(stocks, (struct hf_bytes){id, sizeof id}), product);
    assert_null(stock_product_find(stocks, (struct hf_bytes){id, sizeof id - 1}));
    free_stocks(stocks);
}

static void the_least_recently_used_is_forgotten_and_none_in_use(void **state)
{
    struct stocks *stocks = make_stocks();
    char id[16];

    (void)state;
    for (int i = 0; i < STOCK_PRODUCTS_MAX; i++) {
        snprintf(id, sizeof id, "p%d", i);
        assert_non_null(stock_product_add(stocks, hf_text(id)));
    }
    stock_product_hold(stock_product_find(stocks, hf_text("p1")));
    stock_product_find(stocks, hf_text("p0")); /* used again: p1 and p2 are the oldest now */
    struct stock_product *held = stock_product_find(stocks, hf_text("p1"));
    for (int i = 3; i < STOCK_PRODUCTS_MAX; i++) {
        snprintf(id, sizeof id, "p%d", i);
        stock_product_find(stocks, hf_text(id));
    }
    stock_product_add(stocks, hf_text("new"));
    assert_int_equal(stocks->count, STOCK_PRODUCTS_MAX);
    assert_null(stock_product_find(stocks, hf_text("p2")));
    assert_non_null(stock_product_find(stocks, hf_text("p0")));
    assert_ptr_equal(stock_product_find(stocks, hf_text("p1")), held);
    free_stocks(stocks);
}

static void a_product_without_shards_is_forgotten_with_its_last_user(void **state)
{
    struct stocks *stocks = make_stocks();
    struct stock_product *shoe = stock_product_add(stocks, hf_text("shoe"));

    (void)state;
    stock_product_hold(shoe);
    stock_product_hold(shoe);
    stock_product_release(shoe);
    assert_ptr_equal(stock_product_find(stocks, hf_text("shoe")), shoe);
    stock_product_release(shoe);
    assert_null(stock_product_find(stocks, hf_text("shoe")));
    free_stocks(stocks);
}

static void a_product_in_shards_is_remembered(void **state)
{
    struct stocks *stocks = make_stocks();
    struct stock_product *shoe = stock_product_add(stocks, hf_text("shoe"));
    struct counter_figures main = with_shards(1, 7);

    (void)state;
    stock_product_hold(shoe);
    assert_true(stock_product_learn(shoe, &main));
    stock_product_release(shoe);
    assert_ptr_equal(stock_product_find(stocks, hf_text("shoe")), shoe);
    assert_int_equal(shoe->counters, 2);
    assert_int_equal(shoe->epoch, 7);
    free_stocks(stocks);
}

/* ---- counters -------------------------------------------------------------------------------- */

static struct stocks *stocks;
static struct stock_product *product;

static int begin(void **state)
{
    (void)state;
    stocks = make_stocks();
    product = stock_product_add(stocks, hf_text("shoe"));
    return 0;
}

static int end(void **state)
{
    (void)state;
    free_stocks(stocks);
    return 0;
}

static void learn(int64_t shards, int64_t epoch)
{
    struct counter_figures main = with_shards(shards, epoch);
    assert_true(stock_product_learn(product, &main));
}

static void every_order_has_one_shard_of_its_own(void **state)
{
    size_t of[STOCK_SHARDS_MAX + 1] = {0};
    char order[16];

    (void)state;
    learn(1, 1);
    assert_int_equal(stock_product_home(product, hf_text("o-1")), 1);
    learn(7, 1);
    for (int i = 0; i < 7000; i++) {
        snprintf(order, sizeof order, "o-%d", i);
        size_t home = stock_product_home(product, hf_text(order));
        assert_int_equal(home, 1 + (size_t)redis_slot(hf_text(order)) % 7);
        assert_int_equal(home, stock_product_home(product, hf_text(order)));
        of[home]++;
    }
    for (size_t shard = 1; shard <= 7; shard++) { /* none is left out, none has far more */
        assert_in_range(of[shard], 800, 1200);
    }
    assert_int_equal(of[0], 0);
}

static void new_orders_go_to_their_shard_or_once_merged_to_the_main_counter(void **state)
{
    (void)state;
    learn(3, 1);
    assert_int_equal(stock_product_active(product, 2), 2);
    assert_int_equal(stock_product_other(product, 2), COUNTER_MAIN);
    product->merged = true;
    assert_int_equal(stock_product_active(product, 2), COUNTER_MAIN);
    assert_int_equal(stock_product_other(product, 2), 2);
}

static void what_was_seen_of_counters_outlives_a_change_of_their_number(void **state)
{
    (void)state;
    learn(STOCK_SHARDS_MAX, 1);
    assert_int_equal(product->counters, 1 + STOCK_SHARDS_MAX);
    stock_product_saw_available(product, STOCK_SHARDS_MAX, 9);
    learn(2, 2); /* a call may still be in flight to the last one */
    assert_int_equal(product->counters, 3);
    assert_int_equal(product->seen[STOCK_SHARDS_MAX].available, 9);
    assert_int_equal(stock_product_estimate(product), 0);
}

static void the_estimate_is_the_sum_but_no_more_than_was_loaded(void **state)
{
    (void)state;
    learn(3, 1);
    stock_product_saw_available(product, 0, 5);
    stock_product_saw_available(product, 1, 7);
    stock_product_saw_available(product, 3, -2);
    assert_int_equal(stock_product_estimate(product), 10);
    product->loaded = 9;
    assert_int_equal(stock_product_estimate(product), 9);
}

static void what_counters_say_may_be_anything_and_adds_up(void **state)
{
    (void)state;
    learn(STOCK_SHARDS_MAX, 1);
    for (size_t i = 0; i <= STOCK_SHARDS_MAX; i++) {
        stock_product_saw_available(product, i, INT64_MAX);
    }
    assert_int_equal(stock_product_estimate(product), HF_INTEGER_MAX);
    for (size_t i = 0; i <= STOCK_SHARDS_MAX; i++) {
        stock_product_saw_available(product, i, INT64_MIN);
    }
    assert_int_equal(stock_product_estimate(product), 0); /* nobody can buy a debt */
}

static void a_counter_is_known_to_be_empty_in_the_product_s_epoch_only(void **state)
{
    struct counter_figures figures = {.known = true, .available = 4, .epoch = 6, .records = 0};

    (void)state;
    learn(2, 7);
    stock_product_saw(product, 1, &figures); /* it may have got orders in epoch 7 */
    assert_int_equal(product->seen[1].available, 4);
    assert_int_equal(product->seen[1].empty_epoch, 0);
    figures.epoch = 7;
    figures.records = 1;
    stock_product_saw(product, 1, &figures);
    assert_int_equal(product->seen[1].empty_epoch, 0);
    figures.records = 0;
    stock_product_saw(product, 1, &figures);
    assert_int_equal(product->seen[1].empty_epoch, 7);
}

static void counters_have_names(void **state)
{
    char name[COUNTER_NAME_SIZE];

    (void)state;
    counter_name(COUNTER_MAIN, name);
    assert_string_equal(name, "main");
    counter_name(1, name);
    assert_string_equal(name, "0");
    counter_name(STOCK_SHARDS_MAX, name);
    assert_string_equal(name, "1023");
}

/* ---- replies --------------------------------------------------------------------------------- */

/* FIGURES("4", "*17") is the reply of a main counter of 4 shards, with an array's length. */
#define FIGURES_START ":1\r\n:10\r\n:2\r\n:3\r\n:40\r\n:50\r\n:6\r\n:7\r\n:8\r\n"
#define FIGURES(shard_count, length)                                                               \
    length "\r\n" FIGURES_START "$6\r\nmerged\r\n:90\r\n:5\r\n:11\r\n$5\r\nsteal\r\n:" shard_count \
           "\r\n:1\r\n:12\r\n"

static bool read_figures(struct counter_figures *figures, const char *text)
{
    redisReply *reply = read_resp_text(text);
    bool fine = counter_figures_read(figures, reply);

    freeReplyObject(reply);
    return fine;
}

static void figures_are_read_in_their_order(void **state)
{
    struct counter_figures figures;

    (void)state;
    assert_true(read_figures(&figures, FIGURES("4", "*17")));
    assert_true(figures.known && figures.merged && figures.main.steal && figures.limited);
    assert_int_equal(figures.available, 10);
    assert_int_equal(figures.taken, 2);
    assert_int_equal(figures.sold, 3);
    assert_int_equal(figures.sent, 40);
    assert_int_equal(figures.received, 50);
    assert_int_equal(figures.gains, 6);
    assert_int_equal(figures.records, 7);
    assert_int_equal(figures.epoch, 8);
    assert_int_equal(figures.main.loaded, 90);
    assert_int_equal(figures.main.shards_reported, 5);
    assert_int_equal(figures.main.watermark, 11);
    assert_int_equal(figures.main.shard_count, 4);
    assert_int_equal(figures.owed, 12);
}

static void figures_may_be_text_and_words_may_be_missing(void **state)
{
    struct counter_figures figures;

    (void)state;
    assert_true(read_figures(&figures,
                             "*17\r\n:0\r\n$2\r\n10\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n"
                             "$0\r\n\r\n:0\r\n:0\r\n:0\r\n$0\r\n\r\n:0\r\n:0\r\n:0\r\n"));
    assert_false(figures.known || figures.merged || figures.main.steal || figures.limited);
    assert_int_equal(figures.available, 10);
}

static void as_many_shards_as_there_may_be_are_read_and_no_more(void **state)
{
    struct counter_figures figures;

    (void)state;
    assert_true(read_figures(&figures, FIGURES("0", "*17")));
    assert_true(read_figures(&figures, FIGURES("1024", "*17")));
    assert_false(read_figures(&figures, FIGURES("1025", "*17")));
    assert_false(read_figures(&figures, FIGURES("-1", "*17")));
    assert_false(read_figures(&figures, FIGURES("1152921504606846976", "*17")));
}

static void what_are_no_figures_is_refused(void **state)
{
    static const char *const cases[] = {
        "*-1\r\n",
        "*0\r\n",
        ":1\r\n",
        "+OK\r\n",
        "-ERR no\r\n",
        "$2\r\n10\r\n",
        "*16\r\n" FIGURES_START "$6\r\nmerged\r\n:90\r\n:5\r\n:11\r\n$5\r\nsteal\r\n:4\r\n:1\r\n",
        FIGURES("4", "*18") ":1\r\n",
        FIGURES("4", "*19") "$4\r\nmain\r\n:1\r\n",
        /* No number where one should be, and one that no script writes. */
        "*17\r\n:1\r\n$1\r\nx\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n$0\r\n\r\n:0\r\n:0\r\n:"
        "0\r\n"
        "$0\r\n\r\n:4\r\n:0\r\n:0\r\n",
        "*17\r\n:1\r\n$-1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n$0\r\n\r\n:0\r\n:0\r\n:0\r\n"
        "$0\r\n\r\n:4\r\n:0\r\n:0\r\n",
        "*17\r\n:1\r\n:9007199254740992\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n$0\r\n\r\n:"
        "0\r\n"
        ":0\r\n:0\r\n$0\r\n\r\n:4\r\n:0\r\n:0\r\n",
        "*17\r\n:1\r\n*1\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n$0\r\n\r\n:0\r\n:0\r\n:"
        "0\r\n"
        "$0\r\n\r\n:4\r\n:0\r\n:0\r\n",
    };
    struct counter_figures figures;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (read_figures(&figures, cases[i])) {
            fail_msg("case %zu was read: %s", i, cases[i]);
        }
    }
}

static void transfers_in_flight_stand_behind_the_figures(void **state)
{
    redisReply *reply =
        read_resp_text(FIGURES("4", "*23") "$4\r\nmain\r\n:77\r\n:5\r\n$1\r\n3\r\n:78\r\n:6\r\n");
    struct counter_figures figures;
    struct stock_open_transfer open;

    (void)state;
    assert_true(counter_figures_read(&figures, reply));
    assert_int_equal(counter_figures_more(reply), 2);
    assert_true(counter_figures_open(&open, reply, 0, 2, 5));
    assert_int_equal(open.source, 2);
    assert_int_equal(open.target, COUNTER_MAIN);
    assert_int_equal(open.total, 77);
    assert_int_equal(open.quantity, 5);
    assert_true(counter_figures_open(&open, reply, 1, 2, 5));
    assert_int_equal(open.target, 4);
    assert_false(counter_figures_open(&open, reply, 1, 2, 4)); /* there is no shard 3 */
    freeReplyObject(reply);
}

static void counts_of_transfers_stand_behind_them(void **state)
{
    redisReply *reply = read_resp_text(FIGURES("4", "*26") "$4\r\nmain\r\n:77\r\n:5\r\n"
                                                           "$7\r\nto main\r\n:77\r\n:0\r\n"
                                                           "$6\r\nfrom 3\r\n:78\r\n:0\r\n");
    struct counter_figures figures;
    struct stock_open_transfer open;
    struct stock_transfer_count count;

    (void)state;
    assert_true(counter_figures_read(&figures, reply));
    assert_int_equal(counter_figures_more(reply), 3);
    assert_true(counter_figures_open(&open, reply, 0, 2, 5));
    assert_false(counter_figures_count(&count, reply, 0, 2, 5));
    assert_false(counter_figures_open(&open, reply, 1, 2, 5));
    assert_true(counter_figures_count(&count, reply, 1, 2, 5));
    assert_true(count.source == 2 && count.target == COUNTER_MAIN && !count.arrived);
    assert_int_equal(count.total, 77);
    assert_true(counter_figures_count(&count, reply, 2, 2, 5));
    assert_true(count.source == 4 && count.target == 2 && count.arrived);
    assert_int_equal(count.total, 78);
    assert_false(counter_figures_count(&count, reply, 2, 2, 4)); /* there is no shard 3 */
    freeReplyObject(reply);
}

static void one_count_is_ahead_of_another_also_where_they_wrap(void **state)
{
    (void)state;
    assert_int_equal(counter_ahead(7, 2), 5);
    assert_int_equal(counter_ahead(2, 7), -5);
    assert_int_equal(counter_ahead(3, HF_INTEGER_MAX), 4); /* it has gone round: 2^53 + 3 */
    assert_int_equal(counter_ahead(HF_INTEGER_MAX, 3), -4);
    assert_int_equal(counter_ahead(0, 0), 0);
}

static void a_transfer_to_no_counter_is_left_alone(void **state)
{
    static const char *const targets[] = {
        "$0\r\n\r\n",  "$2\r\n-1\r\n",    "$1\r\n4\r\n",
        "$1\r\nx\r\n", "$5\r\nmain \r\n", "$19\r\n9223372036854775807\r\n",
        ":1\r\n",      "*0\r\n",          "$-1\r\n",
    };
    char text[512];
    struct stock_open_transfer open;

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        snprintf(text, sizeof text, FIGURES("4", "*20") "%s:77\r\n:5\r\n", targets[i]);
        redisReply *reply = read_resp_text(text);
        assert_int_equal(counter_figures_more(reply), 1);
        if (counter_figures_open(&open, reply, 0, 1, 5)) {
            fail_msg("a transfer to %s", targets[i]);
        }
        freeReplyObject(reply);
    }
}

static void a_word_is_said_behind_a_zero(void **state)
{
    static const struct {
        const char *text;
        bool says;
    } cases[] = {
        {"*2\r\n:0\r\n$5\r\nSTALE\r\n", true},
        {"*3\r\n:0\r\n$5\r\nSTALE\r\n:9\r\n", true},
        {"*2\r\n$1\r\n0\r\n$5\r\nSTALE\r\n", true},
        {"*2\r\n:1\r\n$5\r\nSTALE\r\n", false},
        {"*2\r\n:0\r\n$6\r\nSTALER\r\n", false},
        {"*2\r\n:0\r\n$4\r\nSTAL\r\n", false},
        {"*2\r\n:0\r\n:5\r\n", false},
        {"*1\r\n:0\r\n", false},
        {"*0\r\n", false},
        {"*-1\r\n", false},
        {":0\r\n", false},
        {"$5\r\nSTALE\r\n", false},
        {"-STALE\r\n", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        redisReply *reply = read_resp_text(cases[i].text);
        if (stock_reply_says(reply, "STALE") != cases[i].says) {
            fail_msg("%s", cases[i].text);
        }
        freeReplyObject(reply);
    }
}

#define WITH_PRODUCT(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_is_found_by_its_id_once_it_was_added),
        cmocka_unit_test(the_longest_id_fits),
        cmocka_unit_test(the_least_recently_used_is_forgotten_and_none_in_use),
        cmocka_unit_test(a_product_without_shards_is_forgotten_with_its_last_user),
        cmocka_unit_test(a_product_in_shards_is_remembered),
        WITH_PRODUCT(every_order_has_one_shard_of_its_own),
        WITH_PRODUCT(new_orders_go_to_their_shard_or_once_merged_to_the_main_counter),
        WITH_PRODUCT(what_was_seen_of_counters_outlives_a_change_of_their_number),
        WITH_PRODUCT(the_estimate_is_the_sum_but_no_more_than_was_loaded),
        WITH_PRODUCT(what_counters_say_may_be_anything_and_adds_up),
        WITH_PRODUCT(a_counter_is_known_to_be_empty_in_the_product_s_epoch_only),
        cmocka_unit_test(counters_have_names),
        cmocka_unit_test(figures_are_read_in_their_order),
        cmocka_unit_test(figures_may_be_text_and_words_may_be_missing),
        cmocka_unit_test(as_many_shards_as_there_may_be_are_read_and_no_more),
        cmocka_unit_test(what_are_no_figures_is_refused),
        cmocka_unit_test(transfers_in_flight_stand_behind_the_figures),
        cmocka_unit_test(counts_of_transfers_stand_behind_them),
        cmocka_unit_test(one_count_is_ahead_of_another_also_where_they_wrap),
        cmocka_unit_test(a_transfer_to_no_counter_is_left_alone),
        cmocka_unit_test(a_word_is_said_behind_a_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
