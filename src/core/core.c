/* SPDX-License-Identifier: Apache-2.0
 *
 * Dispatch, the passing of time, and what leaves the core. */
#include "core/core.h"

#include "base/check.h"
#include "core/state.h"

const struct kind_spec kinds[KIND_COUNT] = {
    [EVENTS] = {"event", sizeof(struct seat_event), NO_KIND, 0, false, NULL, NULL},
    [ZONES] = {"zone", sizeof(struct zone), EVENTS, 0, false, NULL, NULL},
    [SEAT_USERS] = {"user", sizeof(struct seat_user), EVENTS, 0, false, NULL, NULL},
    [SHOWS] = {"show", sizeof(struct show), EVENTS, 0, false, NULL, NULL},
    [BOOKINGS] = {"booking", sizeof(struct booking), EVENTS, BOOKING_LAPSED, true, booking_due,
                  booking_let_go},
    [TENANTS] = {"tenant", sizeof(struct tenant), NO_KIND, 0, false, NULL, NULL},
    [QUOTA_HOLDS] = {"quota hold", sizeof(struct quota_hold), TENANTS, HOLD_CANCELLED, true,
                     quota_hold_due, quota_hold_let_go},
    [SEMAPHORES] = {"semaphore", sizeof(struct semaphore), NO_KIND, 0, false, NULL,
                    semaphore_let_go},
    [SEM_CLIENTS] = {"semaphore client", sizeof(struct sem_client), SEMAPHORES, CLIENT_HOLDING,
                     false, sem_client_due, NULL},
    [LOCKS] = {"lock", sizeof(struct lock), NO_KIND, 0, true, lock_due, lock_let_go},
    [PRODUCTS] = {"product", sizeof(struct product), NO_KIND, 0, false, NULL, NULL},
    [ORDERS] = {"order", sizeof(struct order), PRODUCTS, ORDER_GIVEN, true, order_due,
                order_let_go},
    [ROOMS] = {"room", sizeof(struct room), NO_KIND, 0, false, NULL, room_let_go},
    [ROOM_ENTRIES] = {"queue entry", sizeof(struct room_entry), ROOMS, 0, false, room_entry_due,
                      NULL},
    [ROOM_PASSES] = {"pass", sizeof(struct room_pass), ROOMS, 0, false, room_pass_due,
                     room_pass_let_go},
    [IDEM_KEYS] = {"idempotency key", sizeof(struct idem), NO_KIND, IDEM_COMPLETED, false, idem_due,
                   idem_let_go},
};

struct core *core_create(struct memory *memory, const uint64_t seed[2])
{
    struct core *core = memory_get(memory, sizeof *core);

    if (core == NULL) {
        return NULL;
    }
    *core = (struct core){.memory = memory,
                          .hash_key = {seed[0] ^ UINT64_C(0x9e3779b97f4a7c15),
                                       seed[1] ^ UINT64_C(0xd1b54a32d192ed03)},
                          .next_due_ms = INT64_MAX,
                          .touched = NONE};
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        store_init(&core->stores[kind], memory, core->hash_key, kinds[kind].record_size,
                   kinds[kind].due != NULL);
    }
    slab_init(&core->sales, memory, sizeof(struct sale));
    return core;
}

void core_destroy(struct core *core)
{
    if (core == NULL) {
        return;
    }
    /* Children first: a record may reach for those it names. */
    for (enum kind kind = KIND_COUNT; kind-- > 0;) {
        struct slab *slab = &core->stores[kind].slab;
        for (uint32_t i = slab_next(slab, 0); kinds[kind].let_go && i != NONE;
             i = slab_next(slab, i + 1)) {
            kinds[kind].let_go(core, i);
        }
        store_free(&core->stores[kind]);
    }
    slab_free(&core->sales);
    memory_free(core->memory, core->wakeups, core->wakeup_capacity * sizeof(*core->wakeups));
    core_collect_events(core, false);
    memory_free(core->memory, core, sizeof *core);
}

/* ---- records --------------------------------------------------------------------------------- */

uint32_t core_obtain(struct core *core, enum kind kind, uint32_t scope, struct hf_bytes id)
{
    struct key key = core_key(core, kind, scope, id);
    uint32_t index = core_find_key(core, kind, &key);

    return index != NONE ? index : core_add(core, kind, &key);
}

static void note_due(struct core *core, int64_t time_ms)
{
    if (time_ms < core->next_due_ms) {
        core->next_due_ms = time_ms;
    }
}

void core_arm(struct core *core, enum kind kind, uint32_t index, int64_t deadline_ms)
{
    store_arm(&core->stores[kind], index, deadline_ms);
    note_due(core, deadline_ms);
}

void core_close(struct core *core, enum kind kind, uint32_t index)
{
    struct store *store = &core->stores[kind];
    int64_t until_ms = core->now_ms + RETRY_WINDOW_MS;

    store_close(store, index, until_ms);
    note_due(core, until_ms);
    if (store->closed_count > RETRY_REMEMBERED_MAX) {
        core_forget(core, kind, store->closed);
    }
}

void core_forget(struct core *core, enum kind kind, uint32_t index)
{
    if (kinds[kind].let_go != NULL) {
        kinds[kind].let_go(core, index);
    }
    store_remove(&core->stores[kind], index);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* All that is due at this very time. */
static void expire_at(struct core *core, int64_t time_ms)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        struct store *store = &core->stores[kind];
        uint32_t index;
        while ((index = wheel_pop(&store->wheel, time_ms)) != NONE) {
            kinds[kind].due(core, index);
        }
        while (store->closed != NONE &&
               record_deadline_ms(store_at(store, store->closed)) <= time_ms) {
            core_forget(core, kind, store->closed);
        }
    }
    if (core->touched != NONE) {
        sem_settle(core);
    }
}

static int64_t earliest(const struct core *core)
{
    int64_t next = INT64_MAX;

    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        int64_t due = store_next(&core->stores[kind]);
        next = due < next ? due : next;
    }
    return next;
}

void core_advance(struct core *core, int64_t now_ms)
{
    CHECK(now_ms < TIME_MAX_MS);
    while (core->next_due_ms <= now_ms) {
        if (core->next_due_ms > core->now_ms) {
            core->now_ms = core->next_due_ms;
        }
        expire_at(core, core->now_ms);
        core->next_due_ms = earliest(core);
    }
    if (now_ms > core->now_ms) {
        core->now_ms = now_ms;
    }
}

int64_t core_now(const struct core *core)
{
    return core->now_ms;
}

int64_t core_next_due(const struct core *core)
{
    return core->next_due_ms;
}

/* ---- commands -------------------------------------------------------------------------------- */

typedef CORE_COMMAND(core_function);

static core_function *const functions[COMMAND_COUNT] = {
    [SEATS_OPEN] = seats_open,       [SEATS_RESERVE] = seats_reserve,
    [SEATS_CONFIRM] = seats_confirm, [SEATS_RELEASE] = seats_release,
    [SEATS_EXTEND] = seats_extend,   [SEATS_GET] = seats_get,
    [SEATS_ZONE] = seats_zone,       [SEATS_USER] = seats_user,
    [QUOTA_LIMIT] = quota_limit,     [QUOTA_RESERVE] = quota_reserve,
    [QUOTA_REFUND] = quota_refund,   [QUOTA_COMMIT] = quota_commit,
    [QUOTA_CANCEL] = quota_cancel,   [QUOTA_SYNC] = quota_sync,
    [QUOTA_GET] = quota_get,         [SEM_ACQUIRE] = sem_acquire,
    [SEM_QUEUE] = sem_queue,         [SEM_WAKE] = sem_wake,
    [SEM_CONFIRM] = sem_confirm,     [SEM_RELEASE] = sem_release,
    [SEM_PING] = sem_ping,           [SEM_CARD] = sem_card,
    [SEM_STATS] = sem_stats,         [LOCK_TRY] = lock_try,
    [LOCK_UNLOCK] = lock_unlock,     [LOCK_EXTEND] = lock_extend,
    [LOCK_GET] = lock_get,           [STOCK_LOAD] = stock_load,
    [STOCK_TAKE] = stock_take,       [STOCK_SETTLE] = stock_settle,
    [STOCK_GIVE] = stock_give,       [STOCK_GET] = stock_get,
    [STOCK_ADJUST] = stock_adjust,   [ROOM_JOIN] = room_join,
    [ROOM_POSITION] = room_position, [ROOM_LEAVE] = room_leave,
    [ROOM_ADMIT] = room_admit,       [ROOM_CHECK] = room_check,
    [IDEM_BEGIN] = idem_begin,       [IDEM_COMPLETE] = idem_complete,
    [IDEM_ABORT] = idem_abort,
};

void core_apply(struct core *core, const struct command *command, int64_t now_ms,
                struct reply *reply)
{
    if (now_ms >= core->next_due_ms) {
        core_advance(core, now_ms);
    } else if (now_ms > core->now_ms) {
        core->now_ms = now_ms;
    }
    reply_clear(reply);
    functions[command_id(command->spec)](core, &command->args, command->entropy, reply);
}

/* ---- replies --------------------------------------------------------------------------------- */

void reply_name(struct reply *reply, const struct name *name)
{
    char text[HF_ID_MAX];
    reply_text(reply, text, name_write(name, text));
}

void reply_hex(struct reply *reply, const uint8_t token[TOKEN_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char text[TOKEN_BYTES * 2];

    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        text[2 * i] = digits[token[i] >> 4];
        text[2 * i + 1] = digits[token[i] & 15];
    }
    reply_text(reply, text, sizeof text);
}

void reply_busy(struct reply *reply)
{
    reply_refuse(reply, HF_BUSY, "out of memory; nothing was changed, try again later");
}

/* ---- wakeups --------------------------------------------------------------------------------- */

bool core_reserve_wakeup(struct core *core)
{
    size_t needed = core->wakeup_count + core->waiting_calls + 1;

    if (needed <= core->wakeup_capacity) {
        return true;
    }
    size_t capacity = needed * 2, size = sizeof(*core->wakeups);
    struct wakeup *more =
        memory_resize(core->memory, core->wakeups, core->wakeup_capacity * size, capacity * size);
    if (more == NULL) {
        return false;
    }
    core->wakeups = more;
    core->wakeup_capacity = capacity;
    return true;
}

void core_wake(struct core *core, uint64_t ticket, struct wakeup wakeup)
{
    CHECK(core->wakeup_count < core->wakeup_capacity && core->waiting_calls > 0);
    wakeup.ticket = ticket;
    core->wakeups[core->wakeup_count++] = wakeup;
    core->waiting_calls--;
}

const struct wakeup *core_wakeups(const struct core *core, size_t *count)
{
    *count = core->wakeup_count;
    return core->wakeups;
}

void core_clear_wakeups(struct core *core)
{
    core->wakeup_count = 0;
}

void wakeup_reply(const struct wakeup *wakeup, struct reply *reply)
{
    reply_clear(reply);
    if (wakeup->code != HF_OK) {
        reply_refuse(reply, wakeup->code, wakeup->why);
        return;
    }
    reply->granted = true;
    reply_number(reply, wakeup->in_use);
    reply_number(reply, wakeup->fence);
}

/* ---- events ---------------------------------------------------------------------------------- */

void core_collect_events(struct core *core, bool collect)
{
    size_t size = EVENTS_MAX * sizeof(*core->events);

    core->collect_events = collect;
    core->event_count = 0;
    if (!collect) {
        memory_free(core->memory, core->events, size);
        core->events = NULL;
    } else if (core->events == NULL) {
        core->events = memory_get(core->memory, size);
    }
}

static void write_name(const struct record *record, char out[HF_ID_SIZE])
{
    struct name name = record_name(record);
    out[name_write(&name, out)] = '\0';
}

void core_emit(struct core *core, enum event_kind kind, enum kind scope_kind,
               const struct record *record, int64_t quantity)
{
    core->expired += kind != EVENT_SLOT_GRANTED;
    if (!core->collect_events) {
        return;
    }
    if (core->events == NULL || core->event_count == EVENTS_MAX) {
        core->events_dropped++;
        return;
    }
    struct event *event = &core->events[(core->event_first + core->event_count++) % EVENTS_MAX];
    event->kind = kind;
    event->time_ms = core->now_ms;
    event->quantity = quantity;
    write_name(record, event->id);
    write_name(scope_kind == NO_KIND ? record : core_at(core, scope_kind, record->scope),
               event->scope);
}

bool core_waiting_call(const struct core *core, char name[HF_ID_SIZE], char id[HF_ID_SIZE])
{
    const struct slab *clients = &core->stores[SEM_CLIENTS].slab;

    for (uint32_t i = slab_next(clients, 0); core->waiting_calls > 0 && i != NONE;
         i = slab_next(clients, i + 1)) {
        const struct sem_client *client = slab_at(clients, i);
        if (client->ticket != 0) {
            write_name(core_at(core, SEMAPHORES, client->record.scope), name);
            write_name(&client->record, id);
            return true;
        }
    }
    return false;
}

bool core_next_event(struct core *core, struct event *event)
{
    if (core->event_count == 0) {
        return false;
    }
    *event = core->events[core->event_first];
    core->event_first = (core->event_first + 1) % EVENTS_MAX;
    core->event_count--;
    return true;
}

uint64_t core_events_dropped(const struct core *core)
{
    return core->events_dropped;
}

/* ---- figures --------------------------------------------------------------------------------- */

void core_info(const struct core *core, struct hf_info *info)
{
    *info = (struct hf_info){.memory_bytes = core->memory->used, .expired = core->expired};
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (kinds[kind].holds) {
            info->holds += core->stores[kind].wheel.count;
        }
    }
    uint64_t queued = core->stores[ROOM_ENTRIES].slab.count, slots = 0;
    const struct slab *semaphores = &core->stores[SEMAPHORES].slab;
    for (uint32_t i = slab_next(semaphores, 0); i != NONE; i = slab_next(semaphores, i + 1)) {
        const struct semaphore *semaphore = slab_at(semaphores, i);
        slots += semaphore->in_use;
        queued += semaphore->line.count;
    }
    info->holds += slots - core->lapsed;
    info->waiting = queued;
}
