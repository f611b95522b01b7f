/* SPDX-License-Identifier: Apache-2.0
 *
 * Sagas that this process drives, seen by the files about them:
 *
 *     checkout.c         SEATS.CHECKOUT; checkout_wait.c: clients that wait for the end
 *     saga_commands.c    SAGA.GET, SAGA.RESUME, SAGA.REFUND
 *     saga_states.c      which state may follow on which
 *     saga.c             their life in memory: made, found, watched, claimed, dropped
 *     saga_moves.c       a move: into the ledger first, many sagas in one transaction
 *     saga_steps.c       reserve, pay, confirm
 *     saga_compensate.c  release, refund
 *     payments*.c        the payment peer
 *
 * A saga is the state of a service_call that nobody waits for. Its owner is this process as long as
 * its lease lasts, which every move renews; no step begins that could outlast it. A saga that waits
 * for long is parked: it has no owner, is dropped from memory, and whoever claims it when it is due
 * goes on. */
#ifndef SERVICE_SAGA_H
#define SERVICE_SAGA_H

#include "service/payments.h"
#include "service/saga_states.h"
#include "service/service_state.h"

#define SAGA_BUCKETS 1024
#define SAGA_BATCH_MAX 512
#define SAGA_PAGE 64
/* How often a process that drives sagas looks for calls about them that came to other servers. */
#define SAGA_LOOK_MS ((int64_t)1000)
#define SAGA_NOTICED_MAX LEDGER_NOTICED_MAX
/* Driven at a time by one process; more are refused, or left for later. */
#define SAGA_ACTIVE_MAX 20000
/* How long the seats of a checkout are held. A retry has to ask for the same time, whichever server
 * it comes to, so it is no setting. */
#define SAGA_HOLD_MS ((int64_t)15 * 60 * 1000)
/* Attempts of a step with the engine or the ledger. */
#define SAGA_ATTEMPTS_MAX 20
#define SAGA_BACKOFF_FIRST_MS ((int64_t)100)
#define SAGA_BACKOFF_MAX_MS ((int64_t)30 * 1000)
/* A payment is pending for no longer. */
#define SAGA_PENDING_MAX_MS ((int64_t)3 * 24 * 3600 * 1000)

struct saga {
    struct trace_source source;   /* for what is carried out for it: saga_describe() */
    struct trace_request request; /* that began it, or took it up again; otherwise a trace alone */
    struct service_call *call;
    struct list node;          /* in a bucket */
    struct list watchers;      /* clients' calls, by service_call.gated */
    struct ledger_saga row;    /* as the ledger has it */
    struct ledger_saga next;   /* as the move in flight makes it */
    struct ledger_saga looked; /* as it was looked up */
    enum saga_state state;
    enum saga_charge charge;
    enum saga_state next_state;
    enum saga_charge next_charge;
    struct ledger_move move;
    service_run *moved;        /* runs behind the move */
    int64_t leased_until_ms;   /* by service_now() */
    int64_t next_lease_ms;     /* … if the move in flight is carried out */
    unsigned tries;            /* of a move that the ledger did not answer */
    bool moving;               /* a move is in flight */
    enum ledger_answer answer; /* of the last move */
    struct problem problem;
    struct service_call *client;    /* waits for the row of a new saga */
    bool fresh;                     /* no step of the state was begun by anybody else */
    bool waits;                     /* on the service's timers: a callback wakes it */
    bool woken;                     /* a callback came while it did something else */
    char noticed[SAGA_NOTICED_MAX]; /* what a receiver of webhooks is told with the move */
    bool parks;                     /* with the move in flight it leaves this process */
    bool rebooked;                  /* the seats of a late payment were taken again */
    bool charge_resent;             /* an earlier charge may still be on its way */
    struct payment_answer payment;
    char code[HF_CODE_SIZE]; /* of the confirmation */
};

struct sagas {
    struct list buckets[SAGA_BUCKETS];
    size_t active;
    struct list moves; /* that wait for the job in flight */
    bool moving;
    struct ledger_move *carried[SAGA_BATCH_MAX];
    struct ledger_job job;
    bool claiming, claim_again;
    int64_t claim_due_ms, claimed_ms;
    struct ledger_job claim;
    struct ledger_saga page[SAGA_PAGE];
    char woken[SAGA_PAGE][HF_ID_SIZE]; /* of this process' sagas, that others were called about */
    size_t woken_count;
    uint64_t begun, claimed, lost, moves_total, transactions;
    uint64_t ended[SAGA_STATES];
};

static inline struct saga *saga_of(struct service_call *call)
{
    return call->state;
}

/* How long a request to the payment peer can take: as long for a free connection as for itself.
 * The one that is none answers at once. */
static inline int64_t saga_pays_ms(const struct service *service)
{
    return service->payments != NULL ? 2 * service->settings.payment_timeout_ms : 0;
}

/* ---- saga.c ---------------------------------------------------------------------------------- */

/* A saga with this row, driven by nobody yet; NULL when there is no memory. */
struct saga *saga_new(struct service *service, const struct ledger_saga *row);
/* A client's request drives it from now on: what is sent because of it says so. */
void saga_note_request(struct saga *saga, const struct service_call *client);
/* It is no longer driven here: its watchers look for themselves. */
void saga_drop(struct service_call *call);
struct saga *saga_find(struct service *service, struct hf_bytes id);
/* The client's call, which has a struct checkout_work, goes on with `next` when the saga has moved
 * to an end or has left this process, or when its time is over. */
void saga_watch(struct saga *saga, struct service_call *client, int64_t wait_ms, service_run *next);
void saga_tell_watchers(struct saga *saga);
/* Carries out a command of the engine, guarded as a client's would be. The answer is in
 * call->engine when `next` runs. */
void saga_submit(struct service_call *call, struct command *command, service_run *next);
/* Waits; a callback of the payment peer ends the wait. */
void saga_wait(struct saga *saga, int64_t ms, service_run *next);
/* The payment peer has called back. */
void saga_wake(struct saga *saga);
/* Sagas whose lease has ended are claimed in the next turn. */
void sagas_claim_soon(struct service *service);

/* ---- saga_moves.c ---------------------------------------------------------------------------- */

struct saga_change {
    enum saga_state to;
    enum saga_charge charge;
    enum hf_error error; /* HF_OK: the one that is there stays */
    const char *message;
    int64_t attempts;
    int64_t wait_ms; /* until the next step */
    bool takes;      /* the saga had ended: it becomes this process' */
};

/* Moves a saga; `next` runs when the ledger has it, with the saga dropped if it has parked. A saga
 * that turns out to be another's is dropped, and `next` does not run. */
void saga_move(struct saga *saga, const struct saga_change *change, service_run *next);
/* Writes the row of a new saga. Here, and with a move that takes, `next` runs whatever saga->answer
 * is. */
void saga_insert(struct saga *saga, service_run *next);

/* ---- saga_steps.c, saga_compensate.c --------------------------------------------------------- */

/* The step of its state. */
void saga_drive(struct service_call *call);
/* The step of its state once more, after a while; too often: it needs attention, or is compensated
 * where nothing was charged. */
void saga_retry(struct saga *saga, enum hf_error error, const char *message, int64_t attempts_max);
/* Is it worth trying again? */
bool saga_answer_is_passing(const struct service_answer *answer);
/* On to another state and its step, or to the end. */
void saga_go(struct saga *saga, enum saga_state to, enum saga_charge charge, enum hf_error error,
             const char *message);
void saga_pay(struct saga *saga, enum payment_verb verb, service_run *next);
void saga_compensate(struct service_call *call);

#endif
