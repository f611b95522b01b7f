/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one item of RESP2 after the other and checks every length against its bound. */
#include "command/resp.h"

#include "base/text.h"

#define DIGITS_MAX 20 /* of an int64_t, with its sign */

/* The line at *offset without its end; its CR and LF are passed over. */
static enum resp_state read_line(struct hf_bytes bytes, size_t *offset, struct hf_bytes *line)
{
    const char *start = bytes.data + *offset;
    size_t left = bytes.size - *offset;
    size_t size = left < RESP_LINE_MAX ? left : RESP_LINE_MAX;
    const char *end = size > 0 ? memchr(start, '\n', size) : NULL;

    if (end == NULL) {
        *offset = bytes.size + 1;
        return size == RESP_LINE_MAX ? RESP_BROKEN : RESP_MORE;
    }
    if (end == start || end[-1] != '\r') {
        return RESP_BROKEN;
    }
    *line = (struct hf_bytes){start, (size_t)(end - 1 - start)};
    *offset += (size_t)(end + 1 - start);
    return memchr(start, '\r', line->size) == NULL ? RESP_DONE : RESP_BROKEN;
}

/* The bytes of a bulk string and its end. */
static enum resp_state read_text(struct hf_bytes bytes, size_t *offset, size_t size,
                                 struct hf_bytes *text)
{
    if (bytes.size - *offset < size + 2) {
        *offset += size + 2;
        return RESP_MORE;
    }
    *text = (struct hf_bytes){bytes.data + *offset, size};
    *offset += size + 2;
    return memcmp(text->data + size, "\r\n", 2) == 0 ? RESP_DONE : RESP_BROKEN;
}

enum resp_state resp_read(struct hf_bytes bytes, size_t *offset, struct resp_item *item)
{
    struct hf_bytes line;
    enum resp_state state = read_line(bytes, offset, &line);

    if (state != RESP_DONE) {
        return state;
    }
    if (line.size == 0) {
        return RESP_BROKEN;
    }
    struct hf_bytes rest = {line.data + 1, line.size - 1};
    *item = (struct resp_item){.type = line.data[0]};
    if (item->type == '+' || item->type == '-') {
        item->text = rest;
        return RESP_DONE;
    }
    if (rest.size > DIGITS_MAX || !text_to_integer(rest, &item->number)) {
        return RESP_BROKEN;
    }
    if (item->type == ':') {
        return RESP_DONE;
    }
    int64_t max = item->type == '$' ? (int64_t)RESP_TEXT_MAX : RESP_ITEMS_MAX;
    if ((item->type != '$' && item->type != '*') || item->number < -1 || item->number > max) {
        return RESP_BROKEN;
    }
    item->nil = item->number == -1;
    if (item->type == '*' || item->nil) {
        return RESP_DONE;
    }
    return read_text(bytes, offset, (size_t)item->number, &item->text);
}

static enum resp_state skip(struct hf_bytes bytes, size_t *offset, unsigned depth)
{
    struct resp_item item;
    enum resp_state state = resp_read(bytes, offset, &item);

    if (state != RESP_DONE || item.type != '*') {
        return state;
    }
    if (depth == RESP_DEPTH_MAX) {
        return RESP_BROKEN;
    }
    for (int64_t left = item.number; left > 0 && state == RESP_DONE; left--) {
        state = skip(bytes, offset, depth + 1);
        if (state == RESP_MORE) {
            *offset += (size_t)(left - 1) * RESP_ITEM_MIN;
        }
    }
    return state;
}

enum resp_state resp_skip(struct hf_bytes bytes, size_t *offset)
{
    return skip(bytes, offset, 0);
}
