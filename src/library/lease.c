/* SPDX-License-Identifier: Apache-2.0
 *
 * The leases of holdfast.h: how a slot and a lock are got, kept and given back. */
#include "library/lease.h"

#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is sent to the engine -------------------------------------------------------------- */

void lease_take_figure(void *context, const struct reply *reply)
{
    struct lease_figure *figure = context;

    if (reply->code == HF_OK && figure->which < reply->count) {
        figure->number = reply->values[figure->which].number;
    }
}

static enum hf_error beat_slot(const hf_lease *lease, struct command *command,
                               struct problem *problem)
{
    struct hf_sem_ping_args args = {.name = hf_text(lease->scope),
                                    .id = hf_text(lease->id),
                                    .heartbeat_ms = lease->interval_ms,
                                    .ttl_ms = lease->ttl_ms};
    return command_from_struct(command, &command_table[SEM_PING], &args, problem);
}

static enum hf_error release_slot(const hf_lease *lease, struct command *command,
                                  struct problem *problem)
{
    struct hf_sem_release_args args = {.name = hf_text(lease->scope), .id = hf_text(lease->id)};
    return command_from_struct(command, &command_table[SEM_RELEASE], &args, problem);
}

static enum hf_error beat_lock(const hf_lease *lease, struct command *command,
                               struct problem *problem)
{
    struct hf_lock_extend_args args = {.resource = hf_text(lease->scope),
                                       .lock_id = hf_text(lease->id),
                                       .ttl_ms = lease->interval_ms};
    return command_from_struct(command, &command_table[LOCK_EXTEND], &args, problem);
}

static enum hf_error release_lock(const hf_lease *lease, struct command *command,
                                  struct problem *problem)
{
    struct hf_lock_unlock_args args = {.resource = hf_text(lease->scope),
                                       .lock_id = hf_text(lease->id)};
    return command_from_struct(command, &command_table[LOCK_UNLOCK], &args, problem);
}

static const struct lease_kind slot_kind = {"slot", beat_slot, release_slot, 1, 0};
static const struct lease_kind lock_kind = {"lock", beat_lock, release_lock, 0, 0};

/* Runs a command of which a figure says whether the holder was one. */
static enum hf_error run(const hf_lease *lease, struct command *command, size_t which, bool *held)
{
    struct lease_figure figure = {which, 0};
    enum hf_error code = handle_run(lease->handle, command, lease_take_figure, &figure);

    *held = figure.number > 0;
    return code;
}

static enum hf_error beat(const hf_lease *lease, bool *held)
{
    struct command command;
    struct problem problem;

    if (lease->kind->beat(lease, &command, &problem) != HF_OK) {
        return handle_fail(&problem);
    }
    return run(lease, &command, lease->kind->beat_figure, held);
}

static enum hf_error let_go(const hf_lease *lease, bool *held)
{
    struct command command;
    struct problem problem;

    if (lease->kind->let_go(lease, &command, &problem) != HF_OK) {
        return handle_fail(&problem);
    }
    return run(lease, &command, lease->kind->let_go_figure, held);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static hf_lease *new_lease(hf_handle *handle, const struct lease_kind *kind, hf_lease_lost *lost,
                           void *context, struct problem *problem)
{
    struct lease_keeper *keeper = handle_leases(handle, problem);
    hf_lease *lease = keeper != NULL ? calloc(1, sizeof *lease) : NULL;

    if (keeper != NULL && lease == NULL) {
        problem_set(problem, HF_BUSY, "out of memory for a lease");
    }
    if (lease == NULL) {
        return NULL;
    }
    lease->generation = process_generation();
    lease->keeper = keeper;
    lease->handle = handle;
    lease->kind = kind;
    lease->lost = lost;
    lease->context = context;
    lease->ends_ns = INT64_MAX;
    return lease;
}

/* The engine has granted it. When it did so is not known, so that the first sign of life is sent
 * before the caller learns that it is held. */
static enum hf_error begin(hf_lease *lease, hf_lease **out)
{
    struct problem problem = {.code = HF_TIMEOUT, .message = "granted, but lost again at once"};
    int64_t sent_ns = lease_now_ns();
    bool held = false;
    enum hf_error code = beat(lease, &held);

    if (code != HF_OK || !held) {
        if (code != HF_OK) {
            problem.code = code;
            snprintf(problem.message, sizeof problem.message, "%s", hf_last_message());
            let_go(lease, &held); /* as good as can be; if not, it lapses by itself */
        }
        free(lease);
        return handle_fail(&problem);
    }
    lease_keeper_add(lease->keeper, lease, sent_ns);
    *out = lease;
    return HF_OK;
}

static void keep_id(char out[HF_ID_SIZE], struct hf_bytes id)
{
    memcpy(out, id.data, id.size);
    out[id.size] = '\0';
}

enum hf_error hf_lease_slot(hf_handle *handle, const struct hf_sem_acquire_args *args,
                            hf_lease_lost *lost, void *context, hf_lease **lease,
                            struct hf_sem_acquire_reply *reply)
{
    struct hf_sem_acquire_reply got;
    struct problem problem;
    hf_lease *made = new_lease(handle, &slot_kind, lost, context, &problem);

    *lease = NULL;
    if (made == NULL) {
        return handle_fail(&problem);
    }
    int64_t sent_ns = lease_now_ns();
    enum hf_error code = hf_sem_acquire(handle, args, &got);
    if (code != HF_OK) {
        free(made);
        return code;
    }
    keep_id(made->scope, args->name);
    keep_id(made->id, args->id);
    made->interval_ms = args->heartbeat_ms ? args->heartbeat_ms : SEM_HEARTBEAT_DEFAULT_MS;
    made->ttl_ms = args->ttl_ms ? args->ttl_ms : SEM_TTL_DEFAULT_MS;
    made->fence = got.fence;
    /* Without a wait it was granted after it was sent; with one, just before the answer came. */
    made->ends_ns = (args->wait_ms == 0 ? sent_ns : lease_now_ns()) + lease_sure_ns(made->ttl_ms);
    code = begin(made, lease);
    if (code == HF_OK && reply != NULL) {
        *reply = got;
    }
    return code;
}

enum hf_error hf_lease_lock(hf_handle *handle, const struct hf_lock_try_args *args,
                            hf_lease_lost *lost, void *context, hf_lease **lease,
                            struct hf_lock_try_reply *reply)
{
    struct hf_lock_try_reply got;
    struct problem problem;
    hf_lease *made = new_lease(handle, &lock_kind, lost, context, &problem);

    *lease = NULL;
    if (made == NULL) {
        return handle_fail(&problem);
    }
    enum hf_error code = hf_lock_try(handle, args, &got);
    if (code != HF_OK) {
        free(made);
        return code;
    }
    keep_id(made->scope, args->resource);
    memcpy(made->id, got.lock_id, sizeof made->id);
    made->interval_ms = made->ttl_ms = args->ttl_ms;
    made->fence = got.fence;
    code = begin(made, lease);
    if (code == HF_OK && reply != NULL) {
        *reply = got;
    }
    return code;
}

bool hf_lease_held(const hf_lease *lease)
{
    return lease->generation == process_generation() && atomic_load(&lease->held) &&
           lease_now_ns() < lease_end_ns(lease);
}

int64_t hf_lease_fence(const hf_lease *lease)
{
    return lease->fence;
}

enum hf_error hf_lease_release(hf_lease *lease)
{
    struct problem lost = {.code = HF_NOT_FOUND, .message = "the hold was lost before"};
    enum hf_error code = HF_OK;
    bool held = false;

    if (lease == NULL) {
        return HF_OK;
    }
    if (handle_is_inherited(lease->generation, &lost)) {
        free(lease); /* the child's copy: the parent holds on */
        return handle_fail(&lost);
    }
    struct lease_keeper *keeper = lease->keeper;
    if (keeper == NULL) {
        free(lease);
        return handle_fail(&lost);
    }
    if (lease_keeper_withdraw(keeper, lease)) {
        code = let_go(lease, &held);
    }
    lease_keeper_free(keeper, lease);
    return code != HF_OK || held ? code : handle_fail(&lost);
}
