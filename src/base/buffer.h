/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that grow. A failed allocation is remembered (`failed`) and every later write is ignored,
 * so that a writer checks once, at the end. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include "base/memory.h"
#include "holdfast.h"

struct buffer {
    struct memory *memory;
    char *data;
    size_t size;
    size_t capacity;
    bool failed;
};

void buffer_init(struct buffer *buffer, struct memory *memory);
void buffer_free(struct buffer *buffer);
void buffer_clear(struct buffer *buffer);

/* Makes room for `size` more bytes, however many there are already; false when there is no memory.
 * Only buffer_reserve() calls it. */
bool buffer_grow(struct buffer *buffer, size_t size);

/* Makes room for `size` more bytes, so that writing them cannot fail. */
static inline bool buffer_reserve(struct buffer *buffer, size_t size)
{
    return !buffer->failed &&
           (buffer->capacity - buffer->size >= size || buffer_grow(buffer, size));
}

/* For a writer that knows how much it writes at most: where the next byte goes, with room for
 * `size` of them, or NULL when there is no memory. buffer_written() tells where they end. */
static inline char *buffer_room(struct buffer *buffer, size_t size)
{
    return buffer_reserve(buffer, size) ? buffer->data + buffer->size : NULL;
}

static inline void buffer_written(struct buffer *buffer, const char *end)
{
    buffer->size = (size_t)(end - buffer->data);
}

void buffer_bytes(struct buffer *buffer, const void *data, size_t size);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_byte(struct buffer *buffer, uint8_t byte);
void buffer_decimal(struct buffer *buffer, int64_t number);
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Integers for files: 7 bits a byte, low bits first, high bit set on all but the last. Signed ones
 * are zigzag-coded. */
void buffer_varint(struct buffer *buffer, uint64_t number);
void buffer_signed(struct buffer *buffer, int64_t number);

/* The same read back. A reader that runs past its end or meets a malformed number sets `failed` and
 * answers zeros from then on. What it reads need not be in memory as a whole: then `more` brings
 * what is behind the end. */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
    size_t beyond; /* bytes behind `end` that `more` can bring */
    /* Makes sure that `size` bytes stand at `at`, of those that are left; false if it cannot. Views
     * handed out before are gone. */
    bool (*more)(struct reader *reader, size_t size);
};

void reader_init(struct reader *reader, const void *data, size_t size);
size_t reader_left(const struct reader *reader);
uint8_t reader_byte(struct reader *reader);
/* Of any length; the next two are what is called. */
uint64_t reader_long_varint(struct reader *reader);

static inline uint64_t reader_varint(struct reader *reader)
{
    if (reader->at < reader->end && *reader->at < 0x80 && !reader->failed) {
        return *reader->at++; /* most are short */
    }
    return reader_long_varint(reader);
}

static inline int64_t reader_signed(struct reader *reader)
{
    uint64_t coded = reader_varint(reader);
    return (int64_t)((coded >> 1) ^ (0 - (coded & 1)));
}

/* A view of the next `size` bytes, until something else is read; NULL if there are fewer. */
const uint8_t *reader_bytes(struct reader *reader, size_t size);

/* `number` in decimal at `out`, which has room for 21 bytes; returns the length. No NUL. */
size_t decimal_write(char *out, int64_t number);

#endif
