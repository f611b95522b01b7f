/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream to a Redis server whose input arrives reply by reply. It knows nothing of what the
 * replies answer.
 *
 * Replies are read with hiredis' reader. Its asynchronous API is not used: it looks names up while
 * the loop stands still, it does not report what had been sent when a connection broke, and its
 * adapter for libuv takes a refused connection for one that is still being made. */
#ifndef REDIS_CLIENT_REPLY_STREAM_H
#define REDIS_CLIENT_REPLY_STREAM_H

#include "net/client_stream.h"

#include <hiredis/hiredis.h>

/* Called from the loop; nothing is after reply_stream_close(). */
struct reply_stream_events {
    void (*opened)(void *owner);
    void (*reply)(void *owner, const redisReply *reply);
    /* The connection cannot be made, or broke: reply_stream_close() is to be called, here or
     * later. */
    void (*failed)(void *owner, const char *why);
};

struct reply_stream {
    struct client_stream stream;
    const struct reply_stream_events *events;
    void *owner;
    redisReader *reader;
};

/* Begins to connect. NULL when there is no memory. */
struct reply_stream *reply_stream_open(struct client_streams *streams, const char *host,
                                       uint16_t port, const struct reply_stream_events *events,
                                       void *owner);
/* The stream is gone for the owner; it is freed in one of the next turns. NULL is fine. */
void reply_stream_close(struct reply_stream *stream);

/* Where to write what is to be sent; flushed with this turn of the loop, or once connected. */
static inline struct buffer *reply_stream_out(struct reply_stream *stream)
{
    return client_stream_out(&stream->stream);
}
/* How many bytes were written so far. */
static inline uint64_t reply_stream_written(const struct reply_stream *stream)
{
    return client_stream_written(&stream->stream);
}
/* How many of them the system has taken: the others cannot have reached the server. */
static inline uint64_t reply_stream_sent(const struct reply_stream *stream)
{
    return client_stream_sent(&stream->stream);
}

#endif
