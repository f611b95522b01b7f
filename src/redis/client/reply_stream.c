/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds what a stream receives to hiredis' reader and hands the owner one reply after the other.
 * What is no RESP, or does not fit into memory, fails the stream. */
#include "redis/client/reply_stream.h"

#include <stdio.h>
#include <stdlib.h>

static struct reply_stream *reply_stream_of(struct client_stream *stream)
{
    return LIST_ENTRY(stream, struct reply_stream, stream);
}

static void on_opened(struct client_stream *stream)
{
    const struct reply_stream *self = reply_stream_of(stream);
    self->events->opened(self->owner);
}

static void on_failed(struct client_stream *stream, const char *why)
{
    const struct reply_stream *self = reply_stream_of(stream);
    self->events->failed(self->owner, why);
}

static void on_freed(struct client_stream *stream)
{
    struct reply_stream *self = reply_stream_of(stream);

    redisReaderFree(self->reader);
    free(self);
}

static void on_input(struct client_stream *stream, const char *data, size_t size)
{
    struct reply_stream *self = reply_stream_of(stream);

    if (redisReaderFeed(self->reader, data, size) != REDIS_OK) {
        client_stream_fail(stream, "out of memory");
        return;
    }
    while (client_stream_is_alive(stream)) {
        void *reply = NULL;
        if (redisReaderGetReply(self->reader, &reply) != REDIS_OK) {
            char why[160];
            snprintf(why, sizeof why, "not an answer of Redis: %s", self->reader->errstr);
            client_stream_fail(stream, why);
            return;
        }
        if (reply == NULL) {
            return;
        }
        self->events->reply(self->owner, reply);
        freeReplyObject(reply);
    }
}

struct reply_stream *reply_stream_open(struct client_streams *streams, const char *host,
                                       uint16_t port, const struct reply_stream_events *events,
                                       void *owner)
{
    static const struct client_stream_events own = {
        .opened = on_opened, .input = on_input, .failed = on_failed, .freed = on_freed};
    struct reply_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL || (stream->reader = redisReaderCreate()) == NULL) {
        free(stream);
        return NULL;
    }
    stream->events = events;
    stream->owner = owner;
    client_stream_open(&stream->stream, streams, host, port, &own);
    return stream;
}

void reply_stream_close(struct reply_stream *stream)
{
    if (stream != NULL) {
        client_stream_close(&stream->stream);
    }
}
