/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread of the engine on Redis: a loop on which commands are carried out. */
#include "base/thread.h"
#include "engine/redis_state.h"
#include "redis/redlock/redlock.h"
#include "redis/script/sem_waiters.h"
#include "redis/stock/stock.h"
#include "redis/worker/worker.h"

/* ---- commands -------------------------------------------------------------------------------- */

static void command_answered(void *context, struct pending_command *pending)
{
    struct redis_engine *engine = context;

    if (pending->reply.code != HF_OK) {
        reply_name_missing(&pending->reply, &pending->command);
    }
    list_remove(&pending->node);
    list_add_last(&engine->finished, &pending->node);
    engine->running_count--;
}

static void run_submitted(struct redis_engine *engine, struct list *commands)
{
    while (!list_empty(commands)) {
        struct pending_command *pending = pending_of(commands->next);
        list_remove(&pending->node);
        list_add_last(&engine->running, &pending->node);
        engine->running_count++;
        redis_execute(engine, pending);
    }
}

/* Every command that was submitted is answered or waits in line, and no waiter is being polled. */
static bool is_settled(const struct redis_engine *engine)
{
    size_t waiting = engine->waiters != NULL ? sem_waiters_count(engine->waiters) : 0;
    return engine->running_count == waiting &&
           (engine->waiters == NULL || !sem_waiters_polling(engine->waiters));
}

/* How many calls were made again, since one call could not do all that was due. */
static uint64_t calls_made_again(const struct redis_engine *engine)
{
    const struct redis_client *client = engine->env.client;

    return engine->env.made_again + (client != NULL ? redis_client_figures(client)->resent : 0);
}

static void poll_waiters(struct redis_engine *engine)
{
    engine->made_again = calls_made_again(engine);
    if (engine->waiters != NULL) {
        sem_waiters_poll(engine->waiters);
    }
}

/* Is everything settled, once that was asked for? A call that was made again may have granted slots
 * to waiters that were polled before it, and a message of that may come later than its answer: they
 * are polled once more. */
static bool end_settling(struct redis_engine *engine)
{
    if (!engine->settling || !is_settled(engine)) {
        return false;
    }
    if (engine->made_again != calls_made_again(engine)) {
        uv_async_send(&engine->signal);
        return false;
    }
    return true;
}

static void do_close(struct redis_engine *engine);

/* Before the loop waits: hands over the commands that were answered in this turn. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct redis_engine *engine = prepare->data;
    bool settled = end_settling(engine);
    bool answered = !list_empty(&engine->finished);

    if (engine->ending && is_settled(engine)) {
        engine->ending = false;
        do_close(engine);
    }
    if (!settled && !answered) {
        return;
    }
    pthread_mutex_lock(&engine->mutex);
    list_splice_last(&engine->answered, &engine->finished);
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

/* How long commands in flight have to be answered when the engine is closed. */
#define CLOSE_MS 1000

static void closed(void *context)
{
    struct redis_engine *engine = context;

    sem_waiters_free(engine->waiters);
    worker_free(engine->worker);
    stocks_free(engine->stocks);
    uv_close((uv_handle_t *)&engine->signal, NULL);
    uv_close((uv_handle_t *)&engine->prepare, NULL);
    alarms_close(&engine->env.alarms, NULL);
}

static void do_close(struct redis_engine *engine)
{
    alarm_stop(&engine->close_alarm);
    if (engine->waiters != NULL) {
        sem_waiters_stop(engine->waiters);
    }
    if (engine->worker != NULL) {
        worker_stop(engine->worker);
    }
    if (engine->stocks != NULL) {
        stocks_stop(engine->stocks);
    }
    if (engine->redlock != NULL) {
        redlock_close(engine->redlock, closed, engine);
    } else if (engine->env.client != NULL) {
        redis_client_close(engine->env.client, closed, engine);
    } else {
        closed(engine);
    }
}

/* Commands that Redis has not answered by now are not answered any more. */
static void close_now(struct alarm *alarm)
{
    struct redis_engine *engine = LIST_ENTRY(alarm, struct redis_engine, close_alarm);

    engine->ending = false;
    do_close(engine);
}

static void begin_close(struct redis_engine *engine)
{
    engine->ending = true;
    if (engine->waiters != NULL) {
        sem_waiters_abandon(engine->waiters);
    }
    alarm_set(&engine->env.alarms, &engine->close_alarm, CLOSE_MS);
}

static void on_signal(uv_async_t *signal)
{
    struct redis_engine *engine = signal->data;
    struct list commands;

    list_init(&commands);
    pthread_mutex_lock(&engine->mutex);
    list_splice_last(&commands, &engine->submitted);
    bool settle = engine->settle, closing = engine->closing;
    engine->settle = engine->closing = false;
    pthread_mutex_unlock(&engine->mutex);
    run_submitted(engine, &commands);
    engine->settling = engine->settling || settle;
    if (engine->settling) {
        poll_waiters(engine);
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
    struct script_env *env = &engine->env;
    struct redis_client_options options = {.url = &engine->url,
                                           .loop = &engine->loop,
                                           .log = engine->options.log,
                                           .ready = on_ready,
                                           .context = engine};

    if (engine->url.kind == REDIS_REDLOCK) {
        engine->redlock = redlock_open(env, &options);
        return engine->redlock != NULL;
    }
    env->client = redis_client_open(&options);
    if (env->client == NULL) {
        return false;
    }
    engine->waiters = sem_waiters_open(env);
    if (script_env_is_cluster(env)) {
        engine->stocks = stocks_open(env);
    }
    if (engine->options.worker && engine->url.worker) {
        engine->worker = worker_start(env);
        env->deadline_noted = engine->worker != NULL ? note_deadline : NULL;
        env->deadline_context = engine->worker;
    }
    return engine->waiters != NULL && (!script_env_is_cluster(env) || engine->stocks != NULL);
}

static void init_env(struct redis_engine *engine)
{
    struct script_env *env = &engine->env;

    env->loop = &engine->loop;
    alarms_init(&env->alarms, env->loop);
    alarm_init(&engine->close_alarm, close_now);
    env->url = engine->url;
    env->log = engine->options.log;
    env->clock = engine->options.clock;
    env->clock_context = engine->options.clock_context;
    env->command_answered = command_answered;
    env->answered_context = engine;
    memory_init(&env->memory);
    buffer_init(&env->scratch, &env->memory);
    random_init(&env->random);
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
    init_env(engine);
    return start_parts(engine);
}

bool redis_thread_start(struct redis_engine *engine)
{
    return thread_start(&engine->thread, run, engine);
}
