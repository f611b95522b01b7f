/* SPDX-License-Identifier: Apache-2.0
 *
 * Dispatch, the passing of time, and what leaves the core. */
#include "core/core.h"

#include "base/check.h"
#include "base/error.h"
#include "core/quota_commits.h"

const struct kind_spec kinds[CORE_KIND_COUNT] = {
    [CORE_EVENTS] = {.name = "event",
                     .record_size = sizeof(struct seat_event),
                     .parent = CORE_NO_KIND,
                     .place_offset = offsetof(struct seat_event, roster_place)},
    [CORE_ZONES] = {.name = "zone",
                    .record_size = sizeof(struct zone),
                    .parent = CORE_EVENTS,
                    .all_flags = ZONE_LIFETIME,
                    .place_offset = offsetof(struct zone, roster_place),
                    .roster_offset = offsetof(struct seat_event, zones)},
    [CORE_SEAT_USERS] = {.name = "user",
                         .record_size = sizeof(struct seat_user),
                         .parent = CORE_EVENTS},
    [CORE_SHOWS] = {.name = "show", .record_size = sizeof(struct show), .parent = CORE_EVENTS},
    [CORE_BOOKINGS] = {.name = "booking",
                       .record_size = sizeof(struct booking),
                       .parent = CORE_EVENTS,
                       .place_offset = offsetof(struct booking, roster_place),
                       .roster_offset = offsetof(struct seat_event, bookings),
                       .agenda_offset = offsetof(struct seat_event, deadlines),
                       .last_state = BOOKING_REFUNDED,
                       .all_flags = BOOKING_LIFETIME,
                       .holds = true,
                       .due = booking_due,
                       .let_go = booking_let_go},
    [CORE_TENANTS] = {.name = "tenant",
                      .record_size = sizeof(struct tenant),
                      .parent = CORE_NO_KIND,
                      .place_offset = offsetof(struct tenant, roster_place),
                      .loose = true,
                      .let_go = tenant_let_go},
    [CORE_QUOTA_HOLDS] = {.name = "quota hold",
                          .record_size = sizeof(struct quota_hold),
                          .parent = CORE_TENANTS,
                          .place_offset = offsetof(struct quota_hold, roster_place),
                          .roster_offset = offsetof(struct tenant, open_holds),
                          .agenda_offset = offsetof(struct tenant, deadlines),
                          .last_state = HOLD_CANCELLED,
                          .all_flags = HOLD_EXTENDED,
                          .holds = true,
                          .due = quota_hold_due,
                          .let_go = quota_hold_let_go},
    [CORE_SEMAPHORES] = {.name = "semaphore",
                         .record_size = sizeof(struct semaphore),
                         .parent = CORE_NO_KIND,
                         .place_offset = offsetof(struct semaphore, roster_place),
                         .let_go = semaphore_let_go},
    [CORE_SEM_CLIENTS] = {.name = "semaphore client",
                          .record_size = sizeof(struct sem_client),
                          .parent = CORE_SEMAPHORES,
                          .place_offset = offsetof(struct sem_client, roster_place),
                          .roster_offset = offsetof(struct semaphore, clients),
                          .last_state = CLIENT_HOLDING,
                          .due = sem_client_due},
    [CORE_LOCKS] = {.name = "lock",
                    .record_size = sizeof(struct lock),
                    .parent = CORE_NO_KIND,
                    .place_offset = offsetof(struct lock, roster_place),
                    .loose = true,
                    .holds = true,
                    .due = lock_due,
                    .let_go = lock_let_go},
    [CORE_PRODUCTS] = {.name = "product",
                       .record_size = sizeof(struct core_product),
                       .parent = CORE_NO_KIND,
                       .place_offset = offsetof(struct core_product, roster_place),
                       .all_flags = PRODUCT_STEAL},
    [CORE_ORDERS] = {.name = "order",
                     .record_size = sizeof(struct order),
                     .parent = CORE_PRODUCTS,
                     .place_offset = offsetof(struct order, roster_place),
                     .roster_offset = offsetof(struct core_product, orders),
                     .agenda_offset = offsetof(struct core_product, deadlines),
                     .last_state = ORDER_GIVEN,
                     .holds = true,
                     .due = order_due,
                     .let_go = order_let_go},
    [CORE_STOCK_USERS] = {.name = "user",
                          .record_size = sizeof(struct stock_user),
                          .parent = CORE_PRODUCTS,
                          .since = 4},
    [CORE_ROOMS] = {.name = "room",
                    .record_size = sizeof(struct room),
                    .parent = CORE_NO_KIND,
                    .place_offset = offsetof(struct room, roster_place),
                    .loose = true,
                    .all_flags = ROOM_RANDOM | ROOM_PAUSED | ROOM_GATE | ROOM_SHUFFLED,
                    .let_go = room_let_go},
    [CORE_ROOM_ENTRIES] = {.name = "queue entry",
                           .record_size = sizeof(struct room_entry),
                           .parent = CORE_ROOMS,
                           .agenda_offset = offsetof(struct room, entry_deadlines),
                           .due = room_entry_due},
    [CORE_ROOM_PASSES] = {.name = "pass",
                          .record_size = sizeof(struct room_pass),
                          .parent = CORE_ROOMS,
                          .agenda_offset = offsetof(struct room, pass_deadlines),
                          .due = room_pass_due,
                          .let_go = room_pass_let_go},
    [CORE_ROOM_NOTES] = {.name = "admission",
                         .record_size = sizeof(struct room_note),
                         .parent = CORE_ROOMS,
                         .agenda_offset = offsetof(struct room, note_deadlines),
                         .since = 5,
                         .due = room_note_due,
                         .let_go = room_note_let_go},
    [CORE_IDEM_KEYS] = {.name = "idempotency key",
                        .record_size = sizeof(struct idem),
                        .parent = CORE_NO_KIND,
                        .place_offset = offsetof(struct idem, roster_place),
                        .loose = true,
                        .last_state = IDEM_COMPLETED,
                        .due = idem_due,
                        .let_go = idem_let_go},
};

/* Has a kind a timer: for its own deadline, or for the first of its holds'? */
static bool is_timed(enum kind kind)
{
    bool timed = kinds[kind].due != NULL;

    for (enum kind child = 0; child < CORE_KIND_COUNT; child++) {
        timed |= kinds[child].agenda_offset != 0 && kinds[child].parent == kind;
    }
    return timed;
}

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
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        core->leaving[kind] = NONE;
        store_init(&core->stores[kind], memory, core->hash_key, kinds[kind].record_size,
                   is_timed(kind));
        if (kinds[kind].agenda_offset != 0) {
            store_by_scope(&core->stores[kind], &core->stores[kinds[kind].parent],
                           kinds[kind].agenda_offset);
        }
        if (kinds[kind].place_offset != 0) {
            bool has_owner = kinds[kind].parent != CORE_NO_KIND;
            store_list(&core->stores[kind], has_owner ? &core->stores[kinds[kind].parent] : NULL,
                       kinds[kind].roster_offset, kinds[kind].place_offset);
        }
    }
    slab_init(&core->sales, memory, sizeof(struct sale));
    slab_init(&core->commits, memory, sizeof(struct quota_commits));
    return core;
}

void core_free_rosters(struct core *core)
{
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        struct store *store = &core->stores[kind];
        const struct slab *owners = store->owners != NULL ? &store->owners->slab : NULL;
        for (uint32_t i = owners != NULL ? slab_next(owners, 0) : NONE; i != NONE;
             i = slab_next(owners, i + 1)) {
            roster_free(store_roster(store, i), core->memory);
        }
    }
}

void core_destroy(struct core *core)
{
    if (core == NULL) {
        return;
    }
    core_free_rosters(core);
    /* Children first: a record may reach for those it names. */
    for (unsigned n = CORE_KIND_COUNT; n-- > 0;) {
        enum kind kind = core_kind_in_turn(n);
        struct slab *slab = &core->stores[kind].slab;
        for (uint32_t i = slab_next(slab, 0); kinds[kind].let_go && i != NONE;
             i = slab_next(slab, i + 1)) {
            kinds[kind].let_go(core, i);
        }
        store_free(&core->stores[kind]);
    }
    slab_free(&core->sales);
    slab_free(&core->commits);
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

void core_close(struct core *core, enum kind kind, uint32_t index)
{
    int64_t until_ms = core->now_ms + RETRY_WINDOW_MS;

    store_close(&core->stores[kind], index, until_ms);
    core_note_due(core, until_ms);
}

void core_forget(struct core *core, enum kind kind, uint32_t index)
{
    struct store *store = &core->stores[kind];
    const struct record *record = store_at(store, index);

    if (record->marks & RECORD_LEAVING) {
        return; /* The last of its holds is gone, but other records may be left. */
    }
    if (!(record->marks & RECORD_CLOSED)) {
        store_disarm(store, index); /* while the scope that has its agenda is there for sure */
    }
    store_unlist(store, index);
    if (kinds[kind].let_go != NULL) {
        kinds[kind].let_go(core, index);
    }
    store_remove(store, index);
}

int64_t core_now(const struct core *core)
{
    return core->latest_ms;
}

int64_t core_changed_ms(const struct core *core)
{
    return core->changed_ms;
}

int64_t core_next_due(const struct core *core)
{
    return core->leaving_total > 0 ? core->latest_ms : core->next_due_ms;
}

/* ---- from one run to the next ---------------------------------------------------------------- */

#define FENCE_JUMP ((int64_t)1 << 30) /* more grants than a second or two can lose */
#define FENCES_PER_MS 1000

int64_t core_start_fence(const struct core *core, int64_t now_ms)
{
    int64_t room = (HF_INTEGER_MAX - core->fence) >> 10;
    int64_t jumped = core->fence + (room < FENCE_JUMP ? room : FENCE_JUMP);
    int64_t half = HF_INTEGER_MAX / 2;
    int64_t by_time = now_ms < half / FENCES_PER_MS ? now_ms * FENCES_PER_MS : half;

    return jumped > by_time ? jumped : by_time;
}

void core_begin_run(struct core *core, const struct clock_run *run, int64_t fence, int64_t now_ms)
{
    core_advance(core, now_ms);
    core->run = *run;
    if (fence > core->fence) {
        core->fence = fence;
    }
}

const struct clock_run *core_run(const struct core *core)
{
    return &core->run;
}

/* ---- commands -------------------------------------------------------------------------------- */

typedef CORE_COMMAND(core_function);

/* Of the commands that the service carries out. They come here where there is none around the
 * engine. */
static CORE_COMMAND(without_ledger)
{
    (void)core;
    (void)args;
    (void)entropy;
    reply_refuse(reply, HF_LEDGER_DOWN, ERROR_TEXT_NO_LEDGER);
}

/* The function of a command, by the scope that the list gives it. */
#define RUN_EVENTS(name) name
#define RUN_TENANTS(name) name
#define RUN_SEMAPHORES(name) name
#define RUN_PRODUCTS(name) name
#define RUN_ROOMS(name) name
#define RUN_NO_KIND(name) name
#define RUN_SERVICE(name) without_ledger
#define CORE_SERVICE CORE_NO_KIND

/* What carries a command out, and the kind of its scope; CORE_NO_KIND for commands that look one
 * record up. */
static const struct {
    core_function *run;
    enum kind scope;
} commands[COMMAND_COUNT] = {
#define X(id, name, reply, memory, scope) [id] = {RUN_##scope(name), CORE_##scope},
    COMMAND_LIST(X)
#undef X
};

bool core_ready(struct core *core, const struct command *command, int64_t now_ms, int64_t budget)
{
    struct hf_bytes scope;

    core_reach(core, now_ms);
    memcpy(&scope, command_arg(command, &command->spec->args[0]), sizeof scope);
    return core_ready_in(core, commands[command_id(command->spec)].scope, scope, budget);
}

/* Apart from core_apply(), which then needs no budget on its stack. */
__attribute__((noinline)) static void leave_some(struct core *core)
{
    core_leave(core, &(int64_t){LEFT_AT_ONCE});
}

void core_apply(struct core *core, const struct command *command, int64_t now_ms,
                struct reply *reply)
{
    if (now_ms >= core->next_due_ms) {
        core_step(core, now_ms, EXPIRED_AT_ONCE);
    } else {
        core_reach(core, now_ms);
    }
    if (core->leaving_total > 0) {
        leave_some(core);
    }
    reply_clear(reply);
    commands[command_id(command->spec)].run(core, &command->args, command->entropy, reply);
    if (reply->code != HF_OK) {
        reply_name_missing(reply, command);
    }
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
        reply_refuse_with(reply, wakeup->code, wakeup->why, wakeup->slots, wakeup->limit, 0);
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
    if (core->events == NULL || core->event_count == EVENTS_MAX) {
        return;
    }
    struct event *event = &core->events[(core->event_first + core->event_count++) % EVENTS_MAX];
    event->kind = kind;
    event->time_ms = core->now_ms;
    event->quantity = quantity;
    write_name(record, event->id);
    write_name(scope_kind == CORE_NO_KIND ? record : core_at(core, scope_kind, record->scope),
               event->scope);
}

bool core_waiting_call(const struct core *core, uint32_t *cursor, char name[HF_ID_SIZE],
                       char id[HF_ID_SIZE])
{
    const struct slab *clients = &core->stores[CORE_SEM_CLIENTS].slab;

    for (uint32_t i = slab_next(clients, *cursor); core->waiting_calls > 0 && i != NONE;
         i = slab_next(clients, i + 1)) {
        const struct sem_client *client = slab_at(clients, i);
        *cursor = i + 1;
        if (client->ticket != 0) {
            write_name(core_at(core, CORE_SEMAPHORES, client->record.scope), name);
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

/* ---- figures --------------------------------------------------------------------------------- */

void core_info(const struct core *core, struct hf_info *info)
{
    *info = (struct hf_info){.memory_bytes = core->memory->used, .expired = core->expired};
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        if (kinds[kind].holds) {
            info->holds += core->stores[kind].armed;
        }
    }
    info->holds += core->holders - core->lapsed;
    info->waiting = core->stores[CORE_ROOM_ENTRIES].slab.count + core->in_line;
}
