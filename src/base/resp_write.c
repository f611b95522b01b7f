/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the types of RESP 2 and 3 into a buffer. */
#include "base/resp_write.h"

void resp_number(struct buffer *out, uint8_t type, int64_t number)
{
    char line[24];

    line[0] = (char)type;
    size_t size = 1 + decimal_write(line + 1, number);
    line[size++] = '\r';
    line[size++] = '\n';
    buffer_bytes(out, line, size);
}

void resp_text(struct buffer *out, struct hf_bytes text)
{
    resp_number(out, '$', (int64_t)text.size);
    buffer_bytes(out, text.data, text.size);
    buffer_bytes(out, "\r\n", 2);
}

void resp_simple(struct buffer *out, const char *text)
{
    buffer_byte(out, '+');
    buffer_text(out, text);
    buffer_bytes(out, "\r\n", 2);
}

void resp_map(struct buffer *out, int version, size_t pairs)
{
    resp_number(out, version == 3 ? '%' : '*', (int64_t)(version == 3 ? pairs : pairs * 2));
}

void resp_nil(struct buffer *out, int version)
{
    buffer_text(out, version == 3 ? "_\r\n" : "$-1\r\n");
}
