/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine on Redis, inside: what its two sides share. */
#ifndef ENGINE_REDIS_STATE_H
#define ENGINE_REDIS_STATE_H

#include "engine/engine.h"
#include "redis/script/pending.h"

#include <pthread.h>

struct redlock;
struct stocks;
struct sem_waiters;
struct worker;

struct redis_engine {
    struct engine engine;
    struct engine_options options;
    struct redis_url url;
    char name[600];
    struct random random;
    struct memory memory;
    struct reply refusal;
    unsigned queued; /* commands whose callers have no answer yet, of those that url.queue bounds */
    pthread_t thread;

    pthread_mutex_t mutex;  /* guards what follows */
    pthread_cond_t changed; /* something was answered, or what was asked for below has happened */
    struct list submitted;  /* pending commands that the thread has yet to take over */
    struct list answered;   /* pending commands whose callers redis_turn() has yet to answer */
    struct list spare;      /* pending commands to be used again */
    bool opened, failed;    /* Redis was reached, or could not be: `problem` says why */
    struct problem problem;
    bool closing;         /* the thread is to end */
    bool settle, settled; /* the thread is to say when no command is being carried out; it did */

    /* The thread's own. */
    struct script_env env;
    struct sem_waiters *waiters; /* SEM.ACQUIRE that waits in line; NULL on redlock:// */
    struct stocks *stocks;       /* STOCK.* on a cluster; or NULL */
    struct worker *worker;       /* the release worker; or NULL */
    struct redlock *redlock;     /* LOCK.* on redlock://; or NULL */
    uv_loop_t loop;
    uv_async_t signal;
    uv_prepare_t prepare;
    struct list running;  /* pending commands in an executor's hands */
    struct list finished; /* pending commands with a reply, until this turn of the loop ends */
    size_t running_count;
    bool settling;       /* settle was asked for */
    uint64_t made_again; /* while settling: how many calls had been when the waiters were polled */
    bool ending; /* the thread ends once commands in flight are answered or close_alarm rings */
    struct alarm close_alarm;
};

static inline struct redis_engine *redis_self(struct engine *engine)
{
    return (struct redis_engine *)engine;
}

/* ---- redis_thread.c -------------------------------------------------------------------------- */

/* Makes the loop and what runs on it, before the thread does. False when there is no memory. */
bool redis_thread_prepare(struct redis_engine *engine);
/* False if there can be no thread. */
bool redis_thread_start(struct redis_engine *engine);

/* ---- redis_execute.c ------------------------------------------------------------------------- */

/* Begins to carry out a command. env->command_answered() is called once, when it has its reply. */
void redis_execute(struct redis_engine *engine, struct pending_command *pending);

/* ---- redis_figures.c ------------------------------------------------------------------------- */

void redis_engine_figures(struct engine *engine, engine_figure *each, void *context);
size_t redis_engine_nodes(struct engine *engine, engine_node_each *each, void *context);
bool redis_engine_is_away(struct engine *engine);

#endif
