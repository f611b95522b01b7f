/* SPDX-License-Identifier: Apache-2.0
 *
 * ROOM.ADMIT and ROOM.TICK as calls of their scripts, one after the other, until as many users are
 * admitted as the command asked for, or a script admits fewer than it could: then the line is
 * empty, or the room's settings allow no more.
 *
 * A call behind the first that fails leaves users admitted. Without an id the command is answered
 * with those that are known: a refusal would lose their passes. With an id the answer is that the
 * outcome is unknown: the same command again tells all of them, and goes on. */
#include "redis/script/room_admit.h"

#include "base/text.h"

static void admit_more(struct pending_command *pending);

/* Does the script of this command remember what it admits? */
static bool has_id(const struct pending_command *pending)
{
    return command_id(pending->command.spec) == ROOM_ADMIT &&
           pending->command.args.room_admit.id.size > 0;
}

/* How many may still be admitted without an id; ROOM.ADMIT's script is told by the command's own
 * count. */
static int64_t left_to_admit(struct pending_command *pending, size_t admitted)
{
    struct command *command = &pending->command;

    if (command_id(command->spec) != ROOM_ADMIT) {
        return ROOM_ADMIT_MAX - (int64_t)pending->reply.count / 2;
    }
    command->args.room_admit.count -= (int64_t)admitted;
    return command->args.room_admit.count;
}

/* A call failed, was refused or cannot be understood. */
static void end_early(struct pending_command *pending, enum redis_fate fate,
                      const redisReply *reply, const struct problem *problem)
{
    bool first = pending->reply.count == 0 && pending->progress == 0;
    const char *why = fate != REDIS_ANSWERED             ? problem->message
                      : reply->type == REDIS_REPLY_ERROR ? reply->str
                                                         : "not what the script answers";

    if (first) {
        pending_answer(pending, fate, reply, problem);
        return;
    }
    log_line(&pending->call.env->log, LOG_WARNING, "%s: a later step failed: %s",
             pending->command.spec->name, why);
    if (has_id(pending)) {
        struct problem unknown;
        problem_set(&unknown, HF_TIMEOUT,
                    "outcome unknown: some are admitted, then a step failed; the same command "
                    "with the same ID tells them and goes on: %s",
                    why);
        pending_refuse(pending, &unknown);
        return;
    }
    pending_finish(pending);
}

/* Appends the pairs of a reply, from an element on, to those of the calls before it. */
static bool append(struct pending_command *pending, const redisReply *reply, size_t from)
{
    if (!reply_reserve(&pending->reply, reply->elements - from, 0)) {
        return false;
    }
    for (size_t i = from; i < reply->elements; i++) {
        const redisReply *text = reply->element[i];
        if (!reply_reserve(&pending->reply, 0, text->len)) {
            return false;
        }
        reply_text(&pending->reply, text->str, text->len);
    }
    return true;
}

/* With an id the first element says where the next call begins. */
static bool read_next(struct pending_command *pending, const redisReply *reply)
{
    const redisReply *next = reply->element[0];

    if (next->type != REDIS_REPLY_STRING) {
        return false;
    }
    if (next->len == 0) {
        pending->progress = -1;
        return true;
    }
    return text_to_integer((struct hf_bytes){next->str, next->len}, &pending->progress) &&
           pending->progress > 0;
}

static void admitted(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                     const struct problem *problem)
{
    struct pending_command *pending = call->context;
    size_t from = has_id(pending);

    if (fate != REDIS_ANSWERED || reply->type != REDIS_REPLY_ARRAY || reply->elements % 2 != from ||
        (from > 0 && !read_next(pending, reply))) {
        end_early(pending, fate, reply, problem);
        return;
    }
    if (!append(pending, reply, from)) {
        pending_refuse(pending, &(struct problem){HF_TIMEOUT, "out of memory in the middle of it"});
        return;
    }
    bool over = from > 0 ? pending->progress < 0
                         : left_to_admit(pending, reply->elements / 2) == 0 ||
                               reply->elements / 2 < ROOM_ADMITTED_AT_ONCE;
    if (over) {
        pending_finish(pending);
    } else {
        admit_more(pending);
    }
}

static void admit_more(struct pending_command *pending)
{
    struct command *command = &pending->command;

    random_bytes(&pending->call.env->random, command->entropy, sizeof command->entropy);
    script_call_row(&pending->call, command, NULL, has_id(pending));
    if (has_id(pending)) {
        script_call_number(&pending->call, pending->progress);
    }
    script_call_send(&pending->call, false, 0, admitted, pending);
}

void room_admit_execute(struct pending_command *pending)
{
    if (command_id(pending->command.spec) == ROOM_ADMIT) {
        int64_t *count = &pending->command.args.room_admit.count;
        *count = *count < ROOM_ADMIT_MAX ? *count : ROOM_ADMIT_MAX;
    }
    reply_clear(&pending->reply);
    pending->progress = 0;
    admit_more(pending);
}
