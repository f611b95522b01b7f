/* SPDX-License-Identifier: Apache-2.0
 *
 * Strangers: connections whose TLS handshake is not finished, or that have not shown who they are
 * to a server with users. They get a deadline to sign in, which nothing that they ask for renews,
 * so many places from one address, and a share of all connections and of the memory. When memory is
 * short they are closed first.
 *
 *     connected ──> stranger ──signs in──> known ──RESET, a request of HTTP without a secret──┐
 *                      ↑ └──the deadline──> dismissed ──what is in flight is answered──> ended │
 *                      └────────────────────────────────────────────────────────────────────────┘
 */
#ifndef SERVER_STRANGERS_H
#define SERVER_STRANGERS_H

#include "server/connection.h"

struct strangers {
    struct list waiting;   /* their deadline is not over; the one whose is next comes first */
    struct list dismissed; /* it is over, and something is in flight yet */
    size_t bytes;          /* that they hold, OpenSSL's included */
    size_t tls_bytes;      /* OpenSSL's alone, which server->memory does not count */
};

void strangers_init(struct strangers *strangers);

/* Whether one more may be taken from an origin, or NULL if nobody came from there yet. */
enum stranger_place {
    PLACE_FREE,
    PLACE_HEALTH, /* only to ask for the health of the server */
    PLACE_NONE,
};
enum stranger_place strangers_place(struct loop *loop, const struct origin *origin,
                                    bool has_health);

/* Enters the connection among the strangers if it is one, and takes it out if it is not; brings up
 * to date what it holds. Called whenever that may have changed. */
void stranger_update(struct connection *connection);
/* The connection ends. */
void stranger_leave(struct connection *connection);

/* Ends those whose deadline is over. False if there was no time for all. */
bool strangers_end_overdue(struct loop *loop, uint64_t ends);

/* Closes strangers, the oldest first, while they hold more than their share, or memory is short.
 * Returns how many. */
unsigned strangers_evict(struct loop *loop, size_t enough);
/* Do they hold more than their share of the memory? */
bool strangers_full(const struct loop *loop);

#endif
