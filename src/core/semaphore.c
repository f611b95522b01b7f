/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphore: N slots, handed out strictly in the order of arrival, to clients that must show signs
 * of life. A semaphore exists while it has a holder or a waiter. A freed slot goes to the first
 * in line in the same step: semaphore_slots.c does that. */
#include "base/check.h"
#include "core/semaphore_slots.h"

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
        sem_drop_if_idle(core, which);
        return false;
    }
    *semaphore_index = which;
    *client_index = index;
    return true;
}

/* The client, who is new, becomes the last in line, for so many slots. */
static void stand_in_line(struct core *core, uint32_t which, uint32_t index)
{
    struct semaphore *semaphore = semaphore_at(core, which);
    struct sem_client *client = sem_client_at(core, index);
    uint32_t place = line_join(&semaphore->line, index, (uint16_t)client->slots);

    client->place = place;
    client->since_ms = core->now_ms;
    core->in_line++;
    CHECK(line_position(&semaphore->line, place) == semaphore->line.count);
    sem_check(core, semaphore);
}

static void answer_acquired(struct reply *reply, int64_t in_use, const struct sem_client *client)
{
    reply_number(reply, in_use);
    reply_number(reply, client->fence);
}

/* Those in line before the caller, who may not be there yet. */
static struct line_sum ahead_in_line(const struct semaphore *semaphore,
                                     const struct sem_client *client)
{
    if (semaphore == NULL) {
        return (struct line_sum){0};
    }
    if (client == NULL) {
        return (struct line_sum){semaphore->line.count, semaphore->line.weight};
    }
    struct line_sum upto = line_upto(&semaphore->line, client->place);
    return (struct line_sum){upto.count - 1, upto.weight - client->slots};
}

/* Does the caller get its slots at once: do those of the holders, of the waiters ahead and of the
 * caller fit the limit? */
static bool fits(const struct semaphore *semaphore, struct line_sum ahead,
                 const struct hf_sem_acquire_args *a)
{
    return (int64_t)ahead.weight + (semaphore != NULL ? semaphore->in_use : 0) + a->slots <=
           a->limit;
}

/* What a waiting or successful ACQUIRE says about the semaphore and the caller. */
static void take_terms(struct semaphore *semaphore, struct sem_client *client,
                       const struct hf_sem_acquire_args *a)
{
    semaphore->max = a->limit;
    client->heartbeat_ms = a->heartbeat_ms;
    client->ttl_ms = a->ttl_ms;
    client->slots = (uint32_t)a->slots;
}

static void refuse_slot(struct reply *reply, const struct semaphore *semaphore,
                        const struct hf_sem_acquire_args *a)
{
    int64_t in_use = semaphore ? semaphore->in_use : 0;
    int64_t waiting = semaphore ? semaphore->line.count : 0;

    if (a->slots == 1) {
        reply_refuse_with(reply, HF_NO_SLOT, "# of # slots in use, # waiting", in_use, a->limit,
                          waiting);
    } else {
        reply_refuse_with(reply, HF_NO_SLOT, "SLOTS #, but # slots are free, # waiting", a->slots,
                          a->limit > in_use ? a->limit - in_use : 0, waiting);
    }
}

/* A retry of an ACQUIRE has other arguments than it had. */
static void refuse_other(struct reply *reply, const char *why, int64_t is, int64_t given)
{
    reply_refuse_with(reply, HF_INVALID_STATE, why, is, given, 0);
}

/* Refuses an ACQUIRE that asks for more than there is, or, as a retry, for something else than
 * before. A waiter may change its heartbeat and its TTL, but neither it nor a holder its slots. */
static bool is_refused(struct reply *reply, const struct sem_client *client,
                       const struct hf_sem_acquire_args *a)
{
    bool holds = client != NULL && sem_client_holds(client);

    if (a->slots > a->limit) {
        reply_refuse_with(reply, HF_INVALID_QUANTITY, SEM_TOO_LARGE, a->slots, a->limit, 0);
    } else if (holds && client->heartbeat_ms != a->heartbeat_ms) {
        refuse_other(reply, "the slot is held with HEARTBEAT # ms, not # ms" ANOTHER_ID,
                     client->heartbeat_ms, a->heartbeat_ms);
    } else if (holds && client->ttl_ms != a->ttl_ms) {
        refuse_other(reply, "the slot is held with TTL # ms, not # ms" ANOTHER_ID, client->ttl_ms,
                     a->ttl_ms);
    } else if (holds && client->slots != a->slots) {
        refuse_other(reply, "the slot is held with SLOTS #, not #" ANOTHER_ID, client->slots,
                     a->slots);
    } else if (client != NULL && client->slots != a->slots) {
        refuse_other(reply, "the caller is in line with SLOTS #, not #" ANOTHER_ID, client->slots,
                     a->slots);
    } else {
        return false;
    }
    return true;
}

/* The call waits for its answer, which comes as a wakeup. One whose slot comes in the next step
 * waits whatever it asked for. */
static void wait_for_slot(struct core *core, uint32_t index, int64_t wait_ms, struct reply *reply)
{
    struct sem_client *client = sem_client_at(core, index);

    client->ticket = ++core->ticket;
    client->wait_until_ms = core->now_ms + (wait_ms > 0 ? wait_ms : 1);
    core->waiting_calls++;
    sem_arm(core, index);
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
    struct sem_client *client = index == NONE ? NULL : sem_client_at(core, index);
    bool is_new = false;
    (void)entropy;

    if (is_refused(reply, client, a)) {
        return;
    }
    if (client != NULL && sem_client_holds(client)) {
        answer_acquired(reply, semaphore->in_use, client);
        return;
    }
    struct line_sum ahead = ahead_in_line(semaphore, client);
    bool at_once = fits(semaphore, ahead, a);
    if (!at_once && a->wait_ms == 0) {
        refuse_slot(reply, semaphore, a);
        return;
    }
    bool waits = !at_once || ahead.count >= SEM_GRANTS_AT_ONCE;
    bool stands = !at_once || ahead.count > 0; /* in line; without one, no need */
    if ((waits && !core_reserve_wakeup(core)) ||
        !obtain_client(core, a->name, a->id, stands, &which, &index, &is_new)) {
        reply_busy(core, reply);
        return;
    }
    semaphore = semaphore_at(core, which);
    client = sem_client_at(core, index);
    take_terms(semaphore, client, a);
    if (is_new && stands) {
        stand_in_line(core, which, index);
    } else if (is_new) {
        sem_grant(core, semaphore, index);
    }
    sem_end_wait(core, client,
                 (struct wakeup){.code = HF_TIMEOUT, .why = "another call with this id took over"});
    sem_hand_on(core, which);
    if (sem_client_holds(client)) { /* also one that did not fit, if one ahead was refused */
        reply->granted = true;
        answer_acquired(reply, sem_slots_in_use(semaphore), client);
    } else {
        CHECK(waits);
        wait_for_slot(core, index, a->wait_ms, reply);
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
    struct sem_client *client = sem_client_at(core, index);
    if (is_new) {
        client->slots = 1;
        stand_in_line(core, which, index);
    }
    if (sem_client_holds(client)) {
        reply_number(reply, 0);
        return;
    }
    if (client->ticket == 0) {
        client->heartbeat_ms = a->heartbeat_ms;
        client->ttl_ms = a->ttl_ms;
        client->alive_until_ms = core->now_ms + a->heartbeat_ms;
        sem_arm(core, index);
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
    reply_number(reply, sem_hand_on(core, which));
    sem_drop_if_idle(core, which); /* all that waited were refused */
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
    struct sem_client *client = index == NONE ? NULL : sem_client_at(core, index);
    (void)entropy;

    if (client == NULL || !sem_client_holds(client)) {
        reply_number(reply, 0);
        reply_number(reply, which == NONE ? 0 : semaphore_at(core, which)->in_use);
        return;
    }
    struct semaphore *semaphore = semaphore_at(core, which);
    int64_t changed = client->since_ms + a->ttl_ms > core->now_ms;
    if (changed) {
        semaphore->max = a->limit;
        client->heartbeat_ms = a->heartbeat_ms;
        client->ttl_ms = a->ttl_ms;
        client->alive_until_ms = core->now_ms + a->heartbeat_ms;
        sem_arm(core, index);
    } else {
        sem_remove_client(core, index, NULL);
    }
    sem_hand_on(core, which);
    reply_number(reply, changed);
    reply_number(reply, sem_slots_in_use(semaphore));
    sem_drop_if_idle(core, which);
}

CORE_COMMAND(sem_release)
{
    const struct hf_sem_release_args *a = &args->sem_release;
    uint32_t which, index = find_client(core, a->name, a->id, &which);
    (void)entropy;

    if (index != NONE) {
        bool slot_freed = sem_client_frees(sem_client_at(core, index));
        sem_remove_client(core, index, "released while it waited");
        if (slot_freed) {
            sem_hand_on(core, which);
        }
        sem_drop_if_idle(core, which);
    }
    reply_number(reply, index != NONE);
}

CORE_COMMAND(sem_ping)
{
    const struct hf_sem_ping_args *a = &args->sem_ping;
    uint32_t which, index = find_client(core, a->name, a->id, &which);
    struct sem_client *client = index == NONE ? NULL : sem_client_at(core, index);
    (void)entropy;

    if (client != NULL && client->ticket == 0) {
        client->alive_until_ms = core->now_ms + a->heartbeat_ms;
        sem_arm(core, index);
    }
    reply_number(reply, client != NULL && !sem_client_holds(client));
    reply_number(reply, client != NULL && sem_client_holds(client));
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

/* ---- the list of clients --------------------------------------------------------------------- */

static bool show_client(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct sem_client *client = sem_client_at(core, index);
    const struct semaphore *semaphore = semaphore_at(core, client->record.scope);
    struct name name = record_name(&client->record);
    char text[HF_ID_MAX];
    (void)context;

    reply_text(reply, text, name_write(&name, text));
    reply_word(reply, sem_client_holds(client) ? "holding" : "waiting");
    reply_number(reply, client->slots);
    if (sem_client_holds(client)) {
        reply_absent(reply);
        reply_number(reply, client->fence);
    } else {
        reply_number(reply, line_position(&semaphore->line, client->place));
        reply_absent(reply);
    }
    if (client->since_ms != 0) {
        reply_number(reply, core->now_ms - client->since_ms);
    } else {
        reply_absent(reply); /* it was in line before that was kept */
    }
    reply_number(reply, sem_client_deadline(client) - core->now_ms);
    return true;
}

CORE_COMMAND(sem_list)
{
    const struct hf_sem_list_args *a = &args->sem_list;
    (void)entropy;

    core_enter_semaphores(core);
    core_page(core,
              &(struct page){.command = SEM_LIST,
                             .kind = CORE_SEM_CLIENTS,
                             .scope = core_find(core, CORE_SEMAPHORES, 0, a->name),
                             .after = a->after,
                             .count = a->count,
                             .show = show_client},
              reply);
}
