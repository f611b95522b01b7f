/* SPDX-License-Identifier: Apache-2.0
 *
 * One stream of bytes on a loop: a TCP socket, accepted or connecting, plain or with TLS on it. It
 * notifies its owner when the socket is ready; the owner reads and writes when it sees fit, from
 * and to memory of its own, so that nothing is copied or allocated for a message.
 *
 *     accepted:    stream_accept(), plain or TLS
 *     connecting:  stream_connect(); at UV_WRITABLE, stream_error() tells what came of it, and then
 *                  stream_begin_tls(), stream_handshake() until it is finished; or plain
 *     both:        stream_read(), stream_write(), stream_watch(), then stream_close()
 *
 * net/client_stream.h has name lookup, an output buffer and one write per turn on top of it; the
 * server's connections have their own. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "net/tls.h"

#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

struct stream;

/* The socket is ready as uv_poll_start() has it: `events` are UV_READABLE, UV_WRITABLE and
 * UV_DISCONNECT. A negative status: the socket has an error, and is not watched any more. */
typedef void stream_ready(struct stream *stream, int status, int events);

struct stream {
    uv_poll_t poll;
    int fd;                  /* -1: closed */
    struct tls_session *tls; /* NULL: plain */
    stream_ready *ready;
    void (*closed)(struct stream *stream);
    uint64_t sent;   /* bytes that the system has taken; inside TLS, those of whole records */
    int watching;    /* the events asked of the loop */
    bool blocked;    /* the last write or handshake step waits for the socket */
    bool wants_read; /* if blocked: until it is readable, as TLS may want, not writable */
    bool read_waits; /* the last read waits until it is writable, as TLS may want */
};

/* Takes over an accepted, non-blocking socket. `tls` NULL: plain. False when there is no memory for
 * its TLS session, or the loop cannot watch it: the socket is closed then, and the stream not
 * open. */
bool stream_accept(struct stream *stream, uv_loop_t *loop, int fd, struct tls *tls,
                   stream_ready *ready);

/* Begins to connect, and watches for UV_WRITABLE. Returns 0, or an error number: the stream is not
 * open then. */
int stream_connect(struct stream *stream, uv_loop_t *loop, const struct sockaddr *address,
                   socklen_t size, stream_ready *ready);
/* The pending error of the socket, which is forgotten; 0: none, a connecting one is connected. */
int stream_error(const struct stream *stream);

/* Speaks TLS from now on, as a client whose server has to prove that it is `host`. False when there
 * is no memory. */
bool stream_begin_tls(struct stream *stream, struct tls *tls, const char *host);
/* As tls_handshake(): 0 when it is finished; after EAGAIN, `blocked` and `wants_read` say what it
 * waits for. */
int stream_handshake(struct stream *stream);

/* As recv() and send(), with TLS as tls_read() and tls_write(). What the stream waits for after
 * EAGAIN stands in `blocked` and `wants_read`, which a write clears first. No SIGPIPE. */
ssize_t stream_read(struct stream *stream, void *data, size_t size);
ssize_t stream_write(struct stream *stream, const void *data, size_t size);

/* Asks the loop for these events and no others. Costs nothing if they are the ones it tells of. */
void stream_watch(struct stream *stream, int events);

/* Says goodbye, if there is TLS, and speaks it no longer. */
void stream_end_tls(struct stream *stream);

/* Closes the socket. `closed` is called from the loop when the memory of the stream may be freed,
 * or used to open it anew. */
void stream_close(struct stream *stream, void (*closed)(struct stream *stream));

static inline bool stream_is_open(const struct stream *stream)
{
    return stream->fd >= 0;
}

/* Is a TLS handshake not finished yet? */
static inline bool stream_is_handshaking(const struct stream *stream)
{
    return stream->tls != NULL && !tls_ready(stream->tls);
}

/* Why the last call on it failed with this errno. */
const char *stream_why(const struct stream *stream, int error);

/* Has the other end of TLS said anything yet? */
static inline bool stream_is_begun(const struct stream *stream)
{
    return stream->tls != NULL && tls_is_begun(stream->tls);
}

/* About how many bytes of memory TLS takes for it. */
static inline size_t stream_memory(const struct stream *stream)
{
    return stream->tls != NULL ? tls_memory(stream->tls) : 0;
}

/* Do bytes that were received already wait to be read? The socket does not become readable for
 * them. */
static inline bool stream_has_pending(const struct stream *stream)
{
    return stream->tls != NULL && tls_pending(stream->tls);
}

#endif
