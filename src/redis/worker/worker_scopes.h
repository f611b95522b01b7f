/* SPDX-License-Identifier: Apache-2.0
 *
 * The scopes that the release worker knows to have deadlines, and when it visits each of them next:
 * a hash table, an agenda, and the keys and scripts of each family. */
#ifndef REDIS_WORKER_WORKER_SCOPES_H
#define REDIS_WORKER_WORKER_SCOPES_H

#include "base/siphash.h"
#include "base/table.h"
#include "base/agenda.h"
#include "redis/script/script_call.h"

enum worker_family {
    WORKER_FAMILY_SEATS,
    WORKER_FAMILY_PLAIN_SEATS, /* whose keys have no braces: the engine itself makes none such */
    WORKER_FAMILY_QUOTA,
    WORKER_FAMILY_STOCK,
    WORKER_FAMILY_QUEUE,
    WORKER_FAMILY_COUNT
};

#define WORKER_SCOPES_MAX 65536      /* scopes that are remembered */
#define WORKER_SCOPES_FOUND_MAX 4096 /* scopes that the sweep may add, until they are visited */

/* A scope of stock is one counter of a product, which stands behind its id: "shoes_main",
 * "shoes_3".
 */
#define WORKER_SCOPE_COUNTER_MAX 7
#define WORKER_SCOPE_NAME_MAX (HF_ID_MAX + 1 + WORKER_SCOPE_COUNTER_MAX)

struct worker_scope {
    struct timer timer; /* the next visit; not armed while one is in flight */
    int64_t noted_ms;   /* the earliest deadline noted since the visit began; 0: none */
    uint32_t hash;
    uint8_t family;
    uint8_t failures; /* visits that failed, one after the other */
    bool found;       /* the sweep found it and waits for its visit */
    uint8_t size;
    char name[WORKER_SCOPE_NAME_MAX];
};

struct worker_scopes {
    struct script_env *env;
    uint8_t hash_key[SIPHASH_KEY];
    struct slab slab; /* of struct worker_scope */
    struct table table;
    struct agenda_pool pool;
    struct agenda agenda; /* of the scopes that wait for their visit */
    uint32_t found;       /* how many scopes are marked as found */
};

void worker_scopes_init(struct worker_scopes *scopes, struct script_env *env);
void worker_scopes_free(struct worker_scopes *scopes);

static inline struct worker_scope *worker_scope_at(const struct worker_scopes *scopes,
                                                   uint32_t index)
{
    return slab_at(&scopes->slab, index);
}

/* How long after a deadline the scope is visited. The hashes of each worker are its own, so that
 * many workers do not all visit a scope in the same millisecond. */
static inline int64_t worker_scope_delay_ms(const struct worker_scope *scope)
{
    return 2 + (int64_t)(scope->hash % 49);
}

/* A hold of this scope falls due at that time of the loop: the scope is visited shortly after. A
 * scope that there is no room for is left to the sweep. */
void worker_scopes_note(struct worker_scopes *scopes, enum worker_family family,
                        struct hf_bytes name, int64_t at_ms);

/* The sweep found a scope: it is visited now, unless it is to be visited before `soon_ms`
 * anyway. */
void worker_scopes_found(struct worker_scopes *scopes, enum worker_family family,
                         struct hf_bytes name, int64_t now_ms, int64_t soon_ms);

/* A scope that is to be visited now, or NONE. */
uint32_t worker_scopes_next(struct worker_scopes *scopes, int64_t now_ms);

/* A visit is over; the next is at `at_ms`, which may be at once; 0: no hold of the scope is
 * left. */
void worker_scopes_visited(struct worker_scopes *scopes, uint32_t index, int64_t now_ms,
                           int64_t at_ms);

/* The family in which this command sets a deadline, and in how long that passes;
 * WORKER_FAMILY_COUNT: it sets none. */
enum worker_family worker_scopes_deadline(const struct command *command, int64_t *in_ms);

/* The scope that a key of deadlines belongs to; false if the key is none. */
bool worker_scopes_parse(const struct worker_scopes *scopes, struct hf_bytes key,
                         enum worker_family *family, struct hf_bytes *name);

/* Writes the call of the script that gives back what is due in a scope, at most `limit` holds. */
void worker_scopes_write_call(const struct worker_scopes *scopes, const struct worker_scope *scope,
                              struct script_call *call, int64_t limit);

#endif
