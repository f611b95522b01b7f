/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading what people type: ids, numbers, durations, keywords. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "holdfast.h"

/* 1-128 bytes of valid UTF-8 without white space, control characters, { or }. */
bool text_is_id(struct hf_bytes text);
/* Two ids with a space between them, together no longer than an id: a name that is none, so that no
 * command of a client has it. */
bool text_is_own_id(struct hf_bytes text);

bool text_is_utf8(struct hf_bytes text);
/* The bytes of the character at an offset; 0 if they are no UTF-8. */
size_t text_utf8_size(struct hf_bytes text, size_t offset);

/* The value of a hexadecimal digit; -1 if it is none. */
int text_hex_digit(char c);

/* Ten digits of Crockford's base 32, no NUL: a number of 50 bits as people can read it out. */
#define TEXT_CODE 10
void text_code(char out[TEXT_CODE], uint64_t number);
/* The way back; false if it is no such code. */
bool text_code_read(struct hf_bytes text, uint64_t *number);

/* Undoes %XX, into `out` with a NUL. False if one is malformed, or stands for NUL, or it all does
 * not fit. */
bool text_unescape(struct hf_bytes text, char *out, size_t out_size);

/* Is it this word, whatever the case of either? */
bool text_is_word(struct hf_bytes text, const char *word);

bool text_equal(struct hf_bytes a, struct hf_bytes b);

/* Without the spaces and tabs at either end. */
struct hf_bytes text_trim(struct hf_bytes text);

static inline bool text_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Finds out what a mistyped word was meant to be: begin with {.given = word}, show it every word
 * that could have been, and it knows the nearest, or none if all are too far away. */
struct text_guess {
    struct hf_bytes given;
    const char *nearest; /* or NULL */
    size_t distance;     /* letters to be added, removed, replaced or swapped with the next */
};
void text_guess_try(struct text_guess *guess, const char *word);

/* " (did you mean WORD?)", with what goes before the word; empty if there is no nearest. */
#define TEXT_HINT_SIZE 96
const char *text_hint(const struct text_guess *guess, const char *before, char out[TEXT_HINT_SIZE]);

/* An optional '-' and digits. What is beyond 2^63-1 either way becomes that. False if it is not of
 * that form. */
bool text_to_integer(struct hf_bytes text, int64_t *number);

/* An integer and an optional unit: ms, s, m, h. A bare number counts in `unit_ms`. As above for
 * what does not fit or is of another form. */
bool text_to_duration(struct hf_bytes text, int64_t unit_ms, int64_t *duration_ms);

#endif
