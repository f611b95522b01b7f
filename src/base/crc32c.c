/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32C by the processor's instruction if it has one, otherwise bit by bit. */
#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78U /* reflected */

static uint32_t by_bits(uint32_t crc, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        }
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *data,
                                                                 size_t size)
{
    uint64_t wide = crc;

    for (; size >= 8; size -= 8, data += 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size > 0; size--, data++) {
        crc = __builtin_ia32_crc32qi(crc, *data);
    }
    return crc;
}

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#else
#define by_instruction by_bits
static bool has_instruction(void)
{
    return false;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return ~(has_instruction() ? by_instruction(~crc, data, size) : by_bits(~crc, data, size));
}
