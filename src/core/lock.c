/* SPDX-License-Identifier: Apache-2.0
 *
 * Lock: one holder, who alone has the key to unlock, and a fence that grows with every grant. */
#include "base/check.h"
#include "base/uuid.h"
#include "core/state.h"

static struct lock *lock_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_LOCKS, index);
}

/* What must be true of a lock after every change: it has an end, and a fence no other has after it.
 */
static void lock_check(const struct core *core, const struct lock *lock)
{
    CHECK(lock->fence <= core->fence);
    CHECK(lock->timer.deadline_ms > core->now_ms);
}

/* The lock on a resource if this id holds it, or NONE. */
static uint32_t find_held(struct core *core, struct hf_bytes resource, struct hf_bytes id)
{
    struct key key = core_key(core, CORE_LOCKS, 0, resource);
    uint32_t index = core_find_hold(core, CORE_LOCKS, &key);
    struct name name = name_view(id);

    return index != NONE && name_same(&lock_at(core, index)->id, &name) ? index : NONE;
}

static void answer(struct reply *reply, const struct lock *lock)
{
    reply_name(reply, &lock->id);
    reply_number(reply, lock->fence);
}

static struct name new_id(struct hf_bytes given, const uint8_t *entropy)
{
    uint8_t uuid[UUID_BYTES];

    if (given.size > 0) {
        return name_view(given);
    }
    memcpy(uuid, entropy, sizeof uuid);
    uuid_from_random(uuid);
    return name_uuid(uuid);
}

CORE_COMMAND(lock_try)
{
    const struct hf_lock_try_args *a = &args->lock_try;
    struct key key = core_key(core, CORE_LOCKS, 0, a->resource);
    struct name id = new_id(a->id, entropy);
    core_enter_semaphores(core);
    uint32_t index = core_find_hold(core, CORE_LOCKS, &key);

    if (index != NONE) {
        const struct lock *lock = lock_at(core, index);
        if (name_same(&lock->id, &id)) {
            answer(reply, lock);
        } else {
            reply_refuse_with(reply, HF_LOCKED, "somebody else holds the lock, for # ms still",
                              lock->timer.deadline_ms - core->now_ms, 0, 0);
        }
        return;
    }
    if (!name_own(core->memory, &id)) {
        reply_busy(core, reply);
        return;
    }
    index = core_add(core, CORE_LOCKS, &key);
    if (index == NONE) {
        name_free(core->memory, &id);
        reply_busy(core, reply);
        return;
    }
    struct lock *lock = lock_at(core, index);
    lock->id = id;
    lock->fence = core_next_fence(core);
    core_arm(core, CORE_LOCKS, index, core->now_ms + a->ttl_ms);
    lock_check(core, lock);
    answer(reply, lock);
}

CORE_COMMAND(lock_unlock)
{
    const struct hf_lock_unlock_args *a = &args->lock_unlock;
    uint32_t index = find_held(core, a->resource, a->lock_id);
    (void)entropy;

    if (index != NONE) {
        core_forget(core, CORE_LOCKS, index);
    }
    reply_number(reply, index != NONE);
}

CORE_COMMAND(lock_extend)
{
    const struct hf_lock_extend_args *a = &args->lock_extend;
    uint32_t index = find_held(core, a->resource, a->lock_id);
    (void)entropy;

    if (index != NONE) {
        core_arm(core, CORE_LOCKS, index, core->now_ms + a->ttl_ms);
        lock_check(core, lock_at(core, index));
    }
    reply_number(reply, index != NONE);
}

CORE_COMMAND(lock_get)
{
    struct key key = core_key(core, CORE_LOCKS, 0, args->lock_get.resource);
    uint32_t index = core_find_hold(core, CORE_LOCKS, &key);
    (void)entropy;

    if (index == NONE) {
        reply_refuse(reply, HF_NOT_FOUND, "nobody holds the lock");
        return;
    }
    const struct lock *lock = lock_at(core, index);
    answer(reply, lock);
    reply_number(reply, lock->timer.deadline_ms - core->now_ms);
}

void lock_due(struct core *core, uint32_t index)
{
    core_emit(core, EVENT_LOCK_EXPIRED, CORE_NO_KIND, &lock_at(core, index)->record, 1);
    core_forget(core, CORE_LOCKS, index);
}

void lock_let_go(struct core *core, uint32_t index)
{
    name_free(core->memory, &lock_at(core, index)->id);
}
