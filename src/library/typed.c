/* SPDX-License-Identifier: Apache-2.0
 *
 * The typed calls of holdfast.h: a struct in, a struct out, all by the row of the table. */
#include "library/handle.h"

#include <stdlib.h>

struct typed {
    const struct command_spec *spec;
    void *out;
    bool failed; /* no memory for what the caller is to own */
};

/* A refusal that carries values (quota's figures, PROCESSING) fills the struct too. */
static void fill(void *context, const struct reply *reply)
{
    struct typed *typed = context;

    if (typed->out != NULL) {
        reply_to_struct(reply, typed->spec, typed->out);
    }
}

static enum hf_error run(hf_handle *handle, enum command_id id, const void *args, handle_use *use,
                         struct typed *typed)
{
    struct command command;
    struct problem problem;

    typed->spec = &command_table[id];
    if (command_from_struct(&command, typed->spec, args, &problem) != HF_OK) {
        return handle_fail(&problem);
    }
    return handle_run(handle, &command, use, typed);
}

static enum hf_error run_plain(hf_handle *handle, enum command_id id, const void *args, void *out)
{
    struct typed typed = {.out = out};
    return run(handle, id, args, fill, &typed);
}

#define TYPED(function, id, answer)                                                                \
    enum hf_error hf_##function(hf_handle *handle, const struct hf_##function##_args *args,        \
                                struct hf_##answer *reply)                                         \
    {                                                                                              \
        return run_plain(handle, id, args, reply);                                                 \
    }

TYPED(seats_open, SEATS_OPEN, seats_open_reply)
TYPED(seats_reserve, SEATS_RESERVE, seats_reserve_reply)
TYPED(seats_confirm, SEATS_CONFIRM, seats_confirm_reply)
TYPED(seats_release, SEATS_RELEASE, seats_release_reply)
TYPED(seats_extend, SEATS_EXTEND, seats_extend_reply)
TYPED(seats_get, SEATS_GET, seats_get_reply)
TYPED(seats_zone, SEATS_ZONE, seats_zone_reply)
TYPED(seats_user, SEATS_USER, seats_user_reply)
TYPED(quota_limit, QUOTA_LIMIT, quota_reply)
TYPED(quota_reserve, QUOTA_RESERVE, quota_reply)
TYPED(quota_refund, QUOTA_REFUND, quota_refund_reply)
TYPED(quota_commit, QUOTA_COMMIT, quota_reply)
TYPED(quota_cancel, QUOTA_CANCEL, quota_reply)
TYPED(quota_sync, QUOTA_SYNC, quota_reply)
TYPED(quota_get, QUOTA_GET, quota_get_reply)
TYPED(sem_acquire, SEM_ACQUIRE, sem_acquire_reply)
TYPED(sem_queue, SEM_QUEUE, sem_queue_reply)
TYPED(sem_wake, SEM_WAKE, sem_wake_reply)
TYPED(sem_confirm, SEM_CONFIRM, sem_confirm_reply)
TYPED(sem_release, SEM_RELEASE, sem_release_reply)
TYPED(sem_ping, SEM_PING, sem_ping_reply)
TYPED(sem_card, SEM_CARD, sem_card_reply)
TYPED(sem_stats, SEM_STATS, sem_stats_reply)
TYPED(lock_try, LOCK_TRY, lock_try_reply)
TYPED(lock_unlock, LOCK_UNLOCK, lock_unlock_reply)
TYPED(lock_extend, LOCK_EXTEND, lock_extend_reply)
TYPED(lock_get, LOCK_GET, lock_get_reply)
TYPED(stock_load, STOCK_LOAD, stock_load_reply)
TYPED(stock_take, STOCK_TAKE, stock_take_reply)
TYPED(stock_settle, STOCK_SETTLE, stock_settle_reply)
TYPED(stock_give, STOCK_GIVE, stock_give_reply)
TYPED(stock_get, STOCK_GET, stock_get_reply)
TYPED(stock_adjust, STOCK_ADJUST, stock_adjust_reply)
TYPED(room_join, ROOM_JOIN, room_join_reply)
TYPED(room_position, ROOM_POSITION, room_position_reply)
TYPED(room_leave, ROOM_LEAVE, room_leave_reply)
TYPED(room_check, ROOM_CHECK, room_check_reply)
TYPED(idem_complete, IDEM_COMPLETE, idem_complete_reply)
TYPED(idem_abort, IDEM_ABORT, idem_abort_reply)

/* ---- the two that are not plain -------------------------------------------------------------- */

static void fill_admitted(void *context, const struct reply *reply)
{
    struct typed *typed = context;
    struct hf_room_admit_reply *out = typed->out;
    size_t count = reply->count / 2;

    if (out == NULL || count == 0) {
        return;
    }
    out->admitted = calloc(count, sizeof(*out->admitted));
    if (out->admitted == NULL) {
        typed->failed = true;
        return;
    }
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        struct hf_bytes user = reply_bytes(reply, 2 * i), pass = reply_bytes(reply, 2 * i + 1);
        memcpy(out->admitted[i].user, user.data, user.size);
        memcpy(out->admitted[i].pass, pass.data, pass.size);
    }
}

static enum hf_error finish_owned(const struct typed *typed, enum hf_error code)
{
    struct problem problem = {.code = HF_BUSY,
                              .message = "carried out, but there is no memory for the reply"};
    return typed->failed ? handle_fail(&problem) : code;
}

enum hf_error hf_room_admit(hf_handle *handle, const struct hf_room_admit_args *args,
                            struct hf_room_admit_reply *reply)
{
    struct typed typed = {.out = reply};

    if (reply != NULL) {
        *reply = (struct hf_room_admit_reply){0};
    }
    return finish_owned(&typed, run(handle, ROOM_ADMIT, args, fill_admitted, &typed));
}

static void fill_begun(void *context, const struct reply *reply)
{
    struct typed *typed = context;
    struct hf_idem_begin_reply *out = typed->out;

    fill(context, reply);
    if (out == NULL || reply->count < 2) {
        return;
    }
    struct hf_bytes response = reply_bytes(reply, 1);
    out->response = calloc(1, response.size + 1);
    if (out->response == NULL) {
        typed->failed = true;
        return;
    }
    memcpy(out->response, response.data, response.size);
    out->response_size = response.size;
}

enum hf_error hf_idem_begin(hf_handle *handle, const struct hf_idem_begin_args *args,
                            struct hf_idem_begin_reply *reply)
{
    struct typed typed = {.out = reply};

    if (reply != NULL) {
        *reply = (struct hf_idem_begin_reply){.response = NULL};
    }
    return finish_owned(&typed, run(handle, IDEM_BEGIN, args, fill_begun, &typed));
}
