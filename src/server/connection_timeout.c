/* SPDX-License-Identifier: Apache-2.0
 *
 * The time limits of connections: which one the state of a connection falls under. The loop keeps a
 * list for each limit and ends the connections that exceed theirs. */
#include "server/loop.h"
#include "server/strangers.h"

size_t connection_memory(const struct connection *connection)
{
    const struct session *session = &connection->session;
    size_t own = session->front->memory != NULL ? session->front->memory(session) : 0;

    return connection->in.capacity + session->out.capacity + session->undo.capacity + own;
}

size_t connections_memory(const struct loop *loop)
{
    return loop->server.memory.used + loop->strangers.tls_bytes;
}

/* The time limit of the state that the connection is in; NULL for a state without one. */
static struct time_limit *time_limit_of(struct connection *connection)
{
    struct loop *loop = connection->loop;
    struct session *session = &connection->session;
    bool stranger = loop->server.auth != NULL && session->who.role == ROLE_NONE;

    if (connection->lingering) {
        return &loop->lingering;
    }
    if (session->only_health && !session->closing) {
        return &loop->health;
    }
    /* What is not on disk yet is not the client's to take. */
    if (connection->sent < session->firm || stream_is_handshaking(&connection->stream)) {
        return &loop->slow;
    }
    if (!session_busy(session) && !session->wants_ticks &&
        (session->partial || (stranger && session->front == &front_resp))) {
        return &loop->slow;
    }
    if (connection_memory(connection) > CONNECTION_SMALL) {
        return &loop->crowding;
    }
    bool idle = !session_busy(session) && !session->wants_ticks;
    return idle && session->front == &front_http ? &loop->quiet : NULL;
}

void connection_set_time_limit(struct connection *connection)
{
    stranger_update(connection);
    if (!stream_is_open(&connection->stream)) {
        return;
    }
    struct time_limit *wanted = time_limit_of(connection);

    if (wanted == connection->time_limit &&
        (wanted == NULL || connection->limited_answered == connection->session.answered)) {
        return;
    }
    if (connection->time_limit != NULL) {
        list_remove(&connection->limited);
    }
    connection->time_limit = wanted;
    if (wanted != NULL) {
        connection->limited_ns = clock_nanoseconds();
        connection->limited_answered = connection->session.answered;
        list_add_last(&wanted->connections, &connection->limited);
    }
}
