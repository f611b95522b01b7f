/* SPDX-License-Identifier: Apache-2.0
 *
 * What the service is made of, seen by the files of this folder. One thread at a time is in here.
 * The steps of a call are in service_call.h. */
#ifndef SERVICE_SERVICE_STATE_H
#define SERVICE_SERVICE_STATE_H

#include "base/random.h"
#include "base/slab.h"
#include "base/table.h"
#include "service/breaker.h"
#include "service/limiter.h"
#include "service/product.h"
#include "service/service_call.h"

#include <pthread.h>

/* How long the take of a purchase is held. A retry has to ask for the same time, whichever server
 * it comes to, so it is no setting; and a ledger must have answered long before. */
#define PURCHASE_TTL_MS ((int64_t)60 * 1000)
#define LEDGER_TIMEOUT_MAX_MS (PURCHASE_TTL_MS / 2)
/* For so long after an engine was found to be older than the ledger its refusals are checked. */
#define DOUBT_MS RETRY_WINDOW_MS
/* How often this process' writers say that they live and what the engine knows. */
#define MARK_EVERY_MS ((int64_t)2000)

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
