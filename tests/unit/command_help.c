/* SPDX-License-Identifier: Apache-2.0
 *
 * No row lacks what people read: what each argument is, the refusals, an example that the row's own
 * grammar accepts. Help, docs/commands.md and OpenAPI print it without a second look. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "command/command.h"

#define PHRASE_MAX 120
#define WORDS_MAX 32

/* A phrase has no full stop, for the pages put it into a table or a sentence. */
static void expect_phrase(const struct command_spec *spec, const char *what, const char *phrase)
{
    size_t size = phrase == NULL ? 0 : strlen(phrase);

    if (size == 0 || size > PHRASE_MAX || phrase[size - 1] == '.' || isspace(phrase[size - 1]) ||
        strpbrk(phrase, "|`\n") != NULL) {
        fail_msg("%s: %s is \"%s\", and should be a phrase", spec->name, what,
                 phrase == NULL ? "missing" : phrase);
    }
}

static void every_argument_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        if (spec->meaning_count != spec->arg_count) {
            fail_msg("%s: %zu arguments, %zu in MEANINGS", spec->name, spec->arg_count,
                     spec->meaning_count);
        }
        for (size_t a = 0; a < spec->arg_count; a++) {
            expect_phrase(spec, spec->args[a].name, spec->meanings[a]);
        }
    }
}

/* A list of its own is not enough: a row says NO_REFUSALS, and does not forget them. */
static void every_row_lists_its_refusals_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        bool nil = spec->nil_code == HF_OK, figures = spec->figures_code == HF_OK;
        if (spec->refusals == NULL) {
            fail_msg("%s: REFUSALS or NO_REFUSALS is missing", spec->name);
        }
        for (const struct refusal *refusal = spec->refusals; refusal->code != HF_OK; refusal++) {
            expect_phrase(spec, hf_error_name(refusal->code), refusal->cause);
            for (const struct refusal *other = spec->refusals; other < refusal; other++) {
                assert_int_not_equal(other->code, refusal->code);
            }
            nil |= refusal->code == spec->nil_code;
            figures |= refusal->code == spec->figures_code;
        }
        assert_true(nil && figures);
    }
}

static const struct command_spec *parse(const char *line)
{
    struct hf_bytes words[WORDS_MAX];
    struct command command;
    struct problem problem = {.message = ""};
    size_t count = 0;

    for (const char *at = line; *at != '\0' && count < WORDS_MAX;) {
        size_t size = strcspn(at, " ");
        words[count++] = (struct hf_bytes){at, size};
        at += size + (at[size] == ' ');
    }
    if (command_from_words(&command, count, words, &problem) != HF_OK) {
        fail_msg("\"%s\": %s", line, problem.message);
    }
    return command.spec;
}

static void every_row_has_an_example_that_it_accepts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        if (spec->example == NULL) {
            fail_msg("%s: EXAMPLE is missing", spec->name);
        }
        assert_ptr_equal(parse(spec->example), spec);
        for (const char *const *line = spec->before; line != NULL && *line != NULL; line++) {
            parse(*line);
        }
    }
}

static void a_note_on_the_reply_is_a_phrase_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *note = command_table[i].reply_note;
        assert_true(note == NULL || (note[0] != '\0' && note[strlen(note) - 1] != '.'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_has_its_meaning),
        cmocka_unit_test(every_row_lists_its_refusals_once),
        cmocka_unit_test(every_row_has_an_example_that_it_accepts),
        cmocka_unit_test(a_note_on_the_reply_is_a_phrase_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
