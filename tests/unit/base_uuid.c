/* SPDX-License-Identifier: Apache-2.0
 *
 * UUIDs: only the canonical text is read, so that what is written is what was there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/uuid.h"

static const char sample[] = "01234567-89ab-cdef-0123-456789abcdef";

static bool is_dash(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

static void text_becomes_its_bytes(void **state)
{
    static const uint8_t expected[UUID_BYTES] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                                 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    uint8_t bytes[UUID_BYTES];

    (void)state;
    assert_true(uuid_read(sample, UUID_TEXT, bytes));
    assert_memory_equal(bytes, expected, UUID_BYTES);
}

static void bytes_survive_the_round_trip(void **state)
{
    uint8_t bytes[UUID_BYTES], back[UUID_BYTES];
    char text[UUID_TEXT];

    (void)state;
    srandom(6);
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < UUID_BYTES; i++) {
            bytes[i] = round == 0 ? 0 : round == 1 ? 0xff : (uint8_t)random();
        }
        uuid_write(bytes, text);
        assert_true(uuid_read(text, UUID_TEXT, back));
        assert_memory_equal(back, bytes, UUID_BYTES);
    }
}

/* Every byte at every position: read if, and only if, it would be written like that. */
static void any_other_character_anywhere_is_refused(void **state)
{
    char text[sizeof sample], again[UUID_TEXT];
    uint8_t bytes[UUID_BYTES];

    (void)state;
    for (size_t at = 0; at < UUID_TEXT; at++) {
        memcpy(text, sample, sizeof sample);
        for (int c = 0; c < 256; c++) {
            bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
            text[at] = (char)c;
            bool read = uuid_read(text, UUID_TEXT, bytes);
            assert_int_equal(read, is_dash(at) ? c == '-' : hex);
            if (read) {
                uuid_write(bytes, again);
                assert_memory_equal(again, text, UUID_TEXT);
            }
        }
    }
}

static void upper_case_is_refused(void **state)
{
    uint8_t bytes[UUID_BYTES];

    (void)state;
    assert_false(uuid_read("01234567-89AB-CDEF-0123-456789ABCDEF", UUID_TEXT, bytes));
    assert_false(uuid_read("01234567-89ab-cdef-0123-456789abcdeF", UUID_TEXT, bytes));
}

static void other_lengths_are_refused(void **state)
{
    static const char longer[] = "01234567-89ab-cdef-0123-456789abcdef0";
    uint8_t bytes[UUID_BYTES];

    (void)state;
    for (size_t size = 0; size <= UUID_TEXT + 1; size++) {
        assert_int_equal(uuid_read(longer, size, bytes), size == UUID_TEXT);
    }
    assert_false(uuid_read(NULL, 0, bytes));
}

static void random_bytes_become_version_4(void **state)
{
    char text[UUID_TEXT];

    (void)state;
    for (int fill = 0; fill < 256; fill++) {
        uint8_t bytes[UUID_BYTES];
        memset(bytes, fill, sizeof bytes);
        uuid_from_random(bytes);
        uuid_write(bytes, text);
        assert_int_equal(text[14], '4');
        assert_non_null(memchr("89ab", text[19], 4));
        assert_int_equal(bytes[0], fill);
        assert_int_equal(bytes[6] & 0x0f, fill & 0x0f);
        assert_int_equal(bytes[8] & 0x3f, fill & 0x3f);
        assert_int_equal(bytes[15], fill);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_becomes_its_bytes),
        cmocka_unit_test(bytes_survive_the_round_trip),
        cmocka_unit_test(any_other_character_anywhere_is_refused),
        cmocka_unit_test(upper_case_is_refused),
        cmocka_unit_test(other_lengths_are_refused),
        cmocka_unit_test(random_bytes_become_version_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
