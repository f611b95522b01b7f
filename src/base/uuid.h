/* SPDX-License-Identifier: Apache-2.0
 *
 * UUIDs between their canonical text (36 characters, lower case) and 16 bytes. */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_TEXT 36
#define UUID_BYTES 16

/* False unless `text` is exactly what uuid_write() would write. */
bool uuid_read(const char *text, size_t size, uint8_t out[UUID_BYTES]);

/* Writes 36 characters, no NUL. */
void uuid_write(const uint8_t in[UUID_BYTES], char *text);

/* Turns random bytes into a version 4 UUID. */
void uuid_from_random(uint8_t bytes[UUID_BYTES]);

#endif
