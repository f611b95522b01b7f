/* SPDX-License-Identifier: Apache-2.0
 *
 * What the service is made of, seen by the files of this folder.
 *
 * Whatever takes several steps is a struct service_call: the client's command, copied, and the
 * next step to run. A step submits to the engine or to the ledger and returns; their answer puts
 * the call on service->ready, which service_work() works off, in turn() and at the end of
 * submit(), never in an engine's callback. One thread at a time is in here. */
#ifndef SERVICE_SERVICE_STATE_H
#define SERVICE_SERVICE_STATE_H

#include "base/list.h"
#include "base/random.h"
#include "base/slab.h"
#include "base/table.h"
#include "command/copy.h"
#include "ledger/sql.h"
#include "service/breaker.h"
#include "service/interval.h"
#include "service/limiter.h"
#include "service/service.h"

#include <pthread.h>

struct service_call;
typedef void service_run(struct service_call *call);

/* How long the take of a purchase is held. A retry has to ask for the same time, whichever server
 * it comes to, so it is no setting; and a ledger must have answered long before. */
#define PURCHASE_TTL_MS ((int64_t)60 * 1000)
#define LEDGER_TIMEOUT_MAX_MS (PURCHASE_TTL_MS / 2)
/* For so long after an engine was found to be older than the ledger its refusals are checked. */
#define DOUBT_MS RETRY_WINDOW_MS
/* Calls that wait until a product is compared with the ledger, of one product; more are refused.
 * */
#define GATE_MAX 10000
/* How long a lease lasts; its owner changes nothing any more when half of it is over. */
#define LEASE_MS ((int64_t)6 * 1000)
/* How often one that another has is asked for again, and how many times. */
#define LEASE_RETRY_MS 50
#define LEASE_RETRIES 20
/* How often this process' writers say that they live and what the engine knows. */
#define MARK_EVERY_MS ((int64_t)2000)
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

/* What has become of purchases, for metrics. */
enum service_outcome {
    OUTCOME_SOLD,
    OUTCOME_SOLD_DIRECTLY,
    OUTCOME_REPEATED,
    OUTCOME_SOLD_OUT,
    OUTCOME_REFUSED,
    OUTCOME_LEDGER_DOWN,
    OUTCOME_ENGINE_DOWN,
    OUTCOME_BUSY,
    OUTCOME_UNKNOWN,
    OUTCOME_COUNT
};

/* ---- products: product.c --------------------------------------------------------------------- */

enum product_gate {
    GATE_UNVERIFIED, /* not compared with the ledger since the engine came up */
    GATE_CHANGING,   /* being compared, opened or loaded: takes wait */
    GATE_OPEN,
};

struct service_product {
    struct service *service;
    uint32_t index, hash;
    uint64_t era; /* the service's when it was opened; in another one it is unverified */
    enum product_gate gate;
    bool was_open; /* when it began to be changed */
    bool foreign;  /* the engine has it and the ledger does not */
    int64_t doubtful_until_ms;
    int64_t remaining; /* as last seen in an answer of the engine */
    struct list line;  /* calls that wait until it is open */
    size_t waiting;
    size_t users;                    /* calls that refer to it */
    const struct service_call *lock; /* the call that corrects or loads it; or NULL */
    uint64_t directly;               /* sold past the engine since it was last compared */
    uint8_t id_size;
    char id[HF_ID_MAX];
};

/* ---- looks: look.c --------------------------------------------------------------------------- */

enum look_result {
    LOOK_AGREES,    /* nothing that is certain is between them */
    LOOK_CORRECTED, /* the engine was moved by `applied` */
    LOOK_DIFFERS,   /* it would have been, but was only to be looked at, or could not */
    LOOK_OPENED,    /* the engine did not know it and does now */
    LOOK_ADOPTED,   /* the default ledger did not know it and does now */
    LOOK_FOREIGN,   /* the engine knows it and the ledger does not */
    LOOK_UNKNOWN,   /* neither does */
    LOOK_BUSY,      /* another server is changing it */
    LOOK_ENGINE,    /* the engine does not answer: `problem` */
    LOOK_LEDGER,    /* the ledger does not: `problem` */
};

struct service_look {
    bool dry;   /* change nothing */
    bool opens; /* load a product that only the ledger knows, adopt one that only the engine does */
    bool patient; /* wait for another server that changes it */
    bool leased;
    int64_t leased_ms;              /* when the lease was asked for */
    struct service_product *locked; /* the product, while it is this call's to correct */
    bool known;                     /* the engine knows it */
    unsigned tries, waits;
    struct ledger_counter counter;
    struct interval_reading reading;
    int64_t applied, difference; /* what was corrected; what was found */
    enum look_result result;
    struct problem problem;
    service_run *ended; /* the call is the owner's again */
    void *owner;
};

/* ---- calls: service_call.c ------------------------------------------------------------------- */

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

struct service_told {
    unsigned writer;
    uint64_t batch;
};

/* ---- waiting rooms: admission.c -------------------------------------------------------------- */

struct admission {
    struct slab rooms; /* of struct admission_room */
    struct table by_event;
    struct list resting; /* rooms, those that rest longest first */
    struct list ticking; /* rooms whose next step is to admit */
    unsigned in_flight;  /* questions that the engine has not answered */
    int64_t due_ms;      /* when admission_turn() has something to do */
    bool listing;        /* a page of the list of rooms is in flight */
    int64_t list_due_ms, list_began_ms;
    char cursor[HF_CURSOR_SIZE];
    bool full;                /* the log has said that there are too many rooms */
    uint64_t ticks, admitted; /* for metrics */
};

struct service {
    struct engine engine;
    struct engine_type type; /* NULL where the inner engine's is */
    struct engine *inner;
    struct engine_options options; /* the caller's */
    struct service_options settings;
    char *ledger_url, *ledger_inventory; /* copies of those of the settings */
    char server_id[40];                  /* of this process, in leases */
    uint64_t leases;                     /* asked for: each call is an owner of its own */
    struct memory memory;
    struct random random;
    struct reply reply; /* for one answer at a time */
    char status[MESSAGE_SIZE];

    struct ledger *ledger; /* NULL: none, or not yet */
    bool guards;           /* it was given explicitly and guards plain commands, too */
    /* A ledger that is made when first needed is opened by a thread of its own; calls wait. */
    pthread_t opener;
    bool opening, opener_ended;
    struct ledger *opened;
    struct problem open_problem;
    struct list awaits_ledger;

    struct list calls, ready, timers, gated, spare;
    struct slab products;
    struct table by_id;
    uint8_t hash_key[16];

    struct breaker breaker;         /* in front of the engine */
    struct breaker payment_breaker; /* in front of the payment peer */
    struct limiter limiter;
    /* The engine's state before an era may be older than the ledger's. */
    uint64_t era;
    int64_t era_ms; /* when it began */
    bool engine_failed, engine_was_away;

    /* What is told to the ledger when the journal of the inner engine is flushed. */
    struct service_told *told;
    size_t told_count, told_capacity, told_flushing;

    struct admission admission;
    struct quota_sync *sync; /* quota_sync.h */
    struct service_call *sync_call;
    char *quota_sync_at, *quota_sync_query, *quota_sync_db; /* copies of those of the settings */

    bool marking, reconciling;
    uint64_t told_total, told_marked; /* ever told to the ledger; when it was last marked */
    int64_t mark_due_ms, reconcile_due_ms;

    struct sagas *sagas;
    struct payments_http *payments;  /* NULL: no peer over HTTP */
    char *payment_texts[5];          /* copies of the texts of the settings */
    struct list unflushed, flushing; /* calls that wait until the engine's state is on disk */
    struct http_client *http;        /* NULL: no setting needs one */
    struct webhooks *webhooks;       /* NULL: there is no receiver */

    /* Rows of holds that are to be written behind the engine: holds.c */
    struct list holds;
    size_t holds_waiting, holds_most; /* in the queue; in the next job at most */
    bool holds_writing;
    bool holds_rebuilt; /* every hold that the engine had since this process began has its row */
    int64_t holds_due_ms;
    uint64_t holds_written, holds_dropped;

    uint64_t outcomes[OUTCOME_COUNT];
    uint64_t looks, corrections, drift, reconciliations, rebuilt;
    int64_t reconciled_ms; /* when the last reconciliation ended; 0: never */

    pthread_mutex_t mutex; /* guards what follows, and opener_ended, opened, open_problem */
    pthread_cond_t changed;
    bool woken;
};

static inline struct service *service_self(struct engine *engine)
{
    return (struct service *)engine;
}

/* Milliseconds of a clock that only goes forward. */
int64_t service_now(const struct service *service);

/* What became of a call behind a breaker, and of the breaker: the log tells when it moves. */
void service_note(struct service *service, struct breaker *breaker, const char *whose,
                  bool succeeded);

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

/* ---- service.c and service_open.c ------------------------------------------------------------ */

/* What the inner engine does not have, the service does not have either. */
void service_fill_type(struct service *service);
void service_close(struct engine *engine);
/* As service_open(), around an engine that is open: for tests. It is closed with the service, and
 * still the caller's if there is none. */
enum hf_error service_open_around(struct engine *inner, const struct engine_options *options,
                                  const struct service_options *settings, struct engine **engine,
                                  struct problem *problem);
/* Carries out a command as a client's would be: guarded, or by the engine alone. The call's answer
 * comes at once or in a later turn. */
void service_carry_out(struct service *service, struct command *command, engine_done *done,
                       void *context);
/* Is the engine a service? */
bool service_is(const struct engine *engine);

/* ---- the ledger: service_ledger.c ------------------------------------------------------------ */

/* service_turn() has something to do. From another thread. */
void service_wake(void *service);
enum hf_error service_open_ledger(struct service *service, struct problem *problem);
/* Runs `next` when there is a ledger; refuses and ends the call if there can be none. */
void service_need_ledger(struct service_call *call, service_run *next);
void service_ledger_turn(struct service *service);
void service_ledger_close(struct service *service);
int64_t service_ledger_timeout(const struct service *service);

/* ---- rebuild.c ------------------------------------------------------------------------------- */

/* What an answer says of the engine. */
void rebuild_note(struct service *service, enum hf_error code, bool unknown);
/* Looks whether the engine is away. */
void rebuild_watch(struct service *service);

/* ---- product.c ------------------------------------------------------------------------------- */

/* Why a product that is being compared with the ledger is not sold: LOADING, or LEDGER_DOWN if the
 * ledger is not to be reached. */
enum hf_error product_shut_code(const struct service *service);

/* NULL when there is no memory. */
struct service_product *product_get(struct service *service, struct hf_bytes id);
struct service_product *product_find(struct service *service, struct hf_bytes id);
static inline struct hf_bytes product_id(const struct service_product *product)
{
    return (struct hf_bytes){product->id, product->id_size};
}
static inline bool product_is_open(const struct service_product *product)
{
    return product->gate == GATE_OPEN && product->era == product->service->era;
}
/* `next` runs at once if the product is open; otherwise when it was compared with the ledger, or
 * could not be: then call->look.result and .problem say why. */
void product_enter(struct service_call *call, struct service_product *product, service_run *next);
/* `next` runs when nobody else changes the product, and nobody else will before product_leave().
 * */
void product_change(struct service_call *call, struct service_product *product, service_run *next);
/* The change has ended; with a look it has verified the product. */
void product_leave(struct service_product *product, const struct service_look *look);
void product_release(struct service_call *call);
/* What moves both sides of a product, or corrects one, one call of this process does at a time. */
bool product_lock(struct service_product *product, const struct service_call *call);
void product_unlock(struct service_product *product, const struct service_call *call);
/* It is to be compared with the ledger before it is used again. */
void product_distrust(struct service_product *product);
/* The engine's SOLD_OUT is not to be believed before the ledger was asked. */
bool product_is_doubtful(const struct service_product *product);
/* Refuses those whose wait is over. */
void product_turn(struct service *service, int64_t now_ms);
void products_free(struct service *service);

/* ---- look.c ---------------------------------------------------------------------------------- */

/* Compares a product with the ledger. call->look says how; call->command is a STOCK.OPEN with the
 * product. look.ended is called once; the call is its owner's again then. */
void look_begin(struct service_call *call);
/* A call of the service's own for a product; NULL when there is no memory. */
struct service_call *look_new(struct service *service, struct hf_bytes product);

/* ---- settle.c -------------------------------------------------------------------------------- */

/* Settles an order that is in the ledger; its texts are kept until `next` runs, with the engine's
 * last answer in call->engine. */
void settle_order(struct service_call *call, const struct hf_stock_take_args *order,
                  service_run *next);
/* The ledger's `late`. */
void settle_late_sale(void *service, const struct ledger_sale *sale);

/* ---- the topics ------------------------------------------------------------------------------ */

void purchase_begin(struct service_call *call);     /* STOCK.BUY */
void order_find(struct service_call *call);         /* STOCK.ORDER */
void order_return(struct service_call *call);       /* STOCK.RETURN */
void stock_change_open(struct service_call *call);  /* STOCK.OPEN */
void stock_change_begin(struct service_call *call); /* STOCK.LOAD, STOCK.ADJUST */
void stock_gate(struct service_call *call);         /* STOCK.TAKE while a product is not open */
void seats_open_guarded(struct service_call *call);
void seats_confirm_guarded(struct service_call *call);
void seats_refund_guarded(struct service_call *call);
void seats_reserve_guarded(struct service_call *call);
void bookings_of_user(struct service_call *call);  /* SEATS.BOOKINGS */
void bookings_of_event(struct service_call *call); /* SEATS.HISTORY */
void seats_summary(struct service_call *call);     /* SEATS.SUMMARY */
void seats_release_guarded(struct service_call *call);
void seats_extend_guarded(struct service_call *call);
void reconcile_command(struct service_call *call); /* RECONCILE */
void reconcile_turn(struct service *service, int64_t now_ms);
/* When reconcile_turn() has something to do. */
int64_t reconcile_due(const struct service *service);

/* checkout.c, saga.c */
void checkout_begin(struct service_call *call);    /* SEATS.CHECKOUT */
void saga_show(struct service_call *call);         /* SAGA.GET */
void saga_resume(struct service_call *call);       /* SAGA.RESUME */
void saga_refund(struct service_call *call);       /* SAGA.REFUND */
void saga_wake_command(struct service_call *call); /* SAGA.WAKE */
void saga_list(struct service_call *call);         /* SAGA.LIST, saga_list.c */
bool sagas_init(struct service *service);
void sagas_free(struct service *service);
void sagas_turn(struct service *service, int64_t now_ms);
/* When sagas_turn() has something to do. */
int64_t sagas_due(const struct service *service);

/* ---- quota_sync.c ---------------------------------------------------------------------------- */

enum hf_error quota_sync_check(const struct service_options *settings, struct problem *problem);
bool quota_sync_open(struct service *service); /* false when there is no memory */
void quota_sync_close(struct service *service);
void quota_sync_command(struct service_call *call);   /* QUOTA.SYNCALL */
void quota_synced_command(struct service_call *call); /* QUOTA.SYNCED */
void quota_sync_turn(struct service *service, int64_t now_ms);
/* When quota_sync_turn() has something to do; INT64_MAX: never. */
int64_t quota_sync_due(const struct service *service);
void quota_sync_figures(const struct service *service, engine_figure *each, void *context);

/* ---- webhooks: webhooks.h -------------------------------------------------------------------- */

enum hf_error webhooks_check(const struct service_options *settings, struct problem *problem);
/* Opens them, and the HTTP client, if there is a receiver; webhooks_free() frees what there is. */
enum hf_error webhooks_open(struct service *service, struct problem *problem);
void webhooks_free(struct service *service);
void webhooks_turn(struct service *service, int64_t now_ms);
/* When webhooks_turn() has something to do; INT64_MAX: when it is woken. */
int64_t webhooks_due(const struct service *service);
/* A notice was written. */
void webhooks_kick(struct service *service);
void webhooks_replay(struct service_call *call); /* WEBHOOKS.REPLAY */
void webhooks_figures(const struct service *service, engine_figure *each, void *context);
/* The type of a notice if somebody is to be told, or NULL: for ledger_sale.notice and
 * ledger_job.notice.type. */
static inline const char *webhooks_type(const struct service *service, const char *type)
{
    return service->webhooks != NULL ? type : NULL;
}

/* ---- holds.c --------------------------------------------------------------------------------- */

void holds_init(struct service *service);
void holds_turn(struct service *service, int64_t now_ms);
/* When holds_turn() has something to do. */
int64_t holds_due(const struct service *service);
void holds_close(struct service *service);

/* ---- admission.c ----------------------------------------------------------------------------- */

void admission_init(struct service *service, int64_t now_ms);
void admission_free(struct service *service);
/* A command passes through: a room that it sets or fills may admit. */
void admission_note(struct service *service, const struct command *command);
void admission_turn(struct service *service, int64_t now_ms);
/* Is the wait in this room for the worker to estimate, because those inside keep others out? */
bool admission_estimates(struct service *service, struct hf_bytes event);
/* How long the one at a place of the line waits, by the rate at which all servers together admitted
 * users lately; by_rate_s is what RATE says. -1: not known. */
int64_t admission_wait_s(struct service *service, struct hf_bytes event, int64_t place,
                         int64_t by_rate_s);
/* Carries out ROOM.POSITION or ROOM.STATS, with that estimate in the reply: admission_wait.c. */
void admission_answer(struct service *service, struct command *command, engine_done *done,
                      void *context);

void service_figures(struct engine *engine, engine_figure *each, void *context);

#endif
