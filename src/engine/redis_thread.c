/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread of the engine on Redis: a loop on which commands are carried out. */
#include "base/check.h"
#include "engine/redis_state.h"
#include "redis/redlock/redlock.h"
#include "redis/stock/stock.h"
#include "redis/script/waiting.h"
#include "redis/worker/worker.h"

#include <signal.h>

/* ---- commands -------------------------------------------------------------------------------- */

static void job_done(void *context, struct job *job)
{
    struct redis_engine *engine = context;

    if (job->reply.code != HF_OK) {
        reply_name_missing(&job->reply, &job->command);
    }
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
        redis_execute(&engine->redis, job);
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
    alarms_close(&redis->alarms, NULL);
}

static void do_close(struct redis_engine *engine)
{
    struct redis *redis = &engine->redis;

    alarm_stop(&engine->close_alarm);
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
static void close_now(struct alarm *alarm)
{
    struct redis_engine *engine = LIST_ENTRY(alarm, struct redis_engine, close_alarm);

    engine->ending = false;
    do_close(engine);
}

static void begin_close(struct redis_engine *engine)
{
    engine->ending = true;
    alarm_set(&engine->redis.alarms, &engine->close_alarm, CLOSE_MS);
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

/* ---- its beginning --------------------------------------------------------------------------- */

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

static void note_deadline(void *context, const struct command *command, const char *shard)
{
    worker_note(context, command, shard);
}

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
        redis->deadline_noted = redis->worker != NULL ? note_deadline : NULL;
        redis->deadline_context = redis->worker;
    }
    return redis->waits != NULL && (!redis_is_cluster(redis) || redis->stocks != NULL);
}

static void init_redis(struct redis_engine *engine)
{
    struct redis *redis = &engine->redis;

    redis->loop = &engine->loop;
    alarms_init(&redis->alarms, redis->loop);
    alarm_init(&engine->close_alarm, close_now);
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
    engine->signal.data = engine->prepare.data = engine;
    uv_prepare_start(&engine->prepare, on_prepare);
}

bool redis_thread_prepare(struct redis_engine *engine)
{
    init_loop(engine);
    init_redis(engine);
    return start_parts(engine);
}

bool redis_thread_start(struct redis_engine *engine)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
    int error = pthread_create(&engine->thread, NULL, run, engine);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}
