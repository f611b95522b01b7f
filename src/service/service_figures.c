/* SPDX-License-Identifier: Apache-2.0
 *
 * What the service counts, for metrics and for /readyz. */
#include "service/saga.h"

#include <stdio.h>

static const struct {
    const char *name, *help;
} outcome_figures[OUTCOME_COUNT] = {
    [OUTCOME_SOLD] = {"purchases_sold_total", "Purchases that were sold."},
    [OUTCOME_SOLD_DIRECTLY] = {"purchases_direct_total",
                               "Purchases that were sold past an engine that was away."},
    [OUTCOME_REPEATED] = {"purchases_repeated_total",
                          "Purchases that had been sold before and were asked for again."},
    [OUTCOME_SOLD_OUT] = {"purchases_sold_out_total", "Purchases refused as sold out."},
    [OUTCOME_REFUSED] = {"purchases_refused_total", "Purchases refused for another reason."},
    [OUTCOME_LEDGER_DOWN] = {"purchases_ledger_down_total",
                             "Purchases refused because the ledger did not answer."},
    [OUTCOME_ENGINE_DOWN] = {"purchases_engine_down_total",
                             "Purchases refused because the engine did not answer."},
    [OUTCOME_BUSY] = {"purchases_busy_total",
                      "Purchases refused because the engine was away and the limiter was empty, or "
                      "for lack of memory."},
    [OUTCOME_UNKNOWN] = {"purchases_unknown_total", "Purchases whose outcome was not known."},
};

static void tell_ledger(struct service *service, engine_figure *each, void *context)
{
    struct ledger_figures figures;

    ledger_figures(service->ledger, &figures);
    each(context, "ledger_connected", "Connections to the ledger's database.", false,
         figures.connected);
    each(context, "ledger_batches_total", "Transactions that carried sales.", true,
         (double)figures.batches);
    each(context, "ledger_sales_total", "Sales in them.", true, (double)figures.sales);
    each(context, "ledger_careful_total", "Batches that had to be done again with care.", true,
         (double)figures.careful);
    each(context, "ledger_retries_total", "Transactions that were repeated.", true,
         (double)figures.retries);
    each(context, "ledger_reconnects_total", "Connections that were made anew.", true,
         (double)figures.reconnects);
    each(context, "ledger_unknown_total", "COMMITs whose outcome had to be looked up.", true,
         (double)figures.unknown);
    each(context, "ledger_pending", "Sales that wait for the ledger.", false,
         (double)figures.pending);
}

static size_t count_unverified(const struct service *service)
{
    size_t count = 0;

    for (uint32_t i = 0; (i = slab_next(&service->products, i)) != NONE; i++) {
        count += !product_is_open(slab_at(&service->products, i));
    }
    return count;
}

static void tell_service(struct service *service, engine_figure *each, void *context)
{
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        each(context, outcome_figures[i].name, outcome_figures[i].help, true,
             (double)service->outcomes[i]);
    }
    each(context, "breaker_state", "The circuit breaker: 0 closed, 1 open, 2 half-open.", false,
         service->breaker.state);
    each(context, "breaker_opened_total", "How often it opened.", true,
         (double)service->breaker.opened);
    each(context, "payment_breaker_state",
         "The one in front of the payment peer: 0 closed, 1 open, 2 half-open.", false,
         service->payment_breaker.state);
    each(context, "payment_breaker_opened_total", "How often that opened.", true,
         (double)service->payment_breaker.opened);
    each(context, "fallback_let_total", "Orders that the limiter let past the engine.", true,
         (double)service->limiter.let);
    each(context, "fallback_refused_total", "Orders that it refused.", true,
         (double)service->limiter.refused);
    each(context, "products_unverified", "Products in use that are not open.", false,
         (double)count_unverified(service));
    each(context, "products_rebuilt_total", "Products filled or corrected before they were opened.",
         true, (double)service->rebuilt);
    each(context, "reconcile_looks_total", "Comparisons of a single product.", true,
         (double)service->looks);
    each(context, "reconcile_corrections_total", "Corrections of the engine.", true,
         (double)service->corrections);
    each(context, "reconcile_drift_total", "Units by which the engine was corrected.", true,
         (double)service->drift);
    each(context, "reconciliations_total", "Reconciliations of all products.", true,
         (double)service->reconciliations);
    each(context, "holds_written_total", "Changes of holds that were written to the ledger.", true,
         (double)service->holds_written);
    each(context, "holds_dropped_total",
         "Changes of holds that the ledger could not take: its bookings do not show them.", true,
         (double)service->holds_dropped);
    each(context, "holds_waiting", "Changes of holds that wait to be written.", false,
         (double)service->holds_waiting);
    if (service->reconciled_ms != 0) {
        each(context, "reconciled_seconds", "How long ago the last one ended.", false,
             (double)(service_now(service) - service->reconciled_ms) / 1000);
    }
}

static void tell_sagas(struct service *service, engine_figure *each, void *context)
{
    const struct sagas *sagas = service->sagas;

    each(context, "sagas_active", "Checkouts that this server drives.", false,
         (double)sagas->active);
    each(context, "sagas_begun_total", "Checkouts that began here.", true, (double)sagas->begun);
    each(context, "sagas_claimed_total", "Checkouts taken over from a server that was silent.",
         true, (double)sagas->claimed);
    each(context, "sagas_lost_total", "Checkouts that another server took over from this one.",
         true, (double)sagas->lost);
    each(context, "sagas_completed_total", "Checkouts that ended COMPLETED here.", true,
         (double)sagas->ended[SAGA_COMPLETED]);
    each(context, "sagas_compensated_total", "Checkouts that ended COMPENSATED here.", true,
         (double)sagas->ended[SAGA_COMPENSATED]);
    each(context, "sagas_attention_total", "Checkouts that came to need attention here.", true,
         (double)sagas->ended[SAGA_NEEDS_ATTENTION]);
    each(context, "saga_moves_total", "Moves of checkouts written to the ledger.", true,
         (double)sagas->moves_total);
    each(context, "saga_transactions_total", "Transactions that carried them.", true,
         (double)sagas->transactions);
}

void service_figures(struct engine *engine, engine_figure *each, void *context)
{
    struct service *service = service_self(engine);

    engine_figures(service->inner, each, context);
    quota_sync_figures(service, each, context);
    if (service->settings.admission_every_ms > 0) {
        each(context, "admission_rooms", "Waiting rooms that the admission worker looks after.",
             false, (double)service->admission.rooms.count);
        each(context, "admission_ticks_total", "ROOM.TICKs of the admission worker.", true,
             (double)service->admission.ticks);
        each(context, "admission_admitted_total", "Users that it admitted.", true,
             (double)service->admission.admitted);
    }
    if (service->ledger != NULL) {
        tell_service(service, each, context);
        tell_ledger(service, each, context);
        webhooks_figures(service, each, context);
        tell_sagas(service, each, context);
    }
}

const char *service_ledger_name(struct engine *engine)
{
    struct ledger *ledger = service_is(engine) ? service_self(engine)->ledger : NULL;

    return ledger != NULL ? ledger_name(ledger) : NULL;
}

const char *service_status(struct engine *engine)
{
    if (service_ledger_name(engine) == NULL) {
        return NULL;
    }
    struct service *service = service_self(engine);
    const char *why = ledger_unready(service->ledger);
    snprintf(service->status, sizeof service->status, "ledger %.120s: %.100s; breaker %s%s%s",
             ledger_name(service->ledger), why != NULL ? why : "ready",
             breaker_state_name(service->breaker.state),
             payments_provider(service) != NULL ? "; payments " : "",
             payments_provider(service) != NULL ? breaker_state_name(service->payment_breaker.state)
                                                : "");
    return service->status;
}
