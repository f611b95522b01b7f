/* SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks: what the outbox has is delivered to one receiver, at least once, in the order of each
 * subject. One server delivers at a time, by a lease in the ledger; it works in cycles:
 *
 *     LEASE ─> SETTLE what was answered ─> DUE ─> send ─> … an answer, a kick or a second later …
 *
 * A delivery's way, and what the table of transitions in webhooks_send.c allows:
 *
 *     FREE ──send──> SENDING ──answer──> ANSWERED ──SETTLE──> SETTLING ──done──> FREE
 *                                            ^                    │
 *                                            └── ledger is away ──┘
 *
 * A slow receiver holds up nobody: at most WEBHOOKS_PARALLEL deliveries are in flight, one of a
 * subject. While the receiver fails all the time, one delivery a second tries whether it is
 * back. */
#ifndef SERVICE_WEBHOOKS_H
#define SERVICE_WEBHOOKS_H

#include "net/http_client.h"
#include "net/webhook_signature.h"
#include "service/service_state.h"

#define WEBHOOKS_PARALLEL 32
#define WEBHOOKS_TIMEOUT_MS ((int64_t)10 * 1000)
/* How often the outbox is looked at for what other servers have written. */
#define WEBHOOKS_POLL_MS ((int64_t)1000)
/* How often a server whose receiver wants nothing more looks whether it does again. */
#define WEBHOOKS_ENDED_LOOK_MS ((int64_t)60 * 1000)
/* So many failures in a row, of whatever subjects, are the receiver's. */
#define WEBHOOKS_FAILING 8
/* What could not be delivered for so long is given up. */
#define WEBHOOKS_GIVE_UP_MS ((int64_t)3 * 24 * 3600 * 1000)
/* How long rows that have ended are kept: for a replay. */
#define WEBHOOKS_KEEP_DELIVERED_MS ((int64_t)7 * 24 * 3600 * 1000)
#define WEBHOOKS_KEEP_GIVEN_UP_MS ((int64_t)30 * 24 * 3600 * 1000)
#define WEBHOOKS_SWEEP_EVERY_MS ((int64_t)60 * 1000)

enum delivery_state { DELIVERY_FREE, DELIVERY_SENDING, DELIVERY_ANSWERED, DELIVERY_SETTLING };

struct webhook_delivery {
    struct trace_source source; /* of the log's lines about it: delivery_describe() */
    struct webhooks *webhooks;
    enum delivery_state state;
    struct ledger_event event;
    struct ledger_settled settled; /* once it is answered */
    struct http_exchange exchange;
    struct buffer body;
    char id[80], timestamp[48], signature[WEBHOOK_SIGNATURE_SIZE + 32]; /* headers */
    char trace_header[TRACE_PARENT_SIZE + 16];
    struct trace_parent trace;
};

struct webhooks {
    struct service *service;
    char *url;
    struct webhook_keys keys;
    /* Sends an exchange, which is answered later; tests have their own. */
    void (*send)(void *context, struct http_exchange *exchange);
    void *send_context;

    bool busy;   /* a cycle is under way */
    bool kicked; /* there may be something to send */
    bool leased;
    /* The receiver has answered 410: nothing more is sent. It is noted in the ledger, under a hash
     * of the URL, so that it is so after a restart and on other servers, too; a replay anywhere
     * ends it, which is looked for every now and then. */
    bool ended, ended_noted, ended_looks;
    char receiver[32];
    int64_t leased_ms;     /* when the lease was asked for */
    int64_t due_ms;        /* when the outbox is looked at, without a kick */
    int64_t not_before_ms; /* the ledger was away: no cycle until then */
    int64_t sweep_due_ms, probed_ms;
    int64_t opened_ms, opened_real_ms; /* the service's clock, and the real one */
    unsigned failures;                 /* in a row */

    uint64_t delivered, failed, given_up; /* ever, by this process: rows, attempts, rows */
    int64_t pending, oldest_ms;           /* as of the last look; -1: another server looks */

    struct ledger_outbox outbox;
    struct ledger_event events[LEDGER_DUE_PAGE];
    struct ledger_settled settled[WEBHOOKS_PARALLEL + LEDGER_DUE_PAGE];
    struct ledger_settled postponed[LEDGER_DUE_PAGE];
    size_t postponed_count;
    struct webhook_delivery deliveries[WEBHOOKS_PARALLEL];
};

/* ---- webhooks_send.c ------------------------------------------------------------------------- */

void delivery_move(struct webhook_delivery *delivery, enum delivery_state state);
/* Sends an event; false when there is no memory. */
bool delivery_send(struct webhook_delivery *delivery, const struct ledger_event *event);
/* When it is tried again after so many attempts, with jitter. */
int64_t delivery_delay_ms(struct service *service, int64_t attempts);

#endif
