/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiters for slots of semaphores: the first call that puts a waiter in line, the polls and
 * messages by which it learns of its slot, and its end.
 *
 * No call of a waiter counts against the URL's queue, or is refused for it: CALLS_MAX are in flight
 * at a time, and the others wait for those. An ACQUIRE that does not wait is a command like any
 * other. */
#include "redis/script/sem_waiters.h"

#include "base/check.h"
#include "base/table.h"
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
#define CALLS_MAX 256    /* calls of waiters in flight */
#define ABANDON_MS 60000 /* how long it is tried to take back what an abandoned waiter got */
#define ABANDON_RETRY_MS 500

/* A SEM.ACQUIRE in line, or about to be. */
struct sem_waiter {
    struct sem_waiters *waiters;
    struct pending_command *pending;
    uint32_t index;     /* where it is in waiters->waiters */
    uint64_t token;     /* its call's name, in Redis and in messages */
    uint64_t end_ms;    /* uv_now() when its wait is over */
    bool entered;       /* its first call was sent */
    bool polling;       /* its call is in flight */
    bool again;         /* a message came since that call was sent: poll once more */
    bool abandoned;     /* nobody reads its answer: it leaves the line, or gives back its slot */
    bool giving_up;     /* the call in flight does that */
    bool is_due;        /* it is in waiters->due */
    struct list due;    /* of the waiters whose next call is sent once fewer are in flight */
    struct alarm alarm; /* the next poll */
};

struct sem_waiters {
    struct script_env *env;
    char channel[48];
    int64_t lease_ms;
    bool stopped;
    uint64_t first_generation, generation;
    struct sem_waiter *waiters[WAITERS_MAX]; /* by the low bits of their tokens */
    uint32_t free[WAITERS_MAX];              /* indexes without a waiter */
    uint32_t free_count;
    uint32_t calls; /* in flight */
    uint32_t abandoned;
    struct list due;
    struct table by_context; /* indexes of waiters, by the context of their command */
};

static void poll(struct sem_waiter *waiter);

static void ring(struct alarm *alarm)
{
    poll(LIST_ENTRY(alarm, struct sem_waiter, alarm));
}

/* ---- waiters --------------------------------------------------------------------------------- */

/* The addresses are our own: nobody chooses them to collide. */
static uint32_t hash_context(const void *context)
{
    return (uint32_t)((uintptr_t)context >> 4) * UINT32_C(2654435761);
}

struct context_wanted {
    const struct sem_waiters *waiters;
    const void *context;
};

static bool has_context(const void *context, uint32_t index)
{
    const struct context_wanted *wanted = context;
    return wanted->waiters->waiters[index]->pending->context == wanted->context;
}

static struct sem_waiter *find_by_context(const struct sem_waiters *waiters, const void *context)
{
    struct context_wanted wanted = {waiters, context};
    uint32_t index = table_find(&waiters->by_context, hash_context(context), has_context, &wanted);
    return index != NONE ? waiters->waiters[index] : NULL;
}

/* A new waiter with an index and a token; NULL if there are too many, or no memory. */
static struct sem_waiter *add_waiter(struct sem_waiters *waiters, struct pending_command *pending)
{
    struct sem_waiter *waiter = waiters->free_count > 0 ? calloc(1, sizeof *waiter) : NULL;

    if (waiter == NULL || !table_add(&waiters->by_context, hash_context(pending->context),
                                     waiters->free[waiters->free_count - 1])) {
        free(waiter);
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

    table_remove(&waiters->by_context, hash_context(waiter->pending->context), waiter->index);
    waiters->waiters[waiter->index] = NULL;
    waiters->free[waiters->free_count++] = waiter->index;
    waiters->abandoned -= waiter->abandoned;
    if (waiter->is_due) {
        list_remove(&waiter->due);
    }
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

/* Answers the command. The scripts say by a fourth figure whether it was this call that got the
 * slot, so that it is taken back if the client never learns of it. */
static void answer_waiter(struct sem_waiter *waiter, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct pending_command *pending = waiter->pending;
    uint64_t token = waiter->token;
    int64_t granted = 0;

    remove_waiter(waiter);
    if (fate != REDIS_ANSWERED || reply->type == REDIS_REPLY_ERROR) {
        pending_answer(pending, fate, reply, problem);
        return;
    }
    script_reply_read(&pending->reply, pending->command.spec, reply);
    if (pending->reply.code == HF_OK && script_reply_number(reply, 3, &granted) && granted != 0) {
        pending->reply.granted = true;
        pending->reply.grant = token;
    }
    pending_finish(pending);
}

/* It waits on: the next poll is set, or made if something happened to it meanwhile. */
static void wait_on(struct sem_waiter *waiter, int64_t position, int64_t due_in_ms)
{
    if (waiter->again) {
        poll(waiter);
    } else {
        schedule_poll(waiter, position, due_in_ms);
    }
}

/* What an abandoned waiter's call came to. It is over once a call that gave up was answered. */
static void settle_abandoned(struct sem_waiter *waiter, enum redis_fate fate,
                             const redisReply *reply, const struct problem *problem)
{
    struct script_env *env = waiter->waiters->env;

    if (!waiter->giving_up) {
        poll(waiter);
    } else if (fate == REDIS_ANSWERED || uv_now(env->loop) >= waiter->end_ms) {
        answer_waiter(waiter, fate, reply, problem);
    } else {
        alarm_set(&env->alarms, &waiter->alarm, ABANDON_RETRY_MS);
    }
}

static void settle_poll(struct sem_waiter *waiter, enum redis_fate fate, const redisReply *reply,
                        const struct problem *problem)
{
    const struct script_env *env = waiter->waiters->env;
    bool late = uv_now(env->loop) >= waiter->end_ms + (uint64_t)env->url.timeout_ms;
    int64_t position, due_in_ms;

    if (waiter->abandoned) {
        settle_abandoned(waiter, fate, reply, problem);
    } else if (fate != REDIS_ANSWERED && !late) {
        /* Redis is away: the line may still be there when it is back. */
        schedule_poll(waiter, 1, -1);
    } else if (fate == REDIS_ANSWERED && still_waits(reply, &position, &due_in_ms)) {
        wait_on(waiter, position, due_in_ms);
    } else {
        answer_waiter(waiter, fate, reply, problem);
    }
}

static void send_due(struct sem_waiters *waiters);

static void polled(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct sem_waiter *waiter = call->context;
    struct sem_waiters *waiters = waiter->waiters;

    waiter->polling = false;
    waiters->calls--;
    if (!waiters->stopped) {
        settle_poll(waiter, fate, reply, problem);
        send_due(waiters);
    }
}

static void write_token(struct script_call *call, uint64_t token)
{
    script_call_number(call, (int64_t)token);
}

static void send_poll(struct sem_waiter *waiter)
{
    struct sem_waiters *waiters = waiter->waiters;
    struct pending_command *pending = waiter->pending;
    const struct command *command = &pending->command;

    waiter->polling = true;
    waiter->again = false;
    waiter->giving_up = waiter->abandoned;
    waiters->calls++;
    script_call_begin(&pending->call, "await_slot", script_call_row_key_count(command->spec), 4);
    script_call_row_keys(&pending->call, command, NULL);
    pending->call.request.unqueued = true;
    script_call_text(&pending->call, command->args.sem_acquire.id);
    write_token(&pending->call, waiter->token);
    script_call_seconds(&pending->call, waiters->lease_ms);
    script_call_number(&pending->call, waiter->giving_up ? 1 : 0);
    script_call_send(&pending->call, true, 0, polled, waiter);
}

static void send_first(struct sem_waiter *waiter);

/* Sends as many of the calls that are due as may be in flight. */
static void send_due(struct sem_waiters *waiters)
{
    while (!list_empty(&waiters->due) && waiters->calls < CALLS_MAX) {
        struct sem_waiter *waiter = LIST_ENTRY(waiters->due.next, struct sem_waiter, due);
        list_remove(&waiter->due);
        waiter->is_due = false;
        if (waiter->entered) {
            send_poll(waiter);
        } else {
            send_first(waiter);
        }
    }
}

static void poll(struct sem_waiter *waiter)
{
    alarm_stop(&waiter->alarm);
    if (waiter->polling) {
        waiter->again = true;
    } else if (!waiter->is_due) {
        waiter->is_due = true;
        list_add_last(&waiter->waiters->due, &waiter->due);
        send_due(waiter->waiters);
    }
}

/* ---- the first call -------------------------------------------------------------------------- */

/* Can the call have put the waiter in line, or given it a slot? */
static bool left_a_trace(enum redis_fate fate, const redisReply *reply)
{
    int64_t lead, granted;

    if (fate != REDIS_ANSWERED) {
        return fate == REDIS_UNKNOWN;
    }
    return script_reply_number(reply, 0, &lead) &&
           (lead == 2 || (lead == 1 && script_reply_number(reply, 3, &granted) && granted != 0));
}

static void acquired(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                     const struct problem *problem)
{
    struct sem_waiter *waiter = call->context;
    struct sem_waiters *waiters = waiter->waiters;
    int64_t position, due_in_ms;

    waiter->polling = false;
    waiters->calls--;
    if (waiters->stopped) {
        return;
    }
    if (waiter->abandoned && left_a_trace(fate, reply)) {
        poll(waiter);
    } else if (fate == REDIS_ANSWERED && still_waits(reply, &position, &due_in_ms)) {
        wait_on(waiter, position, due_in_ms);
    } else {
        answer_waiter(waiter, fate, reply, problem);
    }
    send_due(waiters);
}

static void refuse_crowded(struct pending_command *pending)
{
    pending_refuse(pending, &(struct problem){HF_BUSY, "too many callers wait; try again later"});
}

static void send_first(struct sem_waiter *waiter)
{
    struct sem_waiters *waiters = waiter->waiters;
    struct pending_command *pending = waiter->pending;
    bool waits = pending->command.args.sem_acquire.wait_ms > 0;

    if (waiter->abandoned || (waits && uv_now(waiters->env->loop) >= waiter->end_ms)) {
        remove_waiter(waiter);
        refuse_crowded(pending);
        return;
    }
    waiter->entered = true;
    waiter->polling = true;
    waiters->calls++;
    script_call_row(&pending->call, &pending->command, NULL, 4);
    pending->call.request.unqueued = waits;
    write_token(&pending->call, waiter->token);
    script_call_text(&pending->call, hf_text(waiters->channel));
    script_call_seconds(&pending->call, waiters->lease_ms);
    script_call_number(&pending->call, pending->command.args.sem_acquire.slots);
    script_call_send(&pending->call, false, 0, acquired, waiter);
}

void sem_waiters_acquire(struct sem_waiters *waiters, struct pending_command *pending)
{
    struct sem_waiter *waiter = add_waiter(waiters, pending);
    int64_t wait_ms = pending->command.args.sem_acquire.wait_ms;

    if (waiter == NULL) {
        refuse_crowded(pending);
        return;
    }
    waiter->end_ms = uv_now(waiters->env->loop) + (uint64_t)wait_ms;
    if (wait_ms > 0) {
        poll(waiter);
    } else {
        send_first(waiter);
    }
}

/* ---- clients that are gone ------------------------------------------------------------------- */

static void abandon(struct sem_waiter *waiter)
{
    if (!waiter->abandoned) {
        waiter->abandoned = true;
        waiter->waiters->abandoned++;
        waiter->end_ms = uv_now(waiter->waiters->env->loop) + ABANDON_MS;
        poll(waiter);
    }
}

static void took_back(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                      const struct problem *problem)
{
    pending_answer(call->context, fate, reply, problem);
}

void sem_waiters_take_back(struct sem_waiters *waiters, struct pending_command *pending)
{
    struct sem_waiter *waiter =
        pending->grant == 0 ? find_by_context(waiters, pending->abandoned) : NULL;

    if (waiter != NULL) {
        abandon(waiter);
        pending_finish(pending);
        return;
    }
    /* It has its answer, which may not have come to whoever takes it back: then it is some call of
     * this engine. */
    uint64_t first = waiters->first_generation * WAITERS_MAX;
    uint64_t last = waiters->generation * WAITERS_MAX + WAITERS_MAX - 1;
    script_call_row(&pending->call, &pending->command, NULL, 2);
    write_token(&pending->call, pending->grant != 0 ? pending->grant : first);
    write_token(&pending->call, pending->grant != 0 ? pending->grant : last);
    script_call_send(&pending->call, true, 0, took_back, pending);
}

void sem_waiters_abandon(struct sem_waiters *waiters)
{
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        if (waiters->waiters[i] != NULL) {
            abandon(waiters->waiters[i]);
        }
    }
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
    return waiters->calls > 0 || waiters->abandoned > 0 || !list_empty(&waiters->due);
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
    list_init(&waiters->due);
    table_init(&waiters->by_context, &env->memory);
    /* The clock of a test runs ahead of the polls that would renew the leases. */
    waiters->lease_ms = env->clock != NULL ? HF_TTL_MAX_MS : WAIT_LEASE_MS;
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        waiters->free[i] = WAITERS_MAX - 1 - i;
    }
    waiters->free_count = WAITERS_MAX;
    random_bytes(&env->random, name, sizeof name);
    /* Tokens of different engines must differ, too: the same id may wait in both. 2^37 of them are
     * more than an engine hands out. */
    waiters->first_generation = waiters->generation = name[1] >> 27;
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
    if (waiters != NULL) {
        table_free(&waiters->by_context);
    }
    free(waiters);
}
