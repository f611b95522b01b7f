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

#include "command/help.h"
#include "command/words.h"

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

static size_t split(const char *line, struct hf_bytes words[WORDS_MAX])
{
    size_t count = 0;

    while (*line != '\0' && count < WORDS_MAX) {
        size_t size = strcspn(line, " ");
        words[count++] = (struct hf_bytes){line, size};
        line += size + (line[size] == ' ');
    }
    return count;
}

static struct command parse(const char *line)
{
    struct hf_bytes words[WORDS_MAX];
    struct command command;
    struct problem problem = {.message = ""};
    size_t count = split(line, words);

    if (command_from_words(&command, count, words, &problem) != HF_OK) {
        fail_msg("\"%s\": %s", line, problem.message);
    }
    return command;
}

static void every_row_has_an_example_that_it_accepts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        if (spec->example == NULL) {
            fail_msg("%s: EXAMPLE is missing", spec->name);
        }
        assert_ptr_equal(parse(spec->example).spec, spec);
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

static struct memory memory;
static struct buffer out;

static int make_buffer(void **state)
{
    (void)state;
    memory_init(&memory);
    buffer_init(&out, &memory);
    return 0;
}

static int drop_buffer(void **state)
{
    (void)state;
    buffer_free(&out);
    return 0;
}

static void expect_out(const char *text)
{
    buffer_byte(&out, '\0');
    assert_string_equal(out.data, text);
    buffer_clear(&out);
}

/* A request leaves out what is the default: an example that gives it would look different there. */
static void examples_give_no_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        struct hf_bytes words[WORDS_MAX], again[WORDS_MAX];
        struct command command = parse(command_table[i].example);
        command_to_words(&command, &out);
        buffer_byte(&out, '\0');
        if (split(command_table[i].example, words) != split(out.data, again)) {
            fail_msg("\"%s\" gives a default: \"%s\" says the same", command_table[i].example,
                     out.data);
        }
        buffer_clear(&out);
    }
}

static void a_refusal_has_every_cause(void **state)
{
    enum hf_error codes[HF_ERROR_COUNT];
    (void)state;

    assert_true(help_refusals(&command_table[QUOTA_RESERVE], codes) >= 4);
    assert_int_equal(codes[0], HF_QUOTA_EXCEEDED);
    help_cause(&command_table[QUOTA_RESERVE], HF_INVALID_ARGUMENT, false, &out);
    expect_out("TTL without HOLD");
    help_cause(&command_table[QUOTA_RESERVE], HF_INVALID_ARGUMENT, true, &out);
    expect_out("ttl_seconds without hold_id");
    help_cause(&command_table[STOCK_LOAD], HF_INVALID_QUANTITY, false, &out);
    expect_out(
        "with what ADJUST added it would be more than 2^53-1; quantity, SHARDS, WATERMARK out "
        "of bounds");
    help_cause(&command_table[STOCK_LOAD], HF_LOCKED, false, &out);
    expect_out("");
}

static void expect_request(const char *line, bool alias, const char *target, const char *body)
{
    struct command command = parse(line);
    struct buffer rest;

    buffer_init(&rest, &memory);
    command_to_request(&command, alias, &out, &rest);
    expect_out(target);
    buffer_byte(&rest, '\0');
    assert_string_equal(rest.data, body);
    buffer_free(&rest);
}

static void a_command_becomes_a_request(void **state)
{
    (void)state;
    expect_request("SEATS.OPEN gala floor/2 500", false, "/v1/events/gala/zones/floor%2F2",
                   "{\"capacity\":500}");
    expect_request(
        "SEATS.RESERVE gala floor b-1 ann 2 4 TTL 1500ms LIFETIME", false,
        "/v1/events/gala/bookings",
        "{\"zone_id\":\"floor\",\"booking_id\":\"b-1\",\"user_id\":\"ann\",\"quantity\":2,"
        "\"max_per_user\":4,\"ttl_seconds\":\"1500ms\",\"lifetime\":true}");
    expect_request("SEATS.CONFIRM gala b-1 USER ann", false, "/v1/events/gala/bookings/b-1/confirm",
                   "{\"user_id\":\"ann\"}");
    expect_request("SEATS.CONFIRM gala b-1", true, "/v1/bookings/b-1/confirm", "{}");
    expect_request("ROOM.LEAVE gala ann", false, "/v1/events/gala/queue/ann", "");
    expect_request("LOCK.GET seat-12", false, "/v1/locks/seat-12", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_has_its_meaning),
        cmocka_unit_test(every_row_lists_its_refusals_once),
        cmocka_unit_test(every_row_has_an_example_that_it_accepts),
        cmocka_unit_test(a_note_on_the_reply_is_a_phrase_too),
        cmocka_unit_test(examples_give_no_defaults),
        cmocka_unit_test(a_refusal_has_every_cause),
        cmocka_unit_test(a_command_becomes_a_request),
    };
    return cmocka_run_group_tests(tests, make_buffer, drop_buffer);
}
