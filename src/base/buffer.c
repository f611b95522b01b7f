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

bool buffer_grow(struct buffer *buffer, size_t size)
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

/* How many digits a number has. Its bits tell that to within one. */
static unsigned count_digits(uint64_t number)
{
    /* clang-format off */
    static const uint64_t powers[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
        1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
        1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
        10000000000000000000U};
    /* clang-format on */
    unsigned bits = 64 - (unsigned)__builtin_clzll(number | 1);
    unsigned fewer = bits * 1233 >> 12; /* 1233 / 4096 is the logarithm of 2 */

    return fewer + (number >= powers[fewer]);
}

/* Two digits at a time, from the last one on: half the divisions. */
size_t decimal_write(char *out, int64_t number)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t sign = number < 0, size = sign + count_digits(rest);
    char *at = out + size;

    out[0] = '-';
    for (; rest >= 10; rest /= 100) {
        at -= 2;
        memcpy(at, pairs + rest % 100 * 2, 2);
    }
    if (at > out + sign) {
        out[sign] = (char)('0' + rest);
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

#define VARINT_MAX 10 /* bytes of the largest number */

uint64_t reader_long_varint(struct reader *reader)
{
    /* Whatever the number is, it does not end behind what is there. */
    bool is_near = reader->end - reader->at >= VARINT_MAX && !reader->failed;
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = is_near ? *reader->at++ : reader_byte(reader);
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
