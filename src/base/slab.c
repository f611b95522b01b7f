/* SPDX-License-Identifier: Apache-2.0
 *
 * Records in chunks of a fixed number, a bitmap of those in use in each, and in each block of
 * chunks a list of the free ones. A large slab gets its chunks a huge page at a time.
 *
 * Blocks that have room are in a list, new ones and those of which nothing is in use at its end:
 * so what is partly used is filled up first. One unused block is retained, so that a slab whose
 * number of records goes up and down at the edge of a block does not allocate each time; while the
 * memory has little in use (`retained`), all are. */
#include "base/slab.h"

#include "base/check.h"
#include "base/huge_pages.h"

#include <string.h>

/* The first chunks are allocated one by one, so that a small slab is small; then a huge page full
 * at a time. */
#define SINGLE_CHUNKS 8

static size_t chunk_size(const struct slab *slab)
{
    return sizeof(struct slab_chunk) + (size_t)SLAB_CHUNK * slab->record_size;
}

/* How many chunks the block has that begins with this one, and its size. */
static uint32_t block_chunks(const struct slab *slab, uint32_t first)
{
    size_t count = (HUGE_PAGE - sizeof(struct slab_block)) / chunk_size(slab);

    return first < SINGLE_CHUNKS || count == 0 ? 1 : (uint32_t)count;
}

static size_t block_bytes(const struct slab *slab, uint32_t first)
{
    size_t single = sizeof(struct slab_block) + chunk_size(slab);

    return first < SINGLE_CHUNKS || single > HUGE_PAGE ? single : HUGE_PAGE;
}

static struct slab_block *block_at(const struct slab *slab, uint32_t first)
{
    return slab->chunks[first]->block;
}

void slab_init(struct slab *slab, struct memory *memory, size_t record_size)
{
    CHECK(record_size >= sizeof(uint32_t) && record_size <= 4096 && record_size % 8 == 0);
    *slab = (struct slab){.memory = memory, .record_size = (uint32_t)record_size, .open = NONE};
}

void slab_free(struct slab *slab)
{
    for (uint32_t i = 0; i < slab->chunk_capacity; i += block_chunks(slab, i)) {
        if (slab->chunks[i] != NULL) {
            memory_free(slab->memory, block_at(slab, i), block_bytes(slab, i));
        }
    }
    memory_free(slab->memory, slab->chunks, slab->chunk_capacity * sizeof(*slab->chunks));
    slab_init(slab, slab->memory, slab->record_size);
}

/* ---- the list of blocks with room ------------------------------------------------------------ */

/* Puts a block into the circular list: in front, or at the end. */
static void open_block(struct slab *slab, struct slab_block *block, bool in_front)
{
    if (slab->open == NONE) {
        block->next = block->prev = slab->open = block->first;
        return;
    }
    struct slab_block *head = block_at(slab, slab->open);
    block->next = slab->open;
    block->prev = head->prev;
    block_at(slab, head->prev)->next = block->first;
    head->prev = block->first;
    if (in_front) {
        slab->open = block->first;
    }
}

static void shut_block(struct slab *slab, const struct slab_block *block)
{
    if (block->next == block->first) {
        slab->open = NONE;
        return;
    }
    block_at(slab, block->prev)->next = block->next;
    block_at(slab, block->next)->prev = block->prev;
    if (slab->open == block->first) {
        slab->open = block->next;
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool grow_chunks(struct slab *slab, uint32_t needed)
{
    uint32_t capacity = slab->chunk_capacity ? slab->chunk_capacity : 8;

    while (capacity < needed) {
        capacity *= 2;
    }
    if (capacity == slab->chunk_capacity) {
        return true;
    }
    struct slab_chunk **chunks =
        memory_resize(slab->memory, slab->chunks, slab->chunk_capacity * sizeof(*chunks),
                      capacity * sizeof(*chunks));
    if (chunks == NULL) {
        return false;
    }
    memset(chunks + slab->chunk_capacity, 0, (capacity - slab->chunk_capacity) * sizeof(*chunks));
    slab->chunks = chunks;
    slab->chunk_capacity = capacity;
    return true;
}

/* Allocates the first block that is missing: low indexes keep `top` low. */
static bool add_block(struct slab *slab)
{
    uint32_t first = slab->no_block;

    while (first < slab->chunk_capacity && slab->chunks[first] != NULL) {
        first += block_chunks(slab, first);
    }
    uint32_t count = block_chunks(slab, first);
    if (((uint64_t)first + count) << SLAB_CHUNK_BITS > RECORDS_MAX ||
        !grow_chunks(slab, first + count)) {
        return false;
    }
    struct slab_block *block = memory_zeroed(slab->memory, block_bytes(slab, first));
    if (block == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct slab_chunk *chunk =
            (struct slab_chunk *)((char *)(block + 1) + i * chunk_size(slab));
        chunk->block = block;
        slab->chunks[first + i] = chunk;
    }
    block->first = first;
    block->size = block->fresh = count << SLAB_CHUNK_BITS;
    block->free = NONE;
    slab->size += block->size;
    slab->unused++;
    slab->no_block = first + count;
    open_block(slab, block, false);
    return true;
}

/* Frees a block that no record is left in. */
static void free_block(struct slab *slab, struct slab_block *block)
{
    uint32_t first = block->first, count = block->size >> SLAB_CHUNK_BITS;

    shut_block(slab, block);
    slab->size -= block->size;
    slab->unused--;
    slab->no_block = first < slab->no_block ? first : slab->no_block;
    memset(slab->chunks + first, 0, count * sizeof(*slab->chunks));
    memory_free(slab->memory, block, block_bytes(slab, first));
    uint32_t last = slab->top >> SLAB_CHUNK_BITS; /* the chunk behind those that may be in use */
    last = slab->top & (SLAB_CHUNK - 1) ? last + 1 : last;
    if (last > first && last <= first + count) {
        while (last > 0 && slab->chunks[last - 1] == NULL) {
            last--;
        }
        slab->top = last << SLAB_CHUNK_BITS;
    }
}

/* A block has nothing in use any more. Of the last two such blocks, which end the list, the one
 * with the higher indexes is freed, unless records in it were promised or the memory retains it. */
static void block_emptied(struct slab *slab, struct slab_block *block)
{
    block->fresh = block->size; /* handed out in order again, whatever order they came back in */
    block->free = NONE;
    shut_block(slab, block);
    open_block(slab, block, false);
    if (slab->unused++ == 0 || slab->memory->used <= slab->memory->retained) {
        return;
    }
    struct slab_block *other = block_at(slab, block->prev);
    struct slab_block *higher = other->first > block->first ? other : block;
    CHECK(other->count == 0);
    if (slab->size - higher->size - slab->count >= slab->kept) {
        free_block(slab, higher);
    }
}

bool slab_reserve(struct slab *slab, uint32_t count)
{
    if (count > RECORDS_MAX - slab->count) {
        return false;
    }
    while (slab->size - slab->count < count) {
        if (!add_block(slab)) {
            return false;
        }
    }
    return true;
}

bool slab_expect(struct slab *slab, uint32_t count)
{
    CHECK(slab->count == slab->top);
    if (count > RECORDS_MAX - slab->count) {
        return false;
    }
    uint32_t chunks = (slab->top + count) / SLAB_CHUNK + 1;
    return grow_chunks(slab, chunks + block_chunks(slab, chunks));
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t *used_word(const struct slab *slab, uint32_t index)
{
    return &slab->chunks[index >> SLAB_CHUNK_BITS]->used[(index & (SLAB_CHUNK - 1)) / 64];
}

/* The record that will be taken next may have been given back long ago. The empty statement keeps
 * the compiler from taking this for a function that does nothing. */
static inline void prefetch_record(const struct slab *slab, uint32_t index)
{
    if (index != NONE) {
        const char *record = slab_at(slab, index);
        __builtin_prefetch(record, 1);
        __builtin_prefetch(record + slab->record_size - 1, 1);
        __asm__ volatile("" : : "r"(record));
    }
}

uint32_t slab_take(struct slab *slab)
{
    if (slab->open == NONE && !add_block(slab)) {
        return NONE;
    }
    struct slab_block *block = block_at(slab, slab->open);
    uint32_t index = block->free;
    if (index == NONE) {
        CHECK(block->fresh > 0);
        index = (block->first << SLAB_CHUNK_BITS) + block->size - block->fresh--;
    }
    struct slab_chunk *chunk = slab->chunks[index >> SLAB_CHUNK_BITS];
    uint32_t at = index & (SLAB_CHUNK - 1);
    char *record = chunk->records + (size_t)at * slab->record_size;
    if (block->free != NONE) {
        memcpy(&block->free, record, sizeof block->free);
        prefetch_record(slab, block->free);
    }
    memset(record, 0, sizeof block->free); /* all else is 0 already */
    chunk->used[at / 64] |= UINT64_C(1) << (at % 64);
    slab->unused -= block->count == 0;
    if (++block->count == block->size) {
        shut_block(slab, block);
    }
    slab->top = index < slab->top ? slab->top : index + 1;
    slab->count++;
    return index;
}

/* The record is zeroed here, where it is at hand anyway: whoever takes it finds it so, and a block
 * that is used for the first time is not written twice. */
void slab_give(struct slab *slab, uint32_t index)
{
    CHECK(slab_has(slab, index));
    struct slab_block *block = slab->chunks[index >> SLAB_CHUNK_BITS]->block;
    char *record = memset(slab_at(slab, index), 0, slab->record_size);
    memcpy(record, &block->free, sizeof block->free);
    block->free = index;
    *used_word(slab, index) &= ~(UINT64_C(1) << (index % 64));
    slab->count--;
    if (block->count-- == block->size) {
        open_block(slab, block, true);
    }
    if (block->count == 0) {
        block_emptied(slab, block);
    }
}

bool slab_has(const struct slab *slab, uint32_t index)
{
    return index < slab->top && slab_stands(slab, index) &&
           (*used_word(slab, index) >> (index % 64) & 1);
}

uint32_t slab_next(const struct slab *slab, uint32_t index)
{
    while (index < slab->top) {
        if (!slab_stands(slab, index)) {
            index = ((index >> SLAB_CHUNK_BITS) + 1) << SLAB_CHUNK_BITS;
            continue;
        }
        uint64_t rest = *used_word(slab, index) >> (index % 64);
        if (rest != 0) {
            return index + (uint32_t)__builtin_ctzll(rest);
        }
        index = (index / 64 + 1) * 64;
    }
    return NONE;
}
