/* SPDX-License-Identifier: Apache-2.0
 *
 * Sealed cursors: what is in one comes out again, for the one that it was sealed for, and shows
 * from outside not even how long it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "server/sealed_cursor.h"

static const uint8_t key[CURSOR_KEY_SIZE] = "a key", other_key[CURSOR_KEY_SIZE] = "another";
static const struct hf_bytes purpose = HF_TEXT("shop SAGA.LIST"), other = HF_TEXT("rest SAGA.LIST");

static char long_text[CURSOR_TEXT_MAX + 1];

static const char *const cursors[] = {"", "7", "saga-of-secret:gala", "0.12.99", long_text};

static void make_long_text(void)
{
    memset(long_text, 'x', CURSOR_TEXT_MAX);
}

static void what_was_sealed_is_opened(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        char sealed[HF_CURSOR_SIZE], opened[CURSOR_TEXT_MAX + 1];
        assert_true(cursor_seal(key, purpose, hf_text(cursors[i]), sealed));
        assert_int_equal(strlen(sealed), HF_CURSOR_MAX);
        assert_int_equal(strspn(sealed, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789-_"),
                         HF_CURSOR_MAX);
        assert_true(cursor_open(key, purpose, hf_text(sealed), opened));
        assert_string_equal(opened, cursors[i]);
    }
}

static void it_is_good_for_nobody_else(void **state)
{
    char sealed[HF_CURSOR_SIZE], opened[CURSOR_TEXT_MAX + 1];

    (void)state;
    assert_true(cursor_seal(key, purpose, hf_text("saga-1"), sealed));
    assert_false(cursor_open(other_key, purpose, hf_text(sealed), opened));
    assert_false(cursor_open(key, other, hf_text(sealed), opened));
    assert_false(cursor_open(key, purpose, hf_text("saga-1"), opened));
    assert_false(cursor_open(key, purpose, (struct hf_bytes){sealed, HF_CURSOR_MAX - 2}, opened));
}

static void a_changed_one_is_refused(void **state)
{
    char sealed[HF_CURSOR_SIZE], opened[CURSOR_TEXT_MAX + 1];

    (void)state;
    assert_true(cursor_seal(key, purpose, hf_text("saga-1"), sealed));
    for (size_t i = 0; i + 1 < HF_CURSOR_MAX; i++) { /* the last one has bits to spare */
        char was = sealed[i];
        sealed[i] = was == 'A' ? 'B' : 'A';
        assert_false(cursor_open(key, purpose, hf_text(sealed), opened));
        sealed[i] = '\n';
        assert_false(cursor_open(key, purpose, hf_text(sealed), opened));
        sealed[i] = was;
    }
    assert_true(cursor_open(key, purpose, hf_text(sealed), opened));
}

static void one_that_is_too_long_is_not_sealed(void **state)
{
    char sealed[HF_CURSOR_SIZE], text[CURSOR_TEXT_MAX + 2] = {0};

    (void)state;
    memset(text, 'x', CURSOR_TEXT_MAX + 1);
    assert_false(cursor_seal(key, purpose, hf_text(text), sealed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_is_opened),
        cmocka_unit_test(it_is_good_for_nobody_else),
        cmocka_unit_test(a_changed_one_is_refused),
        cmocka_unit_test(one_that_is_too_long_is_not_sealed),
    };
    make_long_text();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
