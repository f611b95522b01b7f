/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a checked command as words, as JSON, as RESP and as an HTTP request, by its row. */
#include "command/words.h"

#include "base/text.h"
#include "base/resp_write.h"

static const char digits[] = "0123456789abcdef";

/* ---- values ---------------------------------------------------------------------------------- */

enum form { FORM_TEXT, FORM_NUMBER, FORM_FLAG };

static enum form form_of(const struct arg_spec *arg)
{
    switch (arg->type) {
    case ARG_COUNT:
    case ARG_AMOUNT:
    case ARG_DURATION:
    case ARG_WAIT:
        return FORM_NUMBER;
    case ARG_FLAG:
        return FORM_FLAG;
    case ARG_ID:
    case ARG_CHOICE:
    case ARG_TEXT:
    case ARG_BLOB:
        break;
    }
    return FORM_TEXT;
}

static int64_t number_of(const struct command *command, const struct arg_spec *arg)
{
    int64_t number = *(const int64_t *)command_arg(command, arg);

    return number == HF_ZERO && arg->zero_counts ? 0 : number;
}

static struct hf_bytes text_of(const struct command *command, const struct arg_spec *arg)
{
    return *(const struct hf_bytes *)command_arg(command, arg);
}

/* A required argument always; an optional one if it says something: zero and empty mean that it was
 * not given. */
bool command_says(const struct command *command, const struct arg_spec *arg)
{
    if (arg->keyword == NULL) {
        return true;
    }
    if (form_of(arg) == FORM_FLAG) {
        return *(const bool *)command_arg(command, arg);
    }
    if (form_of(arg) == FORM_NUMBER) {
        int64_t number = *(const int64_t *)command_arg(command, arg);
        return number != 0 && number != arg->default_value;
    }
    struct hf_bytes text = text_of(command, arg);
    struct hf_bytes standard = hf_text("");
    if (arg->type == ARG_CHOICE) {
        standard = (struct hf_bytes){arg->choices, strcspn(arg->choices, "|")};
    }
    return text.size > 0 && !text_equal(text, standard);
}

/* A duration in seconds where it comes out even. */
static bool in_seconds(const struct arg_spec *arg, int64_t ms)
{
    return arg->type == ARG_DURATION && ms % 1000 == 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Bytes of the printable character at an offset; 0 if what stands there is to be escaped. */
static size_t printable(struct hf_bytes text, size_t offset)
{
    uint8_t c = (uint8_t)text.data[offset];
    size_t size = text_utf8_size(text, offset);
    bool control =
        c < ' ' || c == 0x7f || (size == 2 && c == 0xc2 && (uint8_t)text.data[offset + 1] < 0xa0);

    return control ? 0 : size;
}

static bool is_plain(struct hf_bytes text)
{
    for (size_t i = 0; i < text.size;) {
        size_t size = printable(text, i);
        if (size == 0 || strchr(" \"\\", text.data[i]) != NULL) {
            return false;
        }
        i += size;
    }
    return text.size > 0;
}

static void write_quoted(struct hf_bytes text, struct buffer *out)
{
    buffer_byte(out, '"');
    for (size_t i = 0; i < text.size;) {
        size_t size = printable(text, i);
        uint8_t c = (uint8_t)text.data[i];
        if (size == 0) {
            buffer_text(out, "\\x");
            buffer_byte(out, (uint8_t)digits[c >> 4]);
            buffer_byte(out, (uint8_t)digits[c & 15]);
            size = 1;
        } else {
            if (c == '"' || c == '\\') {
                buffer_byte(out, '\\');
            }
            buffer_bytes(out, text.data + i, size);
        }
        i += size;
    }
    buffer_byte(out, '"');
}

static void write_word(const struct command *command, const struct arg_spec *arg,
                       struct buffer *out)
{
    if (form_of(arg) == FORM_NUMBER) {
        int64_t number = number_of(command, arg);
        bool seconds = in_seconds(arg, number);
        buffer_decimal(out, seconds ? number / 1000 : number);
        buffer_text(out, arg->type == ARG_DURATION && !seconds ? "ms" : "");
        return;
    }
    struct hf_bytes text = text_of(command, arg);
    if (is_plain(text)) {
        buffer_bytes(out, text.data, text.size);
    } else {
        write_quoted(text, out);
    }
}

void command_to_words(const struct command *command, struct buffer *out)
{
    const struct command_spec *spec = command->spec;

    buffer_text(out, spec->name);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (!command_says(command, arg) || arg->secret) {
            continue;
        }
        if (arg->keyword != NULL) {
            buffer_byte(out, ' ');
            buffer_text(out, arg->keyword);
        }
        if (form_of(arg) != FORM_FLAG) {
            buffer_byte(out, ' ');
            write_word(command, arg, out);
        }
    }
}

/* ---- RESP ------------------------------------------------------------------------------------ */

static void resp_word(const struct arg_spec *arg, int64_t number, struct buffer *out)
{
    char text[32];
    bool seconds = in_seconds(arg, number);
    size_t size = decimal_write(text, seconds ? number / 1000 : number);

    if (arg->type == ARG_DURATION && !seconds) {
        text[size++] = 'm';
        text[size++] = 's';
    }
    resp_text(out, (struct hf_bytes){text, size});
}

static int64_t count_words(const struct command *command)
{
    int64_t words = 1;

    for (size_t i = 0; i < command->spec->arg_count; i++) {
        const struct arg_spec *arg = &command->spec->args[i];
        if (command_says(command, arg)) {
            words += (arg->keyword != NULL) + (form_of(arg) != FORM_FLAG);
        }
    }
    return words;
}

void command_to_resp(const struct command *command, struct buffer *out)
{
    const struct command_spec *spec = command->spec;

    resp_number(out, '*', count_words(command));
    resp_text(out, hf_text(spec->name));
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (!command_says(command, arg)) {
            continue;
        }
        if (arg->keyword != NULL) {
            resp_text(out, hf_text(arg->keyword));
        }
        if (form_of(arg) == FORM_NUMBER) {
            resp_word(arg, number_of(command, arg), out);
        } else if (form_of(arg) == FORM_TEXT) {
            resp_text(out, text_of(command, arg));
        }
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_text(struct hf_bytes text, struct buffer *out)
{
    buffer_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = (uint8_t)text.data[i];
        if (c < ' ') {
            buffer_format(out, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\') {
                buffer_byte(out, '\\');
            }
            buffer_byte(out, c);
        }
    }
    buffer_byte(out, '"');
}

static void json_hex(struct hf_bytes text, struct buffer *out)
{
    buffer_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        buffer_byte(out, (uint8_t)digits[(uint8_t)text.data[i] >> 4]);
        buffer_byte(out, (uint8_t)digits[text.data[i] & 15]);
    }
    buffer_byte(out, '"');
}

static void json_number(const struct arg_spec *arg, int64_t number, struct buffer *out)
{
    if (arg->type == ARG_DURATION && !in_seconds(arg, number)) {
        buffer_format(out, "\"%lldms\"", (long long)number);
    } else {
        buffer_decimal(out, in_seconds(arg, number) ? number / 1000 : number);
    }
}

static bool is_hex(const struct command *command, const struct arg_spec *arg)
{
    return form_of(arg) == FORM_TEXT && !text_is_utf8(text_of(command, arg));
}

void command_arg_to_json(const struct command *command, const struct arg_spec *arg,
                         struct buffer *out)
{
    if (form_of(arg) == FORM_NUMBER) {
        json_number(arg, number_of(command, arg), out);
    } else if (form_of(arg) == FORM_FLAG) {
        buffer_text(out, "true");
    } else if (is_hex(command, arg)) {
        json_hex(text_of(command, arg), out);
    } else {
        json_text(text_of(command, arg), out);
    }
}

static void json_argument(const struct command *command, const struct arg_spec *arg,
                          struct buffer *out)
{
    buffer_format(out, "\"%s%s\":", arg->field, is_hex(command, arg) ? "_hex" : "");
    command_arg_to_json(command, arg, out);
}

static bool is_shown(const struct arg_spec *arg)
{
    return !arg->secret;
}

static bool is_recorded(const struct arg_spec *arg)
{
    return !arg->secret && !arg->bearer && arg->type != ARG_BLOB;
}

static void json_object(const struct command *command, bool (*wanted)(const struct arg_spec *arg),
                        struct buffer *out)
{
    const struct command_spec *spec = command->spec;
    const char *comma = "";

    buffer_byte(out, '{');
    for (size_t i = 0; i < spec->arg_count; i++) {
        if (command_says(command, &spec->args[i]) && wanted(&spec->args[i])) {
            buffer_text(out, comma);
            json_argument(command, &spec->args[i], out);
            comma = ",";
        }
    }
    buffer_byte(out, '}');
}

void command_to_json(const struct command *command, struct buffer *out)
{
    json_object(command, is_shown, out);
}

void command_to_record(const struct command *command, struct buffer *out)
{
    json_object(command, is_recorded, out);
}

/* ---- a request over HTTP --------------------------------------------------------------------- */

static void percent_encoded(struct hf_bytes text, struct buffer *out)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = (uint8_t)text.data[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     strchr("-._~", c) != NULL;
        if (plain && c != '\0') {
            buffer_byte(out, c);
        } else {
            buffer_format(out, "%%%02X", c);
        }
    }
}

/* Is it the {field} that begins at `at`? */
static bool is_placeholder(const struct arg_spec *arg, const char *at)
{
    size_t size = strlen(arg->field);

    return *at == '{' && strncmp(at + 1, arg->field, size) == 0 && at[1 + size] == '}';
}

static bool in_path(const struct arg_spec *arg, const char *path)
{
    while (*path != '\0' && !is_placeholder(arg, path)) {
        path++;
    }
    return *path != '\0';
}

static void write_path(const struct command *command, const char *path, struct buffer *out)
{
    const struct command_spec *spec = command->spec;

    while (*path != '\0') {
        size_t i = 0;
        while (i < spec->arg_count && !is_placeholder(&spec->args[i], path)) {
            i++;
        }
        if (i == spec->arg_count) {
            buffer_byte(out, (uint8_t)*path++);
        } else {
            percent_encoded(text_of(command, &spec->args[i]), out);
            path += strcspn(path, "}") + 1;
        }
    }
}

static void write_parameter(const struct command *command, const struct arg_spec *arg,
                            struct buffer *out)
{
    buffer_format(out, "%s=", arg->field);
    if (form_of(arg) == FORM_TEXT) {
        percent_encoded(text_of(command, arg), out);
    } else if (form_of(arg) == FORM_FLAG) {
        buffer_text(out, "true");
    } else {
        write_word(command, arg, out);
    }
}

void command_to_request(const struct command *command, bool alias, struct buffer *target,
                        struct buffer *body)
{
    const struct command_spec *spec = command->spec;
    const char *path = alias ? spec->alias : spec->route;
    bool query = strcmp(spec->method, "GET") == 0 || strcmp(spec->method, "DELETE") == 0;
    size_t count = 0;

    write_path(command, path, target);
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        bool carried = alias && i == 0; /* by the id */
        if (carried || in_path(arg, path) || !command_says(command, arg)) {
            continue;
        }
        if (query) {
            buffer_byte(target, count == 0 ? '?' : '&');
            write_parameter(command, arg, target);
        } else {
            buffer_byte(body, count == 0 ? '{' : ',');
            json_argument(command, arg, body);
        }
        count++;
    }
    if (!query) {
        buffer_text(body, count == 0 ? "{}" : "}");
    }
}
