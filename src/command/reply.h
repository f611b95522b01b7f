/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command answers: a code, and values in the order of the row's reply fields. The core fills
 * it in; reply_encode.c writes it for each front. A reply is kept and used again, so that answering
 * allocates nothing. */
#ifndef COMMAND_REPLY_H
#define COMMAND_REPLY_H

#include "base/buffer.h"
#include "command/command.h"

enum value_kind { VALUE_NUMBER, VALUE_TEXT };

struct value {
    enum value_kind kind;
    uint32_t size; /* of a text */
    union {
        int64_t number;
        size_t offset; /* of a text, in reply->text */
    };
};

struct reply {
    enum hf_error code;
    bool waits; /* no answer yet: it comes with this ticket, as a wakeup of the core */
    uint64_t ticket;

    int lead; /* the first element of a REPLY_LEAD: 1, or what the family says */
    size_t count;
    size_t capacity;
    struct value *values;
    struct buffer text;

    /* Why it was refused: a text with # for each of the numbers. Put together only when asked for.
     */
    const char *why;
    int64_t why_numbers[3];
};

/* Room for the values and texts of any reply of a fixed size: adding them cannot fail. */
#define REPLY_VALUES 32
#define REPLY_TEXT 2048

bool reply_init(struct reply *reply, struct memory *memory);
void reply_free(struct reply *reply);

/* Empty again: HF_OK, lead 1. */
void reply_clear(struct reply *reply);

/* Room for so many more values and bytes of text; false when there is no memory. */
bool reply_reserve(struct reply *reply, size_t values, size_t text);

void reply_number(struct reply *reply, int64_t number);
void reply_text(struct reply *reply, const void *data, size_t size);
void reply_word(struct reply *reply, const char *word);

/* A refusal. `why` is static; each # in it stands for the next number. */
void reply_refuse(struct reply *reply, enum hf_error code, const char *why);
void reply_refuse_with(struct reply *reply, enum hf_error code, const char *why, int64_t a,
                       int64_t b, int64_t c);

/* Copies a reply into another, which keeps its own memory; false when there is no memory. */
bool reply_copy(struct reply *to, const struct reply *from);

/* Text i of the reply. */
struct hf_bytes reply_bytes(const struct reply *reply, size_t i);

/* The message of a refusal, NUL-terminated. Returns its length. */
size_t reply_message(const struct reply *reply, char out[MESSAGE_SIZE]);

/* ---- encoding, reply_encode.c ---------------------------------------------------------------- */

/* RESP2. */
void reply_to_resp(const struct reply *reply, const struct command_spec *spec, struct buffer *out);
/* An object with the row's names; a refusal is {"error":{"code":…,"message":…}}. */
void reply_to_json(const struct reply *reply, const struct command_spec *spec, struct buffer *out);
/* For a terminal: one value a line, with its name where it has one. */
void reply_to_lines(const struct reply *reply, const struct command_spec *spec, struct buffer *out);
/* Into the typed reply struct of holdfast.h, `spec->reply_size` bytes. Not for REPLY_PAIRS. */
void reply_to_struct(const struct reply *reply, const struct command_spec *spec, void *out);

/* A problem found before the core was asked, in the two forms. */
void problem_to_resp(const struct problem *problem, struct buffer *out);
void problem_to_json(const struct problem *problem, struct buffer *out);

#endif
