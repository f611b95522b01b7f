/* SPDX-License-Identifier: Apache-2.0
 *
 * Where clients come from, an address or a network of IPv6 each, and what has to be known of it
 * while somebody is connected from there, or guessed passwords not long ago. */
#ifndef SERVER_ORIGINS_H
#define SERVER_ORIGINS_H

#include "base/list.h"
#include "base/memory.h"
#include "base/siphash.h"

#define ORIGIN_BUCKETS 1024
/* So many are remembered from which nobody is connected. */
#define ORIGINS_IDLE_MAX 4096

struct origin {
    uint64_t number;        /* of address_origin_of_peer() */
    struct list bucket;     /* of origins->buckets */
    struct list idle;       /* of origins->idle, while `sessions` is 0 */
    size_t sessions;        /* that came from here */
    size_t stranger_count;  /* of them */
    struct list strangers;  /* the oldest first; the connections' to enter and leave */
    struct list logins;     /* passwords that wait to be hashed */
    struct list turn;       /* of logins->turns, while there is one */
    unsigned guesses;       /* wrong passwords, fewer with time */
    uint64_t guessed_ns;    /* when `guesses` was last brought up to date */
    uint64_t not_before_ns; /* nothing is hashed for it until then */
};

struct origins {
    struct memory *memory;
    uint8_t key[SIPHASH_KEY];
    struct list buckets[ORIGIN_BUCKETS];
    struct list idle; /* the one that was left first comes first */
    size_t idle_count;
};

void origins_init(struct origins *origins, struct memory *memory);
/* No session may be left. */
void origins_free(struct origins *origins);

/* One more session from there; NULL when there is no memory. */
struct origin *origin_enter(struct origins *origins, uint64_t number);
/* It is gone. NULL is fine. */
void origin_leave(struct origins *origins, struct origin *origin);

/* NULL if nothing is known of it. */
struct origin *origin_find(struct origins *origins, uint64_t number);

/* The one with the most strangers; NULL without any. Looks at all of them. */
struct origin *origin_most_crowded(struct origins *origins);

#endif
