/* SPDX-License-Identifier: Apache-2.0
 *
 * Usage lines, help on a terminal and the reference page, all made from the rows. */
#include "command/help.h"

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

/* "600 s", "10 ms", "720 h": in the largest unit that comes out even. */
static void duration(struct buffer *out, int64_t ms)
{
    if (ms > 0 && ms % 3600000 == 0) {
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

static void describe_type(const struct arg_spec *arg, struct buffer *out)
{
    void (*bound)(struct buffer *, int64_t) = number;

    switch (arg->type) {
    case ARG_ID:
        buffer_text(out, "id");
        return;
    case ARG_CHOICE:
        buffer_format(out, "one of %s", arg->choices);
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
        break;
    case ARG_DURATION:
        buffer_text(out, "duration, ");
        bound = duration;
        break;
    case ARG_WAIT:
        buffer_text(out, "duration in ms, ");
        bound = duration;
        break;
    }
    bound(out, arg->min);
    buffer_text(out, " to ");
    bound(out, arg->max);
    if (arg->keyword != NULL) {
        buffer_text(out, "; default ");
        if (arg->default_value == HF_INTEGER_MAX) {
            buffer_text(out, "no bound");
        } else {
            bound(out, arg->default_value);
        }
    }
}

static void describe_reply(const struct command_spec *spec, struct buffer *out)
{
    bool list = spec->shape != REPLY_NUMBER;
    const char *comma = "";

    if (list) {
        buffer_text(out, spec->shape == REPLY_LEAD ? "[1" : "[");
        comma = spec->shape == REPLY_LEAD ? ", " : "";
    }
    for (size_t i = 0; i < command_shown_fields(spec); i++) {
        if (spec->shape == REPLY_FIELDS) {
            buffer_format(out, "%s\"%s\", …", comma, spec->fields[i].name);
        } else {
            buffer_format(out, "%s%s", comma, spec->fields[i].name);
        }
        comma = ", ";
    }
    buffer_text(out, spec->shape == REPLY_PAIRS ? ", …]" : list ? "]" : "");
    if (spec->nil_code != HF_OK) {
        buffer_text(out, " or nil");
    }
}

static void describe_keys(const struct command_spec *spec, struct buffer *out)
{
    for (size_t i = 0; i < COMMAND_KEYS_MAX && spec->keys[i] != KEY_NONE; i++) {
        buffer_format(out, "%s%s", i ? " " : "", key_form(spec->keys[i], true));
    }
}

void help_command(const struct command_spec *spec, struct buffer *out)
{
    help_usage(spec, out);
    buffer_format(out, "\n\n    %s.\n\nArguments\n", spec->help);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        buffer_format(out, "    %-14s ", arg->keyword ? arg->keyword : arg->name);
        describe_type(arg, out);
        buffer_byte(out, '\n');
    }
    buffer_text(out, "\nReply\n    ");
    describe_reply(spec, out);
    buffer_byte(out, '\n');
    if (spec->route != NULL) {
        buffer_format(out, "\nHTTP\n    %s %s\n", spec->method, spec->route);
    }
    buffer_format(out, "\nRedis\n    %s.lua  ", spec->script);
    describe_keys(spec, out);
    buffer_byte(out, '\n');
}

void help_list(struct buffer *out)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        buffer_format(out, "    %-14s %s\n", command_table[i].name, command_table[i].help);
    }
}

/* ---- docs/commands.md ------------------------------------------------------------------------ */

/* The title of a family, at its first command. */
static const char *family_title(size_t i)
{
    static const struct {
        const char *prefix, *title;
    } families[] = {
        {"SEATS.", "Seats: holds with a deadline (scope: event)"},
        {"QUOTA.", "Quota: reserve and refund (scope: tenant)"},
        {"SEM.", "Semaphore: N slots, strict FIFO, heartbeats (scope: name)"},
        {"LOCK.", "Lock: one holder, its own key to unlock (scope: resource)"},
        {"STOCK.", "Stock: flash sale (scope: product)"},
        {"ROOM.", "Waiting room (scope: event)"},
        {"IDEM.", "Idempotency (scope: key)"},
    };
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        size_t size = strlen(families[f].prefix);
        if (strncmp(command_table[i].name, families[f].prefix, size) == 0) {
            bool first =
                i == 0 || strncmp(command_table[i - 1].name, families[f].prefix, size) != 0;
            return first ? families[f].title : NULL;
        }
    }
    return NULL;
}

static void markdown_command(const struct command_spec *spec, struct buffer *out)
{
    buffer_format(out, "\n### %s\n\n%s.\n\n```\n", spec->name, spec->help);
    help_usage(spec, out);
    buffer_text(out, "\n```\n\n| argument | JSON field | |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        buffer_format(out, "| `%s` | `%s` | ", arg->keyword ? arg->keyword : arg->name, arg->field);
        size_t start = out->size;
        describe_type(arg, out);
        for (size_t at = start; at < out->size && !out->failed; at++) {
            out->data[at] = out->data[at] == '|' ? '/' : out->data[at]; /* of a table */
        }
        buffer_text(out, " |\n");
    }
    buffer_text(out, "\n- Reply: `");
    describe_reply(spec, out);
    buffer_text(out, "`");
    if (spec->route != NULL) {
        buffer_format(out, "\n- HTTP: `%s %s`", spec->method, spec->route);
    }
    buffer_format(out, "\n- Redis: `%s.lua` on `", spec->script);
    describe_keys(spec, out);
    buffer_text(out, "`\n");
}

void help_markdown(struct buffer *out)
{
    buffer_text(
        out,
        "# Commands\n\n"
        "Generated from the command table by `make docs`; do not edit.\n\n"
        "Every command answers on every front and on every engine in the same way. A refusal is\n"
        "`[0, CODE, message]`, a malformed request `-ERR message`. Ids are 1-128 bytes of UTF-8 "
        "without\nspaces, control characters, `{` or `}`. Durations are seconds, or have a unit: "
        "`1500ms`, `30s`,\n`10m`, `2h`. What the corners mean is in "
        "[semantics.md](semantics.md), and what HTTP\nadds in [http.md](http.md). "
        "The script of each command, and how to call it from any language, is in\n"
        "[lua.md](lua.md); its keys are given here as a cluster has them.\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *title = family_title(i);
        if (title != NULL) {
            buffer_format(out, "\n## %s\n", title);
        }
        markdown_command(&command_table[i], out);
    }
    buffer_text(out, "\n## Errors\n\n| code | HTTP | |\n| --- | --- | --- |\n");
#define ERROR_LINE(code, http, text) buffer_text(out, "| `" #code "` | " #http " | " text " |\n");
    HF_ERROR_MAP(ERROR_LINE)
#undef ERROR_LINE
}
