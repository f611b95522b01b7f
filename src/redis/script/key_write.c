/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the keys and the arguments of a command's script. */
#include "redis/script/key_write.h"

#include "base/check.h"
#include "base/text.h"
#include "base/uuid.h"

#include <ctype.h>

/* ---- arguments by name ----------------------------------------------------------------------- */

/* The size of the argument's name in scripts if the text begins with it, else 0. A required one
 * goes by its name, an optional one by its keyword, in small letters. */
static size_t name_at(const struct arg_spec *arg, const char *text)
{
    const char *name = arg->keyword != NULL ? arg->keyword : arg->name;
    size_t size = 0;

    while (name[size] != '\0' && text[size] == tolower((unsigned char)name[size])) {
        size++;
    }
    return name[size] == '\0' ? size : 0;
}

/* The argument whose name stands at `text`, the longest of them; *size is that name's. */
static const struct arg_spec *arg_at(const struct command_spec *spec, const char *text,
                                     size_t *size)
{
    const struct arg_spec *found = NULL;

    *size = 0;
    for (size_t i = 0; i < spec->arg_count; i++) {
        size_t found_size = name_at(&spec->args[i], text);
        if (found_size > *size) {
            found = &spec->args[i];
            *size = found_size;
        }
    }
    return found;
}

void seconds_write(struct buffer *out, int64_t ms)
{
    buffer_decimal(out, ms / 1000);
    if (ms % 1000 != 0) {
        char digits[4] = {(char)('0' + ms % 1000 / 100), (char)('0' + ms % 100 / 10),
                          (char)('0' + ms % 10)};
        size_t size = digits[2] != '0' ? 3 : digits[1] != '0' ? 2 : 1;
        buffer_byte(out, '.');
        buffer_bytes(out, digits, size);
    }
}

/* Where 0 counts, a number that was not given is empty. */
static void count_write(struct buffer *out, int64_t number, bool zero_counts)
{
    if (!zero_counts || number != 0) {
        buffer_decimal(out, zero_counts && number == HF_ZERO ? 0 : number);
    }
}

static void arg_write(struct buffer *out, const struct command *command, const struct arg_spec *arg)
{
    const void *value = command_arg(command, arg);
    const struct hf_bytes *text = value;

    switch (arg->type) {
    case ARG_ID:
    case ARG_CHOICE:
    case ARG_TEXT:
    case ARG_BLOB:
        buffer_bytes(out, text->data, text->size);
        break;
    case ARG_COUNT:
    case ARG_AMOUNT:
        count_write(out, *(const int64_t *)value, arg->zero_counts);
        break;
    case ARG_DURATION:
    case ARG_WAIT:
        seconds_write(out, *(const int64_t *)value);
        break;
    case ARG_FLAG:
        buffer_byte(out, *(const bool *)value ? '1' : '0');
        break;
    }
}

/* ---- what the engine makes ------------------------------------------------------------------- */

static void write_code(struct buffer *out, const struct command *command)
{
    uint64_t number;
    char code[TEXT_CODE];

    memcpy(&number, command->entropy, sizeof number);
    text_code(code, number);
    buffer_bytes(out, code, sizeof code);
}

static void write_token(struct buffer *out, const struct command *command)
{
    for (size_t i = 0; i < COMMAND_ENTROPY; i++) {
        buffer_format(out, "%02x", command->entropy[i]);
    }
}

static void write_lock_id(struct buffer *out, const struct command *command)
{
    uint8_t bytes[UUID_BYTES];
    char text[UUID_TEXT];
    struct hf_bytes given = command->args.lock_try.id;

    if (given.size > 0) {
        buffer_bytes(out, given.data, given.size);
        return;
    }
    memcpy(bytes, command->entropy, sizeof bytes);
    uuid_from_random(bytes);
    uuid_write(bytes, text);
    buffer_bytes(out, text, sizeof text);
}

/* Without it the script answers as those that other programs have, by the id alone. */
static void write_fence(struct buffer *out, const struct command *command)
{
    (void)command;
    buffer_byte(out, '1');
}

static const struct {
    const char *word;
    void (*write)(struct buffer *out, const struct command *command);
} made[] = {{"@code", write_code},
            {"@token", write_token},
            {"@lock_id", write_lock_id},
            {"@fence", write_fence}};

void script_arg_write(struct buffer *out, struct hf_bytes word, const struct command *command)
{
    size_t size;

    for (size_t i = 0; word.data[0] == '@' && i < sizeof made / sizeof made[0]; i++) {
        if (text_equal(word, hf_text(made[i].word))) {
            made[i].write(out, command);
            return;
        }
    }
    const struct arg_spec *arg = arg_at(command->spec, word.data, &size);
    CHECK(arg != NULL && size == word.size);
    arg_write(out, command, arg);
}

/* ---- keys ------------------------------------------------------------------------------------ */

void key_write(struct buffer *out, enum key_id key, const struct command *command,
               const struct key_style *style)
{
    static const char main_counter[] = "_main";

    buffer_text(out, style->name_space);
    for (const char *at = key_form(key, style->cluster); *at != '\0';) {
        size_t size = strcspn(at, "$");
        buffer_bytes(out, at, size);
        at += size;
        if (*at == '\0') {
            break;
        }
        const struct arg_spec *arg = arg_at(command->spec, at + 1, &size);
        CHECK(arg != NULL);
        arg_write(out, command, arg);
        at += 1 + size;
        if (style->counter != NULL && strncmp(at, main_counter, sizeof main_counter - 1) == 0) {
            buffer_byte(out, '_');
            buffer_text(out, style->counter);
            at += sizeof main_counter - 1;
        }
    }
}
