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

/* A type, a number and the line's end have at most so many bytes. */
#define RESP_NUMBER_MAX 24

/* The same to memory that has room for it: RESP_NUMBER_MAX bytes, and of a text its own and two
 * more. Each returns where it ended. */
char *resp_put_number(char *at, char type, int64_t number);
char *resp_put_text(char *at, struct hf_bytes text);

#endif
