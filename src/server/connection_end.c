/* SPDX-License-Identifier: Apache-2.0
 *
 * How a connection ends: politely, so that the last answers arrive; what of them the client has
 * acknowledged by then; and when its memory is freed. */
#include "server/connection.h"

#include "server/loop.h"
#include "server/strangers.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* The connection is freed when both the loop and the session are done with it. */
static void stream_closed(struct stream *stream)
{
    struct connection *connection = LIST_ENTRY(stream, struct connection, stream);

    connection->closed = true;
    if (connection->over) {
        free(connection);
    }
}

void connection_release(struct session *session)
{
    struct connection *connection = connection_of(session);

    if (connection->ending) {
        connection->released = true; /* session_close() still uses it */
    } else {
        list_add_last(&connection->loop->released, &session->touched);
    }
}

void connection_free_released(struct loop *loop)
{
    struct list *head = &loop->released;

    for (struct list *node = head->next, *next; node != head; node = next) {
        struct session *session = LIST_ENTRY(node, struct session, touched);
        struct connection *connection = connection_of(session);
        next = node->next;
        session_free(session);
        connection->over = true;
        if (connection->closed) {
            free(connection);
        }
    }
    list_init(head);
}

/* How many bytes were sent that the client's system has not acknowledged. The figure outlives a
 * reset, which acknowledges nothing. */
static size_t unacknowledged(const struct connection *connection)
{
    int bytes = 0;

    if (ioctl(connection->stream.fd, SIOCOUTQ, &bytes) != 0) {
        return SIZE_MAX;
    }
    bytes -= connection->lingering; /* our goodbye counts as a byte */
    return bytes > 0 ? (size_t)bytes : 0;
}

/* Finds out how many bytes of the answers were delivered, however the connection ended: the client
 * may know of what its system has acknowledged, and its heartbeat tells whether it lives. TLS sends
 * more bytes than the answers have, so that a little too much counts as undelivered. True if all
 * was delivered. */
static bool note_delivered(const struct connection *connection, struct session *session)
{
    size_t missing = unacknowledged(connection);
    uint64_t sent = connection->stream.sent;

    if (session->out.failed) { /* the last answers are not in it */
        return false;
    }
    session->delivered = missing < sent ? sent - missing : 0;
    return missing == 0 && !connection_has_unsent(connection);
}

void connection_end(struct connection *connection)
{
    if (connection->ending || !stream_is_open(&connection->stream)) {
        return;
    }
    connection->ending = true;
    log_line(&connection->session.server->log, LOG_DEBUG, "%s: closed, %llu answers",
             connection->session.peer, (unsigned long long)connection->session.answered);
    bool heard =
        connection->session.undo.size == 0 || note_delivered(connection, &connection->session);
    if (connection->time_limit != NULL) {
        list_remove(&connection->limited);
        connection->time_limit = NULL;
    }
    stranger_leave(connection);
    ahead_over(connection);
    stream_close(&connection->stream, stream_closed);
    buffer_free(&connection->in);
    bool free_now = session_close(&connection->session, heard);
    connection->ending = false;
    if (free_now || connection->released) {
        session_free(&connection->session);
        connection->over = true;
    }
}

/* May a server that stops hang up? Only when all answers are acknowledged: a reset cannot destroy
 * them then. */
static bool may_close(const struct connection *connection)
{
    return connection->session.server->state == SERVER_DRAINING && unacknowledged(connection) == 0;
}

void connection_hang_up(struct connection *connection)
{
    if (may_close(connection)) {
        connection_end(connection);
    }
}

void connection_linger(struct connection *connection)
{
    stream_end_tls(&connection->stream);
    if (connection->at_end || may_close(connection) ||
        shutdown(connection->stream.fd, SHUT_WR) != 0) {
        connection_end(connection);
        return;
    }
    connection->lingering = true;
    buffer_free(&connection->in);
    connection->in_used = 0;
    connection_set_time_limit(connection);
    connection_watch(connection);
}
