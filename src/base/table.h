/* SPDX-License-Identifier: Apache-2.0
 *
 * An open-addressing hash table from 32-bit hashes to record indexes. It keeps no keys: a lookup
 * shows the candidates with the same hash to the caller, who compares. 8 bytes a slot, linear
 * probing, at most three quarters full.
 *
 * It grows without a pause: the doubled array comes zeroed from the system page by page, and the
 * entries of the old one are moved a few at a time by the additions that follow. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/limits.h"
#include "base/memory.h"

struct table_slot {
    uint32_t hash;
    uint32_t index_1; /* the index plus 1; 0: empty; TABLE_GONE: moved or removed, look further */
};

#define TABLE_GONE UINT32_MAX

struct table_slots {
    struct table_slot *at;
    uint32_t mask; /* number of slots - 1; meaningless while `at` is NULL */
};

struct table {
    struct memory *memory;
    struct table_slots slots;
    struct table_slots old; /* being moved into slots, or empty */
    uint32_t old_next;      /* those before are moved */
    uint32_t count;
};

void table_init(struct table *table, struct memory *memory);
void table_free(struct table *table);

/* False when there is no memory. The caller has made sure the key is not there yet. */
bool table_add(struct table *table, uint32_t hash, uint32_t index);

/* Room for `count` more, so that table_add() cannot fail. */
bool table_reserve(struct table *table, uint32_t count);

/* Removes the entry with this hash and index, which must be there. */
void table_remove(struct table *table, uint32_t hash, uint32_t index);

/* Is this candidate the one? */
typedef bool table_match(const void *context, uint32_t index);

static inline __attribute__((always_inline)) uint32_t
table_find_in(struct table_slots slots, uint32_t hash, table_match *match, const void *context)
{
    for (uint32_t at = hash & slots.mask;; at = (at + 1) & slots.mask) {
        struct table_slot slot = slots.at[at];
        if (slot.index_1 == 0) {
            return NONE;
        }
        if (slot.hash == hash && slot.index_1 != TABLE_GONE && match(context, slot.index_1 - 1)) {
            return slot.index_1 - 1;
        }
    }
}

/* The index with this hash that matches, or NONE. */
static inline __attribute__((always_inline)) uint32_t
table_find(const struct table *table, uint32_t hash, table_match *match, const void *context)
{
    uint32_t index = NONE;

    if (table->slots.at != NULL) {
        index = table_find_in(table->slots, hash, match, context);
    }
    if (index == NONE && table->old.at != NULL) {
        index = table_find_in(table->old, hash, match, context);
    }
    return index;
}

/* Tells the processor that this hash will be looked up soon. */
static inline void table_prefetch(const struct table *table, uint32_t hash)
{
    if (table->slots.at != NULL) {
        __builtin_prefetch(&table->slots.at[hash & table->slots.mask]);
    }
}

#endif
