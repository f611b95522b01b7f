/* SPDX-License-Identifier: Apache-2.0
 *
 * Every argument of every command, just inside and just outside its bounds: the same answer with
 * the right code whether it comes as a word, as a named field or in a struct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "choice_fixture.h"
#include "base/buffer.h"
#include "base/text.h"
#include "command/command.h"

static struct command command;
static struct problem problem;

/* A value to try for one argument, as text, and what must come of it. */
struct trial {
    struct hf_bytes text;
    int64_t number; /* what a number or duration means */
    enum hf_error code;
};

static bool is_number(const struct arg_spec *arg)
{
    return arg->type == ARG_COUNT || arg->type == ARG_AMOUNT || arg->type == ARG_DURATION ||
           arg->type == ARG_WAIT;
}

/* A good value for any argument: 5 is within all bounds. */
static struct trial good(const struct arg_spec *arg)
{
    switch (arg->type) {
    case ARG_DURATION:
        return (struct trial){HF_TEXT("5"), 5000, HF_OK};
    case ARG_CHOICE:
        return (struct trial){last_choice(arg), 0, HF_OK};
    default:
        return (struct trial){HF_TEXT("5"), 5, HF_OK};
    }
}

static void check_result(enum hf_error got, const struct arg_spec *arg, const struct trial *trial)
{
    const void *member = (const char *)&command.args + arg->offset;

    assert_string_equal(hf_error_name(got), hf_error_name(trial->code));
    if (got != HF_OK) {
        assert_int_equal(problem.code, got);
        assert_true(strlen(problem.message) > 0);
    } else if (is_number(arg)) {
        bool given_zero = arg->zero_counts && trial->number == 0;
        assert_true(*(const int64_t *)member == (given_zero ? HF_ZERO : trial->number));
    } else {
        assert_true(text_equal(*(const struct hf_bytes *)member, trial->text));
    }
}

static void try_words(const struct command_spec *spec, size_t which, const struct trial *trial)
{
    struct hf_bytes words[COMMAND_WORDS_MAX];
    size_t count = 0;

    words[count++] = hf_text(spec->name);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (arg->keyword != NULL) {
            words[count++] = hf_text(arg->keyword);
        }
        if (arg->type != ARG_FLAG) {
            words[count++] = i == which ? trial->text : good(arg).text;
        }
    }
    check_result(command_from_words(&command, count, words, &problem), &spec->args[which], trial);
}

static void try_fields(const struct command_spec *spec, size_t which, const struct trial *trial)
{
    struct command_field fields[COMMAND_ARGS_MAX];

    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        fields[i] = (struct command_field){.name = hf_text(arg->field), .number = 1};
        if (arg->type != ARG_FLAG) {
            fields[i].text = i == which ? trial->text : good(arg).text;
        }
    }
    check_result(command_from_fields(&command, spec, spec->arg_count, fields, &problem),
                 &spec->args[which], trial);
}

static void try_struct(const struct command_spec *spec, size_t which, const struct trial *trial)
{
    const struct arg_spec *tried = &spec->args[which];
    union command_args args = {0};

    bool is_zero = is_number(tried) ? trial->number == 0 : trial->text.size == 0;
    if ((tried->keyword != NULL && is_zero) || trial->code == HF_ERR) {
        return; /* zero means the default, and a struct cannot be malformed */
    }
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        struct trial value = i == which ? *trial : good(arg);
        void *member = (char *)&args + arg->offset;
        if (is_number(arg)) {
            *(int64_t *)member = value.number;
        } else if (arg->type != ARG_FLAG) {
            *(struct hf_bytes *)member = value.text;
        }
    }
    check_result(command_from_struct(&command, spec, &args, &problem), tried, trial);
}

/* Has every argument of this type the same bounds as this one? Cursors and prefixes may be empty.
 */
static bool is_usual(const struct arg_spec *arg)
{
    return arg->type != ARG_TEXT || arg->keyword == NULL;
}

/* Tries a value wherever there is an argument of this type; of choices, where they are these. */
static void try_type(enum arg_type type, const char *choices, struct trial trial)
{
    bool found = false;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        for (size_t which = 0; which < command_table[i].arg_count; which++) {
            const struct arg_spec *arg = &command_table[i].args[which];
            if (arg->type == type && is_usual(arg) &&
                (choices == NULL || strcmp(arg->choices, choices) == 0)) {
                try_words(&command_table[i], which, &trial);
                try_fields(&command_table[i], which, &trial);
                try_struct(&command_table[i], which, &trial);
                found = true;
            }
        }
    }
    assert_true(found);
}

static void try_text(enum arg_type type, const char *text, size_t size, enum hf_error code)
{
    try_type(type, NULL, (struct trial){{text, size}, 0, code});
}

static void try_choice(const char *choices, const char *text, enum hf_error code)
{
    try_type(ARG_CHOICE, choices, (struct trial){hf_text(text), 0, code});
}

/* Many bytes of x. */
static char *filler(size_t size)
{
    char *text = malloc(size);

    assert_non_null(text);
    memset(text, 'x', size);
    return text;
}

static void ids_have_1_to_128_bytes_and_no_spaces_controls_or_braces(void **state)
{
    char *text = filler(HF_ID_MAX + 1);

    (void)state;
    try_text(ARG_ID, "a", 1, HF_OK);
    try_text(ARG_ID, text, HF_ID_MAX, HF_OK);
    try_text(ARG_ID, text, HF_ID_MAX + 1, HF_INVALID_ID);
    try_text(ARG_ID, "", 0, HF_INVALID_ID);
    try_text(ARG_ID, "caf\xc3\xa9", 5, HF_OK);
    try_text(ARG_ID, "caf\xe9", 4, HF_INVALID_ID);
    try_text(ARG_ID, "a b", 3, HF_INVALID_ID);
    try_text(ARG_ID, "a\0b", 3, HF_INVALID_ID);
    try_text(ARG_ID, "{a", 2, HF_INVALID_ID);
    try_text(ARG_ID, "a}", 2, HF_INVALID_ID);
    try_text(ARG_ID, "a\r\n", 3, HF_INVALID_ID);
    free(text);
}

/* Numbers have bounds of their own, so each argument is tried at its own. */
static void try_number(enum arg_type type, enum hf_error code)
{
    static const int64_t far = INT64_C(4000000000000000000);

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        for (size_t which = 0; which < spec->arg_count; which++) {
            const struct arg_spec *arg = &spec->args[which];
            const int64_t numbers[] = {arg->min, arg->max, arg->min - 1, arg->max + 1, far, -far};
            for (size_t n = 0; arg->type == type && n < 6; n++) {
                char digits[21];
                struct trial trial = {
                    {digits, decimal_write(digits, numbers[n])}, numbers[n], n < 2 ? HF_OK : code};
                try_words(spec, which, &trial);
                try_fields(spec, which, &trial);
                try_struct(spec, which, &trial);
            }
        }
    }
    try_text(type, "", 0, HF_ERR);
    try_text(type, "x", 1, HF_ERR);
    try_text(type, "1.5", 3, HF_ERR);
    try_text(type, "+1", 2, HF_ERR);
    try_text(type, "5s", 2, HF_ERR);
    try_type(type, NULL, (struct trial){HF_TEXT("99999999999999999999999"), INT64_MAX, code});
    try_type(type, NULL, (struct trial){HF_TEXT("-99999999999999999999999"), -INT64_MAX, code});
}

static void counts_outside_their_bounds_are_invalid_quantity(void **state)
{
    (void)state;
    try_number(ARG_COUNT, HF_INVALID_QUANTITY);
}

static void amounts_outside_their_bounds_are_invalid_amount(void **state)
{
    (void)state;
    try_number(ARG_AMOUNT, HF_INVALID_AMOUNT);
}

static void try_duration(enum arg_type type, const char *text, int64_t number, enum hf_error code)
{
    try_type(type, NULL, (struct trial){hf_text(text), number, code});
}

static void durations_are_10_ms_to_30_days(void **state)
{
    (void)state;
    try_duration(ARG_DURATION, "10ms", 10, HF_OK);
    try_duration(ARG_DURATION, "9ms", 9, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "0", 0, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "-1", -1000, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "1", 1000, HF_OK);
    try_duration(ARG_DURATION, "90s", 90000, HF_OK);
    try_duration(ARG_DURATION, "10m", 600000, HF_OK);
    try_duration(ARG_DURATION, "720h", HF_TTL_MAX_MS, HF_OK);
    try_duration(ARG_DURATION, "2592000", HF_TTL_MAX_MS, HF_OK);
    try_duration(ARG_DURATION, "2592000000ms", HF_TTL_MAX_MS, HF_OK);
    try_duration(ARG_DURATION, "2592000001ms", HF_TTL_MAX_MS + 1, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "2592001", HF_TTL_MAX_MS + 1000, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "43201m", HF_TTL_MAX_MS + 60000, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "721h", HF_TTL_MAX_MS + 3600000, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "9223372036854775807", INT64_MAX, HF_INVALID_TTL);
    try_duration(ARG_DURATION, "10d", 0, HF_ERR);
    try_duration(ARG_DURATION, "10 s", 0, HF_ERR);
    try_duration(ARG_DURATION, "soon", 0, HF_ERR);
    try_duration(ARG_DURATION, "", 0, HF_ERR);
}

static void waits_are_0_to_30_days_and_count_milliseconds(void **state)
{
    (void)state;
    try_duration(ARG_WAIT, "0", 0, HF_OK);
    try_duration(ARG_WAIT, "1", 1, HF_OK);
    try_duration(ARG_WAIT, "30s", 30000, HF_OK);
    try_duration(ARG_WAIT, "2592000000", HF_TTL_MAX_MS, HF_OK);
    try_duration(ARG_WAIT, "2592000001", HF_TTL_MAX_MS + 1, HF_INVALID_TTL);
    try_duration(ARG_WAIT, "-1", -1, HF_INVALID_TTL);
    try_duration(ARG_WAIT, "forever", 0, HF_ERR);
}

static void choices_are_those_of_the_contract(void **state)
{
    (void)state;
    try_choice("merge|steal", "merge", HF_OK);
    try_choice("merge|steal", "steal", HF_OK);
    try_choice("fifo|random", "fifo", HF_OK);
    try_choice("fifo|random", "random", HF_OK);
    try_text(ARG_CHOICE, "MERGE", 5, HF_INVALID_ARGUMENT);
    try_text(ARG_CHOICE, "mer", 3, HF_INVALID_ARGUMENT);
    try_text(ARG_CHOICE, "merge|steal", 11, HF_INVALID_ARGUMENT);
    try_text(ARG_CHOICE, "fifo|", 5, HF_INVALID_ARGUMENT);
    try_text(ARG_CHOICE, "|", 1, HF_INVALID_ARGUMENT);
    try_text(ARG_CHOICE, "", 0, HF_INVALID_ARGUMENT);
}

static void reasons_are_1_to_256_bytes_of_utf8(void **state)
{
    char *text = filler(REASON_MAX + 1);

    (void)state;
    try_text(ARG_TEXT, "x", 1, HF_OK);
    try_text(ARG_TEXT, "counted {again}\n", 16, HF_OK);
    try_text(ARG_TEXT, text, REASON_MAX, HF_OK);
    try_text(ARG_TEXT, text, REASON_MAX + 1, HF_PAYLOAD_TOO_LARGE);
    try_text(ARG_TEXT, "", 0, HF_INVALID_ARGUMENT);
    try_text(ARG_TEXT, "\xff", 1, HF_INVALID_ARGUMENT);
    free(text);
}

static void responses_are_any_bytes_up_to_1_mib(void **state)
{
    char *text = filler(RESPONSE_MAX + 1);

    (void)state;
    try_text(ARG_BLOB, "", 0, HF_OK);
    try_text(ARG_BLOB, "\0\xff{}\r\n", 6, HF_OK);
    try_text(ARG_BLOB, text, RESPONSE_MAX, HF_OK);
    try_text(ARG_BLOB, text, RESPONSE_MAX + 1, HF_PAYLOAD_TOO_LARGE);
    free(text);
}

/* docs/semantics.md: "Zero is refused where it makes no sense". */
static void zero_is_refused_where_it_makes_no_sense(void **state)
{
    static const struct {
        const char *words[8];
        enum hf_error code;
    } cases[] = {
        {{"SEATS.RESERVE", "e", "z", "b", "u", "0", "4"}, HF_INVALID_QUANTITY},
        {{"SEATS.RESERVE", "e", "z", "b", "u", "1", "0"}, HF_OK},
        {{"SEATS.OPEN", "e", "z", "0"}, HF_OK},
        {{"QUOTA.RESERVE", "t", "0"}, HF_INVALID_AMOUNT},
        {{"QUOTA.REFUND", "t", "0"}, HF_INVALID_AMOUNT},
        {{"QUOTA.LIMIT", "t", "0"}, HF_OK},
        {{"QUOTA.SYNC", "t", "0"}, HF_OK},
        {{"SEM.ACQUIRE", "s", "i", "0"}, HF_INVALID_QUANTITY},
        {{"SEM.WAKE", "s", "0", "1", "1"}, HF_INVALID_QUANTITY},
        {{"SEM.CONFIRM", "s", "i", "0", "1", "1"}, HF_INVALID_QUANTITY},
        {{"STOCK.LOAD", "p", "0"}, HF_OK},
        {{"STOCK.LOAD", "p", "1", "SHARDS", "0"}, HF_INVALID_QUANTITY},
        {{"STOCK.LOAD", "p", "1", "SHARDS", "1024"}, HF_OK},
        {{"STOCK.LOAD", "p", "1", "SHARDS", "1025"}, HF_INVALID_QUANTITY},
        {{"STOCK.LOAD", "p", "1", "WATERMARK", "0"}, HF_OK},
        {{"STOCK.TAKE", "p", "o", "u", "0"}, HF_INVALID_QUANTITY},
        {{"STOCK.ADJUST", "p", "0", "r"}, HF_OK},
        {{"STOCK.ADJUST", "p", "-9007199254740991", "r"}, HF_OK},
        {{"STOCK.ADJUST", "p", "-9007199254740992", "r"}, HF_INVALID_QUANTITY},
        {{"ROOM.JOIN", "e", "u", "MAX", "0"}, HF_INVALID_QUANTITY},
        {{"ROOM.ADMIT", "e", "0"}, HF_INVALID_QUANTITY},
        {{"SEATS.RESERVE", "e", "z", "b", "u", "-1", "4"}, HF_INVALID_QUANTITY},
        {{"QUOTA.RESERVE", "t", "-1"}, HF_INVALID_AMOUNT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hf_bytes words[8];
        size_t count = 0;
        for (; count < 8 && cases[i].words[count] != NULL; count++) {
            words[count] = hf_text(cases[i].words[count]);
        }
        assert_int_equal(command_from_words(&command, count, words, &problem), cases[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_have_1_to_128_bytes_and_no_spaces_controls_or_braces),
        cmocka_unit_test(counts_outside_their_bounds_are_invalid_quantity),
        cmocka_unit_test(amounts_outside_their_bounds_are_invalid_amount),
        cmocka_unit_test(durations_are_10_ms_to_30_days),
        cmocka_unit_test(waits_are_0_to_30_days_and_count_milliseconds),
        cmocka_unit_test(choices_are_those_of_the_contract),
        cmocka_unit_test(reasons_are_1_to_256_bytes_of_utf8),
        cmocka_unit_test(responses_are_any_bytes_up_to_1_mib),
        cmocka_unit_test(zero_is_refused_where_it_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
