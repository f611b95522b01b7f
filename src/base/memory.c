/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts every byte handed out. Blocks of a huge page's size come from huge_pages.c if the memory
 * has it. */
#include "base/memory.h"

#include "base/check.h"

#include <stdint.h>
#include <stdlib.h>

static void *from_malloc(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)memory;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

static void *from_calloc(struct memory *memory, size_t size)
{
    (void)memory;
    return calloc(1, size);
}

void memory_init(struct memory *memory)
{
    *memory = (struct memory){.resize = from_malloc, .zeroed = from_calloc};
}

void *memory_resize(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    void *moved = memory->resize(memory, block, old_size, new_size);
    if (moved != NULL || new_size == 0) {
        CHECK(memory->used >= old_size);
        memory->used = memory->used - old_size + new_size;
    }
    return moved;
}

void *memory_get(struct memory *memory, size_t size)
{
    return memory_resize(memory, NULL, 0, size);
}

void *memory_zeroed(struct memory *memory, size_t size)
{
    void *block = memory->zeroed(memory, size);

    memory->used += block ? size : 0;
    return block;
}

void memory_free(struct memory *memory, void *block, size_t size)
{
    if (block != NULL) {
        memory_resize(memory, block, size, 0);
    }
}
