/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment that scripts are called in: one for each engine, shared by every call. All of it
 * lives on one uv loop and is used by its thread alone. */
#ifndef REDIS_SCRIPT_SCRIPT_ENV_H
#define REDIS_SCRIPT_SCRIPT_ENV_H

#include "base/buffer.h"
#include "base/random.h"
#include "command/command.h"
#include "net/alarm.h"
#include "redis/client/client.h"

struct pending_command;

struct script_env {
    uv_loop_t *loop;
    struct alarms alarms; /* of the loop: every timeout but the client's own */
    struct redis_url url;
    struct log log;
    struct memory memory;
    struct random random;
    struct buffer scratch;       /* a key or an argument while it is written */
    struct redis_client *client; /* NULL on redlock://, where each server has a client */
    uint64_t made_again;         /* calls that said AGAIN and were made again by script_call.c */

    /* Tests only: the time, which goes to the scripts as a last argument. The scripts of the
     * program do not look at it; only those that a test program is linked with do. */
    int64_t (*clock)(void *context);
    void *clock_context;

    /* A command was answered and may have set a deadline in this shard of a product (NULL: in its
     * main counter, or it is no product). The engine passes it to the release worker. NULL: there
     * is no worker. */
    void (*deadline_noted)(void *context, const struct command *command, const char *shard);
    void *deadline_context;

    /* A pending command has its reply. */
    void (*command_answered)(void *context, struct pending_command *pending);
    void *answered_context;
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

#endif
