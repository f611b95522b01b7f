/* SPDX-License-Identifier: Apache-2.0
 *
 * UUIDs between their canonical text (36 characters, lower case) and 16 bytes. */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UUID_TEXT 36
#define UUID_BYTES 16

/* Sixteen bytes worked on at once; the compiler finds the instructions. */
typedef uint8_t uuid_vector __attribute__((vector_size(16)));
typedef uint64_t uuid_words __attribute__((vector_size(16)));

/* Sixteen lower-case hex digits to their values; clears bytes of *valid where one is something
 * else. */
static inline uuid_vector uuid_nibbles(uint64_t first, uint64_t second, uuid_vector *valid)
{
    uuid_vector c = (uuid_vector)(uuid_words){first, second};
    uuid_vector digit = (uuid_vector)(c - '0' <= 9); /* what is below wraps round to above */
    uuid_vector letter = (uuid_vector)(c - 'a' <= 5);

    *valid &= digit | letter;
    return (c & 0x0f) + (letter & 9);
}

/* Bytes as they stand in memory. The parts of a UUID are put together in registers: going through
 * memory in pieces of other sizes would stall. */
static inline uint64_t uuid_load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Two times four bytes. */
static inline uint64_t uuid_load44(const char *at, const char *then)
{
    uint32_t first, second;

    memcpy(&first, at, sizeof first);
    memcpy(&second, then, sizeof second);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return first | (uint64_t)second << 32;
#else
    return (uint64_t)first << 32 | second;
#endif
}

/* False, and `out` is anything, unless `text` is exactly what uuid_write() would write. It is part
 * of every lookup by a UUID, and so it is here. */
static inline bool uuid_read(const char *text, size_t size, uint8_t out[UUID_BYTES])
{
    uuid_vector valid = ~(uuid_vector){0};

    /* 01234567-9012-4567-9012-456789012345 */
    if (size != UUID_TEXT || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
        text[23] != '-') {
        return false;
    }
    uuid_vector front = uuid_nibbles(uuid_load8(text), uuid_load44(text + 9, text + 14), &valid);
    uuid_vector back =
        uuid_nibbles(uuid_load44(text + 19, text + 24), uuid_load8(text + 28), &valid);
    uuid_vector high = __builtin_shufflevector(front, back, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                               22, 24, 26, 28, 30);
    uuid_vector low = __builtin_shufflevector(front, back, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21,
                                              23, 25, 27, 29, 31);
    uuid_vector bytes = high << 4 | low;
    uuid_words all = (uuid_words)valid;
    memcpy(out, &bytes, sizeof bytes);
    return (all[0] & all[1]) == UINT64_MAX;
}

/* Writes 36 characters, no NUL. */
void uuid_write(const uint8_t in[UUID_BYTES], char *text);

/* Turns random bytes into a version 4 UUID. */
void uuid_from_random(uint8_t bytes[UUID_BYTES]);

#endif
