/* SPDX-License-Identifier: Apache-2.0
 *
 * What carrying out commands on Redis takes, in one place. All of it lives on one uv loop and is
 * used by its thread alone. */
#ifndef REDIS_SCRIPT_SCRIPT_ENV_H
#define REDIS_SCRIPT_SCRIPT_ENV_H

#include "base/random.h"
#include "command/reply.h"
#include "command/binary.h"
#include "net/alarm.h"
#include "redis/script/script_call.h"
#include "redis/client/client.h"

struct redlock;
struct stocks;
struct waits;
struct worker;

struct script_env {
    uv_loop_t *loop;
    struct alarms alarms; /* of the loop: every timeout but the client's own */
    struct redis_url url;
    struct log log;
    struct memory memory;
    struct random random;
    struct buffer scratch;       /* a key or an argument while it is written */
    struct redis_client *client; /* NULL: there are several, and redlock has them */

    struct waits *waits;     /* wait.h: commands that wait for their turn */
    struct stocks *stocks;   /* stock.h: products in shards; only on a cluster */
    struct worker *worker;   /* worker.h: gives back what nobody asks for; or NULL */
    struct redlock *redlock; /* redlock.h: LOCK.* on independent servers; or NULL */

    /* Tests only: the time, which goes to the scripts as a last argument. The scripts of the
     * program do not look at it; only those that a test program is linked with do. */
    int64_t (*clock)(void *context);
    void *clock_context;

    /* A command was answered and may have set a deadline in this shard of a product (NULL: in its
     * main counter, or it is no product). The engine passes it to the release worker. NULL: there
     * is no worker. */
    void (*deadline_noted)(void *context, const struct command *command, const char *shard);
    void *deadline_context;

    /* The reply of a command is there. */
    void (*command_answered)(void *context, struct pending_command *pending);
    void *answered_context;
};

/* A command under way. */
struct pending_command {
    struct list node;
    struct command command; /* a view of `bytes` and `scratch` */
    struct buffer bytes;    /* the command as it was submitted, command/binary.h */
    struct binary_scratch scratch;
    struct reply reply;
    struct script_call call; /* for whoever carries it out */
    size_t progress;         /* … and what it likes to remember */
};

static inline bool script_env_is_cluster(const struct script_env *env)
{
    return env->url.kind == REDIS_CLUSTER;
}

static inline void script_env_note_deadline(const struct script_env *env,
                                            const struct command *command, const char *shard)
{
    if (env->deadline_noted != NULL) {
        env->deadline_noted(env->deadline_context, command, shard);
    }
}

/* The ways to answer a command. */
void pending_answer(struct pending_command *pending, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem);
void pending_refuse(struct pending_command *pending,
                    const struct problem *problem);   /* HF_TIMEOUT: outcome unknown */
void pending_finish(struct pending_command *pending); /* pending->reply is filled in */

#endif
