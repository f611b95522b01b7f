/* SPDX-License-Identifier: Apache-2.0
 *
 * The scopes that the release worker knows to have deadlines, and when it looks at each of them
 * next: a hash table, an agenda, and what the families are called in Redis. */
#ifndef REDIS_WORKER_WORKER_SCOPES_H
#define REDIS_WORKER_WORKER_SCOPES_H

#include "base/siphash.h"
#include "base/table.h"
#include "base/agenda.h"
#include "redis/script/script_env.h"

enum worker_family {
    WORKER_FAMILY_SEATS,
    WORKER_FAMILY_QUOTA,
    WORKER_FAMILY_STOCK,
    WORKER_FAMILY_QUEUE,
    WORKER_FAMILY_COUNT
};

/* So many are remembered from the commands that were seen; the sweep may add a few that it comes
 * across, until they were looked at. */
#define WORKER_SCOPES_MAX 65536
#define WORKER_SCOPES_FOUND_MAX 4096

/* The counter of a product stands behind its name: "shoes_main", "shoes_3". */
#define WORKER_SCOPE_COUNTER_MAX 7
#define WORKER_SCOPE_NAME_MAX (HF_ID_MAX + 1 + WORKER_SCOPE_COUNTER_MAX)

struct worker_scope {
    struct timer timer; /* the next visit; not armed while one is under way */
    int64_t noted_ms;   /* during a visit: something falls due then; 0: nothing new */
    uint32_t hash;
    uint8_t family;
    uint8_t failures; /* visits that came to nothing, one after the other */
    bool found;       /* the sweep came across it and waits for it to be looked at */
    uint8_t size;
    char name[WORKER_SCOPE_NAME_MAX];
};

struct worker_scopes {
    struct script_env *env;
    uint8_t hash_key[SIPHASH_KEY];
    struct slab slab; /* of struct worker_scope */
    struct table table;
    struct agenda_pool pool;
    struct agenda agenda; /* of those that wait for their visit */
    uint32_t found;       /* how many are marked so */
};

void worker_scopes_init(struct worker_scopes *scopes, struct script_env *env);
void worker_scopes_free(struct worker_scopes *scopes);

static inline struct worker_scope *worker_scope_at(const struct worker_scopes *scopes,
                                                   uint32_t index)
{
    return slab_at(&scopes->slab, index);
}

/* How long after something fell due it is looked at: many workers shall not all come in the same
 * millisecond, and the hashes of each are its own. */
static inline int64_t worker_scope_delay_ms(const struct worker_scope *scope)
{
    return 2 + (int64_t)(scope->hash % 49);
}

/* Something of this scope falls due then, in time of the loop: it is looked at shortly after. What
 * there is no room for is left to the sweep. */
void worker_scopes_note(struct worker_scopes *scopes, enum worker_family family,
                        struct hf_bytes name, int64_t at_ms);

/* The sweep came across a scope: it is looked at soon, unless it is before `soon_ms` anyway. */
void worker_scopes_found(struct worker_scopes *scopes, enum worker_family family,
                         struct hf_bytes name, int64_t now_ms, int64_t soon_ms);

/* One that is to be looked at now, or NONE. */
uint32_t worker_scopes_next(struct worker_scopes *scopes, int64_t now_ms);

/* It was looked at. Again then, which may be at once; 0: nothing of it will fall due. */
void worker_scopes_visited(struct worker_scopes *scopes, uint32_t index, int64_t now_ms,
                           int64_t at_ms);

/* Which family falls due by the effect of this command, and in how long; WORKER_FAMILY_COUNT:
 * none. */
enum worker_family worker_scopes_deadline(const struct command *command, int64_t *in_ms);

/* Which scope a sorted set of deadlines belongs to; false if it is none of ours. */
bool worker_scopes_parse(const struct worker_scopes *scopes, struct hf_bytes key,
                         enum worker_family *family, struct hf_bytes *name);

/* The call of the script that gives back what is due in a scope, at most so many. */
void worker_scopes_write_call(const struct worker_scopes *scopes, const struct worker_scope *scope,
                              struct script_call *call, int64_t limit);

#endif
