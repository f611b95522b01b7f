/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine on Redis: the scripts of lua/, called over the connections of src/redis. It has a
 * thread of its own with a loop; commands go over to it and answers come back in batches, so that a
 * slow Redis never holds up the threads that use the engine, and all of them share one pipeline.
 *
 *     engine_submit ──submitted──> thread: redis_execute(), command_answered()
 *     thread ──answered──> engine_turn: done()
 *
 * What it promises is what Redis promises: an acknowledged change is as safe as its persistence and
 * replication make it. */
#include "base/error.h"
#include "base/thread.h"
#include "engine/redis_state.h"
#include "redis/audit/redis_audit.h"

#include <stdlib.h>

/* ---- open and close -------------------------------------------------------------------------- */

static void init_engine(struct redis_engine *engine, const struct engine_options *options)
{
    engine->engine.type = &engine_redis;
    engine->options = *options;
    list_init(&engine->submitted);
    list_init(&engine->answered);
    list_init(&engine->spare);
    list_init(&engine->running);
    list_init(&engine->finished);
    memory_init(&engine->memory);
    random_init(&engine->random);
    pthread_mutex_init(&engine->mutex, NULL);
    thread_condition(&engine->changed);
}

static void free_commands(struct list *commands)
{
    while (!list_empty(commands)) {
        struct pending_command *pending = pending_of(commands->next);
        list_remove(&pending->node);
        pending_free(pending);
    }
}

static void redis_close(struct engine *head)
{
    struct redis_engine *engine = redis_self(head);

    pthread_mutex_lock(&engine->mutex);
    engine->closing = true;
    uv_async_send(&engine->signal); /* the thread closes it as soon as it sees that */
    pthread_mutex_unlock(&engine->mutex);
    pthread_join(engine->thread, NULL);
    uv_loop_close(&engine->loop);
    free_commands(&engine->submitted);
    free_commands(&engine->running);
    free_commands(&engine->finished);
    free_commands(&engine->answered);
    free_commands(&engine->spare);
    buffer_free(&engine->env.scratch);
    reply_free(&engine->refusal);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->mutex);
    free(engine);
}

static enum hf_error wait_until_open(struct redis_engine *engine, struct problem *problem)
{
    pthread_mutex_lock(&engine->mutex);
    while (!engine->opened) {
        pthread_cond_wait(&engine->changed, &engine->mutex);
    }
    bool failed = engine->failed;
    pthread_mutex_unlock(&engine->mutex);
    return failed ? problem_set(problem, engine->problem.code, "%s", engine->problem.message)
                  : HF_OK;
}

static enum hf_error redis_open(const char *url, const struct engine_options *options,
                                struct engine **opened, struct problem *problem)
{
    struct redis_url parsed;

    if (redis_url_parse(url, &parsed, problem) != HF_OK ||
        redis_client_check(&parsed, problem) != HF_OK) {
        return problem->code;
    }
    struct redis_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    engine->url = parsed;
    redis_url_show(&parsed, engine->name, sizeof engine->name);
    engine->engine.name = engine->name;
    init_engine(engine, options);
    bool started = redis_thread_prepare(engine) && reply_init(&engine->refusal, &engine->memory);
    if (!redis_thread_start(engine)) { /* nothing runs that could be closed in order */
        return problem_set(problem, HF_BUSY, "cannot start a thread");
    }
    enum hf_error code =
        started ? wait_until_open(engine, problem) : problem_set(problem, HF_BUSY, "out of memory");
    if (code != HF_OK) {
        redis_close(&engine->engine);
        return code;
    }
    *opened = &engine->engine;
    return HF_OK;
}

static enum hf_error redis_check(const char *url, struct problem *problem)
{
    struct redis_url parsed;
    enum hf_error code = redis_url_parse(url, &parsed, problem);

    return code == HF_OK ? redis_client_check(&parsed, problem) : code;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void refuse(struct redis_engine *engine, enum hf_error code, const char *why,
                   engine_done *done, void *context)
{
    reply_clear(&engine->refusal);
    reply_refuse(&engine->refusal, code, why);
    done(context, &engine->refusal);
}

/* To be used again. It is not freed before the thread has ended: the memory of its call is counted
 * there. */
static void keep_pending(struct redis_engine *engine, struct pending_command *pending)
{
    pthread_mutex_lock(&engine->mutex);
    list_add_last(&engine->spare, &pending->node);
    pthread_mutex_unlock(&engine->mutex);
}

/* A pending command for this one, used before or new; NULL when there is no memory. */
static struct pending_command *take_pending(struct redis_engine *engine,
                                            const struct command *command)
{
    struct pending_command *pending = NULL;

    pthread_mutex_lock(&engine->mutex);
    if (!list_empty(&engine->spare)) {
        pending = pending_of(engine->spare.next);
        list_remove(&pending->node);
    }
    pthread_mutex_unlock(&engine->mutex);
    pending = pending != NULL ? pending : pending_new(&engine->env);
    if (pending != NULL && !pending_set(pending, command)) {
        keep_pending(engine, pending);
        return NULL;
    }
    return pending;
}

/* Does the command count against the queue? One that may wait in line has a bound of its own. */
static bool is_queued(const struct command_spec *spec)
{
    return !(spec->flags & (COMMAND_WAITS | COMMAND_GIVES_BACK));
}

static void hand_over(struct redis_engine *engine, struct pending_command *pending)
{
    engine->queued += is_queued(pending->command.spec);
    pthread_mutex_lock(&engine->mutex);
    bool first = list_empty(&engine->submitted);
    list_add_last(&engine->submitted, &pending->node);
    pthread_mutex_unlock(&engine->mutex);
    if (first) {
        uv_async_send(&engine->signal);
    }
}

static void redis_submit(struct engine *head, struct command *command, engine_done *done,
                         void *context)
{
    struct redis_engine *engine = redis_self(head);

    if (command->spec->flags & COMMAND_SERVICE) {
        refuse(engine, HF_LEDGER_DOWN, ERROR_TEXT_NO_LEDGER, done, context);
        return;
    }
    if (is_queued(command->spec) && engine->queued >= engine->url.queue) {
        refuse(engine, HF_BUSY, "too many commands wait for Redis; try again later", done, context);
        return;
    }
    if (command->spec->flags & COMMAND_RANDOM && !command->seeded) {
        random_bytes(&engine->random, command->entropy, sizeof command->entropy);
    }
    struct pending_command *pending = take_pending(engine, command);
    if (pending == NULL) {
        refuse(engine, HF_BUSY, "out of memory", done, context);
        return;
    }
    pending->done = done;
    pending->context = context;
    hand_over(engine, pending);
}

static void ignore(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

static void redis_take_back(struct engine *head, struct command *undo, uint64_t grant,
                            const void *context)
{
    struct redis_engine *engine = redis_self(head);
    struct pending_command *pending = take_pending(engine, undo);

    if (pending == NULL) {
        return; /* there is no memory: its heartbeat ends it */
    }
    pending->done = ignore;
    pending->context = NULL;
    pending->takes_back = true;
    pending->grant = grant;
    pending->abandoned = context;
    hand_over(engine, pending);
}

static void redis_turn(struct engine *head)
{
    struct redis_engine *engine = redis_self(head);
    struct list answered;

    list_init(&answered);
    pthread_mutex_lock(&engine->mutex);
    list_splice_last(&answered, &engine->answered);
    pthread_mutex_unlock(&engine->mutex);
    for (struct list *node = answered.next; node != &answered; node = node->next) {
        struct pending_command *pending = pending_of(node);
        engine->queued -= is_queued(pending->command.spec);
        pending->done(pending->context, &pending->reply);
    }
    pthread_mutex_lock(&engine->mutex);
    list_splice_last(&engine->spare, &answered);
    pthread_mutex_unlock(&engine->mutex);
}

static int64_t redis_idle_ms(struct engine *head)
{
    struct redis_engine *engine = redis_self(head);

    pthread_mutex_lock(&engine->mutex);
    bool answered = !list_empty(&engine->answered);
    pthread_mutex_unlock(&engine->mutex);
    return answered ? 0 : -1;
}

static void redis_wait(struct engine *head, int64_t ms)
{
    struct redis_engine *engine = redis_self(head);
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += (time_t)(ms / 1000 + nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    pthread_mutex_lock(&engine->mutex);
    int error = 0;
    while (list_empty(&engine->answered) && error == 0) {
        error = pthread_cond_timedwait(&engine->changed, &engine->mutex, &until);
    }
    pthread_mutex_unlock(&engine->mutex);
}

static void redis_settle(struct engine *head)
{
    struct redis_engine *engine = redis_self(head);

    pthread_mutex_lock(&engine->mutex);
    engine->settle = true;
    engine->settled = false;
    uv_async_send(&engine->signal);
    while (!engine->settled) {
        pthread_cond_wait(&engine->changed, &engine->mutex);
    }
    pthread_mutex_unlock(&engine->mutex);
    redis_turn(head);
}

/* ---- what Redis has no part in --------------------------------------------------------------- */

static enum hf_error no_snapshot(struct engine *engine, struct problem *problem)
{
    (void)engine;
    return problem_set(problem, HF_INVALID_STATE, "the state is in Redis: use BGSAVE there");
}

/* ---- figures --------------------------------------------------------------------------------- */

static enum hf_error no_info(struct engine *engine, struct hf_info *info)
{
    (void)engine;
    *info = (struct hf_info){0};
    return HF_INVALID_STATE; /* counting it would mean to read all of Redis */
}

static enum hf_error audit(struct engine *engine, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem)
{
    struct redis_url url = redis_self(engine)->url;
    return redis_audit(&url, report, context, findings, problem);
}

const struct engine_type engine_redis = {
    .open = redis_open,
    .check = redis_check,
    .close = redis_close,
    .submit = redis_submit,
    .take_back = redis_take_back,
    .turn = redis_turn,
    .idle_ms = redis_idle_ms,
    .wait = redis_wait,
    .settle = redis_settle,
    .is_away = redis_engine_is_away,
    .snapshot = no_snapshot,
    .figures = redis_engine_figures,
    .nodes = redis_engine_nodes,
    .info = no_info,
    .audit = audit,
};
