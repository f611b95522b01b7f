/* SPDX-License-Identifier: Apache-2.0 */
#include "model/lines.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)8 << 20)

/* ---- in -------------------------------------------------------------------------------------- */

char *line_next(void)
{
    static char text[LINE_MAX_BYTES];
    static size_t start, end;

    for (;;) {
        char *newline = memchr(text + start, '\n', end - start);
        if (newline != NULL) {
            char *line = text + start;
            *newline = '\0';
            start = (size_t)(newline - text) + 1;
            return line;
        }
        memmove(text, text + start, end - start);
        end -= start;
        start = 0;
        fflush(stdout);
        ssize_t got = read(STDIN_FILENO, text + end, sizeof text - end);
        if (got <= 0) {
            return NULL;
        }
        end += (size_t)got;
    }
}

size_t line_split(char *line, struct hf_bytes *words, size_t max)
{
    size_t count = 0;
    char *at = line;

    for (;;) {
        char *out = at, *start = at;
        for (; *at != '\0' && *at != '\t'; at++) {
            if (*at == '%' && at[1] != '\0' && at[2] != '\0') {
                char hex[3] = {at[1], at[2], '\0'};
                *out++ = (char)strtol(hex, NULL, 16);
                at += 2;
            } else {
                *out++ = *at;
            }
        }
        bool last = *at == '\0';
        if (count < max) {
            words[count++] = (struct hf_bytes){start, (size_t)(out - start)};
        }
        if (last) {
            return count;
        }
        at++;
    }
}

/* ---- out ------------------------------------------------------------------------------------- */

void put_text(FILE *out, struct hf_bytes text)
{
    putc('"', out);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') {
            fprintf(out, "\\u00%02x", c);
        } else {
            putc(c, out);
        }
    }
    putc('"', out);
}

void put_refusal(FILE *out, enum hf_error code)
{
    if (error_is_refusal(code)) {
        fprintf(out, "[0,\"%s\"]", hf_error_name(code));
    } else {
        fprintf(out, "{\"error\":\"%s\"}", hf_error_name(code));
    }
}

static void put_value(FILE *out, const struct reply *reply, size_t i)
{
    if (reply->values[i].kind == VALUE_ABSENT) {
        fprintf(out, "null");
        return;
    }
    if (reply->values[i].kind == VALUE_NUMBER) {
        fprintf(out, "%" PRId64, reply->values[i].number);
    } else {
        put_text(out, reply_bytes(reply, i));
    }
}

void put_reply(FILE *out, const struct reply *reply, const struct command_spec *spec)
{
    const char *comma = "";

    if (reply->waits) {
        fprintf(out, "\"WAIT\"");
    } else if (reply->code != HF_OK && reply->count == 0) {
        if (reply->code == spec->nil_code) {
            fprintf(out, "null");
        } else {
            put_refusal(out, reply->code);
        }
    } else if (spec->shape == REPLY_NUMBER) {
        put_value(out, reply, 0);
    } else {
        putc('[', out);
        if (spec->shape == REPLY_LEAD) {
            fprintf(out, "%d", reply->lead);
            comma = ",";
        }
        for (size_t i = 0; i < reply_shown(reply, spec); i++) {
            fprintf(out, "%s", comma);
            comma = ",";
            if (spec->shape == REPLY_FIELDS) {
                put_text(out, hf_text(spec->fields[i].name));
                putc(',', out);
            }
            put_value(out, reply, i);
        }
        if (reply_has_late(reply, spec)) {
            putc(',', out);
            put_value(out, reply, reply->count - 1);
        }
        putc(']', out);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void put_item(FILE *out, const struct reply *reply, const struct command_spec *spec,
                     size_t item)
{
    size_t from = reply_item(spec, item);
    const char *comma = "";

    if (command_lists_names(spec)) {
        put_value(out, reply, from);
        return;
    }
    putc('[', out);
    for (size_t i = 0; i < command_shown_fields(spec); i++) {
        if (reply->values[from + i].kind != VALUE_ABSENT) {
            fprintf(out, "%s", comma);
            put_text(out, hf_text(spec->fields[i].name));
            putc(',', out);
            put_value(out, reply, from + i);
            comma = ",";
        }
    }
    putc(']', out);
}

/* The next page begins behind this one. */
static void move_on(struct walk *walk, const struct reply *reply, struct command *command)
{
    struct hf_bytes cursor = reply_bytes(reply, 0);

    memcpy(walk->cursor, cursor.data, cursor.size);
    cursor.data = walk->cursor;
    for (size_t i = 0; i < command->spec->arg_count; i++) {
        const struct arg_spec *arg = &command->spec->args[i];
        if (arg->keyword != NULL && strcmp(arg->keyword, "AFTER") == 0) {
            memcpy((char *)&command->args + arg->offset, &cursor, sizeof cursor);
        }
    }
}

bool put_page(FILE *out, struct walk *walk, const struct reply *reply, struct command *command)
{
    const struct command_spec *spec = command->spec;

    if (spec->shape != REPLY_PAGE || (reply->code != HF_OK && !walk->begun)) {
        put_reply(out, reply, spec);
        return false;
    }
    if (reply->code != HF_OK) {
        fprintf(out, "],\"error\":\"%s\"}", hf_error_name(reply->code));
        return false;
    }
    fprintf(out, "%s", walk->begun ? "" : "{\"items\":[");
    walk->begun = true;
    for (size_t i = 0; i < reply_items(reply, spec); i++) {
        fprintf(out, "%s", walk->items++ > 0 ? "," : "");
        put_item(out, reply, spec, i);
    }
    if (reply_bytes(reply, 0).size == 0) {
        fprintf(out, "]}");
        return false;
    }
    move_on(walk, reply, command);
    return true;
}
