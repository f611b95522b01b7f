/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds what a stream receives to hiredis' reader and hands the owner one reply after the other.
 * What is no RESP, or does not fit into memory, fails the stream. */
#include "redis/client/reply_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TLS_ALERT "\"\\x15\"" /* in hiredis' words, how an answer to what is no TLS begins */

static struct reply_stream *reply_stream_of(struct client_stream *stream)
{
    return LIST_ENTRY(stream, struct reply_stream, stream);
}

static void on_opened(struct client_stream *stream)
{
    struct reply_stream *self = reply_stream_of(stream);

    self->was_opened = true;
    self->events->opened(self->owner);
}

static void on_failed(struct client_stream *stream, const char *why)
{
    const struct reply_stream *self = reply_stream_of(stream);
    char hint[160];

    /* A Redis that speaks TLS hangs up on whoever does not, without a word. */
    if (self->was_opened && !self->has_input && stream->stream.tls == NULL) {
        snprintf(hint, sizeof hint, "%s before any answer; if it speaks TLS, use rediss://", why);
        why = hint;
    }
    self->events->failed(self->owner, why);
}

static void on_freed(struct client_stream *stream)
{
    struct reply_stream *self = reply_stream_of(stream);

    redisReaderFree(self->reader);
    free(self);
}

static void fail_unreadable(struct reply_stream *self)
{
    char why[160];

    if (self->stream.stream.tls == NULL && strstr(self->reader->errstr, TLS_ALERT) != NULL) {
        client_stream_fail(&self->stream, "it speaks TLS: use rediss:// or redlocks://");
        return;
    }
    snprintf(why, sizeof why, "not an answer of Redis: %s", self->reader->errstr);
    client_stream_fail(&self->stream, why);
}

static void on_input(struct client_stream *stream, const char *data, size_t size)
{
    struct reply_stream *self = reply_stream_of(stream);

    self->has_input = true;
    if (redisReaderFeed(self->reader, data, size) != REDIS_OK) {
        client_stream_fail(stream, "out of memory");
        return;
    }
    while (client_stream_is_alive(stream)) {
        void *reply = NULL;
        if (redisReaderGetReply(self->reader, &reply) != REDIS_OK) {
            fail_unreadable(self);
            return;
        }
        if (reply == NULL) {
            return;
        }
        self->reply = reply;
        self->events->reply(self->owner, reply);
        freeReplyObject(self->reply);
    }
}

/* A Redis that does not speak TLS takes the beginning of a handshake for half a command, and waits
 * for the rest. */
void reply_stream_explain_silence(const struct reply_stream *stream, int64_t time_ms, char *out,
                                  size_t size)
{
    bool shakes_hands = stream->stream.state == CLIENT_STREAM_HANDSHAKE;

    snprintf(out, size, "no answer%s within %lld ms%s", shakes_hands ? " to the TLS handshake" : "",
             (long long)time_ms, shakes_hands ? "; does it speak TLS on this port?" : "");
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
