/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the payment peer:
 *
 *     POST /payments               {payment_id, amount, currency, …}   charge, once for each id
 *     GET  /payments/{id}                                              what became of it
 *     POST /payments/{id}/refund   {payment_id, amount, currency}      give it back, once
 *
 * An answer counts if it is a 2xx with a status that is known, a 402, or, of a question, a 404.
 * Whatever else comes, or does not come, is PAYMENT_UNKNOWN: the peer is asked again. */
#include "service/payments_http.h"

#include "base/check.h"
#include "net/http_client.h"
#include "service/service_state.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SEGMENT_SIZE ((size_t)3 * HF_ID_SIZE) /* every byte of an id as %XX */
#define URL_MAX (OUTGOING_URL_MAX + SEGMENT_SIZE + 32)
#define PARALLEL 256
#define HEADER_MAX (HF_ID_SIZE + 64)

struct payments_http {
    struct http_client *client;
    struct webhook_keys keys;
    struct list requests; /* in flight */
};

/* A request in flight. */
struct payment_request {
    struct list node;
    struct http_exchange exchange;
    enum payment_verb verb;
    char payment_id[HF_ID_SIZE];
    char url[URL_MAX];
    char headers[5][HEADER_MAX + WEBHOOK_SIGNATURE_SIZE];
    char trace_parent[TRACE_PARENT_SIZE + 16], trace_state[TRACE_STATE_MAX + 16];
    char request_id[TRACE_REQUEST_MAX + 16];
    struct buffer body;
    payment_done *done;
    void *context;
};

enum hf_error payments_read_keys(const struct service_options *settings, struct webhook_keys *keys,
                                 struct problem *problem)
{
    enum hf_error code = webhook_read_key(settings->payment_secret, &keys->key[0], problem);

    return code == HF_OK ? webhook_read_key(settings->payment_secret_old, &keys->key[1], problem)
                         : code;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void say(struct payment_answer *answer, enum payment_outcome outcome, const char *format,
                int status)
{
    answer->outcome = outcome;
    snprintf(answer->message, sizeof answer->message, format, status);
}

/* A definite no: it was understood and will not be done, however often it is asked for. Not so
 * what a peer says that is busy, in the middle of it, or does not know us. */
static bool is_refusal(int status)
{
    return status >= 400 && status < 500 && status != 401 && status != 404 && status != 405 &&
           status != 408 && status != 409 && status != 425 && status != 429;
}

static const struct {
    const char *word;
    enum payment_outcome outcome;
} words[] = {{"succeeded", PAYMENT_SUCCEEDED},
             {"declined", PAYMENT_DECLINED},
             {"pending", PAYMENT_PENDING},
             {"refunded", PAYMENT_REFUNDED}};

/* {status, payment_id?, message?} */
static void read_body(struct payment_answer *answer, const char *payment_id, struct hf_bytes body)
{
    json_t *root = json_loadb(body.data, body.size, 0, NULL);
    const char *status = json_string_value(json_object_get(root, "status"));
    const char *id = json_string_value(json_object_get(root, "payment_id"));
    const char *message = json_string_value(json_object_get(root, "message"));

    say(answer, PAYMENT_UNKNOWN, "the payment peer's answer is none: status %d", 200);
    if (id != NULL && strcmp(id, payment_id) != 0) {
        say(answer, PAYMENT_UNKNOWN, "the payment peer's answer is about another payment", 0);
        status = NULL;
    }
    for (size_t i = 0; status != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(status, words[i].word) == 0) {
            answer->outcome = words[i].outcome;
            snprintf(answer->message, sizeof answer->message, "%.200s",
                     message != NULL ? message : "as the payment peer says");
        }
    }
    json_decref(root);
}

struct payment_answer payments_http_read(enum payment_verb verb, const char *payment_id, int status,
                                         struct hf_bytes body)
{
    struct payment_answer answer = {.outcome = PAYMENT_UNKNOWN};

    if (status >= 200 && status < 300) {
        read_body(&answer, payment_id, body);
    } else if (status == 404 && verb != PAYMENT_CHARGE) {
        say(&answer, PAYMENT_ABSENT, "the payment peer does not know the payment (%d)", status);
    } else if (verb == PAYMENT_ASK || !is_refusal(status)) {
        say(&answer, PAYMENT_UNKNOWN, "the payment peer answers %d", status);
    } else {
        say(&answer, PAYMENT_DECLINED, "the payment peer refuses it: %d", status);
        answer.refused = status != 402;
    }
    return answer;
}

static void answered(struct http_exchange *exchange, void *context)
{
    struct payment_request *request = context;
    struct payment_answer answer = {.outcome = PAYMENT_UNKNOWN};

    if (exchange->fate == HTTP_ANSWERED) {
        answer = payments_http_read(request->verb, request->payment_id, exchange->status,
                                    exchange->body);
    } else {
        snprintf(answer.message, sizeof answer.message, "no answer of the payment peer: %.200s",
                 exchange->why);
    }
    list_remove(&request->node);
    request->done(request->context, &answer);
    buffer_free(&request->body);
    free(request);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void put_text(struct buffer *out, const char *name, const char *text)
{
    buffer_format(out, ",\"%s\":", name);
    json_text(out, hf_text(text));
}

static void write_body(struct buffer *out, enum payment_verb verb, const struct ledger_saga *saga)
{
    if (verb == PAYMENT_ASK) {
        return;
    }
    buffer_format(out, "{\"amount\":%lld", (long long)payment_amount(saga));
    put_text(out, "currency", saga->currency);
    put_text(out, "payment_id", saga->payment_id);
    put_text(out, "booking_id", saga->booking);
    put_text(out, "event_id", saga->event);
    put_text(out, "user_id", saga->user);
    put_text(out, "saga_id", saga->saga);
    if (verb == PAYMENT_CHARGE && saga->token[0] != '\0') {
        put_text(out, "payment_token", saga->token);
    }
    buffer_byte(out, '}');
}

static const char *suffix_of(enum payment_verb verb)
{
    return verb == PAYMENT_CHARGE ? "" : verb == PAYMENT_ASK ? "-ask" : "-refund";
}

/* An id as one segment of a path. Those that we make are as they are; one that somebody else has
 * written into the ledger must not lead to another place. */
static void write_segment(struct hf_bytes id, char out[SEGMENT_SIZE])
{
    for (size_t i = 0; i < id.size; i++) {
        unsigned char c = (unsigned char)id.data[i];
        if (isalnum(c) || c == '-' || c == '_') {
            *out++ = (char)c;
        } else {
            out += snprintf(out, 4, "%%%02X", c);
        }
    }
    *out = '\0';
}

static void write_url(struct payment_request *request, const char *base,
                      const struct ledger_saga *saga)
{
    size_t size = strlen(base);
    char segment[SEGMENT_SIZE];

    size -= size > 0 && base[size - 1] == '/' ? 1 : 0;
    if (request->verb == PAYMENT_CHARGE) {
        snprintf(request->url, sizeof request->url, "%.*s/payments", (int)size, base);
        return;
    }
    write_segment(hf_text(saga->payment_id), segment);
    snprintf(request->url, sizeof request->url, "%.*s/payments/%s%s", (int)size, base, segment,
             request->verb == PAYMENT_REFUND ? "/refund" : "");
}

/* Returns how many there are. */
static size_t write_headers(struct payment_request *request, const struct webhook_keys *keys,
                            const struct ledger_saga *saga)
{
    struct hf_bytes body = {request->body.data, request->body.size};
    char id[HEADER_MAX], signature[WEBHOOK_SIGNATURE_SIZE];
    int64_t now_s = (int64_t)time(NULL);
    const size_t size = sizeof request->headers[0];
    size_t count = 0;

    snprintf(id, sizeof id, "%s%s", saga->payment_id, suffix_of(request->verb));
    if (request->verb != PAYMENT_ASK) {
        snprintf(request->headers[count++], size, "Idempotency-Key: %s", id);
        snprintf(request->headers[count++], size, "Content-Type: application/json");
    }
    if (webhook_sign(keys, hf_text(id), now_s, body, signature)) {
        snprintf(request->headers[count++], size, "webhook-id: %s", id);
        snprintf(request->headers[count++], size, "webhook-timestamp: %lld", (long long)now_s);
        snprintf(request->headers[count++], size, "webhook-signature: %s", signature);
    }
    for (size_t i = 0; i < count; i++) {
        request->exchange.headers[i] = request->headers[i];
    }
    return count;
}

/* Which request of a client it is part of; this one is a call of its own in that trace. */
static void add_trace(struct payment_request *request, size_t count,
                      const struct trace_request *part_of, struct random *random)
{
    char parent[TRACE_PARENT_SIZE];

    trace_continue(&part_of->trace, random, parent);
    snprintf(request->trace_parent, sizeof request->trace_parent, "traceparent: %s", parent);
    request->exchange.headers[count++] = request->trace_parent;
    if (part_of->state[0] != '\0') {
        snprintf(request->trace_state, sizeof request->trace_state, "tracestate: %s",
                 part_of->state);
        request->exchange.headers[count++] = request->trace_state;
    }
    if (part_of->id[0] != '\0') {
        snprintf(request->request_id, sizeof request->request_id, "X-Request-Id: %s", part_of->id);
        request->exchange.headers[count++] = request->request_id;
    }
}

enum hf_error payments_http_open(struct service *service, struct problem *problem)
{
    const struct service_options *settings = &service->settings;
    struct http_client_options options = {.ca_file = settings->outgoing_ca,
                                          .allowed = settings->outgoing_allow,
                                          .parallel = PARALLEL,
                                          .wake = service_wake,
                                          .wake_context = service};
    const char *provider = payments_provider(service);

    if (provider == NULL || strcmp(provider, "http") != 0) {
        return HF_OK;
    }
    struct payments_http *http = service->payments = calloc(1, sizeof *http);
    if (http == NULL) {
        return problem_set(problem, HF_BUSY, "no memory for payments");
    }
    list_init(&http->requests);
    enum hf_error code = payments_read_keys(settings, &http->keys, problem);
    return code == HF_OK ? http_client_open(&options, &http->client, problem) : code;
}

void payments_http_send(struct service *service, enum payment_verb verb,
                        const struct ledger_saga *saga, const struct trace_request *part_of,
                        payment_done *done, void *context)
{
    struct payments_http *http = service->payments;
    struct payment_request *request = calloc(1, sizeof *request);

    if (request == NULL) {
        struct payment_answer answer = {PAYMENT_UNKNOWN, "out of memory", false};
        done(context, &answer);
        return;
    }
    request->verb = verb;
    request->done = done;
    request->context = context;
    snprintf(request->payment_id, sizeof request->payment_id, "%s", saga->payment_id);
    buffer_init(&request->body, &service->memory);
    write_body(&request->body, verb, saga);
    write_url(request, service->settings.payment_url, saga);
    add_trace(request, write_headers(request, &http->keys, saga), part_of, &service->random);
    request->exchange.method = verb == PAYMENT_ASK ? "GET" : "POST";
    request->exchange.url = request->url;
    request->exchange.content = (struct hf_bytes){request->body.data, request->body.size};
    request->exchange.timeout_ms = service->settings.payment_timeout_ms;
    request->exchange.done = answered;
    request->exchange.context = request;
    list_add_last(&http->requests, &request->node);
    http_client_send(http->client, &request->exchange);
}

void payments_http_turn(struct service *service)
{
    if (service->payments != NULL && service->payments->client != NULL) {
        http_client_turn(service->payments->client);
    }
}

void payments_http_close(struct service *service)
{
    struct payments_http *http = service->payments;

    if (http == NULL) {
        return;
    }
    http_client_close(http->client);
    for (struct list *node = http->requests.next, *next; node != &http->requests; node = next) {
        struct payment_request *request = LIST_ENTRY(node, struct payment_request, node);
        next = node->next;
        buffer_free(&request->body);
        free(request);
    }
    explicit_bzero(&http->keys, sizeof http->keys);
    free(http);
    service->payments = NULL;
}
