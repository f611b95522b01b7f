/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in files: low byte first, whatever the machine. */
#ifndef BASE_LITTLE_ENDIAN_H
#define BASE_LITTLE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void put_u32(void *at, uint32_t number)
{
    number = htole32(number);
    memcpy(at, &number, sizeof number);
}

static inline void put_u64(void *at, uint64_t number)
{
    number = htole64(number);
    memcpy(at, &number, sizeof number);
}

static inline uint32_t get_u32(const void *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return le32toh(number);
}

static inline uint64_t get_u64(const void *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return le64toh(number);
}

#endif
