/* SPDX-License-Identifier: Apache-2.0
 *
 * Whatever takes several steps is a struct service_call: the client's command, copied, and the
 * next step to run. A step submits to the engine or to the ledger and returns; their answer puts
 * the call on service->ready, which service_work() works off, in turn() and at the end of
 * submit(), never in an engine's callback. */
#ifndef SERVICE_SERVICE_CALL_H
#define SERVICE_SERVICE_CALL_H

#include "base/list.h"
#include "command/copy.h"
#include "service/look.h"

/* How long a lease lasts; its owner changes nothing any more when half of it is over. */
#define LEASE_MS ((int64_t)6 * 1000)
/* How often one that another has is asked for again, and how many times. */
#define LEASE_RETRY_MS 50
#define LEASE_RETRIES 20
#define LEASE_NAME_SIZE 40
#define LEASE_OWNER_SIZE 64
#define SERVICE_NUMBERS 6

/* An engine's answer, as far as a call needs it: the first numbers, with 0 for a text. */
struct service_answer {
    enum hf_error code;
    bool unknown;
    int64_t numbers[SERVICE_NUMBERS];
    struct problem problem; /* of a refusal */
};

struct service_call {
    struct list node;  /* in service->ready, ->timers, ->spare or a product's line */
    struct list gated; /* in service->gated, if it waits in a product's line */
    struct list every; /* in service->calls, as long as it exists */
    struct service *service;
    service_run *run;       /* the next step */
    service_run *after;     /* the one behind a line */
    int64_t due_ms;         /* of a timer, or of its wait in a line */
    struct command command; /* the client's; its texts are views of `texts` */
    struct buffer texts;
    engine_done *done; /* NULL: answered, or nobody waits */
    void *context;
    struct service_product *product;
    char trace[TRACE_PARENT_SIZE]; /* of the client's request, if webhooks are to say so; or "" */
    struct service_answer engine;
    char lease[LEASE_NAME_SIZE], lease_owner[LEASE_OWNER_SIZE];

    /* What has happened so far; whose meaning is each topic's own. */
    unsigned step;
    bool taken;   /* the engine holds something for it */
    bool sold;    /* the ledger has it */
    bool untold;  /* the ledger waits for ledger_told() of `writer` and `batch` */
    bool retried; /* the step that may be repeated once was */
    unsigned writer;
    uint64_t batch;
    int64_t remaining, delta, total;
    /* Answers of the engine that are still to come; of a replay, how often it has waited. */
    unsigned awaited;
    void *state; /* more, of a topic that needs it, and what frees it */
    void (*release)(void *state);
    struct hf_stock_take_args order; /* of settle_order() */

    struct service_look look;
    union {
        struct ledger_sale sale;
        struct ledger_job job;
    };
};

/* A call for a command, which is copied; NULL when there is no memory. */
struct service_call *call_new(struct service *service, const struct command *command,
                              engine_done *done, void *context);
/* A call of the service's own, which nobody waits for. */
struct service_call *call_own(struct service *service);
/* It is answered, and nothing refers to it any more. */
void call_end(struct service_call *call);
void calls_free(struct service *service);
/* Memory of a call's own, zeroed; NULL when there is none. */
void *call_add_state(struct service_call *call, size_t size, void (*release)(void *state));
void call_drop_state(struct service_call *call);

/* The first member of the state of a part of a call's work (call_part.c). */
struct call_part {
    service_run *next; /* what the call goes on with */
    void *outer;       /* the state of whoever began, and what frees it */
    void (*release_outer)(void *state);
    void (*clear)(struct call_part *part); /* frees what it has besides; may be NULL */
};
/* Begins one: its state, zeroed, is the call's. NULL when there is no memory: `next` was called. */
void *call_part_begin(struct service_call *call, size_t size, service_run *next);
/* It is over: its state is freed, and the call goes on. */
void call_part_end(struct service_call *call);

/* Runs `run` as soon as no engine's callback is on the stack. */
void call_ready(struct service_call *call, service_run *run);
/* Runs it in so many milliseconds. */
void call_later(struct service_call *call, service_run *run, int64_t ms);
/* Runs what is ready; and what is due, if `now_ms` is not 0. */
void service_work(struct service *service, int64_t now_ms);

/* Submits to the inner engine; `next` runs with the answer in call->engine. */
void call_engine(struct service_call *call, struct command *command, service_run *next);
/* Notes an answer of the engine there, and what it says of the engine's health. */
void call_note(struct service_call *call, const struct reply *reply);
/* Asks the inner engine for a page of LIST, whose reply `listed` gets with the call as its context:
 * call_list.c. */
void call_list(struct service_call *call, const char *kind, const char *after, int64_t count,
               engine_done *listed);
/* Keeps the cursor of that reply, "" at the end. False if the engine refused; `failed` runs. */
bool call_listed(struct service_call *call, const struct reply *reply, char cursor[HF_CURSOR_SIZE],
                 service_run *failed);
/* Is it the engine that failed, not the command that was refused? Whether it happened is unknown
 * with HF_TIMEOUT alone. */
static inline bool code_is_failure(enum hf_error code, bool unknown)
{
    return code == HF_ENGINE_DOWN || code == HF_IOERR || code == HF_LOADING ||
           (code == HF_TIMEOUT && unknown);
}

/* Submits to the ledger; `next` runs when it is answered. */
void call_sell(struct service_call *call, service_run *next);
struct ledger_job *call_job(struct service_call *call, enum ledger_task task);
void call_submit(struct service_call *call, service_run *next);
/* Takes or gives back the lease of a product, or of the reconciliation of all if the id is empty.
 * `next` runs with the answer in call->job. */
void call_take_lease(struct service_call *call, struct hf_bytes product, service_run *next);
void call_give_lease(struct service_call *call, service_run *next);
/* The engine knows what the ledger has of this call: at once, or when that is on disk. */
void call_told(struct service_call *call);
void service_told_flushed(struct service *service, size_t count);
/* Runs `next` when what the engine has answered so far is on disk. */
void call_when_durable(struct service_call *call, service_run *next);

/* An empty reply to be filled in and given by call_answer(). */
struct reply *call_reply(struct service_call *call);
/* Gives the answer, if the client still waits for one. The call goes on. */
void call_answer(struct service_call *call, const struct reply *reply);
/* Answers with a refusal. call_refuse(call, code, format, …) puts its message together. */
void call_refuse_problem(struct service_call *call, const struct problem *problem);
#define call_refuse(call, ...)                                                                     \
    do {                                                                                           \
        struct problem refused_with;                                                               \
        problem_set(&refused_with, __VA_ARGS__);                                                   \
        call_refuse_problem(call, &refused_with);                                                  \
    } while (0)
/* Answers that it may have happened or not. */
void call_refuse_unknown(struct service_call *call, const char *what);
/* Answers with the engine's refusal. */
void call_refuse_as_engine(struct service_call *call);
/* Answers for a job or sale that was answered LEDGER_AWAY, LEDGER_UNKNOWN or LEDGER_REFUSED. */
void call_refuse_as_ledger(struct service_call *call, enum ledger_answer answer,
                           const struct problem *problem);

#endif
