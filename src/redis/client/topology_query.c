/* SPDX-License-Identifier: Apache-2.0
 *
 * A question on a connection of its own: it does not wait behind what is under way elsewhere, and a
 * server that does not answer holds nobody else up. */
#include "redis/client/client_state.h"

#include <stdio.h>
#include <stdlib.h>

#define ASK_TIMEOUT_MS 1000

struct ask {
    struct redis_client *client;
    struct reply_stream *stream;
    struct alarm alarm;
    unsigned to_skip; /* answers that come before */
    void (*answered)(struct redis_client *client, const redisReply *reply, const char *why);
};

void ask_cancel(struct ask *ask)
{
    if (ask != NULL) {
        alarm_stop(&ask->alarm);
        reply_stream_close(ask->stream);
        free(ask);
    }
}

static void answer(struct ask *ask, const redisReply *reply, const char *why)
{
    struct redis_client *client = ask->client;
    void (*answered)(struct redis_client * client, const redisReply *reply, const char *why) =
        ask->answered;

    ask_cancel(ask);
    answered(client, reply, why);
}

static void opened(void *owner)
{
    (void)owner; /* the question is written already */
}

static void reply_came(void *owner, const redisReply *reply)
{
    struct ask *ask = owner;

    /* An error in answer to AUTH is one in answer to the question, too, and says more. */
    if (ask->to_skip > 0 && reply->type != REDIS_REPLY_ERROR) {
        ask->to_skip--;
    } else {
        answer(ask, reply, NULL);
    }
}

static void failed(void *owner, const char *why)
{
    answer(owner, NULL, why);
}

static void too_late(struct alarm *alarm)
{
    answer(LIST_ENTRY(alarm, struct ask, alarm), NULL, "no answer in time");
}

struct ask *ask_begin(struct redis_client *client, const struct redis_host *host,
                      bool with_password, size_t count, const char *const *words,
                      void (*answered)(struct redis_client *client, const redisReply *reply,
                                       const char *why))
{
    static const struct reply_stream_events events = {
        .opened = opened, .reply = reply_came, .failed = failed};
    struct ask *ask = calloc(1, sizeof *ask);
    int64_t timeout_ms = client->url.connect_timeout_ms;

    if (ask == NULL) {
        return NULL;
    }
    ask->client = client;
    ask->answered = answered;
    alarm_init(&ask->alarm, too_late);
    ask->stream = reply_stream_open(&client->streams, host->name, host->port, &events, ask);
    if (ask->stream == NULL) {
        free(ask);
        return NULL;
    }
    struct buffer *out = reply_stream_out(ask->stream);
    ask->to_skip = with_password ? client_write_auth(client, out) : 0;
    client_write_words(out, count, words);
    alarm_set(&client->alarms, &ask->alarm,
              (uint64_t)(timeout_ms < ASK_TIMEOUT_MS ? timeout_ms : ASK_TIMEOUT_MS));
    return ask;
}
