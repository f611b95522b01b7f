/* SPDX-License-Identifier: Apache-2.0
 *
 * SipHash-2-4 against the values of its authors: key 00…0f, message 00, 01, … of each length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/siphash.h"

static void count_up(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)i;
    }
}

static void reference_values(void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd), UINT64_C(0x0d6c8009d9a94f5a),
        UINT64_C(0x85676696d7fb7e2d), UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
        UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137), UINT64_C(0x93f5f5799a932462),
        UINT64_C(0x9e0082df0ba9e4b0), UINT64_C(0x7a5dbbc594ddb9f3), UINT64_C(0xf4b32f46226bada7),
        UINT64_C(0x751e8fbc860ee5fb), UINT64_C(0x14ea5627c0843d90), UINT64_C(0xf723ca908e7af2ee),
        UINT64_C(0xa129ca6149be45e5)};
    uint8_t key[SIPHASH_KEY], message[16];

    (void)state;
    count_up(key, sizeof key);
    count_up(message, sizeof message);
    for (size_t size = 0; size < sizeof expected / sizeof expected[0]; size++) {
        assert_true(siphash(key, message, size) == expected[size]);
    }
}

static void every_bit_of_key_and_message_matters(void **state)
{
    uint8_t key[SIPHASH_KEY], message[21];

    (void)state;
    count_up(key, sizeof key);
    count_up(message, sizeof message);
    uint64_t whole = siphash(key, message, sizeof message);
    for (size_t bit = 0; bit < sizeof key * 8; bit++) {
        key[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_true(siphash(key, message, sizeof message) != whole);
        key[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    for (size_t bit = 0; bit < sizeof message * 8; bit++) {
        message[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_true(siphash(key, message, sizeof message) != whole);
        message[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    assert_true(siphash(key, message, sizeof message) == whole);
}

static void zeros_of_different_lengths_differ(void **state)
{
    static const uint8_t key[SIPHASH_KEY], zeros[64];

    (void)state;
    for (size_t a = 0; a < sizeof zeros; a++) {
        for (size_t b = 0; b < a; b++) {
            assert_true(siphash(key, zeros, a) != siphash(key, zeros, b));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_values),
        cmocka_unit_test(every_bit_of_key_and_message_matters),
        cmocka_unit_test(zeros_of_different_lengths_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
