/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a pending command, and the ways to answer it. */
#include "redis/script/pending.h"

#include "command/copy.h"
#include "redis/script/script_reply.h"

#include <stdlib.h>

/* ---- begin and end --------------------------------------------------------------------------- */

struct pending_command *pending_new(struct script_env *env)
{
    struct pending_command *pending = calloc(1, sizeof *pending);

    if (pending == NULL) {
        return NULL;
    }
    memory_init(&pending->memory);
    buffer_init(&pending->texts, &pending->memory);
    script_call_init(&pending->call, env);
    if (!reply_init(&pending->reply, &pending->memory)) {
        pending_free(pending);
        return NULL;
    }
    return pending;
}

void pending_free(struct pending_command *pending)
{
    script_call_free(&pending->call);
    buffer_free(&pending->texts);
    reply_free(&pending->reply);
    free(pending);
}

bool pending_set(struct pending_command *pending, const struct command *command)
{
    reply_clear(&pending->reply);
    pending->takes_back = false;
    return command_copy(&pending->command, command, &pending->texts);
}

/* ---- answers --------------------------------------------------------------------------------- */

void pending_finish(struct pending_command *pending)
{
    struct script_env *env = pending->call.env;
    env->command_answered(env->answered_context, pending);
}

void pending_refuse(struct pending_command *pending, const struct problem *problem)
{
    reply_clear(&pending->reply);
    if (!reply_refuse_said(&pending->reply, problem->code, hf_text(problem->message))) {
        reply_refuse(&pending->reply, problem->code, NULL);
    }
    pending->reply.unknown = problem->code == HF_TIMEOUT;
    pending_finish(pending);
}

void pending_answer(struct pending_command *pending, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    if (fate != REDIS_ANSWERED) {
        pending_refuse(pending, problem);
        return;
    }
    script_reply_read(&pending->reply, pending->command.spec, reply);
    if (pending->reply.code == HF_INTERNAL && reply->type == REDIS_REPLY_ERROR) {
        log_line(&pending->call.env->log, LOG_ERROR, "%s: Redis says: %s",
                 pending->command.spec->name, reply->str);
    }
    pending_finish(pending);
}
