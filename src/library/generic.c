/* SPDX-License-Identifier: Apache-2.0
 *
 * hf_call(): words in, a flat list out. */
#include "library/handle.h"

#include <stdlib.h>

struct element {
    enum hf_kind kind;
    int64_t number;
    size_t offset, size; /* of a text, in hf_reply.text */
};

struct hf_reply {
    struct memory memory;
    const struct command_spec *spec; /* NULL: the request was malformed */
    struct problem problem;
    struct reply reply;
    struct buffer text;
    struct buffer json;
    struct element *elements;
    size_t count, capacity;
    bool lost; /* carried out, but there was no memory for the reply */
};

static void add_element(hf_reply *reply, struct element element)
{
    if (reply->count < reply->capacity) {
        reply->elements[reply->count++] = element;
    }
}

static void add_number(hf_reply *reply, int64_t number)
{
    add_element(reply, (struct element){.kind = HF_KIND_INTEGER, .number = number});
}

static void add_text(hf_reply *reply, struct hf_bytes text)
{
    add_element(reply, (struct element){
                           .kind = HF_KIND_TEXT, .offset = reply->text.size, .size = text.size});
    buffer_bytes(&reply->text, text.data, text.size);
    buffer_byte(&reply->text, 0);
}

static void add_refusal(hf_reply *reply, enum hf_error code, const char *message)
{
    add_number(reply, 0);
    add_text(reply, hf_text(hf_error_name(code)));
    add_text(reply, hf_text(message));
}

static void add_value(hf_reply *out, size_t i)
{
    const struct reply *reply = &out->reply;

    switch (reply->values[i].kind) {
    case VALUE_NUMBER:
        add_number(out, reply->values[i].number);
        break;
    case VALUE_TEXT:
        add_text(out, reply_bytes(reply, i));
        break;
    case VALUE_ABSENT:
        add_element(out, (struct element){.kind = HF_KIND_NIL});
        break;
    }
}

/* The cursor, then all shown fields of each item, as fields and values or as bare names. */
static void add_page(hf_reply *out)
{
    const struct command_spec *spec = out->spec;
    bool named = !command_lists_names(spec);

    add_value(out, 0);
    for (size_t item = 0; item < reply_items(&out->reply, spec); item++) {
        for (size_t i = 0; i < command_shown_fields(spec); i++) {
            if (named) {
                add_text(out, hf_text(spec->fields[i].name));
            }
            add_value(out, reply_item(spec, item) + i);
        }
    }
}

static void add_values(hf_reply *out)
{
    const struct command_spec *spec = out->spec;

    if (spec->shape == REPLY_PAGE) {
        add_page(out);
        return;
    }
    if (spec->shape == REPLY_LEAD) {
        add_number(out, out->reply.lead);
    }
    for (size_t i = 0; i < reply_shown(&out->reply, spec); i++) {
        if (spec->shape == REPLY_FIELDS) {
            add_text(out, hf_text(spec->fields[i].name));
        }
        add_value(out, i);
    }
    if (reply_has_late(&out->reply, spec)) {
        add_value(out, out->reply.count - 1);
    }
}

/* The flat list, from the reply or the problem. False when there is no memory. */
static bool flatten(hf_reply *out)
{
    size_t capacity = out->reply.count * 2 + 3;

    out->elements = memory_get(&out->memory, capacity * sizeof(*out->elements));
    if (out->elements == NULL) {
        return false;
    }
    out->capacity = capacity;
    if (out->spec == NULL) {
        add_refusal(out, out->problem.code, out->problem.message);
    } else if (out->reply.code == HF_OK || out->reply.count > 0) {
        add_values(out);
    } else if (out->reply.code == out->spec->nil_code) {
        add_element(out, (struct element){.kind = HF_KIND_NIL});
    } else {
        char message[MESSAGE_SIZE];
        reply_message(&out->reply, message);
        add_refusal(out, out->reply.code, message);
    }
    return !out->text.failed;
}

static void keep_reply(void *context, const struct reply *reply)
{
    hf_reply *out = context;
    out->lost = !reply_copy(&out->reply, reply);
}

enum hf_error hf_call(hf_handle *handle, size_t argc, const struct hf_bytes *argv, hf_reply **reply)
{
    struct problem no_memory = {.code = HF_BUSY, .message = "out of memory for the reply"};
    struct command command;
    hf_reply *out = calloc(1, sizeof *out);

    *reply = NULL;
    if (out == NULL) {
        return handle_fail(&no_memory);
    }
    memory_init(&out->memory);
    buffer_init(&out->text, &out->memory);
    buffer_init(&out->json, &out->memory);
    if (!reply_init(&out->reply, &out->memory)) {
        hf_reply_free(out);
        return handle_fail(&no_memory);
    }
    enum hf_error code = command_from_words(&command, argc, argv, &out->problem);
    if (code != HF_OK) {
        handle_fail(&out->problem);
    } else {
        out->spec = command.spec;
        code = handle_run(handle, &command, keep_reply, out);
        if (out->lost) {
            code = handle_fail(&no_memory);
        }
    }
    if (code == HF_BUSY || !flatten(out)) {
        hf_reply_free(out);
        return code == HF_BUSY ? code : handle_fail(&no_memory);
    }
    *reply = out;
    return code;
}

size_t hf_reply_count(const hf_reply *reply)
{
    return reply->count;
}

enum hf_kind hf_reply_kind(const hf_reply *reply, size_t i)
{
    return i < reply->count ? reply->elements[i].kind : HF_KIND_NIL;
}

int64_t hf_reply_integer(const hf_reply *reply, size_t i)
{
    return hf_reply_kind(reply, i) == HF_KIND_INTEGER ? reply->elements[i].number : 0;
}

struct hf_bytes hf_reply_text(const hf_reply *reply, size_t i)
{
    if (hf_reply_kind(reply, i) != HF_KIND_TEXT) {
        return (struct hf_bytes){"", 0};
    }
    const struct element *element = &reply->elements[i];
    return (struct hf_bytes){reply->text.data + element->offset, element->size};
}

const char *hf_reply_json(hf_reply *reply)
{
    if (reply->json.size == 0) {
        if (reply->spec == NULL) {
            problem_to_json(&reply->problem, &reply->json);
        } else {
            reply_to_json(&reply->reply, reply->spec, &reply->json);
        }
        buffer_byte(&reply->json, 0);
    }
    return reply->json.failed ? "" : reply->json.data;
}

void hf_reply_free(hf_reply *reply)
{
    if (reply != NULL) {
        reply_free(&reply->reply);
        buffer_free(&reply->text);
        buffer_free(&reply->json);
        memory_free(&reply->memory, reply->elements, reply->capacity * sizeof(*reply->elements));
        free(reply);
    }
}
