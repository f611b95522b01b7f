/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast.h: hand out scarce things, never more than there are.
 *
 *     hf_handle *hf;
 *     struct hf_seats_open_args open = {
 *         .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = 500};
 *     struct hf_seats_reserve_args ask = {
 *         .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .booking = HF_TEXT("b-1"),
 *         .user = HF_TEXT("ann"), .quantity = 2, .max_per_user = 4};
 *     struct hf_seats_reserve_reply got;
 *
 *     if (hf_open("embedded:", &hf) != HF_OK || hf_seats_open(hf, &open, NULL) != HF_OK ||
 *         hf_seats_reserve(hf, &ask, &got) != HF_OK)
 *         return fprintf(stderr, "%s\n", hf_last_message()), 1;
 *     printf("%lld seats left\n", (long long)got.remaining);
 *     hf_close(hf);
 *
 * Rules that hold for every call:
 * - A call returns HF_OK or the code of what went wrong, and then has changed nothing.
 *   hf_last_message() says it in words. There are two exceptions. BUSY for want of memory for the
 *   reply: its message says that the command was carried out. And TIMEOUT from a server, with a
 *   message that starts "outcome unknown:": the command was sent and no answer came. In both cases
 *   ask again with the same id; a retry is safe. The library itself never sends anything twice.
 * - Arguments are borrowed for the length of the call; nothing you pass in is kept.
 * - In an argument struct a zero optional member means "the default". Times are in milliseconds.
 * - A reply struct is yours, filled in place, and may be NULL when you do not want it. Only
 *   members marked "free with hf_free()" own memory.
 * - A list answers a page: items, and a cursor for the `after` of the next call, which is empty at
 *   the end. A page may be short, or empty, with a cursor: then go on. What is there from the first
 *   page to the last comes exactly once, whatever else comes and goes.
 * - A handle may be used by any number of threads at once, and by the process that opened it only.
 *   After a fork() the child opens a handle of its own: on one that it inherited, and on its
 *   leases, every call is refused with INVALID_STATE and does nothing, hf_lease_held() is false,
 *   and hf_close() leaves journal, lock, connections and memory to the parent, which goes on as if
 *   nothing had happened. A program that is executed inherits no files or connections.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; hf_version() has that of the library. */
#define HF_VERSION "0.1.0"

/* Marks what the shared library exports: the functions below and nothing else. */
#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Borrowed bytes, not NUL-terminated. In an argument they are the caller's, and only read. */
struct hf_bytes {
    const char *data;
    size_t size;
};

/* A string literal as hf_bytes, usable in initialisers. */
/* clang-format off */
#define HF_TEXT(literal) {"" literal, sizeof(literal) - 1}
/* clang-format on */

/* A C string as hf_bytes. NULL becomes empty. Borrows `text`. */
static inline struct hf_bytes hf_text(const char *text)
{
    struct hf_bytes bytes = {text, text ? strlen(text) : 0};
    return bytes;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The one list of errors: X(code, HTTP status, default text). Every front reads it. Most refuse a
 * well-formed command; those from ERR to LEDGER_DOWN are about the request or the server. A new
 * code goes to the end, so that programs built before go on to know the others. */
#define HF_ERROR_MAP(X)                                                                            \
    X(INVALID_QUANTITY, 400, "the quantity is out of bounds")                                      \
    X(INVALID_AMOUNT, 400, "the amount is out of bounds")                                          \
    X(INVALID_TTL, 400, "the duration is out of bounds: 10 ms to 30 days")                         \
    X(INVALID_ID, 400, "not an id: 1-128 bytes of UTF-8, no spaces, control characters, { or }")   \
    X(INVALID_ARGUMENT, 400, "the argument is not one of those allowed")                           \
    X(USER_LIMIT_EXCEEDED, 400, "the user would hold more than allowed")                           \
    X(ZONE_NOT_FOUND, 404, "no such zone")                                                         \
    X(RESERVATION_NOT_FOUND, 404, "no such booking: never made, released, refunded, expired")      \
    X(HOLD_NOT_FOUND, 404, "no such hold: never made, cancelled or expired")                       \
    X(PRODUCT_NOT_FOUND, 404, "no such product: load it first")                                    \
    X(NOT_IN_QUEUE, 404, "the user is not in the queue")                                           \
    X(NOT_FOUND, 404, "not found")                                                                 \
    X(TIMEOUT, 408, "waited and got nothing")                                                      \
    X(INSUFFICIENT_STOCK, 409, "not enough seats left")                                            \
    X(SOLD_OUT, 409, "sold out")                                                                   \
    X(INVALID_STATE, 409, "not possible in the state it is in")                                    \
    X(BOOKING_EXISTS, 409, "the booking id is in use with other arguments")                        \
    X(CAPACITY_IN_USE, 409, "more than that is held or sold")                                      \
    X(ALREADY_IN_QUEUE, 409, "the user is in the queue already")                                   \
    X(IN_PROGRESS, 409, "being processed")                                                         \
    X(LOCKED, 409, "somebody else holds the lock")                                                 \
    X(NOT_OWNER, 409, "belongs to another user")                                                   \
    X(PAYLOAD_TOO_LARGE, 413, "too large")                                                         \
    X(KEY_REUSED, 422, "the key was used for another request")                                     \
    X(QUOTA_EXCEEDED, 429, "over the quota")                                                       \
    X(QUEUE_FULL, 429, "the queue is full")                                                        \
    X(NO_SLOT, 429, "no slot free")                                                                \
    X(RATE_LIMITED, 429, "too many requests")                                                      \
    X(ERR, 400, "malformed request")                                                               \
    X(UNAUTHORIZED, 401, "authentication needed")                                                  \
    X(FORBIDDEN, 403, "not allowed for this user")                                                 \
    X(INTERNAL, 500, "internal error")                                                             \
    X(IOERR, 503, "the data directory failed; the server stops")                                   \
    X(READONLY, 503, "this server does not take writes")                                           \
    X(LOADING, 503, "still loading the data directory")                                            \
    X(BUSY, 503, "out of memory or too much to do; nothing was changed, try again later")          \
    X(ENGINE_DOWN, 503, "the engine does not answer")                                              \
    X(LEDGER_DOWN, 503, "the ledger does not answer")                                              \
    X(NOT_ADMITTED, 403, "the event is entered through its waiting room: a pass is needed")        \
    X(PAYMENT_DECLINED, 402, "the payment was declined")

/* HF_OK, or an error of the list as HF_INVALID_QUANTITY and so on, numbered from 1. */
enum hf_error {
    HF_OK = 0,
#define HF_ERROR_ENUM(code, http, text) HF_##code,
    HF_ERROR_MAP(HF_ERROR_ENUM)
#undef HF_ERROR_ENUM
        HF_ERROR_COUNT
};

/* "INSUFFICIENT_STOCK" for HF_INSUFFICIENT_STOCK, "OK" for HF_OK. Static; never NULL. */
HF_API const char *hf_error_name(enum hf_error code);

/* The HTTP status that goes with a code; 200 for HF_OK. */
HF_API int hf_error_status(enum hf_error code);

/* What the last call that failed on this thread had to say: what was wrong, with what value. Valid
 * until the next call on this thread; never NULL. */
HF_API const char *hf_last_message(void);

/* ---- handles --------------------------------------------------------------------------------- */

/* An engine that was opened: made by hf_open(), freed by hf_close(). */
typedef struct hf_handle hf_handle;

/* Opens an engine. URLs:
 *     embedded:                     in this process, in memory only
 *     embedded:DIR                  in this process, in a directory: what is answered is on disk
 *     embedded:DIR?fsync=everysec   the disk is synced once a second only; fsync=no: never
 *     holdfast://host:port          a server; port 4653 if it is left out
 *     holdfast+tls://host:port      the same over TLS; the server has to prove that it is `host`
 *     redis://host:port/database    Redis itself, with no server of ours; port 6379, database 0
 *     redis+sentinel://host,…/name  the master of that name, as the Sentinels tell
 *     redis+cluster://host,…        a cluster
 *     redlock://host,…              several servers that know nothing of each other: LOCK.* only
 *     rediss://, rediss+sentinel://, rediss+cluster://, redlocks://   the same over TLS
 * For a server, user:password@ or token@ may stand in front of the host (with %XX for a byte that
 * means something there), and options behind it: ?timeout=5s for connecting and for each answer, on
 * top of what the command itself waits; and with TLS ca=FILE, whom to trust instead of the
 * system's store. Connections are opened as threads need them, 80 at most, of which calls that wait
 * in line take 64. For Redis, [user]:password@ may stand in front of the hosts, and docs/redis.md
 * has the options.
 *
 * TIMEOUT means that a wait ran out; of a command that does not wait, and where hf_last_message()
 * says that the outcome is unknown, that it may have happened: ask again with the same id.
 *
 * On success *handle is yours to hf_close(). Otherwise INVALID_ARGUMENT, IOERR (the directory is in
 * use, damaged or cannot be written), INVALID_STATE (the machine's clock is before 1970 or after
 * 4199), ENGINE_DOWN (no server there), UNAUTHORIZED or BUSY, and *handle is NULL. A handle whose
 * disk failed answers IOERR from then on: close it, and open it again to recover. One of a server
 * that is away answers ENGINE_DOWN, of one that reads its data directory LOADING, and goes on by
 * itself when the server is ready. */
HF_API enum hf_error hf_open(const char *url, hf_handle **handle);

/* What hf_open_with() may be told. A zero member means the default; set `size`, and leave zero what
 * you do not need. */
struct hf_open_options {
    size_t size;        /* sizeof(struct hf_open_options) */
    const char *engine; /* a URL, as hf_open() takes it */
    /* The SQL database that has the last word about what is sold: sqlite:PATH, postgres://… or
     * mysql://…. NULL: embedded:DIR has sqlite:DIR/ledger.db, made when first needed; other engines
     * have none, and what needs one is refused with LEDGER_DOWN. With a ledger that is named here
     * STOCK.LOAD, STOCK.TAKE, SEATS.OPEN, SEATS.CONFIRM and SEATS.REFUND are guarded by it, too.
     * A server has its own: with a holdfast:// engine it is INVALID_ARGUMENT. */
    const char *ledger;
    /* A table of the ledger that has the stock already: "shop.items(sku, on_hand)", or NULL. */
    const char *ledger_inventory;
    unsigned ledger_connections; /* 0: 2 */
    int64_t ledger_timeout_ms;   /* of a transaction; 0: 2 s */
    int64_t breaker_window_ms;   /* how far back failures of the engine count; 0: 10 s */
    int64_t breaker_failures;    /* with so many per cent it is asked no more; 0: 50 */
    int64_t breaker_open_for_ms; /* until it is tried again; 0: 5 s */
    int64_t fallback_rate;       /* orders a second past an engine that is away; 0: 50 */
    int64_t servers;             /* processes that share the ledger, and that rate; 0: 1 */
    int64_t reconcile_every_ms;  /* 0: 5 s; HF_ZERO: only on demand */
    /* Checkout. The peer that takes payments: "test:", which moves no money, or http(s)://…; NULL:
     * there is none, and nothing can be checked out. */
    const char *payment_url;
    const char *payment_secret;     /* "whsec_…", signs requests to the peer, and its callbacks */
    const char *payment_secret_old; /* accepted in callbacks, too, while secrets are changed */
    const char *currency;           /* of a checkout that names none; NULL: "USD" */
    const char *late_payment;       /* "rebook" (NULL) or "refund" */
    int64_t saga_lease_ms;      /* a process that is silent for so long loses its sagas; 0: 10 s */
    int64_t payment_timeout_ms; /* of a request to the peer; 0: 10 s */
    int64_t payment_retries;    /* of one whose outcome is unknown; 0: 20 */
    /* The sync of quotas: when ("03:00" in UTC, "every 1h", "never"; NULL: at 03:00 if one of the
     * next two is set), the query whose columns are a tenant and what it uses (NULL: the sum of
     * size of the available files), and the database that is read (NULL: the ledger's). */
    const char *quota_sync_at, *quota_sync_query, *quota_sync_db;
    bool quota_sync_zero;         /* a tenant that the query does not answer uses nothing */
    int64_t quota_sync_margin_ms; /* commits so long before the reading count as made since */
    /* How often waiting rooms with a RATE or an INSIDE admit by themselves, as those of a server do
     * every 250 ms; 0: they do not, the program calls ROOM.TICK. */
    int64_t admission_every_ms;
    /* Webhooks. Who is told what is sold and booked, http(s)://…, and the secret that signs it;
     * both or none. Needs a ledger. */
    const char *webhook_url;
    const char *webhook_secret;     /* "whsec_…" */
    const char *webhook_secret_old; /* signs, too, while secrets are changed */
    /* Private networks that requests may be sent to, "10.0.0.0/8, fd00::/8", and a file of trusted
     * certificates; NULL: none, and those that the system trusts. */
    const char *outgoing_allow, *outgoing_ca;
};

/* Opens an engine and a ledger; hf_open(url) is hf_open_with() of the engine alone. Besides its
 * codes: INVALID_ARGUMENT for an unusable ledger, INVALID_STATE for one that is newer than this
 * library, or whose tables are not as the options say. A database that cannot be reached is no
 * failure: it is tried again, and until then what needs it is refused with LEDGER_DOWN. */
HF_API enum hf_error hf_open_with(const struct hf_open_options *options, hf_handle **handle);

/* Closes the handle and everything that hangs on it. Calls still waiting on other threads must have
 * returned. Leases should be released before; see hf_lease_release() for those that are not. NULL
 * is fine. */
HF_API void hf_close(hf_handle *handle);

/* The version of the library, "0.1.0". Static. */
HF_API const char *hf_version(void);

/* Frees what a reply handed over ("free with hf_free()"). NULL is fine. */
HF_API void hf_free(void *memory);

/* What the engine is carrying, for monitoring. */
struct hf_info {
    uint64_t memory_bytes; /* allocated for the state */
    uint64_t holds;        /* live bookings, quota holds, orders, slots, locks */
    uint64_t waiting;      /* in line for slots and in waiting rooms */
    uint64_t expired;      /* holds, waiters, queue entries and passes that fell due so far */
};
/* Fills in *info. INVALID_STATE for a handle of Redis, or of a server on Redis: counting it would
 * mean to read all of it. */
HF_API enum hf_error hf_info(hf_handle *handle, struct hf_info *info);

/* Begins a snapshot of a handle that keeps a directory; it is written while calls go on, and then
 * replaces the journal before it. This also happens by itself as the journal grows. INVALID_STATE
 * for a handle in memory, BUSY while one is being written, IOERR. */
HF_API enum hf_error hf_snapshot(hf_handle *handle);

/* Called by hf_audit() with one line for each total that does not agree. The line is valid during
 * the call only. */
typedef void hf_audit_report(void *context, const char *finding);

/* Recomputes every total from the records, those of a ledger, too, and calls `report` (may be NULL)
 * for each that differs. *findings gets their number. */
HF_API enum hf_error hf_audit(hf_handle *handle, hf_audit_report *report, void *context,
                              uint64_t *findings);

/* ---- the generic call ------------------------------------------------------------------------ */

/* The reply to hf_call(): made by it, freed by hf_reply_free(). One thread at a time may use it. */
typedef struct hf_reply hf_reply;

/* What an element of a reply is. */
enum hf_kind { HF_KIND_NIL, HF_KIND_INTEGER, HF_KIND_TEXT };

/* Runs one command given as words: {"SEATS.ZONE", "gala", "floor"}. The reply is a flat list as in
 * RESP: [1, …] on success, [0, CODE, message] on a refusal, one element where the command answers a
 * bare number or nil. A list gives its cursor, then for each item all its fields and their values,
 * nil where the item has none; or just its name, where RESP has no more. *reply is yours to
 * hf_reply_free(), also on a refusal; it is NULL only after BUSY. Returns the same code as the
 * typed call would.
 *
 *     struct hf_bytes words[] = {HF_TEXT("SEATS.ZONE"), HF_TEXT("gala"), HF_TEXT("floor")};
 *     hf_reply *reply;
 *     hf_call(hf, 3, words, &reply);
 *     if (reply != NULL)
 *         puts(hf_reply_json(reply));
 *     hf_reply_free(reply); */
HF_API enum hf_error hf_call(hf_handle *handle, size_t argc, const struct hf_bytes *argv,
                             hf_reply **reply);

/* How many elements the reply has. */
HF_API size_t hf_reply_count(const hf_reply *reply);
/* What element i is; HF_KIND_NIL past the end. */
HF_API enum hf_kind hf_reply_kind(const hf_reply *reply, size_t i);
/* Element i as a number; 0 if it is none. */
HF_API int64_t hf_reply_integer(const hf_reply *reply, size_t i);
/* Element i as bytes, NUL-terminated too; empty if it is no text. Lives as long as the reply. */
HF_API struct hf_bytes hf_reply_text(const hf_reply *reply, size_t i);
/* The whole reply as one line of JSON, NUL-terminated. Lives as long as the reply. */
HF_API const char *hf_reply_json(hf_reply *reply);
/* Frees the reply. NULL is fine. */
HF_API void hf_reply_free(hf_reply *reply);

/* ---- bounds ---------------------------------------------------------------------------------- */

#define HF_ID_MAX 128                              /* bytes of an id */
#define HF_ID_SIZE (HF_ID_MAX + 1)                 /* an id with its NUL */
#define HF_INTEGER_MAX ((int64_t)9007199254740991) /* 2^53 - 1 */
/* An optional number of 0, for the members that say so: there, too, a member of 0 is one that was
 * not given. */
#define HF_ZERO INT64_MIN
#define HF_TTL_MIN_MS ((int64_t)10)                /* shortest duration */
#define HF_TTL_MAX_MS ((int64_t)30 * 24 * 3600000) /* longest duration: 30 days */
#define HF_CODE_SIZE 11                            /* a confirmation code with its NUL */
#define HF_TOKEN_SIZE 33                           /* a queue token or pass with its NUL */
#define HF_WORD_SIZE 16                            /* a state such as "CONFIRMED" with its NUL */
#define HF_CURSOR_MAX 191                          /* bytes of a list's cursor */
#define HF_CURSOR_SIZE (HF_CURSOR_MAX + 1)         /* a cursor with its NUL */
#define HF_PAIR_CURSOR_MAX (2 * HF_ID_MAX + 1)     /* of a list in the order of two ids */
#define HF_PAIR_CURSOR_SIZE (HF_PAIR_CURSOR_MAX + 1)
#define HF_PAGE_MAX 1000 /* items of one page of a list */

/* Each command below has a struct of its arguments, one of its reply, and a function that takes
 * both. The comment on top of the three says what it does and which refusals it has of its own. */

/* ---- seats: holds with a deadline; scope: event ---------------------------------------------- */

/* SEATS.OPEN: make a zone, or change its capacity and its limit per user. CAPACITY_IN_USE below
 * what is held or sold. */
struct hf_seats_open_args {
    struct hf_bytes event, zone;
    int64_t capacity;
    int64_t max;   /* how many seats of the event a user of this zone may have; 0: no such limit */
    bool lifetime; /* confirmed seats count against max in every reserve; needs max */
};
struct hf_seats_open_reply {
    int64_t available, capacity;
};
HF_API enum hf_error hf_seats_open(hf_handle *handle, const struct hf_seats_open_args *args,
                                   struct hf_seats_open_reply *reply);

/* SEATS.RESERVE: hold seats for a user until the deadline. ZONE_NOT_FOUND, INSUFFICIENT_STOCK,
 * USER_LIMIT_EXCEEDED, BOOKING_EXISTS. Again with the same arguments: the same success. */
struct hf_seats_reserve_args {
    struct hf_bytes event, zone, booking, user;
    int64_t quantity, max_per_user;
    struct hf_bytes show; /* optional */
    int64_t unit_price;   /* optional */
    int64_t ttl_ms;       /* 0: 600 s */
    bool lifetime;        /* confirmed seats go on counting against max_per_user */
    struct hf_bytes pass; /* the user's, where ROOM.OPEN has set GATE: NOT_ADMITTED */
};
struct hf_seats_reserve_reply {
    int64_t remaining, user_reserved;
    /* "reserved"; "confirmed" on a retry after it was. Empty where the engine is a server reached
     * by RESP, which does not send it. */
    char status[HF_WORD_SIZE];
    int64_t expires_at; /* ms since the epoch; 0 once confirmed */
};
HF_API enum hf_error hf_seats_reserve(hf_handle *handle, const struct hf_seats_reserve_args *args,
                                      struct hf_seats_reserve_reply *reply);

/* SEATS.CONFIRM: paid for; the deadline goes. RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE. */
struct hf_seats_confirm_args {
    struct hf_bytes event, booking;
    struct hf_bytes user;    /* optional: must be the owner */
    struct hf_bytes payment; /* optional */
};
struct hf_seats_confirm_reply {
    char status[HF_WORD_SIZE]; /* "CONFIRMED" */
    char confirmation_code[HF_CODE_SIZE];
};
HF_API enum hf_error hf_seats_confirm(hf_handle *handle, const struct hf_seats_confirm_args *args,
                                      struct hf_seats_confirm_reply *reply);

/* SEATS.RELEASE: give the seats back now. RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE. */
struct hf_seats_release_args {
    struct hf_bytes event, booking;
    struct hf_bytes user; /* optional: must be the owner */
};
struct hf_seats_release_reply {
    char status[HF_WORD_SIZE]; /* "SUCCESS" */
    int64_t available, user_reserved;
};
HF_API enum hf_error hf_seats_release(hf_handle *handle, const struct hf_seats_release_args *args,
                                      struct hf_seats_release_reply *reply);

/* SEATS.REFUND: a confirmed booking is given back; its seats are free again and its code is no
 * longer valid. RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE while it is only reserved. */
struct hf_seats_refund_args {
    struct hf_bytes event, booking;
    struct hf_bytes user; /* optional: must be the owner */
};
struct hf_seats_refund_reply {
    char status[HF_WORD_SIZE]; /* "REFUNDED" */
    int64_t available;
};
HF_API enum hf_error hf_seats_refund(hf_handle *handle, const struct hf_seats_refund_args *args,
                                     struct hf_seats_refund_reply *reply);

/* SEATS.EXTEND: move the deadline to now + ttl, at most 12 first TTLs after the start. */
struct hf_seats_extend_args {
    struct hf_bytes event, booking;
    int64_t ttl_ms;
};
struct hf_seats_extend_reply {
    int64_t expires_at_ms;
};
HF_API enum hf_error hf_seats_extend(hf_handle *handle, const struct hf_seats_extend_args *args,
                                     struct hf_seats_extend_reply *reply);

/* SEATS.GET: one booking. RESERVATION_NOT_FOUND. The last three members are 0 or empty until
 * the booking is confirmed. */
struct hf_seats_get_args {
    struct hf_bytes event, booking;
};
struct hf_seats_get_reply {
    char booking_id[HF_ID_SIZE], user_id[HF_ID_SIZE], zone_id[HF_ID_SIZE], event_id[HF_ID_SIZE],
        show_id[HF_ID_SIZE];
    int64_t quantity, unit_price;
    char status[HF_WORD_SIZE]; /* "reserved" or "confirmed" */
    int64_t created_at, expires_at, confirmed_at;
    char payment_id[HF_ID_SIZE];
    char confirmation_code[HF_CODE_SIZE];
};
HF_API enum hf_error hf_seats_get(hf_handle *handle, const struct hf_seats_get_args *args,
                                  struct hf_seats_get_reply *reply);

/* SEATS.LIST: the bookings of an event that are reserved or confirmed, a page at a time. */
struct hf_seats_list_args {
    struct hf_bytes event;
    struct hf_bytes zone, user; /* optional: only those of this zone, of this user */
    struct hf_bytes status;     /* optional: only "reserved" or only "confirmed" ones */
    struct hf_bytes after;      /* optional: the cursor of the page before */
    int64_t count;              /* 0: 100 */
};
struct hf_seats_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_seats_get_reply *items; /* free with hf_free() */
};
HF_API enum hf_error hf_seats_list(hf_handle *handle, const struct hf_seats_list_args *args,
                                   struct hf_seats_list_reply *reply);

/* SEATS.ZONE: the zone's totals; capacity = available + reserved + confirmed. ZONE_NOT_FOUND. */
struct hf_seats_zone_args {
    struct hf_bytes event, zone;
};
struct hf_seats_zone_reply {
    int64_t capacity, available, reserved, confirmed;
    /* As SEATS.OPEN set them; 0 where the engine is a server reached by RESP, which does not send
     * them. */
    int64_t max;      /* 0: no limit */
    int64_t lifetime; /* 1 or 0 */
};
HF_API enum hf_error hf_seats_zone(hf_handle *handle, const struct hf_seats_zone_args *args,
                                   struct hf_seats_zone_reply *reply);

/* SEATS.USER: what a user holds and has confirmed in an event. */
struct hf_seats_user_args {
    struct hf_bytes event, user;
};
struct hf_seats_user_reply {
    int64_t held, confirmed;
};
HF_API enum hf_error hf_seats_user(hf_handle *handle, const struct hf_seats_user_args *args,
                                   struct hf_seats_user_reply *reply);

/* SEATS.CLOSE: the event is over, and all that is known of it removed. INVALID_STATE while seats
 * are reserved, or confirmed unless `force` says that those go as well. */
struct hf_seats_close_args {
    struct hf_bytes event;
    bool force;
};
struct hf_seats_close_reply {
    int64_t bookings, zones; /* that were removed */
};
HF_API enum hf_error hf_seats_close(hf_handle *handle, const struct hf_seats_close_args *args,
                                    struct hf_seats_close_reply *reply);

/* SEATS.BOOKINGS and SEATS.HISTORY: a booking as the ledger has it, in whatever state. A time is 0
 * where there is none. */
struct hf_booking {
    char booking_id[HF_ID_SIZE], user_id[HF_ID_SIZE], zone_id[HF_ID_SIZE], event_id[HF_ID_SIZE],
        show_id[HF_ID_SIZE];
    int64_t quantity, unit_price;
    char status[HF_WORD_SIZE]; /* reserved, confirmed, cancelled, expired or refunded */
    int64_t created_at, expires_at, confirmed_at, ended_at;
    char payment_id[HF_ID_SIZE];
    char confirmation_code[HF_CODE_SIZE];
};

/* SEATS.BOOKINGS: the bookings of a user in all events, a page at a time. INVALID_ARGUMENT,
 * LEDGER_DOWN, TIMEOUT. */
struct hf_seats_bookings_args {
    struct hf_bytes user;
    struct hf_bytes event, zone; /* optional: only those of this event, of this zone */
    struct hf_bytes status;      /* optional: only those in this state */
    struct hf_bytes after;       /* optional: the cursor of the page before */
    int64_t count;               /* 0: 100 */
};
struct hf_seats_bookings_reply {
    char cursor[HF_PAIR_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_booking *items; /* free with hf_free() */
};
HF_API enum hf_error hf_seats_bookings(hf_handle *handle, const struct hf_seats_bookings_args *args,
                                       struct hf_seats_bookings_reply *reply);

/* SEATS.HISTORY: the bookings of an event, those that have ended as well, a page at a time.
 * INVALID_ARGUMENT, LEDGER_DOWN, TIMEOUT. */
struct hf_seats_history_args {
    struct hf_bytes event;
    struct hf_bytes zone, user; /* optional: only those of this zone, of this user */
    struct hf_bytes status;     /* optional: only those in this state */
    struct hf_bytes after;      /* optional: the cursor of the page before */
    int64_t count;              /* 0: 100 */
};
struct hf_seats_history_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_booking *items; /* free with hf_free() */
};
HF_API enum hf_error hf_seats_history(hf_handle *handle, const struct hf_seats_history_args *args,
                                      struct hf_seats_history_reply *reply);

/* SEATS.SUMMARY: what a user has in an event, and may still have in a zone. ZONE_NOT_FOUND. */
struct hf_seats_summary_args {
    struct hf_bytes event, user;
    struct hf_bytes zone; /* optional: the zone whose limit is asked for */
};
struct hf_seats_summary_reply {
    int64_t held, confirmed;
    char limited[HF_WORD_SIZE]; /* "yes", "no", or "unknown" where no zone is given */
    int64_t limit, left;        /* 0 unless limited is "yes" */
};
HF_API enum hf_error hf_seats_summary(hf_handle *handle, const struct hf_seats_summary_args *args,
                                      struct hf_seats_summary_reply *reply);

/* SEATS.CHECKOUT: begins one. PAYMENT_DECLINED, INSUFFICIENT_STOCK and whatever else it was
 * compensated for, once that is known; INVALID_STATE if the booking was checked out with other
 * arguments, or no payment_url was given. */
struct hf_seats_checkout_args {
    struct hf_bytes event, zone, user;
    int64_t quantity, max_per_user;
    struct hf_bytes booking;       /* empty: one is made */
    struct hf_bytes saga;          /* empty: one is made */
    int64_t unit_price;            /* in whole minor units of the currency; 0: nothing to pay */
    struct hf_bytes currency;      /* three letters; empty: the option `currency` */
    struct hf_bytes pass;          /* of the waiting room, if the event has a gate */
    struct hf_bytes payment_token; /* what the payment peer is to charge */
    int64_t wait_ms;               /* for the end; 0: until the ledger has it */
};
struct hf_seats_checkout_reply {
    char saga_id[HF_ID_SIZE], booking_id[HF_ID_SIZE];
    char status[HF_WORD_SIZE];   /* "STARTED", "RESERVED", "PAYING", "PAID", "COMPLETED",
                                * "COMPENSATING", "COMPENSATED" or "NEEDS_ATTENTION" */
    char provider[HF_WORD_SIZE]; /* "test": no money is moved; or "http" */
};
HF_API enum hf_error hf_seats_checkout(hf_handle *handle, const struct hf_seats_checkout_args *args,
                                       struct hf_seats_checkout_reply *reply);

/* ---- quota: reserve and refund; scope: tenant ------------------------------------------------ */

/* What most quota commands answer. */
struct hf_quota_reply {
    int64_t used, limit;
};

/* QUOTA.LIMIT: set a tenant's limit. */
struct hf_quota_limit_args {
    struct hf_bytes tenant;
    int64_t limit;
};
HF_API enum hf_error hf_quota_limit(hf_handle *handle, const struct hf_quota_limit_args *args,
                                    struct hf_quota_reply *reply);

/* QUOTA.RESERVE: count an amount as used. QUOTA_EXCEEDED (the reply is filled then, too). With
 * `hold` it returns by itself at the TTL unless committed. */
struct hf_quota_reserve_args {
    struct hf_bytes tenant;
    int64_t amount;
    struct hf_bytes hold; /* optional */
    int64_t ttl_ms;       /* with hold; 0: 900 s */
};
HF_API enum hf_error hf_quota_reserve(hf_handle *handle, const struct hf_quota_reserve_args *args,
                                      struct hf_quota_reply *reply);

/* QUOTA.REFUND: give committed usage back, down to 0. */
struct hf_quota_refund_args {
    struct hf_bytes tenant;
    int64_t amount;
};
struct hf_quota_refund_reply {
    int64_t used;
};
HF_API enum hf_error hf_quota_refund(hf_handle *handle, const struct hf_quota_refund_args *args,
                                     struct hf_quota_refund_reply *reply);

/* QUOTA.COMMIT: a hold becomes usage, or as much of it as was really used. HOLD_NOT_FOUND,
 * QUOTA_EXCEEDED, INVALID_STATE if it is committed with another amount. */
struct hf_quota_commit_args {
    struct hf_bytes tenant, hold;
    int64_t amount; /* 0: all that was held; HF_ZERO: nothing was used */
};
HF_API enum hf_error hf_quota_commit(hf_handle *handle, const struct hf_quota_commit_args *args,
                                     struct hf_quota_reply *reply);

/* QUOTA.CANCEL: a hold is given back. HOLD_NOT_FOUND, INVALID_STATE once committed. */
struct hf_quota_cancel_args {
    struct hf_bytes tenant, hold;
};
HF_API enum hf_error hf_quota_cancel(hf_handle *handle, const struct hf_quota_cancel_args *args,
                                     struct hf_quota_reply *reply);

/* QUOTA.EXTEND: move a hold's deadline to now + ttl, at most 12 first TTLs after its start, and
 * never to an earlier time. HOLD_NOT_FOUND, INVALID_STATE once committed. */
struct hf_quota_extend_args {
    struct hf_bytes tenant, hold;
    int64_t ttl_ms;
};
struct hf_quota_extend_reply {
    int64_t expires_at_ms;
};
HF_API enum hf_error hf_quota_extend(hf_handle *handle, const struct hf_quota_extend_args *args,
                                     struct hf_quota_extend_reply *reply);

/* QUOTA.LIST: the open holds of a tenant, a page at a time. INVALID_ARGUMENT for what is no
 * cursor. */
struct hf_quota_list_args {
    struct hf_bytes tenant;
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_quota_hold {
    char hold_id[HF_ID_SIZE];
    int64_t amount, created_at, expires_at;
};
struct hf_quota_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_quota_hold *items; /* NULL if there are none; free with hf_free() */
};
HF_API enum hf_error hf_quota_list(hf_handle *handle, const struct hf_quota_list_args *args,
                                   struct hf_quota_list_reply *reply);

/* QUOTA.CLOSE: the tenant is gone; all that is known of it is removed. INVALID_STATE while holds
 * are open. The reply has what was used and the limit, of a tenant nobody knows 0 and 0. */
struct hf_quota_close_args {
    struct hf_bytes tenant;
};
HF_API enum hf_error hf_quota_close(hf_handle *handle, const struct hf_quota_close_args *args,
                                    struct hf_quota_reply *reply);

/* QUOTA.SYNC: what the database says is used; holds still open are added on top. */
struct hf_quota_sync_args {
    struct hf_bytes tenant;
    int64_t actual;
    int64_t since; /* now_ms of hf_quota_mark() before the reading; 0: nothing is added for it */
};
HF_API enum hf_error hf_quota_sync(hf_handle *handle, const struct hf_quota_sync_args *args,
                                   struct hf_quota_reply *reply);

/* QUOTA.MARK: the engine's time in milliseconds since 1970, to be asked for before usage is read
 * from the database: QUOTA.SYNC with it as `since` adds what was committed from then on. */
struct hf_quota_mark_args {
    struct hf_bytes tenant;
};
struct hf_quota_mark_reply {
    int64_t now_ms;
};
HF_API enum hf_error hf_quota_mark(hf_handle *handle, const struct hf_quota_mark_args *args,
                                   struct hf_quota_mark_reply *reply);

/* QUOTA.SYNCALL: reads what tenants use from the database of the settings, and applies QUOTA.SYNC
 * to each; a run that is going on is joined. INVALID_STATE, LEDGER_DOWN: nothing was changed. */
struct hf_quota_syncall_args {
    struct hf_bytes tenant; /* empty: all */
    bool dry;               /* only tell */
    int64_t run;            /* begin none, tell of this one; 0: begin one */
    int64_t wait_ms;        /* for the end; 0: until it is there */
};
struct hf_quota_syncall_reply {
    int64_t run;     /* its number */
    int64_t done;    /* 1 once it has ended */
    int64_t tenants; /* that were read */
    int64_t applied; /* that were set */
    int64_t changed; /* whose usage is another one now */
    int64_t drift;   /* by how much in all, without signs */
    int64_t missing; /* that the engine has and the database did not answer */
    int64_t skipped; /* that could not be set */
};
HF_API enum hf_error hf_quota_syncall(hf_handle *handle, const struct hf_quota_syncall_args *args,
                                      struct hf_quota_syncall_reply *reply);

/* QUOTA.SYNCED: the tenants that the last run changed, did not find or could not set. */
struct hf_quota_synced_args {
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_quota_synced_item {
    char tenant[HF_ID_SIZE];
    char outcome[HF_WORD_SIZE]; /* "changed", "missing", "skipped" */
    int64_t before, after;
    char why[96]; /* of one that was skipped */
};
struct hf_quota_synced_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_quota_synced_item *items; /* free with hf_free() */
};
HF_API enum hf_error hf_quota_synced(hf_handle *handle, const struct hf_quota_synced_args *args,
                                     struct hf_quota_synced_reply *reply);

/* QUOTA.GET: a tenant's totals; used includes held. */
struct hf_quota_get_args {
    struct hf_bytes tenant;
};
struct hf_quota_get_reply {
    int64_t used, limit, held;
};
HF_API enum hf_error hf_quota_get(hf_handle *handle, const struct hf_quota_get_args *args,
                                  struct hf_quota_get_reply *reply);

/* ---- semaphore: N slots, strict FIFO, heartbeats; scope: name -------------------------------- */

/* SEM.ACQUIRE: take a slot, or several at once. With wait_ms the calling thread waits in line up to
 * that long; nobody behind it overtakes, however few slots it wants. NO_SLOT without a wait,
 * TIMEOUT when it ran out; either way no trace of the caller is left. More slots than the limit:
 * INVALID_QUANTITY. A lock to wait for is a semaphore of limit 1. */
struct hf_sem_acquire_args {
    struct hf_bytes name, id;
    int64_t limit;
    int64_t heartbeat_ms; /* 0: 180 s */
    int64_t ttl_ms;       /* 0: 24 h */
    int64_t wait_ms;      /* 0: do not wait */
    int64_t slots;        /* 0: 1; at most 128 */
};
struct hf_sem_acquire_reply {
    int64_t in_use, fence;
};
HF_API enum hf_error hf_sem_acquire(hf_handle *handle, const struct hf_sem_acquire_args *args,
                                    struct hf_sem_acquire_reply *reply);

/* SEM.QUEUE: stand in line without waiting here; position counts from 1, 0 means a slot is held. */
struct hf_sem_queue_args {
    struct hf_bytes name, id;
    int64_t heartbeat_ms, ttl_ms;
};
struct hf_sem_queue_reply {
    int64_t position;
};
HF_API enum hf_error hf_sem_queue(hf_handle *handle, const struct hf_sem_queue_args *args,
                                  struct hf_sem_queue_reply *reply);

/* SEM.WAKE: hand free slots to the first in line. */
struct hf_sem_wake_args {
    struct hf_bytes name;
    int64_t limit, heartbeat_ms, ttl_ms;
};
struct hf_sem_wake_reply {
    int64_t granted;
};
HF_API enum hf_error hf_sem_wake(hf_handle *handle, const struct hf_sem_wake_args *args,
                                 struct hf_sem_wake_reply *reply);

/* SEM.CONFIRM: a client that was woken takes its slot into use. changed 0: the grant is stale. */
struct hf_sem_confirm_args {
    struct hf_bytes name, id;
    int64_t limit, heartbeat_ms, ttl_ms;
};
struct hf_sem_confirm_reply {
    int64_t changed, in_use;
};
HF_API enum hf_error hf_sem_confirm(hf_handle *handle, const struct hf_sem_confirm_args *args,
                                    struct hf_sem_confirm_reply *reply);

/* SEM.RELEASE: leave the slot or the line; a freed slot goes to the next in line at once. */
struct hf_sem_release_args {
    struct hf_bytes name, id;
};
struct hf_sem_release_reply {
    int64_t released;
};
HF_API enum hf_error hf_sem_release(hf_handle *handle, const struct hf_sem_release_args *args,
                                    struct hf_sem_release_reply *reply);

/* SEM.PING: still alive. Both 0: the caller was taken for dead. */
struct hf_sem_ping_args {
    struct hf_bytes name, id;
    int64_t heartbeat_ms, ttl_ms;
};
struct hf_sem_ping_reply {
    int64_t changed_waiting, changed_slot;
};
HF_API enum hf_error hf_sem_ping(hf_handle *handle, const struct hf_sem_ping_args *args,
                                 struct hf_sem_ping_reply *reply);

/* SEM.CARD: slots in use. */
struct hf_sem_card_args {
    struct hf_bytes name;
};
struct hf_sem_card_reply {
    int64_t in_use;
};
HF_API enum hf_error hf_sem_card(hf_handle *handle, const struct hf_sem_card_args *args,
                                 struct hf_sem_card_reply *reply);

/* SEM.STATS: slots in use, the limit last given, and how many wait. */
struct hf_sem_stats_args {
    struct hf_bytes name;
};
struct hf_sem_stats_reply {
    int64_t in_use, max, waiting;
};
HF_API enum hf_error hf_sem_stats(hf_handle *handle, const struct hf_sem_stats_args *args,
                                  struct hf_sem_stats_reply *reply);

/* SEM.LIST: the clients of a semaphore, holders and waiters, a page at a time. INVALID_ARGUMENT for
 * what is no cursor. */
struct hf_sem_list_args {
    struct hf_bytes name;
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_sem_client {
    char id[HF_ID_SIZE];
    char state[HF_WORD_SIZE]; /* "holding", "waiting" */
    int64_t slots;            /* that it holds, or waits for */
    int64_t position;         /* in line, from 1; 0: it holds */
    int64_t fence;            /* of the grant; 0: it waits */
    int64_t age_ms;           /* since it got its slots, or joined the line */
    int64_t expires_in_ms;    /* until it is out, unless it pings; of a wait, until it ends */
};
struct hf_sem_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_sem_client *items; /* NULL if there are none; free with hf_free() */
};
HF_API enum hf_error hf_sem_list(hf_handle *handle, const struct hf_sem_list_args *args,
                                 struct hf_sem_list_reply *reply);

/* ---- lock: one holder, its own key to unlock; scope: resource -------------------------------- */

/* LOCK.TRY: take the lock, or LOCKED. Without an id a random UUID is made. */
struct hf_lock_try_args {
    struct hf_bytes resource;
    int64_t ttl_ms;
    struct hf_bytes id; /* optional */
};
struct hf_lock_try_reply {
    char lock_id[HF_ID_SIZE];
    int64_t fence;
};
HF_API enum hf_error hf_lock_try(hf_handle *handle, const struct hf_lock_try_args *args,
                                 struct hf_lock_try_reply *reply);

/* LOCK.UNLOCK: unlocked is 0 if that id does not hold the lock. */
struct hf_lock_unlock_args {
    struct hf_bytes resource, lock_id;
};
struct hf_lock_unlock_reply {
    int64_t unlocked;
};
HF_API enum hf_error hf_lock_unlock(hf_handle *handle, const struct hf_lock_unlock_args *args,
                                    struct hf_lock_unlock_reply *reply);

/* LOCK.EXTEND: the deadline becomes now + ttl; extended is 0 if that id does not hold the lock. */
struct hf_lock_extend_args {
    struct hf_bytes resource, lock_id;
    int64_t ttl_ms;
};
struct hf_lock_extend_reply {
    int64_t extended;
};
HF_API enum hf_error hf_lock_extend(hf_handle *handle, const struct hf_lock_extend_args *args,
                                    struct hf_lock_extend_reply *reply);

/* LOCK.GET: who holds it and for how long still. NOT_FOUND if nobody does. */
struct hf_lock_get_args {
    struct hf_bytes resource;
};
struct hf_lock_get_reply {
    char lock_id[HF_ID_SIZE];
    int64_t fence, ttl_ms;
};
HF_API enum hf_error hf_lock_get(hf_handle *handle, const struct hf_lock_get_args *args,
                                 struct hf_lock_get_reply *reply);

/* ---- leases: slots and locks that are kept alive --------------------------------------------- */

/* A slot or a lock held by this process, kept alive by threads of the handle: they send a SEM.PING
 * or LOCK.EXTEND five times in each heartbeat or ttl, and again soon after one that failed.
 *
 *     static void stop(void *context, const char *why) { … make the work end, quickly … }
 *
 *     struct hf_sem_acquire_args ask = {.name = HF_TEXT("gpu"), .id = hf_text(me), .limit = 4,
 *                                       .heartbeat_ms = 30000, .wait_ms = 600000};
 *     hf_lease *lease;
 *     if (hf_lease_slot(hf, &ask, stop, work, &lease, NULL) != HF_OK)
 *         return fprintf(stderr, "%s\n", hf_last_message()), 1;
 *     do_the(work, hf_lease_fence(lease));
 *     if (hf_lease_release(lease) != HF_OK)
 *         fprintf(stderr, "not held to the end: %s\n", hf_last_message());
 *
 * A lease is lost as soon as the engine says that it is not held, or when a heartbeat (of a lock,
 * its ttl) has passed since the last sign of life that the engine answered was sent; for a slot
 * also at the end of its ttl, which counts from the call, or if that waited, from its answer. 2 ms
 * and a thousandth are taken off each of these, for clocks that do not go alike, and the time goes
 * on while the machine is suspended. So the engine gives the hold to nobody else before
 * hf_lease_held() is false. What the hold protects should still refuse writes with a smaller
 * fence than it has seen: a process may be stopped between asking and writing. */
typedef struct hf_lease hf_lease;

/* Called once when a lease is lost, from a thread of the handle; `why` is valid during the call
 * only. It may call hf_lease_release() on this lease, not hf_close(), and should return soon:
 * losses are reported one after the other. */
typedef void hf_lease_lost(void *context, const char *why);

/* Acquires a slot, as hf_sem_acquire(), and keeps it. `lost` and `reply` may be NULL. On success
 * *lease is yours to hf_lease_release(); otherwise it is NULL and no trace of it is left, unless
 * the message says that the outcome is unknown: then it lapses by itself. The id should be one that
 * holds nothing yet: of a slot that was held before, only the engine knows when its ttl ends. */
HF_API enum hf_error hf_lease_slot(hf_handle *handle, const struct hf_sem_acquire_args *args,
                                   hf_lease_lost *lost, void *context, hf_lease **lease,
                                   struct hf_sem_acquire_reply *reply);

/* Takes a lock, as hf_lock_try(), and keeps it; as hf_lease_slot(). */
HF_API enum hf_error hf_lease_lock(hf_handle *handle, const struct hf_lock_try_args *args,
                                   hf_lease_lost *lost, void *context, hf_lease **lease,
                                   struct hf_lock_try_reply *reply);

/* Is it still held? To the moment, also before `lost` was called. Costs no call to the engine. */
HF_API bool hf_lease_held(const hf_lease *lease);

/* The number of the grant, larger than that of every grant before. */
HF_API int64_t hf_lease_fence(const hf_lease *lease);

/* Gives the slot or lock back and frees the lease, whatever is returned. `lost` is not called any
 * more once this has returned. NOT_FOUND if it had been lost before; errors of the engine, after
 * which it lapses by itself. After hf_close() of its handle a lease is not held, nothing was
 * reported or given back (it lapses by itself), and this only frees it. NULL is fine. */
HF_API enum hf_error hf_lease_release(hf_lease *lease);

/* ---- stock: flash sale; scope: product ------------------------------------------------------- */

/* STOCK.LOAD: set how much there is to sell. CAPACITY_IN_USE below what is taken or sold. */
struct hf_stock_load_args {
    struct hf_bytes product;
    int64_t quantity;
    int64_t shards;         /* 0: 1 */
    int64_t watermark;      /* optional */
    struct hf_bytes policy; /* "merge" (default) or "steal" */
};
struct hf_stock_load_reply {
    int64_t available;
};
HF_API enum hf_error hf_stock_load(hf_handle *handle, const struct hf_stock_load_args *args,
                                   struct hf_stock_load_reply *reply);

/* STOCK.TAKE: hold some for an order until it is settled, given back, or due. SOLD_OUT,
 * USER_LIMIT_EXCEEDED if the user would have more than `max` of the product, bought and taken. */
struct hf_stock_take_args {
    struct hf_bytes product, order, user;
    int64_t quantity;
    int64_t ttl_ms; /* 0: 900 s */
    int64_t max;    /* 0: any number */
};
struct hf_stock_take_reply {
    int64_t remaining;
};
HF_API enum hf_error hf_stock_take(hf_handle *handle, const struct hf_stock_take_args *args,
                                   struct hf_stock_take_reply *reply);

/* STOCK.EXTEND: move an order's deadline to now + ttl, at most 12 first TTLs after its start, and
 * never to an earlier time. NOT_FOUND, PRODUCT_NOT_FOUND, NOT_OWNER, INVALID_STATE once settled. */
struct hf_stock_extend_args {
    struct hf_bytes product, order;
    struct hf_bytes user; /* optional: another user's order is NOT_OWNER */
    int64_t ttl_ms;
};
struct hf_stock_extend_reply {
    int64_t expires_at_ms;
};
HF_API enum hf_error hf_stock_extend(hf_handle *handle, const struct hf_stock_extend_args *args,
                                     struct hf_stock_extend_reply *reply);

/* STOCK.SETTLE: sold for good. NOT_FOUND, PRODUCT_NOT_FOUND, NOT_OWNER. */
struct hf_stock_settle_args {
    struct hf_bytes product, order;
    struct hf_bytes user; /* optional: another user's order is NOT_OWNER */
};
struct hf_stock_settle_reply {
    int64_t remaining;
};
HF_API enum hf_error hf_stock_settle(hf_handle *handle, const struct hf_stock_settle_args *args,
                                     struct hf_stock_settle_reply *reply);

/* STOCK.GIVE: taken back. NOT_FOUND, PRODUCT_NOT_FOUND, NOT_OWNER, INVALID_STATE once settled. */
struct hf_stock_give_args {
    struct hf_bytes product, order;
    struct hf_bytes user; /* optional: another user's order is NOT_OWNER */
};
struct hf_stock_give_reply {
    int64_t remaining;
};
HF_API enum hf_error hf_stock_give(hf_handle *handle, const struct hf_stock_give_args *args,
                                   struct hf_stock_give_reply *reply);

/* STOCK.LIST: the orders of a product that are taken, a page at a time. PRODUCT_NOT_FOUND;
 * INVALID_ARGUMENT for what is no cursor. */
struct hf_stock_list_args {
    struct hf_bytes product;
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_stock_order {
    char order_id[HF_ID_SIZE], user_id[HF_ID_SIZE];
    int64_t quantity, created_at, expires_at;
    char status[HF_WORD_SIZE]; /* "taken" */
};
struct hf_stock_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_stock_order *items; /* NULL if there are none; free with hf_free() */
};
HF_API enum hf_error hf_stock_list(hf_handle *handle, const struct hf_stock_list_args *args,
                                   struct hf_stock_list_reply *reply);

/* STOCK.CLOSE: remove a product of which nothing is taken; the reply has what was sold and what was
 * left, or zeros if there is no such product. INVALID_STATE while any of it is taken. */
struct hf_stock_close_args {
    struct hf_bytes product;
};
struct hf_stock_close_reply {
    int64_t sold, available;
};
HF_API enum hf_error hf_stock_close(hf_handle *handle, const struct hf_stock_close_args *args,
                                    struct hf_stock_close_reply *reply);

/* STOCK.GET: the product's totals; loaded = available + taken + sold. PRODUCT_NOT_FOUND. */
struct hf_stock_get_args {
    struct hf_bytes product;
};
struct hf_stock_get_reply {
    int64_t available, taken, sold, loaded, shards;
    char mode[HF_WORD_SIZE];
};
HF_API enum hf_error hf_stock_get(hf_handle *handle, const struct hf_stock_get_args *args,
                                  struct hf_stock_get_reply *reply);

/* STOCK.ADJUST: move what is available by a difference. CAPACITY_IN_USE below zero. */
struct hf_stock_adjust_args {
    struct hf_bytes product;
    int64_t delta;
    struct hf_bytes reason;
};
struct hf_stock_adjust_reply {
    int64_t available;
};
HF_API enum hf_error hf_stock_adjust(hf_handle *handle, const struct hf_stock_adjust_args *args,
                                     struct hf_stock_adjust_reply *reply);

/* ---- sale: stock with a ledger; scope: product ----------------------------------------------- */

/* The calls of this section need a ledger, an SQL database that has the last word about what is
 * sold: hf_open_with() names one, embedded:DIR has one of its own, a server has the one it was
 * started with. LEDGER_DOWN: there is none, or it does not answer. */

/* STOCK.OPEN: a product that the ledger has is opened in the engine, with the stock that is left
 * there. PRODUCT_NOT_FOUND: the ledger does not have it. */
struct hf_stock_open_args {
    struct hf_bytes product;
    int64_t shards;         /* 0: 1 */
    int64_t watermark;      /* optional */
    struct hf_bytes policy; /* "merge" (default) or "steal" */
};
struct hf_stock_open_reply {
    int64_t available;
};
HF_API enum hf_error hf_stock_open(hf_handle *handle, const struct hf_stock_open_args *args,
                                   struct hf_stock_open_reply *reply);

/* STOCK.BUY: the whole guarded purchase: taken in the engine, sold in the ledger, settled in the
 * engine. SOLD_OUT, USER_LIMIT_EXCEEDED as STOCK.TAKE; INVALID_STATE if the order id was sold with
 * other arguments, or returned. TIMEOUT whose message starts "outcome unknown:" may have been sold:
 * the same call again finds out. */
struct hf_stock_buy_args {
    struct hf_bytes product, order, user;
    int64_t quantity;
    int64_t max;        /* 0: any number */
    int64_t unit_price; /* optional */
};
struct hf_stock_buy_reply {
    int64_t remaining;
    char status[HF_WORD_SIZE]; /* "SOLD" */
};
HF_API enum hf_error hf_stock_buy(hf_handle *handle, const struct hf_stock_buy_args *args,
                                  struct hf_stock_buy_reply *reply);

/* STOCK.RETURN: an order that was sold comes back, once however often it is repeated. NOT_FOUND,
 * PRODUCT_NOT_FOUND, INVALID_STATE if it was cancelled. */
struct hf_stock_return_args {
    struct hf_bytes product, order;
};
struct hf_stock_return_reply {
    char status[HF_WORD_SIZE]; /* "RETURNED" */
    int64_t available;
};
HF_API enum hf_error hf_stock_return(hf_handle *handle, const struct hf_stock_return_args *args,
                                     struct hf_stock_return_reply *reply);

/* STOCK.ORDER: an order as the ledger has it. NOT_FOUND. */
struct hf_stock_order_args {
    struct hf_bytes product, order;
};
struct hf_stock_order_reply {
    char order_id[HF_ID_SIZE], product_id[HF_ID_SIZE], user_id[HF_ID_SIZE];
    int64_t quantity, unit_price;
    char status[HF_WORD_SIZE]; /* "sold", "returned" or "cancelled" */
    int64_t sold_at;           /* ms since the epoch, by the database's clock */
    int64_t returned_at;       /* 0 unless it was returned */
};
HF_API enum hf_error hf_stock_order(hf_handle *handle, const struct hf_stock_order_args *args,
                                    struct hf_stock_order_reply *reply);

/* RECONCILE: compares the engine with the ledger, of one product or of all, and corrects the engine
 * by the differences that are certain. */
struct hf_reconcile_args {
    struct hf_bytes product; /* empty: all */
    bool dry;                /* only tell */
};
struct hf_reconcile_reply {
    int64_t products;  /* that were compared */
    int64_t corrected; /* that differed */
    int64_t drift;     /* the sum of the differences, without their signs */
};
HF_API enum hf_error hf_reconcile(hf_handle *handle, const struct hf_reconcile_args *args,
                                  struct hf_reconcile_reply *reply);

/* ---- sagas of checkouts; scope: saga --------------------------------------------------------- */

/* A checkout (SEATS.CHECKOUT) is a saga: seats are held, a payment is taken, the booking
 * confirmed; or all of it is taken back. It goes on by itself in the process of the engine, and in
 * any other that shares the ledger if that one ends. The calls of this section need a ledger, as
 * those of a sale do. */

/* SAGA.GET: how far it is. NOT_FOUND. */
struct hf_saga_get_args {
    struct hf_bytes saga;
    int64_t wait_ms; /* for the end */
};
#define HF_SAGA_ERROR_SIZE 256
struct hf_saga_get_reply {
    char saga_id[HF_ID_SIZE], status[HF_WORD_SIZE];
    char event_id[HF_ID_SIZE], booking_id[HF_ID_SIZE], zone_id[HF_ID_SIZE], user_id[HF_ID_SIZE];
    int64_t quantity, unit_price, amount;
    char currency[8];
    char payment_id[HF_ID_SIZE];
    char payment[HF_WORD_SIZE]; /* "none", "sent", "succeeded", "declined" or "refunded" */
    char provider[HF_WORD_SIZE];
    char error_code[32], error_message[HF_SAGA_ERROR_SIZE];
    int64_t attempts;               /* of the step that it is at */
    int64_t created_at, updated_at; /* ms since the epoch, by the database's clock */
};
HF_API enum hf_error hf_saga_get(hf_handle *handle, const struct hf_saga_get_args *args,
                                 struct hf_saga_get_reply *reply);

/* SAGA.LIST: the sagas of the ledger in the order of their ids, a page at a time. A page of one
 * status may be short, or empty, and still have a cursor. INVALID_ARGUMENT, LEDGER_DOWN, TIMEOUT.
 */
struct hf_saga_list_args {
    struct hf_bytes status; /* optional: only those in this state, such as "NEEDS_ATTENTION" */
    struct hf_bytes after;  /* optional: the cursor of the page before */
    int64_t count;          /* 0: 100 */
};
struct hf_saga_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_saga_get_reply *items; /* free with hf_free() */
};
HF_API enum hf_error hf_saga_list(hf_handle *handle, const struct hf_saga_list_args *args,
                                  struct hf_saga_list_reply *reply);

/* SAGA.RESUME: an administrator has one that needs attention driven on from where it was.
 * NOT_FOUND, BUSY. */
struct hf_saga_resume_args {
    struct hf_bytes saga;
};
struct hf_saga_change_reply {
    char saga_id[HF_ID_SIZE], status[HF_WORD_SIZE];
};
HF_API enum hf_error hf_saga_resume(hf_handle *handle, const struct hf_saga_resume_args *args,
                                    struct hf_saga_change_reply *reply);

/* SAGA.REFUND: an administrator has one taken back that needs attention or is completed: seats and
 * payment. NOT_FOUND, INVALID_STATE, BUSY. */
struct hf_saga_refund_args {
    struct hf_bytes saga;
};
HF_API enum hf_error hf_saga_refund(hf_handle *handle, const struct hf_saga_refund_args *args,
                                    struct hf_saga_change_reply *reply);

/* SAGA.WAKE: the payment peer has news of a payment, which its saga asks for now. NOT_FOUND;
 * KEY_REUSED for a message that has come before. */
struct hf_saga_wake_args {
    struct hf_bytes payment;
    struct hf_bytes message; /* its id; empty: none */
    int64_t sent_s;          /* when it was sent, in s since the epoch */
};
HF_API enum hf_error hf_saga_wake(hf_handle *handle, const struct hf_saga_wake_args *args,
                                  struct hf_saga_change_reply *reply);

/* ---- webhooks; of no scope ------------------------------------------------------------------- */

/* WEBHOOKS.REPLAY: sends webhooks again that were given up; with a time or a key also those that
 * were delivered. */
struct hf_webhooks_replay_args {
    struct hf_bytes key;  /* of this booking or order; empty: of all */
    struct hf_bytes type; /* "order.sold"; empty: of all */
    int64_t since_ms;     /* written since then, in ms since 1970; 0: ever */
};
struct hf_webhooks_replay_reply {
    int64_t replayed; /* that are pending again */
};
HF_API enum hf_error hf_webhooks_replay(hf_handle *handle,
                                        const struct hf_webhooks_replay_args *args,
                                        struct hf_webhooks_replay_reply *reply);

/* ---- waiting room; scope: event -------------------------------------------------------------- */

/* ROOM.OPEN: the settings of an event's room, all of them. Users in line, and passes alive.
 * INVALID_STATE: too many are in line to draw their order by lot. */
struct hf_room_open_args {
    struct hf_bytes event;
    int64_t rate;          /* users that ROOM.TICK admits per second; 0: unlimited */
    int64_t inside;        /* passes alive at most; 0: unlimited */
    int64_t start_ms;      /* nobody is admitted before, in ms since the epoch; 0: no start */
    struct hf_bytes order; /* of those who come before the start: "fifo" or "random" */
    int64_t pass_ms;       /* how long a pass is valid; 0: 600 s */
    bool paused;           /* ROOM.TICK admits nobody */
    bool gate;             /* SEATS.RESERVE needs a pass: NOT_ADMITTED */
};
struct hf_room_open_reply {
    int64_t waiting, inside;
};
HF_API enum hf_error hf_room_open(hf_handle *handle, const struct hf_room_open_args *args,
                                  struct hf_room_open_reply *reply);

/* ROOM.JOIN: stand in line. ALREADY_IN_QUEUE, QUEUE_FULL. */
struct hf_room_join_args {
    struct hf_bytes event, user;
    int64_t max;    /* 0: no bound */
    int64_t ttl_ms; /* 0: 1800 s */
};
struct hf_room_join_reply {
    int64_t position, total;
    char token[HF_TOKEN_SIZE];
};
HF_API enum hf_error hf_room_join(hf_handle *handle, const struct hf_room_join_args *args,
                                  struct hf_room_join_reply *reply);

/* ROOM.POSITION: where the user stands, from 1. NOT_IN_QUEUE. */
struct hf_room_position_args {
    struct hf_bytes event, user;
    struct hf_bytes token; /* of ROOM.JOIN: answers with the pass once the user is admitted */
};
struct hf_room_position_reply {
    int64_t position, total;  /* position 0: not known before the start, or admitted */
    int64_t estimated_wait_s; /* -1: unknown */
    int64_t in_waiting_room;  /* 1; 0 once admitted */
    int64_t refresh_s;        /* ask again after so long */
    char pass[HF_TOKEN_SIZE]; /* of a user who was admitted and showed the token */
};
HF_API enum hf_error hf_room_position(hf_handle *handle, const struct hf_room_position_args *args,
                                      struct hf_room_position_reply *reply);

/* ROOM.LEAVE: out of the line; left is 0 if the user was not in it. */
struct hf_room_leave_args {
    struct hf_bytes event, user;
};
struct hf_room_leave_reply {
    int64_t left;
};
HF_API enum hf_error hf_room_leave(hf_handle *handle, const struct hf_room_leave_args *args,
                                   struct hf_room_leave_reply *reply);

/* ROOM.ADMIT: the first `count` in line leave it and get a pass, in one step. With the same id
 * again within 300 s it admits nobody more, and answers with the same passes, as far as they are
 * valid. */
struct hf_room_admit_args {
    struct hf_bytes event;
    int64_t count;
    int64_t pass_ms;    /* 0: as ROOM.OPEN says, or 600 s */
    struct hf_bytes id; /* empty: none */
};
struct hf_room_admitted {
    char user[HF_ID_SIZE];
    char pass[HF_TOKEN_SIZE];
};
struct hf_room_admit_reply {
    struct hf_room_admitted *admitted; /* oldest first; free with hf_free() */
    size_t count;
};
HF_API enum hf_error hf_room_admit(hf_handle *handle, const struct hf_room_admit_args *args,
                                   struct hf_room_admit_reply *reply);

/* ROOM.TICK: admits as many as RATE, INSIDE, START and PAUSED of the room allow now. */
struct hf_room_tick_args {
    struct hf_bytes event;
    bool limited; /* admit nobody if the room has neither RATE nor INSIDE */
};
HF_API enum hf_error hf_room_tick(hf_handle *handle, const struct hf_room_tick_args *args,
                                  struct hf_room_admit_reply *reply);

/* ROOM.CHECK: is this the user's pass, and still valid? */
struct hf_room_check_args {
    struct hf_bytes event, user, pass;
    bool renew; /* its time starts again */
};
struct hf_room_check_reply {
    int64_t valid;
};
HF_API enum hf_error hf_room_check(hf_handle *handle, const struct hf_room_check_args *args,
                                   struct hf_room_check_reply *reply);

/* ROOM.DONE: the user's pass ends and its place inside is free; done is 0 if there was no pass. */
struct hf_room_done_args {
    struct hf_bytes event, user;
};
struct hf_room_done_reply {
    int64_t done;
};
HF_API enum hf_error hf_room_done(hf_handle *handle, const struct hf_room_done_args *args,
                                  struct hf_room_done_reply *reply);

/* ROOM.STATS: how a room is doing. */
struct hf_room_stats_args {
    struct hf_bytes event;
};
struct hf_room_stats_reply {
    int64_t waiting, inside;
    int64_t admitted;         /* since ROOM.OPEN opened it */
    int64_t rate, inside_max; /* 0: unlimited */
    int64_t started, paused;
    int64_t estimated_wait_s; /* of the last in line; -1: unknown */
    int64_t start_ms;         /* nobody is admitted before it; 0: none */
    int64_t random;           /* 1: the order of those before it is drawn by lot */
    int64_t pass_ms;          /* how long a pass is valid */
    int64_t gate;             /* 1: reserving in the event needs a pass */
};
HF_API enum hf_error hf_room_stats(hf_handle *handle, const struct hf_room_stats_args *args,
                                   struct hf_room_stats_reply *reply);

/* ---- idempotency; scope: key ----------------------------------------------------------------- */

/* IDEM.BEGIN: may I do this? HF_OK with state "NEW" (go ahead) or "COMPLETED" (here is the answer),
 * IN_PROGRESS with state "PROCESSING", KEY_REUSED. */
struct hf_idem_begin_args {
    struct hf_bytes key, fingerprint;
    int64_t ttl_ms; /* 0: 60 s */
};
struct hf_idem_begin_reply {
    char state[HF_WORD_SIZE];
    char *response; /* NUL-terminated too, NULL unless COMPLETED; free with hf_free() */
    size_t response_size;
};
HF_API enum hf_error hf_idem_begin(hf_handle *handle, const struct hf_idem_begin_args *args,
                                   struct hf_idem_begin_reply *reply);

/* IDEM.COMPLETE: this is the answer, for every retry. */
struct hf_idem_complete_args {
    struct hf_bytes key, response;
    int64_t ttl_ms; /* 0: 24 h */
};
struct hf_idem_complete_reply {
    int64_t completed;
};
HF_API enum hf_error hf_idem_complete(hf_handle *handle, const struct hf_idem_complete_args *args,
                                      struct hf_idem_complete_reply *reply);

/* IDEM.ABORT: not done after all; the next BEGIN is new. */
struct hf_idem_abort_args {
    struct hf_bytes key;
};
struct hf_idem_abort_reply {
    int64_t aborted;
};
HF_API enum hf_error hf_idem_abort(hf_handle *handle, const struct hf_idem_abort_args *args,
                                   struct hf_idem_abort_reply *reply);

/* ---- looking inside -------------------------------------------------------------------------- */

/* LIST: the names of all that there is of a kind ("events", "zones", "tenants", "semaphores",
 * "locks", "products", "rooms" or "keys") that begin with `match`, with its totals. A zone's name
 * is that of its event, a space and its own. A server tells names only; totals of other kinds, and
 * those that an engine does not know, are 0 or empty. */
struct hf_list_args {
    struct hf_bytes kind;
    struct hf_bytes match; /* optional */
    struct hf_bytes after; /* optional: the cursor of the page before */
    int64_t count;         /* 0: 100 */
};
struct hf_list_item {
    char name[2 * HF_ID_SIZE];
    char event_id[HF_ID_SIZE], zone_id[HF_ID_SIZE];   /* of a zone */
    int64_t zones, bookings;                          /* of an event */
    int64_t capacity, available, reserved, confirmed; /* of a zone */
    int64_t used, limit, held;                        /* of a tenant */
    int64_t in_use, max, waiting;                     /* of a semaphore; waiting of a room */
    int64_t inside;                                   /* of a room */
    char lock_id[HF_ID_SIZE];                         /* of a lock */
    int64_t fence, ttl_ms;                            /* of a lock */
    int64_t taken, sold, loaded, shards;              /* of a product, with available */
    char mode[HF_WORD_SIZE];                          /* of a product */
    char state[HF_WORD_SIZE];                         /* of a key: "PROCESSING", "COMPLETED" */
};
struct hf_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_list_item *items; /* free with hf_free() */
};
HF_API enum hf_error hf_list(hf_handle *handle, const struct hf_list_args *args,
                             struct hf_list_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
