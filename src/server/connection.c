/* SPDX-License-Identifier: Apache-2.0
 *
 * Between a stream and its session: reading into a buffer that all connections share, back
 * pressure, turns. How it ends is in connection_end.c. */
#include "server/connection.h"

#include "net/address.h"
#include "server/loop.h"
#include "server/strangers.h"
#include "server/tls_mismatch.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What was left over from the last read is copied in front of the next one up to this size; more
 * has a growing buffer of its own. */
#define LEFT_OVER_SMALL ((size_t)8 << 10)

/* A client that sends so much at a time is served behind those that send less. */
#define HEAVY ((size_t)16 << 10)

#define MUTED_A_TURN 512

bool connections_full(const struct loop *loop)
{
    const struct server *server = &loop->server;

    return connections_memory(loop) > (size_t)server->options->client_memory_bytes &&
           !(list_empty(&loop->slow.connections) && list_empty(&server->touched) &&
             list_empty(&server->flushing) && list_empty(&server->sending));
}

/* Discards what a client that has all its answers still sends. */
static void read_on(struct connection *connection)
{
    char *data = connection->loop->read_buffer;
    ssize_t size = stream_read(&connection->stream, data, READ_SIZE);

    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
        connection_end(connection);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

static ssize_t send_some(struct connection *connection)
{
    const struct session *session = &connection->session;

    return ahead_sent(connection, session->out.data + connection->sent,
                      session->firm - connection->sent);
}

static void sent_all(struct connection *connection)
{
    struct session *session = &connection->session;

    connection->sent = 0;
    session_sent(session);
    if (session->closing) {
        connection_linger(connection);
    } else if (connection->at_end && connection->in.size == 0 && !session_busy(session)) {
        connection_end(connection);
    } else if (!session->waits && (connection->in.size > 0 || session->yielded ||
                                   stream_has_pending(&connection->stream))) {
        session_resume(session);
    }
}

void connection_send(struct connection *connection)
{
    struct session *session = &connection->session;
    struct stream *stream = &connection->stream;

    if (session->out.failed) { /* no memory for its answers: the client has to retry */
        connection_end(connection);
        return;
    }
    if (!connection->ahead.is_written) {
        stream->blocked = stream->wants_read = false;
    }
    while (connection->sent < session->firm &&
           (!stream->blocked || connection->ahead.is_written)) { /* the rest is not on disk yet */
        ssize_t done = send_some(connection);
        if (done > 0) {
            connection->sent += (size_t)done;
            session->server->metrics.bytes_out += (uint64_t)done;
        } else if (done == 0 || (errno != EAGAIN && errno != EINTR)) {
            connection_end(connection);
            return;
        }
    }
    if (!stream->blocked && !connection->lingering && !connection_has_unsent(connection)) {
        sent_all(connection);
    }
    if (stream_is_open(&connection->stream)) {
        connection_set_time_limit(connection);
        connection_watch(connection);
    }
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Gives the session what stands in `in`. */
static void feed_own(struct connection *connection)
{
    struct buffer *in = &connection->in;

    connection->in_used += session_feed(&connection->session, in->data + connection->in_used,
                                        in->size - connection->in_used);
    if (connection->in_used == in->size) {
        buffer_free(in);
        connection->in_used = 0;
    } else if (connection->in_used > in->size / 2) {
        in->size -= connection->in_used;
        memmove(in->data, in->data + connection->in_used, in->size);
        connection->in_used = 0;
    }
}

/* Gives the session what stands in the shared buffer, and retains what it does not use. */
static void feed_shared(struct connection *connection, size_t size)
{
    const char *data = ahead_buffer(connection);
    size_t used = session_feed(&connection->session, data, size);

    if (used < size && !connection->session.closing) {
        buffer_bytes(&connection->in, data + used, size - used);
    }
}

/* Behind what was left over, in the shared buffer if that is little. */
char *connection_room(struct connection *connection, size_t *size)
{
    struct buffer *in = &connection->in;
    char *shared = ahead_buffer(connection);
    size_t left_over = in->size - connection->in_used;

    if (left_over <= LEFT_OVER_SMALL) {
        if (in->data != NULL) {
            memcpy(shared, in->data + connection->in_used, left_over);
        }
        *size = READ_SIZE - left_over;
        return shared + left_over;
    }
    *size = in->size < READ_SIZE ? READ_SIZE - in->size : in->size;
    return buffer_reserve(in, *size) ? in->data + in->size : NULL;
}

static void received(struct connection *connection, const char *at, size_t size)
{
    struct buffer *in = &connection->in;
    const char *shared = ahead_buffer(connection);

    connection->session.server->metrics.bytes_in += size;
    session_heard(&connection->session);
    if (at >= shared && at <= shared + READ_SIZE) {
        size_t left_over = (size_t)(at - shared);
        if (in->capacity > 0) {
            buffer_free(in);
            connection->in_used = 0;
        }
        feed_shared(connection, left_over + size);
    } else {
        in->size += size;
        feed_own(connection);
    }
    if (in->failed) {
        connection_end(connection);
    }
}

/* Is there no request left to be answered, and no answer to be sent? */
static bool is_done(const struct connection *connection)
{
    const struct session *session = &connection->session;

    return !session_busy(session) && !connection_has_unsent(connection) && !session->is_touched &&
           !session->is_sending;
}

/* The client sends no more; its requests are still answered. */
static void receive_end(struct connection *connection)
{
    const struct session *session = &connection->session;

    connection->at_end = true;
    if (session_queues(session) || is_done(connection)) {
        connection_end(connection);
    }
}

/* After requests were taken. If there are answers, the end of the turn sends them, most often in
 * full, and then tells the loop what to watch: that is a system call, and worth doing once. */
static void settle(struct connection *connection)
{
    const struct session *session = &connection->session;

    if (stream_is_open(&connection->stream) && !session->is_touched && !session->is_flushing &&
        !session->is_sending) {
        connection_set_time_limit(connection);
        connection_watch(connection);
    }
}

static void receive(struct connection *connection)
{
    if (tls_mismatch_noticed(connection)) {
        return;
    }
    do {
        size_t size;
        char *at = connection_room(connection, &size);
        ssize_t done = at != NULL ? ahead_received(connection, at, size) : -1;
        if (at == NULL || (done < 0 && errno != EAGAIN && errno != EINTR)) {
            connection_end(connection);
        } else if (done == 0) {
            receive_end(connection);
        } else if (done > 0) {
            connection->heavy = (size_t)done > HEAVY;
            received(connection, at, (size_t)done);
        }
    } while (stream_is_open(&connection->stream) && stream_has_pending(&connection->stream) &&
             !session_stopped(&connection->session) && !connection->at_end);
    settle(connection);
}

static void handle_events(struct connection *connection, int events);

static void resume(struct connection *connection)
{
    struct session *session = &connection->session;
    int events = connection->events;
    bool yielded = session->yielded;

    connection->events = 0;
    session->yielded = false;
    if (events != 0) {
        handle_events(connection, events);
    }
    if (!stream_is_open(&connection->stream)) {
        return;
    }
    /* A stopped session is resumed when it is answered or when all is sent; the others when there
     * is memory. */
    if (session_stopped(session) || connections_full(connection->loop)) {
        session->yielded |= yielded;
        if (!session_stopped(session)) {
            session_resume(session);
        }
        settle(connection);
        return;
    }
    feed_own(connection);
    if (connection->at_end && is_done(connection)) {
        connection_end(connection);
        return;
    }
    if (stream_has_pending(&connection->stream)) {
        receive(connection);
        return;
    }
    settle(connection);
}

void connection_resume(struct connection *connection)
{
    resume(connection);
    if (connection->ahead.read != NULL) {
        ahead_give_back(connection);
    }
}

/* ---- the loop's side ------------------------------------------------------------------------- */

/* Can the session take more input? */
static bool wants_more(const struct connection *connection)
{
    const struct session *session = &connection->session;
    /* Whole requests that were read already come first. */
    bool behind = connection->in.size > connection->in_used && !session->partial;

    return !session_stopped(session) && !connection_has_unsent(connection) && !behind &&
           !connection->at_end;
}

bool connection_can_read_ahead(const struct connection *connection)
{
    const struct stream *stream = &connection->stream;
    int events = connection->events;

    return events & UV_READABLE && !(events & UV_WRITABLE) && !stream->wants_read &&
           !(events & UV_DISCONNECT && session_can_leave(&connection->session)) &&
           stream_is_open(stream) && !stream_is_handshaking(stream) && connection->begun &&
           !connection->lingering && wants_more(connection) &&
           connection->in.size - connection->in_used <= LEFT_OVER_SMALL;
}

void connection_keep_read(struct connection *connection, const char *data, size_t size)
{
    connection->session.server->metrics.bytes_in += size;
    session_heard(&connection->session);
    buffer_bytes(&connection->in, data, size);
    if (connection->in.failed) {
        connection_end(connection);
    } else {
        session_yield(&connection->session); /* it has requests, also for a server that stops */
    }
}

/* Are its answers not on disk yet? */
static bool waits_for_disk(const struct session *session)
{
    return session->server->in_flight && (session->is_touched || session->is_flushing);
}

static void handle_events(struct connection *connection, int events)
{
    if (connection->lingering) {
        read_on(connection);
        return;
    }
    if (events & UV_DISCONNECT && session_can_leave(&connection->session)) {
        connection_end(connection);
        return;
    }
    if (events & UV_WRITABLE || (events & UV_READABLE && connection->stream.wants_read)) {
        connection_send(connection);
        if (stream_is_open(&connection->stream) && stream_is_handshaking(&connection->stream)) {
            receive(connection); /* the handshake goes on */
            return;
        }
    }
    if (stream_is_open(&connection->stream) && events & UV_READABLE && wants_more(connection) &&
        !connection->lingering && !connections_full(connection->loop)) {
        receive(connection);
    } else if (stream_is_open(&connection->stream) && waits_for_disk(&connection->session)) {
        connection_watch(
            connection); /* or the loop would report the same again and again until then */
    }
}

/* Has the connection wait in a queue. Until its turn comes it is not watched: the loop would report
 * the same events again and again. To stop watching costs something too, so that one turn does it
 * for some connections only. */
static void defer(struct connection *connection, int events, struct list *queue)
{
    connection->events |= events;
    session_wait_turn(&connection->session, queue);
    if (connection->loop->muted < MUTED_A_TURN) {
        connection->loop->muted++;
        stream_watch(&connection->stream, 0);
    }
}

/* Does it take long, or is it only a client that leaves? Then requests of others come first. */
static bool can_wait(struct connection *connection, int events)
{
    int size = 0;

    if (events & UV_READABLE && ioctl(connection->stream.fd, FIONREAD, &size) == 0) {
        connection->heavy = (size_t)size > HEAVY;
    }
    return connection->heavy ||
           (events & UV_DISCONNECT && !session_can_leave(&connection->session));
}

/* When the turn's time is over, or others wait for the next one, the connection waits, too. */
static void on_event(struct stream *stream, int status, int events)
{
    struct connection *connection = LIST_ENTRY(stream, struct connection, stream);
    struct session *session = &connection->session;
    struct server *server = session->server;
    bool late = turn_is_over(server, TURN_FRESH);
    bool crowded = late || connection->heavy || !list_empty(&server->yielded);

    if (status < 0) {
        connection_end(connection);
    } else if (stream_is_handshaking(&connection->stream)) {
        /* One that has begun holds much memory: it is finished before others begin. */
        struct list *queue = &connection->loop->handshaking;
        defer(connection, events, stream_is_begun(&connection->stream) ? queue->next : queue);
    } else if (!session->is_resumed && crowded && can_wait(connection, events)) {
        defer(connection, events, &server->yielded);
    } else if (late || session->is_resumed) {
        defer(connection, events, &server->resumed); /* one that is in a queue stays there */
    } else if (connection->loop->ahead != NULL && connection->begun && events & UV_READABLE) {
        connection->events |= events; /* read ahead with others, and served in this turn */
        session_wait_turn(session, &server->resumed);
    } else {
        handle_events(connection, events);
    }
}

void connection_watch(struct connection *connection)
{
    int events = 0;

    if (!stream_is_open(&connection->stream)) {
        return;
    }
    if (connection->lingering || connection->stream.wants_read || wants_more(connection)) {
        events |= UV_READABLE | UV_DISCONNECT;
    }
    if (connection->stream.blocked && !connection->stream.wants_read) {
        events |= UV_WRITABLE;
    }
    if (session_can_leave(&connection->session)) {
        events |= UV_DISCONNECT;
    }
    stream_watch(&connection->stream, events);
}

void connection_drain(struct connection *connection)
{
    struct session *session = &connection->session;

    if (!stream_is_open(&connection->stream) || connection->lingering) {
        return;
    }
    if (!session_stopped(session) && !connection->at_end) {
        receive(connection); /* requests that have arrived already */
    }
    if (stream_is_open(&connection->stream) && !session->partial && !session_busy(session)) {
        session->closing = true;
        session_touch(session);
    }
}

void connection_begin(struct loop *loop, int fd, const struct front *front, uint64_t origin,
                      bool only_health)
{
    struct server *server = &loop->server;
    struct connection *connection = calloc(1, sizeof *connection);
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connection == NULL || !session_open(&connection->session, server, front)) {
        free(connection);
        close(fd);
        return;
    }
    connection->loop = loop;
    connection->session.origin = origin_enter(&server->origins, origin);
    buffer_init(&connection->in, &server->memory);
    address_of_peer(fd, connection->session.peer);
    connection->session.only_health = only_health;
    if (connection->session.origin == NULL) {
        close(fd);
    }
    if (connection->session.origin == NULL ||
        !stream_accept(&connection->stream, &loop->uv, fd, loop->tls, on_event)) {
        session_close(&connection->session, true);
        session_free(&connection->session);
        free(connection);
        return;
    }
    server->metrics.accepted++;
    log_line(&server->log, LOG_DEBUG, "%s: connected, %s", connection->session.peer, front->name);
    connection_set_time_limit(connection);
    connection_watch(connection);
}
