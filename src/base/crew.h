/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that help another with many small pieces of work that do not touch one another. The one
 * that asks does its share and waits until all is done, so that nothing else changes meanwhile. */
#ifndef BASE_CREW_H
#define BASE_CREW_H

#include <stddef.h>

struct crew;

/* So many threads, besides the one that calls. NULL when the system gives none; with fewer than
 * asked for it goes on. */
struct crew *crew_start(unsigned threads);
/* NULL is fine. */
void crew_stop(struct crew *crew);

/* How many threads there are, with the caller's. */
unsigned crew_size(const struct crew *crew);

/* Calls work() once with each item, on any of the threads; returns when all calls have. An item
 * must not be touched by the work of another. */
void crew_run(struct crew *crew, void (*work)(void *item), void **items, size_t count);

#endif
