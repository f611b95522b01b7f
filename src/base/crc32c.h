/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC-32C (Castagnoli), by the processor's instruction where it has one. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `data`, going on from `crc`; start with 0. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

#endif
