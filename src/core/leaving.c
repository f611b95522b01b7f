/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes that were closed. A closed scope loses its name and its deadline at once: no command finds
 * it any more, nor anything in it, since all of that is found through its index. A scope of the
 * same name is another one. What it leaves behind is freed in bounded steps: its holds first, since
 * they reach for the other records of the scope, then those, then the scope itself. Only then can
 * its index be had again. They are found by a sweep over all records of their kinds, one for all
 * scopes that were closed before it began. A snapshot, a digest and an audit finish this first, so
 * nothing that outlives the process ever knows of it. */
#include "base/check.h"
#include "core/state.h"

#define TIMER_OFFSET sizeof(struct record)

void core_close_scope(struct core *core, enum kind kind, uint32_t index)
{
    struct store *store = &core->stores[kind];
    struct record *record = store_at(store, index);

    CHECK(store->timed && !(record->marks & (RECORD_HIDDEN | RECORD_LEAVING)));
    store_disarm(store, index);
    store_hide(store, index);
    record->marks |= RECORD_LEAVING;
    timer_chain_append(&store->slab, TIMER_OFFSET, &core->leaving[kind], index);
    core->leaving_count[kind]++;
    core->leaving_total++;
}

/* Frees the records of a kind whose scopes are swept, from where the last call ended, and looks at
 * `budget` of them; true if it came to the end. */
static bool sweep_children(struct core *core, enum kind child, int64_t *budget)
{
    const struct slab *slab = &core->stores[child].slab;
    enum kind parent = kinds[child].parent;
    uint32_t index;

    while ((index = slab_next(slab, core->leaving_at)) != NONE) {
        if (--*budget < 0) {
            return false;
        }
        core->leaving_at = index + 1;
        uint32_t scope = ((struct record *)slab_at(slab, index))->scope;
        if (((struct record *)core_at(core, parent, scope))->marks & RECORD_SWEPT) {
            core_forget(core, child, index);
        }
    }
    core->leaving_at = 0;
    return true;
}

/* Are the records of a kind in a scope of another, and have they deadlines there? */
static bool is_child(enum kind child, enum kind kind, bool with_deadlines)
{
    return kinds[child].parent == kind && (kinds[child].agenda_offset != 0) == with_deadlines;
}

/* Sweeps over the kinds of records that scopes of a kind have, those with deadlines first; true if
 * it came to the end. */
static bool sweep(struct core *core, enum kind kind, int64_t *budget)
{
    while (core->leaving_pass < 2 * CORE_KIND_COUNT) {
        enum kind child = core->leaving_pass % CORE_KIND_COUNT;
        if (is_child(child, kind, core->leaving_pass < CORE_KIND_COUNT) &&
            !sweep_children(core, child, budget)) {
            return false;
        }
        core->leaving_pass++;
    }
    core->leaving_pass = 0;
    return true;
}

/* Frees the scopes of a kind that were closed before the sweep began. */
static void free_scopes(struct core *core, enum kind kind)
{
    struct store *store = &core->stores[kind];

    for (; core->leaving_swept > 0; core->leaving_swept--) {
        uint32_t index = core->leaving[kind];
        timer_chain_remove(&store->slab, TIMER_OFFSET, &core->leaving[kind], index);
        ((struct record *)store_at(store, index))->marks &=
            (uint8_t) ~(RECORD_LEAVING | RECORD_SWEPT);
        core_forget(core, kind, index);
        core->leaving_count[kind]--;
        core->leaving_total--;
    }
}

/* A sweep begins, for all scopes of a kind that are closed now. One that is closed later waits for
 * the next: this one may have passed its holds, which reach for what is freed after them. */
static void begin_sweep(struct core *core)
{
    enum kind kind = 0;

    while (core->leaving_count[kind] == 0) {
        kind++;
    }
    core->leaving_kind = kind;
    core->leaving_swept = core->leaving_count[kind];
    uint32_t index = core->leaving[kind];
    for (uint32_t i = 0; i < core->leaving_swept; i++) {
        struct record *record = core_at(core, kind, index);
        record->marks |= RECORD_SWEPT;
        index = record_timer(record)->next;
    }
}

bool core_leave(struct core *core, int64_t *budget)
{
    while (core->leaving_total > 0) {
        if (core->leaving_swept == 0) {
            begin_sweep(core);
        }
        if (!sweep(core, core->leaving_kind, budget)) {
            return false;
        }
        free_scopes(core, core->leaving_kind);
    }
    return true;
}

void core_settle(struct core *core)
{
    int64_t budget = INT64_MAX;

    core_advance(core, core->latest_ms);
    CHECK(core_leave(core, &budget));
}
