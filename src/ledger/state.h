/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share: the ledger, its writers, and batches on their way.
 *
 * Two kinds of threads. The caller's submits and answers; each writer's has one connection and
 * carries things out. What both touch is under `lock`; what is a batch's own goes from one to the
 * other:
 *
 *     sales ─caller─> waiting ─writer─> running, copied ─writer─> finished ─caller─> done()
 *
 * A sale belongs to the caller, who may be answered LEDGER_UNKNOWN in the middle of a transaction
 * and then frees it. So the writer works on copies, made before it begins, and leaves the sale
 * alone from then on. */
#ifndef LEDGER_STATE_H
#define LEDGER_STATE_H

#include "base/random.h"
#include "ledger/ledger.h"
#include "ledger/statements.h"
#include "ledger/tally.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- batches --------------------------------------------------------------------------------- */

enum ledger_entry_state {
    LEDGER_ENTRY_PENDING,   /* to be carried out */
    LEDGER_ENTRY_TENTATIVE, /* decided, if the transaction that runs is committed */
    LEDGER_ENTRY_DECIDED,
};

/* What few answers have. */
struct ledger_detail {
    struct ledger_row found;
    struct problem problem;
};

/* A sale in a batch. */
struct ledger_entry {
    struct ledger_sale *sale; /* the caller's thread alone looks at it */
    atomic_bool gone;         /* the caller has had LEDGER_UNKNOWN for an answer */
    enum ledger_entry_state state;
    enum ledger_answer answer;
    enum ledger_kind kind;
    bool exists;                     /* its id was found: detail.found */
    bool differs;                    /* … with other arguments */
    struct hf_bytes scope, id, user; /* in the batch's texts, as are these: */
    struct hf_bytes zone, payment, show, code, trace;
    int64_t quantity, unit_price, max, created_ms;
    const char *notice; /* or NULL */
    int64_t deadline_ms;
    int64_t left;
    int64_t had;     /* what the user has bought of the product */
    uint64_t number; /* of the transaction that decided it */
    uint32_t total;  /* of its counter, in the scratch */
};

struct ledger_batch {
    struct list node; /* of `running`, `finished` or `spare` */
    unsigned writer;
    bool copied; /* its sales are not looked at by the writer any more */
    size_t count;
    struct ledger_entry *entries;
    struct ledger_detail *details; /* beside the entries */
    char *texts;
};

/* The counter of a product or a zone in a transaction. */
struct ledger_total {
    enum ledger_kind kind;
    struct hf_bytes scope, zone;
    int64_t sum;  /* sold in this transaction */
    int64_t left; /* what the database has of it */
    size_t rows;  /* in the database: 1 */
};

/* What a writer puts a transaction together in; made once. */
struct ledger_scratch {
    struct ledger_entry **span;   /* the entries that are being carried out */
    struct ledger_entry **looked; /* those that a query's rows of values are of */
    struct sql_value *values;
    size_t value_count, value_max;
    struct ledger_total *totals;
    uint32_t *sorted; /* the totals in the order of their names */
    size_t total_count;
    uint32_t *slots; /* a hash table */
    uint32_t slot_mask;
    struct memory memory;
    struct buffer notices; /* texts of notices; has room for those of a whole batch */
};

/* ---- writers --------------------------------------------------------------------------------- */

enum ledger_link {
    LEDGER_LINK_NEW,  /* never tried yet */
    LEDGER_LINK_UP,   /* connected, or being connected for the first time since it was */
    LEDGER_LINK_DOWN, /* the last attempt to connect has failed */
};

struct ledger_writer {
    struct ledger *ledger;
    unsigned index;
    pthread_t thread;
    bool started;
    struct sql_connection *connection; /* or NULL */
    int64_t epoch;
    /* As the database had it when it was connected last. */
    bool known;           /* there was a row of it */
    int64_t committed;    /* the number of its last transaction */
    unsigned failures;    /* attempts to connect in a row */
    struct random random; /* of ids and pauses */
    struct sql_outcome outcome;
    struct ledger_scratch scratch;
    /* Under the ledger's lock: */
    enum ledger_link link;
    int64_t id; /* in the database; 0: none yet */
    struct ledger_tally tally;
    uint64_t marked; /* what a job has noted in the database as told */
};

struct ledger {
    const struct sql_driver *driver;
    char *url;
    char name[256];
    int64_t timeout_ms;
    size_t batch_max;
    struct log log;
    void (*wake)(void *context);
    void *wake_context;
    void (*late)(void *context, const struct ledger_sale *sale);
    void *late_context;
    struct ledger_statements statements;
    struct ledger_writer *writers;
    unsigned writer_count;

    pthread_mutex_t lock;
    pthread_cond_t work;               /* for idle writers */
    pthread_cond_t pauses;             /* for those that try again later */
    struct list waiting, waiting_jobs; /* submitted */
    size_t waiting_count;
    int64_t waiting_since_ms; /* the first of them */
    struct list running;      /* batches */
    struct list finished, finished_jobs;
    struct list refused; /* sales answered without a batch */
    struct list spare;   /* batches not in use */
    unsigned idle;       /* writers that wait for work */
    unsigned busy;       /* writers that carry out a batch */
    bool closing;
    struct ledger_figures figures;
    char reasons[8][MESSAGE_SIZE]; /* in turn: a reader may still look at an older one */
    unsigned reason;
    _Atomic(const char *) unready; /* NULL: somebody is connected */

    int64_t earliest_ms; /* the caller's thread: no deadline of a sale or job is before it */
    struct ledger_batch *batches;
    size_t batch_count;
};

/* As ledger_open() with a driver of the caller's: for tests. */
enum hf_error ledger_open_with_driver(const struct ledger_options *options,
                                      const struct sql_driver *driver, struct ledger **ledger,
                                      struct problem *problem);

#endif
