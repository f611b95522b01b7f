/* SPDX-License-Identifier: Apache-2.0
 *
 * Base 64: what is written is what was there, and only base 64 is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"

/* The samples of RFC 4648, section 10. */
static const char *const samples[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"}};

#define SAMPLES (sizeof samples / sizeof samples[0])

static struct memory memory;

static void the_samples_of_the_standard_are_written_and_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct buffer out;
        char back[16];
        buffer_init(&out, &memory);
        base64_write(&out, hf_text(samples[i][0]));
        assert_int_equal(out.size, strlen(samples[i][1]));
        assert_memory_equal(out.data, samples[i][1], out.size);
        assert_int_equal(base64_read(hf_text(samples[i][1]), back, sizeof back),
                         (ptrdiff_t)strlen(samples[i][0]));
        assert_memory_equal(back, samples[i][0], strlen(samples[i][0]));
        buffer_free(&out);
    }
}

static void every_byte_survives_the_round_trip(void **state)
{
    char bytes[256], back[256];
    struct buffer out;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)i;
    }
    for (size_t size = 0; size <= sizeof bytes; size++) {
        buffer_init(&out, &memory);
        base64_write(&out, (struct hf_bytes){bytes, size});
        struct hf_bytes text = {(const char *)out.data, out.size};
        assert_true(BASE64_BYTES(text.size) >= size);
        assert_int_equal(base64_read(text, back, size), (ptrdiff_t)size);
        assert_memory_equal(back, bytes, size);
        buffer_free(&out);
    }
}

static void padding_may_be_left_out(void **state)
{
    char back[4];

    (void)state;
    assert_int_equal(base64_read(hf_text("Zm8"), back, sizeof back), 2);
    assert_int_equal(base64_read(hf_text("Zg"), back, sizeof back), 1);
}

static void what_is_no_base_64_or_does_not_fit_is_not_read(void **state)
{
    static const char *const wrong[] = {"Z",    "Zm9vY",    "Zm9v===", "Zm 9",
                                        "Zm9-", "Zg==Zg==", "\xff"};
    char back[8];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(base64_read(hf_text(wrong[i]), back, sizeof back), -1);
    }
    assert_int_equal(base64_read(hf_text("Zm9v"), back, 2), -1);
    assert_int_equal(base64_read(hf_text("Zm9v"), back, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_samples_of_the_standard_are_written_and_read),
        cmocka_unit_test(every_byte_survives_the_round_trip),
        cmocka_unit_test(padding_may_be_left_out),
        cmocka_unit_test(what_is_no_base_64_or_does_not_fit_is_not_read),
    };
    memory_init(&memory);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
