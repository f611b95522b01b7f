/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of sagas in this process: made for a client, or claimed because nobody drives them;
 * found and watched by clients; woken by callbacks; dropped when they have ended, were parked, or
 * have become another server's. */
#include "service/checkout.h"

#include "base/siphash.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- made, found, dropped -------------------------------------------------------------------- */

/* The texts of the settings are the caller's; they are kept here. */
static bool keep_texts(struct service *service)
{
    struct service_options *settings = &service->settings;
    const char **texts[] = {&settings->payment_url, &settings->payment_secret,
                            &settings->payment_secret_old, &settings->currency,
                            &settings->late_payment};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (*texts[i] != NULL) {
            service->payment_texts[i] = strdup(*texts[i]);
            *texts[i] = service->payment_texts[i];
            if (*texts[i] == NULL) {
                return false;
            }
        }
    }
    return true;
}

bool sagas_init(struct service *service)
{
    service->sagas = calloc(1, sizeof *service->sagas);
    if (service->sagas == NULL) {
        return false;
    }
    for (size_t i = 0; i < SAGA_BUCKETS; i++) {
        list_init(&service->sagas->buckets[i]);
    }
    list_init(&service->sagas->moves);
    return keep_texts(service);
}

void sagas_free(struct service *service)
{
    free(service->sagas);
    for (size_t i = 0; i < sizeof service->payment_texts / sizeof service->payment_texts[0]; i++) {
        free(service->payment_texts[i]);
    }
}

static struct list *bucket_of(struct service *service, struct hf_bytes id)
{
    return &service->sagas
                ->buckets[siphash(service->hash_key, id.data, id.size) & (SAGA_BUCKETS - 1)];
}

struct saga *saga_find(struct service *service, struct hf_bytes id)
{
    struct list *bucket = bucket_of(service, id);

    for (struct list *at = bucket->next; at != bucket; at = at->next) {
        struct saga *saga = LIST_ENTRY(at, struct saga, node);
        if (text_equal(hf_text(saga->row.saga), id)) {
            return saga;
        }
    }
    return NULL;
}

static void release(void *state)
{
    struct saga *saga = state;

    list_remove(&saga->node);
    saga->call->service->sagas->active--;
    explicit_bzero(saga->row.token, sizeof saga->row.token);
    explicit_bzero(saga->next.token, sizeof saga->next.token);
    explicit_bzero(saga->looked.token, sizeof saga->looked.token);
    free(saga);
}

static void saga_describe(const struct trace_source *source, struct trace_request *out)
{
    *out = ((const struct saga *)source)->request;
}

/* The ledger has no room for the trace of the request that began it. One that is taken up again has
 * a trace of its own, the same on every server. */
static void begin_trace(struct saga *saga)
{
    static const uint8_t key[SIPHASH_KEY] = {0};

    saga->source.describe = saga_describe;
    trace_derive(key, saga->row.saga, strlen(saga->row.saga), &saga->request.trace);
}

void saga_note_request(struct saga *saga, const struct service_call *client)
{
    const struct trace_source *source = client->command.source;

    if (source != NULL && client->done != NULL) {
        source->describe(source, &saga->request);
    }
}

struct saga *saga_new(struct service *service, const struct ledger_saga *row)
{
    struct command own = {.spec = &command_table[SAGA_GET]};

    own.args.saga_get = (struct hf_saga_get_args){.saga = hf_text(row->saga)};
    struct service_call *call = call_new(service, &own, NULL, NULL);
    if (call == NULL) {
        return NULL;
    }
    struct saga *saga = call_add_state(call, sizeof *saga, release);
    if (saga == NULL) {
        call_end(call);
        return NULL;
    }
    saga->call = call;
    saga->row = *row;
    begin_trace(saga);
    saga->state = saga_state_read(row->state);
    saga->charge = saga_charge_read(row->payment);
    list_init(&saga->watchers);
    list_add_last(bucket_of(service, hf_text(row->saga)), &saga->node);
    service->sagas->active++;
    return saga;
}

void saga_drop(struct service_call *call)
{
    saga_tell_watchers(saga_of(call));
    call_drop_state(call);
    call_end(call);
}

/* ---- watched --------------------------------------------------------------------------------- */

static void watch_over(struct service_call *client)
{
    list_remove(&client->gated);
    client->after(client);
}

void saga_watch(struct saga *saga, struct service_call *client, int64_t wait_ms, service_run *next)
{
    client->after = next;
    list_add_last(&saga->watchers, &client->gated);
    call_later(client, watch_over, wait_ms);
}

/* One that asks for no times need not read the row of a saga that has ended here. */
static service_run *watcher_next(const struct saga *saga, struct service_call *client)
{
    struct checkout_work *work = checkout_work_of(client);

    if (!work->timeless || !saga_state_is_final(saga->state)) {
        return client->after;
    }
    work->row = saga->row;
    return checkout_wait;
}

void saga_tell_watchers(struct saga *saga)
{
    while (!list_empty(&saga->watchers)) {
        struct service_call *client = LIST_ENTRY(saga->watchers.next, struct service_call, gated);
        list_remove(&client->gated);
        list_remove(&client->node);
        call_ready(client, watcher_next(saga, client));
    }
}

/* ---- commands and waits of its own ----------------------------------------------------------- */

static void own_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    call_note(call, reply);
    call_ready(call, call->run);
}

void saga_submit(struct service_call *call, struct command *command, service_run *next)
{
    call->run = next;
    command->source = &saga_of(call)->source;
    service_carry_out(call->service, command, own_answered, call);
}

static void wait_over(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    saga->waits = false;
    saga->moved(call);
}

void saga_wait(struct saga *saga, int64_t ms, service_run *next)
{
    saga->moved = next;
    saga->waits = !saga->woken;
    if (saga->woken) {
        saga->woken = false;
        call_ready(saga->call, next);
    } else {
        call_later(saga->call, wait_over, ms);
    }
}

void saga_wake(struct saga *saga)
{
    if (saga->waits) {
        saga->waits = false;
        list_remove(&saga->call->node);
        call_ready(saga->call, saga->moved);
    } else {
        saga->woken = true;
    }
}

/* ---- claimed --------------------------------------------------------------------------------- */

static int64_t claim_lease(const struct service *service)
{
    return service->settings.saga_lease_ms + saga_pays_ms(service);
}

/* A saga that this process drives already: its lease had ended all the same. */
static void claim_again(struct service *service, struct saga *saga, const struct ledger_saga *row)
{
    if (!saga->moving) {
        saga->row.fence = row->fence;
        saga->leased_until_ms = service->sagas->claimed_ms + claim_lease(service);
    }
}

static void claim_one(struct service *service, const struct ledger_saga *row)
{
    struct saga *saga = saga_find(service, hf_text(row->saga));
    const char *broken =
        saga_broken_rule(saga_state_read(row->state), saga_charge_read(row->payment));

    if (saga != NULL) {
        claim_again(service, saga, row);
        return;
    }
    if (broken != NULL) {
        log_line(&service->options.log, LOG_ERROR, "saga %s is left alone: %s", row->saga, broken);
        return;
    }
    saga = saga_new(service, row);
    if (saga == NULL) {
        return; /* it is claimed again when its lease is over */
    }
    saga->leased_until_ms = service->sagas->claimed_ms + claim_lease(service);
    service->sagas->claimed++;
    call_ready(saga->call, saga_drive);
}

/* On a thread of the ledger, while the job is its own. */
static void keep_woken(void *context, const char *saga)
{
    struct sagas *sagas = ((struct service *)context)->sagas;

    if (saga == NULL) {
        sagas->woken_count = 0;
    } else if (sagas->woken_count < SAGA_PAGE) {
        snprintf(sagas->woken[sagas->woken_count++], HF_ID_SIZE, "%s", saga);
    }
}

/* One that is not here any more was parked, and is to be claimed, or has ended. */
static void wake_all(struct service *service)
{
    struct sagas *sagas = service->sagas;

    for (size_t i = 0; i < sagas->woken_count; i++) {
        struct saga *saga = saga_find(service, hf_text(sagas->woken[i]));
        if (saga != NULL) {
            saga_wake(saga);
        } else {
            sagas->claim_again = true;
        }
    }
}

static void claim_answered(struct ledger_job *job, void *context)
{
    struct service *service = context;
    struct sagas *sagas = service->sagas;
    size_t count = job->answer == LEDGER_DONE ? (size_t)job->left : 0;

    sagas->claiming = false;
    if (job->answer == LEDGER_DONE) {
        wake_all(service);
    }
    for (size_t i = 0; i < count; i++) {
        claim_one(service, &sagas->page[i]);
    }
    explicit_bzero(sagas->page, sizeof sagas->page);
    int64_t every_ms = service->settings.saga_lease_ms / 4;
    every_ms = sagas->active > 0 && every_ms > SAGA_LOOK_MS ? SAGA_LOOK_MS : every_ms;
    bool more = count == SAGA_PAGE || sagas->claim_again;
    sagas->claim_again = false;
    sagas->claim_due_ms = service_now(service) + (more ? 0 : every_ms);
}

void sagas_claim_soon(struct service *service)
{
    service->sagas->claim_due_ms = 0;
    service->sagas->claim_again = service->sagas->claiming;
}

void sagas_turn(struct service *service, int64_t now_ms)
{
    struct sagas *sagas = service->sagas;

    if (sagas->claiming || now_ms < sagas->claim_due_ms) {
        return;
    }
    if (sagas->active >= SAGA_ACTIVE_MAX) {
        sagas->claim_due_ms = now_ms + service->settings.saga_lease_ms / 4;
        return;
    }
    sagas->claiming = true;
    sagas->claimed_ms = now_ms;
    sagas->claim =
        (struct ledger_job){.task = LEDGER_TASK_SAGA_CLAIM,
                            .id = hf_text(service->server_id),
                            .delta = claim_lease(service),
                            .sagas = sagas->page,
                            .count = SAGA_PAGE,
                            .woken = keep_woken,
                            .deadline_ms = sql_now_ms() + service_ledger_timeout(service),
                            .done = claim_answered,
                            .context = service};
    ledger_submit(service->ledger, &sagas->claim);
}

int64_t sagas_due(const struct service *service)
{
    return service->sagas->claiming ? INT64_MAX : service->sagas->claim_due_ms;
}
