/* SPDX-License-Identifier: Apache-2.0 */
#include "library/handle.h"

#include "base/error.h"
#include "engine/engine.h"
#include "library/lease.h"
#include "library/remote.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct hf_handle {
    struct engine *engine;  /* NULL for a server */
    struct remote *remote;  /* NULL for an engine in this process */
    pthread_mutex_t mutex;  /* guards all below, and the engine */
    pthread_cond_t changed; /* an answer came, or something falls due earlier than was thought */
    unsigned sleeping;      /* threads that wait for an answer */
    int64_t sleep_ms;       /* what engine_idle_ms() said when the last one went to sleep */
    bool flushing;          /* a thread is putting a batch on disk, with the mutex open */

    /* Only for an engine that keeps files: sees to what is due while nobody calls. */
    bool has_keeper, closing;
    pthread_t keeper;
    pthread_cond_t wake_keeper;

    struct lease_keeper *leases; /* NULL until there is one */
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

const char *hf_version(void)
{
    return HF_VERSION;
}

void hf_free(void *memory)
{
    free(memory);
}

/* ---- flushing -------------------------------------------------------------------------------- */

/* Puts what was appended on disk, with the mutex open meanwhile: those who come now make the next
 * batch. False if there is nothing to do, or somebody else is at it. */
static bool flush(hf_handle *handle)
{
    if (handle->flushing || !engine_flush_begin(handle->engine)) {
        return false;
    }
    handle->flushing = true;
    pthread_mutex_unlock(&handle->mutex);
    engine_flush_work(handle->engine);
    pthread_mutex_lock(&handle->mutex);
    handle->flushing = false;
    engine_flush_end(handle->engine);
    pthread_cond_broadcast(&handle->changed);
    return true;
}

static struct timespec time_from_now(int64_t ms)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t nanoseconds = time.tv_nsec + ms % 1000 * 1000000;
    time.tv_sec += (time_t)(ms / 1000 + nanoseconds / 1000000000);
    time.tv_nsec = (long)(nanoseconds % 1000000000);
    return time;
}

#define KEEPER_MS 200

/* Syncs once a second where the policy says so, and puts finished snapshots in place. */
static void *keep(void *context)
{
    hf_handle *handle = context;

    pthread_mutex_lock(&handle->mutex);
    while (!handle->closing) {
        struct timespec until = time_from_now(KEEPER_MS);
        pthread_cond_timedwait(&handle->wake_keeper, &handle->mutex, &until);
        engine_turn(handle->engine);
        flush(handle);
    }
    pthread_mutex_unlock(&handle->mutex);
    return NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

void handle_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool handle_start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
    int error = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

/* From an engine's own thread: there are answers to hand out. */
static void wake(void *context)
{
    hf_handle *handle = context;

    pthread_mutex_lock(&handle->mutex);
    pthread_cond_broadcast(&handle->changed);
    pthread_mutex_unlock(&handle->mutex);
}

static enum hf_error open_url(const char *url, hf_handle *handle, struct problem *problem)
{
    struct engine_options options = {
        .log = {.level = LOG_WARNING}, .wake = wake, .wake_context = handle};

    if (remote_url_is(url)) {
        return remote_open(url, &handle->remote, problem);
    }
    return engine_open(url, &options, &handle->engine, problem);
}

enum hf_error hf_open(const char *url, hf_handle **handle)
{
    struct problem problem = {.code = HF_BUSY, .message = "out of memory"};
    hf_handle *opened = calloc(1, sizeof *opened);

    *handle = NULL;
    if (opened == NULL) {
        return handle_fail(&problem);
    }
    pthread_mutex_init(&opened->mutex, NULL);
    handle_init_condition(&opened->changed);
    handle_init_condition(&opened->wake_keeper);
    if (open_url(url ? url : "", opened, &problem) != HF_OK) {
        hf_close(opened);
        return handle_fail(&problem);
    }
    if (opened->engine != NULL && opened->engine->durable) {
        opened->has_keeper = handle_start_thread(&opened->keeper, keep, opened);
        if (!opened->has_keeper) {
            hf_close(opened);
            return handle_fail(
                &(struct problem){.code = HF_BUSY, .message = "cannot start a thread"});
        }
    }
    *handle = opened;
    return HF_OK;
}

void hf_close(hf_handle *handle)
{
    if (handle == NULL) {
        return;
    }
    lease_keeper_stop(handle->leases);
    if (handle->has_keeper) {
        pthread_mutex_lock(&handle->mutex);
        handle->closing = true;
        pthread_cond_signal(&handle->wake_keeper);
        pthread_mutex_unlock(&handle->mutex);
        pthread_join(handle->keeper, NULL);
    }
    engine_close(handle->engine);
    remote_close(handle->remote);
    pthread_cond_destroy(&handle->wake_keeper);
    pthread_cond_destroy(&handle->changed);
    pthread_mutex_destroy(&handle->mutex);
    free(handle);
}

struct lease_keeper *handle_leases(hf_handle *handle)
{
    pthread_mutex_lock(&handle->mutex);
    if (handle->leases == NULL) {
        handle->leases = lease_keeper_start();
    }
    struct lease_keeper *leases = handle->leases;
    pthread_mutex_unlock(&handle->mutex);
    return leases;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A call under way. It may be answered by another thread, which then fills in all of it. */
struct call {
    hf_handle *handle;
    handle_use *use;
    void *context;
    bool done;
    enum hf_error code;
    char message[MESSAGE_SIZE]; /* of a refusal */
};

static void answer_call(void *context, const struct reply *reply)
{
    struct call *call = context;

    call->code = reply->code;
    if (reply->code != HF_OK) {
        reply_message(reply, call->message);
    }
    if (call->use != NULL) {
        call->use(call->context, reply);
    }
    call->done = true;
    if (call->handle->sleeping > 0) {
        pthread_cond_broadcast(&call->handle->changed);
    }
}

/* Sleeps until something changed or falls due. */
static void sleep_a_while(hf_handle *handle)
{
    handle->sleep_ms = engine_idle_ms(handle->engine);
    if (handle->sleep_ms < 0 || handle->flushing) {
        pthread_cond_wait(&handle->changed, &handle->mutex);
    } else {
        struct timespec until = time_from_now(handle->sleep_ms);
        pthread_cond_timedwait(&handle->changed, &handle->mutex, &until);
    }
}

/* The answer did not come at once: it waits for the disk, or for its turn. */
static void wait_for_answer(hf_handle *handle, struct call *call)
{
    handle->sleeping++;
    while (!call->done) {
        if (!flush(handle)) {
            sleep_a_while(handle);
            engine_turn(handle->engine);
        }
    }
    handle->sleeping--;
}

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

/* Returns the code, with the message kept if it is not HF_OK. */
static enum hf_error keep_problem(enum hf_error code, const struct problem *problem)
{
    return code == HF_OK ? HF_OK : handle_fail(problem);
}

static enum hf_error run_remote(hf_handle *handle, const struct command *command, handle_use *use,
                                void *context, int64_t timeout_ms)
{
    struct problem problem;
    return keep_problem(remote_run(handle->remote, command, use, context, timeout_ms, &problem),
                        &problem);
}

enum hf_error handle_run_within(hf_handle *handle, struct command *command, handle_use *use,
                                void *context, int64_t timeout_ms)
{
    struct call call;

    if (handle->remote != NULL) {
        return run_remote(handle, command, use, context, timeout_ms);
    }
    call.handle = handle;
    call.use = use;
    call.context = context;
    call.done = false;
    pthread_mutex_lock(&handle->mutex);
    engine_submit(handle->engine, command, answer_call, &call);
    after_submit(handle);
    if (!call.done) {
        wait_for_answer(handle, &call);
    }
    pthread_mutex_unlock(&handle->mutex);
    if (call.code != HF_OK) {
        memcpy(last_message, call.message, strlen(call.message) + 1);
    }
    return call.code;
}

enum hf_error handle_run(hf_handle *handle, struct command *command, handle_use *use, void *context)
{
    return handle_run_within(handle, command, use, context, 0);
}

/* ---- figures --------------------------------------------------------------------------------- */

static enum hf_error keep_code(enum hf_error code)
{
    if (code != HF_OK) {
        snprintf(last_message, sizeof last_message, "%s", error_text(code));
    }
    return code;
}

enum hf_error hf_info(hf_handle *handle, struct hf_info *info)
{
    struct problem problem;

    if (handle->remote != NULL) {
        return keep_problem(remote_info(handle->remote, info, &problem), &problem);
    }
    pthread_mutex_lock(&handle->mutex);
    enum hf_error code = engine_info(handle->engine, info);
    pthread_mutex_unlock(&handle->mutex);
    return keep_code(code);
}

enum hf_error hf_snapshot(hf_handle *handle)
{
    struct problem problem;

    if (handle->remote != NULL) {
        return keep_problem(remote_snapshot(handle->remote, &problem), &problem);
    }
    pthread_mutex_lock(&handle->mutex);
    while (handle->flushing) {
        pthread_cond_wait(&handle->changed, &handle->mutex);
    }
    engine_turn(handle->engine); /* one that is finished does not stand in the way */
    enum hf_error code = engine_snapshot(handle->engine, &problem);
    pthread_cond_broadcast(&handle->changed); /* it flushed first */
    pthread_mutex_unlock(&handle->mutex);
    return keep_problem(code, &problem);
}

enum hf_error hf_audit(hf_handle *handle, hf_audit_report *report, void *context,
                       uint64_t *findings)
{
    uint64_t count = 0;
    struct problem problem;
    enum hf_error code;

    if (handle->remote != NULL) {
        code =
            keep_problem(remote_audit(handle->remote, report, context, &count, &problem), &problem);
    } else {
        pthread_mutex_lock(&handle->mutex);
        code =
            keep_problem(engine_audit(handle->engine, report, context, &count, &problem), &problem);
        pthread_mutex_unlock(&handle->mutex);
    }
    if (findings != NULL) {
        *findings = count;
    }
    return code;
}
