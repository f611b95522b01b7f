/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing buffers, the varints that files are made of, and the reader that takes them apart again.
 * A failed allocation or a malformed number is remembered until the caller checks. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void buffer_init(struct buffer *buffer, struct memory *memory)
{
    *buffer = (struct buffer){.memory = memory};
}

void buffer_free(struct buffer *buffer)
{
    memory_free(buffer->memory, buffer->data, buffer->capacity);
    buffer_init(buffer, buffer->memory);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

static bool grow(struct buffer *buffer, size_t size)
{
    size_t capacity = buffer->capacity ? buffer->capacity : 64;

    if (buffer->failed || size > SIZE_MAX / 4) {
        buffer->failed = true;
        return false;
    }
    while (capacity - buffer->size < size) {
        capacity *= 2;
    }
    char *data = memory_resize(buffer->memory, buffer->data, buffer->capacity, capacity);
    if (data == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

bool buffer_reserve(struct buffer *buffer, size_t size)
{
    return !buffer->failed && (buffer->capacity - buffer->size >= size || grow(buffer, size));
}

void buffer_bytes(struct buffer *buffer, const void *data, size_t size)
{
    if (size > 0 && buffer_reserve(buffer, size)) {
        memcpy(buffer->data + buffer->size, data, size);
        buffer->size += size;
    }
}

void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_bytes(buffer, text, strlen(text));
}

void buffer_byte(struct buffer *buffer, uint8_t byte)
{
    buffer_bytes(buffer, &byte, 1);
}

size_t decimal_write(char *out, int64_t number)
{
    char digits[20];
    size_t count = 0, size = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        out[size++] = '-';
    }
    while (count > 0) {
        out[size++] = digits[--count];
    }
    return size;
}

void buffer_decimal(struct buffer *buffer, int64_t number)
{
    char text[21];
    buffer_bytes(buffer, text, decimal_write(text, number));
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size > 0) {
        size_t length = (size_t)size;
        buffer_bytes(buffer, text, length < sizeof text ? length : sizeof text - 1);
    }
}

void buffer_varint(struct buffer *buffer, uint64_t number)
{
    uint8_t bytes[10];
    size_t size = 0;

    while (number >= 0x80) {
        bytes[size++] = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    bytes[size++] = (uint8_t)number;
    buffer_bytes(buffer, bytes, size);
}

void buffer_signed(struct buffer *buffer, int64_t number)
{
    uint64_t sign = number < 0 ? UINT64_MAX : 0;
    buffer_varint(buffer, ((uint64_t)number << 1) ^ sign);
}

void reader_init(struct reader *reader, const void *data, size_t size)
{
    *reader = (struct reader){.at = data, .end = (const uint8_t *)data + size};
}

size_t reader_left(const struct reader *reader)
{
    return reader->failed ? 0 : (size_t)(reader->end - reader->at) + reader->beyond;
}

const uint8_t *reader_bytes(struct reader *reader, size_t size)
{
    if (reader_left(reader) < size) {
        reader->failed = true;
        return NULL;
    }
    if ((size_t)(reader->end - reader->at) < size && !reader->more(reader, size)) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *bytes = reader->at;
    reader->at += size;
    return bytes;
}

uint8_t reader_byte(struct reader *reader)
{
    const uint8_t *byte = reader_bytes(reader, 1);
    return byte ? *byte : 0;
}

uint64_t reader_varint(struct reader *reader)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = reader_byte(reader);
        if (shift == 63 && byte > 1) {
            break;
        }
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return reader->failed ? 0 : number;
        }
    }
    reader->failed = true;
    return 0;
}

int64_t reader_signed(struct reader *reader)
{
    uint64_t coded = reader_varint(reader);
    return (int64_t)((coded >> 1) ^ (0 - (coded & 1)));
}
