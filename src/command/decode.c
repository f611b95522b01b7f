/* SPDX-License-Identifier: Apache-2.0
 *
 * From words, named fields or a struct to a checked command, by the row's arguments. */
#include "command/decode_refuse.h"

#include "base/text.h"

static void *member(struct command *command, const struct arg_spec *arg)
{
    return (char *)&command->args + arg->offset;
}

static bool is_number(const struct arg_spec *arg)
{
    return arg->type == ARG_COUNT || arg->type == ARG_AMOUNT || arg->type == ARG_DURATION ||
           arg->type == ARG_WAIT;
}

static inline enum hf_error check_number(const struct arg_spec *arg, enum naming naming,
                                         int64_t number, struct problem *problem)
{
    return number >= arg->min && number <= arg->max
               ? HF_OK
               : decode_refuse_number(arg, naming, number, problem);
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

/* A text that is no id. */
static enum hf_error check_text(const struct arg_spec *arg, enum naming naming,
                                struct hf_bytes text, struct problem *problem)
{
    if (arg->type == ARG_CHOICE && !is_choice(arg->choices, text)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.*s\" is not one of %s",
                           decode_label(arg, naming), DECODE_SHOWN(text), arg->choices);
    }
    if ((arg->type == ARG_TEXT || arg->type == ARG_BLOB) && (int64_t)text.size > arg->max) {
        return problem_set(problem, HF_PAYLOAD_TOO_LARGE, "%s is %zu bytes: at most %lld",
                           decode_label(arg, naming), text.size, (long long)arg->max);
    }
    if (arg->type == ARG_TEXT && ((int64_t)text.size < arg->min || !text_is_utf8(text))) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s \"%.*s\" (%zu bytes) must be %lld to %lld bytes of UTF-8",
                           decode_label(arg, naming), DECODE_SHOWN(text), text.size,
                           (long long)arg->min, (long long)arg->max);
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

/* Anything but an id that is one. */
static enum hf_error set_other(struct command *command, const struct arg_spec *arg,
                               enum naming naming, struct hf_bytes text, struct problem *problem)
{
    enum hf_error code;
    int64_t number;
    bool is_one = false;

    switch (arg->type) {
    case ARG_COUNT:
    case ARG_AMOUNT:
        is_one = text_to_integer(text, &number);
        break;
    case ARG_DURATION:
        is_one = text_to_duration(text, 1000, &number);
        break;
    case ARG_WAIT:
        is_one = text_to_duration(text, 1, &number);
        break;
    case ARG_ID:
        return decode_refuse_id(arg, naming, text, problem);
    default:
        code = check_text(arg, naming, text, problem);
        if (code == HF_OK) {
            *(struct hf_bytes *)member(command, arg) = text;
        }
        return code;
    }
    return is_one ? set_number(command, arg, naming, number, problem)
                  : decode_refuse_digits(arg, naming, text, problem);
}

static inline enum hf_error set_text(struct command *command, const struct arg_spec *arg,
                                     enum naming naming, struct hf_bytes text,
                                     struct problem *problem)
{
    if (arg->type == ARG_ID && text_is_id(text)) {
        *(struct hf_bytes *)member(command, arg) = text;
        return HF_OK;
    }
    return set_other(command, arg, naming, text, problem);
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
    command->source = NULL;
    memcpy(&command->args, command_defaults(spec), spec->args_size);
}

static size_t keyword_index(const struct command_spec *spec, struct hf_bytes word)
{
    size_t i = spec->required;

    while (i < spec->arg_count && !text_is_word(word, spec->args[i].keyword)) {
        i++;
    }
    return i;
}

/* Checks that companions are there, and gives an argument its default that has one only beside its
 * companion; all others have theirs from begin(). `given` has a bit for each argument. */
static enum hf_error finish(struct command *command, enum naming naming, unsigned given,
                            struct problem *problem)
{
    const struct command_spec *spec = command->spec;

    for (size_t i = spec->required; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (arg->needs == NULL) {
            continue;
        }
        size_t needed = keyword_index(spec, hf_text(arg->needs));
        bool alone = !(given & 1U << needed);
        if (given & 1U << i && alone) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "%s makes no sense without %s",
                               decode_label(arg, naming),
                               decode_label(&spec->args[needed], naming));
        }
        if (!(given & 1U << i) && !alone) {
            set_default(command, arg);
        }
    }
    return HF_OK;
}

void command_fill_defaults(const struct command_spec *spec, union command_args *args)
{
    struct command command;

    memset(&command.args, 0, sizeof command.args);
    for (size_t i = spec->required; i < spec->arg_count; i++) {
        if (spec->args[i].needs == NULL) {
            set_default(&command, &spec->args[i]);
        }
    }
    *args = command.args;
}

/* ---- the three forms ------------------------------------------------------------------------- */

/* Arguments that come with their keywords, from the word behind the last required one on. */
static enum hf_error set_optional(struct command *command, size_t count,
                                  const struct hf_bytes *words, struct problem *problem)
{
    const struct command_spec *spec = command->spec;
    unsigned given = 0;
    enum hf_error code = HF_OK;

    for (size_t i = spec->required + 1; i < count && code == HF_OK; i++) {
        size_t which = keyword_index(spec, words[i]);
        if (which == spec->arg_count) {
            return decode_unknown_keyword(spec, words[i], problem);
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

enum hf_error command_from_row(struct command *command, const struct command_spec *spec,
                               size_t count, const struct hf_bytes *words, struct problem *problem)
{
    size_t given = count - 1;

    if (given != spec->required && (given < spec->required || given > decode_most_words(spec))) {
        return decode_wrong_count(spec, given, problem);
    }
    begin(command, spec);
    for (size_t i = 0; i < spec->required; i++) {
        enum hf_error code = set_text(command, &spec->args[i], BY_WORD, words[i + 1], problem);
        if (code != HF_OK) {
            return code;
        }
    }
    return given == spec->required ? HF_OK : set_optional(command, count, words, problem);
}

enum hf_error command_from_words(struct command *command, size_t count,
                                 const struct hf_bytes *words, struct problem *problem)
{
    const struct command_spec *spec = count > 0 ? command_find(words[0]) : NULL;

    if (spec == NULL) {
        return decode_unknown_command(count > 0 ? words[0] : hf_text(""), problem);
    }
    return command_from_row(command, spec, count, words, problem);
}

static enum hf_error set_field(struct command *command, const struct arg_spec *arg,
                               const struct command_field *field, struct problem *problem)
{
    if (field->text.data != NULL && arg->type == ARG_FLAG) {
        bool is_true = text_equal(field->text, hf_text("true"));
        if (!field->is_bare || (!is_true && !text_equal(field->text, hf_text("false")))) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.*s\" must be true or false",
                               arg->field, DECODE_SHOWN(field->text));
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
            return decode_unknown_field(spec, fields[i].name, problem);
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
        return decode_missing_fields(spec, given, problem);
    }
    return finish(command, BY_FIELD, given, problem);
}

/* Takes a member of an argument struct over, if it is valid. It is copied by itself, in the pieces
 * that the caller has just written: a copy of the whole struct would wait for those. With `own`, an
 * id may be a name that no client can give. */
static inline enum hf_error take_member(struct command *command, const struct arg_spec *arg,
                                        const void *value, bool own, struct problem *problem)
{
    struct hf_bytes text;
    int64_t number;

    if (arg->type == ARG_FLAG) {
        *(bool *)member(command, arg) = *(const bool *)value;
        return HF_OK;
    }
    if (is_number(arg)) {
        memcpy(&number, value, sizeof number);
        *(int64_t *)member(command, arg) = number;
        number = number == HF_ZERO && arg->zero_counts ? 0 : number;
        return check_number(arg, BY_WORD, number, problem);
    }
    memcpy(&text, value, sizeof text);
    *(struct hf_bytes *)member(command, arg) = text;
    if (arg->type != ARG_ID) {
        return check_text(arg, BY_WORD, text, problem);
    }
    return text_is_id(text) || (own && text_is_own_id(text))
               ? HF_OK
               : decode_refuse_id(arg, BY_WORD, text, problem);
}

/* Is an optional member given? One that is zero is not. */
static inline bool is_given(const struct arg_spec *arg, const void *value)
{
    struct hf_bytes text;
    int64_t number;

    if (arg->type == ARG_FLAG) {
        return *(const bool *)value;
    }
    if (is_number(arg)) {
        memcpy(&number, value, sizeof number);
        return number != 0;
    }
    memcpy(&text, value, sizeof text);
    return text.size > 0;
}

/* The optional members: those that are not given have their defaults already. */
static enum hf_error take_optional(struct command *command, const char *args,
                                   struct problem *problem)
{
    const struct command_spec *spec = command->spec;
    unsigned given = 0;
    bool companions = false;

    for (size_t i = spec->required; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        companions |= arg->needs != NULL;
        if (is_given(arg, args + arg->offset)) {
            enum hf_error code = take_member(command, arg, args + arg->offset, false, problem);
            if (code != HF_OK) {
                return code;
            }
            given |= 1U << i;
        }
    }
    return companions ? finish(command, BY_WORD, given, problem) : HF_OK;
}

/* With `own`, the scope may be a name that no client can give. */
static enum hf_error from_struct(struct command *command, const struct command_spec *spec,
                                 const char *args, bool own, struct problem *problem)
{
    begin(command, spec);
    for (size_t i = 0; i < spec->required; i++) {
        const struct arg_spec *arg = &spec->args[i];
        enum hf_error code = take_member(command, arg, args + arg->offset, own && i == 0, problem);
        if (code != HF_OK) {
            return code;
        }
    }
    return take_optional(command, args, problem);
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
