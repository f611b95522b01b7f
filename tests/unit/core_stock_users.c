/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.TAKE with MAX: what a user has taken and bought of a product counts, whatever has become of
 * it; and the records of users come and go with their orders. */
#include "snapshot_fixture.h"

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "core/state.h"

#define START 1000

static struct fixture *ten_pairs(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "STOCK.LOAD shoe 10");
    return f;
}

static uint32_t users(const struct fixture *f)
{
    return f->core->stores[CORE_STOCK_USERS].slab.count;
}

static void a_user_has_at_most_so_many(void **state)
{
    struct fixture *f = ten_pairs(state);

    expect(f, "STOCK.TAKE shoe o1 ann 2 MAX 2", "1 8");
    expect_unchanged(f, "STOCK.TAKE shoe o2 ann 1 MAX 2", "0 USER_LIMIT_EXCEEDED");
    char text[MESSAGE_SIZE];
    reply_message(&f->reply, text);
    assert_string_equal(text, "the user has 2 of the product, 1 requested, at most 2 allowed");
    expect(f, "STOCK.TAKE shoe o2 bob 2 MAX 2", "1 6");
    expect(f, "STOCK.TAKE shoe o3 ann 1 MAX 3", "1 5");
    expect_unchanged(f, "STOCK.TAKE shoe o4 cleo 3 MAX 2", "0 USER_LIMIT_EXCEEDED");
}

static void orders_without_a_limit_count(void **state)
{
    struct fixture *f = ten_pairs(state);

    expect(f, "STOCK.TAKE shoe o1 ann 3", "1 7");
    expect(f, "STOCK.TAKE shoe o2 ann 1 MAX 3", "0 USER_LIMIT_EXCEEDED");
    expect(f, "STOCK.TAKE shoe o2 ann 1", "1 6");
}

static void a_retry_is_answered_whatever_the_limit(void **state)
{
    struct fixture *f = ten_pairs(state);

    expect(f, "STOCK.TAKE shoe o1 ann 2 MAX 2", "1 8");
    expect_unchanged(f, "STOCK.TAKE shoe o1 ann 2 MAX 2", "1 8");
    expect_unchanged(f, "STOCK.TAKE shoe o1 ann 2 MAX 1", "1 8");
}

static void too_little_stock_comes_before_the_limit(void **state)
{
    struct fixture *f = ten_pairs(state);

    expect_unchanged(f, "STOCK.TAKE shoe o1 ann 11 MAX 1", "0 SOLD_OUT");
    expect_unchanged(f, "STOCK.TAKE shoe o1 ann 10 MAX 1", "0 USER_LIMIT_EXCEEDED");
    expect_unchanged(f, "STOCK.TAKE shoe o1 ann 1 MAX 0", "0 INVALID_QUANTITY");
}

static void what_was_given_back_does_not_count(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 2 MAX 2");
    run(f, "STOCK.GIVE shoe o1");
    expect(f, "STOCK.TAKE shoe o2 ann 2 MAX 2", "1 8");
    expect(f, "STOCK.TAKE shoe o1 ann 1 MAX 2", "0 USER_LIMIT_EXCEEDED");
}

static void what_has_expired_does_not_count(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 2 MAX 2 TTL 10s");
    at(f, START + 9999);
    expect(f, "STOCK.TAKE shoe o2 ann 1 MAX 2", "0 USER_LIMIT_EXCEEDED");
    at(f, START + 10000);
    expect(f, "STOCK.TAKE shoe o2 ann 2 MAX 2", "1 8");
}

static void what_was_bought_counts_for_good(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 2 MAX 2");
    run(f, "STOCK.SETTLE shoe o1");
    at(f, START + 1000000);
    expect(f, "STOCK.TAKE shoe o2 ann 1 MAX 2", "0 USER_LIMIT_EXCEEDED");
    expect(f, "STOCK.TAKE shoe o2 ann 1 MAX 3", "1 7");
}

static void another_product_is_another_limit(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.LOAD sock 10");
    run(f, "STOCK.TAKE shoe o1 ann 1 MAX 1");
    expect(f, "STOCK.TAKE sock o1 ann 1 MAX 1", "1 9");
}

static void a_user_is_remembered_as_long_as_there_is_a_reason(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 1");
    run(f, "STOCK.TAKE shoe o2 bob 1 TTL 10s");
    run(f, "STOCK.TAKE shoe o3 a-user-with-a-name-that-is-rather-long 1");
    assert_int_equal(users(f), 3);
    expect(f, "STOCK.TAKE shoe o4 cleo 1 MAX 1 TTL 9ms", "0 INVALID_TTL");
    expect(f, "STOCK.TAKE shoe o4 cleo 99 MAX 1", "0 SOLD_OUT");
    assert_int_equal(users(f), 3); /* a refusal makes none */
    run(f, "STOCK.SETTLE shoe o1");
    run(f, "STOCK.GIVE shoe o3");
    at(f, START + 300000);
    run(f, "STOCK.GET shoe");
    core_advance(f->core, START + 300000);
    assert_int_equal(users(f), 1); /* ann, who has bought something */
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void replace_core(struct fixture *f, const char *data, size_t size)
{
    struct core *core = restore(&f->memory, data, size, NULL);

    assert_non_null(core);
    assert_int_equal(core_audit(core, NULL, NULL), 0);
    core_destroy(f->core);
    f->core = core;
}

static void a_snapshot_has_what_users_have(void **state)
{
    struct fixture *f = ten_pairs(state);

    run(f, "STOCK.TAKE shoe o1 ann 1");
    run(f, "STOCK.TAKE shoe o2 ann 1");
    run(f, "STOCK.TAKE shoe o3 a-user-with-a-name-that-is-rather-long 3");
    run(f, "STOCK.SETTLE shoe o1");
    struct buffer bytes = snapshot_of(f);
    uint64_t digest = core_digest(f->core);
    replace_core(f, bytes.data, bytes.size);
    assert_true(core_digest(f->core) == digest);
    expect(f, "STOCK.TAKE shoe o4 ann 1 MAX 2", "0 USER_LIMIT_EXCEEDED");
    expect(f, "STOCK.TAKE shoe o2 ann 1", "1 5");
    buffer_free(&bytes);
}

static void put_text(struct buffer *bytes, const char *text)
{
    buffer_byte(bytes, (uint8_t)strlen(text));
    buffer_text(bytes, text);
}

/* Numbers, each as a zigzag varint. */
static void put_numbers(struct buffer *bytes, size_t count, const int64_t *numbers)
{
    for (size_t i = 0; i < count; i++) {
        buffer_signed(bytes, numbers[i]);
    }
}

#define PUT(bytes, ...)                                                                            \
    put_numbers(bytes, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

/* Version 3: an order has its user's name, and there are no users. Ann has two of ten pairs until
 * 11000; bob has bought three, which is remembered until 301000. */
static void put_version_3(struct buffer *bytes)
{
    buffer_text(bytes, "HOLDFAST");
    buffer_varint(bytes, 3);
    PUT(bytes, START, 0); /* time, fence */
    buffer_varint(bytes, 0);
    buffer_bytes(bytes, "0123456789abcdef", 16);
    PUT(bytes, 0);
    for (enum kind kind = 0; kind < CORE_STOCK_USERS; kind++) {
        if (kind == CORE_PRODUCTS) {
            buffer_varint(bytes, 1);
            PUT(bytes, 0, 0, 0, 0);
            put_text(bytes, "shoe");
            PUT(bytes, 10, 0, 2, 3, 1, 0);
            buffer_varint(bytes, 0);
        } else if (kind == CORE_ORDERS) {
            buffer_varint(bytes, 2);
            PUT(bytes, 0, ORDER_TAKEN, 0, 0, START + 10000);
            put_text(bytes, "o1");
            put_text(bytes, "ann");
            PUT(bytes, 2, 10000);
            PUT(bytes, 0, ORDER_SETTLED, 0, RECORD_CLOSED, START + 300000);
            put_text(bytes, "o2");
            put_text(bytes, "bob");
            PUT(bytes, 3, 10000);
            buffer_varint(bytes, 1);
            buffer_varint(bytes, 1);
        } else {
            buffer_varint(bytes, 0);
            buffer_varint(bytes, 0);
        }
    }
    uint8_t crc[4];
    put_u32(crc, crc32c(0, bytes->data, bytes->size));
    buffer_bytes(bytes, crc, sizeof crc);
}

static void a_snapshot_of_version_3_is_read(void **state)
{
    struct fixture *f = *state;
    struct buffer bytes;

    buffer_init(&bytes, &f->memory);
    put_version_3(&bytes);
    replace_core(f, bytes.data, bytes.size);
    buffer_free(&bytes);
    at(f, START + 1);
    expect(f, "STOCK.GET shoe", "available 5 taken 2 sold 3 loaded 10 shards 1 mode single");
    expect(f, "STOCK.TAKE shoe o3 ann 1 MAX 2", "0 USER_LIMIT_EXCEEDED");
    expect(f, "STOCK.TAKE shoe o1 ann 2 TTL 10s", "1 5");
    expect(f, "STOCK.SETTLE shoe o2 USER ann", "0 NOT_OWNER");
    expect(f, "STOCK.TAKE shoe o4 bob 1 MAX 1", "1 4"); /* what bob bought then is not known */
    expect(f, "STOCK.EXTEND shoe o1 1h", "1 121000");
    assert_int_equal(core_audit(f->core, NULL, NULL), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_user_has_at_most_so_many),
        CASE(orders_without_a_limit_count),
        CASE(a_retry_is_answered_whatever_the_limit),
        CASE(too_little_stock_comes_before_the_limit),
        CASE(what_was_given_back_does_not_count),
        CASE(what_has_expired_does_not_count),
        CASE(what_was_bought_counts_for_good),
        CASE(another_product_is_another_limit),
        CASE(a_user_is_remembered_as_long_as_there_is_a_reason),
        CASE(a_snapshot_has_what_users_have),
        CASE(a_snapshot_of_version_3_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
