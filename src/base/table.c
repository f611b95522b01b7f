/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include "base/check.h"

#define SLOTS_FIRST 16
/* Old slots looked at for each addition: the old array is gone long before the new one is full. */
#define MOVED_AT_ONCE 16

static size_t slots_bytes(struct table_slots slots)
{
    return slots.at ? ((size_t)slots.mask + 1) * sizeof(struct table_slot) : 0;
}

void table_init(struct table *table, struct memory *memory)
{
    *table = (struct table){.memory = memory};
}

static void drop_old(struct table *table)
{
    memory_free(table->memory, table->old.at, slots_bytes(table->old));
    table->old.at = NULL;
    table->old_next = 0;
}

void table_free(struct table *table)
{
    drop_old(table);
    memory_free(table->memory, table->slots.at, slots_bytes(table->slots));
    table_init(table, table->memory);
}

static void place(struct table_slots slots, struct table_slot slot)
{
    uint32_t at = slot.hash & slots.mask;

    while (slots.at[at].index_1 != 0) {
        at = (at + 1) & slots.mask;
    }
    slots.at[at] = slot;
}

/* Moves the entries of the next `count` old slots. */
static void move_some(struct table *table, uint32_t count)
{
    if (table->old.at == NULL) {
        return;
    }
    for (; count > 0; count--) {
        struct table_slot *slot = &table->old.at[table->old_next];
        if (slot->index_1 != 0 && slot->index_1 != TABLE_GONE) {
            place(table->slots, *slot);
            slot->index_1 = TABLE_GONE;
        }
        if (table->old_next++ == table->old.mask) {
            drop_old(table);
            return;
        }
    }
}

static bool grow(struct table *table)
{
    uint64_t count = table->slots.at ? ((uint64_t)table->slots.mask + 1) * 2 : SLOTS_FIRST;

    if (count > RECORDS_MAX) {
        return false;
    }
    struct table_slot *fresh = memory_zeroed(table->memory, count * sizeof(*fresh));
    if (fresh == NULL) {
        return false;
    }
    move_some(table, UINT32_MAX); /* only when far more is reserved than was added since */
    table->old = table->slots;
    table->old_next = 0;
    table->slots = (struct table_slots){fresh, (uint32_t)(count - 1)};
    return true;
}

static inline bool has_room(const struct table *table, uint32_t count)
{
    uint64_t slots = table->slots.at ? (uint64_t)table->slots.mask + 1 : 0;
    return ((uint64_t)table->count + count) * 4 <= slots * 3;
}

bool table_reserve(struct table *table, uint32_t count)
{
    while (!has_room(table, count)) {
        if (!grow(table)) {
            return false;
        }
    }
    return true;
}

bool table_add(struct table *table, uint32_t hash, uint32_t index)
{
    CHECK(index < RECORDS_MAX);
    if (!has_room(table, 1) && !grow(table)) {
        return false;
    }
    if (table->old.at != NULL) {
        move_some(table, MOVED_AT_ONCE);
    }
    place(table->slots, (struct table_slot){hash, index + 1});
    table->count++;
    return true;
}

/* Where this very entry stands, or NONE. */
static uint32_t position(struct table_slots slots, uint32_t hash, uint32_t index)
{
    if (slots.at == NULL) {
        return NONE;
    }
    for (uint32_t at = hash & slots.mask; slots.at[at].index_1 != 0; at = (at + 1) & slots.mask) {
        if (slots.at[at].index_1 == index + 1 && slots.at[at].hash == hash) {
            return at;
        }
    }
    return NONE;
}

/* Closes the gap: pulls back every later entry of the run whose home is not past the hole. */
static void close_gap(struct table_slots slots, uint32_t hole)
{
    for (uint32_t at = (hole + 1) & slots.mask; slots.at[at].index_1 != 0;
         at = (at + 1) & slots.mask) {
        uint32_t home = slots.at[at].hash & slots.mask;
        if (((at - home) & slots.mask) >= ((at - hole) & slots.mask)) {
            slots.at[hole] = slots.at[at];
            hole = at;
        }
    }
    slots.at[hole].index_1 = 0;
}

void table_remove(struct table *table, uint32_t hash, uint32_t index)
{
    uint32_t at = position(table->slots, hash, index);

    if (at != NONE) {
        close_gap(table->slots, at);
    } else {
        at = position(table->old, hash, index);
        CHECK(at != NONE);
        table->old.at[at].index_1 = TABLE_GONE;
    }
    table->count--;
}
