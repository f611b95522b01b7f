/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/script/waiting.h"

#include "base/check.h"
#include "base/text.h"
#include "redis/script/script_reply.h"

#include <stdio.h>
#include <stdlib.h>

#define WAIT_LEASE_MS 10000
#define HEAD_MS 250   /* how often the first in line looks for itself */
#define STEP_MS 50    /* so much longer does each behind it take */
#define RENEW_MS 3000 /* but no longer than this: it has to say that it still waits */
#define JITTER_MS 5   /* so that those who wait for the same moment do not all come in it */
#define LATE_MS 10    /* how often it is asked once it should be over */
#define WAITERS_MAX 65536

/* One that waits. */
struct waiter {
    struct waits *waits;
    struct pending_command *pending;
    uint32_t place;     /* in waits->waiters */
    uint64_t token;     /* its call's name, in Redis and in messages */
    uint64_t end_ms;    /* uv_now() when its patience ends */
    bool looking;       /* a call of the script is under way */
    bool again;         /* … and something happened since it was sent */
    struct alarm alarm; /* the next poll */
};

struct waits {
    struct script_env *env;
    char channel[48];
    int64_t lease_ms;
    bool stopped;
    uint64_t generation;
    struct waiter *waiters[WAITERS_MAX]; /* by the low bits of their tokens */
    uint32_t free[WAITERS_MAX];          /* places nobody has */
    uint32_t free_count;
    uint32_t looking;
};

static void look(struct waiter *waiter);

static void ring(struct alarm *alarm)
{
    look(LIST_ENTRY(alarm, struct waiter, alarm));
}

/* ---- who waits ------------------------------------------------------------------------------- */

/* Hands out a place and a token; false if there is none. */
static struct waiter *add_waiter(struct waits *waits, struct pending_command *pending)
{
    struct waiter *waiter = waits->free_count > 0 ? calloc(1, sizeof *waiter) : NULL;

    if (waiter == NULL) {
        return NULL;
    }
    waiter->waits = waits;
    waiter->pending = pending;
    waiter->place = waits->free[--waits->free_count];
    waiter->token = ++waits->generation * WAITERS_MAX + waiter->place;
    waits->waiters[waiter->place] = waiter;
    alarm_init(&waiter->alarm, ring);
    return waiter;
}

static struct waiter *find_waiter(const struct waits *waits, uint64_t token)
{
    struct waiter *waiter = waits->waiters[token % WAITERS_MAX];
    return waiter != NULL && waiter->token == token ? waiter : NULL;
}

static void remove_waiter(struct waiter *waiter)
{
    struct waits *waits = waiter->waits;

    waits->waiters[waiter->place] = NULL;
    waits->free[waits->free_count++] = waiter->place;
    alarm_stop(&waiter->alarm);
    free(waiter);
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Looks again when something can have changed. */
static void look_later(struct waiter *waiter, int64_t position, int64_t due_in_ms)
{
    uint64_t now_ms = uv_now(waiter->waits->env->loop);
    int64_t left_ms = waiter->end_ms > now_ms ? (int64_t)(waiter->end_ms - now_ms) : 0;
    int64_t in_ms = position < RENEW_MS / STEP_MS ? HEAD_MS + (position - 1) * STEP_MS : RENEW_MS;

    if (due_in_ms >= 0 && due_in_ms < in_ms) {
        in_ms = due_in_ms + (int64_t)(waiter->token % JITTER_MS);
    }
    in_ms = in_ms < left_ms ? in_ms : left_ms;
    /* Redis' clock says when the wait is over: it may be a little behind ours. */
    int64_t least_ms = left_ms > 0 ? 1 : LATE_MS;
    alarm_set(&waiter->waits->env->alarms, &waiter->alarm,
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

static void answer_waiter(struct waiter *waiter, enum redis_fate fate, const redisReply *reply,
                          const struct problem *problem)
{
    struct pending_command *pending = waiter->pending;

    remove_waiter(waiter);
    pending->reply.granted = false;
    pending_answer(pending, fate, reply, problem);
}

static void looked(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct waiter *waiter = call->context;
    int64_t position, due_in_ms;
    bool late = uv_now(call->env->loop) >= waiter->end_ms + (uint64_t)call->env->url.timeout_ms;

    waiter->looking = false;
    waiter->waits->looking--;
    if (waiter->waits->stopped) {
        return;
    }
    if (fate != REDIS_ANSWERED && !late) {
        look_later(waiter, 1, -1); /* Redis is away: the line may still be there when it is back */
    } else if (fate == REDIS_ANSWERED && still_waits(reply, &position, &due_in_ms)) {
        if (waiter->again) {
            look(waiter);
        } else {
            look_later(waiter, position, due_in_ms);
        }
    } else {
        answer_waiter(waiter, fate, reply, problem);
    }
}

static void write_token(struct script_call *call, uint64_t token)
{
    script_call_number(call, (int64_t)token);
}

static void look(struct waiter *waiter)
{
    struct waits *waits = waiter->waits;
    struct pending_command *pending = waiter->pending;
    const struct command *command = &pending->command;

    alarm_stop(&waiter->alarm);
    if (waiter->looking) {
        waiter->again = true;
        return;
    }
    waiter->looking = true;
    waiter->again = false;
    waits->looking++;
    script_call_begin(&pending->call, "await_slot", script_call_row_key_count(command->spec), 4);
    script_call_row_keys(&pending->call, command, NULL);
    script_call_text(&pending->call, command->args.sem_acquire.id);
    write_token(&pending->call, waiter->token);
    script_call_seconds(&pending->call, waits->lease_ms);
    script_call_number(&pending->call, 0);
    script_call_send(&pending->call, true, 0, looked, waiter);
}

/* ---- the first call -------------------------------------------------------------------------- */

static void asked(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                  const struct problem *problem)
{
    struct waiter *waiter = call->context;
    int64_t position, due_in_ms, granted;

    waiter->looking = false;
    waiter->waits->looking--;
    if (waiter->waits->stopped) {
        return;
    }
    if (fate == REDIS_ANSWERED && still_waits(reply, &position, &due_in_ms)) {
        if (waiter->again) {
            look(waiter);
        } else {
            look_later(waiter, position, due_in_ms);
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

void wait_execute(struct waits *waits, struct pending_command *pending)
{
    struct waiter *waiter = add_waiter(waits, pending);

    if (waiter == NULL) {
        pending_refuse(pending,
                       &(struct problem){HF_BUSY, "too many callers wait; try again later"});
        return;
    }
    int64_t wait_ms = pending->command.args.sem_acquire.wait_ms;
    waiter->end_ms = uv_now(waits->env->loop) + (uint64_t)wait_ms;
    waiter->looking = true;
    waits->looking++;
    script_call_row(&pending->call, &pending->command, NULL, 3);
    write_token(&pending->call, waiter->token);
    script_call_text(&pending->call, hf_text(waits->channel));
    script_call_seconds(&pending->call, waits->lease_ms);
    script_call_send(&pending->call, false, 0, asked, waiter);
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

/* "key id token what": something happened to that call. What it was, the script tells it. */
static void on_message(void *context, struct hf_bytes payload)
{
    struct waits *waits = context;
    int64_t token;

    if (waits->stopped || !text_to_integer(third_word(payload), &token) || token < 0) {
        return;
    }
    struct waiter *waiter = find_waiter(waits, (uint64_t)token);
    if (waiter != NULL) {
        look(waiter);
    }
}

size_t waits_count(const struct waits *waits)
{
    return WAITERS_MAX - waits->free_count;
}

void waits_look(struct waits *waits)
{
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        if (waits->waiters[i] != NULL) {
            look(waits->waiters[i]);
        }
    }
}

bool waits_looking(const struct waits *waits)
{
    return waits->looking > 0;
}

/* A message may have been missed. */
static void on_again(void *context)
{
    struct waits *waits = context;

    if (!waits->stopped) {
        waits_look(waits);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

struct waits *waits_open(struct script_env *env)
{
    struct waits *waits = calloc(1, sizeof *waits);
    uint64_t name[2];

    if (waits == NULL) {
        return NULL;
    }
    waits->env = env;
    /* The time of a test runs ahead of those who would renew it. */
    waits->lease_ms = env->clock != NULL ? HF_TTL_MAX_MS : WAIT_LEASE_MS;
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        waits->free[i] = WAITERS_MAX - 1 - i;
    }
    waits->free_count = WAITERS_MAX;
    random_bytes(&env->random, name, sizeof name);
    /* Tokens of different engines must differ, too: the same id may wait in both. 2^37 of them are
     * more than an engine hands out. */
    waits->generation = name[1] >> 27;
    snprintf(waits->channel, sizeof waits->channel, "holdfast:%016llx%08llx",
             (unsigned long long)name[0], (unsigned long long)(name[1] & 0xffffffff));
    redis_client_subscribe(env->client, waits->channel, on_message, on_again, waits);
    return waits;
}

void waits_stop(struct waits *waits)
{
    waits->stopped = true;
    for (uint32_t i = 0; i < WAITERS_MAX; i++) {
        if (waits->waiters[i] != NULL) {
            alarm_stop(&waits->waiters[i]->alarm);
        }
    }
}

void waits_free(struct waits *waits)
{
    for (uint32_t i = 0; waits != NULL && i < WAITERS_MAX; i++) {
        if (waits->waiters[i] != NULL) {
            remove_waiter(waits->waiters[i]);
        }
    }
    free(waits);
}
