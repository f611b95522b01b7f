/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket of a stream and its uv_poll_t, which lives until the loop has called on_closed(). */
#include "net/stream.h"

#include "base/check.h"

#include <errno.h>
#include <unistd.h>

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct stream *stream = poll->data;

    if (status < 0) {
        stream->watching = 0; /* libuv has stopped */
    }
    stream->ready(stream, status, events);
}

/* Returns 0, or an error number, with the socket closed: the kernel may have no room to watch
 * another one. */
static int begin(struct stream *stream, uv_loop_t *loop, int fd, stream_ready *ready)
{
    *stream = (struct stream){.fd = fd, .ready = ready};
    int error = uv_poll_init(loop, &stream->poll, fd);
    if (error != 0) {
        close(fd);
        stream->fd = -1;
    }
    stream->poll.data = stream;
    return -error;
}

bool stream_accept(struct stream *stream, uv_loop_t *loop, int fd, struct tls *tls,
                   stream_ready *ready)
{
    struct tls_session *session = tls != NULL ? tls_accept(tls, fd) : NULL;

    if (tls != NULL && session == NULL) {
        close(fd);
        return false;
    }
    if (begin(stream, loop, fd, ready) != 0) {
        tls_close(session);
        return false;
    }
    stream->tls = session;
    return true;
}

int stream_connect(struct stream *stream, uv_loop_t *loop, const struct sockaddr *address,
                   socklen_t size, stream_ready *ready)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return errno;
    }
    if (connect(fd, address, size) != 0 && errno != EINPROGRESS) {
        int refusal = errno;
        close(fd);
        return refusal;
    }
    int error = begin(stream, loop, fd, ready);
    if (error == 0) {
        stream_watch(stream, UV_WRITABLE);
    }
    return error;
}

int stream_error(const struct stream *stream)
{
    int error = 0;
    socklen_t size = sizeof error;

    return getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

bool stream_begin_tls(struct stream *stream, struct tls *tls, const char *host)
{
    CHECK(stream->tls == NULL);
    stream->tls = tls_connect(tls, stream->fd, host);
    return stream->tls != NULL;
}

int stream_handshake(struct stream *stream)
{
    bool wants_write = false;
    int result = tls_handshake(stream->tls, &wants_write);

    stream->blocked = result < 0 && errno == EAGAIN;
    stream->wants_read = stream->blocked && !wants_write;
    return result;
}

const char *stream_why(const struct stream *stream, int error)
{
    const char *why = stream->tls != NULL ? tls_why(stream->tls) : "";
    return why[0] != '\0' ? why : uv_strerror(uv_translate_sys_error(error));
}

void stream_end_tls(struct stream *stream)
{
    tls_close(stream->tls);
    stream->tls = NULL;
}

ssize_t stream_read(struct stream *stream, void *data, size_t size)
{
    bool wants_write = false;

    if (stream->tls == NULL) {
        return recv(stream->fd, data, size, 0);
    }
    ssize_t done = tls_read(stream->tls, data, size, &wants_write);
    stream->read_waits = done < 0 && wants_write;
    stream->blocked |= stream->read_waits;
    return done;
}

ssize_t stream_write(struct stream *stream, const void *data, size_t size)
{
    bool wants_write = true;
    ssize_t done = stream->tls == NULL ? send(stream->fd, data, size, MSG_NOSIGNAL)
                                       : tls_write(stream->tls, data, size, &wants_write);

    stream->blocked = done < 0 && errno == EAGAIN;
    stream->wants_read = stream->blocked && !wants_write;
    stream->sent += done > 0 ? (uint64_t)done : 0;
    return done;
}

void stream_watch(struct stream *stream, int events)
{
    if (events != stream->watching) {
        stream->watching = events;
        uv_poll_start(&stream->poll, events, on_ready);
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct stream *stream = handle->data;
    stream->closed(stream);
}

void stream_close(struct stream *stream, void (*closed)(struct stream *stream))
{
    CHECK(stream_is_open(stream));
    stream_end_tls(stream);
    stream->closed = closed;
    /* First: it takes the descriptor out of epoll by its number, which may be another thread's once
     * it is closed. */
    uv_close((uv_handle_t *)&stream->poll, on_closed);
    close(stream->fd);
    stream->fd = -1;
}
