/* SPDX-License-Identifier: Apache-2.0
 *
 * Which commands are for the products of a cluster; and the three steps of a transfer between two
 * counters, with replies made up by the test in the place of the client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/script.h"
#include "redis/stock/stock.h"
#include "redis/stock/transfer.h"
#include "redis_reply_fixture.h"

static void every_command_for_stock_is_known_and_no_other(void **state)
{
    (void)state;
    for (enum command_id id = 0; id < COMMAND_COUNT; id++) {
        struct command command = {.spec = &command_table[id]};
        assert_int_equal(stock_has(&command), strncmp(command.spec->name, "STOCK.", 6) == 0 &&
                                                  !(command.spec->flags & COMMAND_SERVICE));
    }
}

/* ---- a client that the test answers for ------------------------------------------------------ */

static struct redis_request *sent; /* NULL: none is in flight */
static redisReply *written;        /* the request's words */

void __wrap_redis_client_send(struct redis_client *client, struct redis_request *request);

void __wrap_redis_client_send(struct redis_client *client, struct redis_request *request)
{
    (void)client;
    assert_null(sent);
    sent = request;
    if (written != NULL) {
        freeReplyObject(written);
    }
    written = read_resp(request->bytes, request->size);
}

static void answer_with(enum redis_fate fate, const char *resp, const struct problem *problem)
{
    struct redis_request *request = sent;
    redisReply *reply = resp != NULL ? read_resp_text(resp) : NULL;

    assert_non_null(request);
    sent = NULL;
    request->done(request, fate, reply, problem);
    if (reply != NULL) {
        freeReplyObject(reply);
    }
}

static void answer(const char *resp)
{
    answer_with(REDIS_ANSWERED, resp, NULL);
}

/* The request in flight calls this script with that first key and these arguments, the last ones.
 */
static void expect_call(const char *script, const char *key, size_t count, const char *const *args)
{
    assert_non_null(sent);
    assert_string_equal(sent->script->name, script);
    assert_string_equal(written->element[1]->str, script_find(script)->sha1);
    assert_string_equal(written->element[3]->str, key);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(written->element[written->elements - count + i]->str, args[i]);
    }
    assert_int_equal(sent->slot, redis_slot(hf_text(key)));
}

#define EXPECT_CALL(script, key, ...)                                                              \
    expect_call(script, key, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),               \
                (const char *[]){__VA_ARGS__})

/* ---- a transfer ------------------------------------------------------------------------------ */

static uv_loop_t loop;
static struct script_env env;
static struct stocks stocks;
static struct stock_product *product;
static struct stock_transfer transfer;
static int ends;

static void on_end(struct stock_transfer *ended)
{
    assert_ptr_equal(ended, &transfer);
    assert_null(sent);
    ends++;
}

static int begin(void **state)
{
    struct counter_figures main = {.known = true, .epoch = 5, .main = {.shard_count = 4}};

    (void)state;
    ends = 0;
    sent = NULL;
    assert_int_equal(uv_loop_init(&loop), 0);
    env = (struct script_env){.loop = &loop, .url = {.kind = REDIS_CLUSTER, .timeout_ms = 1000}};
    memory_init(&env.memory);
    buffer_init(&env.scratch, &env.memory);
    stocks = (struct stocks){.env = &env};
    list_init(&stocks.recent);
    for (size_t i = 0; i < STOCK_PRODUCT_BUCKETS; i++) {
        list_init(&stocks.buckets[i]);
    }
    product = stock_product_add(&stocks, hf_text("shoe"));
    assert_non_null(product);
    assert_true(stock_product_learn(product, &main));
    stock_transfer_init(&transfer, product, 5, 3, COUNTER_MAIN);
    return 0;
}

static int end(void **state)
{
    (void)state;
    stock_transfer_free(&transfer);
    stock_products_free(&stocks);
    buffer_free(&env.scratch);
    if (written != NULL) {
        freeReplyObject(written);
        written = NULL;
    }
    assert_int_equal(env.memory.used, 0);
    return uv_loop_close(&loop);
}

static void stock_is_sent_received_and_forgotten(void **state)
{
    (void)state;
    stock_transfer_send(&transfer, 6, 9, on_end, NULL);
    EXPECT_CALL("send_stock", "stock:{shoe_2}", "main", "6", "9", "5");
    assert_true(sent->repeatable);
    answer("*4\r\n:1\r\n:77\r\n:8\r\n:12\r\n");
    assert_int_equal(product->seen[3].available, 12);
    EXPECT_CALL("receive_stock", "stock:{shoe_main}", "2", "77", "8", "5");
    answer("*3\r\n:8\r\n:20\r\n:77\r\n");
    assert_int_equal(product->seen[COUNTER_MAIN].available, 20);
    EXPECT_CALL("forget_stock", "stock:{shoe_2}", "main", "77", "5");
    assert_int_equal(ends, 0);
    answer("*3\r\n:0\r\n:11\r\n:0\r\n");
    assert_int_equal(product->seen[3].available, 11);
    assert_int_equal(ends, 1);
    assert_false(transfer.failed);
}

/* The target has more from there than the source knows of, which learns it and takes it off. */
static void a_source_that_forgot_transfers_is_told_what_arrived(void **state)
{
    (void)state;
    stock_transfer_send(&transfer, 6, 9, on_end, NULL);
    answer("*4\r\n:1\r\n:77\r\n:8\r\n:12\r\n");
    answer("*3\r\n:0\r\n:20\r\n:97\r\n");
    EXPECT_CALL("forget_stock", "stock:{shoe_2}", "main", "97", "5");
    answer("*3\r\n:20\r\n:0\r\n:8\r\n");
    assert_int_equal(product->seen[3].available, -8); /* it owes them */
    assert_int_equal(ends, 1);
}

static void a_source_that_is_empty_ends_it(void **state)
{
    (void)state;
    product->seen[3].available = 9; /* as it was seen last */
    stock_transfer_send(&transfer, 1, 1, on_end, NULL);
    answer("*2\r\n:0\r\n:0\r\n");
    assert_int_equal(ends, 1);
    assert_false(transfer.failed);
    assert_int_equal(product->seen[3].available, 0);
}

/* Another engine has sent some before: this is the transfer that is received. */
static void one_that_is_in_flight_already_is_carried_on(void **state)
{
    (void)state;
    stock_transfer_send(&transfer, 6, 9, on_end, NULL);
    answer("*4\r\n:2\r\n:55\r\n:3\r\n:40\r\n");
    EXPECT_CALL("receive_stock", "stock:{shoe_main}", "2", "55", "3", "5");
    answer("*3\r\n:0\r\n:20\r\n:55\r\n"); /* it had arrived */
    EXPECT_CALL("forget_stock", "stock:{shoe_2}", "main", "55", "5");
}

static void one_from_an_outbox_begins_with_the_second_step(void **state)
{
    struct stock_open_transfer open = {.source = 3, .total = 7, .quantity = 2};

    (void)state;
    stock_transfer_carry_on(&transfer, &open, on_end, NULL);
    EXPECT_CALL("receive_stock", "stock:{shoe_main}", "2", "7", "2", "5");
}

static void a_step_without_an_answer_leaves_it_in_flight(void **state)
{
    struct problem problem = {HF_TIMEOUT, "no answer"};

    (void)state;
    stock_transfer_send(&transfer, 6, 9, on_end, NULL);
    answer("*4\r\n:1\r\n:77\r\n:8\r\n:12\r\n");
    answer_with(REDIS_UNKNOWN, NULL, &problem);
    assert_int_equal(ends, 1);
    assert_true(transfer.failed);
    assert_int_equal(transfer.problem.code, HF_TIMEOUT);
}

static void once_it_has_arrived_a_lost_answer_is_no_failure(void **state)
{
    struct problem problem = {HF_TIMEOUT, "no answer"};

    (void)state;
    stock_transfer_send(&transfer, 6, 9, on_end, NULL);
    answer("*4\r\n:1\r\n:77\r\n:8\r\n:12\r\n");
    answer("*3\r\n:8\r\n:20\r\n:77\r\n");
    answer_with(REDIS_UNKNOWN, NULL, &problem);
    assert_int_equal(ends, 1);
    assert_false(transfer.failed);
}

static void an_answer_that_is_none_is_an_internal_failure(void **state)
{
    static const char *const cases[] = {
        ":1\r\n",       "*0\r\n",
        "*1\r\n:1\r\n", "*3\r\n:1\r\n:77\r\n:8\r\n",
        "*-1\r\n",      "*4\r\n:1\r\n:77\r\n$1\r\nx\r\n:1\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stock_transfer_send(&transfer, 6, 9, on_end, NULL);
        answer(cases[i]);
        assert_int_equal(ends, i + 1);
        assert_true(transfer.failed);
        assert_int_equal(transfer.problem.code, HF_INTERNAL);
        transfer.failed = false;
    }
}

/* Redis has no memory left, say: that is what the caller is to hear. */
static void an_error_of_redis_is_passed_on(void **state)
{
    (void)state;
    stock_transfer_send(&transfer, 6, 9, on_end, NULL);
    answer("-OOM command not allowed\r\n");
    assert_true(transfer.failed);
    assert_int_equal(transfer.problem.code, HF_BUSY);
    assert_non_null(strstr(transfer.problem.message, "OOM command not allowed"));
}

/* More fell due than one call gives back: the same call again. */
static void a_script_that_says_again_is_called_again(void **state)
{
    (void)state;
    stock_transfer_send(&transfer, 6, 9, on_end, NULL);
    answer("-AGAIN more fell due than one call returns: call again\r\n");
    EXPECT_CALL("send_stock", "stock:{shoe_2}", "main", "6", "9", "5");
    assert_in_range(sent->timeout_ms, 1, 1000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_for_stock_is_known_and_no_other),
        CASE(stock_is_sent_received_and_forgotten),
        CASE(a_source_that_forgot_transfers_is_told_what_arrived),
        CASE(a_source_that_is_empty_ends_it),
        CASE(one_that_is_in_flight_already_is_carried_on),
        CASE(one_from_an_outbox_begins_with_the_second_step),
        CASE(a_step_without_an_answer_leaves_it_in_flight),
        CASE(once_it_has_arrived_a_lost_answer_is_no_failure),
        CASE(an_answer_that_is_none_is_an_internal_failure),
        CASE(an_error_of_redis_is_passed_on),
        CASE(a_script_that_says_again_is_called_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
