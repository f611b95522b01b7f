/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices that the engine may have become another one: it was away, or failed, and what it has now
 * may be older than the ledger, or nothing. Then a new era begins. In an era each product is
 * compared with the ledger before it is first used, and takes wait meanwhile (product.c, look.c):
 * one that the engine does not know is filled with what is left to sell, one that is ahead is
 * corrected. */
#include "service/service_state.h"

/* An engine that fails now and then is not compared more often than this for its sake. */
#define ERA_MIN_MS 1000

static void begin_era(struct service *service, const char *why)
{
    service->era++;
    service->era_ms = service_now(service);
    if (service->ledger != NULL) {
        log_line(&service->options.log, LOG_WARNING,
                 "%s: each product is compared with the ledger before it is sold again", why);
    }
}

void rebuild_note(struct service *service, enum hf_error code, bool unknown)
{
    int64_t now_ms = service_now(service);
    bool failed = code_is_failure(code, unknown);

    if (code == HF_BUSY) {
        return; /* it is there and has too much to do: neither a failure nor a success */
    }
    service_note(service, &service->breaker, engine_name(service->inner), !failed);
    if (failed) {
        service->engine_failed = true;
    } else if (service->engine_failed && now_ms - service->era_ms >= ERA_MIN_MS) {
        service->engine_failed = false;
        begin_era(service, "the engine answers again");
    }
}

void rebuild_watch(struct service *service)
{
    bool away = engine_is_away(service->inner);

    if (service->engine_was_away && !away) {
        begin_era(service, "the engine is back");
    }
    service->engine_was_away = away;
}
