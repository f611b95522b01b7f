/* SPDX-License-Identifier: Apache-2.0
 *
 * A line of records, first come first served, that can say in O(log n) how many stand before
 * somebody, and lets anybody leave from the middle. Places are slots of an array with holes where
 * people left; a Fenwick tree counts those present. When the array is full it is closed up, or
 * doubled if it is not half empty. */
#ifndef CORE_LINE_H
#define CORE_LINE_H

#include "base/limits.h"
#include "base/memory.h"

struct line {
    uint32_t *slots; /* record index, or NONE for a hole */
    uint32_t *tree;  /* Fenwick tree over the slots, from 1 */
    uint32_t capacity;
    uint32_t first; /* nobody stands before this slot */
    uint32_t next;  /* the slot the next one gets */
    uint32_t count;
};

/* Tells a record its new place. */
typedef void line_moved(void *context, uint32_t index, uint32_t place);

/* Room for one more; false when there is no memory. */
bool line_reserve(struct line *line, struct memory *memory, line_moved *moved, void *context);

/* Puts a record at the end, after line_reserve(), and returns its place. */
uint32_t line_join(struct line *line, uint32_t index);
void line_leave(struct line *line, uint32_t place);

/* The first in line, or NONE. */
uint32_t line_first(struct line *line);

/* How many stand at or before this place: 1 for the first. */
uint32_t line_position(const struct line *line, uint32_t place);

/* The first record at or after a place, which is moved on behind it; NONE at the end. Start at 0.
 */
uint32_t line_walk(const struct line *line, uint32_t *place);

void line_free(struct line *line, struct memory *memory);

#endif
