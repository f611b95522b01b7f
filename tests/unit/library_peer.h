/* SPDX-License-Identifier: Apache-2.0
 *
 * A server just good enough to talk to: an engine in memory behind a port of the loopback, with a
 * thread for each connection. It can be told to misbehave. */
#ifndef UNIT_LIBRARY_PEER_H
#define UNIT_LIBRARY_PEER_H

#include "holdfast.h"

#include <pthread.h>
#include <stdatomic.h>

enum peer_mode {
    PEER_GOOD,
    PEER_SLOW,    /* answers a byte at a time */
    PEER_SILENT,  /* carries commands out and never answers */
    PEER_HANG_UP, /* carries them out and closes the connection */
    PEER_HALF,    /* answers half, then closes the connection */
    PEER_GARBAGE, /* answers what no command does */
    PEER_CHATTY,  /* answers more than it was asked */
};

#define PEER_CONNECTIONS_MAX 256

struct peer {
    hf_handle *engine;
    int listener;
    unsigned port;
    pthread_t thread;
    _Atomic enum peer_mode mode;
    const char *user, *secret; /* secret NULL: anybody may; user NULL: it is a token */
    const char *info;          /* what INFO answers */
    atomic_int connections;    /* so far */
    atomic_int commands;       /* so far, without those of its own */
    int fds[PEER_CONNECTIONS_MAX];
    pthread_t threads[PEER_CONNECTIONS_MAX];
};

/* Listens on a free port, or on peer->port if that is set. */
void peer_start(struct peer *peer);
/* Closes all connections, and no longer listens; the engine is kept for another peer_start(). */
void peer_stop(struct peer *peer);
/* Closes all connections that there are now. */
void peer_hang_up(struct peer *peer);

/* "holdfast://WHO127.0.0.1:PORTOPTIONS". Static, overwritten by the next call. */
const char *peer_url(const struct peer *peer, const char *who, const char *options);

#endif
