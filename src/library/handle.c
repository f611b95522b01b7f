/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens and closes handles, and runs commands on them: on an engine in this process, where calling
 * threads share its turns and its flushes, or on a server. */
#include "library/handle.h"

#include "base/process.h"
#include "base/thread.h"
#include "library/lease.h"
#include "library/open_options.h"
#include "library/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct hf_handle {
    unsigned generation;    /* of the process that opened it, and alone may use it */
    struct engine *engine;  /* NULL for a server */
    struct remote *remote;  /* NULL for an engine in this process */
    pthread_mutex_t mutex;  /* guards all below, and the engine */
    pthread_cond_t changed; /* an answer came, or something falls due earlier than was thought */
    unsigned sleeping;      /* threads that wait for an answer */
    int64_t sleep_ms;       /* engine_idle_ms() when the last thread went to sleep */
    bool flushing;          /* a thread is putting a batch on disk, with the mutex open */

    /* Only for an engine that has files or a ledger: does what is due while no thread calls. */
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

/* ---- children of fork() ---------------------------------------------------------------------- */

bool handle_is_inherited(unsigned generation, struct problem *problem)
{
    if (generation == process_generation()) {
        return false;
    }
    problem_set(problem, HF_INVALID_STATE,
                "this handle was opened by another process, of which fork() made this one; nothing "
                "was done: open a handle of your own with hf_open()");
    return true;
}

void handle_use_problem(const struct problem *problem, handle_use *use, void *context)
{
    struct memory memory;
    struct reply reply;

    if (use == NULL) {
        return;
    }
    memory_init(&memory);
    if (reply_init(&reply, &memory) &&
        reply_refuse_said(&reply, problem->code, hf_text(problem->message))) {
        use(context, &reply);
    }
    reply_free(&reply);
}

/* ---- flushing -------------------------------------------------------------------------------- */

/* Puts what was appended on disk, with the mutex open meanwhile: calls that come now make the next
 * batch. False if there is nothing to do, or another thread does it. */
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
/* Steps of the service that the keeper lets follow one another at once, each after a flush. */
#define KEEPER_STEPS 16

/* Syncs once a second where the policy says so, puts finished snapshots in place, and takes the
 * steps of a reconciliation. */
static void *keep(void *context)
{
    hf_handle *handle = context;

    pthread_mutex_lock(&handle->mutex);
    while (!handle->closing) {
        struct timespec until = time_from_now(KEEPER_MS);
        pthread_cond_timedwait(&handle->wake_keeper, &handle->mutex, &until);
        engine_turn(handle->engine);
        for (int step = 0; step < KEEPER_STEPS && flush(handle); step++) {
            engine_turn(handle->engine);
        }
    }
    pthread_mutex_unlock(&handle->mutex);
    return NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

/* From an engine's own thread: there are answers to hand out. */
static void wake(void *context)
{
    hf_handle *handle = context;

    pthread_mutex_lock(&handle->mutex);
    if (handle->sleeping > 0) {
        pthread_cond_broadcast(&handle->changed);
    } else {
        pthread_cond_signal(&handle->wake_keeper);
    }
    pthread_mutex_unlock(&handle->mutex);
}

static enum hf_error open_engine(hf_handle *handle, const struct hf_open_options *given,
                                 struct problem *problem)
{
    struct engine_options engine = {
        .log = {.level = LOG_WARNING}, .wake = wake, .wake_context = handle};
    struct open_options options;

    if (open_options_read(&options, given, problem) != HF_OK) {
        return problem->code;
    }
    if (remote_url_is(options.engine)) {
        return remote_open(options.engine, &handle->remote, problem);
    }
    enum hf_error code =
        service_open(options.engine, &engine, &options.service, &handle->engine, problem);
    if (code == HF_OK &&
        (engine_is_durable(handle->engine) || options.service.ledger_url != NULL)) {
        handle->has_keeper = thread_start(&handle->keeper, keep, handle);
        return handle->has_keeper ? HF_OK : problem_set(problem, HF_BUSY, "cannot start a thread");
    }
    return code;
}

enum hf_error hf_open(const char *url, hf_handle **handle)
{
    struct hf_open_options options = {.size = sizeof options, .engine = url};

    return hf_open_with(&options, handle);
}

enum hf_error hf_open_with(const struct hf_open_options *options, hf_handle **handle)
{
    struct problem problem = {.code = HF_BUSY, .message = "out of memory"};
    hf_handle *opened = calloc(1, sizeof *opened);

    *handle = NULL;
    if (opened == NULL) {
        return handle_fail(&problem);
    }
    opened->generation = process_generation();
    pthread_mutex_init(&opened->mutex, NULL);
    thread_condition(&opened->changed);
    thread_condition(&opened->wake_keeper);
    if (open_engine(opened, options, &problem) != HF_OK) {
        hf_close(opened);
        return handle_fail(&problem);
    }
    *handle = opened;
    return HF_OK;
}

void hf_close(hf_handle *handle)
{
    /* A child of fork() has neither the threads to be ended nor a right to the files, and a mutex
     * may have been copied locked: it leaves all as it is. */
    if (handle == NULL || handle_is_inherited(handle->generation, NULL)) {
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

struct lease_keeper *handle_leases(hf_handle *handle, struct problem *problem)
{
    if (handle_is_inherited(handle->generation, problem)) {
        return NULL;
    }
    pthread_mutex_lock(&handle->mutex);
    if (handle->leases == NULL) {
        handle->leases = lease_keeper_start(handle);
    }
    struct lease_keeper *leases = handle->leases;
    pthread_mutex_unlock(&handle->mutex);
    if (leases == NULL) {
        problem_set(problem, HF_BUSY, "out of memory or threads for a lease");
    }
    return leases;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void answer_call(void *context, const struct reply *reply)
{
    struct handle_call *call = context;

    call->problem.code = reply->code;
    if (reply->code != HF_OK) {
        reply_message(reply, call->problem.message);
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
static void wait_for_answer(hf_handle *handle, const struct handle_call *call)
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

/* A thread sleeps until the engine has something to do; it is woken if that is sooner now. */
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
                                void *context)
{
    struct problem problem;
    return keep_problem(remote_run(handle->remote, command, use, context, &problem), &problem);
}

/* Runs commands on an engine in this process. */
static void run_here(hf_handle *handle, struct handle_call *calls, size_t count)
{
    pthread_mutex_lock(&handle->mutex);
    for (size_t i = 0; i < count; i++) {
        calls[i].handle = handle;
        calls[i].done = false;
        engine_submit(handle->engine, calls[i].command, answer_call, &calls[i]);
    }
    after_submit(handle);
    for (size_t i = 0; i < count; i++) {
        if (!calls[i].done) {
            wait_for_answer(handle, &calls[i]);
        }
    }
    pthread_mutex_unlock(&handle->mutex);
}

enum hf_error handle_run(hf_handle *handle, struct command *command, handle_use *use, void *context)
{
    struct handle_call call;

    if (handle_is_inherited(handle->generation, &call.problem)) {
        handle_use_problem(&call.problem, use, context);
        return handle_fail(&call.problem);
    }
    if (handle->remote != NULL) {
        return run_remote(handle, command, use, context);
    }
    call.command = command;
    call.use = use;
    call.context = context;
    run_here(handle, &call, 1);
    return keep_problem(call.problem.code, &call.problem);
}

void handle_run_all(hf_handle *handle, struct handle_call *calls, size_t count, int64_t timeout_ms)
{
    if (handle->remote != NULL) {
        remote_run_all(handle->remote, calls, count, timeout_ms);
    } else {
        run_here(handle, calls, count);
    }
}

/* ---- figures --------------------------------------------------------------------------------- */

enum hf_error hf_info(hf_handle *handle, struct hf_info *info)
{
    struct problem problem;

    if (handle_is_inherited(handle->generation, &problem)) {
        return handle_fail(&problem);
    }
    if (handle->remote != NULL) {
        return keep_problem(remote_info(handle->remote, info, &problem), &problem);
    }
    pthread_mutex_lock(&handle->mutex);
    enum hf_error code = engine_info(handle->engine, info);
    while (handle->flushing) {
        pthread_cond_wait(&handle->changed, &handle->mutex);
    }
    flush(handle); /* figures show what others have in flight, and what fell due: on disk first */
    if (code == HF_OK && engine_failure(handle->engine) != NULL) {
        code = HF_IOERR;
    }
    pthread_mutex_unlock(&handle->mutex);
    if (code != HF_OK) {
        problem_set(&problem, code,
                    "what Redis carries is not counted, that would mean to read all of it: use "
                    "INFO of Redis, or hf_audit()");
    }
    return keep_problem(code, &problem);
}

enum hf_error hf_snapshot(hf_handle *handle)
{
    struct problem problem;

    if (handle_is_inherited(handle->generation, &problem)) {
        return handle_fail(&problem);
    }
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

/* The engine, then the ledger, which needs no engine and holds no call up. */
static enum hf_error audit_here(hf_handle *handle, hf_audit_report *report, void *context,
                                uint64_t *count, struct problem *problem)
{
    pthread_mutex_lock(&handle->mutex);
    enum hf_error code = engine_audit(handle->engine, report, context, count, problem);
    bool has_ledger = service_ledger_name(handle->engine) != NULL;
    pthread_mutex_unlock(&handle->mutex);
    return code == HF_OK && has_ledger
               ? service_audit_ledger(handle->engine, report, context, count, problem)
               : code;
}

enum hf_error hf_audit(hf_handle *handle, hf_audit_report *report, void *context,
                       uint64_t *findings)
{
    uint64_t count = 0;
    struct problem problem;
    enum hf_error code;

    if (handle_is_inherited(handle->generation, &problem)) {
        code = handle_fail(&problem);
    } else if (handle->remote != NULL) {
        code =
            keep_problem(remote_audit(handle->remote, report, context, &count, &problem), &problem);
    } else {
        code = keep_problem(audit_here(handle, report, context, &count, &problem), &problem);
    }
    if (findings != NULL) {
        *findings = count;
    }
    return code;
}
