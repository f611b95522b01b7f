/* SPDX-License-Identifier: Apache-2.0
 *
 * COMMAND: what the table says of each command, in the form redis-cli and other clients read. */
#include "base/text.h"
#include "command/help.h"
#include "server/resp/resp_front.h"

#include <ctype.h>

static void write_lower(struct buffer *out, const char *text)
{
    char lower[64];
    size_t size = 0;

    for (; size < sizeof lower && text[size] != '\0'; size++) {
        lower[size] = (char)tolower((unsigned char)text[size]);
    }
    resp_text(out, (struct hf_bytes){lower, size});
}

static void pair(struct buffer *out, const char *name, const char *value)
{
    resp_text(out, hf_text(name));
    resp_text(out, hf_text(value));
}

/* ---- COMMAND INFO ---------------------------------------------------------------------------- */

/* name, arity, flags, first key, last key, step, categories, tips, key specifications,
 * subcommands */
static void write_info(struct buffer *out, const struct command_spec *spec)
{
    int64_t arity = (int64_t)spec->required + 1;
    bool writes = spec->flags & COMMAND_WRITES, waits = spec->flags & COMMAND_WAITS;

    resp_number(out, '*', 10);
    write_lower(out, spec->name);
    resp_number(out, ':', spec->arg_count > spec->required ? -arity : arity);
    resp_number(out, '*', waits ? 2 : 1);
    resp_simple(out, writes ? "write" : "readonly");
    if (waits) {
        resp_simple(out, "blocking");
    }
    for (int i = 0; i < 3; i++) { /* the scope is the one key; LIST and RECONCILE have none */
        resp_number(out, ':', spec->required > 0 && spec->args[0].type == ARG_ID);
    }
    resp_number(out, '*', 1);
    resp_simple(out, writes ? "@write" : "@read");
    for (int i = 0; i < 3; i++) {
        resp_number(out, '*', 0);
    }
}

/* ---- COMMAND DOCS ---------------------------------------------------------------------------- */

static const char *type_name(const struct arg_spec *arg)
{
    switch (arg->type) {
    case ARG_COUNT:
    case ARG_AMOUNT:
        return "integer";
    case ARG_FLAG:
        return "pure-token";
    case ARG_ID:
    case ARG_DURATION:
    case ARG_WAIT:
    case ARG_CHOICE:
    case ARG_TEXT:
    case ARG_BLOB:
        break;
    }
    return "string";
}

static void write_argument(struct buffer *out, int version, const struct command_spec *spec,
                           size_t i)
{
    const struct arg_spec *arg = &spec->args[i];
    bool optional = arg->keyword != NULL;

    resp_map(out, version, optional ? 5 : 3);
    pair(out, "name", arg->name);
    pair(out, "type", type_name(arg));
    pair(out, "summary", spec->meanings[i]);
    if (optional) {
        pair(out, "token", arg->keyword);
        resp_text(out, hf_text("flags"));
        resp_number(out, '*', 1);
        resp_simple(out, "optional");
    }
}

static void write_docs(struct buffer *out, int version, const struct command_spec *spec)
{
    write_lower(out, spec->name);
    resp_map(out, version, 4);
    pair(out, "summary", spec->help);
    pair(out, "since", "0.1.0");
    pair(out, "group", "module");
    resp_text(out, hf_text("arguments"));
    resp_number(out, '*', (int64_t)spec->arg_count);
    for (size_t i = 0; i < spec->arg_count; i++) {
        write_argument(out, version, spec, i);
    }
}

/* Of those named, or of all. Unknown ones are left out, as the field does. */
static void docs(struct session *session, size_t count, const struct hf_bytes *words)
{
    int version = resp_client(session)->version;
    size_t known = 0;

    if (count == 2) {
        resp_map(&session->out, version, COMMAND_COUNT);
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            write_docs(&session->out, version, &command_table[i]);
        }
        return;
    }
    for (size_t i = 2; i < count; i++) {
        known += command_find(words[i]) != NULL;
    }
    resp_map(&session->out, version, known);
    for (size_t i = 2; i < count; i++) {
        const struct command_spec *spec = command_find(words[i]);
        if (spec != NULL) {
            write_docs(&session->out, version, spec);
        }
    }
}

static void info(struct session *session, size_t count, const struct hf_bytes *words)
{
    if (count <= 2) {
        resp_number(&session->out, '*', COMMAND_COUNT);
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            write_info(&session->out, &command_table[i]);
        }
        return;
    }
    resp_number(&session->out, '*', (int64_t)count - 2);
    for (size_t i = 2; i < count; i++) {
        const struct command_spec *spec = command_find(words[i]);
        if (spec != NULL) {
            write_info(&session->out, spec);
        } else {
            resp_nil(&session->out, resp_client(session)->version);
        }
    }
}

static void list(struct session *session)
{
    resp_number(&session->out, '*', COMMAND_COUNT);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        write_lower(&session->out, command_table[i].name);
    }
}

/* ---- COMMAND HELP ---------------------------------------------------------------------------- */

static const char *const subcommands[] = {
    "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "(no subcommand)",
    "    Return details about all Holdfast commands.",
    "COUNT",
    "    Return the number of Holdfast commands.",
    "DOCS [<command-name> ...]",
    "    Return what each command and each of its arguments is for.",
    "INFO [<command-name> ...]",
    "    Return details about several commands, or about all.",
    "LIST",
    "    Return the names of all commands.",
    "HELP [<command-name>]",
    "    Print this help, or all about a command: arguments, reply, refusals, an example.",
};

#define SUBCOMMAND_LINES (sizeof subcommands / sizeof subcommands[0])

/* The page of a terminal, a text for each line: redis-cli prints them as they are. */
static void write_page(struct session *session, const struct command_spec *spec)
{
    struct buffer page;
    int64_t lines = 0;

    buffer_init(&page, session->out.memory);
    help_command(spec, &page);
    session->out.failed |= page.failed;
    for (size_t i = 0; i < page.size; i++) {
        lines += page.data[i] == '\n';
    }
    resp_number(&session->out, '*', lines);
    for (size_t from = 0; from < page.size && !page.failed;) {
        const char *line = page.data + from, *end = memchr(line, '\n', page.size - from);
        size_t size = (size_t)(end - line);
        resp_text(&session->out, (struct hf_bytes){line, size});
        from += size + 1;
    }
    buffer_free(&page);
}

static void help(struct session *session, size_t count, const struct hf_bytes *words)
{
    const struct command_spec *spec = count == 3 ? command_find(words[2]) : NULL;

    if (spec != NULL) {
        write_page(session, spec);
    } else if (count == 3) {
        resp_error(session, "ERR unknown command: COMMAND LIST has those there are");
    } else {
        resp_number(&session->out, '*', SUBCOMMAND_LINES);
        for (size_t i = 0; i < SUBCOMMAND_LINES; i++) {
            resp_simple(&session->out, subcommands[i]);
        }
    }
}

void own_command_docs(struct session *session, size_t count, const struct hf_bytes *words)
{
    if (count == 1 || text_is_word(words[1], "INFO")) {
        info(session, count, words);
    } else if (text_is_word(words[1], "DOCS")) {
        docs(session, count, words);
    } else if (text_is_word(words[1], "COUNT") && count == 2) {
        resp_number(&session->out, ':', COMMAND_COUNT);
    } else if (text_is_word(words[1], "LIST") && count == 2) {
        list(session);
    } else if (text_is_word(words[1], "HELP") && count <= 3) {
        help(session, count, words);
    } else {
        resp_error(session, "ERR unknown subcommand of COMMAND: COUNT, DOCS, HELP, INFO or LIST");
    }
}
