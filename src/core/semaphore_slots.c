/* SPDX-License-Identifier: Apache-2.0
 *
 * The slots of semaphores: how one is granted, given up and handed on to the first in line, by a
 * command or because time passed. The commands themselves stand in semaphore.c. */
#include "core/semaphore_slots.h"

#include "base/check.h"

void semaphore_let_go(struct core *core, uint32_t index)
{
    line_free(&semaphore_at(core, index)->line, core->memory);
}

/* What must be true of a semaphore after every change of its slots or its line:
 *   1. there are no slots in use without a holder, and its waiters are among all waiters,
 *   2. every waiter waits for at least one slot, and for no more than one client can hold,
 *   3. every client record is a holder or a waiter, and none is both.
 * Slots beyond the limit are none, or the limit was lowered since: see grant_check(). */
void sem_check(const struct core *core, const struct semaphore *semaphore)
{
    CHECK(semaphore->in_use >= 0 &&
          semaphore->in_use <= (int64_t)core->holders * SEM_SLOTS_HELD_MAX);
    CHECK(semaphore->line.count <= core->in_line);
    CHECK(semaphore->line.weight >= semaphore->line.count &&
          semaphore->line.weight <= (uint64_t)semaphore->line.count * SEM_SLOTS_HELD_MAX);
    CHECK(core->holders + core->in_line == core->stores[CORE_SEM_CLIENTS].slab.count);
}

/* What must be true when slots are handed out: so many are free, and they go to a client of this
 * semaphore that has none. So there are never more in use than the limit at the last grant. */
static void grant_check(const struct core *core, const struct semaphore *semaphore,
                        const struct sem_client *client)
{
    CHECK(client->slots >= 1 && client->slots <= SEM_SLOTS_HELD_MAX);
    CHECK(semaphore->in_use + client->slots <= semaphore->max);
    CHECK(!sem_client_holds(client) && semaphore_at(core, client->record.scope) == semaphore);
}

void sem_drop_if_idle(struct core *core, uint32_t index)
{
    const struct semaphore *semaphore = semaphore_at(core, index);

    if (semaphore->in_use == 0 && semaphore->line.count == 0) {
        CHECK(!semaphore->touched); /* The heap of touched semaphores would name a free record. */
        core_forget(core, CORE_SEMAPHORES, index);
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* A waiter lives as long as its call, or its heartbeat; a holder until its heartbeat or TTL. */
int64_t sem_client_deadline(const struct sem_client *client)
{
    if (sem_client_holds(client)) {
        int64_t end = client->since_ms + client->ttl_ms;
        return end < client->alive_until_ms ? end : client->alive_until_ms;
    }
    return client->ticket != 0 ? client->wait_until_ms : client->alive_until_ms;
}

void sem_arm(struct core *core, uint32_t index)
{
    core_arm(core, CORE_SEM_CLIENTS, index, sem_client_deadline(sem_client_at(core, index)));
}

void sem_end_wait(struct core *core, struct sem_client *client, struct wakeup wakeup)
{
    if (client->ticket != 0) {
        core_wake(core, client->ticket, wakeup);
        client->ticket = 0;
    }
}

void sem_grant(struct core *core, struct semaphore *semaphore, uint32_t index)
{
    struct sem_client *client = sem_client_at(core, index);

    grant_check(core, semaphore, client);
    semaphore->in_use += client->slots;
    core->holders++;
    sem_check(core, semaphore);
    client->record.state = CLIENT_HOLDING;
    client->since_ms = core->now_ms;
    client->alive_until_ms = core->now_ms + client->heartbeat_ms;
    client->fence = core_next_fence(core);
    sem_end_wait(
        core, client,
        (struct wakeup){.code = HF_OK, .in_use = semaphore->in_use, .fence = client->fence});
    sem_arm(core, index);
    core_emit(core, EVENT_SLOT_GRANTED, CORE_SEMAPHORES, &client->record, client->fence);
}

static void leave_line(struct core *core, struct semaphore *semaphore, uint32_t index)
{
    line_leave(&semaphore->line, core->memory, sem_client_at(core, index)->place);
    core->in_line--;
}

/* The first in line that there are slots for now. */
static struct line_sum fitting(const struct semaphore *semaphore)
{
    int64_t free = semaphore->max - semaphore->in_use;

    return line_fitting(&semaphore->line, free > 0 ? (uint64_t)free : 0);
}

int64_t sem_slots_in_use(const struct semaphore *semaphore)
{
    return semaphore->in_use + (int64_t)fitting(semaphore).weight;
}

/* Does the client wait for more slots than there are? */
static bool is_too_large(const struct semaphore *semaphore, const struct sem_client *client)
{
    return client->slots > semaphore->max;
}

/* Is the first in line to have its slots, or its refusal? While it waits for more than are free,
 * nobody behind it gets any: what falls free adds up for it. */
static bool is_firsts_turn(const struct core *core, const struct semaphore *semaphore)
{
    if (semaphore->line.count == 0 || semaphore->in_use >= semaphore->max) {
        return false;
    }
    const struct sem_client *client = sem_client_at(core, line_first(&semaphore->line));
    return is_too_large(semaphore, client) || semaphore->in_use + client->slots <= semaphore->max;
}

/* Out of the slots or the line, and gone; a call that waits gets this answer. */
static void remove_answering(struct core *core, uint32_t index, struct wakeup answer)
{
    struct sem_client *client = sem_client_at(core, index);
    struct semaphore *semaphore = semaphore_at(core, client->record.scope);

    if (sem_client_holds(client)) {
        semaphore->in_use -= client->slots;
        core->holders--;
    } else {
        leave_line(core, semaphore, index);
        sem_end_wait(core, client, answer);
    }
    core_forget(core, CORE_SEM_CLIENTS, index);
    sem_check(core, semaphore);
}

void sem_remove_client(struct core *core, uint32_t index, const char *why)
{
    remove_answering(core, index, (struct wakeup){.code = HF_TIMEOUT, .why = why});
}

/* The limit was lowered below what the first in line waits for: it would hold up the line for ever.
 */
static void refuse_first(struct core *core, const struct semaphore *semaphore, uint32_t index)
{
    const struct sem_client *client = sem_client_at(core, index);

    core_emit(core, EVENT_WAITER_LOST, CORE_SEMAPHORES, &client->record, client->fence);
    remove_answering(core, index,
                     (struct wakeup){.code = HF_INVALID_QUANTITY,
                                     .why = SEM_TOO_LARGE_NOW,
                                     .slots = client->slots,
                                     .limit = semaphore->max});
}

/* Free slots go to the first in line, to at most so many clients. Returns how many got theirs. */
static int64_t hand_out(struct core *core, struct semaphore *semaphore, int64_t *budget)
{
    int64_t granted = 0;

    for (; *budget > 0 && is_firsts_turn(core, semaphore); --*budget) {
        uint32_t index = line_first(&semaphore->line);
        if (is_too_large(semaphore, sem_client_at(core, index))) {
            refuse_first(core, semaphore, index);
            continue;
        }
        leave_line(core, semaphore, index);
        sem_grant(core, semaphore, index);
        granted++;
    }
    return granted;
}

/* ---- settling -------------------------------------------------------------------------------- */

static bool comes_before(const struct core *core, uint32_t a, uint32_t b)
{
    char texts[2][HF_ID_MAX];
    struct name first = record_name(&semaphore_at(core, a)->record);
    struct name second = record_name(&semaphore_at(core, b)->record);
    size_t size = name_write(&first, texts[0]), other = name_write(&second, texts[1]);
    int order = memcmp(texts[0], texts[1], size < other ? size : other);

    return order != 0 ? order < 0 : size < other;
}

static unsigned rank_of(const struct core *core, uint32_t heap)
{
    return heap == NONE ? 0 : semaphore_at(core, heap)->rank;
}

/* Two leftist heaps of touched semaphores as one: no step of adding or removing is longer than the
 * logarithm of their number, and arrays are not needed. */
static uint32_t merge(struct core *core, uint32_t a, uint32_t b)
{
    if (a == NONE || b == NONE) {
        return a == NONE ? b : a;
    }
    if (comes_before(core, b, a)) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    struct semaphore *first = semaphore_at(core, a);
    first->right = merge(core, first->right, b); /* as deep as the heap's shortest way down */
    if (rank_of(core, first->left) < rank_of(core, first->right)) {
        uint32_t swap = first->left;
        first->left = first->right;
        first->right = swap;
    }
    first->rank = (uint8_t)(rank_of(core, first->right) + 1);
    return a;
}

/* The semaphore lost a client, or has slots to hand out. */
static void touch(struct core *core, uint32_t index)
{
    struct semaphore *semaphore = semaphore_at(core, index);

    if (!semaphore->touched) {
        semaphore->touched = true;
        semaphore->slot_freed = false;
        semaphore->left = semaphore->right = NONE;
        semaphore->rank = 1;
        core->touched = merge(core, core->touched, index);
    }
}

/* The touched semaphores in the order of their names: who gets which fence must follow from the
 * state alone, not from how it came about. */
bool sem_settle(struct core *core, int64_t *budget)
{
    core->now_ms = core->touched_ms;
    while (core->touched != NONE && *budget > 0) {
        uint32_t index = core->touched;
        struct semaphore *semaphore = semaphore_at(core, index);
        if (semaphore->slot_freed) {
            hand_out(core, semaphore, budget);
        }
        if (!semaphore->slot_freed || !is_firsts_turn(core, semaphore)) {
            core->touched = merge(core, semaphore->left, semaphore->right);
            semaphore->touched = false;
            sem_drop_if_idle(core, index);
        }
        --*budget;
    }
    core->now_ms = core->latest_ms;
    return core->touched == NONE;
}

int64_t sem_hand_on(struct core *core, uint32_t index)
{
    struct semaphore *semaphore = semaphore_at(core, index);
    int64_t budget = SEM_GRANTS_AT_ONCE;
    int64_t granted = hand_out(core, semaphore, &budget);

    if (is_firsts_turn(core, semaphore)) {
        touch(core, index);
        semaphore->slot_freed = true;
        core->touched_ms = core->now_ms;
        core_note_due(core, core->now_ms);
    }
    return granted + fitting(semaphore).count;
}

/* ---- time ------------------------------------------------------------------------------------ */

void sem_client_due(struct core *core, uint32_t index)
{
    struct sem_client *client = sem_client_at(core, index);
    uint32_t which = client->record.scope;

    core_emit(core, sem_client_holds(client) ? EVENT_SLOT_LOST : EVENT_WAITER_LOST, CORE_SEMAPHORES,
              &client->record, client->fence);
    touch(core, which);
    semaphore_at(core, which)->slot_freed |= sem_client_frees(client);
    sem_remove_client(core, index, "waited and got no slot");
}
