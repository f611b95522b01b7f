/* SPDX-License-Identifier: Apache-2.0
 *
 * UUIDs between text and bytes, in the canonical form only, so that one UUID has one text. */
#include "base/uuid.h"

#include <string.h>

/* Sixteen bytes worked on at once; the compiler finds the instructions. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

#define EVERY(byte)                                                                                \
    (bytes16)                                                                                      \
    {                                                                                              \
        byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte,  \
            byte                                                                                   \
    }

/* Sixteen lower-case hex digits to their values; clears *valid if one is something else. */
static inline bytes16 nibbles(uint64_t first, uint64_t second, bool *valid)
{
    bytes16 c = (bytes16)(words2){first, second};
    bytes16 digit = (bytes16)(c - EVERY('0') <= EVERY(9)); /* what is below wraps round to above */
    bytes16 letter = (bytes16)(c - EVERY('a') <= EVERY(5));
    words2 all = (words2)(digit | letter);

    *valid = *valid && (all[0] & all[1]) == UINT64_MAX;
    return (c & EVERY(0x0f)) + (letter & EVERY(9));
}

/* Bytes as they stand in memory. The parts of a UUID are put together in registers: going through
 * memory in pieces of other sizes would stall. */
static inline uint64_t load8(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint64_t load4(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define JOIN(low, high) ((low) | (high) << 32)
#else
#define JOIN(low, high) ((low) << 32 | (high))
#endif

bool uuid_read(const char *text, size_t size, uint8_t out[UUID_BYTES])
{
    bool valid = true;

    /* 01234567-9012-4567-9012-456789012345 */
    if (size != UUID_TEXT || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
        text[23] != '-') {
        return false;
    }
    bytes16 front = nibbles(load8(text), JOIN(load4(text + 9), load4(text + 14)), &valid);
    bytes16 back = nibbles(JOIN(load4(text + 19), load4(text + 24)), load8(text + 28), &valid);
    bytes16 high = __builtin_shufflevector(front, back, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
                                           24, 26, 28, 30);
    bytes16 low = __builtin_shufflevector(front, back, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
                                          25, 27, 29, 31);
    bytes16 bytes = high << 4 | low;
    memcpy(out, &bytes, sizeof bytes);
    return valid;
}

void uuid_write(const uint8_t in[UUID_BYTES], char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *text++ = '-';
        }
        *text++ = digits[in[i] >> 4];
        *text++ = digits[in[i] & 15];
    }
}

void uuid_from_random(uint8_t bytes[UUID_BYTES])
{
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
}
