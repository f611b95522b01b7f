/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's connection to the server: a session and its stream. It reads when the session can take
 * more, sends the session's answers, and bounds the time and the memory that a slow client costs
 * others. */
#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include "net/stream.h"
#include "server/ahead.h"
#include "server/session.h"

struct loop;
struct connection;

/* Connections whose state has a time limit, the oldest first. */
struct time_limit {
    struct list connections;
    int64_t limit_ms; /* 0: no limit */
};

struct connection {
    struct session session;
    struct loop *loop;
    struct stream stream;

    struct buffer in; /* bytes that were read and not used yet */
    size_t in_used;   /* of them the session has used so many */
    size_t sent;      /* bytes of session.out that the system has taken */
    struct done_ahead ahead;

    int events;        /* ready, and to be handled when the connection's turn comes */
    bool heavy;        /* the client sends much at a time */
    bool begun;        /* its first byte was seen */
    bool at_end;       /* the client sends no more */
    bool lingering;    /* everything is answered; waiting for the client to hang up */
    bool ending;       /* inside connection_end() */
    bool released;     /* connection_release() was called in there */
    bool closed, over; /* the stream is closed wholly; the session is freed */

    struct time_limit *time_limit; /* the time limit of its state; NULL: none */
    struct list limited;           /* its node in time_limit->connections */
    uint64_t limited_ns;           /* when it entered that list */
    uint64_t limited_answered;     /* session.answered at that time */

    /* Of a stranger: see strangers.h. */
    bool is_stranger, is_dismissed;
    struct list stranger;       /* of loop->strangers */
    struct list stranger_there; /* of session.origin->strangers */
    uint64_t stranger_ns;       /* since when it is one */
    size_t stranger_bytes, stranger_tls_bytes;
};

/* Takes over an accepted socket that comes from there; with `only_health` only to answer whether
 * the server is healthy. */
void connection_begin(struct loop *loop, int fd, const struct front *front, uint64_t origin,
                      bool only_health);

/* Sends what is committed; goes on with what was read before. The connection may be gone after. */
void connection_send(struct connection *connection);
void connection_resume(struct connection *connection);

/* Takes no more requests; the connection ends when those it has are answered. */
void connection_drain(struct connection *connection);

/* Of a server that stops: ends a lingering connection whose client has acknowledged all answers. */
void connection_hang_up(struct connection *connection);

/* Everything is answered. What the client still sends is read and discarded until it hangs up: a
 * close with unread input would be a reset, and could destroy the last answers. */
void connection_linger(struct connection *connection);

/* Ends it now. What was granted to the client and not delivered to it is taken back. */
void connection_end(struct connection *connection);

/* How much memory the connection holds; up to CONNECTION_SMALL is not worth reclaiming. */
#define CONNECTION_SMALL ((size_t)2 << 10)
size_t connection_memory(const struct connection *connection);

/* How much memory all connections hold, with what OpenSSL holds for handshakes and strangers. */
size_t connections_memory(const struct loop *loop);

/* Do connections hold more memory than they may? The end of this turn sends what it can and closes
 * some of them; nothing is read until then. */
bool connections_full(const struct loop *loop);

/* For reading ahead. May the crew read for it? Only what goes into a shared buffer, and only where
 * connection_resume() would read, too. */
bool connection_can_read_ahead(const struct connection *connection);
/* Where to read to, and how much; NULL when there is no memory. What was left over of the last read
 * stands before it. */
char *connection_room(struct connection *connection, size_t *size);
/* Keeps what was read ahead until the connection is resumed. */
void connection_keep_read(struct connection *connection, const char *data, size_t size);

/* server->release(): the session is freed at the end of the turn, by connection_free_released(). */
void connection_release(struct session *session);
void connection_free_released(struct loop *loop);

/* Watches for the events that the connection can do something with. */
void connection_watch(struct connection *connection);

/* Moves the connection to the time limit of its state: slow, quiet, and so on. */
void connection_set_time_limit(struct connection *connection);

static inline bool connection_has_unsent(const struct connection *connection)
{
    return connection->sent < connection->session.out.size;
}

static inline struct connection *connection_of(struct session *session)
{
    return LIST_ENTRY(session, struct connection, session);
}

#endif
