/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies as each front writes them. */
#include "base/base64.h"
#include "base/byte_run.h"
#include "base/error.h"
#include "base/text.h"
#include "command/reply.h"
#include "base/resp_write.h"

/* ---- RESP ------------------------------------------------------------------------------------ */

/* Each part of a reply makes room once for as much as it can have, and writes straight into it. */

/* How many bytes `count` values from `from` on have at most. */
static size_t values_room(const struct reply *reply, size_t from, size_t count)
{
    size_t room = count * (RESP_NUMBER_MAX + 2);

    for (size_t i = from; i < from + count; i++) {
        room += reply->values[i].kind == VALUE_TEXT ? reply->values[i].size : 0;
    }
    return room;
}

static char *put_value(char *at, const struct reply *reply, size_t i)
{
    if (reply->values[i].kind == VALUE_NUMBER) {
        return resp_put_number(at, ':', reply->values[i].number);
    }
    if (reply->values[i].kind == VALUE_ABSENT) {
        return resp_put_text(at, hf_text("")); /* where its place has to be filled */
    }
    return resp_put_text(at, reply_bytes(reply, i));
}

/* Clients of this protocol know two errors under names of their own. */
static struct hf_bytes resp_error_name(enum hf_error code)
{
    return code == HF_UNAUTHORIZED ? hf_text("NOAUTH")
           : code == HF_FORBIDDEN  ? hf_text("NOPERM")
                                   : error_name(code);
}

static char *put_bytes(char *at, const void *data, size_t size)
{
    memcpy(at, data, size);
    return at + size;
}

/* [0, CODE, message], or an error line: -CODE message. */
static void resp_refusal(struct buffer *out, enum hf_error code, bool refused,
                         struct hf_bytes message)
{
    struct hf_bytes name = refused ? error_name(code) : resp_error_name(code);
    char *at = buffer_room(out, 4 * RESP_NUMBER_MAX + name.size + message.size);

    if (at == NULL) {
        return;
    }
    if (refused) {
        at = put_bytes(at, "*3\r\n:0\r\n", 8);
        at = resp_put_text(at, name);
        at = resp_put_text(at, message);
    } else {
        *at++ = '-';
        at = put_bytes(at, name.data, name.size);
        *at++ = ' ';
        at = put_bytes(at, message.data, message.size);
        at = put_bytes(at, "\r\n", 2);
    }
    buffer_written(out, at);
}

void problem_to_resp(const struct problem *problem, struct buffer *out)
{
    resp_refusal(out, problem->code, error_is_refusal(problem->code), hf_text(problem->message));
}

void problem_to_resp_error(const struct problem *problem, struct buffer *out)
{
    resp_refusal(out, problem->code, false, hf_text(problem->message));
}

/* A refusal that carries values (quota's -1, PROCESSING) is written like a success. */
static bool is_bare_refusal(const struct reply *reply)
{
    return reply->code != HF_OK && reply->count == 0;
}

/* The name of a field, which has been prepared if the row is one of the table's. */
static char *put_name(char *at, const struct reply_field *field, const struct resp_name *prepared)
{
    if (prepared == NULL) {
        return resp_put_text(at, hf_text(field->name));
    }
    memcpy(at, prepared, sizeof *prepared);
    return at + prepared->size;
}

/* `count` values from `from` on, each with its name; those that are absent are left out. */
static void resp_named(struct buffer *out, const struct reply *reply,
                       const struct command_spec *spec, int version, size_t from, size_t count)
{
    const struct resp_name *names = command_resp_names(spec);
    size_t present = 0;
    char *at =
        buffer_room(out, RESP_NUMBER_MAX + count * RESP_NAME_MAX + values_room(reply, from, count));

    if (at == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        present += reply->values[from + i].kind != VALUE_ABSENT;
    }
    at = resp_put_number(at, version == 3 ? '%' : '*',
                         (int64_t)(version == 3 ? present : present * 2));
    for (size_t i = 0; i < count; i++) {
        if (reply->values[from + i].kind != VALUE_ABSENT) {
            at = put_name(at, &spec->fields[i], names != NULL ? &names[i] : NULL);
            at = put_value(at, reply, from + i);
        }
    }
    buffer_written(out, at);
}

static void resp_value(struct buffer *out, const struct reply *reply, size_t i)
{
    char *at = buffer_room(out, values_room(reply, i, 1));

    if (at != NULL) {
        buffer_written(out, put_value(at, reply, i));
    }
}

static void resp_page(struct buffer *out, const struct reply *reply,
                      const struct command_spec *spec, int version)
{
    size_t items = reply_items(reply, spec), shown = command_shown_fields(spec);

    resp_number(out, '*', (int64_t)(items + 1));
    resp_value(out, reply, 0);
    for (size_t item = 0; item < items; item++) {
        if (command_lists_names(spec)) {
            resp_value(out, reply, reply_item(spec, item));
        } else {
            resp_named(out, reply, spec, version, reply_item(spec, item), shown);
        }
    }
}

/* The first `count` values without names, behind their number and the lead if the shape has one. */
static void resp_plain(struct buffer *out, const struct reply *reply,
                       const struct command_spec *spec, size_t count)
{
    size_t lead = spec->shape == REPLY_LEAD, late = reply_has_late(reply, spec);
    char *at = buffer_room(out, 2 * RESP_NUMBER_MAX + values_room(reply, 0, count) +
                                    values_room(reply, reply->count - late, late));

    if (at == NULL) {
        return;
    }
    if (spec->shape != REPLY_NUMBER) {
        at = resp_put_number(at, '*', (int64_t)(count + lead + late));
    }
    if (lead) {
        at = resp_put_number(at, ':', reply->lead);
    }
    for (size_t i = 0; i < count; i++) {
        at = put_value(at, reply, i);
    }
    if (late) {
        at = put_value(at, reply, reply->count - 1);
    }
    buffer_written(out, at);
}

void reply_to_resp(const struct reply *reply, const struct command_spec *spec, int version,
                   struct buffer *out)
{
    if (is_bare_refusal(reply)) {
        char message[MESSAGE_SIZE];
        if (reply->code == spec->nil_code) {
            buffer_text(out, version == 3 ? "_\r\n" : "*-1\r\n");
        } else {
            size_t size = reply_message(reply, message);
            resp_refusal(out, reply->code, error_is_refusal(reply->code) && !reply->unknown,
                         (struct hf_bytes){message, size});
        }
    } else if (spec->shape == REPLY_PAGE) {
        resp_page(out, reply, spec, version);
    } else if (spec->shape == REPLY_FIELDS) {
        resp_named(out, reply, spec, version, 0, reply_shown(reply, spec));
    } else {
        resp_plain(out, reply, spec, reply_shown(reply, spec));
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Characters that all stand for themselves, between quotes. */
static void json_quoted(struct buffer *out, struct hf_bytes text)
{
    if (buffer_reserve(out, text.size + 2)) {
        char *at = out->data + out->size;
        at[0] = '"';
        if (text.size > 0) {
            memcpy(at + 1, text.data, text.size);
        }
        at[text.size + 1] = '"';
        out->size += text.size + 2;
    }
}

void json_text(struct buffer *out, struct hf_bytes text)
{
    static const char digits[] = "0123456789abcdef";

    if (text.size > 0 && byte_run_json(text.data, text.size) == text.size) {
        json_quoted(out, text);
        return;
    }
    buffer_byte(out, '"');
    for (size_t i = 0; i < text.size;) {
        uint8_t c = (uint8_t)text.data[i];
        size_t size = byte_run_json(text.data + i, text.size - i);
        if (size > 0) {
            buffer_bytes(out, text.data + i, size);
            i += size;
            continue;
        }
        size = 1;
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

/* Can a JSON text carry these bytes as they are, there and back? */
static bool is_json_text(struct hf_bytes text)
{
    return text_is_utf8(text) && (text.size == 0 || memchr(text.data, '\0', text.size) == NULL);
}

/* "name":value for value i of the reply. */
static void json_field(struct buffer *out, const struct reply *reply,
                       const struct reply_field *field, size_t i)
{
    bool number = reply->values[i].kind == VALUE_NUMBER;
    bool coded = field->is_blob && !is_json_text(reply_bytes(reply, i));

    if (coded) {
        buffer_byte(out, '"');
        buffer_text(out, field->name);
        buffer_text(out, JSON_BASE64 "\":\"");
        base64_write(out, reply_bytes(reply, i));
        buffer_byte(out, '"');
        return;
    }
    json_quoted(out, hf_text(field->name));
    buffer_byte(out, ':');
    if (number && field->guessed && reply->values[i].number < 0) {
        buffer_text(out, "null");
    } else if (number) {
        buffer_decimal(out, reply->values[i].number);
    } else {
        json_text(out, reply_bytes(reply, i));
    }
}

/* Up to `count` values of the reply, those from `from` on, but for what is absent. */
static void json_fields(struct buffer *out, const struct reply *reply,
                        const struct command_spec *spec, size_t from, size_t count)
{
    uint8_t before = '{';

    for (size_t i = 0; i < count && from + i < reply->count; i++) {
        if (reply->values[from + i].kind != VALUE_ABSENT) {
            buffer_byte(out, before);
            json_field(out, reply, &spec->fields[i], from + i);
            before = ',';
        }
    }
    buffer_text(out, before == '{' ? "{}" : "}");
}

/* A list of objects, from value `from` on. */
static void json_items(struct buffer *out, const struct reply *reply,
                       const struct command_spec *spec, size_t from, size_t shown)
{
    buffer_byte(out, '[');
    for (size_t i = from; i < reply->count; i += spec->field_count) {
        buffer_text(out, i > from ? "," : "");
        json_fields(out, reply, spec, i, shown);
    }
    buffer_byte(out, ']');
}

static void reply_json(const struct reply *reply, const struct command_spec *spec, bool quiet,
                       struct buffer *out)
{
    if (reply->code != HF_OK) {
        char message[MESSAGE_SIZE];
        size_t size = reply_message(reply, message);
        json_refusal(out, reply->code, (struct hf_bytes){message, size});
        return;
    }
    size_t shown = quiet ? spec->field_count : command_shown_fields(spec);
    if (spec->shape == REPLY_PAIRS) {
        json_items(out, reply, spec, 0, shown);
    } else if (spec->shape == REPLY_PAGE) {
        buffer_text(out, "{\"cursor\":");
        json_text(out, reply_bytes(reply, 0));
        buffer_text(out, ",\"items\":");
        json_items(out, reply, spec, 1, shown);
        buffer_byte(out, '}');
    } else {
        /* One that has its last value has all of them. */
        json_fields(out, reply, spec, 0, reply_has_late(reply, spec) ? reply->count : shown);
    }
}

void reply_to_json(const struct reply *reply, const struct command_spec *spec, struct buffer *out)
{
    reply_json(reply, spec, false, out);
}

void reply_to_json_all(const struct reply *reply, const struct command_spec *spec,
                       struct buffer *out)
{
    reply_json(reply, spec, true, out);
}

/* ---- structs --------------------------------------------------------------------------------- */

/* The values from `from` on, into a struct that is all zero at first. */
static void fill_struct(const struct reply *reply, const struct command_spec *spec, size_t from,
                        void *out)
{
    memset(out, 0, spec->reply_size);
    for (size_t i = 0; from + i < reply->count && i < spec->field_count; i++) {
        const struct reply_field *field = &spec->fields[i];
        const struct value *value = &reply->values[from + i];
        char *member = (char *)out + field->offset;
        if (value->kind == VALUE_NUMBER) {
            memcpy(member, &value->number, sizeof value->number);
        } else if (value->kind == VALUE_TEXT && field->size > 0) {
            struct hf_bytes text = reply_bytes(reply, from + i);
            size_t size = text.size < field->size ? text.size : field->size - 1U;
            memcpy(member, text.data, size);
        }
    }
}

void reply_to_struct(const struct reply *reply, const struct command_spec *spec, void *out)
{
    fill_struct(reply, spec, 0, out);
}

void reply_item_to_struct(const struct reply *reply, const struct command_spec *spec, size_t item,
                          void *out)
{
    fill_struct(reply, spec, reply_item(spec, item), out);
}
