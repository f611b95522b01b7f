/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of RESP, written. */
#ifndef BASE_RESP_WRITE_H
#define BASE_RESP_WRITE_H

#include "base/buffer.h"

/* A type and a number: ":7", "*2", "$5". */
void resp_number(struct buffer *out, uint8_t type, int64_t number);
/* A bulk string. */
void resp_text(struct buffer *out, struct hf_bytes text);
/* "+OK". */
void resp_simple(struct buffer *out, const char *text);
/* A map of so many pairs: RESP2 has none and makes it a list. */
void resp_map(struct buffer *out, int version, size_t pairs);
void resp_nil(struct buffer *out, int version);

#endif
