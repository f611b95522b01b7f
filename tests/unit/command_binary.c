/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands as bytes: what is written is what is read, and no other bytes do harm. Records are
 * decoded from blocks of exactly their size, so that a sanitizer sees any look past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "choice_fixture.h"
#include "base/text.h"
#include "base/uuid.h"
#include "command/binary.h"

static struct memory memory;
static struct buffer record;
static char texts[COMMAND_ARGS_MAX][300]; /* of the command made last */

static int setup(void **state)
{
    (void)state;
    srandom(8);
    memory_init(&memory);
    buffer_init(&record, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_free(&record);
    assert_int_equal(memory.used, 0);
    return 0;
}

static bool is_number(const struct arg_spec *arg)
{
    return arg->type == ARG_COUNT || arg->type == ARG_AMOUNT || arg->type == ARG_DURATION ||
           arg->type == ARG_WAIT;
}

static struct hf_bytes random_uuid(char *out, bool upper)
{
    uint8_t bytes[UUID_BYTES];

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)random();
    }
    uuid_write(bytes, out);
    for (size_t i = 0; upper && i < UUID_TEXT; i++) {
        out[i] = out[i] >= 'a' ? (char)(out[i] - 'a' + 'A') : out[i];
    }
    return (struct hf_bytes){out, UUID_TEXT};
}

static struct hf_bytes random_text(const struct arg_spec *arg, char *out)
{
    long dice = random() % 6;

    if (arg->type == ARG_CHOICE) {
        const char *first = arg->choices;
        return dice % 2 ? last_choice(arg) : (struct hf_bytes){first, strcspn(first, "|")};
    }
    if ((arg->keyword != NULL || arg->type == ARG_BLOB) && dice == 0) {
        return hf_text("");
    }
    if (dice < 4 && arg->max >= UUID_TEXT) {
        return random_uuid(out, dice == 3);
    }
    size_t size = 1 + (size_t)(random() % (arg->max < 300 ? arg->max : 300));
    for (size_t i = 0; i < size; i++) {
        out[i] = (char)(arg->type == ARG_BLOB ? random() : 'a' + random() % 26);
    }
    return (struct hf_bytes){out, size};
}

static int64_t random_number(const struct arg_spec *arg)
{
    switch (random() % 4) {
    case 0:
        return arg->min;
    case 1:
        return arg->max;
    default:
        return arg->min + (random() << 22 ^ random()) % (arg->max - arg->min + 1);
    }
}

/* A command with random arguments, all of them valid. */
static struct command random_command(const struct command_spec *spec)
{
    struct command command;
    union command_args args = {0};
    bool optional_text = false; /* the one given last; TTL needs it to be there */

    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        void *member = (char *)&args + arg->offset;
        if (arg->type == ARG_FLAG) {
            *(bool *)member = random() % 2;
        } else if (!is_number(arg)) {
            *(struct hf_bytes *)member = random_text(arg, texts[i]);
            optional_text = ((struct hf_bytes *)member)->size > 0;
        } else if (arg->needs == NULL || optional_text) {
            *(int64_t *)member = random_number(arg);
        }
    }
    assert_int_equal(command_from_struct(&command, spec, &args, NULL), HF_OK);
    for (size_t i = 0; spec->flags & COMMAND_RANDOM && i < COMMAND_ENTROPY; i++) {
        command.entropy[i] = (uint8_t)random();
    }
    return command;
}

static void expect_same(const struct command *a, const struct command *b)
{
    assert_ptr_equal(a->spec, b->spec);
    assert_memory_equal(a->entropy, b->entropy, COMMAND_ENTROPY);
    for (size_t i = 0; i < a->spec->arg_count; i++) {
        const struct arg_spec *arg = &a->spec->args[i];
        const void *x = (const char *)&a->args + arg->offset;
        const void *y = (const char *)&b->args + arg->offset;
        if (arg->type == ARG_FLAG) {
            assert_int_equal(*(const bool *)x, *(const bool *)y);
        } else if (is_number(arg)) {
            assert_true(*(const int64_t *)x == *(const int64_t *)y);
        } else {
            assert_true(text_equal(*(const struct hf_bytes *)x, *(const struct hf_bytes *)y));
        }
    }
}

static void encode(const struct command *command)
{
    buffer_clear(&record);
    command_to_binary(command, &record);
    assert_false(record.failed);
}

/* Decodes the record and checks what any bytes must do: be refused, or be a command that can be
 * written and read again. */
static enum hf_error decode_and_check(const void *data, size_t size)
{
    struct binary_scratch scratch, again_scratch;
    struct command command, again;
    struct problem problem = {0};
    struct buffer written;
    char *block = malloc(size > 0 ? size : 1);

    assert_non_null(block);
    memcpy(block, data, size);
    enum hf_error code =
        command_from_binary(&command, (struct hf_bytes){block, size}, &scratch, &problem);
    if (code == HF_OK) {
        buffer_init(&written, &memory);
        command_to_binary(&command, &written);
        struct hf_bytes bytes = {written.data, written.size};
        assert_int_equal(command_from_binary(&again, bytes, &again_scratch, NULL), HF_OK);
        expect_same(&command, &again);
        buffer_free(&written);
    } else {
        assert_int_equal(problem.code, code);
    }
    free(block);
    return code;
}

static void every_command_survives_the_round_trip(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            struct command command = random_command(&command_table[i]), back;
            struct binary_scratch scratch;
            encode(&command);
            struct hf_bytes bytes = {record.data, record.size};
            assert_int_equal(command_from_binary(&back, bytes, &scratch, NULL), HF_OK);
            expect_same(&command, &back);
        }
    }
}

static void uuid_takes_17_bytes_and_its_upper_case_form_stays_as_it_is(void **state)
{
    const char lower[] = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
    const char upper[] = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
    const char *const ids[] = {lower, upper};
    const size_t sizes[] = {3 + 17, 3 + 37};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hf_idem_abort_args args = {.key = {ids[i], UUID_TEXT}};
        struct command command, back;
        struct binary_scratch scratch;
        assert_int_equal(command_from_struct(&command, &command_table[IDEM_ABORT], &args, NULL), 0);
        encode(&command);
        assert_int_equal(record.size, sizes[i]);
        struct hf_bytes bytes = {record.data, record.size};
        assert_int_equal(command_from_binary(&back, bytes, &scratch, NULL), HF_OK);
        expect_same(&command, &back);
    }
}

static void largest_response_survives_the_round_trip(void **state)
{
    struct command command, back;
    struct binary_scratch scratch;
    char *response = malloc(RESPONSE_MAX);

    (void)state;
    assert_non_null(response);
    for (size_t i = 0; i < RESPONSE_MAX; i++) {
        response[i] = (char)(i * 2654435761U >> 13);
    }
    struct hf_idem_complete_args args = {HF_TEXT("k"), {response, RESPONSE_MAX}, .ttl_ms = 0};
    assert_int_equal(command_from_struct(&command, &command_table[IDEM_COMPLETE], &args, NULL), 0);
    encode(&command);
    struct hf_bytes bytes = {record.data, record.size};
    assert_int_equal(command_from_binary(&back, bytes, &scratch, NULL), HF_OK);
    expect_same(&command, &back);
    free(response);
}

/* The bytes are the format of the files: they must not change. */
static void bytes_are_as_documented(void **state)
{
    const struct hf_bytes words[] = {HF_TEXT("SEATS.RESERVE"),
                                     HF_TEXT("e"),
                                     HF_TEXT("zo"),
                                     HF_TEXT("b"),
                                     HF_TEXT("u"),
                                     HF_TEXT("2"),
                                     HF_TEXT("70"),
                                     HF_TEXT("PRICE"),
                                     HF_TEXT("1"),
                                     HF_TEXT("TTL"),
                                     HF_TEXT("10ms"),
                                     HF_TEXT("LIFETIME")};
    static const char expected[] = "\x01\x02\x0b" /* version, command, arguments */
                                   "\x02"
                                   "e"
                                   "\x04"
                                   "zo" /* texts: size * 2 */
                                   "\x02"
                                   "b"
                                   "\x02"
                                   "u"
                                   "\x04\x8c\x01"          /* quantity, max_per_user */
                                   "\x00\x02\x14\x01\x00"; /* show, price, TTL, lifetime, pass */
    struct command command;

    (void)state;
    assert_int_equal(command_from_words(&command, 12, words, NULL), HF_OK);
    encode(&command);
    assert_int_equal(record.size, sizeof expected - 1);
    assert_memory_equal(record.data, expected, record.size);
}

static void every_truncation_is_refused_and_so_is_a_byte_too_many(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            struct command command = random_command(&command_table[i]);
            encode(&command);
            for (size_t cut = 0; cut < record.size; cut++) {
                assert_int_not_equal(decode_and_check(record.data, cut), HF_OK);
            }
            assert_int_equal(decode_and_check(record.data, record.size), HF_OK);
            buffer_byte(&record, 0);
            assert_int_not_equal(decode_and_check(record.data, record.size), HF_OK);
        }
    }
}

static void every_flipped_bit_is_refused_or_makes_another_whole_command(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            struct command command = random_command(&command_table[i]);
            encode(&command);
            for (size_t bit = 0; bit < record.size * 8; bit++) {
                char flip = (char)(1U << bit % 8);
                record.data[bit / 8] ^= flip;
                decode_and_check(record.data, record.size);
                record.data[bit / 8] ^= flip;
            }
        }
    }
}

static void random_bytes_do_no_harm(void **state)
{
    (void)state;
    for (int round = 0; round < 50000; round++) {
        char bytes[40];
        size_t size = (size_t)random() % sizeof bytes;
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (char)(random() % 3 ? random() % 8 : random());
        }
        bytes[0] = BINARY_VERSION;
        bytes[1] = (char)(1 + random() % COMMAND_COUNT);
        decode_and_check(bytes, size);
    }
}

/* A row may have got optional arguments since the record was written. */
static void arguments_a_record_does_not_have_get_their_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        struct hf_bytes words[COMMAND_ARGS_MAX + 1];
        struct command expected, back;
        struct binary_scratch scratch;

        words[0] = hf_text(spec->name);
        for (size_t a = 0; a < spec->required; a++) {
            bool choice = spec->args[a].type == ARG_CHOICE;
            words[a + 1] = choice ? last_choice(&spec->args[a]) : hf_text("5");
        }
        assert_int_equal(command_from_words(&expected, spec->required + 1, words, NULL), HF_OK);

        /* Written by a row with the required arguments only. */
        struct command_spec older = *spec;
        struct command command = expected;
        command.spec = &older;
        older.arg_count = spec->required;
        encode(&command);
        struct hf_bytes bytes = {record.data, record.size};
        assert_int_equal(command_from_binary(&back, bytes, &scratch, NULL), HF_OK);
        expect_same(&expected, &back);

        if (spec->required > 0) {
            older.arg_count--;
            encode(&command);
            assert_int_not_equal(decode_and_check(record.data, record.size), HF_OK);
        }
    }
}

static void records_of_another_kind_are_refused(void **state)
{
    static const struct hf_bytes bad[] = {
        HF_TEXT(""),
        HF_TEXT("\x00\x29\x01\x02k"),                 /* version 0 */
        HF_TEXT("\x02\x29\x01\x02k"),                 /* version 2 */
        HF_TEXT("\x01\x00\x01\x02k"),                 /* command 0 */
        HF_TEXT("\x01\x2a\x01\x02k"),                 /* command 42 */
        HF_TEXT("\x01\xa9\x80\x80\x80\x10\x01\x02k"), /* command 2^32 + 41 */
        HF_TEXT("\x01\x29\x02\x02k\x02k"),            /* more arguments than the row */
        HF_TEXT("\x01\x29\x01\x03k"),                 /* odd size of a text */
        HF_TEXT("\x01\x29\x01\x00"),                  /* empty id */
        HF_TEXT("\x01\x29\x01\x02 "),                 /* not an id */
        HF_TEXT("\x01\x29\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01k"), /* endless text */
        HF_TEXT("\x01\x01\x03\x02"
                "e"
                "\x02z\x01"), /* capacity -1 */
        HF_TEXT("\x01\x02\x0a\x02"
                "e"
                "\x02z\x02"
                "b"
                "\x02u\x02\x02\x00\x00\x14\x02"), /* flag 2 */
    };
    (void)state;
    assert_int_equal(decode_and_check("\x01\x29\x01\x02k", 5), HF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_not_equal(decode_and_check(bad[i].data, bad[i].size), HF_OK);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_command_survives_the_round_trip),
        TEST(uuid_takes_17_bytes_and_its_upper_case_form_stays_as_it_is),
        TEST(largest_response_survives_the_round_trip),
        TEST(bytes_are_as_documented),
        TEST(every_truncation_is_refused_and_so_is_a_byte_too_many),
        TEST(every_flipped_bit_is_refused_or_makes_another_whole_command),
        TEST(random_bytes_do_no_harm),
        TEST(arguments_a_record_does_not_have_get_their_defaults),
        TEST(records_of_another_kind_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
