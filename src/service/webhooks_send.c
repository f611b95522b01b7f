/* SPDX-License-Identifier: Apache-2.0
 *
 * One delivery: the message, its signature, and what its answer means. The message is made of the
 * row alone, so that every attempt has the same body and the same webhook-id, by which a receiver
 * knows what it has had already. */
#include "base/check.h"
#include "service/webhooks.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* The schedule: after the first attempt, the second, … and from the last on always the same, until
 * WEBHOOKS_GIVE_UP_MS have passed. Each is up to a tenth shorter or longer. */
static const int64_t schedule_s[] = {1,       5,    30,       2 * 60,   10 * 60,
                                     30 * 60, 3600, 2 * 3600, 4 * 3600, 8 * 3600};
#define SCHEDULE_COUNT ((int64_t)(sizeof schedule_s / sizeof schedule_s[0]))

static const bool allowed[4][4] = {
    [DELIVERY_FREE][DELIVERY_SENDING] = true,      [DELIVERY_SENDING][DELIVERY_ANSWERED] = true,
    [DELIVERY_ANSWERED][DELIVERY_SETTLING] = true, [DELIVERY_SETTLING][DELIVERY_FREE] = true,
    [DELIVERY_SETTLING][DELIVERY_ANSWERED] = true,
};

void delivery_move(struct webhook_delivery *delivery, enum delivery_state state)
{
    CHECK(allowed[delivery->state][state]);
    delivery->state = state;
}

int64_t delivery_delay_ms(struct service *service, int64_t attempts)
{
    int64_t at = attempts < 1 ? 0 : attempts - 1;
    int64_t delay_ms = 1000 * schedule_s[at < SCHEDULE_COUNT ? at : SCHEDULE_COUNT - 1];
    uint32_t random;

    random_bytes(&service->random, &random, sizeof random);
    return delay_ms - delay_ms / 10 + random % (delay_ms / 5 + 1);
}

/* ---- what an answer means -------------------------------------------------------------------- */

static void delivery_describe(const struct trace_source *source, struct trace_request *out)
{
    out->trace = ((const struct webhook_delivery *)source)->trace;
    out->id[0] = out->state[0] = '\0'; /* the request's own id is not kept with the row */
}

static void tell_failure(const struct webhook_delivery *delivery)
{
    const struct webhooks *webhooks = delivery->webhooks;
    const struct http_exchange *exchange = &delivery->exchange;
    char status[32];

    snprintf(status, sizeof status, "status %d", exchange->status);
    if (webhooks->failures == 1 || webhooks->failures == WEBHOOKS_FAILING) {
        log_request_line(&webhooks->service->options.log, &delivery->source, LOG_WARNING,
                         "a webhook was not delivered and will be sent again: %s%s",
                         exchange->fate == HTTP_ANSWERED ? status : exchange->why,
                         webhooks->failures > 1 ? "; the receiver is tried once a second" : "");
    }
}

static void succeed(struct webhook_delivery *delivery)
{
    struct webhooks *webhooks = delivery->webhooks;

    if (webhooks->failures >= WEBHOOKS_FAILING) {
        log_line(&webhooks->service->options.log, LOG_INFO, "webhooks are delivered again");
    }
    webhooks->failures = 0;
    delivery->settled.state = LEDGER_EVENT_DELIVERED;
    delivery->settled.due_ms = 0;
}

/* 410 says that nobody wants them any more. The row stays for whoever starts it again. */
static void end_subscription(struct webhook_delivery *delivery)
{
    struct webhooks *webhooks = delivery->webhooks;

    if (!webhooks->ended) {
        log_line(&webhooks->service->options.log, LOG_WARNING,
                 "the receiver of webhooks has answered 410: nothing more is sent to it until "
                 "webhooks are replayed");
    }
    webhooks->ended = true;
    delivery->settled.state = LEDGER_EVENT_PENDING;
    delivery->settled.due_ms = 0;
}

static void fail(struct webhook_delivery *delivery)
{
    struct webhooks *webhooks = delivery->webhooks;
    int64_t delay_ms = delivery_delay_ms(webhooks->service, delivery->settled.attempts);
    int64_t longest_s = schedule_s[SCHEDULE_COUNT - 1], after_s = delivery->exchange.retry_after_s;

    after_s = after_s > longest_s ? longest_s : after_s;
    webhooks->failures++;
    webhooks->failed++;
    tell_failure(delivery);
    bool over = delivery->event.age_ms + delay_ms > WEBHOOKS_GIVE_UP_MS;
    delivery->settled.state = over ? LEDGER_EVENT_GIVEN_UP : LEDGER_EVENT_PENDING;
    delivery->settled.due_ms = over ? 0 : delay_ms > 1000 * after_s ? delay_ms : 1000 * after_s;
    if (over) {
        log_request_line(&webhooks->service->options.log, &delivery->source, LOG_WARNING,
                         "a webhook is given up after 3 days and %" PRId64
                         " attempts: %s of '%s'; `holdfast webhooks replay` sends it again",
                         delivery->settled.attempts, delivery->event.type, delivery->event.subject);
    }
}

static void answered(struct http_exchange *exchange, void *context)
{
    struct webhook_delivery *delivery = context;
    bool heard = exchange->fate == HTTP_ANSWERED;

    delivery->settled =
        (struct ledger_settled){.id = delivery->event.id, .attempts = delivery->event.attempts + 1};
    if (heard && exchange->status >= 200 && exchange->status < 300) {
        succeed(delivery);
    } else if (heard && exchange->status == 410) {
        end_subscription(delivery);
    } else {
        fail(delivery);
    }
    delivery_move(delivery, DELIVERY_ANSWERED);
}

/* ---- the message ----------------------------------------------------------------------------- */

static void write_body(struct webhook_delivery *delivery)
{
    const struct ledger_event *event = &delivery->event;
    time_t seconds = (time_t)(event->created_ms / 1000);
    struct tm parts;
    char text[32];

    gmtime_r(&seconds, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    buffer_clear(&delivery->body);
    buffer_format(&delivery->body,
                  "{\"type\":\"%s\",\"timestamp\":\"%s.%03dZ\",\"data\":", event->type, text,
                  (int)(event->created_ms % 1000));
    buffer_bytes(&delivery->body, event->data, event->data_size);
    buffer_byte(&delivery->body, '}');
}

/* The trace of the request that it comes from, which the row has behind its data. A row without one
 * begins a trace, which is the same at each attempt. */
static void take_trace(struct webhook_delivery *delivery)
{
    static const uint8_t key[SIPHASH_KEY] = {0};
    struct ledger_event *event = &delivery->event;
    const int64_t seed[] = {event->id, event->created_ms};
    char parent[TRACE_PARENT_SIZE];

    if (!ledger_notice_take_trace(event->data, &event->data_size, &delivery->trace)) {
        trace_derive(key, seed, sizeof seed, &delivery->trace);
    }
    trace_continue(&delivery->trace, &delivery->webhooks->service->random, parent);
    snprintf(delivery->trace_header, sizeof delivery->trace_header, "traceparent: %s", parent);
    delivery->source.describe = delivery_describe;
}

static bool write_headers(struct webhook_delivery *delivery)
{
    static const char id_name[] = "webhook-id: ", signature_name[] = "webhook-signature: ";
    char signature[WEBHOOK_SIGNATURE_SIZE];
    int64_t now_s = (int64_t)time(NULL);

    snprintf(delivery->id, sizeof delivery->id, "%sevt_%" PRId64 "_%" PRId64, id_name,
             delivery->event.created_ms, delivery->event.id);
    snprintf(delivery->timestamp, sizeof delivery->timestamp, "webhook-timestamp: %" PRId64, now_s);
    struct hf_bytes body = {delivery->body.data, delivery->body.size};
    if (!webhook_sign(&delivery->webhooks->keys, hf_text(delivery->id + sizeof id_name - 1), now_s,
                      body, signature)) {
        return false;
    }
    snprintf(delivery->signature, sizeof delivery->signature, "%s%s", signature_name, signature);
    return true;
}

bool delivery_send(struct webhook_delivery *delivery, const struct ledger_event *event)
{
    struct webhooks *webhooks = delivery->webhooks;

    delivery->event = *event;
    delivery->body.failed = false;
    take_trace(delivery);
    write_body(delivery);
    if (delivery->body.failed || !write_headers(delivery)) {
        return false;
    }
    delivery->exchange = (struct http_exchange){
        .method = "POST",
        .url = webhooks->url,
        .headers = {"content-type: application/json", delivery->id, delivery->timestamp,
                    delivery->signature, delivery->trace_header},
        .content = {delivery->body.data, delivery->body.size},
        .timeout_ms = WEBHOOKS_TIMEOUT_MS,
        .ignore_body = true,
        .done = answered,
        .context = delivery,
    };
    delivery_move(delivery, DELIVERY_SENDING);
    webhooks->send(webhooks->send_context, &delivery->exchange);
    return true;
}
