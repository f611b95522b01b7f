/* SPDX-License-Identifier: Apache-2.0
 *
 * From words, named fields or a struct to a checked command, by the row's arguments. */
#include "base/error.h"
#include "base/text.h"
#include "command/command.h"

#include <stdio.h>

/* At most this much of a bad value is repeated in a message, by "%.*s". */
#define SHOWN_MAX 48
#define SHOWN(bytes) SHOWN_MAX, shown((char[SHOWN_MAX + 1]){""}, bytes)

/* A NUL byte would end the value for printf(), and have "PING\0" called an unknown PING. */
static const char *shown(char out[SHOWN_MAX + 1], struct hf_bytes bytes)
{
    size_t size = bytes.size < SHOWN_MAX ? bytes.size : SHOWN_MAX;

    for (size_t i = 0; i < size; i++) {
        out[i] = bytes.data[i] == '\0' ? '?' : bytes.data[i];
    }
    return out;
}

static void *member(struct command *command, const struct arg_spec *arg)
{
    return (char *)&command->args + arg->offset;
}

static bool is_number(const struct arg_spec *arg)
{
    return arg->type == ARG_COUNT || arg->type == ARG_AMOUNT || arg->type == ARG_DURATION ||
           arg->type == ARG_WAIT;
}

/* How the client names the arguments of a command. */
enum naming {
    BY_WORD,  /* "TTL" for a keyword argument, "quantity" for a positional one */
    BY_FIELD, /* as in JSON */
};

static const char *label(const struct arg_spec *arg, enum naming naming)
{
    return naming == BY_FIELD ? arg->field : arg->keyword ? arg->keyword : arg->name;
}

static enum hf_error check_number(const struct arg_spec *arg, enum naming naming, int64_t number,
                                  struct problem *problem)
{
    static const enum hf_error codes[] = {[ARG_COUNT] = HF_INVALID_QUANTITY,
                                          [ARG_AMOUNT] = HF_INVALID_AMOUNT,
                                          [ARG_DURATION] = HF_INVALID_TTL,
                                          [ARG_WAIT] = HF_INVALID_TTL};
    if (number >= arg->min && number <= arg->max) {
        return HF_OK;
    }
    const char *unit = arg->type == ARG_DURATION || arg->type == ARG_WAIT ? " ms" : "";
    return problem_set(problem, codes[arg->type], "%s is %lld%s: must be %lld to %lld%s",
                       label(arg, naming), (long long)number, unit, (long long)arg->min,
                       (long long)arg->max, unit);
}

/* Is `text` one of "a|b|c"? */
static bool is_choice(const char *choices, struct hf_bytes text)
{
    for (const char *at = choices; *at != '\0';) {
        size_t size = strcspn(at, "|");
        if (text_equal((struct hf_bytes){at, size}, text)) {
            return true;
        }
        at += size + (at[size] == '|');
    }
    return false;
}

static enum hf_error check_text(const struct arg_spec *arg, enum naming naming,
                                struct hf_bytes text, struct problem *problem)
{
    if (arg->type == ARG_ID && !text_is_id(text)) {
        return problem_set(problem, HF_INVALID_ID,
                           "%s \"%.*s\" (%zu bytes) is not an id: 1-128 bytes of UTF-8, no spaces, "
                           "control characters, { or }",
                           label(arg, naming), SHOWN(text), text.size);
    }
    if (arg->type == ARG_CHOICE && !is_choice(arg->choices, text)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.*s\" is not one of %s",
                           label(arg, naming), SHOWN(text), arg->choices);
    }
    if ((arg->type == ARG_TEXT || arg->type == ARG_BLOB) && (int64_t)text.size > arg->max) {
        return problem_set(problem, HF_PAYLOAD_TOO_LARGE, "%s is %zu bytes: at most %lld",
                           label(arg, naming), text.size, (long long)arg->max);
    }
    if (arg->type == ARG_TEXT && ((int64_t)text.size < arg->min || !text_is_utf8(text))) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s \"%.*s\" (%zu bytes) must be %lld to %lld bytes of UTF-8",
                           label(arg, naming), SHOWN(text), text.size, (long long)arg->min,
                           (long long)arg->max);
    }
    return HF_OK;
}

static enum hf_error set_number(struct command *command, const struct arg_spec *arg,
                                enum naming naming, int64_t number, struct problem *problem)
{
    enum hf_error code = check_number(arg, naming, number, problem);
    if (code == HF_OK) {
        *(int64_t *)member(command, arg) = number == 0 && arg->zero_counts ? HF_ZERO : number;
    }
    return code;
}

/* Digits, a point or a comma, and digits: what somebody writes who counts in euros or dollars. */
static bool is_fraction(struct hf_bytes text)
{
    size_t sign = text.size > 0 && text.data[0] == '-', points = 0;

    for (size_t i = sign; i < text.size; i++) {
        bool point = text.data[i] == '.' || text.data[i] == ',';
        if (!point && (text.data[i] < '0' || text.data[i] > '9')) {
            return false;
        }
        points += point;
    }
    return points == 1 && text.size - sign > 1;
}

static enum hf_error set_text(struct command *command, const struct arg_spec *arg,
                              enum naming naming, struct hf_bytes text, struct problem *problem)
{
    if (is_number(arg)) {
        int64_t number;
        bool duration = arg->type == ARG_DURATION || arg->type == ARG_WAIT;
        if (duration ? !text_to_duration(text, arg->type == ARG_WAIT ? 1 : 1000, &number)
                     : !text_to_integer(text, &number)) {
            return problem_set(
                problem, HF_ERR, "%s \"%.*s\" is %s", label(arg, naming), SHOWN(text),
                duration            ? "not a duration such as 30, 1500ms, 10m, 2h"
                : is_fraction(text) ? "a fraction: numbers are whole, and money is in minor units, "
                                      "such as cents"
                                    : "not a number");
        }
        return set_number(command, arg, naming, number, problem);
    }
    enum hf_error code = check_text(arg, naming, text, problem);
    if (code == HF_OK) {
        *(struct hf_bytes *)member(command, arg) = text;
    }
    return code;
}

static void set_default(struct command *command, const struct arg_spec *arg)
{
    if (is_number(arg)) {
        *(int64_t *)member(command, arg) = arg->default_value;
    } else if (arg->type == ARG_CHOICE) {
        *(struct hf_bytes *)member(command, arg) =
            (struct hf_bytes){arg->choices, strcspn(arg->choices, "|")};
    }
}

static void begin(struct command *command, const struct command_spec *spec)
{
    command->spec = spec;
    memset(command->entropy, 0, sizeof command->entropy);
    command->seeded = false;
    memset(&command->args, 0, spec->args_size);
}

static size_t keyword_index(const struct command_spec *spec, struct hf_bytes word)
{
    size_t i = spec->required;

    while (i < spec->arg_count && !text_is_word(word, spec->args[i].keyword)) {
        i++;
    }
    return i;
}

/* Gives what was not given its default, and checks that companions are there. `given` has a bit for
 * each argument. */
static enum hf_error finish(struct command *command, enum naming naming, unsigned given,
                            struct problem *problem)
{
    const struct command_spec *spec = command->spec;

    for (size_t i = spec->required; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        size_t needed = arg->needs != NULL ? keyword_index(spec, hf_text(arg->needs)) : i;
        bool alone = needed != i && !(given & 1U << needed);
        if (given & 1U << i && alone) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "%s makes no sense without %s",
                               label(arg, naming), label(&spec->args[needed], naming));
        }
        if (!(given & 1U << i) && !alone) {
            set_default(command, arg);
        }
    }
    return HF_OK;
}

/* How many words the arguments can take: a keyword two, a flag one. */
static size_t most_words(const struct command_spec *spec)
{
    size_t words = spec->required;

    for (size_t i = spec->required; i < spec->arg_count; i++) {
        words += spec->args[i].type == ARG_FLAG ? 1 : 2;
    }
    return words;
}

/* ---- what a request lacks, or has too much --------------------------------------------------- */

/* What a client of Redis sends to find its way or to run a script. */
static bool is_for_redis(struct hf_bytes name)
{
    static const char *const words[] = {"SCRIPT", "EVAL", "EVALSHA", "CLUSTER", "SENTINEL", "ROLE"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (text_is_word(name, words[i])) {
            return true;
        }
    }
    return false;
}

static enum hf_error unknown_command(struct hf_bytes name, struct problem *problem)
{
    struct text_guess guess = {.given = name};
    char hint[TEXT_HINT_SIZE];

    if (is_for_redis(name)) {
        return problem_set(problem, HF_ERR, "unknown command '%.*s': " ERROR_TEXT_NOT_REDIS,
                           SHOWN(name));
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        text_guess_try(&guess, command_table[i].name);
    }
    return problem_set(problem, HF_ERR, "unknown command '%.*s'%s", SHOWN(name),
                       text_hint(&guess, "", hint));
}

/* "zone, quantity": the required arguments that were not given. */
static void list_missing(const struct command_spec *spec, enum naming naming, unsigned given,
                         char out[MESSAGE_SIZE / 2])
{
    size_t size = 0;

    out[0] = '\0';
    for (size_t i = 0; i < spec->required && size < MESSAGE_SIZE / 2; i++) {
        if (!(given & 1U << i)) {
            size += (size_t)snprintf(out + size, MESSAGE_SIZE / 2 - size, "%s%s",
                                     size > 0 ? ", " : "", label(&spec->args[i], naming));
        }
    }
}

static enum hf_error wrong_count(const struct command_spec *spec, size_t count,
                                 struct problem *problem)
{
    char missing[MESSAGE_SIZE / 2];

    if (count >= spec->required) {
        return problem_set(problem, HF_ERR,
                           "wrong number of arguments for %s: %zu given, at most %zu possible",
                           spec->name, count, most_words(spec));
    }
    list_missing(spec, BY_WORD, (1U << count) - 1, missing);
    return problem_set(problem, HF_ERR,
                       "wrong number of arguments for %s: %zu given, %zu needed; missing: %s",
                       spec->name, count, spec->required, missing);
}

static enum hf_error unknown_keyword(const struct command_spec *spec, struct hf_bytes word,
                                     struct problem *problem)
{
    struct text_guess guess = {.given = word};
    char hint[TEXT_HINT_SIZE];

    for (size_t i = spec->required; i < spec->arg_count; i++) {
        text_guess_try(&guess, spec->args[i].keyword);
    }
    return problem_set(problem, HF_ERR, "%s has no argument '%.*s'%s", spec->name, SHOWN(word),
                       text_hint(&guess, "", hint));
}

static enum hf_error unknown_field(const struct command_spec *spec, struct hf_bytes name,
                                   struct problem *problem)
{
    struct text_guess guess = {.given = name};
    char hint[TEXT_HINT_SIZE];

    for (size_t i = 0; i < spec->arg_count; i++) {
        text_guess_try(&guess, spec->args[i].field);
    }
    return problem_set(problem, HF_INVALID_ARGUMENT, "unknown field \"%.*s\"%s", SHOWN(name),
                       text_hint(&guess, "", hint));
}

/* ---- the three forms ------------------------------------------------------------------------- */

enum hf_error command_from_words(struct command *command, size_t count,
                                 const struct hf_bytes *words, struct problem *problem)
{
    const struct command_spec *spec = count > 0 ? command_find(words[0]) : NULL;
    unsigned given = 0;
    enum hf_error code = HF_OK;

    if (spec == NULL) {
        return unknown_command(count > 0 ? words[0] : hf_text(""), problem);
    }
    if (count - 1 < spec->required || count - 1 > most_words(spec)) {
        return wrong_count(spec, count - 1, problem);
    }
    begin(command, spec);
    for (size_t i = 0; i < spec->required && code == HF_OK; i++) {
        code = set_text(command, &spec->args[i], BY_WORD, words[i + 1], problem);
    }
    for (size_t i = spec->required + 1; i < count && code == HF_OK; i++) {
        size_t which = keyword_index(spec, words[i]);
        if (which == spec->arg_count) {
            return unknown_keyword(spec, words[i], problem);
        }
        const struct arg_spec *arg = &spec->args[which];
        if (given & 1U << which) {
            return problem_set(problem, HF_ERR, "%s is given twice", arg->keyword);
        }
        given |= 1U << which;
        if (arg->type == ARG_FLAG) {
            *(bool *)member(command, arg) = true;
        } else if (++i == count) {
            return problem_set(problem, HF_ERR, "%s needs a value: %s", arg->keyword, arg->name);
        } else {
            code = set_text(command, arg, BY_WORD, words[i], problem);
        }
    }
    return code != HF_OK ? code : finish(command, BY_WORD, given, problem);
}

static enum hf_error set_field(struct command *command, const struct arg_spec *arg,
                               const struct command_field *field, struct problem *problem)
{
    if (field->text.data != NULL && arg->type == ARG_FLAG) {
        bool is_true = text_equal(field->text, hf_text("true"));
        if (!field->is_bare || (!is_true && !text_equal(field->text, hf_text("false")))) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.*s\" must be true or false",
                               arg->field, SHOWN(field->text));
        }
        *(bool *)member(command, arg) = is_true;
        return HF_OK;
    }
    if (field->text.data != NULL) {
        return set_text(command, arg, BY_FIELD, field->text, problem);
    }
    if (arg->type == ARG_FLAG) {
        *(bool *)member(command, arg) = field->number != 0;
        return HF_OK;
    }
    if (!is_number(arg) || field->is_truth) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s is a %s: must be a %s", arg->field,
                           field->is_truth ? "truth value" : "number",
                           is_number(arg) ? "number" : "text in quotes");
    }
    int64_t number = field->number;
    if (arg->type == ARG_DURATION && __builtin_mul_overflow(number, 1000, &number)) {
        number = field->number < 0 ? -INT64_MAX : INT64_MAX;
    }
    return set_number(command, arg, BY_FIELD, number, problem);
}

enum hf_error command_from_fields(struct command *command, const struct command_spec *spec,
                                  size_t count, const struct command_field *fields,
                                  struct problem *problem)
{
    unsigned given = 0;

    begin(command, spec);
    for (size_t i = 0; i < count; i++) {
        size_t which = 0;
        while (which < spec->arg_count &&
               !text_equal(fields[i].name, hf_text(spec->args[which].field))) {
            which++;
        }
        if (which == spec->arg_count) {
            return unknown_field(spec, fields[i].name, problem);
        }
        if (given & 1U << which) {
            return problem_set(problem, HF_INVALID_ARGUMENT,
                               "repeated field \"%s\": it may be given once",
                               spec->args[which].field);
        }
        given |= 1U << which;
        enum hf_error code = set_field(command, &spec->args[which], &fields[i], problem);
        if (code != HF_OK) {
            return code;
        }
    }
    if (~given & ((1U << spec->required) - 1)) {
        char missing[MESSAGE_SIZE / 2];
        list_missing(spec, BY_FIELD, given, missing);
        return problem_set(problem, HF_INVALID_ARGUMENT, "fields are missing: %s", missing);
    }
    return finish(command, BY_FIELD, given, problem);
}

/* Checks a member as it stands in the struct; an optional one that is zero was not given. */
static enum hf_error check_member(struct command *command, const struct arg_spec *arg, bool own,
                                  bool *given, struct problem *problem)
{
    bool required = arg->keyword == NULL;
    const void *value = member(command, arg);
    struct hf_bytes text;
    int64_t number;

    switch (arg->type) {
    case ARG_FLAG:
        *given = *(const bool *)value;
        return HF_OK;
    case ARG_COUNT:
    case ARG_AMOUNT:
    case ARG_DURATION:
    case ARG_WAIT:
        memcpy(&number, value, sizeof number);
        *given = required || number != 0;
        number = number == HF_ZERO && arg->zero_counts ? 0 : number;
        return *given ? check_number(arg, BY_WORD, number, problem) : HF_OK;
    case ARG_ID:
        memcpy(&text, value, sizeof text);
        *given = required || text.size > 0;
        if (!*given || text_is_id(text) || (own && text_is_own_id(text))) {
            return HF_OK;
        }
        return check_text(arg, BY_WORD, text, problem);
    case ARG_CHOICE:
    case ARG_TEXT:
    case ARG_BLOB:
        break;
    }
    memcpy(&text, value, sizeof text);
    *given = required || text.size > 0;
    return *given ? check_text(arg, BY_WORD, text, problem) : HF_OK;
}

/* With `own`, the scope may be a name that no client can give. */
static enum hf_error from_struct(struct command *command, const struct command_spec *spec,
                                 const void *args, bool own, struct problem *problem)
{
    unsigned given = 0;
    bool companions = false;

    command->spec = spec;
    memset(command->entropy, 0, sizeof command->entropy);
    command->seeded = false;
    memcpy(&command->args, args, spec->args_size);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        bool is_given;
        enum hf_error code = check_member(command, arg, own && i == 0, &is_given, problem);
        if (code != HF_OK) {
            return code;
        }
        if (!is_given && arg->needs == NULL) {
            set_default(command, arg);
        }
        given |= (unsigned)is_given << i;
        companions |= arg->needs != NULL;
    }
    return companions ? finish(command, BY_WORD, given, problem) : HF_OK;
}

enum hf_error command_from_struct(struct command *command, const struct command_spec *spec,
                                  const void *args, struct problem *problem)
{
    return from_struct(command, spec, args, false, problem);
}

enum hf_error command_from_own(struct command *command, const struct command_spec *spec,
                               const void *args, struct problem *problem)
{
    return from_struct(command, spec, args, true, problem);
}
