/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the options of hf_open_with(). The struct grows at its end from version to version; its
 * size says how much of it the caller knows, and what the caller does not know is zero. */
#include "library/open_options.h"

#include "library/remote_url.h"

/* A zero member means the default, HF_ZERO means 0. */
static void set(int64_t *setting, int64_t given)
{
    if (given != 0) {
        *setting = given == HF_ZERO ? 0 : given;
    }
}

/* Of a caller with a newer header all that this version does not know must be zero; what one with
 * an older header does not know is zero in `out` already. */
static enum hf_error read_struct(struct hf_open_options *out, const struct hf_open_options *given,
                                 struct problem *problem)
{
    static const char unset[64];
    size_t known = given->size < sizeof *out ? given->size : sizeof *out;
    size_t more = given->size - known;

    if (given->size < offsetof(struct hf_open_options, engine) + sizeof given->engine ||
        more > sizeof unset || memcmp((const char *)given + known, unset, more) != 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "the size of the options is %zu: set it to sizeof(struct "
                           "hf_open_options), and what this version does not know to zero",
                           given->size);
    }
    memcpy(out, given, known);
    return HF_OK;
}

static void read_settings(struct service_options *service, const struct hf_open_options *options)
{
    *service = service_defaults();
    service->ledger_url = options->ledger;
    service->ledger_inventory = options->ledger_inventory;
    if (options->ledger_connections > 0) {
        service->ledger_connections = options->ledger_connections;
    }
    set(&service->ledger_timeout_ms, options->ledger_timeout_ms);
    set(&service->breaker_window_ms, options->breaker_window_ms);
    set(&service->breaker_failures, options->breaker_failures);
    set(&service->breaker_open_for_ms, options->breaker_open_for_ms);
    set(&service->fallback_rate, options->fallback_rate);
    set(&service->servers, options->servers);
    set(&service->reconcile_every_ms, options->reconcile_every_ms);
    service->payment_url = options->payment_url;
    service->payment_secret = options->payment_secret;
    service->payment_secret_old = options->payment_secret_old;
    service->currency = options->currency != NULL ? options->currency : service->currency;
    service->late_payment =
        options->late_payment != NULL ? options->late_payment : service->late_payment;
    set(&service->saga_lease_ms, options->saga_lease_ms);
    set(&service->payment_timeout_ms, options->payment_timeout_ms);
    set(&service->payment_retries, options->payment_retries);
    service->quota_sync_at = options->quota_sync_at;
    service->quota_sync_query = options->quota_sync_query;
    service->quota_sync_db = options->quota_sync_db;
    service->quota_sync_zero = options->quota_sync_zero;
    set(&service->quota_sync_margin_ms, options->quota_sync_margin_ms);
    set(&service->admission_every_ms, options->admission_every_ms);
    service->webhook_url = options->webhook_url;
    service->webhook_secret = options->webhook_secret;
    service->webhook_secret_old = options->webhook_secret_old;
    service->outgoing_allow = options->outgoing_allow;
    service->outgoing_ca = options->outgoing_ca;
}

enum hf_error open_options_read(struct open_options *out, const struct hf_open_options *given,
                                struct problem *problem)
{
    struct hf_open_options options = {0};

    if (given == NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "there are no options");
    }
    if (read_struct(&options, given, problem) != HF_OK) {
        return problem->code;
    }
    out->engine = options.engine != NULL ? options.engine : "";
    read_settings(&out->service, &options);
    if (remote_url_is(out->engine)) {
        if (options.quota_sync_db != NULL || options.quota_sync_query != NULL) {
            return problem_set(problem, HF_INVALID_ARGUMENT,
                               "a server reads usage by its own settings: start it with "
                               "--quota-sync-db and --quota-sync-query, and leave them out here");
        }
        return options.ledger == NULL && options.ledger_inventory == NULL
                   ? HF_OK
                   : problem_set(problem, HF_INVALID_ARGUMENT,
                                 "a server has a ledger of its own: start it with --ledger, and "
                                 "leave the ledger out here");
    }
    if (options.ledger == NULL &&
        service_own_ledger(out->engine, out->own_ledger, sizeof out->own_ledger)) {
        out->service.ledger_lazily = out->own_ledger;
    }
    return service_check(&out->service, problem);
}
