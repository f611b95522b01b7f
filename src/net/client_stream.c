/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream of a client: lookup, attempts, output and input. Its memory is freed when its owner
 * has closed it, the lookup has ended and libuv has let go of the socket's handle. */
#include "net/client_stream.h"

#include "base/check.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#define RETAINED_MAX ((size_t)256 << 10) /* a buffer that grew beyond this is freed when sent */
#define READS_A_TURN 32 /* so that a server that sends much does not hold up the loop */

/* A server that vanished without a word is noticed after 15 + 10 s, also while nothing is sent. */
#define KEEPALIVE_IDLE_S 15
#define KEEPALIVE_INTERVAL_S 1
#define KEEPALIVE_PROBES 10

static void connect_next(struct client_stream *stream);

static const char *error_words(int error)
{
    return uv_strerror(uv_translate_sys_error(error));
}

static void move(struct client_stream *stream, enum client_stream_state to)
{
    CHECK(stream->state != CLIENT_STREAM_CLOSED);
    CHECK(stream->state != CLIENT_STREAM_FAILED || to == CLIENT_STREAM_CLOSED);
    CHECK(to != CLIENT_STREAM_HANDSHAKE || stream->state == CLIENT_STREAM_CONNECTING);
    CHECK(to != CLIENT_STREAM_OPEN || stream->state == CLIENT_STREAM_CONNECTING ||
          stream->state == CLIENT_STREAM_HANDSHAKE);
    stream->state = to;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void free_if_idle(struct client_stream *stream)
{
    struct client_streams *streams = stream->streams;

    if (stream->looking_up || stream->has_handle) {
        return;
    }
    CHECK(stream->state == CLIENT_STREAM_CLOSED);
    if (stream->is_unflushed) {
        list_remove(&stream->unflushed);
    }
    uv_freeaddrinfo(stream->addresses);
    buffer_free(&stream->out);
    stream->events->freed(stream);
    streams->alive--;
    if (streams->alive == 0 && streams->none_left != NULL) {
        streams->none_left(streams);
    }
}

/* The socket of an attempt that failed, or of a stream that its owner has closed. */
static void socket_closed(struct stream *socket)
{
    struct client_stream *stream = LIST_ENTRY(socket, struct client_stream, stream);

    stream->has_handle = false;
    if (stream->state == CLIENT_STREAM_CLOSED) {
        free_if_idle(stream);
    } else if (client_stream_is_alive(stream)) {
        connect_next(stream);
    }
}

static void nothing(uv_idle_t *idle)
{
    (void)idle;
}

static void mark_unflushed(struct client_stream *stream)
{
    if (!stream->is_unflushed) {
        stream->is_unflushed = true;
        list_add_last(&stream->streams->unflushed, &stream->unflushed);
        uv_idle_start(&stream->streams->idle, nothing);
    }
}

void client_stream_fail(struct client_stream *stream, const char *why)
{
    if (!client_stream_is_alive(stream)) {
        return;
    }
    move(stream, CLIENT_STREAM_FAILED);
    if (stream_is_open(&stream->stream)) {
        stream_watch(&stream->stream, 0);
    }
    /* The words may be those of the TLS session, which is gone once the owner closes the stream. */
    char words[192];
    snprintf(words, sizeof words, "%s", why);
    stream->events->failed(stream, words);
}

void client_stream_close(struct client_stream *stream)
{
    move(stream, CLIENT_STREAM_CLOSED);
    if (stream->looking_up) {
        uv_cancel((uv_req_t *)&stream->lookup); /* if it cannot be, its end is waited for */
    }
    if (stream_is_open(&stream->stream)) {
        stream_close(&stream->stream, socket_closed);
    } else if (!stream->has_handle && !stream->looking_up) {
        /* Not from inside this call: the owner is still at work on it. */
        mark_unflushed(stream);
    }
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Hands on what there is; returns how much that was. 0: nothing for now, or the stream failed. */
static size_t read_some(struct client_stream *stream)
{
    char *input = stream->streams->input;
    ssize_t size = stream_read(&stream->stream, input, CLIENT_STREAM_INPUT_SIZE);

    if (size > 0) {
        stream->events->input(stream, input, (size_t)size);
        return (size_t)size;
    }
    if (size == 0) {
        client_stream_fail(stream, "the server closed the connection");
    } else if (errno != EAGAIN && errno != EINTR) {
        client_stream_fail(stream, stream_why(&stream->stream, errno));
    }
    return 0;
}

/* A read that does not fill the buffer has emptied the socket: another would be for nothing. With
 * TLS it has emptied one record, which always fits, so that none is left inside. */
static void read_input(struct client_stream *stream)
{
    for (int i = 0; i < READS_A_TURN; i++) {
        size_t size = read_some(stream);
        if (size == 0 || !client_stream_is_alive(stream) ||
            (size < CLIENT_STREAM_INPUT_SIZE && stream->stream.tls == NULL)) {
            return;
        }
        CHECK(!stream_has_pending(&stream->stream));
    }
}

/* The socket has an error. What came before it, such as why the server hung up, is read first. */
static void read_rest(struct client_stream *stream, const char *why)
{
    while (read_some(stream) > 0 && client_stream_is_alive(stream)) {}
    client_stream_fail(stream, why);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void sent_all(struct client_stream *stream)
{
    stream->out_sent = 0;
    if (stream->out.capacity > RETAINED_MAX) {
        buffer_free(&stream->out);
    } else {
        buffer_clear(&stream->out);
    }
}

/* What was sent is cut off when it is the larger part, so that a stream that is never quite done
 * does not grow for ever. */
static void cut_sent(struct client_stream *stream)
{
    struct buffer *out = &stream->out;

    if (stream->out_sent > out->size / 2) {
        out->size -= stream->out_sent;
        memmove(out->data, out->data + stream->out_sent, out->size);
        stream->out_sent = 0;
    }
}

static void watch(struct client_stream *stream)
{
    const struct stream *socket = &stream->stream;
    bool waits = (socket->blocked && !socket->wants_read) || socket->read_waits;

    stream_watch(&stream->stream, waits ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

static void flush(struct client_stream *stream)
{
    struct buffer *out = &stream->out;

    if (out->failed) {
        client_stream_fail(stream, "out of memory");
        return;
    }
    stream->stream.blocked = stream->stream.wants_read = false;
    while (stream->out_sent < out->size && !stream->stream.blocked) {
        ssize_t done = stream_write(&stream->stream, out->data + stream->out_sent,
                                    out->size - stream->out_sent);
        if (done > 0) {
            stream->out_sent += (size_t)done;
        } else if (done == 0 || (errno != EAGAIN && errno != EINTR)) {
            read_rest(stream, stream_why(&stream->stream, errno));
            return;
        }
    }
    if (stream->out_sent == out->size) {
        sent_all(stream);
    } else {
        cut_sent(stream);
    }
    watch(stream);
}

struct buffer *client_stream_out(struct client_stream *stream)
{
    CHECK(stream->state != CLIENT_STREAM_CLOSED);
    mark_unflushed(stream);
    return &stream->out;
}

void client_streams_flush(struct client_streams *streams)
{
    while (!list_empty(&streams->unflushed)) {
        struct client_stream *stream =
            LIST_ENTRY(streams->unflushed.next, struct client_stream, unflushed);
        list_remove(&stream->unflushed);
        stream->is_unflushed = false;
        if (stream->state == CLIENT_STREAM_OPEN) {
            flush(stream);
        } else if (stream->state == CLIENT_STREAM_CLOSED) {
            free_if_idle(stream);
        } else if (!stream->looking_up && !stream->has_handle) {
            client_stream_fail(stream, stream->why); /* no address is left to be tried */
        }
    }
    uv_idle_stop(&streams->idle);
}

/* ---- beginnings ------------------------------------------------------------------------------ */

static void set_options(int fd)
{
    int on = 1, idle_s = KEEPALIVE_IDLE_S, interval_s = KEEPALIVE_INTERVAL_S;
    int probes = KEEPALIVE_PROBES;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

static void open_now(struct client_stream *stream)
{
    move(stream, CLIENT_STREAM_OPEN);
    stream->stream.blocked = stream->stream.wants_read = false;
    watch(stream);
    mark_unflushed(stream);
    stream->events->opened(stream);
}

static void shake_hands(struct client_stream *stream, int status)
{
    if (stream_handshake(&stream->stream) == 0) {
        open_now(stream);
    } else if (errno != EAGAIN) {
        client_stream_fail(stream, stream_why(&stream->stream, errno));
    } else if (status < 0) {
        client_stream_fail(stream, uv_strerror(status));
    } else {
        stream_watch(&stream->stream, stream->stream.wants_read ? UV_READABLE : UV_WRITABLE);
    }
}

static void begin_tls(struct client_stream *stream)
{
    const struct client_streams *streams = stream->streams;
    const char *name = streams->tls_name != NULL ? streams->tls_name : stream->host;

    move(stream, CLIENT_STREAM_HANDSHAKE);
    if (stream_begin_tls(&stream->stream, streams->tls, name)) {
        shake_hands(stream, 0);
    } else {
        client_stream_fail(stream, "TLS cannot be set up for this name");
    }
}

static void attempt_ended(struct client_stream *stream, int status)
{
    int error = stream_error(&stream->stream);

    if (error == 0 && status < 0) {
        error = -status;
    }
    if (error != 0) {
        snprintf(stream->why, sizeof stream->why, "%s", error_words(error));
        stream_close(&stream->stream, socket_closed); /* which tries the next address */
        return;
    }
    set_options(stream->stream.fd);
    if (stream->streams->tls != NULL) {
        begin_tls(stream);
    } else {
        open_now(stream);
    }
}

static void on_ready(struct stream *socket, int status, int events)
{
    struct client_stream *stream = LIST_ENTRY(socket, struct client_stream, stream);

    if (stream->state == CLIENT_STREAM_CONNECTING) {
        attempt_ended(stream, status);
        return;
    }
    if (stream->state == CLIENT_STREAM_HANDSHAKE) {
        shake_hands(stream, status);
        return;
    }
    if (status < 0) {
        read_rest(stream, uv_strerror(status));
        return;
    }
    if (events & UV_WRITABLE || stream->stream.wants_read) {
        flush(stream);
    }
    /* TLS may have waited for the socket to be writable before it can read on. */
    bool can_read = events & UV_READABLE || stream->stream.read_waits;
    if (can_read && stream->state == CLIENT_STREAM_OPEN) {
        read_input(stream);
    }
    if (stream->state == CLIENT_STREAM_OPEN) {
        watch(stream);
    }
}

static void connect_next(struct client_stream *stream)
{
    while (stream->next_address != NULL) {
        const struct addrinfo *address = stream->next_address;
        stream->next_address = address->ai_next;
        int error = stream_connect(&stream->stream, stream->streams->loop, address->ai_addr,
                                   address->ai_addrlen, on_ready);
        if (error == 0) {
            stream->has_handle = true;
            move(stream, CLIENT_STREAM_CONNECTING);
            return;
        }
        snprintf(stream->why, sizeof stream->why, "%s", error_words(error));
    }
    mark_unflushed(stream); /* it fails there: not from inside client_stream_open() */
}

static void looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct client_stream *stream = request->data;

    stream->looking_up = false;
    stream->addresses = stream->next_address = addresses;
    if (stream->state == CLIENT_STREAM_CLOSED) {
        free_if_idle(stream);
        return;
    }
    if (stream->state == CLIENT_STREAM_FAILED) { /* and its owner has yet to close it */
        return;
    }
    snprintf(stream->why, sizeof stream->why, "%s",
             status != 0 ? uv_strerror(status) : "no address");
    connect_next(stream);
}

/* A name is looked up on another thread; an address needs no lookup. */
static void look_up(struct client_stream *stream, const char *host, uint16_t port_number)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    char port[8];

    snprintf(port, sizeof port, "%u", port_number);
    if (getaddrinfo(host, port, &hints, &stream->addresses) == 0) {
        stream->next_address = stream->addresses;
        connect_next(stream);
        return;
    }
    stream->addresses = NULL;
    hints.ai_flags = 0;
    stream->lookup.data = stream;
    int status =
        uv_getaddrinfo(stream->streams->loop, &stream->lookup, looked_up, host, port, &hints);
    stream->looking_up = status == 0;
    if (status != 0) {
        snprintf(stream->why, sizeof stream->why, "%s", uv_strerror(status));
        mark_unflushed(stream);
    }
}

void client_streams_init(struct client_streams *streams, uv_loop_t *loop)
{
    streams->loop = loop;
    uv_idle_init(loop, &streams->idle);
    memory_init(&streams->memory);
    list_init(&streams->unflushed);
    streams->tls = NULL;
    streams->tls_name = NULL;
    streams->alive = 0;
    streams->none_left = NULL;
}

void client_stream_open(struct client_stream *stream, struct client_streams *streams,
                        const char *host, uint16_t port, const struct client_stream_events *events)
{
    *stream = (struct client_stream){
        .stream.fd = -1, .streams = streams, .events = events, .state = CLIENT_STREAM_LOOKUP};
    buffer_init(&stream->out, &streams->memory);
    snprintf(stream->host, sizeof stream->host, "%s", host);
    streams->alive++;
    look_up(stream, host, port);
}
