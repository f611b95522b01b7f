/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command answers: a code, and values in the order of the row's reply fields. The core fills
 * it in; reply_encode.c writes it for each front, reply_decode.c reads it from a server's bytes. A
 * reply is kept and used again, so that answering allocates nothing. */
#ifndef COMMAND_REPLY_H
#define COMMAND_REPLY_H

#include "base/buffer.h"
#include "command/command.h"
#include "command/resp.h"

enum value_kind {
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_ABSENT, /* of a page: what this item does not have, or the engine does not say; and what
                   * is not for this client */
};

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
    bool granted;   /* what the row's undo command would take back has just been handed out */
    uint64_t grant; /* by which engine_take_back() knows that grant; 0: by its command alone */
    bool unknown;   /* with HF_TIMEOUT: not that a wait ran out; it may have happened or not */

    int lead; /* the first element of a REPLY_LEAD: 1, or what the family says */
    size_t count;
    size_t capacity;
    struct value *values;
    struct buffer text;

    /* Why it was refused: a text with # for each of the numbers. Put together only when asked for.
     */
    const char *why;
    int64_t why_numbers[3];
    bool said; /* a server put it in words: they are all that stands in `text` */
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
void reply_absent(struct reply *reply);

/* A refusal. `why` is static; each # in it stands for the next number. */
void reply_refuse(struct reply *reply, enum hf_error code, const char *why);
void reply_refuse_with(struct reply *reply, enum hf_error code, const char *why, int64_t a,
                       int64_t b, int64_t c);

/* A refusal of which each @ stands for the next text, in quotes. */
void reply_refuse_texts(struct reply *reply, enum hf_error code, const char *why, struct hf_bytes a,
                        struct hf_bytes b);

/* What a command did not find, it names: adds the ids that it looked for to such a refusal. */
void reply_name_missing(struct reply *reply, const struct command *command);

/* A refusal in a server's words, which are copied; false when there is no memory for them. What is
 * no plain character becomes a question mark. */
bool reply_refuse_said(struct reply *reply, enum hf_error code, struct hf_bytes words);

/* Copies a reply into another, which keeps its own memory; false when there is no memory. */
bool reply_copy(struct reply *to, const struct reply *from);

/* Has the row a field that is not for everybody who may give the command? */
bool reply_has_secrets(const struct command_spec *spec);
/* The values of such fields are absent from now on. */
void reply_conceal(struct reply *reply, const struct command_spec *spec);

/* How many of its first values are in RESP: those of quiet fields, which stand last, are not. */
size_t reply_shown(const struct reply *reply, const struct command_spec *spec);
/* Does it have a last value that is in RESP though the ones before it are not? */
bool reply_has_late(const struct reply *reply, const struct command_spec *spec);

/* A page begins with its cursor, which is a text and can be set when the items are there; then come
 * all fields of each item. */
static inline size_t reply_items(const struct reply *reply, const struct command_spec *spec)
{
    return reply->count > 0 ? (reply->count - 1) / spec->field_count : 0;
}

/* Where the values of an item begin. */
static inline size_t reply_item(const struct command_spec *spec, size_t item)
{
    return 1 + item * spec->field_count;
}

/* Another text in place of value i; there must be room for it. */
void reply_set_text(struct reply *reply, size_t i, struct hf_bytes text);

/* Another cursor for a page that has all its items, however much room they left. False if there is
 * no memory for it, and the page is as it was. */
bool reply_set_cursor(struct reply *reply, struct hf_bytes cursor);

/* Text i of the reply. */
struct hf_bytes reply_bytes(const struct reply *reply, size_t i);

/* The message of a refusal, NUL-terminated. Returns its length. */
size_t reply_message(const struct reply *reply, char out[MESSAGE_SIZE]);

/* ---- encoding, reply_encode.c ---------------------------------------------------------------- */

/* RESP, version 2 or 3. */
void reply_to_resp(const struct reply *reply, const struct command_spec *spec, int version,
                   struct buffer *out);
/* An object with the row's names; a refusal is {"error":{"code":…,"message":…}}. */
void reply_to_json(const struct reply *reply, const struct command_spec *spec, struct buffer *out);
/* The same with the quiet fields, as HTTP answers. */
void reply_to_json_all(const struct reply *reply, const struct command_spec *spec,
                       struct buffer *out);
/* A text in quotes. It may be any bytes; what is no UTF-8 becomes U+FFFD. */
void json_text(struct buffer *out, struct hf_bytes text);
/* Into the typed reply struct of holdfast.h, `spec->reply_size` bytes. Not for REPLY_PAIRS. */
void reply_to_struct(const struct reply *reply, const struct command_spec *spec, void *out);
/* The same with one item of a page; what is absent is zero. */
void reply_item_to_struct(const struct reply *reply, const struct command_spec *spec, size_t item,
                          void *out);

/* ---- decoding, reply_decode.c ---------------------------------------------------------------- */

/* The way back from reply_to_resp(): one reply at the start of `bytes`, to the command of a row.
 * RESP_DONE: *size is how many bytes it took. RESP_MORE: how many there must be at least.
 * RESP_BROKEN: it is no reply that this row can have. RESP_NO_MEMORY: it is, but cannot be kept.
 * The message of a nil, and of a refusal with figures, is not in RESP: it is the code's own. */
enum resp_state reply_from_resp(struct reply *reply, const struct command_spec *spec,
                                struct hf_bytes bytes, size_t *size);

/* The code with this name, Redis' NOAUTH, WRONGPASS and NOPERM included; HF_OK if there is none. */
enum hf_error error_from_name(struct hf_bytes name);

/* The code and the message of an error line without its minus; an unknown word is HF_ERR. */
enum hf_error error_from_line(struct hf_bytes line, struct hf_bytes *message);

/* ---- problems -------------------------------------------------------------------------------- */

/* A problem found before the core was asked, in the two forms. */
void problem_to_resp(const struct problem *problem, struct buffer *out);
/* Always as an error line, where RESP has no room for a refusal in an array. */
void problem_to_resp_error(const struct problem *problem, struct buffer *out);
void problem_to_json(const struct problem *problem, struct buffer *out);

#endif
