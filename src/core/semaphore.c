/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphore: N slots, handed out strictly in the order of arrival, to clients that must show signs
 * of life. A semaphore exists while somebody holds a slot or waits. A freed slot goes to the first
 * in line in the same step. */
#include "base/check.h"
#include "core/state.h"

static struct semaphore *semaphore_at(const struct core *core, uint32_t index)
{
    return core_at(core, SEMAPHORES, index);
}

static struct sem_client *client_at(const struct core *core, uint32_t index)
{
    return core_at(core, SEM_CLIENTS, index);
}

static bool is_holder(const struct sem_client *client)
{
    return client->record.state == CLIENT_HOLDING;
}

void sem_client_moved(void *core, uint32_t index, uint32_t place)
{
    client_at(core, index)->place = place;
}

void semaphore_let_go(struct core *core, uint32_t index)
{
    line_free(&semaphore_at(core, index)->line, core->memory);
}

static void drop_if_idle(struct core *core, uint32_t index)
{
    const struct semaphore *semaphore = semaphore_at(core, index);

    if (semaphore->in_use == 0 && semaphore->line.count == 0) {
        core_forget(core, SEMAPHORES, index);
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
    core_arm(core, SEM_CLIENTS, index, sem_client_deadline(client_at(core, index)));
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

    semaphore->in_use++;
    client->record.state = CLIENT_HOLDING;
    client->granted_ms = core->now_ms;
    client->alive_until_ms = core->now_ms + client->heartbeat_ms;
    client->fence = ++core->fence;
    end_wait(core, client,
             (struct wakeup){.code = HF_OK, .in_use = semaphore->in_use, .fence = client->fence});
    arm(core, index);
    core_emit(core, EVENT_SLOT_GRANTED, SEMAPHORES, &client->record, client->fence);
}

/* Free slots go to the first in line. Returns how many were granted. */
static int64_t hand_out(struct core *core, struct semaphore *semaphore)
{
    int64_t granted = 0;

    while (semaphore->in_use < semaphore->max && semaphore->line.count > 0) {
        uint32_t index = line_first(&semaphore->line);
        line_leave(&semaphore->line, client_at(core, index)->place);
        grant(core, semaphore, index);
        granted++;
    }
    return granted;
}

/* Out of the slots or the line, and gone. Hands nothing on. */
static void remove_client(struct core *core, uint32_t index, const char *why)
{
    struct sem_client *client = client_at(core, index);
    struct semaphore *semaphore = semaphore_at(core, client->record.scope);

    if (is_holder(client)) {
        semaphore->in_use--;
    } else {
        line_leave(&semaphore->line, client->place);
        end_wait(core, client, (struct wakeup){.code = HF_TIMEOUT, .why = why});
    }
    core_forget(core, SEM_CLIENTS, index);
}

/* ---- time ------------------------------------------------------------------------------------ */

void sem_client_due(struct core *core, uint32_t index)
{
    struct sem_client *client = client_at(core, index);
    uint32_t which = client->record.scope;
    struct semaphore *semaphore = semaphore_at(core, which);

    core_emit(core, is_holder(client) ? EVENT_SLOT_LOST : EVENT_WAITER_LOST, SEMAPHORES,
              &client->record, client->fence);
    if (!semaphore->touched) {
        semaphore->touched = true;
        semaphore->slot_freed = false;
        semaphore->next_touched = core->touched;
        core->touched = which;
    }
    semaphore->slot_freed |= is_holder(client);
    remove_client(core, index, "waited and got no slot");
}

static bool comes_before(const struct core *core, uint32_t a, uint32_t b)
{
    char texts[2][HF_ID_MAX];
    struct name first = record_name(&semaphore_at(core, a)->record);
    struct name second = record_name(&semaphore_at(core, b)->record);
    size_t size = name_write(&first, texts[0]), other = name_write(&second, texts[1]);
    int order = memcmp(texts[0], texts[1], size < other ? size : other);

    return order != 0 ? order < 0 : size < other;
}

/* Two sorted lists of touched semaphores as one. */
static uint32_t merge(struct core *core, uint32_t a, uint32_t b)
{
    uint32_t head = NONE, *end = &head;

    while (a != NONE && b != NONE) {
        uint32_t *smaller = comes_before(core, a, b) ? &a : &b;
        *end = *smaller;
        end = &semaphore_at(core, *end)->next_touched;
        *smaller = *end;
    }
    *end = a != NONE ? a : b;
    return head;
}

/* The touched semaphores in the order of their names: who gets which fence must follow from the
 * state alone, not from how it came about. */
static uint32_t sorted(struct core *core, uint32_t head)
{
    uint32_t runs[32]; /* runs[i] is a sorted list of 2^i, or NONE */

    memset(runs, 0xff, sizeof runs);
    while (head != NONE) {
        uint32_t run = head;
        size_t i = 0;
        head = semaphore_at(core, run)->next_touched;
        semaphore_at(core, run)->next_touched = NONE;
        for (; runs[i] != NONE; runs[i++] = NONE) {
            run = merge(core, runs[i], run);
        }
        runs[i] = run;
    }
    for (size_t i = 0; i < 32; i++) {
        head = merge(core, runs[i], head);
    }
    return head;
}

void sem_settle(struct core *core)
{
    core->touched = sorted(core, core->touched);
    while (core->touched != NONE) {
        uint32_t index = core->touched;
        struct semaphore *semaphore = semaphore_at(core, index);
        core->touched = semaphore->next_touched;
        semaphore->touched = false;
        if (semaphore->slot_freed) {
            hand_out(core, semaphore);
        }
        drop_if_idle(core, index);
    }
}

/* ---- joining --------------------------------------------------------------------------------- */

/* The semaphore and the client under these names, made if need be, with room in line for one more.
 * Nothing is left behind when memory runs out. A client that is new is neither in line nor holding.
 */
static bool obtain_client(struct core *core, struct hf_bytes name, struct hf_bytes id,
                          uint32_t *semaphore_index, uint32_t *client_index, bool *is_new)
{
    uint32_t which = core_obtain(core, SEMAPHORES, 0, name);

    if (which == NONE) {
        return false;
    }
    struct key key = core_key(core, SEM_CLIENTS, which, id);
    uint32_t index = core_find_key(core, SEM_CLIENTS, &key);
    *is_new = index == NONE;
    if (*is_new) {
        struct line *line = &semaphore_at(core, which)->line;
        if (line_reserve(line, core->memory, sem_client_moved, core)) {
            index = core_add(core, SEM_CLIENTS, &key);
        }
    }
    if (index == NONE) {
        drop_if_idle(core, which);
        return false;
    }
    *semaphore_index = which;
    *client_index = index;
    return true;
}

static void stand_in_line(struct core *core, uint32_t semaphore, uint32_t index)
{
    client_at(core, index)->place = line_join(&semaphore_at(core, semaphore)->line, index);
}

static void answer_acquired(struct reply *reply, const struct semaphore *semaphore,
                            const struct sem_client *client)
{
    reply_number(reply, semaphore->in_use);
    reply_number(reply, client->fence);
}

/* Does the caller get a slot at once: do those who hold, those ahead and the caller fit the limit?
 */
static bool fits(const struct semaphore *semaphore, const struct sem_client *client, int64_t limit)
{
    int64_t ahead = 0;

    if (semaphore != NULL) {
        ahead = semaphore->in_use;
        ahead +=
            client ? line_position(&semaphore->line, client->place) - 1U : semaphore->line.count;
    }
    return ahead < limit;
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

/* A holder asks again. */
static void answer_holder(struct reply *reply, const struct semaphore *semaphore,
                          const struct sem_client *client, const struct hf_sem_acquire_args *a)
{
    if (client->heartbeat_ms == a->heartbeat_ms && client->ttl_ms == a->ttl_ms) {
        answer_acquired(reply, semaphore, client);
    } else {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the slot is held with HEARTBEAT # ms and TTL # ms already",
                          client->heartbeat_ms, client->ttl_ms, 0);
    }
}

CORE_COMMAND(sem_acquire)
{
    const struct hf_sem_acquire_args *a = &args->sem_acquire;
    uint32_t which = core_find(core, SEMAPHORES, 0, a->name);
    uint32_t index = which == NONE ? NONE : core_find(core, SEM_CLIENTS, which, a->id);
    struct semaphore *semaphore = which == NONE ? NULL : semaphore_at(core, which);
    struct sem_client *client = index == NONE ? NULL : client_at(core, index);
    bool is_new = false;
    (void)entropy;

    if (client != NULL && is_holder(client)) {
        answer_holder(reply, semaphore, client, a);
        return;
    }
    bool at_once = fits(semaphore, client, a->limit);
    if (!at_once && a->wait_ms == 0) {
        refuse_slot(reply, semaphore, a->limit);
        return;
    }
    if ((!at_once && !core_reserve_wakeup(core)) ||
        !obtain_client(core, a->name, a->id, &which, &index, &is_new)) {
        reply_busy(reply);
        return;
    }
    semaphore = semaphore_at(core, which);
    client = client_at(core, index);
    if (is_new) {
        stand_in_line(core, which, index);
    }
    take_terms(semaphore, client, a);
    end_wait(core, client,
             (struct wakeup){.code = HF_TIMEOUT, .why = "another call with this id took over"});
    if (!at_once) {
        client->ticket = ++core->ticket;
        client->wait_until_ms = core->now_ms + a->wait_ms;
        core->waiting_calls++;
        arm(core, index);
        reply->waits = true;
        reply->ticket = client->ticket;
    }
    hand_out(core, semaphore);
    if (at_once) {
        CHECK(is_holder(client));
        reply->granted = true;
        answer_acquired(reply, semaphore, client);
    }
}

CORE_COMMAND(sem_queue)
{
    const struct hf_sem_queue_args *a = &args->sem_queue;
    uint32_t which, index;
    bool is_new;
    (void)entropy;

    if (!obtain_client(core, a->name, a->id, &which, &index, &is_new)) {
        reply_busy(reply);
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
    uint32_t which = core_find(core, SEMAPHORES, 0, a->name);
    (void)entropy;

    if (which == NONE) {
        reply_number(reply, 0);
        return;
    }
    semaphore_at(core, which)->max = a->limit;
    reply_number(reply, hand_out(core, semaphore_at(core, which)));
}

/* The client of this id and its semaphore; NONE if there is none. */
static uint32_t find_client(const struct core *core, struct hf_bytes name, struct hf_bytes id,
                            uint32_t *which)
{
    *which = core_find(core, SEMAPHORES, 0, name);
    return *which == NONE ? NONE : core_find(core, SEM_CLIENTS, *which, id);
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
    hand_out(core, semaphore);
    reply_number(reply, changed);
    reply_number(reply, semaphore->in_use);
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
            hand_out(core, semaphore_at(core, which));
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

static const struct semaphore *find_semaphore(const struct core *core, struct hf_bytes name)
{
    static const struct semaphore none = {.max = 0};
    uint32_t which = core_find(core, SEMAPHORES, 0, name);

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
