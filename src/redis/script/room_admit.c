/* SPDX-License-Identifier: Apache-2.0
 *
 * ROOM.ADMIT and ROOM.TICK as calls of their scripts, one after the other, until as many users are
 * admitted as the command asked for, or a script admits fewer than it could: then the line is
 * empty, or the room's settings allow no more. */
#include "redis/script/room_admit.h"

static void admit_more(struct pending_command *pending);

/* How many may still be admitted; ROOM.ADMIT's script is told by the command's own count. */
static int64_t left_to_admit(struct pending_command *pending, size_t admitted)
{
    struct command *command = &pending->command;

    if (command_id(command->spec) != ROOM_ADMIT) {
        return ROOM_ADMIT_MAX - (int64_t)pending->reply.count / 2;
    }
    command->args.room_admit.count -= (int64_t)admitted;
    return command->args.room_admit.count;
}

/* Appends the pairs that one call returned to those of the calls before it. */
static void admitted(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                     const struct problem *problem)
{
    struct pending_command *pending = call->context;

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
    if (left_to_admit(pending, reply->elements / 2) == 0 ||
        reply->elements / 2 < ROOM_ADMITTED_AT_ONCE) {
        pending_finish(pending);
    } else {
        admit_more(pending);
    }
}

static void admit_more(struct pending_command *pending)
{
    struct command *command = &pending->command;

    random_bytes(&pending->call.env->random, command->entropy, sizeof command->entropy);
    script_call_row(&pending->call, command, NULL, 0);
    script_call_send(&pending->call, false, 0, admitted, pending);
}

void room_admit_execute(struct pending_command *pending)
{
    if (command_id(pending->command.spec) == ROOM_ADMIT) {
        int64_t *count = &pending->command.args.room_admit.count;
        *count = *count < ROOM_ADMIT_MAX ? *count : ROOM_ADMIT_MAX;
    }
    reply_clear(&pending->reply);
    admit_more(pending);
}
