/* SPDX-License-Identifier: Apache-2.0
 *
 * What an audit of Redis knows: the names it came across, the sums it makes for each, and how it
 * reads keys and reports. */
#ifndef REDIS_AUDIT_AUDIT_STATE_H
#define REDIS_AUDIT_AUDIT_STATE_H

#include "base/siphash.h"
#include "base/slab.h"
#include "base/table.h"
#include "redis/audit/audit_reader.h"
#include "redis/script/key_parse.h"

enum audit_kind {
    AUDIT_EVENTS,
    AUDIT_ZONES,
    AUDIT_USERS,
    AUDIT_TENANTS,
    AUDIT_PRODUCTS,
    AUDIT_COUNTERS,
    AUDIT_BUYERS, /* users, within a counter of a product */
    AUDIT_SEMAPHORES,
    AUDIT_ROOMS,
    AUDIT_KIND_COUNT
};

#define SUMS_MAX 9

struct audit_name {
    char *text;
    size_t size;
    uint32_t hash;
    uint32_t parent;      /* a zone's event; NONE: it has none */
    uint32_t children[2]; /* first of an event's zones and of its users; of a product's counters */
    uint32_t next;        /* of the same parent */
    bool suspect;
    int64_t sums[SUMS_MAX]; /* what they are is for each kind to say */
};

struct audit_names {
    struct slab slab; /* of struct audit_name */
    struct table table;
};

#define KEYS_AT_A_TIME 8

struct audit {
    struct audit_reader reader;
    struct memory memory;
    uint8_t hash_key[SIPHASH_KEY];
    struct audit_names names[AUDIT_KIND_COUNT];
    struct buffer keys[KEYS_AT_A_TIME];
    size_t next_key;
    struct buffer line;
    bool unread; /* something could not be read: a slot was migrating, or an answer was strange */
    hf_audit_report *report;
    void *context;
    uint64_t findings;
};

enum hf_error audit_init(struct audit *audit, const struct redis_url *url, struct problem *problem);
void audit_free(struct audit *audit);

/* False when it cannot go on. */
static inline bool audit_goes_on(const struct audit *audit)
{
    return audit->reader.code == HF_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static inline struct audit_name *named_at(const struct audit *audit, enum audit_kind kind,
                                          uint32_t index)
{
    return slab_at(&audit->names[kind].slab, index);
}

static inline struct hf_bytes named_text(const struct audit_name *named)
{
    return (struct hf_bytes){named->text, named->size};
}

#define EACH_NAMED(audit, kind, i)                                                                 \
    for (uint32_t i = slab_next(&(audit)->names[kind].slab, 0); i != NONE;                         \
         i = slab_next(&(audit)->names[kind].slab, i + 1))

/* Those of one parent: children number `which` of it. */
#define EACH_CHILD(audit, parent_, which, kind, i)                                                 \
    for (uint32_t i = (parent_)->children[which]; i != NONE; i = named_at(audit, kind, i)->next)

/* The one with this name, made if it is new; NULL when there is no memory, and the audit is over.
 * Pointers stay good. */
struct audit_name *audit_name(struct audit *audit, enum audit_kind kind, struct hf_bytes text,
                              uint32_t *index);
/* The same for a name within its parent: children number `which` of it. */
struct audit_name *audit_child(struct audit *audit, enum audit_kind parent_kind, uint32_t parent,
                               unsigned which, enum audit_kind kind, struct hf_bytes text);

/* ---- sets ------------------------------------------------------------------------------------ */

/* Whatever SCAN shows it may show twice. */
struct audit_text_set {
    struct audit *audit;
    struct table table;
    uint64_t *hashes;
    uint32_t count, capacity;
};

void audit_text_set_init(struct audit_text_set *set, struct audit *audit);
void audit_text_set_free(struct audit_text_set *set);
/* True if it was not there yet. */
bool audit_text_set_add(struct audit_text_set *set, struct hf_bytes text);

/* ---- keys ------------------------------------------------------------------------------------ */

/* A key of so many parts; good until KEYS_AT_A_TIME others were made. */
struct hf_bytes audit_key(struct audit *audit, enum key_id key, struct hf_bytes first,
                          struct hf_bytes second);
#define KEY1(audit, key, first) audit_key(audit, key, first, (struct hf_bytes){NULL, 0})

/* What a key found is, and its parts; false if it is none of those above. */
bool audit_parse_key(const struct audit *audit, struct hf_bytes text, enum key_id *key,
                     struct hf_bytes parts[KEY_PARTS_MAX]);

/* Walks over all keys of all masters; `form` narrows it down to keys that start as this key does,
 * KEY_NONE: to none. `take` gets a page at a time. */
typedef void audit_take(struct audit *audit, size_t master, const redisReply *keys, void *context);
void audit_scan(struct audit *audit, enum key_id key, audit_take *take, void *context);

/* Walks over the members of a sorted set, at most AUDIT_PAGE at a time. */
#define AUDIT_PAGE 1000
void audit_members(struct audit *audit, enum key_id key, struct hf_bytes scope, audit_take *take,
                   void *context);

/* ---- answers --------------------------------------------------------------------------------- */

struct hf_bytes audit_reply_text(const redisReply *reply);
bool audit_reply_is_text(const redisReply *reply);
/* The number it is; `otherwise` for nil; false for anything else. */
bool audit_reply_integer(const redisReply *reply, int64_t otherwise, int64_t *number);
/* Are the two the same, to the last element? */
bool audit_replies_equal(const redisReply *a, const redisReply *b);
/* The answer to TIME, in milliseconds; false if it is none. */
bool audit_reply_time(const redisReply *reply, int64_t *ms);
/* The next answer; NULL if it is an error, and then something was not read. */
redisReply *audit_answer(struct audit *audit, size_t master);

/* ---- findings -------------------------------------------------------------------------------- */

/* "zone floor of event gala: " and so on; with no `of`, without. Then what is wrong. */
void audit_finding(struct audit *audit, const char *what, struct hf_bytes name, const char *of,
                   struct hf_bytes scope, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* ---- the families, each in its file ---------------------------------------------------------- */

void audit_seats(struct audit *audit);
void audit_quota(struct audit *audit);
/* Checks that all names in a tenant's index are those of open holds. */
void audit_hold_names(struct audit *audit, uint32_t tenant);
void audit_stock(struct audit *audit);
/* What the users of one counter have: part of audit_stock(). */
void audit_buyers(struct audit *audit, uint32_t counter);
/* The transfers between the counters of one product: part of audit_stock(). */
void audit_transfers(struct audit *audit, uint32_t product);
void audit_rooms(struct audit *audit);
void audit_semaphores(struct audit *audit);
/* The holders of several slots of a semaphore. */
void audit_slots(struct audit *audit, struct hf_bytes scope);

/* Checks each of a kind; again if something of it could not be read, and if that does not help, it
 * is reported. */
void audit_each(struct audit *audit, enum audit_kind kind, const char *what,
                void (*check)(struct audit *audit, uint32_t index));

/* Waits a little: commands that were in flight may be complete then. */
void audit_pause(struct audit *audit);

#endif
