/* SPDX-License-Identifier: Apache-2.0
 *
 * From the name of a key back to what it was made from: keys of ours are told from all others, and
 * cut where they were put together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "redis/script/key_parse.h"

/* The parts of a key, joined by " | "; "none" if the key is not of that form. */
static const char *parts_of(const char *form, const char *key)
{
    static char text[512];
    struct hf_bytes parts[KEY_PARTS_MAX] = {{NULL, 0}, {NULL, 0}};
    bool two = strchr(form, '$') != strrchr(form, '$');

    if (!key_parse(form, hf_text(key), parts)) {
        return "none";
    }
    if (two) {
        snprintf(text, sizeof text, "%.*s | %.*s", (int)parts[0].size, parts[0].data,
                 (int)parts[1].size, parts[1].data);
    } else {
        snprintf(text, sizeof text, "%.*s", (int)parts[0].size, parts[0].data);
    }
    return text;
}

static void a_key_is_cut_where_the_form_has_text(void **state)
{
    (void)state;
    assert_string_equal(parts_of("stock:due:$product", "stock:due:shoe_main"), "shoe_main");
    assert_string_equal(parts_of("quota:tenant:$tenant:used", "quota:tenant:acme:used"), "acme");
    assert_string_equal(parts_of("zone:totals:{$event}:$zone", "zone:totals:{gala}:floor"),
                        "gala | floor");
}

static void ids_may_have_the_form_s_text_in_them(void **state)
{
    (void)state;
    assert_string_equal(parts_of("quota:tenant:$tenant:used", "quota:tenant:a:used:used"),
                        "a:used");
    assert_string_equal(parts_of("quota:tenant:$tenant:used", "quota:tenant::used:used"), ":used");
    assert_string_equal(parts_of("zone:totals:{$event}:$zone", "zone:totals:{a:b}:c:d"),
                        "a:b | c:d");
    assert_string_equal(parts_of("stock:due:$product", "stock:due:stock:due:x"), "stock:due:x");
}

static void keys_of_another_form_are_none(void **state)
{
    static const char *const keys[] = {
        "",
        "zone",
        "zone:totals:",
        "zone:totals:{",
        "zone:totals:{}",
        "zone:totals:{}:floor", /* nothing in the braces */
        "zone:totals:{gala}",   /* and nothing behind them */
        "zone:totals:{gala}:",
        "zone:totals:{gala:floor", /* not closed */
        "zone:totals:gala}:floor", /* not opened */
        "zone:totals:{{gala}}:floor",
        "zone:totals:{gala}:{floor}",
        "zone:totals:{ga{la}:floor",
        "zone:totals:{gala}x:floor",
        "Zone:totals:{gala}:floor",
        "xzone:totals:{gala}:floor",
    };

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(parts_of("zone:totals:{$event}:$zone", keys[i]), "none") != 0) {
            fail_msg("%s was read", keys[i]);
        }
    }
    assert_string_equal(parts_of("quota:tenant:$tenant:used", "quota:tenant::used"), "none");
    assert_string_equal(parts_of("quota:tenant:$tenant:used", "quota:tenant:acme:limit"), "none");
    assert_string_equal(parts_of("quota:tenant:$tenant:used", "used"), "none");
    assert_string_equal(parts_of("stock:due:{$product}", "stock:due:{shoe}x"), "none");
}

static void only_the_size_of_a_key_counts(void **state)
{
    struct hf_bytes parts[KEY_PARTS_MAX];

    (void)state;
    assert_true(key_parse("idemp:$key", (struct hf_bytes){"idemp:k1tail", 8}, parts));
    assert_true(text_equal(parts[0], hf_text("k1")));
    assert_true(key_parse("idemp:$key", (struct hf_bytes){"idemp:a\0b", 9}, parts));
    assert_int_equal(parts[0].size, 3);
    assert_false(key_parse("idemp:$key", (struct hf_bytes){"idemp:k", 6}, parts));
    assert_false(key_parse("idemp:$key", (struct hf_bytes){NULL, 0}, parts));
}

static void filling_a_form_is_the_way_back(void **state)
{
    static const struct hf_bytes parts[KEY_PARTS_MAX] = {{"a:}b", 1}, {"floor", 5}};
    struct memory memory;
    struct buffer out;

    (void)state;
    memory_init(&memory);
    buffer_init(&out, &memory);
    key_fill(&out, "shop:", "zone:totals:{$event}:$zone", parts);
    assert_true(
        text_equal((struct hf_bytes){out.data, out.size}, hf_text("shop:zone:totals:{a}:floor")));
    buffer_clear(&out);
    key_fill(&out, "", "quota:tenant:$tenant:used", parts);
    assert_true(text_equal((struct hf_bytes){out.data, out.size}, hf_text("quota:tenant:a:used")));
    buffer_free(&out);
}

static void a_key_is_in_a_namespace_or_not(void **state)
{
    static const struct {
        const char *space, *key, *rest; /* NULL: it is not in it */
    } cases[] = {
        {"", "idemp:k", "idemp:k"},
        {"shop:", "shop:idemp:k", "idemp:k"},
        {"shop:", "shop:shop:k", "shop:k"},
        {"shop:", "shop:", NULL}, /* nothing behind it */
        {"shop:", "shop", NULL},
        {"shop:", "shops:k", NULL},
        {"shop:", "Shop:k", NULL},
        {"", "", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hf_bytes key = hf_text(cases[i].key);
        assert_int_equal(key_in_space(cases[i].space, &key), cases[i].rest != NULL);
        assert_true(text_equal(key, hf_text(cases[i].rest != NULL ? cases[i].rest : cases[i].key)));
    }
}

static void a_product_s_counter_stands_behind_the_last_underscore(void **state)
{
    static const struct {
        const char *name, *product, *counter; /* NULL: there is none */
    } cases[] = {
        {"shoe_main", "shoe", "main"},
        {"shoe_3", "shoe", "3"},
        {"red_shoe_1023", "red_shoe", "1023"},
        {"shoe__3", "shoe_", "3"},
        {"_3_4", "_3", "4"},
        {"shoe", NULL, NULL},
        {"shoe_", NULL, NULL},
        {"_3", NULL, NULL},
        {"_", NULL, NULL},
        {"__", NULL, NULL},
        {"", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hf_bytes product, counter;
        bool split = key_split_counter(hf_text(cases[i].name), &product, &counter);
        assert_int_equal(split, cases[i].product != NULL);
        if (split) {
            assert_true(text_equal(product, hf_text(cases[i].product)));
            assert_true(text_equal(counter, hf_text(cases[i].counter)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_cut_where_the_form_has_text),
        cmocka_unit_test(ids_may_have_the_form_s_text_in_them),
        cmocka_unit_test(keys_of_another_form_are_none),
        cmocka_unit_test(only_the_size_of_a_key_counts),
        cmocka_unit_test(filling_a_form_is_the_way_back),
        cmocka_unit_test(a_key_is_in_a_namespace_or_not),
        cmocka_unit_test(a_product_s_counter_stands_behind_the_last_underscore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
