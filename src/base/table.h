/* SPDX-License-Identifier: Apache-2.0
 *
 * An open-addressing hash table from 32-bit hashes to record indexes. It keeps no keys: a lookup
 * walks the candidates with the same hash and the caller compares. 8 bytes a slot, linear probing,
 * at most three quarters full, no tombstones.
 *
 *     for (uint32_t at = table_first(t, hash); at != NONE; at = table_next(t, hash, at))
 *         if (mine(table_index(t, at))) …
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/limits.h"
#include "base/memory.h"

struct table_slot {
    uint32_t hash;
    uint32_t index; /* NONE: empty */
};

struct table {
    struct memory *memory;
    struct table_slot *slots;
    uint32_t mask; /* number of slots - 1; meaningless while slots is NULL */
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

/* The next position at or after `at` that holds this hash, or NONE. */
static inline uint32_t table_scan(const struct table *table, uint32_t hash, uint32_t at)
{
    for (;; at = (at + 1) & table->mask) {
        struct table_slot slot = table->slots[at];
        if (slot.index == NONE) {
            return NONE;
        }
        if (slot.hash == hash) {
            return at;
        }
    }
}

static inline uint32_t table_first(const struct table *table, uint32_t hash)
{
    return table->slots == NULL ? NONE : table_scan(table, hash, hash & table->mask);
}

static inline uint32_t table_next(const struct table *table, uint32_t hash, uint32_t at)
{
    return table_scan(table, hash, (at + 1) & table->mask);
}

static inline uint32_t table_index(const struct table *table, uint32_t at)
{
    return table->slots[at].index;
}

#endif
