/* SPDX-License-Identifier: Apache-2.0
 *
 * The open records of one kind that belong to one scope, each at a place: a number that never
 * changes while the record is there, and is the lowest free one when it comes. So a walk by place
 * meets every record that is there from its beginning to its end exactly once, and a place is a
 * cursor.
 *
 * Places are kept by 64 in leaves, leaves by 64 in branches, and so on, with a bit for what is
 * there and one for what is full: whatever is asked takes a step a level. Growing moves nothing,
 * what is empty is freed, and a roster of a few is as small as they are. */
#ifndef CORE_ROSTER_H
#define CORE_ROSTER_H

#include "base/limits.h"
#include "base/memory.h"

struct roster {
    void *root; /* a leaf at height 1, else a branch; NULL if nobody is there */
    /* The leaf with the lowest free place, if it is known, and its first place: the next record
     * comes there, whatever the height. */
    struct roster_leaf *open;
    uint32_t open_place;
    uint32_t count;
    uint8_t height;
    uint8_t leaf_bits; /* at height 1, the leaf has room for 2^leaf_bits */
    uint8_t spare[6];
};

/* Gives a record the lowest free place; NONE when there is no memory. */
uint32_t roster_add(struct roster *roster, struct memory *memory, uint32_t index);

/* Puts a record at a place; false if the place is taken or there is no memory. */
bool roster_put(struct roster *roster, struct memory *memory, uint32_t place, uint32_t index);

void roster_remove(struct roster *roster, struct memory *memory, uint32_t place);

/* The record at a place, or NONE. Safe for any place. */
uint32_t roster_at(const struct roster *roster, uint32_t place);

/* Walks: the first record at or behind a place, which becomes its own; NONE at the end. */
uint32_t roster_next(const struct roster *roster, uint32_t *place);

/* One more than the highest place in use; 0 if there is none. */
uint32_t roster_end(const struct roster *roster);

void roster_free(struct roster *roster, struct memory *memory);

#endif
