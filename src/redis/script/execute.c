/* SPDX-License-Identifier: Apache-2.0
 *
 * From a command to its reply, for commands that are one call of their script, by their row, and
 * for ROOM.ADMIT, which is several. */
#include "redis/script/execute.h"

#include "redis/script/script_reply.h"

/* ---- answering a job ------------------------------------------------------------------------- */

void job_finish(struct job *job)
{
    struct redis *redis = job->call.redis;
    redis->job_done(redis->job_context, job);
}

void job_refuse(struct job *job, const struct problem *problem)
{
    reply_clear(&job->reply);
    if (!reply_refuse_said(&job->reply, problem->code, hf_text(problem->message))) {
        reply_refuse(&job->reply, problem->code, NULL);
    }
    job->reply.unknown = problem->code == HF_TIMEOUT;
    job_finish(job);
}

void job_answer(struct job *job, enum redis_fate fate, const redisReply *reply,
                const struct problem *problem)
{
    if (fate != REDIS_ANSWERED) {
        job_refuse(job, problem);
        return;
    }
    answer_read(&job->reply, job->command.spec, reply);
    if (job->reply.code == HF_INTERNAL && reply->type == REDIS_REPLY_ERROR) {
        log_line(&job->call.redis->log, LOG_ERROR, "%s: Redis says: %s", job->command.spec->name,
                 reply->str);
    }
    job_finish(job);
}

/* ---- one call -------------------------------------------------------------------------------- */

static void one_call_done(struct call *call, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct job *job = call->context;

    if (fate == REDIS_ANSWERED) {
        redis_note_deadline(call->redis, &job->command, NULL);
    }
    job_answer(job, fate, reply, problem);
}

void execute_one_call(struct redis *redis, struct job *job)
{
    bool reads = !(job->command.spec->flags & COMMAND_WRITES);

    (void)redis;
    call_row(&job->call, &job->command, NULL, 0);
    call_send(&job->call, reads, 0, one_call_done, job);
}

/* ---- pairs, a few at a time ------------------------------------------------------------------ */

/* So many a call of the script hands out. */
#define PAIRS_A_CALL 50

static void admit_more(struct redis *redis, struct job *job);

/* What came of one call goes behind what the others brought. */
static void admit_done(struct call *call, enum redis_fate fate, const redisReply *reply,
                       const struct problem *problem)
{
    struct job *job = call->context;
    struct hf_room_admit_args *args = &job->command.args.room_admit;

    if (fate != REDIS_ANSWERED || reply->type != REDIS_REPLY_ARRAY || reply->elements % 2 != 0 ||
        !reply_reserve(&job->reply, reply->elements, 0)) {
        job_answer(job, fate, reply, problem);
        return;
    }
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *text = reply->element[i];
        if (!reply_reserve(&job->reply, 0, text->len)) {
            job_refuse(job, &(struct problem){HF_TIMEOUT, "out of memory in the middle of it"});
            return;
        }
        reply_text(&job->reply, text->str, text->len);
    }
    args->count -= (int64_t)reply->elements / 2;
    if (reply->elements / 2 < PAIRS_A_CALL || args->count == 0) {
        job_finish(job);
    } else {
        admit_more(call->redis, job);
    }
}

static void admit_more(struct redis *redis, struct job *job)
{
    random_bytes(&redis->random, job->command.entropy, sizeof job->command.entropy);
    call_row(&job->call, &job->command, NULL, 0);
    call_send(&job->call, false, 0, admit_done, job);
}

void execute_admit(struct redis *redis, struct job *job)
{
    struct hf_room_admit_args *args = &job->command.args.room_admit;

    args->count = args->count < ROOM_ADMIT_MAX ? args->count : ROOM_ADMIT_MAX;
    reply_clear(&job->reply);
    admit_more(redis, job);
}
