/* SPDX-License-Identifier: Apache-2.0
 *
 * From a command to its reply, for commands that are one call of their script, by their row, and
 * for ROOM.ADMIT, which is several. */
#include "redis/script/execute.h"

#include "redis/script/script_reply.h"

/* ---- answering a command --------------------------------------------------------------------- */

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

/* ---- one call -------------------------------------------------------------------------------- */

static void one_call_done(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct pending_command *pending = call->context;

    if (fate == REDIS_ANSWERED) {
        script_env_note_deadline(call->env, &pending->command, NULL);
    }
    pending_answer(pending, fate, reply, problem);
}

void execute_one_call(struct script_env *env, struct pending_command *pending)
{
    bool reads = !(pending->command.spec->flags & COMMAND_WRITES);

    (void)env;
    script_call_row(&pending->call, &pending->command, NULL, 0);
    script_call_send(&pending->call, reads, 0, one_call_done, pending);
}

/* ---- pairs, a few at a time ------------------------------------------------------------------ */

static void admit_more(struct script_env *env, struct pending_command *pending);

/* What came of one call goes behind what the others brought. */
static void admit_done(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                       const struct problem *problem)
{
    struct pending_command *pending = call->context;
    struct hf_room_admit_args *args = &pending->command.args.room_admit;

    if (fate != REDIS_ANSWERED || reply->type != REDIS_REPLY_ARRAY || reply->elements % 2 != 0 ||
        !reply_reserve(&pending->reply, reply->elements, 0)) {
        pending_answer(pending, fate, reply, problem);
        return;
    }
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *text = reply->element[i];
        if (!reply_reserve(&pending->reply, 0, text->len)) {
            pending_refuse(pending,
                           &(struct problem){HF_TIMEOUT, "out of memory in the middle of it"});
            return;
        }
        reply_text(&pending->reply, text->str, text->len);
    }
    args->count -= (int64_t)reply->elements / 2;
    if (reply->elements / 2 < ROOM_ADMITTED_AT_ONCE || args->count == 0) {
        pending_finish(pending);
    } else {
        admit_more(call->env, pending);
    }
}

static void admit_more(struct script_env *env, struct pending_command *pending)
{
    random_bytes(&env->random, pending->command.entropy, sizeof pending->command.entropy);
    script_call_row(&pending->call, &pending->command, NULL, 0);
    script_call_send(&pending->call, false, 0, admit_done, pending);
}

void execute_admit(struct script_env *env, struct pending_command *pending)
{
    struct hf_room_admit_args *args = &pending->command.args.room_admit;

    args->count = args->count < ROOM_ADMIT_MAX ? args->count : ROOM_ADMIT_MAX;
    reply_clear(&pending->reply);
    admit_more(env, pending);
}
