/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiters for slots of semaphores: the first call that puts a waiter in line, the polls and
 * messages by which it learns of its slot, and its end. */
#include "redis/script/sem_waiters.h"

#include "base/check.h"
#include "base/text.h"
#include "redis/script/script_reply.h"

#include <stdio.h>
#include <stdlib.h>

#define WAIT_LEASE_MS 10000
#define HEAD_MS 250   /* how often the first waiter in line polls */
#define STEP_MS 50    /* so much longer are the pauses of each waiter behind it */
#define RENEW_MS 3000 /* the longest pause between polls: a poll renews the lease */
#define JITTER_MS 5   /* spreads the polls of waiters for the same moment */
#define LATE_MS 10    /* between polls once the wait should be over */
#define WAITERS_MAX 65536

/* A SEM.ACQUIRE in line, or about to be. */
struct sem_waiter {
    struct sem_waiters *waiters;
    struct pending_command *pending;
    uint32_t index;     /* where it is in waiters->waiters */
    uint64_t token;     /* its call's name, in Redis and in messages */
    uint64_t end_ms;    /* uv_now() when its wait is over */
    bool polling;       /* its call is in flight */
    bool again;         /* a message came since that call was sent: poll once more */
    struct alarm alarm; /* the next poll */
};

struct sem_waiters {
    struct script_env *env;
    char channel[48];
    int64_t lease_ms;
    bool stopped;
    uint64_t generation;
    struct sem_waiter *waiters[WAITERS_MAX]; /* by the low bits of their tokens */
    uint32_t free[WAITERS_MAX];              /* indexes without a waiter */
    uint32_t free_count;
    uint32_t polling;
};

static void poll(struct sem_waiter *waiter);

static void ring(struct alarm *alarm)
{
    poll(LIST_ENTRY(alarm, struct sem_waiter, alarm));
}

/* ---- waiters --------------------------------------------------------------------------------- */

/* A new waiter with an index and a token; NULL if there are too many, or no memory. */
static struct sem_waiter *add_waiter(struct sem_waiters *waiters, struct pending_command *pending)
{
    struct sem_waiter *waiter = waiters->free_count > 0 ? calloc(1, sizeof *waiter) : NULL;

    if (waiter == NULL) {
        return NULL;
    }
    waiter->waiters = waiters;
    waiter->pending = pending;
    waiter->index = waiters->free[--waiters->free_count];
    waiter->token = ++waiters->generation * WAITERS_MAX + waiter->index;
    waiters->waiters[waiter->index] = waiter;
    alarm_init(&waiter->alarm, ring);
    return waiter;
}

static struct sem_waiter *find_waiter(const struct sem_waiters *waiters, uint64_t token)
{
    struct sem_waiter *waiter = waiters->waiters[token % WAITERS_MAX];
    return waiter != NULL && waiter->token == token ? waiter : NULL;
}

static void remove_waiter(struct sem_waiter *waiter)
{
    struct sem_waiters *waiters = waiter->waiters;

    waiters->waiters[waiter->index] = NULL;
    waiters->free[waiters->free_count++] = waiter->index;
    alarm_stop(&waiter->alarm);
    free(waiter);
}

/* ---- polling --------------------------------------------------------------------------------- */

/* Sets the next poll for when its position in line can have changed. */
static void schedule_poll(struct sem_waiter *waiter, int64_t position, int64_t due_in_ms)
{
    uint64_t now_ms = uv_now(waiter->waiters->env->loop);
    int64_t left_ms = waiter->end_ms > now_ms ? (int64_t)(waiter->end_ms - now_ms) : 0;
    int64_t in_ms = position < RENEW_MS / STEP_MS ? HEAD_MS + (position - 1) * STEP_MS : RENEW_MS;

    if (due_in_ms >= 0 && due_in_ms < in_ms) {
        in_ms = due_in_ms + (int64_t)(waiter->token % JITTER_MS);
    }
    in_ms = in_ms < left_ms ? in_ms : left_ms;
    /* Redis' clock says when the wait is over: it may be a little behind ours. */
    int64_t least_ms = left_ms > 0 ? 1 : LATE_MS;
    alarm_set(&waiter->waiters->env->alarms, &waiter->alarm,
              (uint64_t)(in_ms > least_ms ? in_ms : least_ms));
}

/* What the scripts say of a call: {1, …} it has its slot, {0, …} it has left, {2, position, due} it
 * waits on. */
static bool still_waits(const redisReply *reply, int64_t *position, int64_t *due_in_ms)
{
    int64_t lead;

    return script_reply_number(reply, 0, &lead) && lead == 2 &&
           script_reply_number(reply, 1, position) && script_reply_number(reply, 2, due_in_ms);
}

static void answer_waiter(struct sem_waiter *waiter, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct pending_command *pending = waiter->pending;

    remove_waiter(waiter);
    pending->reply.granted = false;
    pending_answer(pending, fate, reply, problem);
}

static void polled(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct sem_waiter *waiter = call->context;
    int64_t position, due_in_ms;
    bool late = uv_now(call->env->loop) >= waiter->end_ms + (uint64_t)call->env->url.timeout_ms;

    waiter->polling = false;
    waiter->waiters->polling--;
    if (waiter->waiters->stopped) {
        return;
    }
    if (fate != REDIS_ANSWERED && !late) {
        schedule_poll(waiter, 1,
                      -1); /* Redis is away: the line may still be there when it is back */
    } else if (fate == REDIS_ANSWERED && still_waits(reply, &position, &due_in_ms)) {
        if (waiter->again) {
            poll(waiter);
        } else {
            schedule_poll(waiter, position, due_in_ms);
        }
    } else {
        answer_waiter(waiter, fate, reply, problem);
    }
}

static void write_token(struct script_call *call, uint64_t token)
{
    script_call_number(call, (int64_t)token);
}

static void poll(struct sem_waiter *waiter)
{
    struct sem_waiters *waiters = waiter->waiters;
    struct pending_command *pending = waiter->pending;
    const struct command *command = &pending->command;

    alarm_stop(&waiter->alarm);
    if (waiter->polling) {
        waiter->again = true;
        return;
    }
    waiter->polling = true;
    waiter->again = false;
    waiters->polling++;
    script_call_begin(&pending->call, "await_slot", script_call_row_key_count(command->spec), 4);
    script_call_row_keys(&pending->call, command, NULL);
    script_call_text(&pending->call, command->args.sem_acquire.id);
    write_token(&pending->call, waiter->token);
    script_call_seconds(&pending->call, waiters->lease_ms);
    script_call_number(&pending->call, 0);
    script_call_send(&pending->call, true, 0, polled, waiter);
}

/* ---- the first call -------------------------------------------------------------------------- */

static void acquired(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                     const struct problem *problem)
{
    struct sem_waiter *waiter = call->context;
    int64_t position, due_in_ms, granted;

    waiter->polling = false;
    waiter->waiters->polling--;
    if (waiter->waiters->stopped) {
        return;
    }
    if (fate == REDIS_ANSWERED && still_waits(reply, &position, &due_in_ms)) {
        if (waiter->again) {
            poll(waiter);
        } else {
            schedule_poll(waiter, position, due_in_ms);
        }
        return;
    }
    struct pending_command *pending = waiter->pending;
    remove_waiter(waiter);
    if (fate == REDIS_ANSWERED) {
        script_reply_read(&pending->reply, pending->command.spec, reply);
        pending->reply.granted =
            pending->reply.code == HF_OK && script_reply_number(reply, 3, &granted) && granted != 0;
        pending_finish(pending);
    } else {
        pending_answer(pending, fate, reply, problem);
    }
}

void sem_waiters_acquire(struct sem_waiters *waiters, struct pending_command *pending)
{
    struct sem_waiter *waiter = add_waiter(waiters, pending);

    if (waiter == NULL) {
        pending_refuse(pending,
                       &(struct problem){HF_BUSY, "too many callers wait; try again later"});
        return;
    }
    int64_t wait_ms = pending->command.args.sem_acquire.wait_ms;
    waiter->end_ms = uv_now(waiters->env->loop) + (uint64_t)wait_ms;
    waiter->polling = true;
    waiters->polling++;
    script_call_row(&pending->call, &pending->command, NULL, 4);
    write_token(&pending->call, waiter->token);
    script_call_text(&pending->call, hf_text(waiters->channel));
    script_call_seconds(&pending->call, waiters->lease_ms);
    script_call_number(&pending->call, pending->command.args.sem_acquire.slots);
    script_call_send(&pending->call, false, 0, acquired, waiter);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* The third word: a call's token stands behind a key and an id, neither of which has spaces. */
static struct hf_bytes third_word(struct hf_bytes text)
{
    const char *at = text.data, *end = text.data + text.size;

    for (unsigned i = 0; i < 2 && at != NULL; i++) {
        at = memchr(at, ' ', (size_t)(end - at));
        at = at != NULL ? at + 1 : NULL;
    }
    const char *stop = at != NULL ? memchr(at, ' ', (size_t)(end - at)) : NULL;
    return stop != NULL ? (struct hf_bytes){at, (size_t)(stop - at)} : (struct hf_bytes){NULL, 0};
}

/* "key id token what": something happened to that waiter. The poll learns what it was. */
static void on_message(void *context, struct hf_bytes payload)
{
    struct sem_waiters *waiters = context;
    int64_t token;

    if (waiters->stopped || !text_to_integer(third_word(payload), &token) || token < 0) {
        return;
    }
    struct sem_waiter *waiter = find_waiter(waiters, (uint64_t)token);
    if (waiter != NULL) {
        poll(waiter);
    }
}

size_t sem_waiters_count(const struct sem_waiters *waiters)
{
    return WAITERS_MAX - waiters->free_count;
}

void sem_waiters_poll(struct sem_waiters *waiters)
{
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        if (waiters->waiters[i] != NULL) {
            poll(waiters->waiters[i]);
        }
    }
}

bool sem_waiters_polling(const struct sem_waiters *waiters)
{
    return waiters->polling > 0;
}

/* The subscription stands anew: messages may have been missed. */
static void on_again(void *context)
{
    struct sem_waiters *waiters = context;

    if (!waiters->stopped) {
        sem_waiters_poll(waiters);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct sem_waiters *sem_waiters_open(struct script_env *env)
{
    struct sem_waiters *waiters = calloc(1, sizeof *waiters);
    uint64_t name[2];

    if (waiters == NULL) {
        return NULL;
    }
    waiters->env = env;
    /* The clock of a test runs ahead of the polls that would renew the leases. */
    waiters->lease_ms = env->clock != NULL ? HF_TTL_MAX_MS : WAIT_LEASE_MS;
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        waiters->free[i] = WAITERS_MAX - 1 - i;
    }
    waiters->free_count = WAITERS_MAX;
    random_bytes(&env->random, name, sizeof name);
    /* Tokens of different engines must differ, too: the same id may wait in both. 2^37 of them are
     * more than an engine hands out. */
    waiters->generation = name[1] >> 27;
    snprintf(waiters->channel, sizeof waiters->channel, "holdfast:%016llx%08llx",
             (unsigned long long)name[0], (unsigned long long)(name[1] & 0xffffffff));
    redis_client_subscribe(env->client, waiters->channel, on_message, on_again, waiters);
    return waiters;
}

void sem_waiters_stop(struct sem_waiters *waiters)
{
    waiters->stopped = true;
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        if (waiters->waiters[i] != NULL) {
            alarm_stop(&waiters->waiters[i]->alarm);
        }
    }
}

void sem_waiters_free(struct sem_waiters *waiters)
{
    for (uint32_t i = 0; waiters != NULL && i < WAITERS_MAX; i++) {
        if (waiters->waiters[i] != NULL) {
            remove_waiter(waiters->waiters[i]);
        }
    }
    free(waiters);
}
