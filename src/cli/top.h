/* SPDX-License-Identifier: Apache-2.0
 *
 * What `holdfast top` shows, as text. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "base/buffer.h"
#include "cli/sample.h"

/* Two samples of a server. `before` is all zero for the figures since its start. */
struct top_view {
    const char *where; /* the server, without secrets */
    const struct sample *now, *before;
};

/* A screen of at most so many lines and columns. */
void top_screen(const struct top_view *view, size_t rows, size_t columns, struct buffer *out);

/* The same in one line. */
void top_line(const struct top_view *view, struct buffer *out);

#endif
