/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: the SQL database that has the last word about what is sold. Threads of its own, each
 * with one connection (a writer), carry out what is submitted; answers are given by ledger_turn()
 * on the caller's thread. All functions are called by one thread at a time, if not said otherwise.
 *
 * Sales travel together. While a writer commits one batch, the next one collects:
 *
 *     1. UPDATE writers …              fences this writer, and marks batches that the engine knows
 *     2. INSERT the rows of all sales
 *     3. UPDATE each counter once, in the order of their names, by the sum, if it suffices
 *     4. COMMIT
 *
 * If that does not fit, it is rolled back and done again with care: ids that are there already are
 * looked up, counters are locked and read, and as many sales are carried out as fit, in the order
 * of arrival. A row that the database refuses is found by halving; the others are carried out.
 *
 * In flight. Every row has the writer and the number of the batch that changed it last. A writer's
 * row in `writers` has the number up to which the engine was told of all batches. So what the
 * ledger has and the engine may not have yet can be read off the ledger, whichever server it is in
 * flight on: the rows of batches behind that number. */
#ifndef LEDGER_LEDGER_H
#define LEDGER_LEDGER_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/log.h"
#include "base/problem.h"
#include "base/trace.h"
#include "ledger/saga.h"

struct ledger;
struct ledger_sale;

struct ledger_options {
    const char *url;
    /* "shop.items(sku, on_hand)": a table that is there already, in place of `inventory`; or
     * NULL. */
    const char *inventory;
    unsigned connections; /* 0: LEDGER_CONNECTIONS_DEFAULT; SQLite has one */
    int64_t timeout_ms;   /* of each transaction; 0: LEDGER_TIMEOUT_DEFAULT_MS */
    size_t batch_max;     /* sales in a batch; 0: LEDGER_BATCH_DEFAULT */
    struct log log;
    /* ledger_turn() has something to do. Called from another thread. */
    void (*wake)(void *context);
    void *wake_context;
    /* A sale that was answered LEDGER_UNKNOWN, when its outcome is known: called once, in
     * ledger_turn(), with a copy that is valid during the call and has no context. LEDGER_DONE: it
     * was carried out; the engine is to be told of it, then ledger_told() to be called, as after
     * any such answer. LEDGER_AWAY: it was not, and will not be, for whatever
     * reason; the same sale may have been submitted again meanwhile. It is not called if the id was
     * found to be there already, nor if other servers have taken this one for dead: then they have
     * told the engine. NULL: nobody will tell the engine, what was
     * carried out is for reconciliation to find. */
    void (*late)(void *context, const struct ledger_sale *sale);
    void *late_context;
};

/* Checks the options without I/O. INVALID_ARGUMENT. */
enum hf_error ledger_check(const struct ledger_options *options, struct problem *problem);

/* Connects, brings the schema up to date, and starts the writers. INVALID_ARGUMENT for an unusable
 * URL; INVALID_STATE for a database that is newer than this program, or whose inventory table is
 * not as the options say. A database that cannot be reached is no failure: the writers go on
 * trying, and until then all is answered LEDGER_AWAY. */
enum hf_error ledger_open(const struct ledger_options *options, struct ledger **ledger,
                          struct problem *problem);

/* Ends the writers when they are done with what they have begun, and forgets them in the database
 * if nothing is in flight. What was submitted and not answered is never answered. */
void ledger_close(struct ledger *ledger);

/* Where it is, with no secret in it. */
const char *ledger_name(const struct ledger *ledger);

/* Gives the answers that are there: done() is called from here and nowhere else. */
void ledger_turn(struct ledger *ledger);
/* How long until ledger_turn() has something to do: 0 is now, -1 when wake() says so. */
int64_t ledger_idle_ms(struct ledger *ledger);

/* Is there a connection? If not, why; NULL while all is well. From any thread. */
const char *ledger_unready(struct ledger *ledger);

struct ledger_figures {
    uint64_t batches, sales, careful, /* batches that had to be done with care */
        retries, reconnects, unknown; /* COMMITs whose outcome had to be looked up */
    unsigned connected, writers;
    uint64_t pending; /* sales submitted and not answered */
};
void ledger_figures(struct ledger *ledger, struct ledger_figures *figures);

/* ---- notices --------------------------------------------------------------------------------- */

/* What the receiver of webhooks is to be told: it becomes a row of `outbox` in the transaction of
 * the change that it tells of, so that there are both or neither. Whoever changes something adds a
 * notice to its sale or job; src/service/webhooks.c delivers them. Those of one scope and id are
 * delivered in the order in which they were committed, so the next is to be submitted when the one
 * before was answered. A sale or job that changes nothing leaves no row. */
#define LEDGER_NOTICE_MAX 4096
#define LEDGER_NOTICE_TYPE_SIZE 64
struct ledger_notice {
    const char *type;          /* "booking.cancelled", a constant; NULL: nothing is to be told */
    struct hf_bytes scope, id; /* event and booking, product and order; empty: the job's */
    struct hf_bytes data;      /* a JSON object; empty: made of the row that the job changes */
    struct hf_bytes trace;     /* the traceparent of the request that it comes from, or empty */
};

/* An order or booking as it is told. What is empty is left out. */
struct ledger_noticed {
    bool order; /* or else a booking */
    struct hf_bytes scope, id, user, zone, payment;
    struct hf_bytes show;
    int64_t quantity, unit_price;
    const char *status;
    int64_t created_ms; /* of a hold, by the engine; 0: left out */
    /* The traceparent of the request that it comes from. It stands last, and is not sent as a part
     * of the message: ledger_notice_take_trace(). */
    struct hf_bytes trace;
};
/* Appends it as a JSON object of at most LEDGER_NOTICED_MAX bytes. */
#define LEDGER_NOTICED_MAX 2560
void ledger_notice_write(struct buffer *out, const struct ledger_noticed *noticed);
/* Puts a traceparent, a text of TRACE_PARENT_SIZE - 1 bytes, into an object. */
void ledger_notice_put_trace(struct buffer *out, struct hf_bytes trace);
/* Takes it out of an object again: its data becomes shorter. False if there is none. */
bool ledger_notice_take_trace(char *data, size_t *size, struct trace_parent *trace);

/* ---- sales ----------------------------------------------------------------------------------- */

enum ledger_answer {
    LEDGER_DONE,         /* carried out by this call */
    LEDGER_DONE_BEFORE,  /* the id is there with the same arguments, and still stands */
    LEDGER_ENDED_BEFORE, /* … and was returned, refunded or cancelled since */
    LEDGER_DIFFERS,      /* the id is there with other arguments: `found` has them */
    LEDGER_SOLD_OUT,     /* `left` is too little */
    LEDGER_OVER_LIMIT, /* with what the user has it would be more than max: `left` is what he has */
    LEDGER_NOT_FOUND,  /* no such product, zone, order or booking */
    LEDGER_REFUSED,    /* the database refuses the row: `problem` says why */
    LEDGER_AWAY,       /* certainly not carried out: the database is away or too slow */
    LEDGER_UNKNOWN,    /* may have been carried out: the same again tells */
};

enum ledger_kind {
    LEDGER_ORDER,   /* of a product: a row of `orders`, the counter in the inventory */
    LEDGER_BOOKING, /* confirmed, of an event: a row of `bookings`, the counter in `zones` */
};

/* A row of orders or bookings. Times are the database's, in ms since 1970. */
struct ledger_row {
    char user[HF_ID_MAX + 1], zone[HF_ID_MAX + 1], payment[HF_ID_MAX + 1];
    char status[16], code[16]; /* code: of a confirmed booking */
    int64_t quantity, unit_price;
    int64_t made_at_ms, ended_at_ms; /* sold or confirmed; returned or refunded, or 0 */
    bool told;                       /* its batch is marked: the engine was told of it */
    bool counted; /* in its counter; not so a booking that was confirmed past the ledger */
};

/* Owned by the caller, who keeps it and its texts until done() was called. */
struct ledger_sale {
    struct list node; /* the ledger's */
    enum ledger_kind kind;
    struct hf_bytes scope, id, user; /* product and order; event and booking */
    struct hf_bytes zone, payment;   /* of a booking; payment may be empty */
    struct hf_bytes show, code;      /* of a booking; each may be empty */
    int64_t created_ms;              /* of a booking: when the engine made the hold */
    int64_t quantity, unit_price;
    int64_t max;        /* of a product per user; 0: none. Checked against the rows of the ledger */
    const char *notice; /* the type of its notice, a constant, whose data is the row; NULL: none */
    struct hf_bytes trace; /* of the notice, or empty */
    /* Not carried out before the deadline, and not begun: it is answered LEDGER_AWAY. Begun and not
     * known: LEDGER_UNKNOWN. */
    int64_t deadline_ms; /* of sql_now_ms() */
    void (*done)(struct ledger_sale *sale, void *context);
    void *context;

    enum ledger_answer answer;
    int64_t left;
    struct ledger_row found; /* with LEDGER_DONE_BEFORE, LEDGER_ENDED_BEFORE, LEDGER_DIFFERS */
    struct problem problem;  /* with LEDGER_REFUSED, LEDGER_AWAY, LEDGER_UNKNOWN */
    uint64_t batch;          /* of ledger_told() */
    unsigned writer;
};

/* Carries out a sale: its row, and the counter less its quantity. */
void ledger_sell(struct ledger *ledger, struct ledger_sale *sale);

/* The engine knows a sale that was answered LEDGER_DONE, or never will: nothing of it is in flight
 * any more. Must be called once for each such answer. */
void ledger_told(struct ledger *ledger, unsigned writer, uint64_t batch);

/* ---- all else: one job, one transaction ------------------------------------------------------ */

enum ledger_task {
    LEDGER_TASK_FIND,   /* the row of an order or a booking */
    LEDGER_TASK_END,    /* returns an order, refunds a booking: row and counter, once */
    LEDGER_TASK_CANCEL, /* an order that never was: a row that keeps a late sale out */
    LEDGER_TASK_STOCK,  /* adds `delta` to a product's stock; `create`: makes the row if need be */
    LEDGER_TASK_ZONE,   /* sets a zone's capacity to `delta`; LEDGER_SOLD_OUT if more is sold */
    LEDGER_TASK_READ,   /* marks, then reads counters of products or zones with what is in flight */
    LEDGER_TASK_MARK,   /* marks what this process' writers know as told, and that they live */
    LEDGER_TASK_STALE,  /* rows in flight of writers that are dead, in pages. The first page fences
                            those not seen for `delta` ms (0: LEDGER_DEAD_AFTER_MS) */
    LEDGER_TASK_BURY,   /* forgets the writers that STALE has fenced: the engine knows their rows */
    LEDGER_TASK_LEASE,  /* takes or renews a lease for `delta` ms; LEDGER_SOLD_OUT: another's */
    LEDGER_TASK_UNLEASE, /* gives it back */
    LEDGER_TASK_DRIFT,   /* writes a correction down */
    LEDGER_TASK_AUDIT,   /* totals of the ledger itself that do not agree: a finding each */
    /* Of the outbox, with job->outbox: */
    LEDGER_TASK_NOTE,   /* writes job->notice, of a change that is no row of the ledger */
    LEDGER_TASK_DUE,    /* a page of notices that are due, and how much is pending */
    LEDGER_TASK_SETTLE, /* what became of deliveries */
    LEDGER_TASK_REPLAY, /* makes a page of notices that have ended pending again */
    LEDGER_TASK_SWEEP,  /* removes a page of those that ended long ago */
    /* sagas: saga.h */
    LEDGER_TASK_SAGA_MOVE,  /* all of `moves`, or none: LEDGER_REFUSED if one does not fit */
    LEDGER_TASK_SAGA_FIND,  /* by its id; with a scope, by event and booking */
    LEDGER_TASK_SAGA_CLAIM, /* those whose lease has ended become `id`'s for `delta` ms: so many of
                               `sagas` are filled in as `count` says, and `left` becomes how many.
                               `woken` is called for those of `id`'s that a WAKE has marked, which
                               are due now if they have been parked since */
    LEDGER_TASK_SAGA_WAKE,  /* the saga of the payment `id` is due now if nobody drives it, and is
                               marked for its owner if somebody does.
                               LEDGER_DONE_BEFORE: the message `user` has come in `scope` before;
                               `zone` is a scope whose messages are forgotten */
    LEDGER_TASK_SAGA_LIST,  /* a page of at most `delta` rows behind the id in `after`; with an id,
                               of those in that state alone */
    LEDGER_TASK_HOLDS,      /* writes rows of bookings that are not sold, behind the engine */
    LEDGER_TASK_LAPSED,     /* rows of holds past their deadline, at most LEDGER_HOLDS_MAX */
    LEDGER_TASK_LIST, /* rows of bookings of an event, or of a user, in the order of their ids */
    LEDGER_TASK_COUNT
};

/* What is read of one counter, in one look at the database. */
struct ledger_counter {
    bool found;
    int64_t left;    /* stock; capacity - sold of a zone */
    int64_t size;    /* capacity of a zone */
    int64_t selling; /* sold in batches that the engine may not know yet */
    int64_t ending;  /* returned in such batches */
    int64_t ended;   /* of a zone: seats that were ever refunded; it only grows */
};

/* A row of a page. The texts are valid during the call. */
struct ledger_item {
    struct hf_bytes scope, id, user;
    struct hf_bytes payment, code; /* of a booking */
    int64_t quantity, at_ms;
    bool ended; /* it is the return that is in flight, not the sale */
};

/* ---- the outbox: outbox.h has its rules ------------------------------------------------------ */

enum ledger_event_state { LEDGER_EVENT_PENDING, LEDGER_EVENT_DELIVERED, LEDGER_EVENT_GIVEN_UP };

/* A notice that is due. */
struct ledger_event {
    int64_t id, attempts, created_ms;
    int64_t age_ms; /* since it was written, or made pending again */
    /* An earlier one of its subject is pending, and due in so many ms (0: now); -1: none is. */
    int64_t behind_ms;
    char scope[HF_ID_MAX + 1], subject[HF_ID_MAX + 1], type[LEDGER_NOTICE_TYPE_SIZE];
    size_t data_size;
    char data[LEDGER_NOTICE_MAX];
};

/* What became of one. */
struct ledger_settled {
    int64_t id;
    enum ledger_event_state state;
    int64_t attempts;
    int64_t due_ms; /* from now: when it is tried again */
};

struct ledger_outbox {
    /* By how much the caller's clock is ahead of the database's: 0, but in tests. */
    int64_t ahead_ms;
    /* Whom it is about, in `barriers`. DUE: `ended` becomes whether it wants nothing more; SETTLE
     * with `ends` notes that it does not, REPLAY that it does again. Empty: nobody. */
    struct hf_bytes receiver;
    bool ends, ended;
    /* DUE: up to `max`, at most LEDGER_DUE_PAGE, the one that has waited longest first. */
    struct ledger_event *events;
    size_t max, count;
    int64_t pending, oldest_ms; /* at most LEDGER_PENDING_MAX are counted; 0 if there is none */
    /* SETTLE */
    const struct ledger_settled *settled;
    size_t settled_count;
    /* REPLAY: what was given up; with `delivered` also what was delivered. Empty is any. */
    int64_t since_ms;
    struct hf_bytes type, subject;
    bool delivered;
    /* SWEEP: how long those that were delivered, and given up, are kept. */
    int64_t keep_delivered_ms, keep_given_up_ms;
    /* REPLAY: where the page begins, and the next one would. SWEEP, too: how many it has changed,
     * and whether there may be another page. */
    int64_t after, next, changed;
    bool more;
};
#define LEDGER_PENDING_MAX 100000
#define LEDGER_DUE_PAGE 128

/* A booking in whatever state: what a HOLDS writes, and what LAPSED and LIST show. Times are 0
 * where there is none. The texts of one that is shown are valid during the call. */
struct ledger_booking {
    struct hf_bytes event, booking, zone, user, show;
    struct hf_bytes status;        /* HOLDS: reserved, cancelled, expired; empty: forget the row */
    struct hf_bytes payment, code; /* shown: of one that was confirmed */
    struct hf_bytes trace;         /* HOLDS: of its notice, or empty */
    int64_t quantity, unit_price;
    int64_t created_ms, expires_ms, confirmed_ms, ended_ms;
};

#define LEDGER_HOLDS_MAX 256

/* Owned by the caller, who keeps it and its texts until done() was called. */
struct ledger_job {
    struct list node; /* the ledger's */
    enum ledger_task task;
    enum ledger_kind kind;
    struct hf_bytes scope, id; /* product and order, event and booking; LEASE: name and owner */
    struct hf_bytes zone, user;
    int64_t delta, quantity;
    bool create;
    /* READ: so many scopes (and zones) and where their counters go. */
    const struct hf_bytes *scopes, *zones;
    struct ledger_counter *counters;
    size_t count;
    /* STALE, AUDIT: called on the ledger's thread for each row, again if the transaction has to be
     * repeated; `after` is where the page begins and, when it is done, where the next one would;
     * more: there may be one. */
    void (*each)(void *context, const struct ledger_item *item);
    void (*finding)(void *context, const char *finding);
    char after[HF_ID_MAX + 1];
    bool more;
    /* HOLDS: so many as `count` says, no booking twice. A row is only moved on: a hold that is
     * written late does not undo its end, and nothing undoes a sale. */
    const struct ledger_booking *holds;
    /* LAPSED, LIST: called on the ledger's thread for each row; with NULL when it begins, again if
     * the transaction has to be repeated. LIST: of the event `scope` behind the id in `after`; or,
     * with `user`, of that user behind the event in `after_event` and that id: `delta` rows at
     * most. */
    void (*booking)(void *context, const struct ledger_booking *booking);
    char after_event[HF_ID_MAX + 1];
    /* DRIFT: before, after, in flight; `id` is the cause. */
    int64_t before, now, in_flight;
    /* END, NOTE. HOLDS: with a type, whichever, each hold is told as booking.reserved, cancelled or
     * expired, once, if that is what the row says then. */
    struct ledger_notice notice;
    struct ledger_outbox *outbox; /* DUE, SETTLE, REPLAY, SWEEP */
    /* SAGA_*: what is moved; what was found, or room for what is claimed. */
    struct ledger_move *const *moves;
    struct ledger_saga *sagas;
    /* SAGA_CLAIM: called on the ledger's thread for each id; with NULL when it begins, again if the
     * transaction has to be repeated. */
    void (*woken)(void *context, const char *saga);
    /* SAGA_LIST: called on the ledger's thread for each row; with NULL when it begins, again if the
     * transaction has to be repeated. `after` and `more` as with STALE. */
    void (*saga)(void *context, const struct ledger_saga *saga);

    int64_t deadline_ms;
    void (*done)(struct ledger_job *job, void *context);
    void *context;

    enum ledger_answer answer;
    struct ledger_row found; /* FIND, END */
    /* STOCK, ZONE, END: what is left to sell after it; LEASE refused: for how many ms it is
     * another's, whose name is in found.user. */
    int64_t left;
    int64_t fence;  /* LEASE */
    uint64_t batch; /* END answered LEDGER_DONE: for ledger_told() */
    unsigned writer;
    struct problem problem;
};

void ledger_submit(struct ledger *ledger, struct ledger_job *job);

#endif
