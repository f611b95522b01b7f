/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash slots of keys: the cases of the cluster's specification, and the braces a stranger would
 * try. The numbers were worked out bit by bit, by another program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/client.h"

struct keyed {
    const char *key;
    int slot;
};

static void check(const struct keyed *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int slot = redis_slot(hf_text(cases[i].key));
        if (slot != cases[i].slot) {
            fail_msg("%s: %d instead of %d", cases[i].key, slot, cases[i].slot);
        }
    }
}

#define CHECK_ALL(cases) check(cases, sizeof cases / sizeof cases[0])

static void keys_have_the_slots_that_redis_gives_them(void **state)
{
    static const struct keyed cases[] = {
        {"foo", 12182},          {"123456789", 12739},    {"somekey", 11058},
        {"foo{hash_tag}", 2515}, {"bar{hash_tag}", 2515}, {"{user1000}.following", 3443},
        {"\xff\xfe", 3374},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void only_the_first_pair_of_braces_counts(void **state)
{
    static const struct keyed cases[] = {
        {"foo{bar}{zap}", 5061}, {"{a}{b}", 15495},       {"b{a}", 15495},
        {"a}b{c}", 7365},        {"foo{{bar}}zap", 4015}, {"foo{{bar}", 4015},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void an_empty_or_unterminated_tag_is_none(void **state)
{
    static const struct keyed cases[] = {
        {"foo{}{bar}", 8363}, {"{}bar", 6479}, {"{}", 15257}, {"foo{bar", 15278}, {"{a", 10276},
        {"a}b", 7866},        {"{", 4092},     {"}{", 12793}, {"{ }", 9314},      {"{{}", 4092},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void the_size_of_a_key_counts_and_no_terminator(void **state)
{
    char many[4096];

    (void)state;
    memset(many, 'x', sizeof many);
    assert_int_equal(redis_slot((struct hf_bytes){many, sizeof many}), 1895);
    assert_int_equal(redis_slot((struct hf_bytes){"a\0b", 3}), 8383);
    assert_int_equal(redis_slot((struct hf_bytes){"foobar", 3}), 12182);
    assert_int_equal(redis_slot((struct hf_bytes){NULL, 0}), 0);
    /* The closing brace is behind the end. */
    assert_int_equal(redis_slot((struct hf_bytes){"foo{bar}", 7}), 15278);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_have_the_slots_that_redis_gives_them),
        cmocka_unit_test(only_the_first_pair_of_braces_counts),
        cmocka_unit_test(an_empty_or_unterminated_tag_is_none),
        cmocka_unit_test(the_size_of_a_key_counts_and_no_terminator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
