/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the types of RESP 2 and 3 into a buffer. */
#include "base/resp_write.h"

#include <string.h>

static char *end_line(char *at)
{
    at[0] = '\r';
    at[1] = '\n';
    return at + 2;
}

char *resp_put_number(char *at, char type, int64_t number)
{
    *at++ = type;
    if (number >= 0 && number < 10) { /* as most sizes and counts are */
        *at++ = (char)('0' + number);
    } else {
        at += decimal_write(at, number);
    }
    return end_line(at);
}

char *resp_put_text(char *at, struct hf_bytes text)
{
    at = resp_put_number(at, '$', (int64_t)text.size);
    if (text.size > 0) {
        memcpy(at, text.data, text.size);
    }
    return end_line(at + text.size);
}

void resp_number(struct buffer *out, uint8_t type, int64_t number)
{
    char *at = buffer_room(out, RESP_NUMBER_MAX);

    if (at != NULL) {
        buffer_written(out, resp_put_number(at, (char)type, number));
    }
}

void resp_text(struct buffer *out, struct hf_bytes text)
{
    char *at = buffer_room(out, RESP_NUMBER_MAX + text.size + 2);

    if (at != NULL) {
        buffer_written(out, resp_put_text(at, text));
    }
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
