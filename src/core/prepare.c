/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that will be applied next are looked at ahead. What makes a command slow in a large
 * state is waiting for memory: the slot of the index, then the record, one after the other. Here
 * the slots of all of them are asked for before the first is used, so that the waits overlap.
 * Nothing changes, and nothing depends on it: whatever happens before the commands do, they look
 * everything up themselves. */
#include "core/state.h"

/* What a command looks up in its scope, which its first argument names: a hold, or whose it is, or
 * both. */
#define RECORDS_LOOKED_UP 2
struct looked_up {
    enum kind kind;  /* CORE_EVENTS, which is no such kind: nothing */
    uint16_t offset; /* of its id, in the argument struct */
    bool is_there;   /* most likely; otherwise it is new */
};

#define ID(name, member) offsetof(struct hf_##name##_args, member)

static const struct looked_up plans[COMMAND_COUNT][RECORDS_LOOKED_UP] = {
    [SEATS_RESERVE] = {{CORE_BOOKINGS, ID(seats_reserve, booking), false},
                       {CORE_SEAT_USERS, ID(seats_reserve, user), false}},
    [SEATS_CONFIRM] = {{CORE_BOOKINGS, ID(seats_confirm, booking), true}},
    [SEATS_RELEASE] = {{CORE_BOOKINGS, ID(seats_release, booking), true}},
    [SEATS_REFUND] = {{CORE_BOOKINGS, ID(seats_refund, booking), true}},
    [SEATS_EXTEND] = {{CORE_BOOKINGS, ID(seats_extend, booking), true}},
    [SEATS_GET] = {{CORE_BOOKINGS, ID(seats_get, booking), true}},
    [SEATS_USER] = {{CORE_SEAT_USERS, ID(seats_user, user), true}},
    [QUOTA_RESERVE] = {{CORE_QUOTA_HOLDS, ID(quota_reserve, hold), false}},
    [QUOTA_COMMIT] = {{CORE_QUOTA_HOLDS, ID(quota_commit, hold), true}},
    [QUOTA_CANCEL] = {{CORE_QUOTA_HOLDS, ID(quota_cancel, hold), true}},
    [STOCK_TAKE] = {{CORE_ORDERS, ID(stock_take, order), false},
                    {CORE_STOCK_USERS, ID(stock_take, user), false}},
    [STOCK_SETTLE] = {{CORE_ORDERS, ID(stock_settle, order), true}},
    [STOCK_GIVE] = {{CORE_ORDERS, ID(stock_give, order), true}},
    [LOCK_TRY] = {{CORE_LOCKS, ID(lock_try, resource), false}},
    [LOCK_UNLOCK] = {{CORE_LOCKS, ID(lock_unlock, resource), true}},
    [LOCK_EXTEND] = {{CORE_LOCKS, ID(lock_extend, resource), true}},
    [IDEM_BEGIN] = {{CORE_IDEM_KEYS, ID(idem_begin, key), false}},
    [IDEM_COMPLETE] = {{CORE_IDEM_KEYS, ID(idem_complete, key), true}},
};

/* Commands that are looked at together: the memory of so many is on its way at a time. */
#define TOGETHER 16

/* The index of so many segments, a megabyte, has grown out of the processor's nearest caches.
 * Before that, looking ahead takes longer than the waits that it saves. */
#define SEGMENTS_AHEAD 64

/* What was asked for: the record under this hash may be next. */
struct asked {
    const struct store *store;
    uint32_t hash;
    bool is_there;
};

static struct hf_bytes id_at(const struct command *command, size_t offset)
{
    struct hf_bytes id;

    memcpy(&id, (const char *)&command->args + offset, sizeof id);
    return id;
}

/* The scope that a command names; NONE if there is none. */
static uint32_t scope_of(const struct core *core, const struct command *command, enum kind kind)
{
    if (kind == CORE_NO_KIND) {
        return 0;
    }
    const struct store *store = &core->stores[kind];
    struct name name = name_view(id_at(command, command->spec->args[0].offset));
    if (store->recent != NULL && record_has_name(store->recent, &name)) {
        return store->recent_index;
    }
    struct key key = store_key(store, 0, name);
    return store_find(store, &key);
}

/* Asks for the slots of the records that a command looks up. */
static size_t ask_for(const struct core *core, const struct command *command, struct asked *asked)
{
    const struct looked_up *plan = plans[command_id(command->spec)];
    size_t count = 0;

    if (plan[0].kind == CORE_EVENTS ||
        core->stores[plan[0].kind].table.segment_count < SEGMENTS_AHEAD) {
        return 0;
    }
    uint32_t scope = scope_of(core, command, kinds[plan[0].kind].parent);
    for (; scope != NONE && count < RECORDS_LOOKED_UP && plan[count].kind != CORE_EVENTS; count++) {
        const struct store *store = &core->stores[plan[count].kind];
        struct key key;
        store_key_read(store, scope, id_at(command, plan[count].offset), &key);
        asked[count] = (struct asked){store, key.hash, plan[count].is_there};
        table_prefetch(&store->table, key.hash);
    }
    return count;
}

/* Asks for a record, now that its slot has come. */
static void ask_for_record(const struct asked *asked)
{
    uint32_t index = asked->is_there ? table_peek(&asked->store->table, asked->hash) : NONE;

    if (index != NONE) {
        const char *record = store_at(asked->store, index);
        __builtin_prefetch(record);
        __builtin_prefetch(record + asked->store->slab.record_size - 1);
        __asm__ volatile("" : : "r"(record)); /* as in table_prefetch() */
    }
}

static void prepare_some(const struct core *core, const struct command *commands, size_t count)
{
    struct asked asked[RECORDS_LOOKED_UP * TOGETHER];
    size_t asked_count = 0;

    for (size_t i = 0; i < count; i++) {
        asked_count += ask_for(core, &commands[i], &asked[asked_count]);
    }
    for (size_t i = 0; i < asked_count; i++) {
        ask_for_record(&asked[i]);
    }
}

void core_prepare(const struct core *core, const struct command *commands, size_t count)
{
    for (size_t i = 0; i < count; i += TOGETHER) {
        prepare_some(core, commands + i, count - i < TOGETHER ? count - i : TOGETHER);
    }
}
