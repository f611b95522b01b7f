/* SPDX-License-Identifier: Apache-2.0
 *
 * All records of one kind: found by (scope, name), where the kind has deadlines with one each, and
 * with a memory of those that were closed. Every record of the core begins with a `struct record`;
 * one of a kind that has deadlines goes on with a `struct timer`. The deadlines are in an agenda of
 * the store, or each scope has one for its own records. Where the kind can be listed, the records
 * that are neither closed nor hidden are in a roster, of the store or of their scope. */
#ifndef CORE_STORE_H
#define CORE_STORE_H

#include "base/agenda.h"
#include "base/table.h"
#include "core/name.h"
#include "core/roster.h"

enum record_mark {
    RECORD_HIDDEN = 1, /* no longer found by its name, which is gone */
    RECORD_CLOSED = 2, /* remembered for retries only; its timer says until when */
    /* Of a scope that was closed: it goes with the last record that it left behind, and not before.
     * Neither is ever in a snapshot. */
    RECORD_LEAVING = 4,
    RECORD_SWEPT = 8, /* what it left behind is being freed */
};

struct record {
    uint64_t name_words[2]; /* its name, without the kind */
    uint32_t scope;         /* index of the record it belongs to, in its parent's store; or 0 */
    uint8_t name_kind;
    uint8_t state; /* as the family defines; 0 for kinds that have none */
    uint8_t flags; /* as the family defines */
    uint8_t marks; /* enum record_mark */
};

_Static_assert(sizeof(struct record) == 24, "three words");

/* Of a record whose kind has deadlines. */
static inline struct timer *record_timer(struct record *record)
{
    return (struct timer *)(record + 1);
}

static inline int64_t record_deadline_ms(const struct record *record)
{
    return ((const struct timer *)(record + 1))->deadline_ms;
}

/* What a record is found by, with its hash: made once, used for looking and for adding. */
struct key {
    struct name name;
    uint32_t scope;
    uint32_t hash;
};

struct store {
    struct memory *memory;
    const uint64_t *hash_key;
    struct slab slab;
    struct table table;
    /* The record that store_find_recent() found last, likely the next one, too; NULL once that is
     * no longer found by its name. */
    const struct record *recent;
    uint32_t recent_index;
    bool timed; /* its records have deadlines */
    struct agenda_pool pool;
    struct agenda agenda;       /* of all, unless each scope has its own */
    const struct store *scopes; /* the store of those scopes, or NULL */
    size_t agenda_offset;       /* of the struct agenda in a record there */
    const struct store *owners; /* the store of the scopes that have the rosters, or NULL */
    size_t roster_offset;       /* of the struct roster in a record there */
    size_t place_offset;        /* of the place in it, in a record here; 0: no rosters */
    struct roster roster;       /* of all, unless each scope has its own */
    uint32_t armed;
    uint32_t closed; /* first of those closed, oldest first; or NONE */
    uint32_t closed_count;
};

void store_init(struct store *store, struct memory *memory, const uint64_t *hash_key,
                size_t record_size, bool timed);
/* The deadlines of each scope's records are in an agenda of the scope, at an offset in its record.
 */
void store_by_scope(struct store *store, const struct store *scopes, size_t agenda_offset);

/* Its open records are in a roster, of the store or at an offset in the record of their scope, and
 * have their place at an offset. */
void store_list(struct store *store, const struct store *owners, size_t roster_offset,
                size_t place_offset);

/* Frees the names too. What else the records own is the family's to free before. */
void store_free(struct store *store);

static inline void *store_at(const struct store *store, uint32_t index)
{
    return slab_at(&store->slab, index);
}

static inline struct name record_name(const struct record *record)
{
    return (struct name){.words = {record->name_words[0], record->name_words[1]},
                         .kind = record->name_kind};
}

static inline bool record_has_name(const struct record *record, const struct name *name)
{
    struct name own = record_name(record);
    return name_same(&own, name);
}

static inline struct key store_key(const struct store *store, uint32_t scope, struct name name)
{
    return (struct key){
        .name = name, .scope = scope, .hash = name_hash(store->hash_key, scope, &name)};
}

/* The key of a text, which a far name borrows. */
void store_key_read(const struct store *store, uint32_t scope, struct hf_bytes id, struct key *key);

uint32_t store_find(const struct store *store, const struct key *key);

uint32_t store_find_other(struct store *store, uint32_t scope, const struct name *name);

/* store_find(), quick if the name is that of the last call. */
static inline uint32_t store_find_recent(struct store *store, uint32_t scope,
                                         const struct name *name)
{
    const struct record *recent = store->recent;

    if (recent != NULL && recent->scope == scope && record_has_name(recent, name)) {
        return store->recent_index;
    }
    return store_find_other(store, scope, name);
}

/* A new record under a copy of the name; NONE when there is no memory. */
uint32_t store_add(struct store *store, const struct key *key);

/* Room for `count` more records, so that store_adopt() cannot fail. */
bool store_reserve(struct store *store, uint32_t count);
/* The same of the index of a new store alone: records are taken with slab_take(), which may fail,
 * while another thread has store_link() add those before. */
bool store_expect(struct store *store, uint32_t count);
/* As store_add(), taking over a name that is owned already. */
uint32_t store_adopt(struct store *store, const struct key *owned);

/* The record is no longer found by its name, which is freed. */
void store_hide(struct store *store, uint32_t index);

/* Removes the record, its name and its timer, whichever it still has. */
void store_remove(struct store *store, uint32_t index);

/* Its name handed over to the caller, the record removed. */
struct name store_take_name(struct store *store, uint32_t index);

void store_arm(struct store *store, uint32_t index, int64_t deadline_ms);
void store_disarm(struct store *store, uint32_t index);

/* Puts a record without a timer at the end of the closed ones, to be forgotten at `until_ms`. */
void store_close(struct store *store, uint32_t index, int64_t until_ms);

/* The roster of a scope, or of all. */
static inline struct roster *store_roster(struct store *store, uint32_t scope)
{
    return store->owners == NULL
               ? &store->roster
               : (struct roster *)((char *)store_at(store->owners, scope) + store->roster_offset);
}

/* Where an open record stands in its roster; NONE for another. */
static inline uint32_t *store_place(const struct store *store, const struct record *record)
{
    return (uint32_t *)((char *)record + store->place_offset);
}

/* Takes a record out of its roster, if it is in one. */
void store_unlist(struct store *store, uint32_t index);

/* Puts a record that was read from a snapshot into its roster, at its place or, with NONE, at the
 * lowest free one. False if the place is taken, or there is no memory. */
bool store_relist(struct store *store, uint32_t index, uint32_t place);

/* The agenda that a record's deadline belongs to. */
static inline struct agenda *store_agenda(struct store *store, const struct record *record)
{
    return store->scopes == NULL
               ? &store->agenda
               : (struct agenda *)((char *)store_at(store->scopes, record->scope) +
                                   store->agenda_offset);
}

/* The first record of an agenda of the store that is due, disarmed, and its deadline; or NONE. */
uint32_t store_pop(struct store *store, struct agenda *agenda, int64_t now_ms,
                   int64_t *deadline_ms);

/* When the first of the store's own agenda or of the closed falls due. */
int64_t store_next(const struct store *store);

/* Makes the records from `from` to before `to`, which were taken from the slab and filled in,
 * findable, unless they are hidden: for reading a snapshot. It touches nothing but the table, and
 * needs no memory that was reserved before. False if a name is there already, or there is no
 * memory. */
bool store_link(struct store *store, uint32_t from, uint32_t to);

#endif
