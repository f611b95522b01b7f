/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a service and closes it: the engine inside, the ledger if it was given or is there
 * already, and what the service keeps of its own. */
#include "base/thread.h"
#include "net/http_client.h"
#include "service/payments_http.h"
#include "service/service_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void service_close(struct engine *engine)
{
    struct service *service = service_self(engine);

    if (service->inner != NULL) {
        engine_close(service->inner);
    }
    service_told_flushed(service, service->told_count);
    holds_close(service);
    http_client_close(service->http);
    service_ledger_close(service);
    webhooks_free(service);
    payments_http_close(service);
    products_free(service);
    admission_free(service);
    calls_free(service);
    sagas_free(service);
    free(service->told);
    reply_free(&service->reply);
    free(service->ledger_url);
    free(service->ledger_inventory);
    quota_sync_close(service);
    free(service->quota_sync_at);
    free(service->quota_sync_query);
    free(service->quota_sync_db);
    pthread_cond_destroy(&service->changed);
    pthread_mutex_destroy(&service->mutex);
    free(service);
}

struct service_options service_defaults(void)
{
    return (struct service_options){
        .ledger_timeout_ms = 2000,
        .breaker_window_ms = 10000,
        .breaker_failures = 50,
        .breaker_open_for_ms = 5000,
        .fallback_rate = 50,
        .servers = 1,
        .reconcile_every_ms = 5000,
        .saga_lease_ms = 10000,
        .payment_timeout_ms = 10000,
        .payment_retries = 20,
        .currency = "USD",
        .late_payment = "rebook",
    };
}

/* Refuses a number outside its bounds. */
static enum hf_error check_number(const char *name, int64_t value, int64_t min, int64_t max,
                                  struct problem *problem)
{
    return value >= min && value <= max
               ? HF_OK
               : problem_set(problem, HF_INVALID_ARGUMENT,
                             "%s is %" PRId64 ": it must be from %" PRId64 " to %" PRId64, name,
                             value, min, max);
}

enum hf_error service_check(const struct service_options *service, struct problem *problem)
{
    const struct {
        const char *name;
        int64_t value, min, max;
    } numbers[] = {
        {"ledger-timeout in ms", service->ledger_timeout_ms, 0, LEDGER_TIMEOUT_MAX_MS},
        {"breaker-window in ms", service->breaker_window_ms, 100, 3600 * 1000},
        {"breaker-failures in per cent", service->breaker_failures, 1, 100},
        {"breaker-open-for in ms", service->breaker_open_for_ms, 10, 3600 * 1000},
        {"fallback-rate", service->fallback_rate, 0, 1000000},
        {"servers", service->servers, 1, 10000},
        {"admission-every in ms", service->admission_every_ms, 0, 3600 * 1000},
        {"reconcile-every in ms", service->reconcile_every_ms, 0, 24 * 3600 * 1000},
        {"saga-lease in ms", service->saga_lease_ms, 200, 3600 * 1000},
        {"payment-timeout in ms", service->payment_timeout_ms, 10, 10 * 60 * 1000},
        {"payment-retries", service->payment_retries, 1, 1000},
        {"quota-sync-margin in ms", service->quota_sync_margin_ms, 0, 3600 * 1000},
    };
    const char *url = service->ledger_url != NULL ? service->ledger_url : service->ledger_lazily;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (check_number(numbers[i].name, numbers[i].value, numbers[i].min, numbers[i].max,
                         problem) != HF_OK) {
            return HF_INVALID_ARGUMENT;
        }
    }
    if (payments_check(service, problem) != HF_OK || webhooks_check(service, problem) != HF_OK) {
        return HF_INVALID_ARGUMENT;
    }
    if (quota_sync_check(service, problem) != HF_OK) {
        return problem->code;
    }
    if (url == NULL) {
        return service->ledger_inventory == NULL
                   ? HF_OK
                   : problem_set(problem, HF_INVALID_ARGUMENT,
                                 "ledger-inventory names a table of a ledger, and there is none");
    }
    struct ledger_options ledger = {.url = url,
                                    .inventory = service->ledger_inventory,
                                    .connections = service->ledger_connections,
                                    .timeout_ms = service->ledger_timeout_ms};
    return ledger_check(&ledger, problem);
}

static bool copy_text(char **to, const char *from)
{
    *to = from != NULL ? strdup(from) : NULL;
    return from == NULL || *to != NULL;
}

/* Those of the sync are read at any time: the service has its own. */
static bool copy_sync_settings(struct service *service, const struct service_options *settings)
{
    bool copied = copy_text(&service->quota_sync_at, settings->quota_sync_at) &&
                  copy_text(&service->quota_sync_query, settings->quota_sync_query) &&
                  copy_text(&service->quota_sync_db, settings->quota_sync_db);

    service->settings.quota_sync_at = service->quota_sync_at;
    service->settings.quota_sync_query = service->quota_sync_query;
    service->settings.quota_sync_db = service->quota_sync_db;
    service->settings.ledger_url = service->guards ? service->ledger_url : NULL;
    service->settings.ledger_lazily = service->guards ? NULL : service->ledger_url;
    return copied;
}

static bool init(struct service *service, const struct engine_options *options,
                 const struct service_options *settings)
{
    int64_t now_ms;
    uint8_t id[8];

    holds_init(service);
    service->options = *options;
    service->settings = *settings;
    service->guards = settings->ledger_url != NULL;
    service->era = 1;
    pthread_mutex_init(&service->mutex, NULL);
    thread_condition(&service->changed);
    memory_init(&service->memory);
    random_init(&service->random);
    random_bytes(&service->random, service->hash_key, sizeof service->hash_key);
    random_bytes(&service->random, id, sizeof id);
    snprintf(service->server_id, sizeof service->server_id, "%ld-%02x%02x%02x%02x%02x%02x",
             (long)getpid(), id[0], id[1], id[2], id[3], id[4], id[5]);
    list_init(&service->calls);
    list_init(&service->ready);
    list_init(&service->timers);
    list_init(&service->gated);
    list_init(&service->spare);
    list_init(&service->awaits_ledger);
    list_init(&service->unflushed);
    list_init(&service->flushing);
    slab_init(&service->products, &service->memory, sizeof(struct service_product));
    table_init(&service->by_id, &service->memory);
    now_ms = service_now(service);
    const struct breaker_options breaker = {settings->breaker_window_ms, settings->breaker_failures,
                                            settings->breaker_open_for_ms};
    breaker_init(&service->breaker, &breaker, now_ms);
    breaker_init(&service->payment_breaker, &breaker, now_ms);
    limiter_init(&service->limiter, settings->fallback_rate, settings->servers, now_ms);
    service->mark_due_ms = now_ms;
    service->reconcile_due_ms = now_ms;
    admission_init(service, now_ms);
    return sagas_init(service) && reply_init(&service->reply, &service->memory) &&
           copy_text(&service->ledger_url, settings->ledger_url != NULL
                                               ? settings->ledger_url
                                               : settings->ledger_lazily) &&
           copy_text(&service->ledger_inventory, settings->ledger_inventory) &&
           copy_sync_settings(service, settings) && quota_sync_open(service);
}

/* Is the database file of a default ledger there already? */
static bool ledger_exists(const struct service *service)
{
    const char *path = service->ledger_url != NULL ? strchr(service->ledger_url, ':') : NULL;

    return path != NULL && access(path + 1, F_OK) == 0;
}

/* Opens the ledger of a service whose engine is open. */
static enum hf_error begin(struct service *service, struct problem *problem)
{
    service_fill_type(service);
    enum hf_error code = webhooks_open(service, problem);
    code = code == HF_OK ? payments_http_open(service, problem) : code;
    bool needs_ledger = service->guards || service->webhooks != NULL || ledger_exists(service);
    if (code != HF_OK || !needs_ledger) {
        return code;
    }
    code = service_open_ledger(service, problem);
    service->ledger = service->opened;
    service->opened = NULL;
    return code;
}

/* NULL, and why, if it cannot be made. */
static struct service *make(const struct engine_options *options,
                            const struct service_options *settings, struct problem *problem)
{
    struct service *service;

    if (service_check(settings, problem) != HF_OK) {
        return NULL;
    }
    service = calloc(1, sizeof *service);
    if (service == NULL || !init(service, options, settings)) {
        problem_set(problem, HF_BUSY, "out of memory");
        if (service != NULL) {
            service_close(&service->engine);
        }
        return NULL;
    }
    return service;
}

enum hf_error service_open(const char *url, const struct engine_options *options,
                           const struct service_options *settings, struct engine **engine,
                           struct problem *problem)
{
    struct service *service = make(options, settings, problem);
    struct engine_options inner = *options;

    *engine = NULL;
    if (service == NULL) {
        return problem->code;
    }
    inner.wake = service_wake;
    inner.wake_context = service;
    enum hf_error code = engine_open(url, &inner, &service->inner, problem);
    code = code == HF_OK ? begin(service, problem) : code;
    if (code != HF_OK) {
        service_close(&service->engine);
        return code;
    }
    *engine = &service->engine;
    return HF_OK;
}

enum hf_error service_open_around(struct engine *inner, const struct engine_options *options,
                                  const struct service_options *settings, struct engine **engine,
                                  struct problem *problem)
{
    struct service *service = make(options, settings, problem);

    *engine = NULL;
    if (service == NULL) {
        return problem->code;
    }
    service->inner = inner;
    enum hf_error code = begin(service, problem);
    if (code != HF_OK) {
        service->inner = NULL;
        service_close(&service->engine);
        return code;
    }
    *engine = &service->engine;
    return HF_OK;
}
