/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies a command together with its texts, so that it can be handed to another thread. */
#include "command/copy.h"

/* The text of an argument; NULL if the argument is none. */
static struct hf_bytes *text_of(struct command *command, const struct arg_spec *arg)
{
    return arg_is_text(arg) ? (struct hf_bytes *)((char *)&command->args + arg->offset) : NULL;
}

/* All room is made first: a buffer that grew would leave the views of its earlier texts behind. */
static bool reserve_texts(struct command *command, struct buffer *texts)
{
    size_t size = 0;

    for (size_t i = 0; i < command->spec->arg_count; i++) {
        const struct hf_bytes *text = text_of(command, &command->spec->args[i]);
        size += text != NULL ? text->size : 0;
    }
    buffer_clear(texts);
    return buffer_reserve(texts, size);
}

bool command_copy(struct command *to, const struct command *from, struct buffer *texts)
{
    *to = *from;
    if (!reserve_texts(to, texts)) {
        return false;
    }
    for (size_t i = 0; i < to->spec->arg_count; i++) {
        struct hf_bytes *text = text_of(to, &to->spec->args[i]);
        if (text != NULL && text->data != NULL) {
            size_t offset = texts->size;
            buffer_bytes(texts, text->data, text->size);
            text->data = text->size > 0 ? texts->data + offset : "";
        }
    }
    return true;
}
