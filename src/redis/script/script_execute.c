/* SPDX-License-Identifier: Apache-2.0
 *
 * A command that is one call of its script, from the command to its reply. */
#include "redis/script/script_execute.h"

static void call_answered(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct pending_command *pending = call->context;

    if (fate == REDIS_ANSWERED) {
        script_env_note_deadline(call->env, &pending->command, NULL);
    }
    pending_answer(pending, fate, reply, problem);
}

void script_execute(struct pending_command *pending)
{
    bool reads = !(pending->command.spec->flags & COMMAND_WRITES);

    script_call_row(&pending->call, &pending->command, NULL, 0);
    script_call_send(&pending->call, reads, 0, call_answered, pending);
}
