/* SPDX-License-Identifier: Apache-2.0
 *
 * The name of a key says which key it is: whatever order they are listed in, a key is of one form,
 * and reading it gives back what it was made from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "redis/script/key_parse.h"

/* Ids may have colons in them, and the words that forms are made of. */
static const struct hf_bytes samples[][KEY_PARTS_MAX] = {
    {{"gala", 4}, {"floor", 5}},
    {{"a:used", 6}, {"due:b", 5}},
    {{"totals:shoes_main", 17}, {"0190a8e2", 8}},
    {{"user:x_3", 8}, {"_main", 5}},
};

#define SAMPLES (sizeof samples / sizeof samples[0])

static size_t parts_of(const char *form)
{
    size_t count = 0;

    for (; *form != '\0'; form++) {
        count += *form == '$';
    }
    return count;
}

static void check_key(enum key_id key, bool cluster, const struct hf_bytes *sample)
{
    struct memory memory;
    struct buffer name;

    memory_init(&memory);
    buffer_init(&name, &memory);
    key_fill(&name, "", key_form(key, cluster), sample);
    for (enum key_id other = KEY_NONE + 1; other < KEY_COUNT; other++) {
        struct hf_bytes parts[KEY_PARTS_MAX];
        bool is_one =
            key_parse(key_form(other, cluster), (struct hf_bytes){name.data, name.size}, parts);
        assert_int_equal(is_one, other == key);
        for (size_t i = 0; is_one && i < parts_of(key_form(key, cluster)); i++) {
            assert_true(text_equal(parts[i], sample[i]));
        }
    }
    buffer_free(&name);
}

static void each_key_is_of_one_form_only(void **state)
{
    (void)state;
    for (enum key_id key = KEY_NONE + 1; key < KEY_COUNT; key++) {
        for (size_t i = 0; i < SAMPLES; i++) {
            check_key(key, false, samples[i]);
            check_key(key, true, samples[i]);
        }
    }
}

static void each_key_is_used_by_a_row_the_shards_of_stock_or_the_worker(void **state)
{
    (void)state;
    for (enum key_id key = KEY_NONE + 1; key < KEY_COUNT; key++) {
        bool used = key == KEY_STOCK_OUTBOX || key == KEY_STOCK_INBOX || key == KEY_SEATS_DUE_PLAIN;
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            for (size_t k = 0; k < COMMAND_KEYS_MAX; k++) {
                used |= command_table[i].keys[k] == key;
            }
        }
        assert_true(used);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_is_of_one_form_only),
        cmocka_unit_test(each_key_is_used_by_a_row_the_shards_of_stock_or_the_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
