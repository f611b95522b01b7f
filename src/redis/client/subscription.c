/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of a channel, on a connection of its own, which is pinged: a channel may be silent for
 * long, and a server that vanished without a word has to be noticed all the same. */
#include "redis/client/client_state.h"

#include "base/check.h"
#include "redis/client/error_reply.h"

#include <stdlib.h>

#define PING_MS 2000
#define SILENCE_MS 6000
#define BACKOFF_MIN_MS 10
#define BACKOFF_MAX_MS 2000

struct subscription {
    struct redis_client *client;
    struct subscription_options options; /* its channel is the copy below */
    struct reply_stream *stream;         /* NULL: none; the alarm opens the next */
    struct redis_host host;              /* where the stream leads */
    struct alarm alarm;
    bool is_subscribed;
    bool is_refusal_logged;
    unsigned failures;
    uint64_t last_reply_ms;
    char channel[];
};

static void log_about(const struct subscription *subscription, const char *what, const char *why)
{
    log_line(&subscription->client->log, LOG_WARNING, "the subscription to %s at %s %s:%u %s: %s",
             subscription->channel, subscription->options.host != NULL ? "sentinel" : "redis",
             subscription->host.name, subscription->host.port, what, why);
}

static void drop(struct subscription *subscription, const char *why)
{
    struct redis_client *client = subscription->client;
    unsigned doublings = subscription->failures < 8 ? subscription->failures : 8;
    uint64_t delay_ms = (uint64_t)BACKOFF_MIN_MS << doublings;

    if (subscription->is_subscribed) {
        log_about(subscription, "broke", why);
    }
    reply_stream_close(subscription->stream);
    subscription->stream = NULL;
    subscription->is_subscribed = false;
    subscription->failures++;
    alarm_set(&client->alarms, &subscription->alarm,
              client_jitter(client, delay_ms < BACKOFF_MAX_MS ? delay_ms : BACKOFF_MAX_MS));
}

static void failed(void *owner, const char *why)
{
    drop(owner, why);
}

static void opened(void *owner)
{
    (void)owner; /* everything is written already */
}

static bool is_message_of(const redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           strcmp(reply->element[0]->str, word) == 0;
}

/* Unless it passes, for want of a permission: it is tried again, and logged once. */
static void refused(struct subscription *subscription, const redisReply *reply)
{
    struct error_reply error;

    error_reply_read(reply, &error);
    if (error.action != ERROR_RETRY && !subscription->is_refusal_logged) {
        log_about(subscription, "is refused", reply->str);
        subscription->is_refusal_logged = true;
    }
    drop(subscription, reply->str);
}

static void reply_came(void *owner, const redisReply *reply)
{
    struct subscription *subscription = owner;

    subscription->last_reply_ms = uv_now(subscription->client->loop);
    if (reply->type == REDIS_REPLY_ERROR) {
        refused(subscription, reply);
    } else if (is_message_of(reply, "subscribe")) {
        subscription->is_subscribed = true;
        subscription->is_refusal_logged = false;
        subscription->failures = 0;
        alarm_set(&subscription->client->alarms, &subscription->alarm, PING_MS);
        subscription->options.resubscribed(subscription->options.context);
    } else if (is_message_of(reply, "message") && reply->elements == 3 &&
               reply->element[2]->type == REDIS_REPLY_STRING) {
        struct hf_bytes payload = {reply->element[2]->str, reply->element[2]->len};
        subscription->options.message(subscription->options.context, payload);
    }
}

static void subscribe_now(struct subscription *subscription)
{
    static const struct reply_stream_events events = {
        .opened = opened, .reply = reply_came, .failed = failed};
    struct redis_client *client = subscription->client;
    const char *const words[] = {"SUBSCRIBE", subscription->channel};

    if (subscription->options.host == NULL &&
        !client->topology->subscription_host(client, &subscription->host)) {
        alarm_set(&client->alarms, &subscription->alarm, BACKOFF_MAX_MS);
        return; /* subscription_check() is called before, if a host is found */
    }
    subscription->stream = reply_stream_open(&client->streams, subscription->host.name,
                                             subscription->host.port, &events, subscription);
    if (subscription->stream == NULL) {
        alarm_set(&client->alarms, &subscription->alarm, BACKOFF_MAX_MS);
        return;
    }
    struct buffer *out = reply_stream_out(subscription->stream);
    client_write_login(client, *subscription->options.login, out);
    client_write_command(out, 2, words);
    alarm_set(&client->alarms, &subscription->alarm, (uint64_t)client->url.connect_timeout_ms);
}

static void alarm_rang(struct alarm *alarm)
{
    static const char *const ping[] = {"PING"};
    struct subscription *subscription = LIST_ENTRY(alarm, struct subscription, alarm);
    struct redis_client *client = subscription->client;

    if (subscription->stream == NULL) {
        subscribe_now(subscription);
    } else if (!subscription->is_subscribed ||
               uv_now(client->loop) - subscription->last_reply_ms > SILENCE_MS) {
        drop(subscription, "no answer in time");
    } else {
        client_write_command(reply_stream_out(subscription->stream), 1, ping);
        alarm_set(&client->alarms, alarm, PING_MS);
    }
}

void subscription_check(struct subscription *subscription)
{
    if (subscription == NULL) {
        return;
    }
    struct redis_client *client = subscription->client;
    if (subscription->stream == NULL) {
        if (subscription->failures == 0) {
            alarm_set_sooner(&client->alarms, &subscription->alarm, 0);
        }
    } else if (!client->topology->serves_subscription(client, &subscription->host)) {
        drop(subscription, "it is no longer the place for it");
    }
}

struct subscription *subscription_open(struct redis_client *client,
                                       const struct subscription_options *options)
{
    size_t size = strlen(options->channel) + 1;
    struct subscription *subscription = calloc(1, sizeof *subscription + size);

    if (subscription == NULL) {
        return NULL;
    }
    subscription->client = client;
    subscription->options = *options;
    if (options->host != NULL) {
        subscription->host = *options->host;
    }
    memcpy(subscription->channel, options->channel, size);
    subscription->options.channel = subscription->channel;
    alarm_init(&subscription->alarm, alarm_rang);
    alarm_set(&client->alarms, &subscription->alarm, 0);
    return subscription;
}

void redis_client_subscribe(struct redis_client *client, const char *channel,
                            void (*message)(void *context, struct hf_bytes payload),
                            void (*resubscribed)(void *context), void *context)
{
    static const enum redis_login login = REDIS_LOGIN_SERVER;
    struct subscription_options options = {.channel = channel,
                                           .login = &login,
                                           .message = message,
                                           .resubscribed = resubscribed,
                                           .context = context};

    CHECK(client->subscription == NULL);
    client->subscription = subscription_open(client, &options);
    CHECK(client->subscription != NULL);
}

void subscription_free(struct subscription *subscription)
{
    if (subscription != NULL) {
        alarm_stop(&subscription->alarm);
        reply_stream_close(subscription->stream);
        free(subscription);
    }
}
