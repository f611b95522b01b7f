/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine on Redis, inside: what its two sides share. */
#ifndef ENGINE_REDIS_STATE_H
#define ENGINE_REDIS_STATE_H

#include "engine/engine.h"
#include "redis/script/script_env.h"

#include <pthread.h>

/* A command on its way through, and who asked for it. */
struct errand {
    struct pending_command pending;
    struct memory memory; /* the command's: two threads use it, one after the other */
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
    struct script_env env;
    uv_loop_t loop;
    uv_async_t signal;
    uv_prepare_t prepare;
    struct list running, finished;
    size_t running_count;
    bool settling;
    bool ending;              /* what was submitted is answered first, for a while */
    struct alarm close_alarm; /* ends that while */
};

static inline struct redis_engine *redis_self(struct engine *engine)
{
    return (struct redis_engine *)engine;
}

static inline struct errand *errand_of(struct list *node)
{
    return LIST_ENTRY(node, struct errand, pending.node);
}

/* ---- redis_thread.c -------------------------------------------------------------------------- */

/* Makes the loop and what runs on it, before the thread does. False when there is no memory. */
bool redis_thread_prepare(struct redis_engine *engine);
/* False if there can be no thread. */
bool redis_thread_start(struct redis_engine *engine);

/* ---- redis_execute.c ------------------------------------------------------------------------- */

/* Begins to carry out pending->command. env->command_answered() is called once, with its reply. */
void redis_execute(struct script_env *env, struct pending_command *pending);

/* ---- redis_figures.c ------------------------------------------------------------------------- */

void redis_engine_figures(struct engine *engine, engine_figure *each, void *context);
bool redis_engine_is_away(struct engine *engine);

#endif
