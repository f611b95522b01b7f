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
        putc(']', out);
    }
}
