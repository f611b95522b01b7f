/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading RESP2 as a server answers in it: one item at a time, as a view of bytes that may not have
 * come in full yet. Nothing is believed: a length beyond the bounds is an error, not a wish for
 * memory. */
#ifndef COMMAND_RESP_H
#define COMMAND_RESP_H

#include "holdfast.h"

/* Bounds of what is read. */
#define RESP_LINE_MAX ((size_t)4096)    /* a line, with its type and end */
#define RESP_TEXT_MAX ((size_t)1 << 20) /* a bulk string */
#define RESP_ITEMS_MAX (1 << 20)        /* elements of an array */
#define RESP_DEPTH_MAX 2                /* arrays in arrays */
#define RESP_ITEM_MIN 4                 /* the shortest item: ":0\r\n" */

enum resp_state {
    RESP_DONE,
    RESP_MORE,   /* as far as it goes it is well-formed, but it is not all there yet */
    RESP_BROKEN, /* no RESP2, or not within the bounds */
    RESP_NO_MEMORY,
};

struct resp_item {
    char type;            /* one of + - : $ * */
    bool nil;             /* $-1 or *-1 */
    int64_t number;       /* of : the value, of * how many elements follow */
    struct hf_bytes text; /* of + - $, in the bytes that were read */
};

/* Reads the item at *offset and moves the offset past it; of an array, past its head. After
 * RESP_MORE the offset says how many bytes there must be at least. */
enum resp_state resp_read(struct hf_bytes bytes, size_t *offset, struct resp_item *item);

/* Passes over one answer: an item, or an array of items and of arrays of items. The offset is as
 * for resp_read(). */
enum resp_state resp_skip(struct hf_bytes bytes, size_t *offset);

#endif
