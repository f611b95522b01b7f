/* SPDX-License-Identifier: Apache-2.0
 *
 * Huge pages found ahead of time. Large tables and slabs are read all over the place: in huge pages
 * that costs far fewer misses. But the first touch of one is where the system finds and clears it,
 * which takes up to ten milliseconds on some machines; a thread does that for a few pages in
 * advance, so that a table that grows does not wait for it. Without the thread, or when it is
 * behind, ordinary pages serve, which are found one by one. */
#ifndef BASE_HUGE_PAGES_H
#define BASE_HUGE_PAGES_H

#include "base/memory.h"

#include <stdbool.h>

#define HUGE_PAGE ((size_t)2 << 20)

struct huge_pages;

/* HUGE_PAGE zeroed bytes from the system, in ordinary pages that are found when they are touched;
 * NULL when there is no memory. */
void *huge_page_map(void);
/* Returns such a block to the system. */
void huge_page_unmap(void *block);

/* The memory's blocks of HUGE_PAGE bytes come from a thread from now on; not if there is none to be
 * had. The thread begins its work when `after` bytes are in use. */
void huge_pages_ahead(struct memory *memory, size_t after);

/* While `at_once` is true, a block that the thread does not have ready is in a huge page all the
 * same: its user waits for the first touch. Right where nobody else waits for the user, as while a
 * state is recovered. */
void huge_pages_at_once(struct memory *memory, bool at_once);

/* Ends the thread; blocks that were handed out stay. */
void huge_pages_end(struct memory *memory);

#endif
