/* SPDX-License-Identifier: Apache-2.0
 *
 * Base 64, written and read a digit of six bits at a time. */
#include "base/base64.h"

void base64_write(struct buffer *out, struct hf_bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t have = bytes.size - i < 3 ? bytes.size - i : 3;
        unsigned bits = 0;
        for (size_t j = 0; j < 3; j++) {
            bits = bits << 8 | (j < have ? (uint8_t)bytes.data[i + j] : 0U);
        }
        for (size_t j = 0; j < 4; j++) {
            buffer_byte(out, j <= have ? (uint8_t)digits[bits >> (18 - 6 * j) & 63] : '=');
        }
    }
}

static int digit_value(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

ptrdiff_t base64_read(struct hf_bytes text, char *out, size_t room)
{
    size_t size = 0;
    unsigned bits = 0, have = 0;

    for (int padding = 0; padding < 2 && text.size > 0 && text.data[text.size - 1] == '=';
         padding++) {
        text.size--;
    }
    for (size_t i = 0; i < text.size; i++) {
        int digit = digit_value(text.data[i]);
        if (digit < 0) {
            return -1;
        }
        bits = bits << 6 | (unsigned)digit;
        have += 6;
        if (have >= 8) {
            if (size == room) {
                return -1;
            }
            have -= 8;
            out[size++] = (char)(bits >> have & 0xff);
        }
    }
    return have == 6 ? -1 : (ptrdiff_t)size; /* one digit alone is less than a byte */
}
