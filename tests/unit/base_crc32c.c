/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32C against published values (RFC 3720, B.4) and against the definition, bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"

static void known_values(void **state)
{
    uint8_t block[32];

    (void)state;
    assert_int_equal(crc32c(0, "", 0), 0);
    assert_int_equal(crc32c(0, "a", 1), 0xc1d04330);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    memset(block, 0, sizeof block);
    assert_int_equal(crc32c(0, block, sizeof block), 0x8a9136aa);
    memset(block, 0xff, sizeof block);
    assert_int_equal(crc32c(0, block, sizeof block), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++) {
        block[i] = i;
    }
    assert_int_equal(crc32c(0, block, sizeof block), 0x46dd794e);
    for (uint8_t i = 0; i < 32; i++) {
        block[i] = (uint8_t)(31 - i);
    }
    assert_int_equal(crc32c(0, block, sizeof block), 0x113fdb5c);
}

static uint32_t by_definition(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size * 8; i++) {
        uint32_t bit = ((uint32_t)data[i / 8] >> (i % 8) & 1) ^ (crc & 1);
        crc = crc >> 1 ^ (bit ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void every_size_and_alignment_follows_the_definition(void **state)
{
    uint8_t data[96];

    (void)state;
    srandom(7);
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)random();
    }
    for (size_t start = 0; start < 9; start++) {
        for (size_t size = 0; start + size <= sizeof data; size++) {
            assert_int_equal(crc32c(0, data + start, size), by_definition(data + start, size));
        }
    }
}

static void in_pieces_is_the_same_as_at_once(void **state)
{
    static const char text[] = "The quick brown fox jumps over the lazy dog";
    const size_t size = sizeof text - 1;

    (void)state;
    for (size_t cut = 0; cut <= size; cut++) {
        uint32_t first = crc32c(0, text, cut);
        assert_int_equal(crc32c(first, text + cut, size - cut), crc32c(0, text, size));
    }
}

static void every_single_bit_matters(void **state)
{
    uint8_t data[40] = {0};
    uint32_t whole = crc32c(0, data, sizeof data);

    (void)state;
    for (size_t bit = 0; bit < sizeof data * 8; bit++) {
        data[bit / 8] = (uint8_t)(1U << bit % 8);
        assert_int_not_equal(crc32c(0, data, sizeof data), whole);
        data[bit / 8] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_size_and_alignment_follows_the_definition),
        cmocka_unit_test(in_pieces_is_the_same_as_at_once),
        cmocka_unit_test(every_single_bit_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
