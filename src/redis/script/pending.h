/* SPDX-License-Identifier: Apache-2.0
 *
 * A pending command: submitted to the engine on Redis, and not answered yet. It is made and filled
 * by the thread that submits, carried out by the engine's thread, and answered by the first again;
 * one thread uses it at a time.
 *
 * An executor carries it out: it reads `command`, sends `call` as often as it takes, and answers
 * by pending_answer(), pending_refuse() or pending_finish(), once, at once or from the loop. */
#ifndef REDIS_SCRIPT_PENDING_H
#define REDIS_SCRIPT_PENDING_H

#include "command/reply.h"
#include "redis/script/script_call.h"

struct pending_command {
    struct list node;       /* in the engine's list of those in the same state */
    struct command command; /* its texts are views of `texts` */
    struct reply reply;
    struct script_call call; /* the executor's */
    int64_t progress;        /* the executor's: how far it is, if it takes several calls */
    struct memory memory;    /* of the texts and the reply */
    struct buffer texts;

    /* It takes back what this grant gave, or the command that was submitted with the context
     * `abandoned`: engine_take_back(). */
    bool takes_back;
    uint64_t grant;
    const void *abandoned;

    /* The caller of the engine, who gets the reply. */
    void (*done)(void *context, const struct reply *reply);
    void *context;
};

/* NULL when there is no memory. */
struct pending_command *pending_new(struct script_env *env);
void pending_free(struct pending_command *pending);

/* Copies a command to be carried out, and forgets the reply of the one before. False when there is
 * no memory. */
bool pending_set(struct pending_command *pending, const struct command *command);

static inline struct pending_command *pending_of(struct list *node)
{
    return LIST_ENTRY(node, struct pending_command, node);
}

/* Answers with what became of its call: by the row of the command, or with the problem. */
void pending_answer(struct pending_command *pending, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem);
/* Answers with a refusal. HF_TIMEOUT says that the outcome is unknown. */
void pending_refuse(struct pending_command *pending, const struct problem *problem);
/* Answers with pending->reply, which the executor has filled in. */
void pending_finish(struct pending_command *pending);

#endif
