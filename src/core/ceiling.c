/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory the state may take. Beyond the limit nothing new is taken; what exists goes on,
 * and whatever gives back is let through.
 *
 * What goes on needs memory, too: a booking that is confirmed gets the record of its sale, a
 * request that was begun its answer. That much is counted as in use from the beginning, so that all
 * of it stays below the limit. Answers may be of any size: those larger than what was counted for
 * them, and new keys of requests, have an eighth of the limit of their own on top, so that a
 * request that gives back can have a key as well; when that is used up, they are refused.
 *
 * The limit is no part of the state. Recovery has none: what was acknowledged is taken whatever it
 * takes. */
#include "core/state.h"

#define SALE_PROMISED (sizeof(struct sale) + 48) /* with the id of a payment */
#define ANSWERS_PART 8                           /* of the limit, on top of it */

void core_limit_memory(struct core *core, size_t max)
{
    core->memory_max = max;
}

/* For what is open now and will go on. */
static size_t promised(const struct core *core)
{
    size_t reserved = core->stores[CORE_BOOKINGS].armed - core->lapsed;

    return reserved * SALE_PROMISED + core->processing * (size_t)IDEM_ANSWER_PROMISED;
}

bool core_is_full(const struct core *core)
{
    return core->memory_max != 0 && core->memory->used + promised(core) >= core->memory_max;
}

bool core_answers_are_full(const struct core *core)
{
    return core->memory_max != 0 &&
           core->memory->used >= core->memory_max + core->memory_max / ANSWERS_PART;
}

uint32_t core_add(struct core *core, enum kind kind, const struct key *key)
{
    bool full = kind == CORE_IDEM_KEYS ? core_answers_are_full(core) : core_is_full(core);

    return full ? NONE : store_add(&core->stores[kind], key);
}

void reply_busy(const struct core *core, struct reply *reply)
{
    if (core_is_full(core)) {
        reply_refuse_with(reply, HF_BUSY,
                          "# of # bytes of memory are in use, # more are kept for what is open: "
                          "nothing new is taken until some is given back; raise max-memory",
                          (int64_t)core->memory->used, (int64_t)core->memory_max,
                          (int64_t)promised(core));
    } else {
        reply_refuse(reply, HF_BUSY, "out of memory; nothing was changed, try again later");
    }
}

void core_memory_parts(const struct core *core, struct core_memory *parts)
{
    *parts = (struct core_memory){.limit = core->memory_max,
                                  .promised = promised(core),
                                  .answers = core->answer_bytes,
                                  .confirmed = core->sales.count};
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        const struct store *store = &core->stores[kind];
        parts->records += (size_t)store->slab.size * store->slab.record_size;
        parts->indexes += (size_t)store->table.segment_count * (store->table.slot_mask + 1) *
                          sizeof(struct table_slot);
    }
    parts->records += (size_t)core->sales.size * core->sales.record_size +
                      (size_t)core->commits.size * core->commits.record_size;
    size_t known = parts->records + parts->indexes + parts->answers;
    parts->rest = core->memory->used > known ? core->memory->used - known : 0;
}
