/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of one kind: slab, index by (scope, name), deadlines, and the list of closed ones. */
#include "core/store.h"

#include "base/check.h"

#include <string.h>

#define TIMER_OFFSET sizeof(struct record)

void store_init(struct store *store, struct memory *memory, const uint64_t *hash_key,
                size_t record_size, bool timed)
{
    *store = (struct store){.memory = memory, .hash_key = hash_key, .timed = timed, .closed = NONE};
    slab_init(&store->slab, memory, record_size);
    table_init(&store->table, memory);
    agenda_pool_init(&store->pool, memory, &store->slab, TIMER_OFFSET);
}

void store_by_scope(struct store *store, const struct store *scopes, size_t agenda_offset)
{
    store->scopes = scopes;
    store->agenda_offset = agenda_offset;
}

void store_list(struct store *store, const struct store *owners, size_t roster_offset,
                size_t place_offset)
{
    store->owners = owners;
    store->roster_offset = roster_offset;
    store->place_offset = place_offset;
}

static void set_name(struct record *record, const struct name *name)
{
    record->name_words[0] = name->words[0];
    record->name_words[1] = name->words[1];
    record->name_kind = name->kind;
}

static void free_name(struct store *store, struct record *record)
{
    struct name name = record_name(record);

    name_free(store->memory, &name);
    set_name(record, &name);
}

void store_free(struct store *store)
{
    for (uint32_t i = slab_next(&store->slab, 0); i != NONE; i = slab_next(&store->slab, i + 1)) {
        free_name(store, store_at(store, i));
    }
    roster_free(&store->roster, store->memory);
    agenda_pool_free(&store->pool);
    slab_free(&store->slab);
    table_free(&store->table);
    store->recent = NULL;
}

void store_key_read(const struct store *store, uint32_t scope, struct hf_bytes id, struct key *key)
{
    if (id.size > NAME_INLINE) {
        name_read_long(&key->name, id);
    } else {
        key->name = name_view(id);
    }
    key->scope = scope;
    key->hash = name_hash(store->hash_key, scope, &key->name);
}

struct candidate {
    const struct store *store;
    const struct key *key;
};

static inline bool is_under_key(const void *context, uint32_t index)
{
    const struct candidate *candidate = context;
    const struct record *record = store_at(candidate->store, index);

    return record->scope == candidate->key->scope && record_has_name(record, &candidate->key->name);
}

uint32_t store_find(const struct store *store, const struct key *key)
{
    struct candidate candidate = {store, key};
    return table_find(&store->table, key->hash, is_under_key, &candidate);
}

uint32_t store_find_other(struct store *store, uint32_t scope, const struct name *name)
{
    struct key key = store_key(store, scope, *name);
    uint32_t index = store_find(store, &key);

    if (index != NONE) {
        store->recent = store_at(store, index);
        store->recent_index = index;
    }
    return index;
}

static uint32_t hash_of(const struct store *store, const struct record *record)
{
    struct name name = record_name(record);
    return name_hash(store->hash_key, record->scope, &name);
}

/* Looks a group of records up before it adds them: their places in the table are spread all over
 * memory, and so they are fetched beside each other. */
bool store_link(struct store *store, uint32_t from, uint32_t to)
{
    enum { GROUP = 16 };
    struct key keys[GROUP];

    for (uint32_t i = from; i < to; i += GROUP) {
        uint32_t count = to - i < GROUP ? to - i : GROUP;
        for (uint32_t k = 0; k < count; k++) {
            const struct record *record = store_at(store, i + k);
            keys[k] = store_key(store, record->scope, record_name(record));
            table_prefetch(&store->table, keys[k].hash);
        }
        for (uint32_t k = 0; k < count; k++) {
            const struct record *record = store_at(store, i + k);
            if (!(record->marks & RECORD_HIDDEN) &&
                (store_find(store, &keys[k]) != NONE ||
                 !table_add(&store->table, keys[k].hash, i + k))) {
                return false;
            }
        }
    }
    return true;
}

/* ---- rosters --------------------------------------------------------------------------------- */

bool store_relist(struct store *store, uint32_t index, uint32_t place)
{
    const struct record *record = store_at(store, index);

    if (store->place_offset == 0) {
        return true;
    }
    uint32_t *own = store_place(store, record);
    *own = NONE;
    if (record->marks & (RECORD_HIDDEN | RECORD_CLOSED)) {
        return place == NONE;
    }
    struct roster *roster = store_roster(store, record->scope);
    if (place == NONE) {
        *own = roster_add(roster, store->memory, index);
    } else if (roster_put(roster, store->memory, place, index)) {
        *own = place;
    }
    return *own != NONE;
}

void store_unlist(struct store *store, uint32_t index)
{
    const struct record *record = store_at(store, index);

    if (store->place_offset != 0 && *store_place(store, record) != NONE) {
        uint32_t *place = store_place(store, record);
        roster_remove(store_roster(store, record->scope), store->memory, *place);
        *place = NONE;
    }
}

/* ---- coming and going ------------------------------------------------------------------------ */

uint32_t store_adopt(struct store *store, const struct key *owned)
{
    uint32_t index = slab_take(&store->slab);

    if (index == NONE) {
        return NONE;
    }
    struct record *record = store_at(store, index);
    record->scope = owned->scope;
    set_name(record, &owned->name);
    if (store->place_offset != 0) {
        uint32_t place = roster_add(store_roster(store, owned->scope), store->memory, index);
        *store_place(store, record) = place;
        if (place == NONE) {
            slab_give(&store->slab, index);
            return NONE;
        }
    }
    if (!table_add(&store->table, owned->hash, index)) {
        store_unlist(store, index);
        slab_give(&store->slab, index);
        return NONE;
    }
    return index;
}

uint32_t store_add(struct store *store, const struct key *key)
{
    if (key->name.kind != NAME_FAR) {
        return store_adopt(store, key);
    }
    struct key owned = *key;
    if (!name_own(store->memory, &owned.name)) {
        return NONE;
    }
    uint32_t index = store_adopt(store, &owned);
    if (index == NONE) {
        name_free(store->memory, &owned.name);
    }
    return index;
}

bool store_reserve(struct store *store, uint32_t count)
{
    return slab_reserve(&store->slab, count) && table_reserve(&store->table, count);
}

bool store_expect(struct store *store, uint32_t count)
{
    return slab_expect(&store->slab, count) && table_reserve(&store->table, count);
}

static void unlink_name(struct store *store, uint32_t index)
{
    struct record *record = store_at(store, index);

    if (!(record->marks & RECORD_HIDDEN)) {
        table_remove(&store->table, hash_of(store, record), index);
        record->marks |= RECORD_HIDDEN;
        store->recent = store->recent != record ? store->recent : NULL;
    }
}

void store_hide(struct store *store, uint32_t index)
{
    store_unlist(store, index);
    unlink_name(store, index);
    free_name(store, store_at(store, index));
}

struct name store_take_name(struct store *store, uint32_t index)
{
    struct record *record = store_at(store, index);
    struct name name = record_name(record);

    store_unlist(store, index);
    unlink_name(store, index);
    set_name(record, &(struct name){.words = {0, 0}});
    store_remove(store, index);
    return name;
}

static void unclose(struct store *store, uint32_t index)
{
    struct record *record = store_at(store, index);

    CHECK(record->marks & RECORD_CLOSED);
    timer_chain_remove(&store->slab, TIMER_OFFSET, &store->closed, index);
    record->marks &= (uint8_t)~RECORD_CLOSED;
    record_timer(record)->deadline_ms = 0;
    store->closed_count--;
}

void store_remove(struct store *store, uint32_t index)
{
    struct record *record = store_at(store, index);

    if (record->marks & RECORD_CLOSED) {
        unclose(store, index);
    } else {
        store_disarm(store, index);
    }
    store_hide(store, index);
    slab_give(&store->slab, index);
}

void store_arm(struct store *store, uint32_t index, int64_t deadline_ms)
{
    const struct record *record = store_at(store, index);

    if (record_deadline_ms(record) != 0) {
        store_disarm(store, index);
    }
    agenda_add(&store->pool, store_agenda(store, record), index, deadline_ms);
    store->armed++;
}

void store_disarm(struct store *store, uint32_t index)
{
    const struct record *record = store_at(store, index);

    if (store->timed && record_deadline_ms(record) != 0) {
        agenda_remove(&store->pool, store_agenda(store, record), index);
        store->armed--;
    }
}

uint32_t store_pop(struct store *store, struct agenda *agenda, int64_t now_ms, int64_t *deadline_ms)
{
    uint32_t index = agenda_pop(&store->pool, agenda, now_ms, deadline_ms);

    store->armed -= index != NONE;
    return index;
}

/* The closed ones use the links of the timer for their list, and its deadline for the time at which
 * they are forgotten. */
void store_close(struct store *store, uint32_t index, int64_t until_ms)
{
    struct record *record = store_at(store, index);

    CHECK(store->timed && record_deadline_ms(record) == 0);
    store_unlist(store, index);
    record->marks |= RECORD_CLOSED;
    record_timer(record)->deadline_ms = until_ms;
    timer_chain_append(&store->slab, TIMER_OFFSET, &store->closed, index);
    store->closed_count++;
}

int64_t store_next(const struct store *store)
{
    int64_t next = agenda_next(&store->pool, &store->agenda);

    if (store->closed != NONE) {
        int64_t oldest = record_deadline_ms(store_at(store, store->closed));
        next = oldest < next ? oldest : next;
    }
    return next;
}
