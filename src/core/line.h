/* SPDX-License-Identifier: Apache-2.0
 *
 * A line of records, first come first served, that can say how many stand before a record, and lets
 * any of them leave from the middle. Places are numbers that go up with every record that joins and
 * never change. They are kept in parts of LINE_PART places each, with a count of those present; a
 * part that no record stands in any more is freed. So neither growing nor leaving ever moves the
 * others, and a position is a sum over the parts before, most of them by the block. Each record has
 * a weight, which is summed up with the counts. */
#ifndef CORE_LINE_H
#define CORE_LINE_H

#include "base/limits.h"
#include "base/memory.h"

#define LINE_PART_BITS 6
#define LINE_PART (UINT32_C(1) << LINE_PART_BITS)
#define LINE_BLOCK 64 /* parts that are summed up together */

/* How many records stand somewhere, and what they weigh together. */
struct line_sum {
    uint32_t count;
    uint64_t weight;
};

struct line_part {
    uint64_t present; /* a bit a place */
    uint32_t records[LINE_PART];
    uint16_t weights[LINE_PART];
};

struct line {
    struct line_part **parts;    /* a ring by the part's number; NULL where none is left */
    struct line_sum *part_sums;  /* of each part, in the same ring */
    struct line_sum *block_sums; /* of each LINE_BLOCK parts */
    uint32_t capacity;           /* of the ring, a power of two or 0 */
    uint32_t first;              /* number of the first part that has a record */
    uint32_t next;               /* the place of the next one to join */
    uint32_t count;
    uint64_t weight;
};

/* Room for one more; false when there is no memory. */
bool line_reserve(struct line *line, struct memory *memory);

/* Puts a record at the end, after line_reserve(), and returns its place. Its weight is what it
 * waits for, 1 where all wait for the same. */
uint32_t line_join(struct line *line, uint32_t index, uint16_t weight);
void line_leave(struct line *line, struct memory *memory, uint32_t place);

/* The first in line, or NONE. */
uint32_t line_first(const struct line *line);

/* The records at or before this place, its own included. */
struct line_sum line_upto(const struct line *line, uint32_t place);

/* The most records from the first on that weigh at most so much together. */
struct line_sum line_fitting(const struct line *line, uint64_t most);

/* How many stand at or before this place: 1 for the first. */
uint32_t line_position(const struct line *line, uint32_t place);

/* The place of the one at a position, from 1 to the count: the way back from line_position(). */
uint32_t line_place(const struct line *line, uint32_t position);
uint32_t line_at(const struct line *line, uint32_t place);

/* Exchanges the records at two places, which weigh the same. */
void line_swap(struct line *line, uint32_t place, uint32_t other);

/* Walks over the line: the first record at or after a place, which is moved on behind it; NONE at
 * the end. Start at line_start(). */
uint32_t line_start(const struct line *line);
uint32_t line_walk(const struct line *line, uint32_t *place);

void line_free(struct line *line, struct memory *memory);

#endif
