/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing, shrinking, adding and removing; looking up is in the header. At any time, with S
 * segments and 2^r the power of two at or below S, those before S - 2^r and those from 2^r on are
 * split, the others will be in this round. A segment that is about to be split has twice the
 * entries of one that was just: SEGMENT_FILL each on average keeps the fullest at 84 %, more than
 * seven standard deviations from full if hashes are spread evenly, which the caller sees to. */
#include "base/table.h"

#include "base/check.h"
#include "base/huge_pages.h"

#include <string.h>

#define SLOTS_FIRST 16
#define SEGMENT_FILL (TABLE_SEGMENT * 42 / 100)
/* With this share of them in use slots are given up: half of what a table has that just grew, so
 * that one whose size goes up and down does not move its entries each time. */
#define SHRINK_PART 2
/* The most segments that the upper bits of a hash can name. */
#define SEGMENTS_MAX (UINT32_C(1) << (32 - TABLE_SEGMENT_BITS))

/* Segments are allocated one by one first, so that a small table is small, then many at a time, so
 * that a large one stands in huge pages. */
#define SINGLE_SEGMENTS 16
#define HUGE_SEGMENTS 128

_Static_assert(HUGE_SEGMENTS *TABLE_SEGMENT * sizeof(struct table_slot) == HUGE_PAGE,
               "so many segments are a huge page");

struct table_block {
    struct table_block *next;
    struct table_slot *slots;
    size_t size; /* of the slots */
};

static size_t slots_bytes(const struct table *table)
{
    return ((size_t)table->slot_mask + 1) * sizeof(struct table_slot);
}

void table_init(struct table *table, struct memory *memory)
{
    *table = (struct table){.memory = memory};
}

void table_free(struct table *table)
{
    if (table->segment_count > 0) {
        memory_free(table->memory, table->segments[0], slots_bytes(table));
    }
    while (table->blocks != NULL) {
        struct table_block *block = table->blocks;
        table->blocks = block->next;
        memory_free(table->memory, block->slots, block->size);
        memory_free(table->memory, block, sizeof *block);
    }
    memory_free(table->memory, table->segments, table->segment_capacity * sizeof(*table->segments));
    table_init(table, table->memory);
}

/* Puts an entry into its place; false if that takes the last empty slot, which ends every lookup.
 */
static bool insert_entry(struct table_slot *slots, uint32_t mask, struct table_slot slot)
{
    uint32_t home = slot.hash & mask, at = home;

    while (slots[at].index_1 != 0) {
        at = (at + 1) & mask;
        if (((at + 1) & mask) == home) {
            return false;
        }
    }
    slots[at] = slot;
    return true;
}

/* ---- growing --------------------------------------------------------------------------------- */

/* The first array of slots, or one of double its size. */
static bool grow_single(struct table *table)
{
    uint32_t count = table->segment_count ? (table->slot_mask + 1) * 2 : SLOTS_FIRST;
    struct table_slot *fresh = memory_zeroed(table->memory, count * sizeof(*fresh));

    if (fresh == NULL) {
        return false;
    }
    if (table->segment_count > 0) {
        struct table_slot *old = table->segments[0];
        for (uint32_t i = 0; i <= table->slot_mask; i++) {
            CHECK(old[i].index_1 == 0 || insert_entry(fresh, count - 1, old[i]));
        }
        memory_free(table->memory, old, slots_bytes(table));
    }
    table->segments[0] = fresh;
    table->segment_count = 1;
    table->slot_mask = count - 1;
    return true;
}

/* Room for the address of one more segment. */
static bool grow_addresses(struct table *table)
{
    if (table->segment_count < table->segment_capacity) {
        return true;
    }
    uint32_t capacity = table->segment_capacity ? table->segment_capacity * 2 : 1;
    size_t size = sizeof(*table->segments);
    struct table_slot **segments = memory_resize(table->memory, table->segments,
                                                 table->segment_capacity * size, capacity * size);
    if (segments == NULL) {
        return false;
    }
    table->segments = segments;
    table->segment_capacity = capacity;
    return true;
}

/* How many segments the next block has: an eighth of those there are, then a huge page full. */
static uint32_t block_segments(const struct table *table)
{
    uint32_t count = table->segment_count;

    return count < SINGLE_SEGMENTS ? 1 : count < HUGE_SEGMENTS ? count / 8 : HUGE_SEGMENTS;
}

static bool add_block(struct table *table)
{
    uint32_t count = block_segments(table);
    size_t size = count * TABLE_SEGMENT * sizeof(struct table_slot);
    struct table_block *block = memory_get(table->memory, sizeof *block);
    struct table_slot *slots = block ? memory_zeroed(table->memory, size) : NULL;

    if (slots == NULL) {
        memory_free(table->memory, block, sizeof *block);
        return false;
    }
    *block = (struct table_block){.next = table->blocks, .slots = slots, .size = size};
    table->blocks = block;
    table->spare = slots;
    table->spare_count = count;
    return true;
}

/* A zeroed segment; NULL when there is no memory. */
static struct table_slot *new_segment(struct table *table)
{
    if (table->spare_count == 0 && !add_block(table)) {
        return NULL;
    }
    struct table_slot *segment = table->spare;
    table->spare += TABLE_SEGMENT;
    table->spare_count--;
    return segment;
}

/* Moves the entries that belong to the new segment out of the old one. Those that stay are placed
 * anew, nearer to their home: a run of them may have been broken. A run is gone through from its
 * beginning, so each finds a place at or before its own. */
static void divide(struct table_slot *old, struct table_slot *fresh, uint32_t bit)
{
    uint32_t mask = TABLE_SEGMENT - 1, begin = 0;

    while (old[begin].index_1 != 0) {
        begin++; /* There is an empty slot: it ends every lookup. */
    }
    for (uint32_t i = 1; i < TABLE_SEGMENT; i++) {
        struct table_slot *at = &old[(begin + i) & mask], slot = *at;
        if (slot.index_1 != 0) {
            at->index_1 = 0;
            CHECK(insert_entry(slot.hash >> TABLE_SEGMENT_BITS & bit ? fresh : old, mask, slot));
        }
    }
}

/* Splits the segment whose turn it is. */
static bool grow_by_segment(struct table *table)
{
    if (table->segment_count == SEGMENTS_MAX || !grow_addresses(table)) {
        return false;
    }
    struct table_slot *fresh = new_segment(table);
    if (fresh == NULL) {
        return false;
    }
    if (table->segment_count == table->round_mask + 1) {
        table->round_mask = table->round_mask * 2 + 1; /* all are split: the next round */
    }
    uint32_t bit = (table->round_mask + 1) / 2;
    if (table->count > 0) { /* otherwise the memory of an empty table would be touched */
        divide(table->segments[table->segment_count - bit], fresh, bit);
    }
    table->segments[table->segment_count++] = fresh;
    return true;
}

/* So many entries a table of its size may have. */
static uint32_t room_of(const struct table *table)
{
    uint64_t most = table->segment_count > 1   ? (uint64_t)table->segment_count * SEGMENT_FILL
                    : table->segment_count > 0 ? ((uint64_t)table->slot_mask + 1) * 3 / 4
                                               : 0;

    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

static bool grow(struct table *table)
{
    if (table->segment_count == 0 && !grow_addresses(table)) {
        return false;
    }
    bool single = table->segment_count == 0 || table->slot_mask + 1 < TABLE_SEGMENT;
    bool grown = single ? grow_single(table) : grow_by_segment(table);
    table->room_end = room_of(table);
    return grown;
}

bool table_reserve(struct table *table, uint32_t count)
{
    while ((uint64_t)table->count + count > table->room_end) {
        if (!grow(table)) {
            return false;
        }
    }
    return true;
}

/* ---- shrinking ------------------------------------------------------------------------------- */

/* Puts the entries into half as many slots. Without memory for those the table stays as it is. */
static void shrink_single(struct table *table)
{
    uint32_t count = (table->slot_mask + 1) / 2;
    struct table_slot *fresh = memory_zeroed(table->memory, count * sizeof(*fresh));

    if (fresh == NULL) {
        return;
    }
    struct table_slot *old = table->segments[0];
    for (uint32_t i = 0; i <= table->slot_mask; i++) {
        CHECK(old[i].index_1 == 0 || insert_entry(fresh, count - 1, old[i]));
    }
    memory_free(table->memory, old, slots_bytes(table));
    table->segments[0] = fresh;
    table->slot_mask = count - 1;
}

/* Moves all entries of a segment into another; false, and both are as they were, if they do not
 * fit, which takes hashes that are not spread evenly. */
static bool merge(struct table_slot *into, struct table_slot *from)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < TABLE_SEGMENT; i++) {
        count += (uint32_t)(into[i].index_1 != 0) + (uint32_t)(from[i].index_1 != 0);
    }
    if (count > TABLE_SEGMENT * 3 / 4) {
        return false;
    }
    for (uint32_t i = 0; i < TABLE_SEGMENT; i++) {
        CHECK(from[i].index_1 == 0 || insert_entry(into, TABLE_SEGMENT - 1, from[i]));
    }
    memset(from, 0, TABLE_SEGMENT * sizeof(*from));
    return true;
}

/* The newest block is freed once none of its segments is in use; the one before is in use whole. */
static void give_segment(struct table *table)
{
    struct table_block *block = table->blocks;

    table->spare -= TABLE_SEGMENT;
    table->spare_count++;
    if (table->spare != block->slots) {
        return;
    }
    table->blocks = block->next;
    memory_free(table->memory, block->slots, block->size);
    memory_free(table->memory, block, sizeof *block);
    block = table->blocks;
    table->spare = block ? block->slots + block->size / sizeof(*block->slots) : NULL;
    table->spare_count = 0;
}

static void shrink_addresses(struct table *table)
{
    uint32_t capacity = table->segment_capacity / 2;
    size_t size = sizeof(*table->segments);

    if (table->segment_count > capacity / 2) {
        return;
    }
    struct table_slot **segments = memory_resize(table->memory, table->segments,
                                                 table->segment_capacity * size, capacity * size);
    if (segments != NULL) {
        table->segments = segments;
        table->segment_capacity = capacity;
    }
}

/* Merges the last segment with the one it was split from. */
static void shrink_by_segment(struct table *table)
{
    uint32_t bit = (table->round_mask + 1) / 2, last = table->segment_count - 1;

    if (!merge(table->segments[last - bit], table->segments[last])) {
        return;
    }
    table->segment_count--;
    if (table->segment_count == bit) {
        table->round_mask = bit - 1; /* this round of splits is undone */
    }
    give_segment(table);
    shrink_addresses(table);
}

static inline bool is_roomy(const struct table *table)
{
    uint64_t slots = (uint64_t)table->slot_mask + 1;

    return table->segment_count > 1
               ? (uint64_t)table->count * SHRINK_PART <
                     (uint64_t)(table->segment_count - 1) * SEGMENT_FILL
               : slots > SLOTS_FIRST && (uint64_t)table->count * SHRINK_PART * 8 < slots * 3;
}

/* ---- entries --------------------------------------------------------------------------------- */

bool table_add(struct table *table, uint32_t hash, uint32_t index)
{
    CHECK(index < RECORDS_MAX);
    if (table->count >= table->room_end && !table_reserve(table, 1)) {
        return false;
    }
    if (!insert_entry(table_segment(table, hash), table->slot_mask,
                      (struct table_slot){hash, index + 1})) {
        return false;
    }
    table->count++;
    return true;
}

/* Where this very entry stands. */
static uint32_t position(const struct table_slot *slots, uint32_t mask, uint32_t hash,
                         uint32_t index)
{
    uint32_t at = hash & mask;

    while (slots[at].index_1 != index + 1 || slots[at].hash != hash) {
        CHECK(slots[at].index_1 != 0);
        at = (at + 1) & mask;
    }
    return at;
}

/* Closes the gap: pulls back every later entry of the run whose home is not past the hole. */
static void close_gap(struct table_slot *slots, uint32_t mask, uint32_t hole)
{
    for (uint32_t at = (hole + 1) & mask; slots[at].index_1 != 0; at = (at + 1) & mask) {
        uint32_t home = slots[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            slots[hole] = slots[at];
            hole = at;
        }
    }
    slots[hole].index_1 = 0;
}

void table_remove(struct table *table, uint32_t hash, uint32_t index)
{
    CHECK(table->count > 0);
    struct table_slot *slots = table_segment(table, hash);

    close_gap(slots, table->slot_mask, position(slots, table->slot_mask, hash, index));
    table->count--;
    if (table->memory->used > table->memory->retained && is_roomy(table)) {
        table->segment_count > 1 ? shrink_by_segment(table) : shrink_single(table);
        table->room_end = room_of(table);
    }
}
