/* SPDX-License-Identifier: Apache-2.0
 *
 * The service's ledger: opened at the start if it was given or is there already, otherwise when
 * something first needs it. Making a database takes longer than a turn may, so then a thread of
 * its own does it, and the calls that need it wait for that thread. */
#include "base/error.h"
#include "base/thread.h"
#include "service/service_state.h"

#define LEDGER_TIMEOUT_MS ((int64_t)2000)

int64_t service_ledger_timeout(const struct service *service)
{
    return service->settings.ledger_timeout_ms > 0 ? service->settings.ledger_timeout_ms
                                                   : LEDGER_TIMEOUT_MS;
}

void service_wake(void *context)
{
    struct service *service = context;

    pthread_mutex_lock(&service->mutex);
    service->woken = true;
    pthread_cond_signal(&service->changed);
    pthread_mutex_unlock(&service->mutex);
    if (service->options.wake != NULL) {
        service->options.wake(service->options.wake_context);
    }
}

enum hf_error service_open_ledger(struct service *service, struct problem *problem)
{
    struct ledger_options options = {.url = service->ledger_url,
                                     .inventory = service->ledger_inventory,
                                     .connections = service->settings.ledger_connections,
                                     .timeout_ms = service_ledger_timeout(service),
                                     .log = service->options.log,
                                     .wake = service_wake,
                                     .wake_context = service,
                                     .late = settle_late_sale,
                                     .late_context = service};

    return ledger_open(&options, &service->opened, problem);
}

static void *open_aside(void *context)
{
    struct service *service = context;
    struct problem problem = {.code = HF_OK};

    service_open_ledger(service, &problem);
    pthread_mutex_lock(&service->mutex);
    service->open_problem = problem;
    service->opener_ended = true;
    pthread_mutex_unlock(&service->mutex);
    service_wake(service);
    return NULL;
}

static void refuse_without(struct service_call *call, const struct problem *problem)
{
    if (problem == NULL) {
        call_refuse(call, HF_LEDGER_DOWN, "%s", ERROR_TEXT_NO_LEDGER);
    } else {
        call_refuse(call, HF_LEDGER_DOWN, "the ledger cannot be opened: %s", problem->message);
    }
    call_end(call);
}

void service_need_ledger(struct service_call *call, service_run *next)
{
    struct service *service = call->service;

    if (service->ledger != NULL) {
        next(call);
        return;
    }
    if (service->ledger_url == NULL) {
        refuse_without(call, NULL);
        return;
    }
    call->run = next;
    list_add_last(&service->awaits_ledger, &call->node);
    if (!service->opening) {
        service->opener_ended = false;
        service->opening = thread_start(&service->opener, open_aside, service);
        if (!service->opening) {
            list_remove(&call->node);
            refuse_without(call, &(struct problem){HF_BUSY, "cannot start a thread"});
        }
    }
}

static bool opener_ended(struct service *service)
{
    pthread_mutex_lock(&service->mutex);
    bool ended = service->opener_ended;
    pthread_mutex_unlock(&service->mutex);
    return ended;
}

void service_ledger_turn(struct service *service)
{
    if (service->ledger != NULL) {
        ledger_turn(service->ledger);
        return;
    }
    if (!service->opening || !opener_ended(service)) {
        return;
    }
    pthread_join(service->opener, NULL);
    service->opening = false;
    service->ledger = service->opened;
    service->opened = NULL;
    while (!list_empty(&service->awaits_ledger)) {
        struct service_call *call =
            LIST_ENTRY(service->awaits_ledger.next, struct service_call, node);
        list_remove(&call->node);
        if (service->ledger != NULL) {
            call_ready(call, call->run);
        } else {
            refuse_without(call, &service->open_problem);
        }
    }
}

void service_ledger_close(struct service *service)
{
    if (service->opening) {
        pthread_join(service->opener, NULL);
        service->ledger = service->opened;
    }
    if (service->ledger != NULL) {
        ledger_close(service->ledger);
        service->ledger = NULL;
    }
}
