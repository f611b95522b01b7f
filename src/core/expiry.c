/* SPDX-License-Identifier: Apache-2.0
 *
 * The passing of time. Expiry is exact for a command that looks, and otherwise comes in bounded
 * steps: a scope (event, tenant, product, room) has an agenda of its own holds, and a command that
 * is about it first expires what is due there, so it never matters how far others are behind. Locks
 * and idempotency keys are looked up one by one, and so are the closed holds that are kept for
 * retries: each is checked when it is found. Semaphores are one scope in this, because who gets
 * which fence must follow from the state alone.
 *
 * core_step() cleans up behind the scenes, in the order of deadlines, as much as its budget allows.
 */
#include "base/check.h"
#include "core/state.h"

void core_note_due(struct core *core, int64_t time_ms)
{
    if (time_ms < core->next_due_ms) {
        core->next_due_ms = time_ms;
    }
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* Are the deadlines of one kind in the scopes of another? */
static bool has_agenda_in(enum kind child, enum kind kind)
{
    return kinds[child].agenda_offset != 0 && kinds[child].parent == kind;
}

/* When the first hold of the scope is due; AGENDA_NEVER if none has a deadline. */
static int64_t scope_next(const struct core *core, enum kind kind, uint32_t index)
{
    int64_t next_ms = AGENDA_NEVER;

    for (enum kind child = 0; child < CORE_KIND_COUNT; child++) {
        const struct store *store = &core->stores[child];
        if (has_agenda_in(child, kind)) {
            const char *scope = core_at(core, kind, index);
            int64_t first_ms = agenda_next(
                &store->pool, (const struct agenda *)(scope + kinds[child].agenda_offset));
            next_ms = first_ms < next_ms ? first_ms : next_ms;
        }
    }
    return next_ms;
}

void core_arm(struct core *core, enum kind kind, uint32_t index, int64_t deadline_ms)
{
    struct store *store = &core->stores[kind];

    store_arm(store, index, deadline_ms);
    if (store->scopes != NULL) {
        enum kind parent = kinds[kind].parent;
        uint32_t scope = ((struct record *)store_at(store, index))->scope;
        int64_t known_ms = record_deadline_ms(core_at(core, parent, scope));
        if (known_ms == 0 || deadline_ms < known_ms) {
            store_arm(&core->stores[parent], scope, deadline_ms);
        }
    }
    core_note_due(core, deadline_ms);
}

/* Time alone changes something, by this deadline. */
static void note_change(struct core *core, int64_t deadline_ms)
{
    if (deadline_ms > core->changed_ms) {
        core->changed_ms = deadline_ms;
    }
}

void core_tell_time(struct core *core)
{
    note_change(core, core->now_ms);
}

/* A record whose timer was just disarmed fell due at its deadline. */
static void fall_due(struct core *core, enum kind kind, uint32_t index, int64_t deadline_ms)
{
    note_change(core, deadline_ms);
    core->now_ms = deadline_ms;
    kinds[kind].due(core, index);
    core->now_ms = core->latest_ms;
}

/* ---- one scope ------------------------------------------------------------------------------- */

/* Expires what is due of one kind in a scope; true if nothing is left. */
static bool expire_children(struct core *core, enum kind child, uint32_t scope, int64_t until_ms,
                            int64_t *budget)
{
    enum kind kind = kinds[child].parent;
    struct store *store = &core->stores[child];
    struct agenda *agenda =
        (struct agenda *)((char *)core_at(core, kind, scope) + kinds[child].agenda_offset);
    int64_t deadline_ms;

    /* A scope may go away with the last of its holds. */
    while (slab_has(&core->stores[kind].slab, scope)) {
        if (*budget <= 0) {
            return agenda_next(&store->pool, agenda) > until_ms;
        }
        uint32_t index = store_pop(store, agenda, until_ms, &deadline_ms);
        if (index == NONE) {
            return true;
        }
        fall_due(core, child, index, deadline_ms);
        --*budget;
    }
    return true;
}

/* Expires what is due in a scope; true if nothing is left. The scope may be gone then. */
static bool expire_scope(struct core *core, enum kind kind, uint32_t scope, int64_t until_ms,
                         int64_t *budget)
{
    struct store *scopes = &core->stores[kind];
    bool done = true;

    for (enum kind child = 0; child < CORE_KIND_COUNT; child++) {
        if (has_agenda_in(child, kind) && slab_has(&scopes->slab, scope)) {
            done = expire_children(core, child, scope, until_ms, budget) && done;
        }
    }
    if (done && slab_has(&scopes->slab, scope)) {
        int64_t next_ms = scope_next(core, kind, scope);
        if (next_ms == AGENDA_NEVER) {
            store_disarm(scopes, scope);
        } else if (record_deadline_ms(store_at(scopes, scope)) != next_ms) {
            store_arm(scopes, scope, next_ms);
        }
    }
    return done;
}

static bool scope_is_due(const struct core *core, enum kind kind, uint32_t scope)
{
    int64_t deadline_ms = record_deadline_ms(core_at(core, kind, scope));

    return deadline_ms != 0 && deadline_ms <= core->latest_ms;
}

uint32_t core_enter(struct core *core, enum kind kind, struct hf_bytes id)
{
    uint32_t scope = core_find_recent(core, kind, 0, id);

    if (scope != NONE && scope_is_due(core, kind, scope)) {
        int64_t budget = INT64_MAX;
        expire_scope(core, kind, scope, core->latest_ms, &budget);
        scope = slab_has(&core->stores[kind].slab, scope) ? scope : NONE;
    }
    return scope;
}

uint32_t core_find_hold(struct core *core, enum kind kind, const struct key *key)
{
    struct store *store = &core->stores[kind];
    uint32_t index = store_find(store, key);

    if (index == NONE) {
        return NONE;
    }
    const struct record *record = store_at(store, index);
    int64_t deadline_ms = record_deadline_ms(record);
    if (deadline_ms == 0 || deadline_ms > core->latest_ms) {
        return index;
    }
    if (record->marks & RECORD_CLOSED) {
        note_change(core, deadline_ms);
        core_forget(core, kind, index);
    } else {
        store_disarm(store, index);
        fall_due(core, kind, index, deadline_ms);
    }
    return NONE;
}

/* ---- semaphores ------------------------------------------------------------------------------ */

/* Expires clients up to a time, millisecond by millisecond: those that lose their slots at the same
 * time all lose them before any is handed on. True if nothing is left. */
static bool expire_clients(struct core *core, int64_t until_ms, int64_t *budget)
{
    struct store *store = &core->stores[CORE_SEM_CLIENTS];
    int64_t deadline_ms;

    for (;;) {
        int64_t next_ms = agenda_next(&store->pool, &store->agenda);
        if (core->touched != NONE && next_ms > core->touched_ms) {
            if (!sem_settle(core, budget)) {
                return false;
            }
            continue; /* The new holders have new deadlines. */
        }
        if (next_ms > until_ms) {
            return true;
        }
        uint32_t index;
        while (*budget > 0 &&
               (index = store_pop(store, &store->agenda, next_ms, &deadline_ms)) != NONE) {
            core->touched_ms = deadline_ms;
            fall_due(core, CORE_SEM_CLIENTS, index, deadline_ms);
            --*budget;
        }
        if (*budget <= 0) {
            return false;
        }
    }
}

void core_enter_semaphores(struct core *core)
{
    int64_t budget = INT64_MAX;

    CHECK(expire_clients(core, core->latest_ms, &budget));
}

/* ---- all ------------------------------------------------------------------------------------- */

void core_reach(struct core *core, int64_t now_ms)
{
    CHECK(now_ms < TIME_MAX_MS);
    if (now_ms > core->latest_ms) {
        core->now_ms = core->latest_ms = now_ms;
    }
}

/* Does a record belong to a scope that was closed? */
static bool is_left_behind(const struct core *core, enum kind kind, const struct record *record)
{
    const struct record *scope = core_at(core, kinds[kind].parent, record->scope);

    return scope->marks & RECORD_LEAVING;
}

/* Forgets the closed records of a kind whose retry window is over. Those of a closed scope were
 * forgotten with it: when they go changes nothing. */
static void forget_closed(struct core *core, enum kind kind, int64_t until_ms, int64_t *budget)
{
    const struct store *store = &core->stores[kind];

    while (*budget > 0 && store->closed != NONE) {
        const struct record *oldest = store_at(store, store->closed);
        if (record_deadline_ms(oldest) > until_ms) {
            break;
        }
        if (!is_left_behind(core, kind, oldest)) {
            note_change(core, record_deadline_ms(oldest));
        }
        core_forget(core, kind, store->closed);
        --*budget;
    }
}

/* Expires what is due of a kind, or in its scopes. */
static void expire_kind(struct core *core, enum kind kind, int64_t until_ms, int64_t *budget)
{
    struct store *store = &core->stores[kind];
    int64_t deadline_ms;
    uint32_t index;

    forget_closed(core, kind, until_ms, budget);
    if (kind == CORE_SEM_CLIENTS) {
        expire_clients(core, until_ms, budget);
        return;
    }
    while (*budget > 0 && store->scopes == NULL &&
           (index = store_pop(store, &store->agenda, until_ms, &deadline_ms)) != NONE) {
        if (kinds[kind].due != NULL) {
            fall_due(core, kind, index, deadline_ms);
        } else if (!expire_scope(core, kind, index, until_ms, budget)) {
            store_arm(store, index, deadline_ms); /* the rest is still due */
        }
        --*budget;
    }
}

static int64_t earliest(const struct core *core)
{
    int64_t next_ms = core->touched != NONE ? core->touched_ms : INT64_MAX;

    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        int64_t due_ms = store_next(&core->stores[kind]);
        next_ms = due_ms < next_ms ? due_ms : next_ms;
    }
    return next_ms;
}

/* Expires what is due, in the order of the deadlines; true if nothing is left. */
static bool expire_due(struct core *core, int64_t *budget)
{
    while (core->next_due_ms <= core->latest_ms) {
        int64_t until_ms = core->next_due_ms;
        for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
            expire_kind(core, kind, until_ms, budget);
        }
        core->next_due_ms = earliest(core);
        if (*budget <= 0) {
            return core->next_due_ms > core->latest_ms;
        }
    }
    return true;
}

bool core_step(struct core *core, int64_t now_ms, int64_t budget)
{
    core_reach(core, now_ms);
    return expire_due(core, &budget) && core_leave(core, &budget);
}

bool core_ready_in(struct core *core, enum kind kind, struct hf_bytes id, int64_t budget)
{
    if (core->next_due_ms > core->latest_ms || kind == CORE_NO_KIND) {
        return true;
    }
    if (kind == CORE_SEMAPHORES) {
        return expire_clients(core, core->latest_ms, &budget);
    }
    uint32_t scope = core_find(core, kind, 0, id);
    return scope == NONE || !scope_is_due(core, kind, scope) ||
           expire_scope(core, kind, scope, core->latest_ms, &budget);
}

void core_advance(struct core *core, int64_t now_ms)
{
    int64_t budget = INT64_MAX;

    core_reach(core, now_ms);
    CHECK(expire_due(core, &budget));
}
