/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"

#include <string.h>

#define EVERY(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight lower-case hex digits, in the memory order of a little-endian word, to four bytes. False if
 * any of them is something else. All eight are worked on at once. */
static bool read_eight(uint64_t word, uint8_t out[4])
{
    if (word & EVERY(0x80)) {
        return false;
    }
    /* With bytes below 0x80 none of these sums carries into its neighbour. */
    uint64_t from_0 = word + EVERY(0x80 - '0');
    uint64_t past_9 = word + EVERY(0x80 - '9' - 1);
    uint64_t from_a = word + EVERY(0x80 - 'a');
    uint64_t past_f = word + EVERY(0x80 - 'f' - 1);
    uint64_t digit = from_0 & ~past_9;
    uint64_t letter = from_a & ~past_f;
    if (((digit | letter) & EVERY(0x80)) != EVERY(0x80)) {
        return false;
    }
    uint64_t nibbles = (word & EVERY(0x0f)) + ((letter & EVERY(0x80)) >> 7) * 9;
    uint64_t pairs = nibbles << 4 | nibbles >> 8; /* byte 0, 2, 4, 6: high nibble, low nibble */
    out[0] = (uint8_t)pairs;
    out[1] = (uint8_t)(pairs >> 16);
    out[2] = (uint8_t)(pairs >> 32);
    out[3] = (uint8_t)(pairs >> 48);
    return true;
}

static uint64_t load(const char *low, const char *high)
{
    uint8_t bytes[8];
    uint64_t word = 0;

    memcpy(bytes, low, 4);
    memcpy(bytes + 4, high, 4);
    for (int i = 7; i >= 0; i--) {
        word = word << 8 | bytes[i];
    }
    return word;
}

bool uuid_read(const char *text, size_t size, uint8_t out[UUID_BYTES])
{
    /* 01234567-9012-4567-9012-456789012345 */
    return size == UUID_TEXT && text[8] == '-' && text[13] == '-' && text[18] == '-' &&
           text[23] == '-' && read_eight(load(text, text + 4), out) &&
           read_eight(load(text + 9, text + 14), out + 4) &&
           read_eight(load(text + 19, text + 24), out + 8) &&
           read_eight(load(text + 28, text + 32), out + 12);
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
