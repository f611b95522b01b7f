/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash slot of a key, as the cluster's specification has it: CRC-16/XMODEM, modulo 16384. */
#include "redis/client/client.h"

#include <string.h>

/* Four bits at a time. */
static uint16_t crc16(const char *data, size_t size)
{
    static const uint16_t table[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    unsigned crc = 0;

    for (size_t i = 0; i < size; i++) {
        unsigned byte = (uint8_t)data[i];
        crc = (crc << 4 & 0xffff) ^ table[(crc >> 12) ^ (byte >> 4)];
        crc = (crc << 4 & 0xffff) ^ table[(crc >> 12) ^ (byte & 15)];
    }
    return (uint16_t)crc;
}

int redis_slot(struct hf_bytes key)
{
    const char *open = key.size > 0 ? memchr(key.data, '{', key.size) : NULL;

    if (open != NULL) {
        size_t rest = key.size - (size_t)(open + 1 - key.data);
        const char *close = rest > 0 ? memchr(open + 1, '}', rest) : NULL;
        if (close != NULL && close > open + 1) {
            key = (struct hf_bytes){open + 1, (size_t)(close - open) - 1};
        }
    }
    return crc16(key.data, key.size) % REDIS_SLOTS;
}
