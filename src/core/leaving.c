/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes that were closed. A closed scope loses its name and its deadline at once: no command finds
 * it any more, nor anything in it, since all of that is found through its index. A scope of the
 * same name is another one. What it leaves behind is freed in bounded steps: its holds first, since
 * they reach for the other records of the scope, then those, then the scope itself. Only then can
 * its index be had again. A snapshot, a digest and an audit finish this first, so nothing that
 * outlives the process ever knows of it. */
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
    core->leaving_count++;
}

/* Frees up to `budget` records of a kind that belong to a scope; true if none is left. */
static bool free_children(struct core *core, enum kind child, uint32_t scope, int64_t *budget)
{
    const struct slab *slab = &core->stores[child].slab;
    uint32_t index;

    while ((index = slab_next(slab, core->leaving_at)) != NONE) {
        if (--*budget < 0) {
            return false;
        }
        core->leaving_at = index + 1;
        if (((struct record *)slab_at(slab, index))->scope == scope) {
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

/* Frees what a scope left behind, kind by kind, those with deadlines first; true if nothing is
 * left. */
static bool free_scope(struct core *core, enum kind kind, uint32_t index, int64_t *budget)
{
    while (core->leaving_pass < 2 * CORE_KIND_COUNT) {
        enum kind child = core->leaving_pass % CORE_KIND_COUNT;
        if (is_child(child, kind, core->leaving_pass < CORE_KIND_COUNT) &&
            !free_children(core, child, index, budget)) {
            return false;
        }
        core->leaving_pass++;
    }
    core->leaving_pass = 0;
    return true;
}

bool core_leave(struct core *core, int64_t *budget)
{
    for (enum kind kind = 0; core->leaving_count > 0 && kind < CORE_KIND_COUNT; kind++) {
        struct store *store = &core->stores[kind];
        uint32_t index;
        while ((index = core->leaving[kind]) != NONE) {
            if (!free_scope(core, kind, index, budget)) {
                return false;
            }
            timer_chain_remove(&store->slab, TIMER_OFFSET, &core->leaving[kind], index);
            ((struct record *)store_at(store, index))->marks &= (uint8_t)~RECORD_LEAVING;
            core_forget(core, kind, index);
            core->leaving_count--;
        }
    }
    return true;
}

void core_settle(struct core *core)
{
    int64_t budget = INT64_MAX;

    core_advance(core, core->latest_ms);
    CHECK(core_leave(core, &budget));
}
