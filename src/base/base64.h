/* SPDX-License-Identifier: Apache-2.0
 *
 * Base 64 with the usual alphabet (RFC 4648, section 4): any bytes as plain characters. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/buffer.h"
#include "holdfast.h"

/* At least as many bytes as so many characters stand for. */
#define BASE64_BYTES(characters) ((characters) / 4 * 3 + 3)

/* Appends the bytes in base 64, padded with '='. */
void base64_write(struct buffer *out, struct hf_bytes bytes);

/* The bytes that a text stands for, with or without its padding. Returns how many there are, or -1
 * if it is not base 64 or there is no room for them. */
ptrdiff_t base64_read(struct hf_bytes text, char *out, size_t room);

#endif
