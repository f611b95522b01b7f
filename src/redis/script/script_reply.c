/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what a script returned into the reply of a command, by the shape that its row states. */
#include "redis/script/script_reply.h"

#include "base/error.h"
#include "base/text.h"

static struct hf_bytes text_of(const redisReply *from)
{
    return (struct hf_bytes){from->str, from->len};
}

static bool is_text(const redisReply *from)
{
    return from->type == REDIS_REPLY_STRING || from->type == REDIS_REPLY_STATUS;
}

/* Numbers that were kept in a hash come back as text. */
static bool to_number(const redisReply *from, int64_t *number)
{
    if (from->type == REDIS_REPLY_INTEGER) {
        *number = from->integer;
        return true;
    }
    return is_text(from) && text_to_integer(text_of(from), number);
}

bool script_reply_number(const redisReply *from, size_t i, int64_t *number)
{
    return from->type == REDIS_REPLY_ARRAY && i < from->elements &&
           to_number(from->element[i], number);
}

static void refuse(struct reply *reply, enum hf_error code, struct hf_bytes words)
{
    if (!reply_refuse_said(reply, code, words)) {
        reply_refuse(reply, code, NULL);
    }
}

/* Is it {0, CODE, message}? Then the reply is filled in. */
static bool is_refusal(struct reply *reply, const redisReply *from)
{
    int64_t lead;

    if (from->type != REDIS_REPLY_ARRAY || from->elements != 3 ||
        !script_reply_number(from, 0, &lead) || lead != 0 || !is_text(from->element[1]) ||
        !is_text(from->element[2])) {
        return false;
    }
    enum hf_error code = error_from_name(text_of(from->element[1]));
    if (code == HF_OK) {
        return false;
    }
    reply_clear(reply);
    refuse(reply, code, text_of(from->element[2]));
    return true;
}

static bool add_value(struct reply *reply, const struct reply_field *field, const redisReply *from)
{
    int64_t number;

    if (!field->is_text) {
        if (!to_number(from, &number)) {
            return false;
        }
        reply_number(reply, number);
        return true;
    }
    size_t max = field->size > 0 ? field->size - 1U : RESPONSE_MAX;
    if (!is_text(from) || from->len > max || !reply_reserve(reply, 0, from->len)) {
        return false;
    }
    reply_text(reply, from->str, from->len);
    return true;
}

static bool read_lead(struct reply *reply, const struct command_spec *spec, const redisReply *from)
{
    int64_t lead;

    if (!script_reply_number(from, 0, &lead) || lead < -1 || lead > 2 ||
        (lead != 1 && spec->figures_code == HF_OK)) {
        return false;
    }
    reply->lead = (int)lead;
    reply->code = lead > 0 ? HF_OK : spec->figures_code;
    return true;
}

/* Values from element `first` on, every `step`th; those of the last fields may be missing. */
static bool read_values(struct reply *reply, const struct command_spec *spec,
                        const redisReply *from, size_t first, size_t step)
{
    size_t fields = spec->shape == REPLY_PAIRS ? from->elements : spec->field_count;

    if (!reply_reserve(reply, from->elements, 0)) {
        return false;
    }
    for (size_t i = first, field = 0; i < from->elements && field < fields; i += step, field++) {
        if (!add_value(reply, &spec->fields[field % spec->field_count], from->element[i])) {
            return false;
        }
    }
    return true;
}

/* The fields that a reply must have: the last ones, if they are quiet or a stored response, may be
 * missing. */
static size_t required_fields(const struct command_spec *spec)
{
    size_t count = 0;

    while (count < spec->field_count && !spec->fields[count].quiet &&
           !(spec->fields[count].is_text && spec->fields[count].size == 0)) {
        count++;
    }
    return count;
}

/* Does each pair begin with the name of its field? Those at the end may be missing. */
static bool has_names(const struct command_spec *spec, const redisReply *from)
{
    if (from->elements == 0 || from->elements % 2 != 0 || from->elements / 2 > spec->field_count) {
        return false;
    }
    for (size_t i = 0; i < from->elements; i += 2) {
        if (!is_text(from->element[i]) ||
            !text_equal(text_of(from->element[i]), hf_text(spec->fields[i / 2].name))) {
            return false;
        }
    }
    return true;
}

/* The fields of one item of a page, in the order of the row; any may be missing. */
static bool read_item(struct reply *reply, const struct command_spec *spec, const redisReply *from)
{
    size_t field = 0;

    if (from->type != REDIS_REPLY_ARRAY || from->elements % 2 != 0 ||
        !reply_reserve(reply, spec->field_count, 0)) {
        return false;
    }
    for (size_t i = 0; i < from->elements; i += 2) {
        while (is_text(from->element[i]) && field < spec->field_count &&
               !text_equal(text_of(from->element[i]), hf_text(spec->fields[field].name))) {
            reply_absent(reply);
            field++;
        }
        if (!is_text(from->element[i]) || field == spec->field_count ||
            !add_value(reply, &spec->fields[field++], from->element[i + 1])) {
            return false;
        }
    }
    while (field++ < spec->field_count) {
        reply_absent(reply);
    }
    return true;
}

bool script_reply_add_items(struct reply *reply, const struct command_spec *spec,
                            const redisReply *from)
{
    if (from->type != REDIS_REPLY_ARRAY || from->elements == 0 ||
        from->elements > 1 + HF_PAGE_MAX) {
        return false;
    }
    for (size_t i = 1; i < from->elements; i++) {
        if (!read_item(reply, spec, from->element[i])) {
            return false;
        }
    }
    return true;
}

/* {cursor, {field, value, …}, …}, as a script lists. */
static bool read_page(struct reply *reply, const struct command_spec *spec, const redisReply *from)
{
    static const struct reply_field cursor = {.is_text = true, .size = HF_CURSOR_SIZE};

    return from->elements > 0 && add_value(reply, &cursor, from->element[0]) &&
           script_reply_add_items(reply, spec, from);
}

static bool read_array(struct reply *reply, const struct command_spec *spec, const redisReply *from)
{
    switch (spec->shape) {
    case REPLY_LEAD:
        return from->elements > required_fields(spec) && read_lead(reply, spec, from) &&
               read_values(reply, spec, from, 1, 1);
    case REPLY_LIST:
        return from->elements >= required_fields(spec) && from->elements <= spec->field_count &&
               read_values(reply, spec, from, 0, 1);
    case REPLY_FIELDS:
        return has_names(spec, from) && read_values(reply, spec, from, 1, 2);
    case REPLY_PAIRS:
        return from->elements % spec->field_count == 0 && read_values(reply, spec, from, 0, 1);
    case REPLY_PAGE:
        return read_page(reply, spec, from);
    case REPLY_NUMBER:
        break;
    }
    return false;
}

static bool read_reply(struct reply *reply, const struct command_spec *spec, const redisReply *from)
{
    switch (from->type) {
    case REDIS_REPLY_NIL:
        reply_refuse(reply, spec->nil_code, NULL);
        return spec->nil_code != HF_OK;
    case REDIS_REPLY_INTEGER:
        return spec->shape == REPLY_NUMBER && add_value(reply, &spec->fields[0], from);
    case REDIS_REPLY_ARRAY:
        return is_refusal(reply, from) || read_array(reply, spec, from);
    default:
        return false;
    }
}

void script_reply_read(struct reply *reply, const struct command_spec *spec, const redisReply *from)
{
    reply_clear(reply);
    if (from->type == REDIS_REPLY_ERROR) { /* a script's own failure */
        refuse(reply, HF_INTERNAL, text_of(from));
    } else if (!read_reply(reply, spec, from)) {
        reply_clear(reply);
        reply_refuse(reply, HF_INTERNAL, "Redis answered what this command cannot answer");
    }
}
