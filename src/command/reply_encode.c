/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies as each front writes them. */
#include "base/error.h"
#include "base/text.h"
#include "command/reply.h"

/* ---- RESP ------------------------------------------------------------------------------------ */

static void resp_line(struct buffer *out, uint8_t type, int64_t number)
{
    buffer_byte(out, type);
    buffer_decimal(out, number);
    buffer_bytes(out, "\r\n", 2);
}

static void resp_text(struct buffer *out, struct hf_bytes text)
{
    resp_line(out, '$', (int64_t)text.size);
    buffer_bytes(out, text.data, text.size);
    buffer_bytes(out, "\r\n", 2);
}

static void resp_value(struct buffer *out, const struct reply *reply, size_t i)
{
    if (reply->values[i].kind == VALUE_NUMBER) {
        resp_line(out, ':', reply->values[i].number);
    } else {
        resp_text(out, reply_bytes(reply, i));
    }
}

static void resp_refusal(struct buffer *out, enum hf_error code, struct hf_bytes message)
{
    if (error_is_refusal(code)) {
        resp_line(out, '*', 3);
        resp_line(out, ':', 0);
        resp_text(out, hf_text(hf_error_name(code)));
        resp_text(out, message);
    } else {
        buffer_byte(out, '-');
        buffer_text(out, hf_error_name(code));
        buffer_byte(out, ' ');
        buffer_bytes(out, message.data, message.size);
        buffer_bytes(out, "\r\n", 2);
    }
}

void problem_to_resp(const struct problem *problem, struct buffer *out)
{
    resp_refusal(out, problem->code, hf_text(problem->message));
}

/* A refusal that carries values (quota's -1, PROCESSING) is written like a success. */
static bool is_bare_refusal(const struct reply *reply)
{
    return reply->code != HF_OK && reply->count == 0;
}

void reply_to_resp(const struct reply *reply, const struct command_spec *spec, struct buffer *out)
{
    if (is_bare_refusal(reply)) {
        char message[MESSAGE_SIZE];
        if (reply->code == spec->nil_code) {
            buffer_text(out, "*-1\r\n");
        } else {
            size_t size = reply_message(reply, message);
            resp_refusal(out, reply->code, (struct hf_bytes){message, size});
        }
        return;
    }
    bool named = spec->shape == REPLY_FIELDS;
    if (spec->shape != REPLY_NUMBER) {
        size_t lead = spec->shape == REPLY_LEAD ? 1 : 0;
        resp_line(out, '*', (int64_t)(named ? reply->count * 2 : reply->count + lead));
        if (lead) {
            resp_line(out, ':', reply->lead);
        }
    }
    for (size_t i = 0; i < reply->count; i++) {
        if (named) {
            resp_text(out, hf_text(spec->fields[i].name));
        }
        resp_value(out, reply, i);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A stored response may be any bytes; what is no UTF-8 becomes U+FFFD. */
static void json_text(struct buffer *out, struct hf_bytes text)
{
    static const char digits[] = "0123456789abcdef";

    buffer_byte(out, '"');
    for (size_t i = 0; i < text.size;) {
        uint8_t c = (uint8_t)text.data[i];
        size_t size = 1;
        if (c == '"' || c == '\\') {
            buffer_byte(out, '\\');
            buffer_byte(out, c);
        } else if (c < 0x20) {
            buffer_text(out, "\\u00");
            buffer_byte(out, (uint8_t)digits[c >> 4]);
            buffer_byte(out, (uint8_t)digits[c & 15]);
        } else if ((size = text_utf8_size(text, i)) > 0) {
            buffer_bytes(out, text.data + i, size);
        } else {
            buffer_text(out, "\\ufffd");
            size = 1;
        }
        i += size;
    }
    buffer_byte(out, '"');
}

static void json_refusal(struct buffer *out, enum hf_error code, struct hf_bytes message)
{
    /* ERR is a word of RESP; in JSON a malformed request is an invalid argument. */
    const char *name = hf_error_name(code == HF_ERR ? HF_INVALID_ARGUMENT : code);

    buffer_text(out, "{\"error\":{\"code\":\"");
    buffer_text(out, name);
    buffer_text(out, "\",\"message\":");
    json_text(out, message);
    buffer_text(out, "}}");
}

void problem_to_json(const struct problem *problem, struct buffer *out)
{
    json_refusal(out, problem->code, hf_text(problem->message));
}

static void json_fields(struct buffer *out, const struct reply *reply,
                        const struct command_spec *spec, size_t from)
{
    buffer_byte(out, '{');
    for (size_t i = 0; i < spec->field_count && from + i < reply->count; i++) {
        if (i > 0) {
            buffer_byte(out, ',');
        }
        json_text(out, hf_text(spec->fields[i].name));
        buffer_byte(out, ':');
        if (reply->values[from + i].kind == VALUE_NUMBER) {
            buffer_decimal(out, reply->values[from + i].number);
        } else {
            json_text(out, reply_bytes(reply, from + i));
        }
    }
    buffer_byte(out, '}');
}

void reply_to_json(const struct reply *reply, const struct command_spec *spec, struct buffer *out)
{
    if (reply->code != HF_OK) {
        char message[MESSAGE_SIZE];
        size_t size = reply_message(reply, message);
        json_refusal(out, reply->code, (struct hf_bytes){message, size});
        return;
    }
    if (spec->shape != REPLY_PAIRS) {
        json_fields(out, reply, spec, 0);
        return;
    }
    buffer_byte(out, '[');
    for (size_t i = 0; i < reply->count; i += spec->field_count) {
        if (i > 0) {
            buffer_byte(out, ',');
        }
        json_fields(out, reply, spec, i);
    }
    buffer_byte(out, ']');
}

/* ---- lines for a terminal -------------------------------------------------------------------- */

void reply_to_lines(const struct reply *reply, const struct command_spec *spec, struct buffer *out)
{
    if (reply->code != HF_OK) {
        char message[MESSAGE_SIZE];
        reply_message(reply, message);
        buffer_format(out, "%s: %s\n", hf_error_name(reply->code), message);
        return;
    }
    if (reply->count == 0) {
        buffer_text(out, "(empty)\n");
    }
    for (size_t i = 0; i < reply->count; i++) {
        buffer_text(out, spec->fields[i % spec->field_count].name);
        buffer_byte(out, ' ');
        if (reply->values[i].kind == VALUE_NUMBER) {
            buffer_decimal(out, reply->values[i].number);
        } else {
            struct hf_bytes text = reply_bytes(reply, i);
            buffer_bytes(out, text.data, text.size);
        }
        buffer_byte(out, '\n');
    }
}

/* ---- structs --------------------------------------------------------------------------------- */

void reply_to_struct(const struct reply *reply, const struct command_spec *spec, void *out)
{
    memset(out, 0, spec->reply_size);
    for (size_t i = 0; i < reply->count && i < spec->field_count; i++) {
        const struct reply_field *field = &spec->fields[i];
        char *member = (char *)out + field->offset;
        if (reply->values[i].kind == VALUE_NUMBER) {
            memcpy(member, &reply->values[i].number, sizeof reply->values[i].number);
        } else if (field->size > 0) {
            struct hf_bytes text = reply_bytes(reply, i);
            size_t size = text.size < field->size ? text.size : field->size - 1U;
            memcpy(member, text.data, size);
        }
    }
}
