/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is a stranger, for how long, and how many there may be. */
#include "server/strangers.h"

#include "server/loop.h"

#define EVICT_EXAMINED 512 /* strangers that one turn may examine to reclaim memory */
#define HEALTH_RESERVE 16  /* places of an origin beyond its own, for health checks */
#define PER_ORIGIN_MIN 16  /* unless a setting says so */

void strangers_init(struct strangers *strangers)
{
    *strangers = (struct strangers){.bytes = 0};
    list_init(&strangers->waiting);
    list_init(&strangers->dismissed);
}

static bool is_stranger(const struct connection *connection)
{
    const struct session *session = &connection->session;

    return stream_is_handshaking(&connection->stream) ||
           (session->server->auth != NULL && session->who.role == ROLE_NONE);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The default is half of all connections. */
static size_t most(const struct server_options *options)
{
    int64_t half = options->max_connections / 2;

    return (size_t)(options->max_strangers > 0 ? options->max_strangers : half > 0 ? half : 1);
}

/* The default is a tenth of all connections. */
static size_t most_per_origin(const struct server_options *options)
{
    int64_t tenth = options->max_connections / 10;

    return (size_t)(options->max_strangers_per_address > 0 ? options->max_strangers_per_address
                    : tenth > PER_ORIGIN_MIN               ? tenth
                                                           : PER_ORIGIN_MIN);
}

/* Whoever comes is given the place of somebody who has had time to sign in, and comes from where
 * most of them do. */
static void make_place(struct loop *loop)
{
    struct origin *origin = origin_most_crowded(&loop->server.origins);

    if (origin != NULL) {
        loop->server.metrics.strangers_closed++;
        connection_end(LIST_ENTRY(origin->strangers.next, struct connection, stranger_there));
    }
}

enum stranger_place strangers_place(struct loop *loop, const struct origin *origin, bool has_health)
{
    const struct server *server = &loop->server;
    size_t there = origin != NULL ? origin->stranger_count : 0;
    size_t allowed = most_per_origin(server->options);

    if (server->auth == NULL && loop->tls == NULL) {
        return PLACE_FREE;
    }
    if (there >= allowed) {
        return has_health && there < allowed + HEALTH_RESERVE ? PLACE_HEALTH : PLACE_NONE;
    }
    if (server->stranger_count >= most(server->options)) {
        make_place(loop);
    }
    return PLACE_FREE;
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void enter(struct connection *connection)
{
    struct loop *loop = connection->loop;
    struct origin *origin = connection->session.origin;

    connection->is_stranger = true;
    connection->is_dismissed = false;
    connection->stranger_ns = clock_nanoseconds();
    list_add_last(&loop->strangers.waiting, &connection->stranger);
    list_add_last(&origin->strangers, &connection->stranger_there);
    loop->server.stranger_count++;
    origin->stranger_count++;
}

static void weigh(struct connection *connection, size_t bytes, size_t tls_bytes)
{
    struct strangers *strangers = &connection->loop->strangers;

    strangers->bytes += bytes + tls_bytes - connection->stranger_bytes;
    strangers->tls_bytes += tls_bytes - connection->stranger_tls_bytes;
    connection->stranger_bytes = bytes + tls_bytes;
    connection->stranger_tls_bytes = tls_bytes;
}

void stranger_leave(struct connection *connection)
{
    if (connection->is_stranger) {
        connection->is_stranger = connection->is_dismissed = false;
        weigh(connection, 0, 0);
        list_remove(&connection->stranger);
        list_remove(&connection->stranger_there);
        connection->loop->server.stranger_count--;
        connection->session.origin->stranger_count--;
    }
}

/* ---- the deadline ---------------------------------------------------------------------------- */

/* Answers with the reason, if there is one to hear it, and closes. */
static void say_goodbye(struct connection *connection)
{
    struct session *session = &connection->session;

    if (session->partial) {
        session->front->timed_out(session);
        session->partial = false;
    } else if (session->front->overdue != NULL) {
        buffer_text(&session->out, session->front->overdue);
    }
    session->closing = true;
    session_touch(session);
}

/* What is in flight, a password or a callback, is answered first. */
static void dismiss(struct connection *connection)
{
    const struct session *session = &connection->session;

    if (stream_is_handshaking(&connection->stream) || connection->lingering ||
        connection_has_unsent(connection)) {
        connection_end(connection);
    } else if (!session_busy(session) && !session->closing) {
        say_goodbye(connection);
    }
}

bool strangers_end_overdue(struct loop *loop, uint64_t ends)
{
    struct list *waiting = &loop->strangers.waiting;
    uint64_t limit_ns = (uint64_t)loop->server.options->sign_in_timeout_ms * 1000000;
    uint64_t now_ns = clock_nanoseconds();

    while (limit_ns > 0 && !list_empty(waiting)) {
        struct connection *connection = LIST_ENTRY(waiting->next, struct connection, stranger);
        if (now_ns - connection->stranger_ns < limit_ns) {
            return true;
        }
        if (clock_ticks() > ends) {
            return false;
        }
        list_remove(&connection->stranger);
        list_add_last(&loop->strangers.dismissed, &connection->stranger);
        connection->is_dismissed = true;
        loop->server.metrics.strangers_closed++;
        dismiss(connection);
    }
    return true;
}

void stranger_update(struct connection *connection)
{
    if (!stream_is_open(&connection->stream)) {
        return;
    }
    bool is = is_stranger(connection);
    if (is != connection->is_stranger) {
        if (is) {
            enter(connection);
        } else {
            stranger_leave(connection);
        }
    }
    if (is) {
        weigh(connection, connection_memory(connection), stream_memory(&connection->stream));
    }
    if (connection->is_dismissed && !connection->session.closing) {
        dismiss(connection);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Half of what all clients may hold. */
static size_t share(const struct loop *loop)
{
    return (size_t)loop->server.options->client_memory_bytes / 2;
}

bool strangers_full(const struct loop *loop)
{
    return loop->strangers.bytes > share(loop);
}

unsigned strangers_evict(struct loop *loop, size_t enough)
{
    struct list *lists[] = {&loop->strangers.dismissed, &loop->strangers.waiting};
    size_t most_bytes = strangers_full(loop) ? share(loop) / 4 * 3 : share(loop);
    unsigned closed = 0, seen = 0;

    for (size_t i = 0; i < 2; i++) {
        for (struct list *node = lists[i]->next, *next; node != lists[i]; node = next) {
            struct connection *connection = LIST_ENTRY(node, struct connection, stranger);
            next = node->next;
            if ((connections_memory(loop) <= enough && loop->strangers.bytes <= most_bytes) ||
                seen++ == EVICT_EXAMINED) {
                return closed;
            }
            if (connection->stranger_bytes > CONNECTION_SMALL) {
                connection_end(connection);
                closed++;
            }
        }
    }
    return closed;
}
