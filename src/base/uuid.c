/* SPDX-License-Identifier: Apache-2.0
 *
 * UUIDs between text and bytes, in the canonical form only, so that one UUID has one text. */
#include "base/uuid.h"

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
