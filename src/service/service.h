/* SPDX-License-Identifier: Apache-2.0
 *
 * The service: an engine and a ledger behind the interface of an engine. Commands whose row says
 * so (COMMAND_SERVICE) it carries out itself, by engine commands and ledger transactions; plain
 * ones go straight on to the engine inside, unless the ledger guards them. Fronts see no
 * difference: they submit to a struct engine and turn it.
 *
 *     front ─submit─> service ─submit─> engine          STOCK.TAKE, SETTLE, GIVE, ADJUST …
 *                        │  └─sell────> ledger           the conditional update has the last word
 *                        └─ breaker, limiter, reconciliation, rebuild */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "engine/engine.h"
#include "ledger/ledger.h"

struct service_options {
    const char *ledger_url; /* NULL: `ledger_lazily`, or none */
    /* What ledger_url is where none was given: made when something first needs it, and guards no
     * plain command; NULL: what needs a ledger is refused. */
    const char *ledger_lazily;
    const char *ledger_inventory; /* "shop.items(sku, on_hand)", or NULL */
    unsigned ledger_connections;
    int64_t ledger_timeout_ms;
    int64_t breaker_window_ms;   /* how far back failures of engine and payments count */
    int64_t breaker_failures;    /* per cent of the calls in the window that open it */
    int64_t breaker_open_for_ms; /* until it tries again */
    int64_t fallback_rate;       /* orders a second that go past an engine that is away, in all */
    int64_t servers;             /* among how many servers that rate is divided */
    int64_t reconcile_every_ms;  /* 0: only on demand */
    /* Checkout. */
    const char *payment_url;    /* of the payment peer; "test:"; NULL: nothing can be checked out */
    const char *payment_secret; /* signs what is sent to it and what it sends; or NULL */
    const char *payment_secret_old; /* also accepted from it, while secrets are changed; or NULL */
    const char *currency;           /* of a checkout that names none */
    const char *late_payment;       /* "rebook", or "refund" */
    int64_t saga_lease_ms;          /* a server that is silent for so long has lost its sagas */
    int64_t payment_timeout_ms;     /* of a request to the peer */
    int64_t payment_retries;        /* of one whose outcome is unknown */

    const char *quota_sync_at; /* "03:00" UTC, "every 1h", "never"; NULL: if a query or db is set */
    const char *quota_sync_query; /* NULL: USAGE_QUERY */
    const char *quota_sync_db;    /* NULL: the ledger's database */
    bool quota_sync_zero;         /* a tenant that the query does not answer uses nothing */
    int64_t quota_sync_margin_ms; /* commits so long before the reading count as made since */
    /* Requests of ours to others (net/http_client.h), and webhooks. */
    const char *outgoing_allow; /* networks that are not public and may be sent to; or NULL */
    const char *outgoing_ca;    /* a file of trusted certificates; NULL: the system's */
    const char *webhook_url;    /* the receiver; NULL: nothing is told to anybody */
    const char *webhook_secret, *webhook_secret_old; /* old: also signs, during a rotation */
    int64_t admission_every_ms; /* how often waiting rooms admit; 0: they do not by themselves */
    /* A command that the service carried out of its own accord, and its reply. Called where an
     * engine's answer would be. May be NULL. */
    void (*carried_out)(void *context, const struct command *command, const struct reply *reply);
    void *carried_out_context;
};

/* The settings a server has if nothing is said. */
struct service_options service_defaults(void);

/* Opens the engine of a URL and what stands around it. As engine_open(). */
enum hf_error service_open(const char *url, const struct engine_options *options,
                           const struct service_options *service, struct engine **engine,
                           struct problem *problem);

/* Are these settings that could be opened? No I/O. */
enum hf_error service_check(const struct service_options *service, struct problem *problem);

/* The ledger of an engine that keeps a directory, where no other is named: sqlite:DIR/ledger.db.
 * False if the engine of this URL keeps none, or its name is too long. */
bool service_own_ledger(const char *engine_url, char *out, size_t size);

/* The ledger's URL with no secret in it; NULL if there is none, or the engine is a bare one. */
const char *service_ledger_name(struct engine *engine);

/* Looks for totals of the ledger itself that do not agree, and adds how many to *findings; it has a
 * connection of its own, blocks, and may be called on any thread. LEDGER_DOWN if that cannot be
 * done. Only for an engine whose service_ledger_name() is not NULL. */
enum hf_error service_audit_ledger(struct engine *engine, hf_audit_report *report, void *context,
                                   uint64_t *findings, struct problem *problem);

/* A message of the payment peer, as it came: three headers, and the body. */
struct service_callback {
    struct hf_bytes id, timestamp, signature, body;
};

/* Is it from the peer, and of now? Then it is about this payment. UNAUTHORIZED,
 * INVALID_ARGUMENT. */
enum hf_error service_check_callback(struct engine *engine, const struct service_callback *callback,
                                     char payment[HF_ID_SIZE], struct problem *problem);

/* What stands on /readyz of the ledger and the breaker: one line, or NULL if there is no ledger.
 * */
const char *service_status(struct engine *engine);

#endif
