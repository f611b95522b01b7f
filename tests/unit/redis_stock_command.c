/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK commands for a product in two shards, call by call, with a client that the test answers
 * for: which counters they ask, in which order, and what the caller is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "redis/client/script.h"
#include "redis/stock/stock.h"
#include "redis/stock/stock_command.h"
#include "redis_reply_fixture.h"

#define ORDER "o-1"
#define IN_FLIGHT_MAX 16

/* ---- a client that the test answers for ------------------------------------------------------ */

static struct redis_request *in_flight[IN_FLIGHT_MAX];
static size_t in_flight_count;

void __wrap_redis_client_send(struct redis_client *client, struct redis_request *request);

void __wrap_redis_client_send(struct redis_client *client, struct redis_request *request)
{
    (void)client;
    assert_true(in_flight_count < IN_FLIGHT_MAX);
    in_flight[in_flight_count++] = request;
}

/* The request in flight that calls this script at that counter; it is in flight no more. */
static struct redis_request *take_request(const char *script, const char *counter)
{
    char key[64];

    snprintf(key, sizeof key, "stock:{shoe_%s}", counter);
    for (size_t i = 0; i < in_flight_count; i++) {
        struct redis_request *request = in_flight[i];
        redisReply *words = read_resp(request->bytes, request->size);
        bool is_it =
            strcmp(request->script->name, script) == 0 && strcmp(words->element[3]->str, key) == 0;
        freeReplyObject(words);
        if (is_it) {
            in_flight[i] = in_flight[--in_flight_count];
            return request;
        }
    }
    fail_msg("%s is not called at %s", script, counter);
    return NULL;
}

static void answer(const char *script, const char *counter, const char *resp)
{
    struct redis_request *request = take_request(script, counter);
    redisReply *reply = read_resp_text(resp);

    request->done(request, REDIS_ANSWERED, reply, NULL);
    freeReplyObject(reply);
}

static void answer_nothing(const char *script, const char *counter)
{
    struct redis_request *request = take_request(script, counter);
    struct problem problem = {HF_TIMEOUT, "no answer"};

    request->done(request, REDIS_UNKNOWN, NULL, &problem);
}

static bool is_limited; /* has a TAKE with MAX limited the product? */

/* read_shard is answered: known, available, nothing sold, the orders known, the epoch. */
static void answer_figures(const char *counter, int available, int records, int epoch)
{
    char resp[256];

    snprintf(resp, sizeof resp,
             "*17\r\n:1\r\n:%d\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:%d\r\n:%d\r\n$7\r\nsharded\r\n"
             ":100\r\n:2\r\n:0\r\n$5\r\nmerge\r\n:2\r\n:%d\r\n:0\r\n",
             available, records, epoch, is_limited);
    answer("read_shard", counter, resp);
}

/* find_order is answered: the state of the order there, and what the user has. */
static void answer_found(const char *counter, const char *order_state, int has)
{
    char resp[128];

    snprintf(resp, sizeof resp, "*7\r\n:1\r\n$%zu\r\n%s\r\n:0\r\n:0\r\n:1\r\n:%d\r\n:9\r\n",
             strlen(order_state), order_state, has);
    answer("find_order", counter, resp);
}

/* A whole reading of a survey. */
static void answer_reading(int at_main, int at_0, int at_1)
{
    assert_int_equal(in_flight_count, 3);
    answer_figures("main", at_main, 0, 5);
    answer_figures("0", at_0, 0, 5);
    answer_figures("1", at_1, 0, 5);
}

/* ---- a command ------------------------------------------------------------------------------- */

static uv_loop_t loop;
static struct script_env env;
static struct stocks *stocks;
static struct pending_command pending;
static int answered;
static const char *home, *elsewhere; /* the shard of the order, and the other one */

static void on_answered(void *context, struct pending_command *command)
{
    (void)context;
    assert_ptr_equal(command, &pending);
    answered++;
}

static int begin(void **state)
{
    (void)state;
    answered = 0;
    is_limited = false;
    in_flight_count = 0;
    assert_int_equal(uv_loop_init(&loop), 0);
    memset(&env, 0, sizeof env);
    env.loop = &loop;
    env.url = (struct redis_url){.kind = REDIS_CLUSTER, .timeout_ms = 1000};
    env.log.level = LOG_ERROR;
    env.command_answered = on_answered;
    memory_init(&env.memory);
    random_init(&env.random);
    buffer_init(&env.scratch, &env.memory);
    alarms_init(&env.alarms, &loop);
    stocks = stocks_open(&env);
    assert_non_null(stocks);
    memset(&pending, 0, sizeof pending);
    assert_true(reply_init(&pending.reply, &env.memory));
    script_call_init(&pending.call, &env);
    home = redis_slot(hf_text(ORDER)) % 2 == 0 ? "0" : "1";
    elsewhere = *home == '0' ? "1" : "0";
    return 0;
}

static int end(void **state)
{
    (void)state;
    stocks_stop(stocks);
    struct problem closed = {HF_ENGINE_DOWN, "closed"};
    while (in_flight_count > 0) { /* as the client does when it is closed */
        struct redis_request *request = in_flight[--in_flight_count];
        request->done(request, REDIS_UNKNOWN, NULL, &closed);
    }
    stocks_free(stocks);
    script_call_free(&pending.call);
    reply_free(&pending.reply);
    buffer_free(&env.scratch);
    assert_int_equal(env.memory.used, 0);
    alarms_close(&env.alarms, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void execute_line(const char *line)
{
    struct hf_bytes words[16];
    size_t count = 0;

    for (const char *at = line; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        words[count++] = (struct hf_bytes){at, size};
        at += size;
    }
    assert_int_equal(command_from_words(&pending.command, count, words, NULL), HF_OK);
    stock_execute(stocks, &pending);
}

/* A command for a product of which the engine learns only now that it has shards. */
static void execute_sharded(const char *line, const char *script, int at_main)
{
    execute_line(line);
    answer(script, "main", "-SHARDED the product is in shards\r\n");
    answer_figures("main", at_main, 0, 5);
}

static void expect_remaining(int64_t remaining)
{
    assert_int_equal(answered, 1);
    assert_int_equal(pending.reply.code, HF_OK);
    assert_int_equal(pending.reply.values[0].number, remaining);
    assert_int_equal(in_flight_count, 0);
}

static void expect_refused(enum hf_error code, const char *why)
{
    char message[MESSAGE_SIZE];

    assert_int_equal(answered, 1);
    assert_int_equal(pending.reply.code, code);
    reply_message(&pending.reply, message);
    assert_non_null(strstr(message, why));
}

#define TAKE_2 "STOCK.TAKE shoe " ORDER " ann 2"

/* ---- TAKE ------------------------------------------------------------------------------------ */

static void a_product_without_shards_costs_one_call(void **state)
{
    (void)state;
    execute_line(TAKE_2);
    answer("take_stock", "main", "*2\r\n:1\r\n:8\r\n");
    expect_remaining(8);
    assert_null(stock_product_find(stocks, hf_text("shoe")));
}

static void an_order_is_taken_at_its_shard(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 3);
    answer("take_shard", home, "*2\r\n:1\r\n:40\r\n");
    expect_remaining(43); /* 40 there and 3 at the main counter */
}

/* It may have been taken at the main counter before the mode changed. */
static void a_main_counter_that_knows_orders_is_asked_first(void **state)
{
    (void)state;
    execute_line(TAKE_2);
    answer("take_stock", "main", "-SHARDED the product is in shards\r\n");
    answer_figures("main", 3, 9, 5);
    answer_found("main", "", 0);
    answer("take_shard", home, "*2\r\n:1\r\n:40\r\n");
    expect_remaining(43);
}

static void an_order_that_the_main_counter_knows_is_not_taken_again(void **state)
{
    (void)state;
    execute_line(TAKE_2);
    answer("take_stock", "main", "-SHARDED the product is in shards\r\n");
    answer_figures("main", 3, 9, 5);
    answer_found("main", "T", 2);
    answer("take_shard", "main", "*2\r\n:1\r\n:3\r\n");
    expect_remaining(3);
}

static void sold_out_takes_two_readings_of_all_counters(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 0);
    answer("take_shard", home, "*5\r\n:0\r\n$5\r\nSHORT\r\n:0\r\n:0\r\n:0\r\n");
    answer_reading(0, 1, 0);
    assert_int_equal(answered, 0);
    answer_reading(0, 1, 0);
    expect_refused(HF_SOLD_OUT, "1 left, 2 requested");
}

static void stock_of_another_shard_is_brought_and_taken(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 0);
    answer("take_shard", home, "*5\r\n:0\r\n$5\r\nSHORT\r\n:0\r\n:0\r\n:0\r\n");
    answer_reading(0, *home == '0' ? 0 : 10, *home == '0' ? 10 : 0);
    answer("send_stock", elsewhere, "*4\r\n:1\r\n:77\r\n:5\r\n:5\r\n");
    answer("receive_stock", home, "*3\r\n:5\r\n:5\r\n:5\r\n");
    answer("forget_stock", elsewhere, "*3\r\n:0\r\n:5\r\n:0\r\n");
    assert_int_equal(answered, 0);
    answer("take_shard", home, "*2\r\n:1\r\n:3\r\n");
    expect_remaining(8);
}

static void a_shard_that_is_silent_makes_nobody_sold_out(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 0);
    answer("take_shard", home, "*5\r\n:0\r\n$5\r\nSHORT\r\n:0\r\n:0\r\n:0\r\n");
    answer_figures("main", 0, 0, 5);
    answer_figures(home, 0, 0, 5);
    answer_nothing("read_shard", elsewhere);
    expect_refused(HF_ENGINE_DOWN, "not all shards");
}

static void a_take_without_an_answer_is_unknown(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 3);
    answer_nothing("take_shard", home);
    expect_refused(HF_TIMEOUT, "no answer");
    assert_true(pending.reply.unknown);
}

static void a_counter_with_a_later_epoch_has_the_product_read_again(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 3);
    answer("take_shard", home, "*3\r\n:0\r\n$5\r\nSTALE\r\n:6\r\n");
    answer_figures("main", 3, 0, 6);
    answer_figures("0", 40, 0, 6);
    answer_figures("1", 40, 0, 6);
    answer("take_shard", home, "*2\r\n:1\r\n:38\r\n");
    expect_remaining(81);
}

/* The shard learnt of a CLOSE after the main counter was read: nothing is sold in its epoch. */
static void a_product_that_another_engine_turned_is_read_again(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 3);
    answer("take_shard", home, "*3\r\n:0\r\n$5\r\nSTALE\r\n:6\r\n");
    answer_figures("main", 3, 0, 5);
    answer_figures(home, 40, 0, 6);
    answer_figures(elsewhere, 40, 0, 5);
    answer("turn_shards", "main", "*3\r\n:0\r\n:6\r\n$7\r\nclosing\r\n");
    answer_figures("main", 3, 0, 7); /* open again */
    answer("take_shard", home, "*2\r\n:1\r\n:38\r\n");
    expect_remaining(81);
}

static void a_product_that_lost_its_shards_is_taken_from_as_a_whole(void **state)
{
    (void)state;
    execute_line(TAKE_2);
    answer("take_stock", "main", "-SHARDED the product is in shards\r\n");
    answer("read_shard", "main",
           "*17\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n$0\r\n\r\n:0\r\n:0\r\n"
           ":0\r\n$0\r\n\r\n:0\r\n:0\r\n:0\r\n");
    answer("take_stock", "main", "*3\r\n:0\r\n$9\r\nNOT_FOUND\r\n$10\r\nno product\r\n");
    expect_refused(HF_NOT_FOUND, "no product");
}

static void a_malformed_reply_is_internal(void **state)
{
    (void)state;
    execute_sharded(TAKE_2, "take_stock", 3);
    answer("take_shard", home, "+OK\r\n");
    expect_refused(HF_INTERNAL, "cannot answer");
}

/* ---- SETTLE, GIVE, GET ----------------------------------------------------------------------- */

static void an_order_is_settled_where_new_ones_are_taken(void **state)
{
    (void)state;
    execute_sharded("STOCK.SETTLE shoe " ORDER, "settle_stock", 3);
    answer("close_shard", home, "*2\r\n:1\r\n:40\r\n");
    expect_remaining(43);
}

static void an_order_that_its_shard_does_not_know_is_looked_up_at_the_main_counter(void **state)
{
    (void)state;
    execute_line("STOCK.GIVE shoe " ORDER);
    answer("give_stock", "main", "-SHARDED the product is in shards\r\n");
    answer_figures("main", 3, 9, 5); /* it knows orders */
    answer("close_shard", home, "*3\r\n:0\r\n$9\r\nNOT_FOUND\r\n$8\r\nno order\r\n");
    answer_found(home, "", 0);
    answer_found("main", "T", 2);
    answer("close_shard", "main", "*2\r\n:1\r\n:5\r\n");
    expect_remaining(5);
}

static void an_order_that_nobody_knows_is_not_found(void **state)
{
    (void)state;
    execute_sharded("STOCK.GIVE shoe " ORDER, "give_stock", 3);
    answer("close_shard", home, "*3\r\n:0\r\n$9\r\nNOT_FOUND\r\n$8\r\nno order\r\n");
    answer_found(home, "", 0); /* the main counter knows no order at all */
    expect_refused(HF_NOT_FOUND, "no such order");
}

/* ---- a limited product ----------------------------------------------------------------------- */

#define TAKE_MAX TAKE_2 " MAX 3"

/* The shards of the user ann, and the other one. */
static const char *home_of_user(bool other)
{
    bool even = redis_slot(hf_text("ann")) % 2 == 0;
    return even != other ? "0" : "1";
}

/* A TAKE with MAX of a product that was limited before. */
static void take_limited(int at_main)
{
    is_limited = true;
    execute_sharded(TAKE_MAX, "take_stock", at_main);
}

static void the_first_max_limits_the_product(void **state)
{
    (void)state;
    execute_sharded(TAKE_MAX, "take_stock", 3);
    answer("limit_shards", "main", "*2\r\n:1\r\n:6\r\n");
    is_limited = true;
    answer_figures("main", 3, 0, 6);
    answer_found("main", "", 0);
    answer_found(home_of_user(true), "", 0);
    answer("take_shard", home_of_user(false), "*2\r\n:1\r\n:40\r\n");
    expect_remaining(43);
}

static void an_order_found_at_another_shard_is_compared_there(void **state)
{
    (void)state;
    take_limited(3);
    answer_found("main", "", 0);
    answer_found(home_of_user(true), "T", 2);
    answer("take_shard", home_of_user(true), "*3\r\n:0\r\n$13\r\nINVALID_STATE\r\n$5\r\nother\r\n");
    expect_refused(HF_INVALID_STATE, "other");
}

/* What the user had elsewhere may have been given back meanwhile: it is asked for once more. */
static void a_limit_that_counts_other_shards_is_looked_at_twice(void **state)
{
    static const char too_much[] = "*3\r\n:0\r\n$19\r\nUSER_LIMIT_EXCEEDED\r\n$4\r\nmuch\r\n";

    (void)state;
    take_limited(3);
    for (int i = 0; i < 2; i++) {
        answer_found("main", "", 1);
        answer_found(home_of_user(true), "", 1);
        assert_int_equal(answered, 0);
        answer("take_shard", home_of_user(false), too_much);
    }
    expect_refused(HF_USER_LIMIT_EXCEEDED, "much");
}

static void nothing_is_moved_for_a_user_who_has_too_much(void **state)
{
    (void)state;
    take_limited(3);
    answer_found("main", "", 0);
    answer_found(home_of_user(true), "", 0);
    answer("take_shard", home_of_user(false), "*5\r\n:0\r\n$5\r\nSHORT\r\n:0\r\n:2\r\n:1\r\n");
    answer_reading(3, 0, 0);
    expect_refused(HF_USER_LIMIT_EXCEEDED,
                   "the user has 2 of the product, 2 requested, at most 3 allowed");
    assert_int_equal(in_flight_count, 0);
}

static void sold_out_comes_before_the_limit(void **state)
{
    (void)state;
    take_limited(0);
    answer_found("main", "", 0);
    answer_found(home_of_user(true), "", 0);
    answer("take_shard", home_of_user(false), "*5\r\n:0\r\n$5\r\nSHORT\r\n:0\r\n:2\r\n:1\r\n");
    answer_reading(1, 0, 0);
    answer_reading(1, 0, 0);
    expect_refused(HF_SOLD_OUT, "1 left, 2 requested");
}

static void with_its_user_an_order_is_settled_at_the_users_shard(void **state)
{
    (void)state;
    is_limited = true;
    execute_sharded("STOCK.SETTLE shoe " ORDER " USER ann", "settle_stock", 3);
    answer("close_shard", home_of_user(false), "*2\r\n:1\r\n:40\r\n");
    expect_remaining(43);
}

static void without_its_user_it_is_searched_at_all_counters(void **state)
{
    (void)state;
    is_limited = true;
    execute_sharded("STOCK.EXTEND shoe " ORDER " 10s", "extend_order", 3);
    answer_found("main", "", 0);
    answer_found("0", "G", 0);
    answer_found("1", "T", 0);
    answer("extend_shard", "1", "*2\r\n:1\r\n:777\r\n");
    expect_remaining(777);
}

static void a_shard_that_is_silent_keeps_a_limited_take_from_being_made(void **state)
{
    (void)state;
    take_limited(3);
    answer_found("main", "", 0);
    answer_nothing("find_order", home_of_user(true));
    expect_refused(HF_ENGINE_DOWN, "not all shards");
    assert_int_equal(in_flight_count, 0);
}

static void totals_are_read_twice_at_all_counters(void **state)
{
    (void)state;
    execute_sharded("STOCK.GET shoe", "get_stock", 3);
    answer_reading(3, 40, 57);
    assert_int_equal(answered, 0);
    answer_reading(3, 40, 57);
    assert_int_equal(answered, 1);
    assert_int_equal(pending.reply.code, HF_OK);
    assert_int_equal(pending.reply.values[0].number, 100);
}

/* ---- LIST ------------------------------------------------------------------------------------ */

#define ITEM(order)                                                                                \
    "*12\r\n$8\r\norder_id\r\n$2\r\n" order "\r\n$7\r\nuser_id\r\n$3\r\nann\r\n$8\r\nquantity"     \
    "\r\n:2\r\n$10\r\ncreated_at\r\n:7\r\n$10\r\nexpires_at\r\n:9\r\n$6\r\nstatus\r\n$"            \
    "5\r\ntaken\r\n"

static void expect_page(size_t items, const char *cursor)
{
    assert_int_equal(answered, 1);
    assert_int_equal(pending.reply.code, HF_OK);
    assert_int_equal(reply_items(&pending.reply, pending.command.spec), items);
    assert_true(text_equal(reply_bytes(&pending.reply, 0), hf_text(cursor)));
    assert_int_equal(in_flight_count, 0);
}

static void a_list_walks_over_the_counters_in_turn(void **state)
{
    (void)state;
    execute_sharded("STOCK.LIST shoe COUNT 3", "list_orders", 3);
    answer("list_shard", "main", "*2\r\n$3\r\n:o1\r\n" ITEM("o1"));
    answer("list_shard", "main", "*1\r\n$0\r\n\r\n");
    answer("list_shard", "0", "*3\r\n$3\r\n:o4\r\n" ITEM("o3") ITEM("o4"));
    expect_page(3, "0:o4");
}

static void a_list_goes_on_where_its_cursor_says(void **state)
{
    (void)state;
    execute_sharded("STOCK.LIST shoe COUNT 1 AFTER 0:o4", "list_orders", 3);
    answer("list_shard", "0", "*2\r\n$0\r\n\r\n" ITEM("o5"));
    expect_page(1, "1:");
    answered = 0;
    execute_line("STOCK.LIST shoe COUNT 1 AFTER 1:"); /* the product is read again */
    answer_figures("main", 3, 0, 5);
    answer("list_shard", "1", "*2\r\n$0\r\n\r\n" ITEM("o6"));
    expect_page(1, "");
}

static void a_counter_that_is_silent_ends_a_list(void **state)
{
    (void)state;
    execute_sharded("STOCK.LIST shoe", "list_orders", 3);
    answer("list_shard", "main", "*2\r\n$0\r\n\r\n" ITEM("o1"));
    answer_nothing("list_shard", "0");
    expect_refused(HF_ENGINE_DOWN, "not all shards");
}

static void a_malformed_page_is_internal(void **state)
{
    (void)state;
    execute_sharded("STOCK.LIST shoe", "list_orders", 3);
    answer("list_shard", "main", "*2\r\n:1\r\n" ITEM("o1"));
    expect_refused(HF_INTERNAL, "nonsense");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_product_without_shards_costs_one_call),
        CASE(an_order_is_taken_at_its_shard),
        CASE(a_main_counter_that_knows_orders_is_asked_first),
        CASE(an_order_that_the_main_counter_knows_is_not_taken_again),
        CASE(sold_out_takes_two_readings_of_all_counters),
        CASE(stock_of_another_shard_is_brought_and_taken),
        CASE(a_shard_that_is_silent_makes_nobody_sold_out),
        CASE(a_take_without_an_answer_is_unknown),
        CASE(a_counter_with_a_later_epoch_has_the_product_read_again),
        CASE(a_product_that_another_engine_turned_is_read_again),
        CASE(a_product_that_lost_its_shards_is_taken_from_as_a_whole),
        CASE(a_malformed_reply_is_internal),
        CASE(an_order_is_settled_where_new_ones_are_taken),
        CASE(an_order_that_its_shard_does_not_know_is_looked_up_at_the_main_counter),
        CASE(an_order_that_nobody_knows_is_not_found),
        CASE(the_first_max_limits_the_product),
        CASE(an_order_found_at_another_shard_is_compared_there),
        CASE(a_limit_that_counts_other_shards_is_looked_at_twice),
        CASE(nothing_is_moved_for_a_user_who_has_too_much),
        CASE(sold_out_comes_before_the_limit),
        CASE(with_its_user_an_order_is_settled_at_the_users_shard),
        CASE(without_its_user_it_is_searched_at_all_counters),
        CASE(a_shard_that_is_silent_keeps_a_limited_take_from_being_made),
        CASE(totals_are_read_twice_at_all_counters),
        CASE(a_list_walks_over_the_counters_in_turn),
        CASE(a_list_goes_on_where_its_cursor_says),
        CASE(a_counter_that_is_silent_ends_a_list),
        CASE(a_malformed_page_is_internal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
