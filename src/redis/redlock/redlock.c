/* SPDX-License-Identifier: Apache-2.0
 *
 * A command is a ballot: every server is asked at once, and the ballot is decided as soon as the
 * answers that are still out cannot change it, so that a dead server holds up nobody. Here are the
 * servers, what they answer, and the commands that take one round; redlock_try.c has the one that
 * takes more. */
#include "redis/redlock/redlock.h"

#include "base/check.h"
#include "base/text.h"
#include "redis/script/script_reply.h"
#include "redis/redlock/redlock_ballot.h"

#include <stdio.h>
#include <stdlib.h>

#define DRIFT_MS 2       /* the drift of clocks is this and a hundredth of the TTL */
#define TIMEOUT_SHARE 10 /* a server has this part of the TTL to answer in */
#define TIMEOUT_MIN_MS 10

int64_t redlock_ballot_now_ms(const struct redlock_ballot *ballot)
{
    return clock_now(&ballot->redlock->clock);
}

struct redlock_tally redlock_ballot_count(const struct redlock_ballot *ballot)
{
    struct redlock_tally tally = {0};

    for (size_t i = 0; i < ballot->redlock->count; i++) {
        const struct redlock_vote *vote = &ballot->votes[i];
        bool ignored = vote->say == REDLOCK_OPEN && vote->away;
        tally.fresh += vote->say == REDLOCK_YES && vote->fresh;
        tally.held += vote->say == REDLOCK_YES && !vote->fresh;
        tally.no += vote->say == REDLOCK_NO;
        tally.silent += vote->say == REDLOCK_SILENT || ignored;
        tally.open += vote->say == REDLOCK_OPEN && !ignored;
        tally.maybe |= vote->say == REDLOCK_YES || ignored;
        tally.maybe |= vote->say == REDLOCK_SILENT && vote->maybe;
    }
    return tally;
}

int64_t redlock_ballot_validity_ms(const struct redlock_ballot *ballot)
{
    int64_t left_ms = ballot->ttl_ms;

    for (size_t i = 0; i < ballot->redlock->count; i++) {
        const struct redlock_vote *vote = &ballot->votes[i];
        if (vote->say == REDLOCK_YES && vote->left_ms >= 0 && vote->left_ms < left_ms) {
            left_ms = vote->left_ms;
        }
    }
    return left_ms - (redlock_ballot_now_ms(ballot) - ballot->asked_ms) - left_ms / 100 - DRIFT_MS;
}

/* ---- the end of a ballot --------------------------------------------------------------------- */

static void end_if_over(struct redlock_ballot *ballot)
{
    struct redlock *redlock = ballot->redlock;

    if (ballot->in_flight > 0 || ballot->pending != NULL) {
        return;
    }
    list_remove(&ballot->node);
    for (size_t i = 0; i < redlock->count; i++) {
        script_call_free(&ballot->votes[i].call);
    }
    free(ballot);
}

void redlock_ballot_finish(struct redlock_ballot *ballot)
{
    struct pending_command *pending = ballot->pending;

    ballot->pending = NULL;
    pending_finish(pending);
}

static void finish_number(struct redlock_ballot *ballot, int64_t number)
{
    reply_clear(&ballot->pending->reply);
    reply_number(&ballot->pending->reply, number);
    redlock_ballot_finish(ballot);
}

void redlock_ballot_nil(struct redlock_ballot *ballot)
{
    struct reply *reply = &ballot->pending->reply;

    reply_clear(reply);
    reply_refuse(reply, ballot->pending->command.spec->nil_code, NULL);
    redlock_ballot_finish(ballot);
}

void redlock_ballot_unclear(struct redlock_ballot *ballot, enum hf_error code)
{
    const struct redlock *redlock = ballot->redlock;
    struct pending_command *pending = ballot->pending;
    struct problem problem;
    char names[MESSAGE_SIZE / 2] = "";
    size_t size = 0;

    for (size_t i = 0; i < redlock->count && size < sizeof names; i++) {
        const struct redis_host *host = &redlock->env->url.hosts[i];
        if (ballot->votes[i].say == REDLOCK_SILENT || ballot->votes[i].say == REDLOCK_OPEN) {
            size += (size_t)snprintf(names + size, sizeof names - size, "%s%s:%u",
                                     size > 0 ? ", " : "", host->name, host->port);
        }
    }
    ballot->pending = NULL;
    problem_set(&problem, code, "%stoo few of the %zu servers answered; silent: %s",
                code == HF_TIMEOUT ? "outcome unknown: " : "", redlock->count, names);
    pending_refuse(pending, &problem);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void on_answer(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                      const struct problem *problem);

void redlock_ballot_find_away(struct redlock_ballot *ballot)
{
    const struct redlock *redlock = ballot->redlock;
    size_t there = 0;

    for (size_t i = 0; i < redlock->count; i++) {
        struct redlock_vote *vote = &ballot->votes[i];
        vote->away = vote->in_flight || redis_client_is_away(redlock->servers[i].client, -1);
        there += !vote->away;
    }
    for (size_t i = 0; i < redlock->count && there < redlock->quorum; i++) {
        ballot->votes[i].away = ballot->votes[i].in_flight;
    }
}

void redlock_ballot_send(struct redlock_vote *vote)
{
    struct redlock_ballot *ballot = vote->ballot;
    bool reads = ballot->pending != NULL && command_id(ballot->pending->command.spec) == LOCK_GET;

    CHECK(!vote->in_flight);
    vote->in_flight = true;
    ballot->in_flight++;
    if (!vote->unlocking) {
        vote->round = ballot->round;
        vote->say = REDLOCK_OPEN;
    }
    script_call_send(&vote->call, reads, ballot->limit_ms, on_answer, vote);
}

/* ---- UNLOCK, EXTEND, GET --------------------------------------------------------------------- */

static bool same_id(const struct redlock_vote *a, const struct redlock_vote *b)
{
    return text_equal((struct hf_bytes){a->id, a->id_size}, (struct hf_bytes){b->id, b->id_size});
}

/* The vote that most others agree with, and how many they are. */
static struct redlock_vote *most_common(struct redlock_ballot *ballot, size_t *most)
{
    struct redlock_vote *found = NULL;

    *most = 0;
    for (size_t i = 0; i < ballot->redlock->count; i++) {
        size_t agree = 0;
        for (size_t j = 0; j < ballot->redlock->count && ballot->votes[i].say == REDLOCK_YES; j++) {
            agree += ballot->votes[j].say == REDLOCK_YES &&
                     same_id(&ballot->votes[i], &ballot->votes[j]);
        }
        if (agree > *most) {
            *most = agree;
            found = &ballot->votes[i];
        }
    }
    return found;
}

/* A quorum agrees on the holder: the largest fence, the shortest time. */
static void finish_holder(struct redlock_ballot *ballot, struct redlock_vote *holder)
{
    struct reply *reply = &ballot->pending->reply;

    for (size_t i = 0; i < ballot->redlock->count; i++) {
        const struct redlock_vote *vote = &ballot->votes[i];
        if (vote->say != REDLOCK_YES || !same_id(vote, holder)) {
            continue;
        }
        holder->fence = vote->fence > holder->fence ? vote->fence : holder->fence;
        if (vote->left_ms >= 0 && (vote->left_ms < holder->left_ms || holder->left_ms < 0)) {
            holder->left_ms = vote->left_ms;
        }
    }
    reply_clear(reply);
    reply_text(reply, holder->id, holder->id_size);
    reply_number(reply, holder->fence);
    reply_number(reply, holder->left_ms);
    redlock_ballot_finish(ballot);
}

static void judge_get(struct redlock_ballot *ballot)
{
    struct redlock_tally tally = redlock_ballot_count(ballot);
    size_t agree, quorum = ballot->redlock->quorum;
    struct redlock_vote *holder = most_common(ballot, &agree);

    if (agree >= quorum) {
        finish_holder(ballot, holder);
    } else if (agree + tally.silent + tally.open < quorum) {
        redlock_ballot_nil(ballot);
    } else if (tally.open == 0) {
        redlock_ballot_unclear(ballot, HF_ENGINE_DOWN);
    }
}

static void judge_change(struct redlock_ballot *ballot)
{
    struct redlock_tally tally = redlock_ballot_count(ballot);
    size_t yes = tally.fresh + tally.held, quorum = ballot->redlock->quorum;

    if (yes >= quorum) {
        finish_number(ballot, ballot->ttl_ms == 0 || redlock_ballot_validity_ms(ballot) > 0);
    } else if (yes + tally.silent + tally.open < quorum) {
        finish_number(ballot, 0);
    } else if (tally.open == 0) {
        redlock_ballot_unclear(ballot, tally.maybe ? HF_TIMEOUT : HF_ENGINE_DOWN);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void judge(struct redlock_ballot *ballot)
{
    if (ballot->step != REDLOCK_ASKING) {
        redlock_ballot_try_judge(ballot);
    } else if (ballot->pending == NULL) {
        return; /* one that was not waited for */
    } else if (command_id(ballot->pending->command.spec) == LOCK_GET) {
        judge_get(ballot);
    } else {
        judge_change(ballot);
    }
}

/* {lock_id, fence, ms left} of GET; TRY tells as the fourth whether it was taken just now. */
static bool hear_lock(struct redlock_vote *vote, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING || reply->element[0]->len > sizeof vote->id ||
        !script_reply_number(reply, 1, &vote->fence) ||
        !script_reply_number(reply, 2, &vote->left_ms)) {
        return false;
    }
    vote->id_size = reply->element[0]->len;
    memcpy(vote->id, reply->element[0]->str, vote->id_size);
    return true;
}

static void hear(struct redlock_vote *vote, enum redis_fate fate, const redisReply *reply)
{
    struct redlock_ballot *ballot = vote->ballot;
    int64_t taken;

    vote->say = REDLOCK_SILENT;
    vote->maybe = fate == REDIS_UNKNOWN;
    if (fate != REDIS_ANSWERED) {
        return;
    }
    if (reply->type == REDIS_REPLY_INTEGER) {
        vote->say = reply->integer == 1 ? REDLOCK_YES : REDLOCK_NO;
        vote->left_ms = -1;
    } else if (reply->type == REDIS_REPLY_NIL) {
        vote->say = REDLOCK_NO;
    } else if (hear_lock(vote, reply)) {
        vote->say = REDLOCK_YES;
        if (ballot->step == REDLOCK_TAKING) {
            vote->fresh = script_reply_number(reply, 3, &taken) && taken == 1;
        }
    } else {
        log_line(&ballot->redlock->env->log, LOG_ERROR, "redlock: Redis says: %s",
                 reply->type == REDIS_REPLY_ERROR ? reply->str : "something else than a lock");
    }
}

static void on_answer(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                      const struct problem *problem)
{
    struct redlock_vote *vote = call->context;
    struct redlock_ballot *ballot = vote->ballot;
    bool counts = !vote->unlocking && vote->round == ballot->round;

    (void)problem;
    vote->in_flight = vote->unlocking = false;
    ballot->in_flight--;
    if (counts) {
        hear(vote, fate, reply);
    }
    if (vote->owes_unlock && !ballot->redlock->closing) {
        redlock_ballot_try_unlock(vote);
    }
    if (counts || ballot->step == REDLOCK_GIVING_BACK) {
        judge(ballot);
    }
    end_if_over(ballot);
}

/* ---- a command ------------------------------------------------------------------------------- */

static struct redlock_ballot *new_ballot(struct redlock *redlock, struct pending_command *pending,
                                         int64_t ttl_ms)
{
    struct redlock_ballot *ballot =
        calloc(1, sizeof *ballot + redlock->count * sizeof(struct redlock_vote));
    int64_t timeout_ms = redlock->env->url.timeout_ms;

    if (ballot == NULL) {
        return NULL;
    }
    ballot->redlock = redlock;
    ballot->pending = pending;
    ballot->ttl_ms = ttl_ms;
    ballot->limit_ms = ttl_ms / TIMEOUT_SHARE;
    if (ballot->limit_ms < TIMEOUT_MIN_MS) {
        ballot->limit_ms = TIMEOUT_MIN_MS;
    }
    if (ttl_ms == 0 || ballot->limit_ms > timeout_ms) {
        ballot->limit_ms = timeout_ms;
    }
    ballot->began_ms = ballot->asked_ms = redlock_ballot_now_ms(ballot);
    for (size_t i = 0; i < redlock->count; i++) {
        ballot->votes[i].ballot = ballot;
        script_call_init(&ballot->votes[i].call, redlock->env);
        ballot->votes[i].call.client = redlock->servers[i].client;
    }
    list_add_last(&redlock->ballots, &ballot->node);
    return ballot;
}

/* Servers that are away are sent the call too, so that they hear of it if they come back in time,
 * but nobody waits for them. */
static void ask_all(struct redlock_ballot *ballot)
{
    redlock_ballot_find_away(ballot);
    for (size_t i = 0; i < ballot->redlock->count; i++) {
        script_call_row(&ballot->votes[i].call, &ballot->pending->command, NULL, 0);
        redlock_ballot_send(&ballot->votes[i]);
    }
}

/* The TTL in a command, 0 where there is none; -1 if it is no command of ours. */
static int64_t ttl_of(const struct command *command)
{
    switch (command_id(command->spec)) {
    case LOCK_TRY:
        return command->args.lock_try.ttl_ms;
    case LOCK_EXTEND:
        return command->args.lock_extend.ttl_ms;
    case LOCK_UNLOCK:
    case LOCK_GET:
        return 0;
    default:
        return -1;
    }
}

void redlock_execute(struct redlock *redlock, struct pending_command *pending)
{
    bool is_try = command_id(pending->command.spec) == LOCK_TRY;
    int64_t ttl_ms = ttl_of(&pending->command);
    struct problem problem;

    if (ttl_ms < 0) {
        problem_set(&problem, HF_INVALID_ARGUMENT, "redlock has LOCK.* only");
        pending_refuse(pending, &problem);
        return;
    }
    struct redlock_ballot *ballot = redlock->closing ? NULL : new_ballot(redlock, pending, ttl_ms);
    if (ballot == NULL || (is_try && !redlock_ballot_try(ballot))) {
        problem_set(&problem, HF_BUSY, "out of memory, or closing");
        pending_refuse(pending, &problem);
        if (ballot != NULL) {
            ballot->pending = NULL;
            end_if_over(ballot);
        }
        return;
    }
    if (!is_try) {
        ask_all(ballot);
    }
}

/* ---- servers --------------------------------------------------------------------------------- */

static void on_ready(void *context, const struct problem *problem)
{
    struct redlock_server *server = context;
    struct redlock *redlock = server->redlock;
    struct problem too_few;

    redlock->up += problem == NULL;
    redlock->down += problem != NULL;
    if (problem == NULL && redlock->up == redlock->quorum) {
        redlock->ready(redlock->ready_context, NULL);
    } else if (problem != NULL && redlock->down == redlock->count - redlock->quorum + 1) {
        problem_set(&too_few, problem->code, "fewer than %zu of %zu servers are there: %s",
                    redlock->quorum, redlock->count, problem->message);
        redlock->ready(redlock->ready_context, &too_few);
    }
}

static void end_if_closed(struct redlock *redlock)
{
    if (--redlock->to_close > 0) {
        return;
    }
    void (*closed)(void *context) = redlock->closed;
    void *context = redlock->closed_context;
    /* Those that paused, or could not give back. */
    for (struct list *node = redlock->ballots.next, *next; node != &redlock->ballots; node = next) {
        struct redlock_ballot *ballot = LIST_ENTRY(node, struct redlock_ballot, node);
        next = node->next;
        CHECK(ballot->in_flight == 0);
        ballot->pending = NULL;
        end_if_over(ballot);
    }
    free(redlock);
    if (closed != NULL) {
        closed(context);
    }
}

static void on_client_closed(void *context)
{
    end_if_closed(context);
}

void redlock_close(struct redlock *redlock, void (*closed)(void *context), void *context)
{
    redlock->closing = true;
    redlock->closed = closed;
    redlock->closed_context = context;
    redlock->to_close = 1;
    for (size_t i = 0; i < redlock->count; i++) {
        redlock->to_close += redlock->servers[i].client != NULL;
    }
    for (struct list *at = redlock->ballots.next; at != &redlock->ballots; at = at->next) {
        alarm_stop(&LIST_ENTRY(at, struct redlock_ballot, node)->pause);
    }
    for (size_t i = 0; i < redlock->count; i++) {
        if (redlock->servers[i].client != NULL) {
            redis_client_close(redlock->servers[i].client, on_client_closed, redlock);
        }
    }
    end_if_closed(redlock);
}

struct redlock *redlock_open(struct script_env *env, const struct redis_client_options *options)
{
    struct redlock *redlock = calloc(1, sizeof *redlock);
    struct redis_client_options own = *options;

    if (redlock == NULL) {
        return NULL;
    }
    redlock->env = env;
    clock_real(&redlock->clock);
    list_init(&redlock->ballots);
    redlock->count = options->url->host_count;
    redlock->quorum = redlock->count / 2 + 1;
    redlock->ready = options->ready;
    redlock->ready_context = options->context;
    own.ready = on_ready;
    for (size_t i = 0; i < redlock->count; i++) {
        redlock->servers[i].redlock = redlock;
        own.host = i;
        own.context = &redlock->servers[i];
        redlock->servers[i].client = redis_client_open(&own);
        if (redlock->servers[i].client == NULL) {
            redlock_close(redlock, NULL, NULL);
            return NULL;
        }
    }
    return redlock;
}

struct redis_client *redlock_client(const struct redlock *redlock, size_t i)
{
    return i < redlock->count ? redlock->servers[i].client : NULL;
}
