/* SPDX-License-Identifier: Apache-2.0
 *
 * Random bytes: handed out once, and not kept afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

static void no_two_draws_are_the_same(void **state)
{
    enum { DRAWS = 300, SIZE = 16 };
    static uint8_t drawn[DRAWS][SIZE];
    struct random random;

    (void)state;
    random_init(&random);
    for (size_t i = 0; i < DRAWS; i++) { /* several pools */
        random_bytes(&random, drawn[i], SIZE);
        for (size_t j = 0; j < i; j++) {
            assert_memory_not_equal(drawn[i], drawn[j], SIZE);
        }
    }
}

static void every_bit_is_sometimes_set_and_sometimes_not(void **state)
{
    uint8_t ever[16] = {0}, always[16], bytes[16];
    struct random random;

    (void)state;
    memset(always, 0xff, sizeof always);
    random_init(&random);
    for (int draw = 0; draw < 100; draw++) {
        random_bytes(&random, bytes, sizeof bytes);
        for (size_t i = 0; i < sizeof bytes; i++) {
            ever[i] |= bytes[i];
            always[i] &= bytes[i];
        }
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_int_equal(ever[i], 0xff);
        assert_int_equal(always[i], 0);
    }
}

static void what_was_handed_out_is_not_kept(void **state)
{
    struct random random;
    uint8_t bytes[32];

    (void)state;
    random_init(&random);
    for (int draw = 0; draw < 40; draw++) {
        random_bytes(&random, bytes, sizeof bytes);
        for (size_t i = 0; i + sizeof bytes <= sizeof random.pool; i++) {
            assert_memory_not_equal(random.pool + i, bytes, sizeof bytes);
        }
    }
}

static void a_whole_pool_and_nothing_can_be_drawn(void **state)
{
    static const uint8_t zeros[64];
    uint8_t bytes[sizeof((struct random *)NULL)->pool] = {0};
    struct random random;

    (void)state;
    random_init(&random);
    random_bytes(&random, bytes, 0);
    random_bytes(&random, bytes, 100);
    random_bytes(&random, bytes, sizeof bytes);
    for (size_t i = 0; i + sizeof zeros <= sizeof bytes; i += sizeof zeros) {
        assert_memory_not_equal(bytes + i, zeros, sizeof zeros);
    }
    assert_int_equal(random.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_draws_are_the_same),
        cmocka_unit_test(every_bit_is_sometimes_set_and_sometimes_not),
        cmocka_unit_test(what_was_handed_out_is_not_kept),
        cmocka_unit_test(a_whole_pool_and_nothing_can_be_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
