/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table from 32-bit hashes to record indexes. It keeps no keys: a lookup shows the
 * candidates with the same hash to the caller, who compares. 8 bytes a slot, linear probing.
 *
 * The hashes have to be spread evenly over all 32 bits.
 *
 * It grows in bounded steps. A small table is one array of slots, which is doubled. From
 * TABLE_SEGMENT slots on it is made of segments of that size, and grows by one of them at a time:
 * the segments are split in turn, each into itself and a new one at the end (linear hashing). A
 * hash's upper bits name its segment, the lower ones its home in there. So no addition ever moves
 * more than a segment, or touches more fresh memory than that.
 *
 * It shrinks in the same steps, backwards, when it is half as full as it is kept while it grows:
 * the last segment is merged with the one that it was split from, and freed with its block; not
 * while the memory has little in use (`retained`). */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/limits.h"
#include "base/memory.h"

#define TABLE_SEGMENT_BITS 11
#define TABLE_SEGMENT (UINT32_C(1) << TABLE_SEGMENT_BITS)

struct table_slot {
    uint32_t hash;
    uint32_t index_1; /* the index plus 1; 0: empty */
};

struct table {
    struct memory *memory;
    struct table_slot **segments;
    uint32_t segment_count; /* 0 in an empty table */
    uint32_t segment_capacity;
    uint32_t slot_mask;  /* slots of a segment - 1 */
    uint32_t round_mask; /* segments at the end of this round of splits - 1 */
    uint32_t count;
    uint32_t room_end;          /* with so many entries it grows before it takes another */
    uint32_t spare_count;       /* segments left of the newest block */
    struct table_slot *spare;   /* the first of them */
    struct table_block *blocks; /* the memory that segments are taken from */
};

void table_init(struct table *table, struct memory *memory);
void table_free(struct table *table);

/* False when there is no memory. The caller has made sure the key is not there yet. */
bool table_add(struct table *table, uint32_t hash, uint32_t index);

/* Room for `count` more, so that table_add() cannot fail, unless something is removed before. */
bool table_reserve(struct table *table, uint32_t count);

/* Removes the entry with this hash and index, which must be there. */
void table_remove(struct table *table, uint32_t hash, uint32_t index);

/* Is this candidate the one? */
typedef bool table_match(const void *context, uint32_t index);

/* The segment that a hash belongs to: of those split in this round one more bit counts. */
static inline struct table_slot *table_segment(const struct table *table, uint32_t hash)
{
    uint32_t number = hash >> TABLE_SEGMENT_BITS & table->round_mask;

    if (number >= table->segment_count) {
        number &= table->round_mask >> 1;
    }
    return table->segments[number];
}

/* The index with this hash that matches, or NONE. */
static inline __attribute__((always_inline)) uint32_t
table_find(const struct table *table, uint32_t hash, table_match *match, const void *context)
{
    if (table->segment_count == 0) {
        return NONE;
    }
    const struct table_slot *slots = table_segment(table, hash);
    for (uint32_t at = hash & table->slot_mask;; at = (at + 1) & table->slot_mask) {
        struct table_slot slot = slots[at];
        if (slot.index_1 == 0) {
            return NONE;
        }
        if (slot.hash == hash && match(context, slot.index_1 - 1)) {
            return slot.index_1 - 1;
        }
    }
}

/* Tells the processor that this hash will be looked up soon. The empty statement keeps compilers
 * from taking the function, which returns nothing and writes nothing, for one that does nothing:
 * GCC then leaves out every call of it. */
static inline void table_prefetch(const struct table *table, uint32_t hash)
{
    if (table->segment_count != 0) {
        const struct table_slot *slot = &table_segment(table, hash)[hash & table->slot_mask];
        __builtin_prefetch(slot);
        __asm__ volatile("" : : "r"(slot));
    }
}

/* The first index with this hash, or NONE: whose it is, nobody has compared. */
static inline uint32_t table_peek(const struct table *table, uint32_t hash)
{
    if (table->segment_count == 0) {
        return NONE;
    }
    const struct table_slot *slots = table_segment(table, hash);
    uint32_t at = hash & table->slot_mask;
    while (slots[at].index_1 != 0 && slots[at].hash != hash) {
        at = (at + 1) & table->slot_mask;
    }
    return slots[at].index_1 - 1; /* NONE of an empty slot */
}

#endif
