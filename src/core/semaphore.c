/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphore: N slots, handed out strictly in the order of arrival, to clients that must show signs
 * of life. A semaphore exists while it has a holder or a waiter. A freed slot goes to the first
 * in line in the same step. */
#include "base/check.h"
#include "core/state.h"

static struct semaphore *semaphore_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_SEMAPHORES, index);
}

static struct sem_client *client_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_SEM_CLIENTS, index);
}

static bool is_holder(const struct sem_client *client)
{
    return client->record.state == CLIENT_HOLDING;
}

void semaphore_let_go(struct core *core, uint32_t index)
{
    line_free(&semaphore_at(core, index)->line, core->memory);
}

/* What must be true of a semaphore after every change of its slots or its line:
 *   1. its holders and its waiters are among those of all semaphores,
 *   2. every client record is a holder or a waiter, and none is both.
 * Holders beyond the limit are none, or the limit was lowered since: see grant_check(). */
static void semaphore_check(const struct core *core, const struct semaphore *semaphore)
{
    CHECK(semaphore->in_use <= core->slots_in_use && semaphore->line.count <= core->in_line);
    CHECK(core->slots_in_use + core->in_line == core->stores[CORE_SEM_CLIENTS].slab.count);
}

/* What must be true when a slot is handed out: one is free, and it goes to a client of this
 * semaphore that has none. So there are never more holders than the limit at the last grant. */
static void grant_check(const struct core *core, const struct semaphore *semaphore,
                        const struct sem_client *client)
{
    CHECK(semaphore->in_use < semaphore->max);
    CHECK(!is_holder(client) && semaphore_at(core, client->record.scope) == semaphore);
}

static void drop_if_idle(struct core *core, uint32_t index)
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
    if (is_holder(client)) {
        int64_t end = client->granted_ms + client->ttl_ms;
        return end < client->alive_until_ms ? end : client->alive_until_ms;
    }
    return client->ticket != 0 ? client->wait_until_ms : client->alive_until_ms;
}

static void arm(struct core *core, uint32_t index)
{
    core_arm(core, CORE_SEM_CLIENTS, index, sem_client_deadline(client_at(core, index)));
}

static void end_wait(struct core *core, struct sem_client *client, struct wakeup wakeup)
{
    if (client->ticket != 0) {
        core_wake(core, client->ticket, wakeup);
        client->ticket = 0;
    }
}

/* The client, who is not in line, gets a slot. */
static void grant(struct core *core, struct semaphore *semaphore, uint32_t index)
{
    struct sem_client *client = client_at(core, index);

    grant_check(core, semaphore, client);
    semaphore->in_use++;
    core->slots_in_use++;
    semaphore_check(core, semaphore);
    client->record.state = CLIENT_HOLDING;
    client->granted_ms = core->now_ms;
    client->alive_until_ms = core->now_ms + client->heartbeat_ms;
    client->fence = core_next_fence(core);
    end_wait(core, client,
             (struct wakeup){.code = HF_OK, .in_use = semaphore->in_use, .fence = client->fence});
    arm(core, index);
    core_emit(core, EVENT_SLOT_GRANTED, CORE_SEMAPHORES, &client->record, client->fence);
}

static void leave_line(struct core *core, struct semaphore *semaphore, uint32_t index)
{
    line_leave(&semaphore->line, core->memory, client_at(core, index)->place);
    core->in_line--;
}

/* How many of those in line there are slots for. */
static int64_t slots_to_hand_out(const struct semaphore *semaphore)
{
    int64_t slots = semaphore->max - semaphore->in_use;

    if (slots <= 0) {
        return 0;
    }
    return slots < semaphore->line.count ? slots : semaphore->line.count;
}

/* The slots in use when all that can be handed out are. */
static int64_t slots_in_use(const struct semaphore *semaphore)
{
    return semaphore->in_use + slots_to_hand_out(semaphore);
}

/* Free slots go to the first in line, at most so many. */
static void hand_out(struct core *core, struct semaphore *semaphore, int64_t *budget)
{
    for (; *budget > 0 && slots_to_hand_out(semaphore) > 0; --*budget) {
        uint32_t index = line_first(&semaphore->line);
        leave_line(core, semaphore, index);
        grant(core, semaphore, index);
    }
}

/* Out of the slots or the line, and gone. Hands nothing on. */
static void remove_client(struct core *core, uint32_t index, const char *why)
{
    struct sem_client *client = client_at(core, index);
    struct semaphore *semaphore = semaphore_at(core, client->record.scope);

    if (is_holder(client)) {
        semaphore->in_use--;
        core->slots_in_use--;
    } else {
        leave_line(core, semaphore, index);
        end_wait(core, client, (struct wakeup){.code = HF_TIMEOUT, .why = why});
    }
    core_forget(core, CORE_SEM_CLIENTS, index);
    semaphore_check(core, semaphore);
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
        if (!semaphore->slot_freed || slots_to_hand_out(semaphore) == 0) {
            core->touched = merge(core, semaphore->left, semaphore->right);
            semaphore->touched = false;
            drop_if_idle(core, index);
        }
        --*budget;
    }
    core->now_ms = core->latest_ms;
    return core->touched == NONE;
}

/* A command freed slots: the first in line get theirs, and where they are more than may take part
 * in one step, the rest is handed out next, before anything else happens to any semaphore. */
static void hand_on(struct core *core, uint32_t index)
{
    struct semaphore *semaphore = semaphore_at(core, index);
    int64_t budget = SEM_GRANTS_AT_ONCE;

    hand_out(core, semaphore, &budget);
    if (slots_to_hand_out(semaphore) > 0) {
        touch(core, index);
        semaphore->slot_freed = true;
        core->touched_ms = core->now_ms;
        core_note_due(core, core->now_ms);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

void sem_client_due(struct core *core, uint32_t index)
{
    struct sem_client *client = client_at(core, index);
    uint32_t which = client->record.scope;

    core_emit(core, is_holder(client) ? EVENT_SLOT_LOST : EVENT_WAITER_LOST, CORE_SEMAPHORES,
              &client->record, client->fence);
    touch(core, which);
    semaphore_at(core, which)->slot_freed |= is_holder(client);
    remove_client(core, index, "waited and got no slot");
}

/* ---- joining --------------------------------------------------------------------------------- */

/* The semaphore and the client under these names, made if need be, with room in line for one more
 * if it may have to stand there. Nothing is left behind when memory runs out. A client that is new
 * is neither in line nor holding. */
static bool obtain_client(struct core *core, struct hf_bytes name, struct hf_bytes id, bool line,
                          uint32_t *semaphore_index, uint32_t *client_index, bool *is_new)
{
    uint32_t which = core_obtain(core, CORE_SEMAPHORES, 0, name);

    if (which == NONE) {
        return false;
    }
    struct key key = core_key(core, CORE_SEM_CLIENTS, which, id);
    uint32_t index = core_find_key(core, CORE_SEM_CLIENTS, &key);
    *is_new = index == NONE;
    if (*is_new && (!line || line_reserve(&semaphore_at(core, which)->line, core->memory))) {
        index = core_add(core, CORE_SEM_CLIENTS, &key);
    }
    if (index == NONE) {
        drop_if_idle(core, which);
        return false;
    }
    *semaphore_index = which;
    *client_index = index;
    return true;
}

/* The client, who is new, becomes the last in line. */
static void stand_in_line(struct core *core, uint32_t which, uint32_t index)
{
    struct semaphore *semaphore = semaphore_at(core, which);
    uint32_t place = line_join(&semaphore->line, index);

    client_at(core, index)->place = place;
    core->in_line++;
    CHECK(line_position(&semaphore->line, place) == semaphore->line.count);
    semaphore_check(core, semaphore);
}

static void answer_acquired(struct reply *reply, int64_t in_use, const struct sem_client *client)
{
    reply_number(reply, in_use);
    reply_number(reply, client->fence);
}

/* How many stand in line before the caller, who may not be there yet. */
static int64_t ahead_in_line(const struct semaphore *semaphore, const struct sem_client *client)
{
    if (semaphore == NULL) {
        return 0;
    }
    return client ? line_position(&semaphore->line, client->place) - 1U : semaphore->line.count;
}

/* Does the caller get a slot at once: do the holders, the waiters ahead and the caller fit the
 * limit? */
static bool fits(const struct semaphore *semaphore, int64_t ahead, int64_t limit)
{
    return ahead + (semaphore != NULL ? semaphore->in_use : 0) < limit;
}

/* What a waiting or successful ACQUIRE says about the semaphore and the caller. */
static void take_terms(struct semaphore *semaphore, struct sem_client *client,
                       const struct hf_sem_acquire_args *a)
{
    semaphore->max = a->limit;
    client->heartbeat_ms = a->heartbeat_ms;
    client->ttl_ms = a->ttl_ms;
}

static void refuse_slot(struct reply *reply, const struct semaphore *semaphore, int64_t limit)
{
    reply_refuse_with(reply, HF_NO_SLOT, "# of # slots in use, # waiting",
                      semaphore ? semaphore->in_use : 0, limit,
                      semaphore ? semaphore->line.count : 0);
}

/* A holder retries its ACQUIRE. */
static void answer_holder(struct reply *reply, const struct semaphore *semaphore,
                          const struct sem_client *client, const struct hf_sem_acquire_args *a)
{
    if (client->heartbeat_ms != a->heartbeat_ms) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the slot is held with HEARTBEAT # ms, not # ms" ANOTHER_ID,
                          client->heartbeat_ms, a->heartbeat_ms, 0);
    } else if (client->ttl_ms != a->ttl_ms) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the slot is held with TTL # ms, not # ms" ANOTHER_ID, client->ttl_ms,
                          a->ttl_ms, 0);
    } else {
        answer_acquired(reply, semaphore->in_use, client);
    }
}

/* The call waits for its answer, which comes as a wakeup. One whose slot comes in the next step
 * waits whatever it asked for. */
static void wait_for_slot(struct core *core, uint32_t index, int64_t wait_ms, struct reply *reply)
{
    struct sem_client *client = client_at(core, index);

    client->ticket = ++core->ticket;
    client->wait_until_ms = core->now_ms + (wait_ms > 0 ? wait_ms : 1);
    core->waiting_calls++;
    arm(core, index);
    reply->waits = true;
    reply->ticket = client->ticket;
}

CORE_COMMAND(sem_acquire)
{
    const struct hf_sem_acquire_args *a = &args->sem_acquire;
    core_enter_semaphores(core);
    uint32_t which = core_find(core, CORE_SEMAPHORES, 0, a->name);
    uint32_t index = which == NONE ? NONE : core_find(core, CORE_SEM_CLIENTS, which, a->id);
    struct semaphore *semaphore = which == NONE ? NULL : semaphore_at(core, which);
    struct sem_client *client = index == NONE ? NULL : client_at(core, index);
    bool is_new = false;
    (void)entropy;

    if (client != NULL && is_holder(client)) {
        answer_holder(reply, semaphore, client, a);
        return;
    }
    int64_t ahead = ahead_in_line(semaphore, client);
    bool at_once = fits(semaphore, ahead, a->limit);
    if (!at_once && a->wait_ms == 0) {
        refuse_slot(reply, semaphore, a->limit);
        return;
    }
    bool waits = !at_once || ahead >= SEM_GRANTS_AT_ONCE;
    bool stands = !at_once || ahead > 0; /* in line; with an empty line it gets its slot directly */
    if ((waits && !core_reserve_wakeup(core)) ||
        !obtain_client(core, a->name, a->id, stands, &which, &index, &is_new)) {
        reply_busy(core, reply);
        return;
    }
    semaphore = semaphore_at(core, which);
    client = client_at(core, index);
    take_terms(semaphore, client, a);
    if (is_new && stands) {
        stand_in_line(core, which, index);
    } else if (is_new) {
        grant(core, semaphore, index);
    }
    end_wait(core, client,
             (struct wakeup){.code = HF_TIMEOUT, .why = "another call with this id took over"});
    if (waits) {
        wait_for_slot(core, index, a->wait_ms, reply);
    }
    hand_on(core, which);
    if (!waits) {
        CHECK(is_holder(client));
        reply->granted = true;
        answer_acquired(reply, slots_in_use(semaphore), client);
    }
}

CORE_COMMAND(sem_queue)
{
    const struct hf_sem_queue_args *a = &args->sem_queue;
    uint32_t which, index;
    bool is_new;
    (void)entropy;

    core_enter_semaphores(core);
    if (!obtain_client(core, a->name, a->id, true, &which, &index, &is_new)) {
        reply_busy(core, reply);
        return;
    }
    struct sem_client *client = client_at(core, index);
    if (is_new) {
        stand_in_line(core, which, index);
    }
    if (is_holder(client)) {
        reply_number(reply, 0);
        return;
    }
    if (client->ticket == 0) {
        client->heartbeat_ms = a->heartbeat_ms;
        client->ttl_ms = a->ttl_ms;
        client->alive_until_ms = core->now_ms + a->heartbeat_ms;
        arm(core, index);
    }
    reply_number(reply, line_position(&semaphore_at(core, which)->line, client->place));
}

/* ---- the rest -------------------------------------------------------------------------------- */

CORE_COMMAND(sem_wake)
{
    const struct hf_sem_wake_args *a = &args->sem_wake;
    core_enter_semaphores(core);
    uint32_t which = core_find(core, CORE_SEMAPHORES, 0, a->name);
    (void)entropy;

    if (which == NONE) {
        reply_number(reply, 0);
        return;
    }
    semaphore_at(core, which)->max = a->limit;
    reply_number(reply, slots_to_hand_out(semaphore_at(core, which)));
    hand_on(core, which);
}

/* The client of this id and its semaphore; NONE if there is none. */
static uint32_t find_client(struct core *core, struct hf_bytes name, struct hf_bytes id,
                            uint32_t *which)
{
    core_enter_semaphores(core);
    *which = core_find(core, CORE_SEMAPHORES, 0, name);
    return *which == NONE ? NONE : core_find(core, CORE_SEM_CLIENTS, *which, id);
}

CORE_COMMAND(sem_confirm)
{
    const struct hf_sem_confirm_args *a = &args->sem_confirm;
    uint32_t which, index = find_client(core, a->name, a->id, &which);
    struct sem_client *client = index == NONE ? NULL : client_at(core, index);
    (void)entropy;

    if (client == NULL || !is_holder(client)) {
        reply_number(reply, 0);
        reply_number(reply, which == NONE ? 0 : semaphore_at(core, which)->in_use);
        return;
    }
    struct semaphore *semaphore = semaphore_at(core, which);
    int64_t changed = client->granted_ms + a->ttl_ms > core->now_ms;
    if (changed) {
        semaphore->max = a->limit;
        client->heartbeat_ms = a->heartbeat_ms;
        client->ttl_ms = a->ttl_ms;
        client->alive_until_ms = core->now_ms + a->heartbeat_ms;
        arm(core, index);
    } else {
        remove_client(core, index, NULL);
    }
    hand_on(core, which);
    reply_number(reply, changed);
    reply_number(reply, slots_in_use(semaphore));
    drop_if_idle(core, which);
}

CORE_COMMAND(sem_release)
{
    const struct hf_sem_release_args *a = &args->sem_release;
    uint32_t which, index = find_client(core, a->name, a->id, &which);
    (void)entropy;

    if (index != NONE) {
        bool slot_freed = is_holder(client_at(core, index));
        remove_client(core, index, "released while it waited");
        if (slot_freed) {
            hand_on(core, which);
        }
        drop_if_idle(core, which);
    }
    reply_number(reply, index != NONE);
}

CORE_COMMAND(sem_ping)
{
    const struct hf_sem_ping_args *a = &args->sem_ping;
    uint32_t which, index = find_client(core, a->name, a->id, &which);
    struct sem_client *client = index == NONE ? NULL : client_at(core, index);
    (void)entropy;

    if (client != NULL && client->ticket == 0) {
        client->alive_until_ms = core->now_ms + a->heartbeat_ms;
        arm(core, index);
    }
    reply_number(reply, client != NULL && !is_holder(client));
    reply_number(reply, client != NULL && is_holder(client));
}

static const struct semaphore *find_semaphore(struct core *core, struct hf_bytes name)
{
    static const struct semaphore none = {.max = 0};
    core_enter_semaphores(core);
    uint32_t which = core_find(core, CORE_SEMAPHORES, 0, name);

    return which == NONE ? &none : semaphore_at(core, which);
}

CORE_COMMAND(sem_card)
{
    (void)entropy;
    reply_number(reply, find_semaphore(core, args->sem_card.name)->in_use);
}

CORE_COMMAND(sem_stats)
{
    const struct semaphore *semaphore = find_semaphore(core, args->sem_stats.name);
    (void)entropy;

    reply_number(reply, semaphore->in_use);
    reply_number(reply, semaphore->max);
    reply_number(reply, semaphore->line.count);
}
