/* SPDX-License-Identifier: Apache-2.0
 *
 * Timers of which every operation is a bounded step, however many there are and however far the
 * clock jumps. An agenda is a radix tree over deadlines, 64 slots a node and 1 ms a slot at the
 * lowest level, that is only as deep as it is crowded: a slot holds a bucket of records, chained
 * through links of their own, until there are more than AGENDA_BUCKET_MAX of them; then the bucket
 * is split into a node of the next level below. So nothing ever has to be moved down because its
 * time comes near, which in a timing wheel costs a pause as long as the slot is full.
 *
 * Many agendas share the records and the nodes of one pool. A small one is a bucket and nothing
 * else. Arming needs no memory that was not promised before, so it cannot fail: where there is no
 * memory a bucket stays as large as it is, and is searched. */
#ifndef BASE_AGENDA_H
#define BASE_AGENDA_H

#include "base/slab.h"

#define AGENDA_BUCKET_MAX 32
#define AGENDA_NEVER INT64_MAX
/* Deadlines are below this: eight digits of 6 bits. */
#define AGENDA_TIME_MAX ((int64_t)1 << 48)

/* Embedded in each record. */
struct timer {
    int64_t deadline_ms; /* 0: not armed */
    uint32_t next, prev; /* circular */
};

struct agenda_pool {
    const struct slab *records;
    size_t offset; /* of the struct timer in a record */
    struct slab
        nodes; /* some are kept free, so that a deadline far from the others finds a place */
};

struct agenda {
    uint32_t top;   /* the first record of the only bucket, or a node; meaningless if empty */
    uint32_t count; /* armed timers; all zero is an empty agenda */
    uint32_t last;  /* the node of level 0 that was added to last, plus 1: a hint */
    uint32_t first; /* the node of level 0 that has the earliest timers, plus 1: a hint */
};

void agenda_pool_init(struct agenda_pool *pool, struct memory *memory, const struct slab *records,
                      size_t offset);
void agenda_pool_free(struct agenda_pool *pool);

/* Arms a timer that is not armed. */
void agenda_add(struct agenda_pool *pool, struct agenda *agenda, uint32_t index,
                int64_t deadline_ms);
/* Disarms an armed timer. */
void agenda_remove(struct agenda_pool *pool, struct agenda *agenda, uint32_t index);

/* The record with the earliest deadline, disarmed, if that is at most now_ms; NONE otherwise. Of
 * those with the same deadline the one armed first. Tells the deadline. */
uint32_t agenda_pop(struct agenda_pool *pool, struct agenda *agenda, int64_t now_ms,
                    int64_t *deadline_ms);

/* When the first timer is due; AGENDA_NEVER when none is armed. */
int64_t agenda_next(const struct agenda_pool *pool, const struct agenda *agenda);

/* The circular lists that buckets are made of, for others that use the links of a timer that is
 * not armed. `head` is the first index, or NONE. */
void timer_chain_append(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index);
void timer_chain_remove(const struct slab *slab, size_t offset, uint32_t *head, uint32_t index);

#endif
