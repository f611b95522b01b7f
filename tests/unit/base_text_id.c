/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids, by rule 8 of the contract: 1-128 bytes of UTF-8, no spaces, control characters, { or }. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

/* A code point as UTF-8, surrogates too; returns the length. */
static size_t write_utf8(uint32_t point, char *out)
{
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    for (size_t i = size; i-- > 1; point >>= 6) {
        out[i] = (char)(0x80 | (point & 0x3f));
    }
    out[0] = (char)(leads[size] | point);
    return size;
}

/* Ids are read many bytes at a time where that is possible, so `piece` is tried at every position
 * of a longer text, and at its end. */
static void expect_piece(const char *piece, size_t size, bool is_id)
{
    char text[48];

    for (size_t at = 0; at + size <= sizeof text; at++) {
        memset(text, 'a', sizeof text);
        memcpy(text + at, piece, size);
        assert_int_equal(text_is_id((struct hf_bytes){text, sizeof text}), is_id);
        assert_int_equal(text_is_id((struct hf_bytes){text, at + size}), is_id);
    }
}

static void expect_point(uint32_t point, bool is_id)
{
    char piece[4];

    expect_piece(piece, write_utf8(point, piece), is_id);
}

static void length_is_1_to_128_bytes(void **state)
{
    char text[HF_ID_MAX + 1];

    (void)state;
    memset(text, 'x', sizeof text);
    assert_false(text_is_id(hf_text(NULL)));
    for (size_t size = 0; size <= sizeof text; size++) {
        assert_int_equal(text_is_id((struct hf_bytes){text, size}), size >= 1 && size <= 128);
    }
}

static void length_counts_bytes_not_characters(void **state)
{
    char text[130];

    (void)state;
    for (size_t i = 0; i < sizeof text; i += 2) {
        write_utf8(0xe9, text + i); /* é */
    }
    assert_true(text_is_id((struct hf_bytes){text, 128}));
    assert_false(text_is_id((struct hf_bytes){text, 130}));
}

static void ascii_is_fine_but_for_spaces_controls_and_braces(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x80; c++) {
        expect_point(c, c > ' ' && c != '{' && c != '}' && c != 0x7f);
    }
}

static void later_control_characters_are_refused(void **state)
{
    (void)state;
    for (uint32_t point = 0x80; point < 0xa0; point++) {
        expect_point(point, false);
    }
}

static void every_unicode_space_is_refused(void **state)
{
    static const uint32_t spaces[] = {0x09,   0x0a,   0x0b,   0x0c,   0x0d,   0x20,   0x85,
                                      0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                      0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028,
                                      0x2029, 0x202f, 0x205f, 0x3000};
    (void)state;
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        expect_point(spaces[i], false);
    }
}

static void neighbours_of_spaces_are_fine(void **state)
{
    static const uint32_t points[] = {0xa1,   0x167f, 0x1681, 0x1fff, 0x200b, 0x2027, 0x202a,
                                      0x202e, 0x2030, 0x205e, 0x2060, 0x2fff, 0x3001};
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        expect_point(points[i], true);
    }
}

static void each_length_of_utf8_is_fine_at_its_bounds(void **state)
{
    static const uint32_t points[] = {0x7e,   0xa1,   0x7ff,   0x800,   0xd7ff,
                                      0xe000, 0xffff, 0x10000, 0x1f3ab, 0x10ffff};
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        expect_point(points[i], true);
    }
}

static void surrogates_and_points_past_the_last_are_refused(void **state)
{
    static const uint32_t points[] = {0xd800, 0xdbff, 0xdc00, 0xdfff, 0x110000, 0x13ffff, 0x1fffff};

    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        expect_point(points[i], false);
    }
}

static void overlong_forms_are_refused(void **state)
{
    static const struct hf_bytes forms[] = {
        HF_TEXT("\xc0\x80"),         HF_TEXT("\xc1\xbf"),         HF_TEXT("\xc1\xa1"),
        HF_TEXT("\xe0\x80\x80"),     HF_TEXT("\xe0\x81\xa1"),     HF_TEXT("\xe0\x9f\xbf"),
        HF_TEXT("\xf0\x80\x81\xa1"), HF_TEXT("\xf0\x8f\xbf\xbf"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        expect_piece(forms[i].data, forms[i].size, false);
        assert_false(text_is_utf8(forms[i]));
    }
}

static void truncated_sequences_are_refused(void **state)
{
    static const struct hf_bytes whole[] = {HF_TEXT("\xc3\xa9"), HF_TEXT("\xe2\x82\xac"),
                                            HF_TEXT("\xf0\x9f\x8e\xab")};
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        expect_piece(whole[i].data, whole[i].size, true);
        for (size_t size = 1; size < whole[i].size; size++) {
            expect_piece(whole[i].data, size, false);
            assert_false(text_is_utf8((struct hf_bytes){whole[i].data, size}));
        }
    }
}

static void bytes_that_start_nothing_are_refused(void **state)
{
    (void)state;
    for (int c = 0x80; c < 0x100; c++) {
        char alone = (char)c;
        bool starts = c >= 0xc2 && c <= 0xf4;
        expect_piece(&alone, 1, false);
        assert_false(text_is_utf8((struct hf_bytes){&alone, 1}));
        /* With three continuation bytes after it, some of them belong to nothing. */
        char four[] = {alone, '\x90', '\x80', '\x80'};
        assert_int_equal(text_is_id((struct hf_bytes){four, 4}), starts && c >= 0xf0 && c < 0xf4);
    }
}

static void utf8_allows_what_an_id_does_not(void **state)
{
    (void)state;
    assert_true(text_is_utf8(hf_text("")));
    assert_true(text_is_utf8(hf_text("two words {and} a\ttab\n")));
    assert_true(text_is_utf8((struct hf_bytes){"\0", 1}));
    assert_false(text_is_utf8(hf_text("caf\xe9")));
    assert_false(text_is_utf8(hf_text("\xed\xa0\x80")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(length_is_1_to_128_bytes),
        cmocka_unit_test(length_counts_bytes_not_characters),
        cmocka_unit_test(ascii_is_fine_but_for_spaces_controls_and_braces),
        cmocka_unit_test(later_control_characters_are_refused),
        cmocka_unit_test(every_unicode_space_is_refused),
        cmocka_unit_test(neighbours_of_spaces_are_fine),
        cmocka_unit_test(each_length_of_utf8_is_fine_at_its_bounds),
        cmocka_unit_test(surrogates_and_points_past_the_last_are_refused),
        cmocka_unit_test(overlong_forms_are_refused),
        cmocka_unit_test(truncated_sequences_are_refused),
        cmocka_unit_test(bytes_that_start_nothing_are_refused),
        cmocka_unit_test(utf8_allows_what_an_id_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
