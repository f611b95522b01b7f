/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine on Redis: the scripts of lua/, called over the connections of src/redis. It has a
 * thread of its own with a loop; commands go over to it and answers come back in batches, so that a
 * slow Redis never holds up whoever uses the engine, and callers on many threads share one pipeline.
 *
 *     engine_submit ──submitted──> thread: execute() … job_done ──answered──> engine_turn: done()
 *
 * What it promises is what Redis promises: an acknowledged change is as safe as its persistence and
 * replication make it. */
#include "base/check.h"
#include "engine/engine.h"
#include "redis/audit.h"
#include "redis/redis.h"
#include "redis/redlock.h"
#include "redis/stock.h"
#include "redis/wait.h"
#include "redis/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* A command on its way through, and who asked for it. */
struct errand {
    struct job job;
    struct memory memory; /* the job's: two threads use it, one after the other */
    engine_done *done;
    void *context;
};

struct redis_engine {
    struct engine engine;
    struct engine_options options;
    struct redis_url url;
    char name[600];
    struct random random;
    struct memory memory;
    struct reply refusal;
    unsigned under_way; /* submitted, and not answered yet */
    pthread_t thread;

    pthread_mutex_t mutex;  /* guards what follows */
    pthread_cond_t changed; /* something was answered, or what was asked for below has happened */
    struct list submitted, answered, spare;
    bool opened, failed; /* ready() was called */
    struct problem problem;
    bool closing;
    bool settle, settled;

    /* The thread's own. */
    struct redis redis;
    uv_loop_t loop;
    uv_async_t signal;
    uv_prepare_t prepare;
    struct list running, finished;
    size_t running_count;
    bool settling;
    bool ending; /* what was submitted is answered first, for a while */
    uv_timer_t patience;
};

static struct redis_engine *self(struct engine *engine)
{
    return (struct redis_engine *)engine;
}

static void move_all(struct list *from, struct list *to)
{
    if (!list_empty(from)) {
        from->next->prev = to->prev;
        from->prev->next = to;
        to->prev->next = from->next;
        to->prev = from->prev;
        list_init(from);
    }
}

static struct errand *errand_of(struct list *node)
{
    return LIST_ENTRY(node, struct errand, job.node);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void job_done(void *context, struct job *job)
{
    struct redis_engine *engine = context;

    list_remove(&job->node);
    list_add_last(&engine->finished, &job->node);
    engine->running_count--;
}

static void run_submitted(struct redis_engine *engine, struct list *jobs)
{
    while (!list_empty(jobs)) {
        struct job *job = &errand_of(jobs->next)->job;
        struct hf_bytes bytes = {job->bytes.data, job->bytes.size};
        list_remove(&job->node);
        list_add_last(&engine->running, &job->node);
        engine->running_count++;
        enum hf_error code = wire_decode(&job->command, bytes, &job->scratch, NULL);
        CHECK(code == HF_OK); /* it was encoded in this process */
        execute(&engine->redis, job);
    }
}

/* Everything that was submitted has been carried out or waits in line, and everybody in line has
 * looked. */
static bool is_settled(const struct redis_engine *engine)
{
    size_t waiting = engine->redis.waits != NULL ? waits_count(engine->redis.waits) : 0;
    return engine->running_count == waiting &&
           (engine->redis.waits == NULL || !waits_looking(engine->redis.waits));
}

static void do_close(struct redis_engine *engine);

/* Before the loop waits: hands over what it has done. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct redis_engine *engine = prepare->data;
    bool settled = engine->settling && is_settled(engine);
    bool answered = !list_empty(&engine->finished);

    if (engine->ending && is_settled(engine)) {
        engine->ending = false;
        do_close(engine);
    }
    if (!settled && !answered) {
        return;
    }
    pthread_mutex_lock(&engine->mutex);
    move_all(&engine->finished, &engine->answered);
    if (settled) {
        engine->settling = false;
        engine->settled = true;
    }
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->mutex);
    if (answered && engine->options.wake != NULL) {
        engine->options.wake(engine->options.wake_context);
    }
}

/* ---- its end --------------------------------------------------------------------------------- */

/* How long commands under way have to be answered when the engine is closed. */
#define CLOSE_MS 1000

static void closed(void *context)
{
    struct redis_engine *engine = context;
    struct redis *redis = &engine->redis;

    waits_free(redis->waits);
    worker_free(redis->worker);
    stocks_free(redis->stocks);
    uv_close((uv_handle_t *)&engine->signal, NULL);
    uv_close((uv_handle_t *)&engine->prepare, NULL);
    uv_close((uv_handle_t *)&engine->patience, NULL);
}

static void do_close(struct redis_engine *engine)
{
    struct redis *redis = &engine->redis;

    uv_timer_stop(&engine->patience);
    if (redis->waits != NULL) {
        waits_stop(redis->waits);
    }
    if (redis->worker != NULL) {
        worker_stop(redis->worker);
    }
    if (redis->stocks != NULL) {
        stocks_stop(redis->stocks);
    }
    if (redis->redlock != NULL) {
        redlock_close(redis->redlock, closed, engine);
    } else if (redis->client != NULL) {
        redis_client_close(redis->client, closed, engine);
    } else {
        closed(engine);
    }
}

/* Whoever still waits for Redis has waited long enough. */
static void on_patience(uv_timer_t *patience)
{
    struct redis_engine *engine = patience->data;

    engine->ending = false;
    do_close(engine);
}

static void begin_close(struct redis_engine *engine)
{
    engine->ending = true;
    uv_timer_start(&engine->patience, on_patience, CLOSE_MS, 0);
}

static void on_signal(uv_async_t *signal)
{
    struct redis_engine *engine = signal->data;
    struct list jobs;

    list_init(&jobs);
    pthread_mutex_lock(&engine->mutex);
    move_all(&engine->submitted, &jobs);
    bool settle = engine->settle, closing = engine->closing;
    engine->settle = engine->closing = false;
    pthread_mutex_unlock(&engine->mutex);
    run_submitted(engine, &jobs);
    if (settle) {
        engine->settling = true;
        if (engine->redis.waits != NULL) {
            waits_look(engine->redis.waits);
        }
    }
    if (closing) {
        begin_close(engine);
    }
}

static void *run(void *context)
{
    struct redis_engine *engine = context;

    uv_run(&engine->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void on_ready(void *context, const struct problem *problem)
{
    struct redis_engine *engine = context;

    pthread_mutex_lock(&engine->mutex);
    engine->opened = true;
    engine->failed = problem != NULL;
    if (problem != NULL) {
        engine->problem = *problem;
    }
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->mutex);
}

/* What runs on the loop, before the thread does. False when there is no memory. */
static bool start_parts(struct redis_engine *engine)
{
    struct redis *redis = &engine->redis;
    struct redis_client_options options = {.url = &engine->url,
                                           .loop = &engine->loop,
                                           .log = engine->options.log,
                                           .ready = on_ready,
                                           .context = engine};

    if (engine->url.kind == REDIS_REDLOCK) {
        redis->redlock = redlock_open(redis, &options);
        return redis->redlock != NULL;
    }
    redis->client = redis_client_open(&options);
    if (redis->client == NULL) {
        return false;
    }
    redis->waits = waits_open(redis);
    if (redis_is_cluster(redis)) {
        redis->stocks = stocks_open(redis);
    }
    if (engine->options.worker && engine->url.worker) {
        redis->worker = worker_start(redis);
    }
    return redis->waits != NULL && (!redis_is_cluster(redis) || redis->stocks != NULL);
}

static bool start_thread(struct redis_engine *engine)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
    int error = pthread_create(&engine->thread, NULL, run, engine);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

static void init_redis(struct redis_engine *engine)
{
    struct redis *redis = &engine->redis;

    redis->loop = &engine->loop;
    redis->url = engine->url;
    redis->log = engine->options.log;
    redis->clock = engine->options.clock;
    redis->clock_context = engine->options.clock_context;
    redis->job_done = job_done;
    redis->job_context = engine;
    memory_init(&redis->memory);
    buffer_init(&redis->scratch, &redis->memory);
    random_init(&redis->random);
}

static void init_loop(struct redis_engine *engine)
{
    uv_loop_init(&engine->loop);
    uv_async_init(&engine->loop, &engine->signal, on_signal);
    uv_prepare_init(&engine->loop, &engine->prepare);
    uv_timer_init(&engine->loop, &engine->patience);
    engine->signal.data = engine->prepare.data = engine->patience.data = engine;
    uv_prepare_start(&engine->prepare, on_prepare);
}

static void init_engine(struct redis_engine *engine, const struct engine_options *options)
{
    pthread_condattr_t attributes;

    engine->engine.type = &engine_redis;
    engine->engine.later = true;
    engine->options = *options;
    list_init(&engine->submitted);
    list_init(&engine->answered);
    list_init(&engine->spare);
    list_init(&engine->running);
    list_init(&engine->finished);
    memory_init(&engine->memory);
    random_init(&engine->random);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    init_loop(engine);
    init_redis(engine);
}

static void free_errands(struct list *errands)
{
    while (!list_empty(errands)) {
        struct errand *errand = errand_of(errands->next);
        list_remove(&errand->job.node);
        call_free(&errand->job.call);
        buffer_free(&errand->job.bytes);
        reply_free(&errand->job.reply);
        free(errand);
    }
}

static void redis_close(struct engine *head)
{
    struct redis_engine *engine = self(head);

    pthread_mutex_lock(&engine->mutex);
    engine->closing = true;
    pthread_mutex_unlock(&engine->mutex);
    uv_async_send(&engine->signal);
    pthread_join(engine->thread, NULL);
    uv_loop_close(&engine->loop);
    free_errands(&engine->submitted);
    free_errands(&engine->running);
    free_errands(&engine->finished);
    free_errands(&engine->answered);
    free_errands(&engine->spare);
    buffer_free(&engine->redis.scratch);
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

    if (redis_url_parse(url, &parsed, problem) != HF_OK) {
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
    bool started = reply_init(&engine->refusal, &engine->memory) && start_parts(engine);
    if (!start_thread(engine)) { /* nothing runs that could be closed in order */
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
    return redis_url_parse(url, &parsed, problem);
}

/* ---- commands -------------------------------------------------------------------------------- */

static struct errand *new_errand(struct redis_engine *engine)
{
    struct errand *errand = calloc(1, sizeof *errand);

    if (errand == NULL) {
        return NULL;
    }
    memory_init(&errand->memory);
    buffer_init(&errand->job.bytes, &errand->memory);
    if (!reply_init(&errand->job.reply, &errand->memory)) {
        reply_free(&errand->job.reply);
        free(errand);
        return NULL;
    }
    call_init(&errand->job.call, &engine->redis);
    return errand;
}

static struct errand *take_errand(struct redis_engine *engine)
{
    struct errand *errand = NULL;

    pthread_mutex_lock(&engine->mutex);
    if (!list_empty(&engine->spare)) {
        errand = errand_of(engine->spare.next);
        list_remove(&errand->job.node);
    }
    pthread_mutex_unlock(&engine->mutex);
    return errand != NULL ? errand : new_errand(engine);
}

static void refuse(struct redis_engine *engine, const char *why, engine_done *done, void *context)
{
    reply_clear(&engine->refusal);
    reply_refuse(&engine->refusal, HF_BUSY, why);
    done(context, &engine->refusal);
}

static void give_back(struct redis_engine *engine, struct errand *errand)
{
    pthread_mutex_lock(&engine->mutex);
    list_add_last(&engine->spare, &errand->job.node);
    pthread_mutex_unlock(&engine->mutex);
}

static void redis_submit(struct engine *head, struct command *command, engine_done *done,
                         void *context)
{
    struct redis_engine *engine = self(head);
    struct errand *errand = NULL;

    if (engine->under_way >= engine->url.queue) {
        refuse(engine, "too many commands wait for Redis; try again later", done, context);
        return;
    }
    errand = take_errand(engine);
    if (errand == NULL) {
        refuse(engine, "out of memory", done, context);
        return;
    }
    if (command->spec->flags & COMMAND_RANDOM) {
        random_bytes(&engine->random, command->entropy, sizeof command->entropy);
    }
    buffer_clear(&errand->job.bytes);
    wire_encode(command, &errand->job.bytes);
    if (errand->job.bytes.failed) {
        give_back(engine, errand);
        refuse(engine, "out of memory", done, context);
        return;
    }
    errand->done = done;
    errand->context = context;
    reply_clear(&errand->job.reply);
    errand->job.reply.granted = false;
    engine->under_way++;
    pthread_mutex_lock(&engine->mutex);
    bool first = list_empty(&engine->submitted);
    list_add_last(&engine->submitted, &errand->job.node);
    pthread_mutex_unlock(&engine->mutex);
    if (first) {
        uv_async_send(&engine->signal);
    }
}

static void redis_turn(struct engine *head)
{
    struct redis_engine *engine = self(head);
    struct list answered;

    list_init(&answered);
    pthread_mutex_lock(&engine->mutex);
    move_all(&engine->answered, &answered);
    pthread_mutex_unlock(&engine->mutex);
    while (!list_empty(&answered)) {
        struct errand *errand = errand_of(answered.next);
        list_remove(&errand->job.node);
        engine->under_way--;
        errand->done(errand->context, &errand->job.reply);
        give_back(engine, errand);
    }
}

static int64_t redis_idle_ms(struct engine *head)
{
    struct redis_engine *engine = self(head);

    pthread_mutex_lock(&engine->mutex);
    bool answered = !list_empty(&engine->answered);
    pthread_mutex_unlock(&engine->mutex);
    return answered ? 0 : -1;
}

static void redis_wait(struct engine *head, int64_t ms)
{
    struct redis_engine *engine = self(head);
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
    struct redis_engine *engine = self(head);

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

static bool nothing_to_flush(struct engine *engine)
{
    (void)engine;
    return false;
}

static void nothing(struct engine *engine)
{
    (void)engine;
}

static const char *no_failure(struct engine *engine)
{
    (void)engine;
    return NULL; /* Redis may come back */
}

static void no_events(struct engine *engine, bool collect)
{
    (void)engine;
    (void)collect;
}

static bool no_event(struct engine *engine, struct event *event)
{
    (void)engine;
    (void)event;
    return false;
}

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

static void add_connections(struct redis_figures *sum, const struct redis_client *client)
{
    const struct redis_figures *figures = redis_client_figures(client);

    sum->connects += figures->connects;
    sum->disconnects += figures->disconnects;
    sum->redirects += figures->redirects;
    sum->script_loads += figures->script_loads;
    sum->resent += figures->resent;
    sum->unknown += figures->unknown;
    sum->refused += figures->refused;
    sum->in_flight += figures->in_flight;
}

static void tell_connections(const struct redis *redis, engine_figure *each, void *context)
{
    struct redis_figures sum = {0};
    const struct redis_client *client;

    if (redis->client != NULL) {
        add_connections(&sum, redis->client);
    }
    for (size_t i = 0;
         redis->redlock != NULL && (client = redlock_client(redis->redlock, i)) != NULL; i++) {
        add_connections(&sum, client);
    }
    each(context, "redis_connects_total", "Connections made to Redis.", true, sum.connects);
    each(context, "redis_disconnects_total", "Connections to Redis that broke.", true,
         sum.disconnects);
    each(context, "redis_redirects_total", "Requests that another node had to answer.", true,
         sum.redirects);
    each(context, "redis_script_loads_total", "Scripts loaded because they were missing.", true,
         sum.script_loads);
    each(context, "redis_resent_total", "Requests that were sent once more.", true, sum.resent);
    each(context, "redis_unknown_total", "Requests whose outcome is unknown.", true, sum.unknown);
    each(context, "redis_refused_total", "Requests that could not be carried out.", true,
         sum.refused);
    each(context, "redis_in_flight", "Requests under way.", false, sum.in_flight);
}

static void tell_worker(const struct worker_figures *figures, engine_figure *each, void *context)
{
    each(context, "worker_visits_total", "Scopes the release worker looked at.", true,
         figures->visits);
    each(context, "worker_returned_seats_total", "Expired bookings it gave back.", true,
         figures->returned_seats);
    each(context, "worker_returned_quota_total", "Expired quota holds it gave back.", true,
         figures->returned_quota);
    each(context, "worker_returned_stock_total", "Expired orders it gave back.", true,
         figures->returned_stock);
    each(context, "worker_returned_queue_total", "Lapsed queue entries it removed.", true,
         figures->returned_queue);
    each(context, "worker_sweeps_total", "Its walks over all keys.", true, figures->sweeps);
    each(context, "worker_late_milliseconds", "How late it gave something back at worst, lately.",
         false, figures->late_ms_max);
    each(context, "worker_errors_total", "Its calls that failed.", true, figures->errors);
}

static void redis_figures(struct engine *engine, engine_figure *each, void *context)
{
    const struct redis *redis = &self(engine)->redis;

    tell_connections(redis, each, context);
    if (redis->worker != NULL) {
        tell_worker(worker_figures(redis->worker), each, context);
    }
}

static enum hf_error audit(struct engine *engine, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem)
{
    struct redis_url url = self(engine)->url;
    return redis_audit(&url, report, context, findings, problem);
}

const struct engine_type engine_redis = {
    .open = redis_open,
    .check = redis_check,
    .close = redis_close,
    .submit = redis_submit,
    .turn = redis_turn,
    .idle_ms = redis_idle_ms,
    .wait = redis_wait,
    .settle = redis_settle,
    .flush_begin = nothing_to_flush,
    .flush_work = nothing,
    .flush_end = nothing,
    .failure = no_failure,
    .collect_events = no_events,
    .next_event = no_event,
    .snapshot = no_snapshot,
    .figures = redis_figures,
    .info = no_info,
    .audit = audit,
};
