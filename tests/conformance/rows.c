/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what the command table says of scripts, keys and arguments, one line of JSON a command,
 * for tests that call the scripts without the engine and for tools/make-clients; with "errors", the
 * list of errors, a line each. */
#include "base/error.h"
#include "command/command.h"
#include "command/help.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A JSON string. Of what JSON escapes, the table has nothing but quotes. */
static void put_quoted(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            putchar('\\');
        }
        putchar(*text);
    }
    putchar('"');
}

static void put_text(const char *name, const char *text)
{
    printf("\"%s\":", name);
    if (text == NULL) {
        printf("null");
    } else {
        put_quoted(text);
    }
    putchar(',');
}

static void put_truth(const char *name, bool value)
{
    printf("\"%s\":%s,", name, value ? "true" : "false");
}

static void put_args(const struct command_spec *spec)
{
    static const char *const types[] = {
        [ARG_ID] = "id",       [ARG_COUNT] = "count", [ARG_AMOUNT] = "amount",
        [ARG_DURATION] = "ms", [ARG_WAIT] = "ms",     [ARG_CHOICE] = "choice",
        [ARG_TEXT] = "text",   [ARG_BLOB] = "blob",   [ARG_FLAG] = "flag",
    };

    printf("\"args\":[");
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        printf("%s{", i > 0 ? "," : "");
        put_text("name", arg->name);
        put_text("field", arg->field);
        put_text("keyword", arg->keyword);
        put_text("choices", arg->choices);
        put_text("needs", arg->needs);
        put_text("type", types[arg->type]);
        put_text("meaning", spec->meanings[i]);
        printf("\"min\":%" PRId64 ",\"max\":%" PRId64 ",", arg->min, arg->max);
        put_truth("zero_counts", arg->zero_counts);
        printf("\"default\":%" PRId64 "}", arg->default_value);
    }
    printf("],");
}

static void put_keys(const struct command_spec *spec)
{
    printf("\"keys\":[");
    for (size_t i = 0; i < COMMAND_KEYS_MAX && spec->keys[i] != KEY_NONE; i++) {
        printf("%s[\"%s\",\"%s\"]", i > 0 ? "," : "", key_form(spec->keys[i], false),
               key_form(spec->keys[i], true));
    }
    printf("],");
}

static void put_some_fields(const char *name, const struct command_spec *spec, size_t from,
                            size_t to)
{
    printf("\"%s\":[", name);
    for (size_t i = from; i < to; i++) {
        printf("%s[\"%s\",%s]", i > from ? "," : "", spec->fields[i].name,
               spec->fields[i].is_text ? "true" : "false");
    }
    printf("],");
}

/* Those that a reply in RESP has, and the one that a list may have behind them. */
static void put_fields(const struct command_spec *spec)
{
    size_t shown = command_shown_fields(spec);

    put_some_fields("fields", spec, 0, shown);
    put_some_fields("late_fields", spec, spec->field_count - (command_has_late(spec) ? 1 : 0),
                    spec->field_count);
}

/* The names of the shown fields that are any bytes. */
static void put_blobs(const struct command_spec *spec)
{
    const char *comma = "";

    printf("\"blobs\":[");
    for (size_t i = 0; i < command_shown_fields(spec); i++) {
        if (spec->fields[i].is_blob) {
            printf("%s\"%s\"", comma, spec->fields[i].name);
            comma = ",";
        }
    }
    printf("],");
}

/* Those of its own first; `own_refusals` says how many they are. */
static void put_refusals(const struct command_spec *spec)
{
    enum hf_error codes[HF_ERROR_COUNT];
    size_t count = help_refusals(spec, codes), own = 0;

    while (spec->refusals[own].code != HF_OK) {
        own++;
    }
    printf("\"refusals\":[");
    for (size_t i = 0; i < count; i++) {
        printf("%s\"%s\"", i > 0 ? "," : "", hf_error_name(codes[i]));
    }
    printf("],\"own_refusals\":%zu,", own);
}

/* The role that a client needs; null for a row that does not say whether it reads or writes. */
static const char *role(const struct command_spec *spec)
{
    unsigned kinds = spec->flags & (COMMAND_READS | COMMAND_WRITES);

    if (kinds != COMMAND_READS && kinds != COMMAND_WRITES) {
        return NULL;
    }
    return spec->flags & COMMAND_ADMIN ? "admin" : kinds == COMMAND_WRITES ? "write" : "read";
}

static void put_commands(void)
{
    static const char *const shapes[] = {
        [REPLY_LEAD] = "lead",     [REPLY_LIST] = "list",   [REPLY_NUMBER] = "number",
        [REPLY_FIELDS] = "fields", [REPLY_PAIRS] = "pairs", [REPLY_PAGE] = "page",
    };

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        putchar('{');
        put_text("name", spec->name);
        put_text("script", spec->script);
        put_text("script_args", spec->script_args);
        put_text("role", role(spec));
        put_text("help", spec->help);
        put_text("note", spec->reply_note);
        put_truth("service", spec->flags & COMMAND_SERVICE);
        put_truth("writes", spec->flags & COMMAND_WRITES);
        put_truth("waits", spec->flags & COMMAND_WAITS);
        put_truth("gives_back", spec->flags & COMMAND_GIVES_BACK);
        put_text("scope_arg",
                 spec->scope_arg < spec->arg_count ? spec->args[spec->scope_arg].field : NULL);
        put_text("scope_field", spec->scope_field);
        put_text("method", spec->method);
        put_text("route", spec->route);
        put_text("alias", spec->alias);
        put_text("nil", spec->nil_code != HF_OK ? hf_error_name(spec->nil_code) : NULL);
        put_text("figures", spec->figures_code != HF_OK ? hf_error_name(spec->figures_code) : NULL);
        put_text("example", spec->example);
        put_refusals(spec);
        put_args(spec);
        put_keys(spec);
        put_fields(spec);
        put_blobs(spec);
        printf("\"shape\":\"%s\"}\n", shapes[spec->shape]);
    }
}

static void put_errors(void)
{
    for (int code = HF_OK + 1; code < HF_ERROR_COUNT; code++) {
        putchar('{');
        put_text("code", hf_error_name((enum hf_error)code));
        put_text("text", error_text((enum hf_error)code));
        put_truth("refusal", error_is_refusal((enum hf_error)code));
        printf("\"retry_s\":%d,", error_retry_s((enum hf_error)code));
        printf("\"status\":%d}\n", hf_error_status((enum hf_error)code));
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "errors") == 0) {
        put_errors();
    } else {
        put_commands();
    }
    return 0;
}
