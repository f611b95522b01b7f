/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream to a server, from the lookup of its name to its end. What is written goes out once a
 * turn of the loop, in one piece; what comes in is handed to the owner as it comes.
 *
 *     LOOKUP ---> CONNECTING ---> HANDSHAKE ---> OPEN    each address that the name has is tried in
 *        |          |   ^  |          |            |     turn; without TLS there is no handshake
 *        |          +---+  |          |            |
 *        +-----------------+----------+------------+---> FAILED    failed() was called
 *
 * client_stream_close() leads from each of them to CLOSED. */
#ifndef NET_CLIENT_STREAM_H
#define NET_CLIENT_STREAM_H

#include "base/buffer.h"
#include "base/list.h"
#include "net/address.h"
#include "net/stream.h"

#include <uv.h>

#define CLIENT_STREAM_INPUT_SIZE ((size_t)64 << 10)

/* What the streams of one client share. */
struct client_streams {
    uv_loop_t *loop;
    uv_idle_t idle; /* runs while there is something to flush: the loop must not fall asleep */
    struct memory memory;
    struct list unflushed;
    struct tls *tls;      /* the caller's; NULL: plain */
    const char *tls_name; /* whom each server has to prove it is, the caller's; NULL: the host that
                             a stream is opened for */
    size_t alive;         /* streams that are not yet freed */
    void (*none_left)(struct client_streams *streams); /* called when one is freed and none is left;
                                                          or NULL */
    char input[CLIENT_STREAM_INPUT_SIZE];
};

enum client_stream_state {
    CLIENT_STREAM_LOOKUP,
    CLIENT_STREAM_CONNECTING,
    CLIENT_STREAM_HANDSHAKE,
    CLIENT_STREAM_OPEN,
    CLIENT_STREAM_FAILED,
    CLIENT_STREAM_CLOSED,
};

struct client_stream;

/* Called from the loop, never from inside client_stream_open(). After client_stream_close() only
 * freed() is. */
struct client_stream_events {
    void (*opened)(struct client_stream *stream);
    void (*input)(struct client_stream *stream, const char *data, size_t size);
    /* The connection cannot be made, or broke; called once. client_stream_close() is to be called,
     * here or later. */
    void (*failed)(struct client_stream *stream, const char *why);
    /* The memory that the stream stands in may be freed. */
    void (*freed)(struct client_stream *stream);
};

/* Part of its owner's struct. */
struct client_stream {
    struct stream stream;
    bool has_handle; /* the stream is open, or is not yet closed wholly */
    struct client_streams *streams;
    const struct client_stream_events *events;
    enum client_stream_state state;
    char host[ADDRESS_HOST_SIZE];
    uv_getaddrinfo_t lookup;
    bool looking_up;
    struct addrinfo *addresses, *next_address;
    char why[128]; /* the last address could not be reached */

    struct list unflushed;
    bool is_unflushed;
    struct buffer out;
    size_t out_sent; /* the system has taken so much of it */
};

/* `tls` and `tls_name` are left to the caller to set, before a stream is opened. */
void client_streams_init(struct client_streams *streams, uv_loop_t *loop);
/* To be called once a turn, before the loop waits. */
void client_streams_flush(struct client_streams *streams);

/* Begins to connect. */
void client_stream_open(struct client_stream *stream, struct client_streams *streams,
                        const char *host, uint16_t port, const struct client_stream_events *events);
/* Its owner hears nothing more of it but freed(), from the loop. */
void client_stream_close(struct client_stream *stream);

/* The connection is of no use: the owner's failed() is called, unless it was before. */
void client_stream_fail(struct client_stream *stream, const char *why);
/* Is it neither failed nor closed? */
static inline bool client_stream_is_alive(const struct client_stream *stream)
{
    return stream->state != CLIENT_STREAM_FAILED && stream->state != CLIENT_STREAM_CLOSED;
}

/* Where to write what is to be sent; flushed with this turn of the loop, or once connected. */
struct buffer *client_stream_out(struct client_stream *stream);
/* How many bytes were written so far. */
static inline uint64_t client_stream_written(const struct client_stream *stream)
{
    return stream->stream.sent + (stream->out.size - stream->out_sent);
}
/* How many of them the system has taken: the others cannot have reached the server. */
static inline uint64_t client_stream_sent(const struct client_stream *stream)
{
    return stream->stream.sent;
}

#endif
