/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what the command table says of scripts, keys and arguments, one line of JSON a command,
 * for tests that call the scripts without the engine. */
#include "base/error.h"
#include "command/command.h"
#include "command/help.h"

#include <inttypes.h>
#include <stdio.h>

static void put_text(const char *name, const char *text)
{
    if (text == NULL) {
        printf("\"%s\":null,", name);
    } else {
        printf("\"%s\":\"%s\",", name, text); /* none of ours has anything to escape */
    }
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
        printf("\"min\":%" PRId64 ",\"max\":%" PRId64 ",", arg->min, arg->max);
        printf("\"zero_counts\":%s,", arg->zero_counts ? "true" : "false");
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

static void put_fields(const struct command_spec *spec)
{
    printf("\"fields\":[");
    for (size_t i = 0; i < command_shown_fields(spec); i++) {
        printf("%s[\"%s\",%s]", i > 0 ? "," : "", spec->fields[i].name,
               spec->fields[i].is_text ? "true" : "false");
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

int main(void)
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
        printf("\"service\":%s,", spec->flags & COMMAND_SERVICE ? "true" : "false");
        put_text("role", role(spec));
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
        printf("\"shape\":\"%s\"}\n", shapes[spec->shape]);
    }
    return 0;
}
