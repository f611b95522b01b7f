/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of one size, named by a 32-bit index. They never move, come zeroed, and are kept in
 * chunks, so that growing copies nothing. Chunks are allocated a block of them at a time; a block
 * whose records were all given back is freed, and allocated anew when its indexes are needed. */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H

#include "base/limits.h"
#include "base/memory.h"

#define SLAB_CHUNK_BITS 10
#define SLAB_CHUNK (UINT32_C(1) << SLAB_CHUNK_BITS)

/* The chunks that are allocated and freed together; it stands before the first of them. */
struct slab_block {
    uint32_t first;      /* the number of its first chunk */
    uint32_t size;       /* its records */
    uint32_t count;      /* of them in use */
    uint32_t fresh;      /* of them not handed out since it was unused: the last ones */
    uint32_t free;       /* the first index of the list of free ones that were, or NONE */
    uint32_t next, prev; /* the first chunks of its neighbours in the list of blocks with room */
    uint32_t spare;
};

struct slab_chunk {
    struct slab_block *block;
    uint64_t used[SLAB_CHUNK / 64];
    char records[]; /* on an 8-byte boundary, as every chunk is */
};

struct slab {
    struct memory *memory;
    struct slab_chunk **chunks; /* NULL where the block was freed; never less than there were */
    uint32_t chunk_capacity;
    uint32_t record_size;
    uint32_t top;      /* every index in use is below */
    uint32_t count;    /* in use */
    uint32_t size;     /* records of all blocks, in use or not */
    uint32_t kept;     /* records that stay free without more memory: what the owner promised */
    uint32_t open;     /* the first chunk of the first block that has room, or NONE */
    uint32_t unused;   /* blocks of which no record is in use */
    uint32_t no_block; /* every chunk before this one has a block */
};

void slab_init(struct slab *slab, struct memory *memory, size_t record_size);
void slab_free(struct slab *slab);

/* A zeroed record; NONE when there is no memory. */
uint32_t slab_take(struct slab *slab);
/* Nothing may be read from the record any more. */
void slab_give(struct slab *slab, uint32_t index);

/* Room for `count` more, so that slab_take() cannot fail: for up to SLAB_CHUNK of them whatever is
 * given back in between, for more until something is, or for as long as they are `kept`. */
bool slab_reserve(struct slab *slab, uint32_t count);

/* The next `count` records of a slab that nothing was given back to are taken without moving what
 * slab_at() reads: another thread may look at those that were taken before. False when there is no
 * memory. Unlike with slab_reserve(), there may be none for the records themselves. */
bool slab_expect(struct slab *slab, uint32_t count);

/* Is the index a record in use? Safe for any index. */
bool slab_has(const struct slab *slab, uint32_t index);

/* The first index in use at or after `index`, or NONE. For walking over all records. */
uint32_t slab_next(const struct slab *slab, uint32_t index);

static inline void *slab_at(const struct slab *slab, uint32_t index)
{
    struct slab_chunk *chunk = slab->chunks[index >> SLAB_CHUNK_BITS];
    return chunk->records + (size_t)(index & (SLAB_CHUNK - 1)) * slab->record_size;
}

/* Is there memory behind an index that was a record once? */
static inline bool slab_stands(const struct slab *slab, uint32_t index)
{
    return slab->chunks[index >> SLAB_CHUNK_BITS] != NULL;
}

#endif
