/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that grow, the numbers written into them, and the reader that reads them back without ever
 * trusting them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"

static struct memory memory;
static struct buffer buffer;

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    buffer_init(&buffer, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_free(&buffer);
    assert_int_equal(memory.used, 0);
    return 0;
}

static void expect_text(const char *text)
{
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, strlen(text));
    assert_memory_equal(buffer.data, text, buffer.size);
    buffer_clear(&buffer);
}

static void pieces_are_joined(void **state)
{
    (void)state;
    buffer_text(&buffer, "*2");
    buffer_bytes(&buffer, "\r\n", 2);
    buffer_byte(&buffer, ':');
    buffer_decimal(&buffer, -42);
    buffer_format(&buffer, " %s=%d", "x", 7);
    buffer_bytes(&buffer, NULL, 0);
    buffer_text(&buffer, "");
    expect_text("*2\r\n:-42 x=7");
}

static void grows_and_keeps_what_it_has(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        buffer_byte(&buffer, (uint8_t)(i * 7));
    }
    assert_int_equal(buffer.size, 100000);
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal((uint8_t)buffer.data[i], (uint8_t)(i * 7));
    }
    size_t capacity = buffer.capacity;
    buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(buffer.capacity, capacity);
}

static void impossible_size_fails_and_stays_failed(void **state)
{
    (void)state;
    buffer_text(&buffer, "kept");
    assert_false(buffer_reserve(&buffer, SIZE_MAX));
    assert_true(buffer.failed);
    buffer_text(&buffer, "ignored");
    assert_int_equal(buffer.size, 4);
    assert_false(buffer_reserve(&buffer, 1));
    buffer_clear(&buffer);
    buffer_text(&buffer, "again");
    expect_text("again");
}

static void long_formatted_text_is_cut_not_overrun(void **state)
{
    static char text[3000];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    buffer_format(&buffer, "%s", text);
    assert_true(buffer.size >= 1000 && buffer.size < 3000);
    assert_memory_equal(buffer.data, text, buffer.size);
}

static void decimals_are_as_printf_writes_them(void **state)
{
    static const int64_t numbers[] = {
        0,         1,        -1, 9, 10, -10, 99, 100, 999999999, HF_INTEGER_MAX, -HF_INTEGER_MAX,
        INT64_MAX, INT64_MIN};
    char expected[32], text[21];

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(expected, sizeof expected, "%lld", (long long)numbers[i]);
        assert_int_equal(decimal_write(text, numbers[i]), strlen(expected));
        assert_memory_equal(text, expected, strlen(expected));
        buffer_decimal(&buffer, numbers[i]);
        expect_text(expected);
    }
}

/* On both sides of each power of ten. */
static void decimals_of_every_length_are_as_printf_writes_them(void **state)
{
    char expected[32], text[21];

    (void)state;
    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10) {
        for (int64_t number = power - 1; number <= power + 1; number++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                snprintf(expected, sizeof expected, "%lld", (long long)(sign * number));
                assert_int_equal(decimal_write(text, sign * number), strlen(expected));
                assert_memory_equal(text, expected, strlen(expected));
            }
        }
    }
}

static void expect_varint(uint64_t number, size_t size)
{
    struct reader reader;

    buffer_clear(&buffer);
    buffer_varint(&buffer, number);
    assert_int_equal(buffer.size, size);
    reader_init(&reader, buffer.data, buffer.size);
    assert_true(reader_varint(&reader) == number);
    assert_false(reader.failed);
    assert_int_equal(reader_left(&reader), 0);
    for (size_t cut = 0; cut < size; cut++) {
        reader_init(&reader, buffer.data, cut);
        assert_true(reader_varint(&reader) == 0);
        assert_true(reader.failed);
    }
}

static void varints_take_a_byte_for_seven_bits(void **state)
{
    (void)state;
    expect_varint(0, 1);
    for (unsigned bits = 1; bits <= 64; bits++) {
        uint64_t largest = UINT64_MAX >> (64 - bits);
        expect_varint(largest, (bits + 6) / 7);
        expect_varint(largest / 2 + 1, (bits + 6) / 7);
    }
}

static void varint_bytes_are_low_bits_first(void **state)
{
    (void)state;
    buffer_varint(&buffer, 300);
    expect_text("\xac\x02");
    buffer_varint(&buffer, 127);
    expect_text("\x7f");
    buffer_varint(&buffer, UINT64_MAX);
    expect_text("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

static void signed_numbers_survive_the_round_trip(void **state)
{
    struct reader reader;

    (void)state;
    for (unsigned bits = 0; bits < 63; bits++) {
        for (int64_t near = -1; near <= 1; near++) {
            int64_t number = (INT64_C(1) << bits) + near;
            buffer_signed(&buffer, number);
            buffer_signed(&buffer, -number);
        }
    }
    buffer_signed(&buffer, INT64_MAX);
    buffer_signed(&buffer, INT64_MIN);
    reader_init(&reader, buffer.data, buffer.size);
    for (unsigned bits = 0; bits < 63; bits++) {
        for (int64_t near = -1; near <= 1; near++) {
            int64_t number = (INT64_C(1) << bits) + near;
            assert_true(reader_signed(&reader) == number);
            assert_true(reader_signed(&reader) == -number);
        }
    }
    assert_true(reader_signed(&reader) == INT64_MAX);
    assert_true(reader_signed(&reader) == INT64_MIN);
    assert_int_equal(reader_left(&reader), 0);
    assert_false(reader.failed);
}

static void small_signed_numbers_are_zigzag_coded(void **state)
{
    (void)state;
    buffer_signed(&buffer, -1);
    buffer_signed(&buffer, 1);
    buffer_signed(&buffer, -64);
    buffer_signed(&buffer, 64);
    expect_text("\x01\x02\x7f\x80\x01");
}

static void malformed_varint_fails(void **state)
{
    static const struct hf_bytes bad[] = {
        HF_TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),     /* more than 64 bits */
        HF_TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),     /* the same */
        HF_TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01"), /* eleven bytes */
        HF_TEXT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"),     /* no end */
        HF_TEXT("\x80"),                                         /* no end */
        HF_TEXT(""),
    };
    struct reader reader;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        reader_init(&reader, bad[i].data, bad[i].size);
        assert_true(reader_varint(&reader) == 0);
        assert_true(reader.failed);
        assert_int_equal(reader_left(&reader), 0);
    }
}

static void failed_reader_answers_zeros_from_then_on(void **state)
{
    struct reader reader;

    (void)state;
    reader_init(&reader, "abc", 3);
    assert_int_equal(reader_byte(&reader), 'a');
    assert_null(reader_bytes(&reader, 3));
    assert_true(reader.failed);
    assert_int_equal(reader_left(&reader), 0);
    assert_int_equal(reader_byte(&reader), 0);
    assert_int_equal(reader_varint(&reader), 0);
    assert_int_equal(reader_signed(&reader), 0);
    assert_null(reader_bytes(&reader, 1));
}

static void reader_gives_views_up_to_the_end(void **state)
{
    static const char data[] = "abcdef";
    struct reader reader;

    (void)state;
    reader_init(&reader, data, 6);
    assert_ptr_equal(reader_bytes(&reader, 4), data);
    assert_int_equal(reader_left(&reader), 2);
    assert_ptr_equal(reader_bytes(&reader, 2), data + 4);
    assert_non_null(reader_bytes(&reader, 0));
    assert_false(reader.failed);
    assert_null(reader_bytes(&reader, SIZE_MAX));
    assert_true(reader.failed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_are_joined),
        TEST(grows_and_keeps_what_it_has),
        TEST(impossible_size_fails_and_stays_failed),
        TEST(long_formatted_text_is_cut_not_overrun),
        TEST(decimals_are_as_printf_writes_them),
        TEST(decimals_of_every_length_are_as_printf_writes_them),
        TEST(varints_take_a_byte_for_seven_bits),
        TEST(varint_bytes_are_low_bits_first),
        TEST(signed_numbers_survive_the_round_trip),
        TEST(small_signed_numbers_are_zigzag_coded),
        TEST(malformed_varint_fails),
        TEST(failed_reader_answers_zeros_from_then_on),
        TEST(reader_gives_views_up_to_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
