/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of one size, named by a 32-bit index. They never move, come zeroed, and are kept in
 * chunks, so that growing copies nothing. */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H

#include "base/limits.h"
#include "base/memory.h"

#define SLAB_CHUNK_BITS 10
#define SLAB_CHUNK (UINT32_C(1) << SLAB_CHUNK_BITS)

struct slab_chunk {
    uint64_t used[SLAB_CHUNK / 64];
    char records[]; /* on an 8-byte boundary, as every chunk is */
};

struct slab {
    struct memory *memory;
    struct slab_chunk **chunks;
    uint32_t chunk_count;
    uint32_t chunk_capacity;
    uint32_t record_size;
    uint32_t top;   /* every index ever handed out is below */
    uint32_t count; /* in use */
    uint32_t free;  /* first of the list of free indexes below top, or NONE */
};

void slab_init(struct slab *slab, struct memory *memory, size_t record_size);
void slab_free(struct slab *slab);

/* A zeroed record; NONE when there is no memory. */
uint32_t slab_take(struct slab *slab);
void slab_give(struct slab *slab, uint32_t index);

/* Room for `count` more, so that slab_take() cannot fail. */
bool slab_reserve(struct slab *slab, uint32_t count);

/* Is the index a record in use? Safe for any index. */
bool slab_has(const struct slab *slab, uint32_t index);

/* The first index in use at or after `index`, or NONE. For walking over all records. */
uint32_t slab_next(const struct slab *slab, uint32_t index);

static inline void *slab_at(const struct slab *slab, uint32_t index)
{
    struct slab_chunk *chunk = slab->chunks[index >> SLAB_CHUNK_BITS];
    return chunk->records + (size_t)(index & (SLAB_CHUNK - 1)) * slab->record_size;
}

#endif
