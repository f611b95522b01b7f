/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include "base/check.h"

#include <string.h>

#define SLOTS_FIRST 16

static size_t slot_bytes(const struct table *table)
{
    return table->slots ? ((size_t)table->mask + 1) * sizeof(struct table_slot) : 0;
}

void table_init(struct table *table, struct memory *memory)
{
    *table = (struct table){.memory = memory};
}

void table_free(struct table *table)
{
    memory_free(table->memory, table->slots, slot_bytes(table));
    table_init(table, table->memory);
}

static void place(struct table *table, struct table_slot slot)
{
    uint32_t at = slot.hash & table->mask;

    while (table->slots[at].index != NONE) {
        at = (at + 1) & table->mask;
    }
    table->slots[at] = slot;
}

static bool grow(struct table *table)
{
    struct table old = *table;
    size_t slots = old.slots ? ((size_t)old.mask + 1) * 2 : SLOTS_FIRST;

    if (slots > RECORDS_MAX) {
        return false;
    }
    struct table_slot *fresh = memory_get(table->memory, slots * sizeof(*fresh));
    if (fresh == NULL) {
        return false;
    }
    memset(fresh, 0xff, slots * sizeof(*fresh));
    table->slots = fresh;
    table->mask = (uint32_t)(slots - 1);
    for (size_t i = 0; old.slots != NULL && i <= old.mask; i++) {
        if (old.slots[i].index != NONE) {
            place(table, old.slots[i]);
        }
    }
    memory_free(table->memory, old.slots, slot_bytes(&old));
    return true;
}

static bool is_full(const struct table *table, uint32_t more)
{
    uint64_t slots = table->slots ? (uint64_t)table->mask + 1 : 0;
    return ((uint64_t)table->count + more) * 4 > slots * 3;
}

bool table_reserve(struct table *table, uint32_t count)
{
    while (is_full(table, count)) {
        if (!grow(table)) {
            return false;
        }
    }
    return true;
}

bool table_add(struct table *table, uint32_t hash, uint32_t index)
{
    CHECK(index != NONE);
    if (!table_reserve(table, 1)) {
        return false;
    }
    place(table, (struct table_slot){hash, index});
    table->count++;
    return true;
}

void table_remove(struct table *table, uint32_t hash, uint32_t index)
{
    uint32_t hole = table_first(table, hash);

    while (hole != NONE && table->slots[hole].index != index) {
        hole = table_next(table, hash, hole);
    }
    CHECK(hole != NONE);

    /* Close the gap: pull back every later entry of the run whose home is not past the hole. */
    for (uint32_t at = (hole + 1) & table->mask; table->slots[at].index != NONE;
         at = (at + 1) & table->mask) {
        uint32_t home = table->slots[at].hash & table->mask;
        if (((at - home) & table->mask) >= ((at - hole) & table->mask)) {
            table->slots[hole] = table->slots[at];
            hole = at;
        }
    }
    table->slots[hole].index = NONE;
    table->count--;
}
