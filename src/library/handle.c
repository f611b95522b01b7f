/* SPDX-License-Identifier: Apache-2.0 */
#include "library/handle.h"

#include "engine/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct hf_handle {
    struct engine *engine;
    pthread_mutex_t mutex;  /* guards all below, and the engine */
    pthread_cond_t changed; /* an answer came, or something falls due earlier than was thought */
    unsigned sleeping;      /* threads in handle_run() */
    int64_t sleep_ms;       /* what engine_idle_ms() said when the last one went to sleep */
};

static _Thread_local char last_message[MESSAGE_SIZE];

const char *hf_last_message(void)
{
    return last_message;
}

enum hf_error handle_fail(const struct problem *problem)
{
    snprintf(last_message, sizeof last_message, "%s", problem->message);
    return problem->code;
}

static enum hf_error keep_message(const struct reply *reply)
{
    if (reply->code != HF_OK) {
        reply_message(reply, last_message);
    }
    return reply->code;
}

const char *hf_version(void)
{
    return HF_VERSION;
}

void hf_free(void *memory)
{
    free(memory);
}

/* ---- open and close -------------------------------------------------------------------------- */

enum hf_error hf_open(const char *url, hf_handle **handle)
{
    struct problem problem = {.code = HF_BUSY, .message = "out of memory"};
    pthread_condattr_t attributes;
    hf_handle *opened = calloc(1, sizeof *opened);

    *handle = NULL;
    if (opened == NULL) {
        return handle_fail(&problem);
    }
    if (engine_open(url ? url : "", &opened->engine, &problem) != HF_OK) {
        free(opened);
        return handle_fail(&problem);
    }
    pthread_mutex_init(&opened->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&opened->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    *handle = opened;
    return HF_OK;
}

void hf_close(hf_handle *handle)
{
    if (handle != NULL) {
        engine_close(handle->engine);
        pthread_cond_destroy(&handle->changed);
        pthread_mutex_destroy(&handle->mutex);
        free(handle);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Somebody sleeps until the engine has something to do: if that is sooner now, tell them. */
static void after_submit(hf_handle *handle)
{
    if (handle->sleeping > 0) {
        int64_t idle_ms = engine_idle_ms(handle->engine);
        if (idle_ms >= 0 && (handle->sleep_ms < 0 || idle_ms < handle->sleep_ms)) {
            pthread_cond_broadcast(&handle->changed);
        }
    }
}

struct use {
    handle_use *use;
    void *context;
    enum hf_error code;
};

static void use_now(void *context, const struct reply *reply)
{
    struct use *use = context;

    use->code = keep_message(reply);
    if (use->use != NULL) {
        use->use(use->context, reply);
    }
}

enum hf_error handle_run_now(hf_handle *handle, struct command *command, handle_use *use,
                             void *context)
{
    struct use now = {use, context, HF_INTERNAL};

    pthread_mutex_lock(&handle->mutex);
    engine_submit(handle->engine, command, use_now, &now);
    after_submit(handle);
    pthread_mutex_unlock(&handle->mutex);
    return now.code;
}

/* A call that may sleep. */
struct call {
    hf_handle *handle;
    struct reply *reply;
    bool done, copied;
};

static void answer_call(void *context, const struct reply *reply)
{
    struct call *call = context;

    call->copied = reply_copy(call->reply, reply);
    call->done = true;
    if (call->handle->sleeping > 0) {
        pthread_cond_broadcast(&call->handle->changed);
    }
}

/* Sleeps until something changed or falls due. */
static void sleep_a_while(hf_handle *handle)
{
    struct timespec until;

    handle->sleep_ms = engine_idle_ms(handle->engine);
    if (handle->sleep_ms < 0) {
        pthread_cond_wait(&handle->changed, &handle->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + handle->sleep_ms % 1000 * 1000000;
    until.tv_sec += (time_t)(handle->sleep_ms / 1000 + nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    pthread_cond_timedwait(&handle->changed, &handle->mutex, &until);
}

enum hf_error handle_run(hf_handle *handle, struct command *command, struct reply *reply)
{
    struct call call = {.handle = handle, .reply = reply};

    pthread_mutex_lock(&handle->mutex);
    engine_submit(handle->engine, command, answer_call, &call);
    after_submit(handle);
    handle->sleeping++;
    while (!call.done) {
        sleep_a_while(handle);
        engine_turn(handle->engine);
    }
    handle->sleeping--;
    pthread_mutex_unlock(&handle->mutex);
    if (!call.copied) {
        reply_clear(reply);
        reply_refuse(reply, HF_BUSY, "out of memory for the reply; ask again with the same id");
    }
    return keep_message(reply);
}

/* ---- figures --------------------------------------------------------------------------------- */

enum hf_error hf_info(hf_handle *handle, struct hf_info *info)
{
    pthread_mutex_lock(&handle->mutex);
    enum hf_error code = engine_info(handle->engine, info);
    pthread_mutex_unlock(&handle->mutex);
    return code;
}

enum hf_error hf_audit(hf_handle *handle, hf_audit_report *report, void *context,
                       uint64_t *findings)
{
    uint64_t count = 0;

    pthread_mutex_lock(&handle->mutex);
    enum hf_error code = engine_audit(handle->engine, report, context, &count);
    pthread_mutex_unlock(&handle->mutex);
    if (findings != NULL) {
        *findings = count;
    }
    if (code != HF_OK) {
        snprintf(last_message, sizeof last_message, "out of memory for the audit");
    }
    return code;
}
