/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a connection may stay as it is. */
#include "server/loop.h"

size_t connection_keeps(const struct connection *connection)
{
    const struct session *session = &connection->session;
    size_t own = session->front->keeps != NULL ? session->front->keeps(session) : 0;

    return connection->in.capacity + session->out.capacity + session->undo.capacity + own;
}

/* What it keeps others waiting with, if anything. */
static struct patience *tries(struct connection *connection)
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
    if (connection_has_unsent(connection) || stream_is_handshaking(&connection->stream)) {
        return &loop->slow;
    }
    if (!session_busy(session) && !session->wants_ticks &&
        (session->partial || (stranger && session->front == &front_resp))) {
        return &loop->slow;
    }
    if (connection_keeps(connection) > CONNECTION_SMALL) {
        return &loop->crowding;
    }
    bool idle = !session_busy(session) && !session->wants_ticks;
    return idle && session->front == &front_http ? &loop->quiet : NULL;
}

void patience_update(struct connection *connection)
{
    struct patience *wanted = tries(connection);

    if (wanted == connection->patience &&
        (wanted == NULL || connection->patient_answered == connection->session.answered)) {
        return;
    }
    if (connection->patience != NULL) {
        list_remove(&connection->patient);
    }
    connection->patience = wanted;
    if (wanted != NULL) {
        connection->patient_ns = clock_nanoseconds();
        connection->patient_answered = connection->session.answered;
        list_add_last(&wanted->connections, &connection->patient);
    }
}
