/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/handle.h: an engine is opened, looked after and closed. */
#ifndef HOLDFAST_HANDLE_H
#define HOLDFAST_HANDLE_H

#include <holdfast/error.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
