/* SPDX-License-Identifier: Apache-2.0
 *
 * ROOM.ADMIT as calls of its script, one after the other, until as many users are admitted as the
 * command asked for or the waiting room is empty. */
#include "redis/script/room_admit.h"

static void admit_more(struct pending_command *pending);

/* Appends the pairs that one call returned to those of the calls before it. */
static void admitted(struct script_call *call, enum redis_fate fate, const redisReply *reply,
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
    struct hf_room_admit_args *args = &pending->command.args.room_admit;

    args->count = args->count < ROOM_ADMIT_MAX ? args->count : ROOM_ADMIT_MAX;
    reply_clear(&pending->reply);
    admit_more(pending);
}
