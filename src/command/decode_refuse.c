/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts into words what is wrong with a request. */
#include "command/decode_refuse.h"

#include "base/error.h"
#include "base/text.h"

#include <stdio.h>

const char *decode_shown(char out[DECODE_SHOWN_MAX + 1], struct hf_bytes bytes)
{
    size_t size = bytes.size < DECODE_SHOWN_MAX ? bytes.size : DECODE_SHOWN_MAX;

    for (size_t i = 0; i < size; i++) {
        out[i] = bytes.data[i] == '\0' ? '?' : bytes.data[i];
    }
    return out;
}

const char *decode_label(const struct arg_spec *arg, enum naming naming)
{
    return naming == BY_FIELD ? arg->field : arg->keyword ? arg->keyword : arg->name;
}

size_t decode_most_words(const struct command_spec *spec)
{
    size_t words = spec->required;

    for (size_t i = spec->required; i < spec->arg_count; i++) {
        words += spec->args[i].type == ARG_FLAG ? 1 : 2;
    }
    return words;
}

/* ---- values ---------------------------------------------------------------------------------- */

enum hf_error decode_refuse_number(const struct arg_spec *arg, enum naming naming, int64_t number,
                                   struct problem *problem)
{
    static const enum hf_error codes[] = {[ARG_COUNT] = HF_INVALID_QUANTITY,
                                          [ARG_AMOUNT] = HF_INVALID_AMOUNT,
                                          [ARG_DURATION] = HF_INVALID_TTL,
                                          [ARG_WAIT] = HF_INVALID_TTL};
    const char *unit = arg->type == ARG_DURATION || arg->type == ARG_WAIT ? " ms" : "";

    return problem_set(problem, codes[arg->type], "%s is %lld%s: must be %lld to %lld%s",
                       decode_label(arg, naming), (long long)number, unit, (long long)arg->min,
                       (long long)arg->max, unit);
}

enum hf_error decode_refuse_id(const struct arg_spec *arg, enum naming naming, struct hf_bytes text,
                               struct problem *problem)
{
    return problem_set(problem, HF_INVALID_ID,
                       "%s \"%.*s\" (%zu bytes) is not an id: 1-128 bytes of UTF-8, no spaces, "
                       "control characters, { or }",
                       decode_label(arg, naming), DECODE_SHOWN(text), text.size);
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

enum hf_error decode_refuse_digits(const struct arg_spec *arg, enum naming naming,
                                   struct hf_bytes text, struct problem *problem)
{
    bool duration = arg->type == ARG_DURATION || arg->type == ARG_WAIT;

    return problem_set(
        problem, HF_ERR, "%s \"%.*s\" is %s", decode_label(arg, naming), DECODE_SHOWN(text),
        duration            ? "not a duration such as 30, 1500ms, 10m, 2h"
        : is_fraction(text) ? "a fraction: numbers are whole, and money is in minor units, "
                              "such as cents"
                            : "not a number");
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

enum hf_error decode_unknown_command(struct hf_bytes name, struct problem *problem)
{
    struct text_guess guess = {.given = name};
    char hint[TEXT_HINT_SIZE];

    if (is_for_redis(name)) {
        return problem_set(problem, HF_ERR, "unknown command '%.*s': " ERROR_TEXT_NOT_REDIS,
                           DECODE_SHOWN(name));
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        text_guess_try(&guess, command_table[i].name);
    }
    return problem_set(problem, HF_ERR, "unknown command '%.*s'%s", DECODE_SHOWN(name),
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
                                     size > 0 ? ", " : "", decode_label(&spec->args[i], naming));
        }
    }
}

enum hf_error decode_wrong_count(const struct command_spec *spec, size_t count,
                                 struct problem *problem)
{
    char missing[MESSAGE_SIZE / 2];

    if (count >= spec->required) {
        return problem_set(problem, HF_ERR,
                           "wrong number of arguments for %s: %zu given, at most %zu possible",
                           spec->name, count, decode_most_words(spec));
    }
    list_missing(spec, BY_WORD, (1U << count) - 1, missing);
    return problem_set(problem, HF_ERR,
                       "wrong number of arguments for %s: %zu given, %zu needed; missing: %s",
                       spec->name, count, spec->required, missing);
}

enum hf_error decode_unknown_keyword(const struct command_spec *spec, struct hf_bytes word,
                                     struct problem *problem)
{
    struct text_guess guess = {.given = word};
    char hint[TEXT_HINT_SIZE];

    for (size_t i = spec->required; i < spec->arg_count; i++) {
        text_guess_try(&guess, spec->args[i].keyword);
    }
    return problem_set(problem, HF_ERR, "%s has no argument '%.*s'%s", spec->name,
                       DECODE_SHOWN(word), text_hint(&guess, "", hint));
}

enum hf_error decode_unknown_field(const struct command_spec *spec, struct hf_bytes name,
                                   struct problem *problem)
{
    struct text_guess guess = {.given = name};
    char hint[TEXT_HINT_SIZE];

    for (size_t i = 0; i < spec->arg_count; i++) {
        text_guess_try(&guess, spec->args[i].field);
    }
    return problem_set(problem, HF_INVALID_ARGUMENT, "unknown field \"%.*s\"%s", DECODE_SHOWN(name),
                       text_hint(&guess, "", hint));
}

enum hf_error decode_missing_fields(const struct command_spec *spec, unsigned given,
                                    struct problem *problem)
{
    char missing[MESSAGE_SIZE / 2];

    list_missing(spec, BY_FIELD, given, missing);
    return problem_set(problem, HF_INVALID_ARGUMENT, "fields are missing: %s", missing);
}
