/* SPDX-License-Identifier: Apache-2.0
 *
 * What the state is made of. Only the files of core/ see this. */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include "core/core.h"
#include "core/line.h"
#include "core/store.h"

/* Times are kept in 48 bits by the timers. */
#define TIME_MAX_MS ((int64_t)1 << 47)
_Static_assert(CLOCK_MAX_MS <= TIME_MAX_MS / 2, "deadlines of any clock's time are within bounds");

/* Kinds of records. A record's scope is a record of its parent kind, which comes before it.
 * Snapshots have the kinds by these numbers, and the states of records below by theirs: a new one
 * goes to the end. */
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
    CORE_KIND_COUNT,
    CORE_NO_KIND = CORE_KIND_COUNT
};

/* ---- seats ----------------------------------------------------------------------------------- */

struct seat_event {
    struct record record;
    struct timer timer;      /* no deadline of its bookings comes before */
    struct agenda deadlines; /* of its bookings */
};

struct zone {
    struct record record;
    int64_t capacity, reserved, confirmed; /* available is the rest */
};

struct seat_user {
    struct record record;
    int64_t held;      /* reserved, or expired less than the grace ago */
    int64_t confirmed; /* all confirmed seats */
    int64_t lifetime;  /* those of them that go on counting against the limit */
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
 *                       |                           |
 *                       | release                   | grace over
 *                       v       retry window over   v
 *                   RELEASED -------------------> gone
 */
enum booking_state {
    BOOKING_RESERVED = 0,
    BOOKING_CONFIRMED = 1,
    BOOKING_RELEASED = 2,
    BOOKING_LAPSED = 3
};
enum booking_flag { BOOKING_LIFETIME = 1 };

struct booking {
    struct record record;
    struct timer timer;
    uint32_t user, zone;
    uint32_t show;   /* or NONE */
    uint32_t sale;   /* in core->sales once confirmed, or NONE */
    uint32_t ttl_ms; /* the first one */
    uint32_t spare;
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
    struct timer timer;      /* no deadline of its holds comes before */
    struct agenda deadlines; /* of its holds */
    int64_t limit, committed, held;
    uint32_t holds; /* records that name this tenant */
    uint32_t spare;
};

enum hold_state { HOLD_OPEN = 0, HOLD_COMMITTED = 1, HOLD_CANCELLED = 2 };

struct quota_hold {
    struct record record;
    struct timer timer;
    int64_t amount, ttl_ms;
};

/* ---- semaphore ------------------------------------------------------------------------------- */

struct semaphore {
    struct record record;
    int64_t max;
    uint32_t in_use;
    uint32_t left, right; /* in the heap of those that lost a client or have slots to hand out */
    uint8_t rank;         /* there: the shortest way down to where a child is missing */
    bool touched, slot_freed;
    struct line line;
};

enum client_state { CLIENT_WAITING = 0, CLIENT_HOLDING = 1 };

struct sem_client {
    struct record record;
    struct timer timer;
    int64_t heartbeat_ms, ttl_ms;
    int64_t granted_ms, fence; /* of a holder */
    int64_t alive_until_ms;    /* unless it pings; of a holder, or a waiter without a ticket */
    uint64_t ticket;           /* of the call that waits, or 0 */
    int64_t wait_until_ms;     /* of that call */
    uint32_t place;            /* in line */
    uint32_t spare;
};

/* ---- lock ------------------------------------------------------------------------------------ */

struct lock {
    struct record record; /* named by the resource */
    struct timer timer;
    struct name id;
    int64_t fence;
};

/* ---- stock ----------------------------------------------------------------------------------- */

struct core_product {
    struct record record;
    struct timer timer;      /* no deadline of its orders comes before */
    struct agenda deadlines; /* of its orders */
    int64_t loaded;          /* by the last LOAD */
    int64_t adjusted;        /* by all ADJUSTs */
    int64_t taken, sold;
    int64_t shards, watermark;
};
enum product_flag { PRODUCT_STEAL = 1 };

enum order_state { ORDER_TAKEN = 0, ORDER_SETTLED = 1, ORDER_GIVEN = 2 };

struct order {
    struct record record;
    struct timer timer;
    struct name user;
    int64_t quantity, ttl_ms;
};

/* ---- waiting room ---------------------------------------------------------------------------- */

#define TOKEN_BYTES 16

struct room {
    struct record record;
    struct timer timer; /* no deadline of its entries and passes comes before */
    struct agenda entry_deadlines, pass_deadlines;
    struct line line;
    uint32_t passes; /* records that name this room, entries apart */
    uint32_t spare;
};

struct room_entry {
    struct record record; /* named by the user */
    struct timer timer;
    uint8_t token[TOKEN_BYTES];
    uint32_t place;
    uint32_t spare;
};

struct room_pass {
    struct record record; /* named by the user */
    struct timer timer;
    uint8_t token[TOKEN_BYTES];
};

/* ---- idempotency ----------------------------------------------------------------------------- */

enum idem_state { IDEM_PROCESSING = 0, IDEM_COMPLETED = 1 };

struct idem {
    struct record record;
    struct timer timer;
    struct name fingerprint;
    char *response;
    uint64_t response_size;
};

/* ---- all of it ------------------------------------------------------------------------------- */

struct core {
    struct memory *memory;
    size_t memory_max; /* with more in use no new records; 0: whatever the system gives */
    uint64_t hash_key[2];
    int64_t latest_ms;   /* the time that was reached; never runs backwards */
    int64_t now_ms;      /* the same, or while something falls due its deadline */
    int64_t next_due_ms; /* nothing falls due before */
    int64_t changed_ms;  /* when something fell due last */
    int64_t fence;       /* the last one given */
    uint64_t ticket;     /* the last one given */
    uint64_t expired;    /* holds that fell due, for the figures */
    struct clock_run run;

    struct store stores[CORE_KIND_COUNT];
    struct slab sales;
    uint32_t recent[CORE_KIND_COUNT]; /* the scope or zone found last, likely the next one, too */
    uint32_t lapsed;                  /* bookings that only count against their user still */
    uint32_t slots_in_use;            /* of all semaphores */
    uint32_t in_line;                 /* before all semaphores */

    uint32_t touched;       /* the first semaphore that is not settled, or NONE; see sem_settle() */
    int64_t touched_ms;     /* what it lost or has to hand out, it lost or handed out then */
    uint32_t waiting_calls; /* tickets not yet answered */
    struct wakeup *wakeups; /* room for all of waiting_calls at any time */
    size_t wakeup_count, wakeup_capacity;

    struct event *events; /* a ring of EVENTS_MAX; NULL while nobody collects them */
    size_t event_first, event_count;
};

/* ---- what the files of core/ share ----------------------------------------------------------- */

/* The record of a kind. */
static inline void *core_at(const struct core *core, enum kind kind, uint32_t index)
{
    return store_at(&core->stores[kind], index);
}

static inline struct key core_key(const struct core *core, enum kind kind, uint32_t scope,
                                  struct hf_bytes id)
{
    return store_key(&core->stores[kind], scope, name_view(id));
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

/* The same for kinds of which one record is asked for again and again. */
static inline uint32_t core_find_recent(struct core *core, enum kind kind, uint32_t scope,
                                        struct hf_bytes id)
{
    const struct store *store = &core->stores[kind];
    uint32_t recent = core->recent[kind];
    struct name name = name_view(id);

    if (slab_has(&store->slab, recent)) {
        const struct record *record = store_at(store, recent);
        struct name known = record_name(record);
        if (record->scope == scope && !(record->marks & RECORD_HIDDEN) &&
            name_same(&known, &name)) {
            return recent;
        }
    }
    struct key key = store_key(store, scope, name);
    uint32_t index = store_find(store, &key);
    core->recent[kind] = index != NONE ? index : recent;
    return index;
}

/* The hold under a key. One that is due, or whose retry window is over, is removed on the way and
 * not found. A tenant may be gone with the last of its holds. */
uint32_t core_find_hold(struct core *core, enum kind kind, const struct key *key);

/* Finds the scope that a command is about, all of whose holds that are due have expired; or NONE.
 */
uint32_t core_enter(struct core *core, enum kind kind, struct hf_bytes id);

/* Expires up to `budget` of what is due in a scope; true if no more is. */
bool core_ready_in(struct core *core, enum kind kind, struct hf_bytes id, int64_t budget);

/* Whatever hands out fences shares one line of time, because they come from one counter: all that
 * is due of any semaphore has expired, and its slots are handed on. */
void core_enter_semaphores(struct core *core);

/* A new record; NONE when there is no memory, or more is in use than may be. */
uint32_t core_add(struct core *core, enum kind kind, const struct key *key);

/* The record under (scope, id), made if it is not there; NONE when there is no memory. */
uint32_t core_obtain(struct core *core, enum kind kind, uint32_t scope, struct hf_bytes id);

/* Something falls due then. */
void core_note_due(struct core *core, int64_t time_ms);

/* Sets a record's deadline, in place of the one it has. */
void core_arm(struct core *core, enum kind kind, uint32_t index, int64_t deadline_ms);

/* Closes a hold, whose timer is disarmed: it is remembered for the retry window. */
void core_close(struct core *core, enum kind kind, uint32_t index);

/* Removes a record of a kind, with all it owns. */
void core_forget(struct core *core, enum kind kind, uint32_t index);

void core_emit(struct core *core, enum event_kind kind, enum kind scope_kind,
               const struct record *record, int64_t quantity);

void reply_name(struct reply *reply, const struct name *name);
void reply_hex(struct reply *reply, const uint8_t token[TOKEN_BYTES]);
/* Refuses for want of memory, and says of which. */
void reply_busy(const struct core *core, struct reply *reply);

/* Makes room for one more waiting call's wakeup. */
bool core_reserve_wakeup(struct core *core);
void core_wake(struct core *core, uint64_t ticket, struct wakeup wakeup);

/* How a refusal ends of an id that is in use with other arguments. */
#define ANOTHER_ID ": another request needs another id"

/* One function a command: seats_reserve(core, args, reply)… */
#define CORE_COMMAND(function)                                                                     \
    void function(struct core *core, const union command_args *args, const uint8_t *entropy,       \
                  struct reply *reply)

#define X(id, name, reply, memory, scope) CORE_COMMAND(name);
COMMAND_LIST(X)
#undef X

/* A record fell due: called with its timer disarmed and core->now_ms at its deadline. */
typedef void core_record_function(struct core *core, uint32_t index);
core_record_function booking_due, quota_hold_due, sem_client_due, lock_due, order_due,
    room_entry_due, room_pass_due, idem_due;

/* A record is about to be removed: lets go of what it owns and of whom it names. */
core_record_function booking_let_go, quota_hold_let_go, semaphore_let_go, lock_let_go, order_let_go,
    room_let_go, room_pass_let_go, idem_let_go;

/* Slots that became free while time advanced go to the next in line, at most so many as there is
 * budget for. True if none is left. */
bool sem_settle(struct core *core, int64_t *budget);

/* When a client is due, by what its record says. */
int64_t sem_client_deadline(const struct sem_client *client);

/* The audit without looking every record up: for a core whose indexes were just built. */
uint64_t core_audit_totals(struct core *core);

/* What a kind is. */
struct kind_spec {
    const char *name;
    size_t record_size;
    enum kind parent;
    uint8_t last_state;           /* states count from 0 */
    bool holds;                   /* those with a deadline are live holds */
    core_record_function *due;    /* NULL: never has a deadline of its own */
    size_t agenda_offset;         /* in its parent, of the agenda of its deadlines; 0: has none */
    core_record_function *let_go; /* NULL: owns nothing but its name */
};
extern const struct kind_spec kinds[CORE_KIND_COUNT];

#endif
