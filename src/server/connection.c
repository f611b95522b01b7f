/* SPDX-License-Identifier: Apache-2.0 */
#include "server/connection.h"

#include "net/address.h"
#include "server/loop.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What was left over from the last read is copied in front of the next one up to this size; more
 * has a growing buffer of its own. */
#define LEFT_OVER_SMALL ((size_t)8 << 10)

/* A buffer for answers that is no larger stays with its connection. */
#define OUT_KEPT ((size_t)1 << 10)

static void watch(struct connection *connection);

/* ---- patience -------------------------------------------------------------------------------- */

static bool has_unsent(const struct connection *connection)
{
    return connection->sent < connection->session.out.size;
}

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
    if (has_unsent(connection) || (connection->tls != NULL && !tls_ready(connection->tls))) {
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

static void update_patience(struct connection *connection)
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

/* Clients keep more memory than they may. The end of this turn sends what it can and closes some of
 * them, and nothing is read until then. */
static bool is_full(const struct loop *loop)
{
    const struct server *server = &loop->server;

    return server->memory.used > (size_t)server->options->client_memory_bytes &&
           !(list_empty(&loop->slow.connections) && list_empty(&server->touched));
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Freed when both the loop and the session are done with it. */
static void handle_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;

    connection->closed = true;
    if (connection->over) {
        free(connection);
    }
}

void connection_release(struct session *session)
{
    struct connection *connection = connection_of(session);

    if (connection->ending) {
        connection->released = true; /* session_close() is still at work on it */
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

/* Has the client's side taken all that was sent? It says so with every packet. */
static bool all_acknowledged(const struct connection *connection)
{
    int unacknowledged = 0;
    int goodbye = connection->lingering; /* counts as a byte */

    return ioctl(connection->fd, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged <= goodbye;
}

void connection_end(struct connection *connection, bool heard)
{
    if (connection->ending || connection->fd < 0) {
        return;
    }
    connection->ending = true;
    log_line(&connection->session.server->log, LOG_DEBUG, "%s: closed, %llu answers",
             connection->session.peer, (unsigned long long)connection->session.answered);
    if (connection->session.undo.size > 0) {
        heard = heard && !has_unsent(connection) && all_acknowledged(connection);
    }
    if (connection->patience != NULL) {
        list_remove(&connection->patient);
        connection->patience = NULL;
    }
    uv_poll_stop(&connection->poll);
    tls_close(connection->tls);
    connection->tls = NULL;
    close(connection->fd);
    connection->fd = -1;
    buffer_free(&connection->in);
    bool free_now = session_close(&connection->session, heard);
    connection->ending = false;
    if (free_now || connection->released) {
        session_free(&connection->session);
        connection->over = true;
    }
    uv_close((uv_handle_t *)&connection->poll, handle_closed);
}

/* All is said. What the client still sends is read and thrown away until it hangs up, so that it
 * gets to read our last words. */
static void linger(struct connection *connection)
{
    tls_close(connection->tls);
    connection->tls = NULL;
    if (connection->at_end || shutdown(connection->fd, SHUT_WR) != 0) {
        connection_end(connection, true);
        return;
    }
    connection->lingering = true;
    buffer_free(&connection->in);
    connection->in_used = 0;
    update_patience(connection);
    watch(connection);
}

static void read_on(struct connection *connection)
{
    char *data = connection->loop->read_buffer;
    ssize_t size = recv(connection->fd, data, READ_SIZE, 0);

    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
        connection_end(connection, size == 0);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

static ssize_t send_some(struct connection *connection)
{
    const struct session *session = &connection->session;
    const char *data = session->out.data + connection->sent;
    size_t size = session->firm - connection->sent;
    bool wants_write = true;

    if (connection->tls == NULL) {
        return send(connection->fd, data, size, MSG_NOSIGNAL);
    }
    ssize_t done = tls_write(connection->tls, data, size, &wants_write);
    connection->wants_read = done < 0 && !wants_write;
    return done;
}

/* All is sent: the buffer is given back, unless it is small and sure to be used again. */
static void sent_all(struct connection *connection)
{
    struct session *session = &connection->session;

    connection->sent = 0;
    session->firm = 0;
    if (session->out.capacity > OUT_KEPT) {
        buffer_free(&session->out);
    } else {
        buffer_clear(&session->out);
    }
    if (session->closing) {
        linger(connection);
    } else if (connection->at_end && connection->in.size == 0 && !session_busy(session)) {
        connection_end(connection, true);
    } else if (!session->waits && (connection->in.size > 0 ||
                                   (connection->tls != NULL && tls_pending(connection->tls)))) {
        session_resume(session);
    }
}

void connection_send(struct connection *connection)
{
    struct session *session = &connection->session;

    if (session->out.failed) { /* no memory for its answers: it has to ask again */
        connection_end(connection, false);
        return;
    }
    connection->blocked = connection->wants_read = false;
    while (connection->sent < session->firm) { /* the rest is not on disk yet */
        ssize_t done = send_some(connection);
        if (done > 0) {
            connection->sent += (size_t)done;
            session->server->metrics.bytes_out += (uint64_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            connection->blocked = true;
            break;
        } else if (done == 0 || errno != EINTR) {
            connection_end(connection, false);
            return;
        }
    }
    if (!connection->blocked && !connection->lingering && !has_unsent(connection)) {
        sent_all(connection);
    }
    if (connection->fd >= 0) {
        update_patience(connection);
        watch(connection);
    }
}

/* ---- receiving ------------------------------------------------------------------------------- */

static ssize_t receive_some(struct connection *connection, char *data, size_t size)
{
    bool wants_write = false;

    if (connection->tls == NULL) {
        return recv(connection->fd, data, size, 0);
    }
    ssize_t done = tls_read(connection->tls, data, size, &wants_write);
    connection->blocked |= done < 0 && wants_write;
    return done;
}

/* Offers what stands in `in`. */
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

/* Offers what stands in the loop's buffer, and keeps what is not used. */
static void feed_shared(struct connection *connection, size_t size)
{
    const char *data = connection->loop->read_buffer;
    size_t used = session_feed(&connection->session, data, size);

    if (used < size && !connection->session.closing) {
        buffer_bytes(&connection->in, data + used, size - used);
    }
}

/* Where the next bytes go: behind what was left over, in the loop's buffer if that is little. */
static char *room(struct connection *connection, size_t *size)
{
    struct buffer *in = &connection->in;
    struct loop *loop = connection->loop;
    size_t left_over = in->size - connection->in_used;

    if (left_over <= LEFT_OVER_SMALL) {
        if (in->data != NULL) {
            memcpy(loop->read_buffer, in->data + connection->in_used, left_over);
        }
        *size = READ_SIZE - left_over;
        return loop->read_buffer + left_over;
    }
    *size = in->size < READ_SIZE ? READ_SIZE - in->size : in->size;
    return buffer_reserve(in, *size) ? in->data + in->size : NULL;
}

static void received(struct connection *connection, const char *at, size_t size)
{
    struct buffer *in = &connection->in;
    const char *shared = connection->loop->read_buffer;

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
        connection_end(connection, false);
    }
}

/* The client sends no more; what it asked for is still answered. */
static void receive_end(struct connection *connection)
{
    const struct session *session = &connection->session;

    connection->at_end = true;
    if (session_queues(session) ||
        (!session_busy(session) && !has_unsent(connection) && !session->is_touched)) {
        connection_end(connection, true);
    }
}

/* After taking requests. What was answered is sent at the end of the turn, and most often in full:
 * only then is it worth telling the loop, which is not free. */
static void settle(struct connection *connection)
{
    if (connection->fd >= 0 && !connection->session.is_touched) {
        update_patience(connection);
        watch(connection);
    }
}

static void receive(struct connection *connection)
{
    do {
        size_t size;
        char *at = room(connection, &size);
        ssize_t done = at != NULL ? receive_some(connection, at, size) : -1;
        if (at == NULL || (done < 0 && errno != EAGAIN && errno != EINTR)) {
            connection_end(connection, false);
        } else if (done == 0) {
            receive_end(connection);
        } else if (done > 0) {
            received(connection, at, (size_t)done);
        }
    } while (connection->fd >= 0 && connection->tls != NULL && tls_pending(connection->tls) &&
             !session_stopped(&connection->session) && !connection->at_end);
    settle(connection);
}

void connection_resume(struct connection *connection)
{
    if (session_stopped(&connection->session)) {
        return; /* it comes back when it is answered, or when all is sent */
    }
    if (is_full(connection->loop)) {
        session_resume(&connection->session); /* in the next turn */
        return;
    }
    feed_own(connection);
    if (connection->at_end && !session_busy(&connection->session) && !has_unsent(connection) &&
        !connection->session.is_touched) {
        connection_end(connection, true);
        return;
    }
    if (connection->tls != NULL && tls_pending(connection->tls)) {
        receive(connection);
        return;
    }
    settle(connection);
}

/* ---- the loop's side ------------------------------------------------------------------------- */

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct connection *connection = poll->data;

    if (status < 0) {
        connection_end(connection, false);
        return;
    }
    if (connection->lingering) {
        read_on(connection);
        return;
    }
    if (events & UV_DISCONNECT && session_queues(&connection->session)) {
        connection_end(connection, true);
        return;
    }
    if (events & UV_WRITABLE || (events & UV_READABLE && connection->wants_read)) {
        connection_send(connection);
        if (connection->fd >= 0 && connection->tls != NULL && !tls_ready(connection->tls)) {
            receive(connection); /* the handshake goes on */
            return;
        }
    }
    if (connection->fd >= 0 && events & UV_READABLE && connection->watching & UV_READABLE &&
        !connection->lingering && !is_full(connection->loop)) {
        receive(connection);
    }
}

/* Asks the loop for what the connection can do something with. */
static void watch(struct connection *connection)
{
    int events = 0;
    /* Whole requests that were read already come first. */
    bool behind = connection->in.size > connection->in_used && !connection->session.partial;
    bool stopped = session_stopped(&connection->session) || has_unsent(connection) || behind;

    if (connection->fd < 0) {
        return;
    }
    if (connection->lingering || connection->wants_read || (!stopped && !connection->at_end)) {
        events |= UV_READABLE;
    }
    if (connection->blocked && !connection->wants_read) {
        events |= UV_WRITABLE;
    }
    if (session_queues(&connection->session)) {
        events |= UV_DISCONNECT;
    }
    if (events != connection->watching) {
        connection->watching = events;
        uv_poll_start(&connection->poll, events, on_event);
    }
}

void connection_drain(struct connection *connection)
{
    struct session *session = &connection->session;

    if (connection->fd < 0 || connection->lingering) {
        return;
    }
    if (!session_stopped(session) && !connection->at_end) {
        receive(connection); /* what it has asked for already */
    }
    if (connection->fd >= 0 && !session->partial && !session_busy(session)) {
        session->closing = true;
        session_touch(session);
    }
}

void connection_begin(struct loop *loop, int fd, const struct front *front)
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
    connection->fd = fd;
    connection->poll.data = connection;
    buffer_init(&connection->in, &server->memory);
    address_of_peer(fd, connection->session.peer);
    uv_poll_init(&loop->uv, &connection->poll, fd);
    if (loop->tls != NULL) {
        connection->tls = tls_accept(loop->tls, fd);
        if (connection->tls == NULL) {
            connection_end(connection, true);
            return;
        }
    }
    server->metrics.accepted++;
    log_line(&server->log, LOG_DEBUG, "%s: connected, %s", connection->session.peer, front->name);
    update_patience(connection);
    watch(connection);
}
