/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash slot of a key, as the cluster's specification has it: CRC-16/XMODEM, modulo 16384. */
#include "redis/client.h"

#include <string.h>

static uint16_t crc16(const char *data, size_t size)
{
    uint16_t crc = 0;

    for (size_t i = 0; i < size; i++) {
        crc = (uint16_t)(crc ^ (uint16_t)((uint8_t)data[i] << 8));
        for (int bit = 0; bit < 8; bit++) {
            crc = (uint16_t)((crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0));
        }
    }
    return crc;
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
