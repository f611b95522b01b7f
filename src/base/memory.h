/* SPDX-License-Identifier: Apache-2.0
 *
 * Where memory comes from. Everything that grows is handed a `struct memory`, so that a test can
 * fail any allocation, and so that we always know how much is in use. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

struct memory {
    /* As realloc(): returns NULL and leaves the block alone if it cannot. A new_size of 0 frees and
     * returns NULL. */
    void *(*resize)(struct memory *memory, void *block, size_t old_size, size_t new_size);
    /* As calloc(): pages fresh from the system are not touched. */
    void *(*zeroed)(struct memory *memory, size_t size);
    size_t used;    /* bytes handed out and not given back, as malloc() counts them */
    size_t refused; /* how often there was none to be had */
    /* While no more than this is in use, slabs and tables give no blocks back: a state that fills
     * and empties again and again would let go of its pages and find them anew each time. */
    size_t retained;
    struct huge_pages *ahead; /* see huge_pages.h; or NULL */
};

/* Memory from malloc(). */
void memory_init(struct memory *memory);

void *memory_get(struct memory *memory, size_t size);
void *memory_zeroed(struct memory *memory, size_t size);
void *memory_resize(struct memory *memory, void *block, size_t old_size, size_t new_size);
void memory_free(struct memory *memory, void *block, size_t size);

#endif
