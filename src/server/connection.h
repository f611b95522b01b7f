/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's socket: reads when the session can take more, sends what it has to say, and sees to
 * it that nobody slow keeps others waiting. */
#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include "net/stream.h"
#include "server/session.h"

struct loop;
struct connection;

/* Connections that may stay as they are only so long, the oldest first. */
struct patience {
    struct list connections;
    int64_t limit_ms; /* 0: for ever */
};

struct connection {
    struct session session;
    struct loop *loop;
    struct stream stream;

    struct buffer in; /* what was read and not used yet */
    size_t in_used;
    size_t sent; /* of session.out */

    int events;            /* that came and are to be seen to in its turn */
    bool heavy;            /* it sends much at a time */
    bool begun;            /* something came of it */
    bool at_end;           /* the client sends no more */
    bool lingering;        /* all is said; waiting for the client to hang up */
    bool ending, released; /* inside connection_end(); the session was let go in there */
    bool closed, over;     /* the loop has let go of it; the session has */

    struct patience *patience; /* which one it tries; NULL: none */
    struct list patient;
    uint64_t patient_ns;
    uint64_t patient_answered; /* session.answered then */
};

/* Takes over an accepted socket. */
void connection_begin(struct loop *loop, int fd, const struct front *front);

/* Sends what may be sent; goes on with what was read before. The connection may be gone after. */
void connection_send(struct connection *connection);
void connection_resume(struct connection *connection);

/* No more requests: what was asked is answered, then it ends. */
void connection_drain(struct connection *connection);

/* Of a server that stops: ends a lingering one whose client's side has taken all of its answers. */
void connection_hang_up(struct connection *connection);

/* Ends it now. What was granted to the client and not delivered is given back. */
void connection_end(struct connection *connection);

/* How much memory it makes us keep; so much is nothing to speak of. */
#define CONNECTION_SMALL ((size_t)2 << 10)
size_t connection_keeps(const struct connection *connection);

/* Do clients keep more memory than they may? The end of this turn sends what it can and closes some
 * of them, and nothing is read until then. */
bool connections_full(const struct loop *loop);

/* server->release(): the session is freed at the end of the turn, by the other. */
void connection_release(struct session *session);
void connection_free_released(struct loop *loop);

/* Puts it where its state belongs: into the list of those who are slow, quiet, and so on. */
void patience_update(struct connection *connection);

static inline bool connection_has_unsent(const struct connection *connection)
{
    return connection->sent < connection->session.out.size;
}

static inline struct connection *connection_of(struct session *session)
{
    return LIST_ENTRY(session, struct connection, session);
}

#endif
