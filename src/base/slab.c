/* SPDX-License-Identifier: Apache-2.0
 *
 * Records in chunks of a fixed number, a bitmap of those in use in each, and a list of the free
 * ones. A large slab gets its chunks a huge page at a time. */
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
    size_t count = HUGE_PAGE / chunk_size(slab);

    return first < SINGLE_CHUNKS || count == 0 ? 1 : (uint32_t)count;
}

static size_t block_size(const struct slab *slab, uint32_t first)
{
    bool single = first < SINGLE_CHUNKS || chunk_size(slab) > HUGE_PAGE;

    return single ? chunk_size(slab) : HUGE_PAGE;
}

void slab_init(struct slab *slab, struct memory *memory, size_t record_size)
{
    CHECK(record_size >= sizeof(uint32_t) && record_size <= 4096 && record_size % 8 == 0);
    *slab = (struct slab){.memory = memory, .record_size = (uint32_t)record_size, .free = NONE};
}

void slab_free(struct slab *slab)
{
    for (uint32_t i = 0; i < slab->chunk_count; i += block_chunks(slab, i)) {
        memory_free(slab->memory, slab->chunks[i], block_size(slab, i));
    }
    memory_free(slab->memory, slab->chunks, slab->chunk_capacity * sizeof(*slab->chunks));
    slab_init(slab, slab->memory, slab->record_size);
}

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
    slab->chunks = chunks;
    slab->chunk_capacity = capacity;
    return true;
}

static bool add_block(struct slab *slab)
{
    uint32_t count = block_chunks(slab, slab->chunk_count);

    if (!grow_chunks(slab, slab->chunk_count + count)) {
        return false;
    }
    char *block = memory_zeroed(slab->memory, block_size(slab, slab->chunk_count));
    if (block == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        slab->chunks[slab->chunk_count++] = (struct slab_chunk *)(block + i * chunk_size(slab));
    }
    return true;
}

static uint64_t *used_word(const struct slab *slab, uint32_t index)
{
    return &slab->chunks[index >> SLAB_CHUNK_BITS]->used[(index & (SLAB_CHUNK - 1)) / 64];
}

static void mark_used(struct slab *slab, uint32_t index)
{
    memset(slab_at(slab, index), 0, slab->record_size);
    *used_word(slab, index) |= UINT64_C(1) << (index % 64);
    slab->count++;
}

bool slab_reserve(struct slab *slab, uint32_t count)
{
    if (count > RECORDS_MAX - slab->count) {
        return false;
    }
    while (((uint64_t)slab->chunk_count << SLAB_CHUNK_BITS) - slab->count < count) {
        if (!add_block(slab)) {
            return false;
        }
    }
    return true;
}

static void push_free(struct slab *slab, uint32_t index)
{
    memcpy(slab_at(slab, index), &slab->free, sizeof slab->free);
    slab->free = index;
}

uint32_t slab_take(struct slab *slab)
{
    uint32_t index = slab->free;

    if (index != NONE) {
        memcpy(&slab->free, slab_at(slab, index), sizeof slab->free);
    } else {
        if (slab->top == RECORDS_MAX ||
            (slab->top >> SLAB_CHUNK_BITS == slab->chunk_count && !add_block(slab))) {
            return NONE;
        }
        index = slab->top++;
    }
    mark_used(slab, index);
    return index;
}

void slab_give(struct slab *slab, uint32_t index)
{
    CHECK(slab_has(slab, index));
    push_free(slab, index);
    *used_word(slab, index) &= ~(UINT64_C(1) << (index % 64));
    slab->count--;
}

bool slab_has(const struct slab *slab, uint32_t index)
{
    return index < slab->top && (*used_word(slab, index) >> (index % 64) & 1);
}

uint32_t slab_next(const struct slab *slab, uint32_t index)
{
    while (index < slab->top) {
        uint64_t rest = *used_word(slab, index) >> (index % 64);
        if (rest != 0) {
            return index + (uint32_t)__builtin_ctzll(rest);
        }
        index = (index / 64 + 1) * 64;
    }
    return NONE;
}
