/* SPDX-License-Identifier: Apache-2.0
 *
 * Delivers what is in the outbox: the cycles of webhooks.h, and the life of what they need. */
#include "service/webhooks.h"

#include "base/check.h"
#include "base/siphash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void settle(struct service_call *call);
static void look(struct service_call *call);
static void sweep(struct service_call *call);

/* How far the clock of a test is ahead of the real one. */
static int64_t ahead_ms(const struct webhooks *webhooks)
{
    const struct service *service = webhooks->service;
    int64_t real_ms = (int64_t)(clock_nanoseconds() / 1000000) - webhooks->opened_real_ms;

    return service->options.clock == NULL ? 0
                                          : service_now(service) - webhooks->opened_ms - real_ms;
}

static size_t count_in(const struct webhooks *webhooks, enum delivery_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
        count += webhooks->deliveries[i].state == state;
    }
    return count;
}

/* ---- the end of a cycle ---------------------------------------------------------------------- */

static void cycle_ended(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;

    webhooks->busy = false;
    webhooks->due_ms =
        service_now(call->service) + (webhooks->ended ? WEBHOOKS_ENDED_LOOK_MS : WEBHOOKS_POLL_MS);
    call_end(call);
}

/* The ledger does not answer, or refuses: what is answered stays so until it does. */
static void cycle_failed(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;

    webhooks->not_before_ms = service_now(call->service) + WEBHOOKS_POLL_MS;
    cycle_ended(call);
}

static struct ledger_job *outbox_job(struct service_call *call, enum ledger_task task)
{
    struct webhooks *webhooks = call->service->webhooks;
    struct ledger_job *job = call_job(call, task);

    webhooks->outbox.ahead_ms = ahead_ms(webhooks);
    webhooks->outbox.receiver = hf_text(webhooks->receiver);
    job->outbox = &webhooks->outbox;
    return job;
}

/* ---- the lease ------------------------------------------------------------------------------- */

static void leased(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;

    webhooks->leased = call->job.answer == LEDGER_DONE;
    if (!webhooks->leased) {
        webhooks->pending = -1;
    }
    settle(call);
}

static void unleased(struct service_call *call)
{
    call->service->webhooks->leased = false;
    cycle_ended(call);
}

static void lease(struct service_call *call, enum ledger_task task, service_run *next)
{
    struct ledger_job *job = call_job(call, task);

    job->scope = hf_text("webhooks");
    job->id = hf_text(call->service->server_id);
    job->delta = LEASE_MS;
    call_submit(call, next);
}

/* Another server may have another receiver. */
static void give_up_lease(struct service_call *call)
{
    if (call->service->webhooks->leased) {
        lease(call, LEDGER_TASK_UNLEASE, unleased);
    } else {
        cycle_ended(call);
    }
}

static bool lease_is_fresh(const struct webhooks *webhooks, int64_t within_ms)
{
    return webhooks->leased && service_now(webhooks->service) - webhooks->leased_ms < within_ms;
}

static void cycle_begin(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;

    webhooks->ended_looks = webhooks->ended && webhooks->ended_noted;
    if (lease_is_fresh(webhooks, LEASE_MS / 3) || (webhooks->ended && !webhooks->ended_looks)) {
        settle(call);
        return;
    }
    webhooks->leased_ms = service_now(call->service);
    lease(call, LEDGER_TASK_LEASE, leased);
}

/* ---- settling -------------------------------------------------------------------------------- */

static void settled(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;
    bool done = call->job.answer == LEDGER_DONE;

    for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
        struct webhook_delivery *delivery = &webhooks->deliveries[i];
        if (delivery->state != DELIVERY_SETTLING) {
            continue;
        }
        delivery_move(delivery, done ? DELIVERY_FREE : DELIVERY_ANSWERED);
        webhooks->delivered += done && delivery->settled.state == LEDGER_EVENT_DELIVERED;
        webhooks->given_up += done && delivery->settled.state == LEDGER_EVENT_GIVEN_UP;
    }
    if (done) {
        webhooks->ended_noted = webhooks->ended_noted || webhooks->outbox.ends;
        webhooks->postponed_count = 0;
        look(call);
    } else {
        cycle_failed(call);
    }
}

static void settle(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;
    size_t count = webhooks->postponed_count;

    memcpy(webhooks->settled, webhooks->postponed, count * sizeof *webhooks->settled);
    for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
        struct webhook_delivery *delivery = &webhooks->deliveries[i];
        if (delivery->state == DELIVERY_ANSWERED) {
            delivery_move(delivery, DELIVERY_SETTLING);
            webhooks->settled[count++] = delivery->settled;
        }
    }
    if (count == 0) {
        look(call);
        return;
    }
    outbox_job(call, LEDGER_TASK_SETTLE);
    webhooks->outbox.settled = webhooks->settled;
    webhooks->outbox.settled_count = count;
    webhooks->outbox.ends = webhooks->ended && !webhooks->ended_noted;
    call_submit(call, settled);
}

/* ---- sending --------------------------------------------------------------------------------- */

static struct webhook_delivery *find_free(struct webhooks *webhooks)
{
    for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
        if (webhooks->deliveries[i].state == DELIVERY_FREE) {
            return &webhooks->deliveries[i];
        }
    }
    return NULL;
}

static bool is_in_flight(const struct webhooks *webhooks, const struct ledger_event *event)
{
    for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
        const struct webhook_delivery *delivery = &webhooks->deliveries[i];
        if (delivery->state != DELIVERY_FREE &&
            strcmp(delivery->event.subject, event->subject) == 0 &&
            strcmp(delivery->event.scope, event->scope) == 0) {
            return true;
        }
    }
    return false;
}

/* How many may be sent now. */
static size_t room_for(struct webhooks *webhooks)
{
    size_t free = count_in(webhooks, DELIVERY_FREE);
    int64_t now_ms = service_now(webhooks->service);

    if (webhooks->ended || !lease_is_fresh(webhooks, LEASE_MS / 2)) {
        return 0;
    }
    if (webhooks->failures >= WEBHOOKS_FAILING) {
        bool probes = free == WEBHOOKS_PARALLEL && now_ms - webhooks->probed_ms >= WEBHOOKS_POLL_MS;
        return probes ? 1 : 0;
    }
    return free;
}

/* One that stands behind another that waits need not be looked at before that is due. */
static void postpone(struct webhooks *webhooks, const struct ledger_event *event)
{
    if (webhooks->postponed_count < LEDGER_DUE_PAGE) {
        webhooks->postponed[webhooks->postponed_count++] =
            (struct ledger_settled){.id = event->id,
                                    .state = LEDGER_EVENT_PENDING,
                                    .attempts = event->attempts,
                                    .due_ms = event->behind_ms + 1};
        webhooks->kicked = true;
    }
}

static void send_page(struct webhooks *webhooks)
{
    size_t left = room_for(webhooks);

    for (size_t i = 0; i < webhooks->outbox.count; i++) {
        const struct ledger_event *event = &webhooks->events[i];
        if (is_in_flight(webhooks, event)) {
            continue;
        }
        if (event->behind_ms > 0) {
            postpone(webhooks, event);
        } else if (event->behind_ms < 0 && left > 0) {
            struct webhook_delivery *delivery = find_free(webhooks);
            CHECK(delivery != NULL);
            left -= delivery_send(delivery, event) ? 1U : left;
            webhooks->probed_ms = service_now(webhooks->service);
        }
    }
}

/* What the ledger says of the receiver, unless an answer that came meanwhile says more. */
static void note_receiver(struct webhooks *webhooks)
{
    bool ended = webhooks->outbox.ended;

    if (webhooks->ended && !webhooks->ended_noted) {
        return;
    }
    if (ended != webhooks->ended) {
        log_line(&webhooks->service->options.log, LOG_WARNING, "%s",
                 ended ? "the receiver of webhooks has answered 410 before: nothing is sent to it "
                         "until webhooks are replayed"
                       : "webhooks were replayed: they are sent again");
    }
    webhooks->ended = webhooks->ended_noted = ended;
}

static void looked(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;

    if (call->job.answer != LEDGER_DONE) {
        cycle_failed(call);
        return;
    }
    webhooks->pending = webhooks->outbox.pending;
    webhooks->oldest_ms = webhooks->outbox.oldest_ms;
    note_receiver(webhooks);
    if (webhooks->ended) {
        give_up_lease(call);
    } else {
        send_page(webhooks);
        sweep(call);
    }
}

static void look(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;

    if (webhooks->ended && !webhooks->ended_looks) {
        give_up_lease(call);
        return;
    }
    if (webhooks->ended ? !webhooks->leased : room_for(webhooks) == 0) {
        cycle_ended(call);
        return;
    }
    outbox_job(call, LEDGER_TASK_DUE);
    webhooks->outbox.events = webhooks->events;
    webhooks->outbox.max = LEDGER_DUE_PAGE;
    call_submit(call, looked);
}

/* ---- sweeping -------------------------------------------------------------------------------- */

static void swept(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;
    bool more = call->job.answer == LEDGER_DONE && webhooks->outbox.more;

    webhooks->sweep_due_ms =
        service_now(call->service) + (more ? WEBHOOKS_POLL_MS : WEBHOOKS_SWEEP_EVERY_MS);
    cycle_ended(call);
}

static void sweep(struct service_call *call)
{
    struct webhooks *webhooks = call->service->webhooks;

    if (service_now(call->service) < webhooks->sweep_due_ms) {
        cycle_ended(call);
        return;
    }
    outbox_job(call, LEDGER_TASK_SWEEP);
    webhooks->outbox.keep_delivered_ms = WEBHOOKS_KEEP_DELIVERED_MS;
    webhooks->outbox.keep_given_up_ms = WEBHOOKS_KEEP_GIVEN_UP_MS;
    call_submit(call, swept);
}

/* ---- turns ----------------------------------------------------------------------------------- */

int64_t webhooks_due(const struct service *service)
{
    const struct webhooks *webhooks = service->webhooks;

    if (webhooks == NULL || webhooks->busy) {
        return INT64_MAX;
    }
    int64_t due_ms = count_in(webhooks, DELIVERY_ANSWERED) > 0 ? 0
                     : webhooks->ended                         ? webhooks->due_ms
                     : webhooks->kicked                        ? 0
                                                               : webhooks->due_ms;
    return due_ms > webhooks->not_before_ms ? due_ms : webhooks->not_before_ms;
}

void webhooks_turn(struct service *service, int64_t now_ms)
{
    struct webhooks *webhooks = service->webhooks;
    struct command command = {.spec = &command_table[WEBHOOKS_REPLAY]};

    if (webhooks_due(service) > now_ms) {
        return;
    }
    struct service_call *call = call_new(service, &command, NULL, NULL);
    if (call == NULL) {
        webhooks->not_before_ms = now_ms + WEBHOOKS_POLL_MS;
        return;
    }
    webhooks->busy = true;
    webhooks->kicked = false;
    call_ready(call, cycle_begin);
}

void webhooks_kick(struct service *service)
{
    if (service->webhooks != NULL) {
        service->webhooks->kicked = true;
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static enum hf_error named(struct problem *problem, const char *name, enum hf_error code)
{
    if (code != HF_OK) {
        struct problem inner = *problem;
        problem_set(problem, code, "%s: %.280s", name, inner.message);
    }
    return code;
}

static enum hf_error read_keys(const struct service_options *settings, struct webhook_keys *keys,
                               struct problem *problem)
{
    enum hf_error code = named(problem, "webhook-secret",
                               webhook_read_key(settings->webhook_secret, &keys->key[0], problem));

    return code != HF_OK
               ? code
               : named(problem, "webhook-secret-old",
                       webhook_read_key(settings->webhook_secret_old, &keys->key[1], problem));
}

enum hf_error webhooks_check(const struct service_options *settings, struct problem *problem)
{
    char host[ADDRESS_HOST_SIZE];
    struct webhook_keys keys;
    struct outgoing_allowed networks;
    enum hf_error code = named(problem, "outgoing-allow",
                               outgoing_read_allowed(settings->outgoing_allow, &networks, problem));

    if (code != HF_OK || settings->webhook_url == NULL) {
        return code;
    }
    code = named(problem, "webhook-url", outgoing_read_url(settings->webhook_url, host, problem));
    code = code != HF_OK ? code : read_keys(settings, &keys, problem);
    if (code == HF_OK && keys.key[0].size == 0) {
        code = problem_set(problem, HF_INVALID_ARGUMENT,
                           "webhook-url needs webhook-secret, by which the receiver knows us");
    }
    if (code == HF_OK && settings->ledger_url == NULL && settings->ledger_lazily == NULL) {
        code = problem_set(problem, HF_INVALID_ARGUMENT,
                           "webhook-url needs a ledger, which has what is to be sent: use --ledger "
                           "or a data directory");
    }
    return code;
}

/* Every server computes it alike; the URL may have a secret in it. */
static void name_receiver(struct webhooks *webhooks)
{
    static const uint8_t key[SIPHASH_KEY] = {0};

    snprintf(webhooks->receiver, sizeof webhooks->receiver, "receiver:%016" PRIx64,
             siphash(key, webhooks->url, strlen(webhooks->url)));
}

static void send_by_http(void *context, struct http_exchange *exchange)
{
    http_client_send(context, exchange);
}

enum hf_error webhooks_open(struct service *service, struct problem *problem)
{
    const struct service_options *settings = &service->settings;
    struct http_client_options options = {.ca_file = settings->outgoing_ca,
                                          .allowed = settings->outgoing_allow,
                                          .wake = service_wake,
                                          .wake_context = service};

    if (settings->webhook_url == NULL) {
        return HF_OK;
    }
    struct webhooks *webhooks = service->webhooks = calloc(1, sizeof *webhooks);
    if (webhooks == NULL || (webhooks->url = strdup(settings->webhook_url)) == NULL) {
        return problem_set(problem, HF_BUSY, "no memory for webhooks");
    }
    for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
        webhooks->deliveries[i].webhooks = webhooks;
        buffer_init(&webhooks->deliveries[i].body, &service->memory);
    }
    webhooks->service = service;
    webhooks->pending = -1;
    webhooks->opened_ms = webhooks->due_ms = webhooks->sweep_due_ms = service_now(service);
    webhooks->opened_real_ms = (int64_t)(clock_nanoseconds() / 1000000);
    webhooks->send = send_by_http;
    name_receiver(webhooks);
    enum hf_error code = read_keys(settings, &webhooks->keys, problem);
    code = code != HF_OK ? code : http_client_open(&options, &service->http, problem);
    webhooks->send_context = service->http;
    return code;
}

void webhooks_free(struct service *service)
{
    struct webhooks *webhooks = service->webhooks;

    if (webhooks != NULL) {
        for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
            buffer_free(&webhooks->deliveries[i].body);
        }
        free(webhooks->url);
        free(webhooks);
        service->webhooks = NULL;
    }
}
