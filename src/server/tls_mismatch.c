/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers a client that speaks TLS to a plain port, or plainly to one of TLS, with what is wrong,
 * in words that it understands, and logs it. */
#include "server/tls_mismatch.h"

#include "server/loop.h"

#include <sys/socket.h>

#define TLS_RECORD 0x16 /* how a client that speaks TLS begins */

static void point_out(struct connection *connection, const char *mistake, const char *words,
                      size_t size)
{
    struct session *session = &connection->session;

    server_warn(session->server, WARNING_PROTOCOL, "%s: %s, on the %s port", session->peer, mistake,
                session->front->name);
    session->server->metrics.malformed++;
    session->closing = true;
    buffer_bytes(&session->out, words, size);
    session_touch(session);
}

bool tls_mismatch_noticed(struct connection *connection)
{
    static const char alert[] = {0x15, 3, 1, 0, 2, 2, 40}; /* fatal: there will be no handshake */
    const char *wants_tls = connection->session.front->wants_tls;
    unsigned char first;

    if (connection->begun || recv(connection->stream.fd, &first, 1, MSG_PEEK) != 1) {
        return false;
    }
    connection->begun = true;
    if (connection->stream.tls == NULL && first == TLS_RECORD) {
        point_out(connection, "speaks TLS, which is not spoken here", alert, sizeof alert);
        return true;
    }
    /* TLS begins with no character that a request could begin with. */
    if (connection->stream.tls != NULL && first >= '\r' && first < 127 && first != TLS_RECORD) {
        stream_end_tls(&connection->stream);
        point_out(connection, "does not speak TLS, which is spoken here", wants_tls,
                  strlen(wants_tls));
        return true;
    }
    return false;
}
