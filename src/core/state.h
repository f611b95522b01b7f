/* SPDX-License-Identifier: Apache-2.0
 *
 * The records that the state is made of, one section a family, and the functions that the families
 * share. Only the files of core/ and their tests include this. */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include "core/core.h"
#include "core/line.h"
#include "core/store.h"

/* No time or deadline of a record is past this: a sum of two never overflows. */
#define TIME_MAX_MS ((int64_t)1 << 47)
_Static_assert(CLOCK_MAX_MS <= TIME_MAX_MS / 2, "deadlines of any clock's time are within bounds");

/* Kinds of records. A record's scope is a record of its parent kind, which comes before it in this
 * list. Snapshots have the kinds by these numbers, and the states of records below by theirs: a new
 * one goes to the end, and if records of an older kind refer to it, core_kind_in_turn() moves it
 * before them. */
enum kind {
    CORE_EVENTS = 0,
    CORE_ZONES = 1,
    CORE_SEAT_USERS = 2,
    CORE_SHOWS = 3,
    CORE_BOOKINGS = 4,
    CORE_TENANTS = 5,
    CORE_QUOTA_HOLDS = 6,
    CORE_SEMAPHORES = 7,
    CORE_SEM_CLIENTS = 8,
    CORE_LOCKS = 9,
    CORE_PRODUCTS = 10,
    CORE_ORDERS = 11,
    CORE_ROOMS = 12,
    CORE_ROOM_ENTRIES = 13,
    CORE_ROOM_PASSES = 14,
    CORE_IDEM_KEYS = 15,
    CORE_STOCK_USERS = 16, /* in every walk it comes before CORE_ORDERS: core_kind_in_turn() */
    CORE_ROOM_NOTES = 17,
    CORE_KIND_COUNT,
    CORE_NO_KIND = CORE_KIND_COUNT
};

/* ---- seats ----------------------------------------------------------------------------------- */

/* A zone has up to HF_INTEGER_MAX seats, and the zones of an event are many: all of them together
 * are whole * (HF_INTEGER_MAX + 1) + rest. */
struct seats_sum {
    int64_t whole, rest;
};

struct seat_event {
    struct record record;
    struct timer timer;      /* at or before the first deadline of its bookings */
    struct agenda deadlines; /* the deadlines of its bookings */
    struct roster zones, bookings;
    struct seats_sum reserved, confirmed; /* seats, of all its zones */
    uint32_t roster_place;
    uint32_t spare;
};

struct zone {
    struct record record;
    int64_t capacity, reserved, confirmed; /* the rest is available */
    int64_t max;                           /* the zone's own limit per user; 0: none */
    uint32_t roster_place;
    uint32_t spare;
};
enum zone_flag { ZONE_LIFETIME = 1 }; /* confirmed seats count against max */

struct seat_user {
    struct record record;
    int64_t held;      /* seats reserved, or lapsed less than the grace ago */
    int64_t confirmed; /* seats confirmed and not refunded */
    int64_t lifetime;  /* confirmed seats that count against the limit for good */
    uint32_t bookings; /* records that name this user */
    uint32_t spare;
};

struct show {
    struct record record;
    uint32_t bookings; /* records that name this show */
    uint32_t spare;
};

/*                    reserve
 *                       |
 *      confirm          v           deadline
 *   CONFIRMED <----- RESERVED -----------------> LAPSED   (hidden; only the user's count is left)
 *       |               |                           |
 *       | refund        | release                   | grace over
 *       v               v       retry window over   v
 *   REFUNDED        RELEASED -------------------> gone
 *       |                                           ^
 *       '-------------------------------------------'
 */
enum booking_state {
    BOOKING_RESERVED = 0,
    BOOKING_CONFIRMED = 1,
    BOOKING_RELEASED = 2,
    BOOKING_LAPSED = 3,
    BOOKING_REFUNDED = 4
};
enum booking_flag { BOOKING_LIFETIME = 1 };

struct booking {
    struct record record;
    struct timer timer;
    uint32_t user, zone;
    uint32_t show;   /* the index of its show, or NONE */
    uint32_t sale;   /* index in core->sales once confirmed, or NONE */
    uint32_t ttl_ms; /* of the RESERVE, which a retry has to repeat */
    uint32_t roster_place;
    int64_t quantity, unit_price, created_ms;
};

_Static_assert(sizeof(struct booking) == 88, "with its index entry a hold stays under 128 bytes");

struct sale {
    int64_t confirmed_ms;
    uint64_t code;       /* ten base-32 digits */
    struct name payment; /* empty if none was given */
};

/* ---- quota ----------------------------------------------------------------------------------- */

struct tenant {
    struct record record;
    struct timer timer;      /* at or before the first deadline of its holds */
    struct agenda deadlines; /* the deadlines of its holds */
    int64_t limit, committed, held;
    uint32_t holds; /* records that name this tenant */
    uint32_t roster_place;
    struct roster open_holds;
    uint32_t commits; /* 1 + the index of its struct quota_commits in core->commits; 0: none */
    uint32_t spare;
};

enum hold_state { HOLD_OPEN = 0, HOLD_COMMITTED = 1, HOLD_CANCELLED = 2 };

enum hold_flag { HOLD_EXTENDED = 1 };

struct quota_hold {
    struct record record;
    struct timer timer;
    int64_t amount, ttl_ms;
    int64_t started_ms; /* of one that was extended; of others the deadline tells */
    int64_t used;       /* of one that is committed: what became usage of it */
    uint32_t roster_place;
    uint32_t spare;
};

/* ---- semaphore ------------------------------------------------------------------------------- */

struct semaphore {
    struct record record;
    int64_t max;          /* the limit of the last command that named one */
    int64_t in_use;       /* the slots of all holders */
    uint32_t left, right; /* children in the leftist heap of touched semaphores; see sem_settle() */
    uint8_t rank;         /* shortest way down in that heap to where a child is missing */
    bool touched;         /* is in that heap: lost a client, or has slots to hand out */
    bool slot_freed;      /* a touched one: has slots to hand out */
    struct line line;     /* the waiters */
    struct roster clients;
    uint32_t roster_place;
    uint32_t spare;
};

enum client_state { CLIENT_WAITING = 0, CLIENT_HOLDING = 1 };

struct sem_client {
    struct record record;
    struct timer timer;
    int64_t heartbeat_ms, ttl_ms;
    int64_t since_ms; /* when a holder got its slots, or a waiter joined the line; 0: unknown */
    int64_t fence;    /* of a holder */
    int64_t alive_until_ms; /* of a holder, or a waiter without a ticket, unless it pings */
    uint64_t ticket;        /* of the call that a waiter is blocked in, or 0 */
    int64_t wait_until_ms;  /* when that call times out */
    uint32_t place;         /* of a waiter, in the semaphore's line */
    uint32_t roster_place;
    uint32_t slots; /* that it holds, or waits for */
    uint32_t spare;
};

/* ---- lock ------------------------------------------------------------------------------------ */

struct lock {
    struct record record; /* named by the resource */
    struct timer timer;
    struct name id; /* of the holder */
    int64_t fence;
    uint32_t roster_place;
    uint32_t spare;
};

/* ---- stock ----------------------------------------------------------------------------------- */

struct core_product {
    struct record record;
    struct timer timer;        /* at or before the first deadline of its orders */
    struct agenda deadlines;   /* the deadlines of its orders */
    int64_t loaded;            /* by the last LOAD */
    int64_t adjusted;          /* by all ADJUSTs, ever */
    int64_t taken, sold;       /* by open orders; by settled ones */
    int64_t shards, watermark; /* of the last LOAD: answered, but without effect in one process */
    struct roster orders;      /* those that are taken */
    uint32_t roster_place;
    uint32_t spare;
};
enum product_flag { PRODUCT_STEAL = 1 };

/* What one user has of a product. */
struct stock_user {
    struct record record;
    int64_t taken, sold; /* by open orders; by settled ones, ever */
    uint32_t orders;     /* records that name this user */
    uint32_t spare;
};

enum order_state { ORDER_TAKEN = 0, ORDER_SETTLED = 1, ORDER_GIVEN = 2 };

struct order {
    struct record record;
    struct timer timer;
    int64_t quantity;
    int64_t ttl_ms; /* of the TAKE, which a retry has to repeat */
    int64_t started_ms;
    uint32_t user; /* the index of its stock_user */
    uint32_t roster_place;
};

/* ---- waiting room ---------------------------------------------------------------------------- */

#define TOKEN_BYTES 16

enum room_flag {
    ROOM_RANDOM = 1, /* ORDER random: those who come before START get their places by lot */
    ROOM_PAUSED = 2,
    ROOM_GATE = 4,     /* SEATS.RESERVE needs a pass */
    ROOM_SHUFFLED = 8, /* the whole line is in an order drawn by lot */
};

struct room {
    struct record record;
    struct timer timer; /* at or before the first deadline of its entries, passes and notes */
    struct agenda entry_deadlines, pass_deadlines, note_deadlines;
    struct line line; /* the entries */
    uint32_t passes;  /* pass records that name this room */
    uint32_t roster_place;
    uint32_t notes; /* note records that name this room */
    uint32_t spare;
    int64_t rate, inside_max; /* 0: unlimited */
    int64_t start_ms;         /* 0: none */
    int64_t pass_ms;          /* how long a pass is valid; 0: ROOM_PASS_DEFAULT_MS */
    int64_t allowance;        /* thousandths of users that RATE allowed at that time */
    int64_t allowance_ms;
    int64_t admitted; /* while the room had settings */
};

struct room_entry {
    struct record record; /* named by the user */
    struct timer timer;
    uint8_t token[TOKEN_BYTES];
    uint32_t place; /* in the room's line */
    uint32_t spare;
};

struct room_pass {
    struct record record; /* named by the user */
    struct timer timer;
    uint8_t token[TOKEN_BYTES];
    uint8_t entry_token[TOKEN_BYTES]; /* the entry's, which the user was told by ROOM.JOIN */
    uint32_t ttl_ms; /* 0: of a former version, which kept neither this nor the entry's token */
    uint32_t note;   /* of the ADMIT with an id that gave it; or NONE */
    uint32_t note_next, note_previous; /* of the same note; or NONE */
};

/* Of a ROOM.ADMIT with an id: room_note.c. */
struct room_note {
    struct record record; /* named by the id */
    struct timer timer;   /* the end of the retry window */
    int64_t count;
    int64_t pass_ms;      /* 0: not given */
    uint32_t first, last; /* the passes that it gave and that are left; or NONE */
    uint32_t passes;      /* how many they are */
    uint32_t spare;
};

/* ---- idempotency ----------------------------------------------------------------------------- */

enum idem_state { IDEM_PROCESSING = 0, IDEM_COMPLETED = 1 };

struct idem {
    struct record record;
    struct timer timer;
    struct name fingerprint;
    char *response; /* of a completed key, owned; NULL if it is empty */
    uint64_t response_size;
    uint32_t roster_place;
    uint32_t spare;
};

/* ---- all of it ------------------------------------------------------------------------------- */

struct core {
    struct memory *memory;
    size_t memory_max; /* with more in use, new records are refused; 0: no limit of our own */
    uint64_t hash_key[2];
    int64_t latest_ms;    /* the time that was reached; never runs backwards */
    int64_t now_ms;       /* latest_ms, or the deadline of the record that is being expired */
    int64_t next_due_ms;  /* no record falls due before */
    int64_t changed_ms;   /* when a record fell due last */
    int64_t fence;        /* the last fence handed out */
    uint64_t ticket;      /* the last ticket handed out */
    uint64_t expired;     /* holds that fell due, for the figures */
    struct clock_run run; /* what the next run's clock goes on from */

    struct store stores[CORE_KIND_COUNT];
    struct slab sales;
    struct slab commits; /* quota_commits.h */
    uint32_t lapsed;     /* bookings in state BOOKING_LAPSED */
    uint32_t holders;    /* of slots, of all semaphores */
    uint32_t in_line;    /* waiters of all semaphores */
    uint32_t gates;      /* rooms with a gate */
    uint32_t processing; /* keys of requests that have no answer yet */
    size_t answer_bytes; /* answers of requests */

    uint32_t leaving[CORE_KIND_COUNT]; /* the first closed scope of a kind, or NONE: leaving.c */
    uint32_t leaving_count[CORE_KIND_COUNT];
    uint32_t leaving_total;
    uint32_t leaving_swept;            /* how many of a kind were closed before the sweep began */
    enum kind leaving_kind;            /* which kind */
    uint32_t leaving_pass, leaving_at; /* how far the sweep is: which children, which index */

    uint32_t touched;       /* top of the heap of touched semaphores, or NONE; see sem_settle() */
    int64_t touched_ms;     /* the time at which all of them were touched */
    uint32_t waiting_calls; /* tickets not yet answered */
    struct wakeup *wakeups; /* has room for the answers to all waiting_calls at any time */
    size_t wakeup_count, wakeup_capacity;

    struct event *events; /* a ring of EVENTS_MAX; NULL while nobody collects them */
    size_t event_first, event_count;
};

/* ---- what the files of core/ share ----------------------------------------------------------- */

/* Kind number n in the order in which every record stands behind those it names: their numbers, but
 * for the users of stock, which are younger than the orders that name them. */
static inline enum kind core_kind_in_turn(unsigned n)
{
    return n < CORE_ORDERS || n > CORE_STOCK_USERS ? (enum kind)n
           : n == CORE_ORDERS                      ? CORE_STOCK_USERS
                                                   : (enum kind)(n - 1);
}

/* The record of a kind. */
static inline void *core_at(const struct core *core, enum kind kind, uint32_t index)
{
    return store_at(&core->stores[kind], index);
}

static inline struct key core_key(const struct core *core, enum kind kind, uint32_t scope,
                                  struct hf_bytes id)
{
    struct key key;

    store_key_read(&core->stores[kind], scope, id, &key);
    return key;
}

static inline uint32_t core_find_key(const struct core *core, enum kind kind, const struct key *key)
{
    return store_find(&core->stores[kind], key);
}

static inline uint32_t core_find(const struct core *core, enum kind kind, uint32_t scope,
                                 struct hf_bytes id)
{
    struct key key = core_key(core, kind, scope, id);
    return core_find_key(core, kind, &key);
}

/* core_find() for kinds of which most commands name the same record: the last one found is tried
 * first. */
static inline __attribute__((always_inline)) uint32_t
core_find_recent(struct core *core, enum kind kind, uint32_t scope, struct hf_bytes id)
{
    struct name name = name_view(id);

    return store_find_recent(&core->stores[kind], scope, &name);
}

/* The hold under a key, or NONE. A hold that is due, or whose retry window is over, is removed and
 * not found. A tenant may be gone with the last of its holds. */
uint32_t core_find_hold(struct core *core, enum kind kind, const struct key *key);

/* Finds the scope that a command is about, all of whose holds that are due have expired; or NONE.
 */
uint32_t core_enter(struct core *core, enum kind kind, struct hf_bytes id);

/* Expires up to `budget` of what is due in a scope; true if no more is. */
bool core_ready_in(struct core *core, enum kind kind, struct hf_bytes id, int64_t budget);

/* Expires all that is due of any semaphore, and hands the freed slots on. Every command that hands
 * out fences begins with this: they come from one counter, so their order must be that of time. */
void core_enter_semaphores(struct core *core);

/* A fence, greater than every one before it. */
static inline int64_t core_next_fence(struct core *core)
{
    return ++core->fence;
}

/* A new record; NONE when there is no memory, or more is in use than may be. */
uint32_t core_add(struct core *core, enum kind kind, const struct key *key);

/* The record under (scope, id), made if it is not there; NONE when there is no memory. */
uint32_t core_obtain(struct core *core, enum kind kind, uint32_t scope, struct hf_bytes id);

/* Takes note that a record falls due at this time. */
void core_note_due(struct core *core, int64_t time_ms);

/* Sets a record's deadline, in place of the one it has. */
void core_arm(struct core *core, enum kind kind, uint32_t index, int64_t deadline_ms);
/* An answer has the time in it, so it has to be as durable as a change. */
void core_tell_time(struct core *core);

/* Closes a hold, whose timer is disarmed: its outcome is retained for the retry window. */
void core_close(struct core *core, enum kind kind, uint32_t index);

/* Removes a record of a kind, with all it owns; not a scope that is leaving. */
void core_forget(struct core *core, enum kind kind, uint32_t index);

/* Closes a scope: it is hidden at once with all that belongs to it, which core_leave() frees. Its
 * kind is one that has deadlines in its scopes. The caller has checked that it may go, and uncounts
 * what the totals of the core have of it. */
void core_close_scope(struct core *core, enum kind kind, uint32_t index);

/* Frees about `budget` records that closed scopes left behind; true if none is left. */
bool core_leave(struct core *core, int64_t *budget);

/* Expires all that is due now and frees all that closed scopes left behind: the state as a whole is
 * written, compared or proven only after that. */
void core_settle(struct core *core);

/* Appends an event of a record, if events are collected and there is room. */
void core_emit(struct core *core, enum event_kind kind, enum kind scope_kind,
               const struct record *record, int64_t quantity);

void reply_name(struct reply *reply, const struct name *name);
void reply_hex(struct reply *reply, const uint8_t token[TOKEN_BYTES]);
/* Refuses for want of memory: the system's, or the limit's. */
void reply_busy(const struct core *core, struct reply *reply);
/* May no answer of a request be kept that is larger than what was promised? */
bool core_answers_are_full(const struct core *core);

/* Makes room for one more waiting call's wakeup. */
bool core_reserve_wakeup(struct core *core);
/* Answers the waiting call of a ticket. */
void core_wake(struct core *core, uint64_t ticket, struct wakeup wakeup);

/* The end of a refusal when an id is in use with other arguments. */
#define ANOTHER_ID ": another request needs another id"

/* The function of a command, such as seats_reserve(core, args, entropy, reply). */
#define CORE_COMMAND(function)                                                                     \
    void function(struct core *core, const union command_args *args, const uint8_t *entropy,       \
                  struct reply *reply)

#define X(id, name, reply, memory, scope) CORE_COMMAND(name);
COMMAND_LIST(X)
#undef X

/* A record fell due: called with its timer disarmed and core->now_ms at its deadline. */
typedef void core_record_function(struct core *core, uint32_t index);
core_record_function booking_due, quota_hold_due, sem_client_due, lock_due, order_due,
    room_entry_due, room_pass_due, room_note_due, idem_due;

/* A record is about to be removed: frees what it owns and uncounts it in the records it names. */
core_record_function booking_let_go, tenant_let_go, quota_hold_let_go, semaphore_let_go,
    lock_let_go, order_let_go, room_let_go, room_pass_let_go, room_note_let_go, idem_let_go;

/* Hands slots that became free while time advanced to the first in line, at most as many as there
 * is budget for. True if none is left. */
bool sem_settle(struct core *core, int64_t *budget);

/* When a client falls due, by the fields of its record. */
int64_t sem_client_deadline(const struct sem_client *client);

/* May the user reserve in the event? Refuses unless it has no gate, or the pass is the user's and
 * valid. */
bool room_lets_reserve(struct core *core, const struct hf_seats_reserve_args *args,
                       struct reply *reply);
/* The user has what it came for: its pass ends, if ROOM.OPEN has opened the event's room. */
void room_confirmed(struct core *core, struct hf_bytes event, const struct name *user);

/* core_audit() without a lookup of every record: for a core whose indexes were just built. */
uint64_t core_audit_totals(struct core *core);

/* Frees the rosters of all scopes, whatever is in them: the end of a core. */
void core_free_rosters(struct core *core);

/* ---- lists, page.c --------------------------------------------------------------------------- */

/* Adds all fields of a record to the reply, in the order of the row, or refuses to show it: false,
 * and nothing was added. */
typedef bool core_show(struct core *core, uint32_t index, const void *context, struct reply *reply);

/* What a page is asked for. */
struct page {
    enum command_id command;
    enum kind kind;
    uint32_t scope;        /* the record whose they are, or NONE: then there is nothing to list */
    struct hf_bytes after; /* AFTER and COUNT of the command */
    int64_t count;
    core_show *show;
    const void *context; /* for show() */
    /* Before a record is looked at: false if what is due in it is too much for now; then the page
     * ends before it. NULL: nothing is due in any of them. */
    bool (*ready)(struct core *core, uint32_t index);
};

/* Answers a page of the records of a kind that belong to a scope, or of all where the kind has no
 * parent (scope is 0 then): those that are open, not due, and that show() shows. Looks at
 * PAGE_LOOKS records at most. */
void core_page(struct core *core, const struct page *page, struct reply *reply);

/* A part of a page: from a place of a roster on, before another. */
struct page_walk {
    uint32_t place, end;
    int64_t looks, shown; /* so far */
};
enum page_end {
    PAGE_DONE,      /* the walk is at its end */
    PAGE_MORE,      /* the page is full, or has looked at enough */
    PAGE_NO_MEMORY, /* for the next item */
};
enum page_end core_page_fill(struct core *core, const struct page *page, struct page_walk *walk,
                             struct reply *reply);

/* A cursor is so many places with dots between them. */
bool page_parse_cursor(struct hf_bytes after, size_t count, uint32_t *places);
void page_set_cursor(struct reply *reply, size_t count, const uint32_t *places);
void page_refuse_cursor(struct reply *reply, struct hf_bytes after);

/* What distinguishes a kind: one row each, in core.c. */
struct kind_spec {
    const char *name;
    size_t record_size;
    enum kind parent;
    uint8_t last_state;        /* states count from 0 */
    uint8_t all_flags;         /* every flag that a record can have */
    uint8_t since;             /* the version of snapshots that has them first; 0: all have */
    bool holds;                /* records with a deadline count as live holds */
    core_record_function *due; /* NULL: records of this kind have no deadline */
    size_t agenda_offset;      /* of the agenda of its deadlines in the parent's record; 0: none */
    size_t roster_offset;      /* of the roster of its records in the parent's, if there is one */
    size_t place_offset;       /* of its place in the roster, in its own record; 0: no roster */
    bool loose;                /* records go when time allows: a replay may give other places */
    core_record_function *let_go; /* NULL: owns nothing but its name */
};
extern const struct kind_spec kinds[CORE_KIND_COUNT];

#endif
