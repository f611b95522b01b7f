/* SPDX-License-Identifier: Apache-2.0
 *
 * Help on a terminal and the reference page, put together from the parts of help.c. */
#include "command/help.h"

#define TERMINAL_COLUMNS 100
#define NEEDS_LEDGER                                                                               \
    "needed: the service carries it out, by engine commands and ledger transactions"

/* "Set a tenant's limit." A question has its mark already. */
static void sentence(const char *text, struct buffer *out)
{
    buffer_format(out, "%s%s\n", text, text[strlen(text) - 1] == '?' ? "" : ".");
}

/* ---- a terminal ------------------------------------------------------------------------------ */

/* What it is and its type, on a line of their own each if one is too short for both. */
static void terminal_argument(const struct command_spec *spec, size_t i, struct buffer *out)
{
    size_t start = out->size;

    buffer_format(out, "    %-14s %s", help_label(&spec->args[i], false), spec->meanings[i]);
    size_t middle = out->size;
    buffer_text(out, "; ");
    help_type(&spec->args[i], out);
    if (out->size - start > TERMINAL_COLUMNS) {
        out->size = middle;
        buffer_format(out, "\n%19s", "");
        help_type(&spec->args[i], out);
    }
    buffer_byte(out, '\n');
}

static void terminal_refusals(const struct command_spec *spec, struct buffer *out)
{
    enum hf_error codes[HF_ERROR_COUNT];
    size_t count = help_refusals(spec, codes);

    buffer_text(out, "\nRefusals\n");
    for (size_t i = 0; i < count; i++) {
        buffer_format(out, "    %-22s ", hf_error_name(codes[i]));
        help_cause(spec, codes[i], false, out);
        buffer_byte(out, '\n');
    }
}

static void write_example(const struct command_spec *spec, const char *margin, struct buffer *out)
{
    for (const char *const *line = spec->before; line != NULL && *line != NULL; line++) {
        buffer_format(out, "%sholdfast call %s\n", margin, *line);
    }
    buffer_format(out, "%sholdfast call %s\n", margin, spec->example);
}

void help_command(const struct command_spec *spec, struct buffer *out)
{
    help_usage(spec, out);
    buffer_text(out, "\n\n    ");
    sentence(spec->help, out);
    buffer_text(out, "\nArguments\n");
    for (size_t i = 0; i < spec->arg_count; i++) {
        terminal_argument(spec, i, out);
    }
    buffer_text(out, "\nReply\n    ");
    help_reply(spec, out);
    buffer_text(out, "\n    ");
    size_t start = out->size;
    help_reply_notes(spec, out);
    if (out->size == start) {
        out->size -= strlen("\n    ");
    }
    buffer_byte(out, '\n');
    terminal_refusals(spec, out);
    buffer_text(out, "\nExample\n");
    write_example(spec, "    ", out);
    if (spec->route != NULL) {
        buffer_format(out, "\nHTTP\n    %s %s\n    ", spec->method, spec->route);
        help_curl(spec, out);
        buffer_byte(out, '\n');
    }
    if (spec->flags & COMMAND_SERVICE) {
        buffer_text(out, "\nLedger\n    " NEEDS_LEDGER "\n");
    }
    if (spec->script != NULL) {
        buffer_format(out, "\nRedis\n    %s.lua  ", spec->script);
        help_keys(spec, out);
        buffer_byte(out, '\n');
    }
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
        {"RECONCILE", "Reconciliation: the engine and the ledger (of no scope)"},
        {"SAGA.", "Sagas: checkouts in flight and ended (scope: saga)"},
        {"WEBHOOKS.", "Webhooks: what is told to others (of no scope)"},
        {"ROOM.", "Waiting room (scope: event)"},
        {"IDEM.", "Idempotency (scope: key)"},
        {"LIST", "Looking inside (of no scope)"},
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

static void markdown_arguments(const struct command_spec *spec, struct buffer *out)
{
    buffer_text(out, "\n| argument | JSON field | what it is | type |\n"
                     "| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        buffer_format(out, "| `%s` | `%s` | %s | ", help_label(arg, false), arg->field,
                      spec->meanings[i]);
        size_t start = out->size;
        help_type(arg, out);
        for (size_t at = start; at < out->size && !out->failed; at++) {
            out->data[at] = out->data[at] == '|' ? '/' : out->data[at]; /* of a table */
        }
        buffer_text(out, " |\n");
    }
}

static void markdown_refusals(const struct command_spec *spec, struct buffer *out)
{
    enum hf_error codes[HF_ERROR_COUNT];
    size_t count = help_refusals(spec, codes);

    buffer_text(out, "\n| refusal | HTTP | when |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        buffer_format(out, "| `%s` | %d | ", hf_error_name(codes[i]), hf_error_status(codes[i]));
        help_cause(spec, codes[i], false, out);
        buffer_text(out, " |\n");
    }
}

static void markdown_command(const struct command_spec *spec, struct buffer *out)
{
    buffer_format(out, "\n### %s\n\n", spec->name);
    sentence(spec->help, out);
    buffer_text(out, "\n```\n");
    help_usage(spec, out);
    buffer_text(out, "\n```\n");
    markdown_arguments(spec, out);
    buffer_text(out, "\n- Reply: `");
    help_reply(spec, out);
    buffer_text(out, "`. ");
    size_t start = out->size;
    help_reply_notes(spec, out);
    out->size -= out->size == start; /* the space */
    if (spec->route != NULL) {
        buffer_format(out, "\n- HTTP: `%s %s`, %d", spec->method, spec->route,
                      spec->created    ? 201
                      : spec->accepted ? 202
                                       : 200);
    }
    if (spec->alias != NULL) {
        buffer_format(out, "; `%s %s` for an id that the server made", spec->method, spec->alias);
    }
    if (spec->flags & COMMAND_SERVICE) {
        buffer_text(out, "\n- Ledger: " NEEDS_LEDGER);
    }
    if (spec->script != NULL) {
        buffer_format(out, "\n- Redis: `%s.lua` on `", spec->script);
        help_keys(spec, out);
        buffer_byte(out, '`');
    }
    buffer_byte(out, '\n');
    markdown_refusals(spec, out);
    buffer_text(out, "\n```sh\n");
    write_example(spec, "", out);
    if (spec->route != NULL) {
        buffer_text(out, "# the last line, over HTTP\n");
        help_curl(spec, out);
        buffer_byte(out, '\n');
    }
    buffer_text(out, "```\n");
}

void help_markdown(struct buffer *out)
{
    buffer_text(
        out,
        "# Commands\n\n"
        "Generated from the command table by `make docs`; do not edit.\n\n"
        "Every command answers on every front and on every engine in the same way. What is in\n"
        "brackets may be left out. Ids are 1-128 bytes of UTF-8 without spaces, control "
        "characters,\n"
        "`{` or `}`. Durations are seconds, or have a unit: `1500ms`, `30s`, `10m`, `2h`; times "
        "are\n"
        "milliseconds since 1970. What the corners mean is in [semantics.md](semantics.md), what\n"
        "HTTP adds in [http.md](http.md). The script of each command, and how to call it from any\n"
        "language, is in [lua.md](lua.md); its keys are given here as a cluster has them.\n\n"
        "Replies are given as RESP has them; in JSON the same values are an object with these\n"
        "names. A refusal is `[0, CODE, message]` unless the command says otherwise, over HTTP "
        "the\n"
        "status given with `{\"error\":{\"code\",\"message\"}}`; nothing has changed then. Any "
        "command\n"
        "may also answer `-ERR message` to a malformed request (HTTP: 400 `INVALID_ARGUMENT`),\n"
        "and what the server itself has to say: `UNAUTHORIZED`, `FORBIDDEN`, `RATE_LIMITED`,\n"
        "`LOADING`, `READONLY`, `BUSY`, `IOERR`, `ENGINE_DOWN`, `TIMEOUT` (on Redis: it may have\n"
        "happened, ask again with the same id); the table of [errors](#errors) has them all.\n\n"
        "The lines of an example are run by a test, in order, on an empty server; `<field>` is\n"
        "what the line before answered under that name.\n");
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
