/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a flat JSON object: the usual body without a copy, everything else by jansson. */
#include "server/http/json.h"

#include "base/base64.h"
#include "base/byte_run.h"
#include "base/text.h"

#include <stdlib.h>

bool json_is_type(struct hf_bytes content_type)
{
    if (text_equal(content_type, (struct hf_bytes)HF_TEXT("application/json"))) {
        return true; /* as programs write it */
    }
    const char *end =
        content_type.size > 0 ? memchr(content_type.data, ';', content_type.size) : NULL;

    if (end != NULL) {
        content_type.size = (size_t)(end - content_type.data);
    }
    while (content_type.size > 0 && strchr(" \t", content_type.data[content_type.size - 1])) {
        content_type.size--;
    }
    return text_is_word(content_type, "APPLICATION/JSON");
}

bool json_is_whole(struct hf_bytes text)
{
    json_error_t error;
    json_t *root = json_loadb(text.data, text.size, JSON_ALLOW_NUL, &error);

    json_decref(root);
    return root != NULL;
}

/* ---- bodies as programs write them ----------------------------------------------------------- */

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
        at++;
    }
    return at;
}

/* What is between two quotes, if it stands for itself; NULL otherwise. Returns where it ends. */
static const char *read_text(const char *at, const char *end, struct hf_bytes *text)
{
    if (at == end || *at != '"') {
        return NULL;
    }
    const char *start = ++at;
    at += byte_run_json(at, (size_t)(end - at));
    *text = (struct hf_bytes){start, (size_t)(at - start)};
    return at < end && *at == '"' ? at + 1 : NULL;
}

static const char *read_integer(const char *at, const char *end, int64_t *number)
{
    bool negative = at < end && *at == '-';
    const char *start = at += negative;
    int64_t total = 0;

    while (at < end && *at >= '0' && *at <= '9' && at - start < 18) {
        total = total * 10 + (*at++ - '0');
    }
    *number = negative ? -total : total;
    bool padded = at - start > 1 && *start == '0';
    bool goes_on = at < end && strchr("0123456789.eE", *at) != NULL;
    return at == start || padded || goes_on ? NULL : at;
}

static const char *read_value(const char *at, const char *end, struct command_field *field)
{
    size_t left = (size_t)(end - at);

    if (left > 0 && *at == '"') {
        return read_text(at, end, &field->text);
    }
    bool yes = left >= 4 && memcmp(at, "true", 4) == 0;
    if (yes || (left >= 5 && memcmp(at, "false", 5) == 0)) {
        field->number = yes;
        field->is_truth = true;
        return at + (yes ? 4 : 5);
    }
    return read_integer(at, end, &field->number);
}

static bool is_new(const struct json_fields *fields, struct hf_bytes name)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (text_equal(fields->fields[i].name, name)) {
            return false;
        }
    }
    return true;
}

/* "name": value, and what follows it: a comma or the closing brace, which is not taken. */
static const char *read_field(const char *at, const char *end, struct json_fields *fields)
{
    struct command_field field = {.number = 0};

    at = read_text(skip_space(at, end), end, &field.name);
    at = at != NULL ? skip_space(at, end) : NULL;
    if (at == NULL || at == end || *at != ':' || fields->count == JSON_FIELDS_MAX ||
        !is_new(fields, field.name)) {
        return NULL;
    }
    at = read_value(skip_space(at + 1, end), end, &field);
    fields->fields[fields->count++] = field;
    return at != NULL ? skip_space(at, end) : NULL;
}

bool json_read_plain(struct json_fields *fields, struct hf_bytes body)
{
    const char *end = body.data + body.size, *at = skip_space(body.data, end);

    fields->root = NULL;
    fields->blob = NULL;
    fields->count = 0;
    if (at == end || *at != '{') {
        return false;
    }
    const char *first = skip_space(at + 1, end);
    if (first < end && *first == '}') {
        return skip_space(first + 1, end) == end;
    }
    do {
        at = read_field(at + 1, end, fields);
    } while (at != NULL && at < end && *at == ',');
    return at != NULL && at < end && *at == '}' && skip_space(at + 1, end) == end;
}

/* ---- all others ------------------------------------------------------------------------------ */

/* What is wrong with a body that is no JSON, in words of ours where the parser's own would only
 * puzzle. */
static enum hf_error syntax(const json_error_t *error, struct problem *problem)
{
    switch (json_error_code(error)) {
    case json_error_out_of_memory:
        return problem_set(problem, HF_BUSY, "out of memory");
    case json_error_duplicate_key:
        return problem_set(problem, HF_INVALID_ARGUMENT, "the body has a field twice: %.100s",
                           error->text);
    case json_error_numeric_overflow:
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "a number in the body is beyond all bounds: %.100s", error->text);
    default:
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "the body is not JSON: line %d, column %d: %.100s", error->line,
                           error->column, error->text);
    }
}

static enum hf_error add(struct json_fields *fields, const char *name, const json_t *value,
                         struct problem *problem)
{
    if (fields->count == JSON_FIELDS_MAX) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "the body has more than %d fields",
                           JSON_FIELDS_MAX);
    }
    struct command_field *field = &fields->fields[fields->count++];
    *field = (struct command_field){.name = hf_text(name)};
    switch (json_typeof(value)) {
    case JSON_STRING:
        field->text = (struct hf_bytes){json_string_value(value), json_string_length(value)};
        return HF_OK;
    case JSON_INTEGER:
        field->number = json_integer_value(value);
        return HF_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        field->number = json_is_true(value);
        field->is_truth = true;
        return HF_OK;
    case JSON_REAL:
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%.64s is a fraction: numbers are whole, and money is in minor units, "
                           "such as cents",
                           name);
    default:
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%.64s must be a text, a whole number, true or false, not %s", name,
                           json_is_null(value)    ? "null: leave it out"
                           : json_is_array(value) ? "an array"
                                                  : "an object");
    }
}

enum hf_error json_read(struct json_fields *fields, struct hf_bytes body, struct problem *problem)
{
    json_error_t error;
    const char *name;
    json_t *value;
    enum hf_error code = HF_OK;

    fields->root = NULL;
    fields->blob = NULL;
    fields->count = 0;
    if (body.size == 0 || json_read_plain(fields, body)) {
        return HF_OK;
    }
    fields->count = 0;
    fields->root =
        json_loadb(body.data, body.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (fields->root == NULL) {
        return syntax(&error, problem);
    }
    if (!json_is_object(fields->root)) {
        code = problem_set(problem, HF_INVALID_ARGUMENT, "the body is not a JSON object");
    }
    json_object_foreach(fields->root, name, value)
    {
        if (code == HF_OK) {
            code = add(fields, name, value, problem);
        }
    }
    if (code != HF_OK) {
        json_release(fields);
    }
    return code;
}

void json_release(struct json_fields *fields)
{
    json_decref(fields->root);
    free(fields->blob);
    fields->root = NULL;
    fields->blob = NULL;
}

/* ---- blobs ----------------------------------------------------------------------------------- */

static bool has_blob(const struct command_spec *spec)
{
    for (size_t i = 0; i < spec->arg_count; i++) {
        if (spec->args[i].type == ARG_BLOB) {
            return true;
        }
    }
    return false;
}

/* The row's blob that a field has in base 64; NULL if it is another kind of field. */
static const struct arg_spec *coded_blob(const struct command_spec *spec, struct hf_bytes name)
{
    for (size_t i = 0; i < spec->arg_count; i++) {
        size_t size = strlen(spec->args[i].field);
        if (spec->args[i].type == ARG_BLOB && name.size == size + strlen(JSON_BASE64) &&
            memcmp(name.data, spec->args[i].field, size) == 0 &&
            memcmp(name.data + size, JSON_BASE64, strlen(JSON_BASE64)) == 0) {
            return &spec->args[i];
        }
    }
    return NULL;
}

enum hf_error json_read_blob(struct json_fields *fields, const struct command_spec *spec,
                             struct problem *problem)
{
    if (!has_blob(spec)) {
        return HF_OK;
    }
    for (size_t i = 0; i < fields->count && fields->blob == NULL; i++) {
        struct command_field *field = &fields->fields[i];
        const struct arg_spec *arg = coded_blob(spec, field->name);
        if (arg == NULL || field->text.data == NULL) {
            continue;
        }
        size_t room = BASE64_BYTES(field->text.size);
        fields->blob = malloc(room);
        if (fields->blob == NULL) {
            return problem_set(problem, HF_BUSY, "out of memory");
        }
        ptrdiff_t size = base64_read(field->text, fields->blob, room);
        if (size < 0) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "%s" JSON_BASE64 " is not base 64",
                               arg->field);
        }
        field->name = hf_text(arg->field);
        field->text = (struct hf_bytes){fields->blob, (size_t)size};
    }
    return HF_OK;
}
