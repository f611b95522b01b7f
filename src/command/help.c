/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of a command, part by part, made from its row; help_pages.c puts the parts
 * together. */
#include "command/help.h"

#include "base/check.h"
#include "command/words.h"

void help_usage(const struct command_spec *spec, struct buffer *out)
{
    buffer_text(out, spec->name);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (arg->keyword == NULL) {
            buffer_format(out, " %s", arg->name);
        } else if (arg->type == ARG_FLAG) {
            buffer_format(out, " [%s]", arg->keyword);
        } else {
            buffer_format(out, " [%s %s]", arg->keyword, arg->name);
        }
    }
}

/* "600 s", "10 ms", "24 h", "30 days": in the largest unit that comes out even. */
static void duration(struct buffer *out, int64_t ms)
{
    if (ms > 86400000 && ms % 86400000 == 0) {
        buffer_format(out, "%lld days", (long long)(ms / 86400000));
    } else if (ms > 0 && ms % 3600000 == 0) {
        buffer_format(out, "%lld h", (long long)(ms / 3600000));
    } else if (ms > 0 && ms % 1000 == 0) {
        buffer_format(out, "%lld s", (long long)(ms / 1000));
    } else {
        buffer_format(out, "%lld ms", (long long)ms);
    }
}

static void number(struct buffer *out, int64_t value)
{
    if (value == HF_INTEGER_MAX) {
        buffer_text(out, "2^53-1");
    } else if (value == -HF_INTEGER_MAX) {
        buffer_text(out, "-(2^53-1)");
    } else {
        buffer_decimal(out, value);
    }
}

/* "0 to 500; default 100" */
static void bounds(const struct arg_spec *arg, void (*bound)(struct buffer *, int64_t),
                   struct buffer *out)
{
    bound(out, arg->min);
    buffer_text(out, " to ");
    bound(out, arg->max);
    if (arg_has_default(arg)) {
        buffer_text(out, "; default ");
        if (arg->default_value == HF_INTEGER_MAX) {
            buffer_text(out, "no bound");
        } else {
            bound(out, arg->default_value);
        }
    }
}

void help_type(const struct arg_spec *arg, struct buffer *out)
{
    switch (arg->type) {
    case ARG_ID:
        buffer_text(out, "id");
        return;
    case ARG_CHOICE:
        buffer_format(out, "one of %s", arg->choices);
        if (arg->keyword != NULL) {
            buffer_format(out, "; default %.*s", (int)strcspn(arg->choices, "|"), arg->choices);
        }
        return;
    case ARG_FLAG:
        buffer_text(out, "flag");
        return;
    case ARG_TEXT:
        buffer_format(out, "text, %lld to %lld bytes", (long long)arg->min, (long long)arg->max);
        return;
    case ARG_BLOB:
        buffer_format(out, "bytes, at most %lld", (long long)arg->max);
        return;
    case ARG_COUNT:
    case ARG_AMOUNT:
        buffer_text(out, "integer, ");
        bounds(arg, number, out);
        return;
    case ARG_DURATION:
        buffer_text(out, "duration, ");
        bounds(arg, duration, out);
        return;
    case ARG_WAIT:
        buffer_text(out, "duration in ms, ");
        bounds(arg, duration, out);
        return;
    }
}

void help_reply(const struct command_spec *spec, struct buffer *out)
{
    bool list = spec->shape != REPLY_NUMBER, page = spec->shape == REPLY_PAGE;
    bool named = spec->shape == REPLY_FIELDS || (page && !command_lists_names(spec));
    const char *comma = "";

    if (page) {
        buffer_text(out, named ? "[cursor or \"\", [" : "[cursor or \"\", ");
    } else if (list) {
        buffer_text(out, spec->shape == REPLY_LEAD ? "[1" : "[");
        comma = spec->shape == REPLY_LEAD ? ", " : "";
    }
    for (size_t i = 0; i < command_shown_fields(spec); i++) {
        if (named) {
            buffer_format(out, "%s\"%s\", …", comma, spec->fields[i].name);
        } else {
            buffer_format(out, "%s%s", comma, spec->fields[i].name);
        }
        comma = ", ";
    }
    buffer_text(out, page && named                        ? "], …]"
                     : page || spec->shape == REPLY_PAIRS ? ", …]"
                     : list                               ? "]"
                                                          : "");
    if (spec->nil_code != HF_OK) {
        buffer_text(out, " or nil");
    }
}

static void quiet_fields(const struct command_spec *spec, struct buffer *out)
{
    for (size_t i = command_shown_fields(spec); i < spec->field_count; i++) {
        buffer_format(out, "%s%s", i == command_shown_fields(spec) ? "" : ", ",
                      spec->fields[i].name);
    }
}

void help_reply_notes(const struct command_spec *spec, struct buffer *out)
{
    size_t start = out->size;

    if (spec->reply_note != NULL) {
        buffer_format(out, "%s.", spec->reply_note);
    }
    if (spec->nil_code != HF_OK) {
        buffer_format(out, " nil stands for %s.", hf_error_name(spec->nil_code));
    }
    if (spec->shape == REPLY_FIELDS) {
        buffer_text(out, " A map on RESP3, an object in JSON.");
    } else if (spec->shape == REPLY_PAGE && !command_lists_names(spec)) {
        buffer_text(out, " Each item is a map on RESP3, an object in JSON.");
    }
    if (command_shown_fields(spec) < spec->field_count) {
        buffer_text(out, " HTTP has also ");
        quiet_fields(spec, out);
        buffer_byte(out, '.');
    }
    if (spec->made != 0) {
        buffer_format(out, " Over HTTP %s may be left out and is made; the answer has it.",
                      spec->args[spec->made - 1].field);
    }
    if (out->size > start && !out->failed && out->data[start] == ' ') {
        memmove(out->data + start, out->data + start + 1, --out->size - start);
    }
}

void help_keys(const struct command_spec *spec, struct buffer *out)
{
    for (size_t i = 0; i < COMMAND_KEYS_MAX && spec->keys[i] != KEY_NONE; i++) {
        buffer_format(out, "%s%s", i ? " " : "", key_form(spec->keys[i], true));
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* What the type of an argument makes the command refuse with this code for; NULL: for nothing. */
static const char *type_cause(const struct arg_spec *arg, enum hf_error code)
{
    switch (arg->type) {
    case ARG_ID:
        return code == HF_INVALID_ID ? "not an id" : NULL;
    case ARG_COUNT:
        return code == HF_INVALID_QUANTITY ? "out of bounds" : NULL;
    case ARG_AMOUNT:
        return code == HF_INVALID_AMOUNT ? "out of bounds" : NULL;
    case ARG_DURATION:
    case ARG_WAIT:
        return code == HF_INVALID_TTL ? "out of bounds" : NULL;
    case ARG_CHOICE:
        return code == HF_INVALID_ARGUMENT ? "not one of its words" : NULL;
    case ARG_TEXT:
        return code == HF_INVALID_ARGUMENT    ? arg->min > 0 ? "empty, or not UTF-8" : "not UTF-8"
               : code == HF_PAYLOAD_TOO_LARGE ? "too long"
                                              : NULL;
    case ARG_BLOB:
        return code == HF_PAYLOAD_TOO_LARGE ? "too long" : NULL;
    case ARG_FLAG:
        break;
    }
    return NULL;
}

static const char *own_cause(const struct command_spec *spec, enum hf_error code)
{
    for (const struct refusal *refusal = spec->refusals; refusal->code != HF_OK; refusal++) {
        if (refusal->code == code) {
            return refusal->cause;
        }
    }
    return NULL;
}

const char *help_label(const struct arg_spec *arg, bool fields)
{
    return fields ? arg->field : arg->keyword != NULL ? arg->keyword : arg->name;
}

/* The first argument that is refused with this code for the same cause as another. */
static size_t first_of_cause(const struct command_spec *spec, enum hf_error code, const char *cause)
{
    for (size_t i = 0; i < spec->arg_count; i++) {
        const char *why = type_cause(&spec->args[i], code);
        if (why != NULL && strcmp(why, cause) == 0) {
            return i;
        }
    }
    return spec->arg_count;
}

/* "quantity, max_per_user out of bounds" for each cause, with `between` in front; nothing if there
 * is none. Returns what stands between that and more. */
static const char *arguments_cause(const struct command_spec *spec, enum hf_error code, bool fields,
                                   const char *between, struct buffer *out)
{
    for (size_t i = 0; i < spec->arg_count; i++) {
        const char *cause = type_cause(&spec->args[i], code);
        if (cause == NULL || first_of_cause(spec, code, cause) != i) {
            continue;
        }
        buffer_format(out, "%s%s", between, help_label(&spec->args[i], fields));
        for (size_t other = i + 1; other < spec->arg_count; other++) {
            const char *same = type_cause(&spec->args[other], code);
            if (same != NULL && strcmp(same, cause) == 0) {
                buffer_format(out, ", %s", help_label(&spec->args[other], fields));
            }
        }
        buffer_format(out, " %s", cause);
        between = "; ";
    }
    return between;
}

void help_cause(const struct command_spec *spec, enum hf_error code, bool fields,
                struct buffer *out)
{
    const char *own = own_cause(spec, code), *between = own != NULL ? "; " : "";

    buffer_text(out, own != NULL ? own : "");
    between = arguments_cause(spec, code, fields, between, out);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        for (size_t n = 0; arg->needs != NULL && n < spec->arg_count; n++) {
            const struct arg_spec *other = &spec->args[n];
            bool needed = other->keyword != NULL && strcmp(other->keyword, arg->needs) == 0;
            if (code == HF_INVALID_ARGUMENT && needed) {
                buffer_format(out, "%s%s without %s", between, help_label(arg, fields),
                              help_label(other, fields));
                between = "; ";
            }
        }
    }
}

size_t help_refusals(const struct command_spec *spec, enum hf_error codes[HF_ERROR_COUNT])
{
    size_t count = 0;

    for (const struct refusal *refusal = spec->refusals; refusal->code != HF_OK; refusal++) {
        codes[count++] = refusal->code;
    }
    for (int i = HF_OK + 1; i < HF_ERROR_COUNT; i++) {
        enum hf_error code = (enum hf_error)i;
        bool given = false;
        for (size_t a = 0; a < spec->arg_count; a++) {
            given |= type_cause(&spec->args[a], code) != NULL ||
                     (spec->args[a].needs != NULL && code == HF_INVALID_ARGUMENT);
        }
        if (given && own_cause(spec, code) == NULL) {
            codes[count++] = code;
        }
    }
    return count;
}

/* ---- the example ----------------------------------------------------------------------------- */

struct command help_example(const struct command_spec *spec)
{
    struct hf_bytes words[COMMAND_WORDS_MAX];
    struct command command;
    struct problem problem;
    size_t count = 0;

    for (const char *at = spec->example; *at != '\0'; count++) {
        CHECK(count < COMMAND_WORDS_MAX);
        words[count] = (struct hf_bytes){at, strcspn(at, " ")};
        at += words[count].size + (at[words[count].size] == ' ');
    }
    CHECK(command_from_words(&command, count, words, &problem) == HF_OK);
    return command;
}

void help_curl(const struct command_spec *spec, struct buffer *out)
{
    struct command command = help_example(spec);
    struct buffer target, body;
    bool post = strcmp(spec->method, "POST") == 0;

    buffer_init(&target, out->memory);
    buffer_init(&body, out->memory);
    command_to_request(&command, false, &target, &body);
    buffer_text(out, "curl ");
    if (!post && strcmp(spec->method, "GET") != 0) {
        buffer_format(out, "-X %s ", spec->method);
    }
    if (body.size > 0) {
        buffer_text(out, "--json '");
        buffer_bytes(out, body.data, body.size);
        buffer_text(out, "' ");
    }
    bool quoted = target.size > 0 && memchr(target.data, '?', target.size) != NULL;
    buffer_text(out, quoted ? "'localhost:4654" : "localhost:4654");
    buffer_bytes(out, target.data, target.size);
    buffer_text(out, quoted ? "'" : "");
    out->failed |= target.failed || body.failed;
    buffer_free(&target);
    buffer_free(&body);
}
