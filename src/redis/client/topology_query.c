/* SPDX-License-Identifier: Apache-2.0
 *
 * One query for the masters on a connection of its own: it does not wait behind requests in flight,
 * and a server that does not answer delays nothing else. */
#include "redis/client/client_state.h"

#include <stdio.h>
#include <stdlib.h>

#define QUERY_TIMEOUT_MS 1000

struct topology_query {
    struct redis_client *client;
    struct reply_stream *stream;
    struct alarm alarm;
    int64_t timeout_ms;
    unsigned to_skip; /* replies to AUTH, which come before the query's */
    void (*answered)(struct redis_client *client, const redisReply *reply, const char *why);
};

void topology_query_cancel(struct topology_query *query)
{
    if (query != NULL) {
        alarm_stop(&query->alarm);
        reply_stream_close(query->stream);
        free(query);
    }
}

static void finish(struct topology_query *query, const redisReply *reply, const char *why)
{
    struct redis_client *client = query->client;
    void (*answered)(struct redis_client * client, const redisReply *reply, const char *why) =
        query->answered;

    topology_query_cancel(query);
    answered(client, reply, why);
}

static void opened(void *owner)
{
    (void)owner; /* the query is written already */
}

static void reply_came(void *owner, const redisReply *reply)
{
    struct topology_query *query = owner;

    /* An error reply to AUTH ends the query, too, and says more than the next reply would. */
    if (query->to_skip > 0 && reply->type != REDIS_REPLY_ERROR) {
        query->to_skip--;
    } else {
        finish(query, reply, NULL);
    }
}

static void failed(void *owner, const char *why)
{
    finish(owner, NULL, why);
}

static void too_late(struct alarm *alarm)
{
    struct topology_query *query = LIST_ENTRY(alarm, struct topology_query, alarm);
    char why[128];

    reply_stream_explain_silence(query->stream, query->timeout_ms, why, sizeof why);
    finish(query, NULL, why);
}

struct topology_query *topology_query_start(
    struct redis_client *client, const struct redis_host *host, enum redis_login login,
    size_t count, const char *const *words,
    void (*answered)(struct redis_client *client, const redisReply *reply, const char *why))
{
    static const struct reply_stream_events events = {
        .opened = opened, .reply = reply_came, .failed = failed};
    struct topology_query *query = calloc(1, sizeof *query);
    int64_t timeout_ms = client->url.connect_timeout_ms;

    if (query == NULL) {
        return NULL;
    }
    query->client = client;
    query->answered = answered;
    query->timeout_ms = timeout_ms < QUERY_TIMEOUT_MS ? timeout_ms : QUERY_TIMEOUT_MS;
    alarm_init(&query->alarm, too_late);
    query->stream = reply_stream_open(&client->streams, host->name, host->port, &events, query);
    if (query->stream == NULL) {
        free(query);
        return NULL;
    }
    struct buffer *out = reply_stream_out(query->stream);
    query->to_skip = client_write_login(client, login, out);
    client_write_command(out, count, words);
    alarm_set(&client->alarms, &query->alarm, (uint64_t)query->timeout_ms);
    return query;
}
