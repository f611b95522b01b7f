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
    redisReply *reply; /* the one that `events->reply` is called with; NULL: it was kept */
    bool was_opened, has_input;
};

/* Begins to connect. NULL when there is no memory. */
struct reply_stream *reply_stream_open(struct client_streams *streams, const char *host,
                                       uint16_t port, const struct reply_stream_events *events,
                                       void *owner);
/* The stream is gone for the owner; it is freed in one of the next turns. NULL is fine. */
void reply_stream_close(struct reply_stream *stream);

/* In `events->reply`: the reply is the owner's now, who frees it. */
static inline redisReply *reply_stream_keep(struct reply_stream *stream)
{
    redisReply *reply = stream->reply;

    stream->reply = NULL;
    return reply;
}

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

/* Did the server not prove who it is, or refuse us, by TLS? */
static inline bool reply_stream_is_refused(const struct reply_stream *stream)
{
    const struct tls_session *tls = stream->stream.stream.tls;
    return tls != NULL && tls_is_refused(tls);
}

/* Why there is no answer within this time, which is over. */
void reply_stream_explain_silence(const struct reply_stream *stream, int64_t time_ms, char *out,
                                  size_t size);

#endif
