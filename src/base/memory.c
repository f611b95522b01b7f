/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts every byte handed out. Blocks of a huge page's size are mapped, not allocated: malloc()
 * would begin to serve them from its heap once some were freed, and return nothing from the middle
 * of that to the system. They come from the thread of huge_pages.c if the memory has it. */
#include "base/memory.h"

#include "base/check.h"
#include "base/huge_pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *from_calloc(struct memory *memory, size_t size)
{
    (void)memory;
    return size == HUGE_PAGE ? huge_page_map() : calloc(1, size);
}

/* Moves a block, if there is one, that is or will be mapped. */
static void *move_mapped(void *block, size_t old_size, size_t new_size)
{
    void *moved = new_size == HUGE_PAGE ? huge_page_map() : malloc(new_size);

    if (moved == NULL || block == NULL) {
        return moved;
    }
    memcpy(moved, block, old_size < new_size ? old_size : new_size);
    if (old_size == HUGE_PAGE) {
        huge_page_unmap(block);
    } else {
        free(block);
    }
    return moved;
}

static void *from_malloc(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)memory;
    if (new_size == 0) {
        if (old_size == HUGE_PAGE) {
            huge_page_unmap(block);
        } else {
            free(block);
        }
        return NULL;
    }
    if (old_size == HUGE_PAGE || new_size == HUGE_PAGE) {
        return old_size == new_size ? block : move_mapped(block, old_size, new_size);
    }
    return realloc(block, new_size);
}

void memory_init(struct memory *memory)
{
    *memory = (struct memory){.resize = from_malloc, .zeroed = from_calloc};
}

/* What malloc() takes for a block: its own word before it, in steps of 16 bytes. Of names and other
 * small blocks that is up to half as much again, which a limit of memory has to count. */
static size_t taken(size_t size)
{
    size_t rounded = (size + sizeof(size_t) + 15) / 16 * 16;

    return size == 0 || size == HUGE_PAGE ? size : rounded < 32 ? 32 : rounded;
}

void *memory_resize(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    void *moved = memory->resize(memory, block, old_size, new_size);
    if (moved != NULL || new_size == 0) {
        CHECK(memory->used >= taken(old_size));
        memory->used = memory->used - taken(old_size) + taken(new_size);
    } else {
        memory->refused++;
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

    memory->used += block ? taken(size) : 0;
    memory->refused += block == NULL;
    return block;
}

void memory_free(struct memory *memory, void *block, size_t size)
{
    if (block != NULL) {
        memory_resize(memory, block, size, 0);
    }
}
