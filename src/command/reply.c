/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling a reply with values, or with a refusal and the message that explains it. */
#include "command/reply.h"

#include "base/check.h"
#include "base/error.h"

bool reply_init(struct reply *reply, struct memory *memory)
{
    *reply = (struct reply){.lead = 1};
    buffer_init(&reply->text, memory);
    return reply_reserve(reply, REPLY_VALUES, REPLY_TEXT);
}

void reply_free(struct reply *reply)
{
    memory_free(reply->text.memory, reply->values, reply->capacity * sizeof(*reply->values));
    buffer_free(&reply->text);
    reply->values = NULL;
    reply->count = reply->capacity = 0;
}

void reply_clear(struct reply *reply)
{
    reply->code = HF_OK;
    reply->waits = false;
    reply->granted = false;
    reply->grant = 0;
    reply->lead = 1;
    reply->count = 0;
    reply->why = NULL;
    reply->said = false;
    reply->unknown = false;
    buffer_clear(&reply->text);
}

bool reply_reserve(struct reply *reply, size_t values, size_t text)
{
    size_t needed = reply->count + values;

    if (needed > reply->capacity) {
        size_t size = sizeof(*reply->values);
        needed = needed < reply->capacity * 2 ? reply->capacity * 2 : needed;
        struct value *more =
            memory_resize(reply->text.memory, reply->values, reply->capacity * size, needed * size);
        if (more == NULL) {
            return false;
        }
        reply->values = more;
        reply->capacity = needed;
    }
    if (!buffer_reserve(&reply->text, text)) {
        reply->text.failed = false; /* what it holds is whole */
        return false;
    }
    return true;
}

static struct value *add(struct reply *reply)
{
    CHECK(reply->count < reply->capacity);
    return &reply->values[reply->count++];
}

void reply_number(struct reply *reply, int64_t number)
{
    *add(reply) = (struct value){.kind = VALUE_NUMBER, .number = number};
}

void reply_text(struct reply *reply, const void *data, size_t size)
{
    size_t offset = reply->text.size;

    CHECK(reply->text.capacity - offset >= size);
    buffer_bytes(&reply->text, data, size);
    *add(reply) = (struct value){.kind = VALUE_TEXT, .size = (uint32_t)size, .offset = offset};
}

void reply_word(struct reply *reply, const char *word)
{
    reply_text(reply, word, strlen(word));
}

void reply_absent(struct reply *reply)
{
    *add(reply) = (struct value){.kind = VALUE_ABSENT};
}

bool reply_has_secrets(const struct command_spec *spec)
{
    for (size_t i = 0; i < spec->field_count; i++) {
        if (spec->fields[i].secret) {
            return true;
        }
    }
    return false;
}

void reply_conceal(struct reply *reply, const struct command_spec *spec)
{
    size_t from = spec->shape == REPLY_PAGE ? 1 : 0;

    for (size_t i = from; reply->code == HF_OK && i < reply->count; i++) {
        if (spec->fields[(i - from) % spec->field_count].secret) {
            reply->values[i] = (struct value){.kind = VALUE_ABSENT};
        }
    }
}

void reply_set_text(struct reply *reply, size_t i, struct hf_bytes text)
{
    reply_text(reply, text.data, text.size);
    reply->count--;
    reply->values[i] = reply->values[reply->count];
}

bool reply_set_cursor(struct reply *reply, struct hf_bytes cursor)
{
    if (!reply_reserve(reply, 1, cursor.size)) {
        return false;
    }
    reply_set_text(reply, 0, cursor);
    return true;
}

void reply_refuse_with(struct reply *reply, enum hf_error code, const char *why, int64_t a,
                       int64_t b, int64_t c)
{
    reply->code = code;
    reply->why = why;
    reply->why_numbers[0] = a;
    reply->why_numbers[1] = b;
    reply->why_numbers[2] = c;
}

void reply_refuse(struct reply *reply, enum hf_error code, const char *why)
{
    reply_refuse_with(reply, code, why, 0, 0, 0);
}

bool reply_refuse_said(struct reply *reply, enum hf_error code, struct hf_bytes words)
{
    size_t size = words.size < MESSAGE_SIZE ? words.size : MESSAGE_SIZE - 1;

    reply_clear(reply);
    if (!reply_reserve(reply, 0, size)) {
        return false;
    }
    reply_refuse(reply, code, NULL);
    reply->said = size > 0; /* a peer that refuses without a word refuses as its code says */
    for (size_t i = 0; i < size; i++) {
        char c = words.data[i];
        buffer_byte(&reply->text, c < ' ' || c > '~' ? '?' : (uint8_t)c);
    }
    return true;
}

/* Ends a message that is put together in `out`: it becomes the words of the refusal. */
static void say(struct reply *reply, enum hf_error code, const char *out, size_t size)
{
    if (!reply_refuse_said(reply, code, (struct hf_bytes){out, size})) {
        reply_refuse(reply, code, NULL);
    }
}

static size_t put(char out[MESSAGE_SIZE], size_t at, struct hf_bytes text)
{
    size_t room = MESSAGE_SIZE - 1 - at;
    size_t size = text.size < room ? text.size : room;

    if (size > 0) {
        memcpy(out + at, text.data, size);
    }
    return at + size;
}

static size_t put_quoted(char out[MESSAGE_SIZE], size_t at, struct hf_bytes text)
{
    at = put(out, at, hf_text("\""));
    at = put(out, at, text);
    return put(out, at, hf_text("\""));
}

void reply_refuse_texts(struct reply *reply, enum hf_error code, const char *why, struct hf_bytes a,
                        struct hf_bytes b)
{
    char out[MESSAGE_SIZE];
    struct hf_bytes texts[] = {a, b};
    size_t size = 0, next = 0;

    while (*why != '\0') {
        size_t plain = strcspn(why, "@");
        size = put(out, size, (struct hf_bytes){why, plain});
        why += plain;
        if (*why == '@') {
            CHECK(next < 2);
            size = put_quoted(out, size, texts[next++]);
            why++;
        }
    }
    say(reply, code, out, size);
}

/* The arguments that name what was not found, of those that the command has. */
static const struct {
    enum hf_error code;
    const char *arguments[3];
} looked_for[] = {
    {HF_ZONE_NOT_FOUND, {"event", "zone"}},  {HF_RESERVATION_NOT_FOUND, {"event", "booking"}},
    {HF_HOLD_NOT_FOUND, {"tenant", "hold"}}, {HF_PRODUCT_NOT_FOUND, {"product"}},
    {HF_NOT_IN_QUEUE, {"event", "user"}},    {HF_NOT_FOUND, {"product", "order"}},
    {HF_NOT_FOUND, {"resource", "key"}},
};

static size_t put_argument(char out[MESSAGE_SIZE], size_t at, const struct command *command,
                           const char *name, bool first)
{
    for (size_t i = 0; i < command->spec->required; i++) {
        const struct arg_spec *arg = &command->spec->args[i];
        if (arg->type == ARG_ID && strcmp(arg->name, name) == 0) {
            struct hf_bytes id;
            memcpy(&id, command_arg(command, arg), sizeof id);
            at = put(out, at, hf_text(first ? "; " : ", "));
            at = put(out, at, hf_text(name));
            return put_quoted(out, put(out, at, hf_text(" ")), id);
        }
    }
    return at;
}

void reply_name_missing(struct reply *reply, const struct command *command)
{
    char out[MESSAGE_SIZE];
    enum hf_error code = reply->code;

    if (hf_error_status(code) != 404 || reply->count > 0) {
        return;
    }
    size_t size = reply_message(reply, out), bare = size;
    for (size_t i = 0; i < sizeof looked_for / sizeof looked_for[0]; i++) {
        for (size_t j = 0; looked_for[i].code == code && looked_for[i].arguments[j] != NULL; j++) {
            size = put_argument(out, size, command, looked_for[i].arguments[j], size == bare);
        }
    }
    if (size > bare) {
        say(reply, code, out, size);
    }
}

bool reply_copy(struct reply *to, const struct reply *from)
{
    reply_clear(to);
    if (!reply_reserve(to, from->count, from->text.size)) {
        return false;
    }
    to->code = from->code;
    to->waits = from->waits;
    to->ticket = from->ticket;
    to->granted = from->granted;
    to->grant = from->grant;
    to->lead = from->lead;
    to->why = from->why;
    to->said = from->said;
    to->unknown = from->unknown;
    memcpy(to->why_numbers, from->why_numbers, sizeof to->why_numbers);
    if (from->count > 0) {
        memcpy(to->values, from->values, from->count * sizeof(*from->values));
    }
    to->count = from->count;
    buffer_bytes(&to->text, from->text.data, from->text.size);
    return true;
}

size_t reply_shown(const struct reply *reply, const struct command_spec *spec)
{
    size_t shown = command_shown_fields(spec);
    bool repeats = spec->shape == REPLY_PAIRS || spec->shape == REPLY_PAGE;

    return repeats || reply->count < shown ? reply->count : shown;
}

bool reply_has_late(const struct reply *reply, const struct command_spec *spec)
{
    return command_has_late(spec) && reply->count == spec->field_count;
}

struct hf_bytes reply_bytes(const struct reply *reply, size_t i)
{
    CHECK(i < reply->count && reply->values[i].kind == VALUE_TEXT);
    return (struct hf_bytes){reply->text.data + reply->values[i].offset, reply->values[i].size};
}

size_t reply_message(const struct reply *reply, char out[MESSAGE_SIZE])
{
    const char *why = reply->why ? reply->why : error_text(reply->code);
    size_t size = 0, next = 0;

    if (reply->said) {
        CHECK(reply->text.size < MESSAGE_SIZE);
        memcpy(out, reply->text.data, reply->text.size);
        out[reply->text.size] = '\0';
        return reply->text.size;
    }
    while (*why != '\0') {
        const char *end = next < 3 ? strchrnul(why, '#') : why + strlen(why);
        size = put(out, size, (struct hf_bytes){why, (size_t)(end - why)});
        if (*end != '#' || size >= MESSAGE_SIZE - 22) {
            break;
        }
        size += decimal_write(out + size, reply->why_numbers[next++]);
        why = end + 1;
    }
    out[size] = '\0';
    return size;
}
