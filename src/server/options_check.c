/* SPDX-License-Identifier: Apache-2.0
 *
 * What settings mean for the engine and the ledger, and which of them have to fit together. */
#include "engine/engine.h"
#include "net/address.h"
#include "server/host.h"
#include "server/options_table.h"

#include <stdio.h>

void options_service(const struct server_options *options, struct options_urls *urls,
                     struct service_options *service)
{
    if (strcmp(options->engine, "embedded") != 0) {
        snprintf(urls->engine, sizeof urls->engine, "%s", options->engine);
    } else if (options->memory) {
        snprintf(urls->engine, sizeof urls->engine, "embedded:");
    } else {
        snprintf(urls->engine, sizeof urls->engine, "embedded:%s?fsync=%s", options->dir,
                 options->fsync);
    }
    bool has_own = service_own_ledger(urls->engine, urls->ledger, sizeof urls->ledger);
    *service = (struct service_options){
        .ledger_url = options->ledger,
        .ledger_lazily = options->ledger == NULL && has_own ? urls->ledger : NULL,
        .ledger_inventory = options->ledger_inventory,
        .ledger_connections = (unsigned)options->ledger_connections,
        .ledger_timeout_ms = options->ledger_timeout_ms,
        .breaker_window_ms = options->breaker_window_ms,
        .breaker_failures = options->breaker_failures,
        .breaker_open_for_ms = options->breaker_open_for_ms,
        .fallback_rate = options->fallback_rate,
        .servers = options->servers,
        .reconcile_every_ms = options->reconcile_every_ms,
        .payment_url = options->payment_url,
        .payment_secret = options->payment_secret,
        .payment_secret_old = options->payment_secret_old,
        .currency = options->currency,
        .late_payment = options->late_payment,
        .saga_lease_ms = options->saga_lease_ms,
        .payment_timeout_ms = options->payment_timeout_ms,
        .payment_retries = options->payment_retries,
        .quota_sync_at = options->quota_sync_at,
        .quota_sync_query = options->quota_sync_query,
        .quota_sync_db = options->quota_sync_db,
        .quota_sync_zero = strcmp(options->quota_sync_missing, "zero") == 0,
        .quota_sync_margin_ms = options->quota_sync_margin_ms,
        .webhook_url = options->webhook_url,
        .webhook_secret = options->webhook_secret,
        .webhook_secret_old = options->webhook_secret_old,
        .outgoing_allow = options->outgoing_allow,
        .outgoing_ca = options->outgoing_ca,
        .admission_every_ms = options->admission_every_ms,
    };
}

/* ---- what has to fit together ---------------------------------------------------------------- */

bool options_are_elsewhere(const struct server_options *options)
{
    return options->engine != NULL && strcmp(options->engine, "embedded") != 0;
}

static enum hf_error check_bind(struct server_options *options, struct problem *problem)
{
    if (options->allowed_hosts != NULL &&
        host_check_list(options->allowed_hosts, problem) != HF_OK) {
        return HF_INVALID_ARGUMENT;
    }
    if (strcmp(options->bind, "localhost") == 0) {
        return setting_set_text(&options->bind, hf_text("127.0.0.1"), problem);
    }
    if (!address_is_numeric(options->bind)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "bind \"%.64s\": must be an address such as 127.0.0.1, ::1 or 0.0.0.0",
                           options->bind);
    }
    if (!address_is_loopback(options->bind) && options->auth_file == NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "bind \"%.64s\" lets other machines in, and without auth-file every one "
                           "of them might do everything: name the users with --auth-file FILE, or "
                           "bind to 127.0.0.1",
                           options->bind);
    }
    return HF_OK;
}

static bool is_origin(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    size_t size = strcspn(text + scheme, "/ ,\"");

    return strcmp(text, "*") == 0 || (scheme > 0 && size > 0 && text[scheme + size] == '\0');
}

static enum hf_error check_parts(const struct server_options *options, struct problem *problem)
{
    if (strcmp(options->engine, "embedded") != 0 &&
        engine_check(options->engine, problem) != HF_OK) {
        return problem->code;
    }
    struct options_urls urls;
    struct service_options service;
    options_service(options, &urls, &service);
    if (service_check(&service, problem) != HF_OK) {
        return problem->code;
    }
    if (options->cors_origin != NULL && !is_origin(options->cors_origin)) {
        return problem_set(
            problem, HF_INVALID_ARGUMENT,
            "cors-origin \"%.64s\": must be one origin such as https://shop.example, "
            "without a path, or *",
            options->cors_origin);
    }
    return HF_OK;
}

/* A setting of the engine in this process, beside another engine: it would do nothing, and its user
 * would think that it did. */
static enum hf_error check_engine_settings(const struct server_options *options,
                                           struct problem *problem)
{
    bool limited = options->given & setting_bit(setting_find(hf_text("max-memory")));
    const char *idle = options->memory          ? "memory"
                       : options->dir != NULL   ? "dir"
                       : options->fsync != NULL ? "fsync"
                                                : NULL;

    if (options_are_elsewhere(options) && limited) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "max-memory is for the engine of this process, and engine \"%.*s:\" has "
                           "a limit of its own: leave max-memory out, and set maxmemory there",
                           (int)strcspn(options->engine, ":/@?"), options->engine);
    }

    if (!options_are_elsewhere(options) || idle == NULL) {
        return HF_OK;
    }
    return problem_set(problem, HF_INVALID_ARGUMENT,
                       "%s is for the engine of this process, and engine \"%.*s:\" keeps its data "
                       "elsewhere: leave %s out, or the engine",
                       idle, (int)strcspn(options->engine, ":/@?"), options->engine, idle);
}

enum hf_error options_check(struct server_options *options, struct problem *problem)
{
    if (check_engine_settings(options, problem) != HF_OK) {
        return problem->code;
    }
    if (options->memory && options->dir != NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "memory keeps no data, and dir \"%.64s\" says where to keep it: leave "
                           "one of them out",
                           options->dir);
    }
    if ((options->tls_cert == NULL) != (options->tls_key == NULL)) {
        bool cert = options->tls_cert != NULL;
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s \"%.64s\" is of no use alone: TLS needs --%s FILE, too",
                           cert ? "tls-cert" : "tls-key",
                           cert ? options->tls_cert : options->tls_key,
                           cert ? "tls-key" : "tls-cert");
    }
    if (options->resp_port == options->http_port && options->resp_port != 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "resp-port and http-port are both %lld: each needs its own, or 0 for a "
                           "free one",
                           (long long)options->resp_port);
    }
    if (options->max_body_bytes > options->client_memory_bytes) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "max-body is %lld bytes and client-memory %lld: a request has to fit in "
                           "the memory for all",
                           (long long)options->max_body_bytes,
                           (long long)options->client_memory_bytes);
    }
    enum hf_error code = check_parts(options, problem);
    return code == HF_OK ? check_bind(options, problem) : code;
}
