/* SPDX-License-Identifier: Apache-2.0
 *
 * The service as an engine: it forwards what is not its own, and lets the engine inside, the
 * ledger and the calls in flight have their turns. Without a ledger a plain command costs one more
 * jump. */
#include "net/http_client.h"
#include "service/payments_http.h"
#include "service/service_state.h"

#include <time.h>

/* ---- commands -------------------------------------------------------------------------------- */

/* The commands the service carries out, and what has to be there for it. */
static const struct service_command {
    service_run *run;
    /* A plain command: only a ledger that was given, or is open, has a say in it. */
    bool needs_guard, needs_open;
    bool alone; /* it needs no ledger */
} service_commands[COMMAND_COUNT] = {
    [STOCK_BUY] = {.run = purchase_begin},
    [STOCK_RETURN] = {.run = order_return},
    [STOCK_ORDER] = {.run = order_find},
    [STOCK_OPEN] = {.run = stock_change_open},
    [RECONCILE] = {.run = reconcile_command},
    [QUOTA_SYNCALL] = {.run = quota_sync_command, .alone = true},
    [QUOTA_SYNCED] = {.run = quota_synced_command, .alone = true},
    [WEBHOOKS_REPLAY] = {.run = webhooks_replay},
    [SEATS_BOOKINGS] = {.run = bookings_of_user},
    [SEATS_HISTORY] = {.run = bookings_of_event},
    [SEATS_SUMMARY] = {.run = seats_summary, .alone = true},
    [STOCK_LOAD] = {.run = stock_change_begin, .needs_open = true},
    [STOCK_ADJUST] = {.run = stock_change_begin, .needs_open = true},
    [STOCK_TAKE] = {.run = stock_gate, .needs_guard = true},
    [SEATS_CHECKOUT] = {.run = checkout_begin},
    [SAGA_GET] = {.run = saga_show},
    [SAGA_RESUME] = {.run = saga_resume},
    [SAGA_REFUND] = {.run = saga_refund},
    [SAGA_WAKE] = {.run = saga_wake_command},
    [SAGA_LIST] = {.run = saga_list},
    [SEATS_OPEN] = {.run = seats_open_guarded, .needs_guard = true},
    [SEATS_RESERVE] = {.run = seats_reserve_guarded, .needs_guard = true},
    [SEATS_RELEASE] = {.run = seats_release_guarded, .needs_guard = true},
    [SEATS_EXTEND] = {.run = seats_extend_guarded, .needs_guard = true},
    [SEATS_CONFIRM] = {.run = seats_confirm_guarded, .needs_guard = true},
    [SEATS_REFUND] = {.run = seats_refund_guarded, .needs_open = true},
};

/* May a take go straight to the engine? */
static bool passes_gate(struct service *service, const struct command *command)
{
    if (command_id(command->spec) != STOCK_TAKE) {
        return false;
    }
    const struct service_product *product = product_find(service, command->args.stock_take.product);
    return product != NULL && product_is_open(product);
}

static const struct service_command *find_command(struct service *service,
                                                  const struct command *command)
{
    const struct service_command *found = &service_commands[command_id(command->spec)];

    if (found->run == NULL || (found->needs_guard && !service->guards) ||
        (found->needs_open && service->ledger == NULL) ||
        (service->guards && passes_gate(service, command))) {
        return NULL;
    }
    return found;
}

void service_carry_out(struct service *service, struct command *command, engine_done *done,
                       void *context)
{
    const struct service_command *found = find_command(service, command);

    admission_note(service, command);
    if (found == NULL) {
        admission_answer(service, command, done, context);
        return;
    }
    struct service_call *call = call_new(service, command, done, context);
    if (call == NULL) {
        reply_clear(&service->reply);
        reply_refuse(&service->reply, HF_BUSY, "out of memory");
        done(context, &service->reply);
        return;
    }
    if (found->alone) {
        call_ready(call, found->run);
    } else {
        service_need_ledger(call, found->run);
    }
}

static void service_submit(struct engine *engine, struct command *command, engine_done *done,
                           void *context)
{
    service_carry_out(service_self(engine), command, done, context);
    service_work(service_self(engine), 0);
}

static bool service_ready(struct engine *engine, const struct command *command)
{
    return command->spec->flags & COMMAND_SERVICE ||
           engine_ready(service_self(engine)->inner, command);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void service_turn(struct engine *engine)
{
    struct service *service = service_self(engine);

    pthread_mutex_lock(&service->mutex);
    service->woken = false;
    pthread_mutex_unlock(&service->mutex);
    engine_turn(service->inner);
    service_ledger_turn(service);
    int64_t now_ms = service_now(service);
    quota_sync_turn(service, now_ms);
    if (service->http != NULL) {
        http_client_turn(service->http);
    }
    if (service->settings.admission_every_ms > 0) {
        admission_turn(service, now_ms);
    }
    payments_http_turn(service);
    if (service->ledger != NULL) {
        rebuild_watch(service);
        product_turn(service, now_ms);
        reconcile_turn(service, now_ms);
        sagas_turn(service, now_ms);
        webhooks_turn(service, now_ms);
        holds_turn(service, now_ms);
        service_work(service, now_ms);
    } else {
        service_work(service, now_ms);
    }
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int64_t until(int64_t due_ms, int64_t now_ms)
{
    return due_ms > now_ms ? due_ms - now_ms : 0;
}

static int64_t service_idle_ms(struct engine *engine)
{
    struct service *service = service_self(engine);
    int64_t idle_ms = engine_idle_ms(service->inner);

    if (!list_empty(&service->ready)) {
        return 0;
    }
    int64_t now_ms = service_now(service), sync_ms = quota_sync_due(service);
    idle_ms = sync_ms == INT64_MAX ? idle_ms : sooner(idle_ms, until(sync_ms, now_ms));
    if (!list_empty(&service->timers)) {
        struct service_call *call = LIST_ENTRY(service->timers.next, struct service_call, node);
        idle_ms = sooner(idle_ms, until(call->due_ms, now_ms));
    }
    if (service->settings.admission_every_ms > 0) {
        idle_ms = sooner(idle_ms, until(service->admission.due_ms, now_ms));
    }
    if (service->ledger == NULL) {
        bool done = false;
        if (service->opening) {
            pthread_mutex_lock(&service->mutex);
            done = service->opener_ended;
            pthread_mutex_unlock(&service->mutex);
        }
        return done ? 0 : idle_ms;
    }
    idle_ms = sooner(idle_ms, ledger_idle_ms(service->ledger));
    idle_ms = sooner(idle_ms, until(reconcile_due(service), now_ms));
    idle_ms = sooner(idle_ms, until(sagas_due(service), now_ms));
    int64_t webhooks_due_ms = webhooks_due(service);
    if (webhooks_due_ms != INT64_MAX) {
        idle_ms = sooner(idle_ms, until(webhooks_due_ms, now_ms));
    }
    if (holds_due(service) != INT64_MAX) {
        idle_ms = sooner(idle_ms, until(holds_due(service), now_ms));
    }
    if (!list_empty(&service->gated)) {
        struct service_call *call = LIST_ENTRY(service->gated.next, struct service_call, gated);
        idle_ms = sooner(idle_ms, until(call->due_ms, now_ms));
    }
    return idle_ms;
}

static void service_wait(struct engine *engine, int64_t ms)
{
    struct service *service = service_self(engine);
    struct timespec end;

    if (service->ledger == NULL && !service->opening && list_empty(&service->timers)) {
        engine_wait(service->inner, ms);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t nanoseconds = end.tv_nsec + ms % 1000 * 1000000;
    end.tv_sec += (time_t)(ms / 1000 + nanoseconds / 1000000000);
    end.tv_nsec = (long)(nanoseconds % 1000000000);
    pthread_mutex_lock(&service->mutex);
    int error = 0;
    while (!service->woken && error == 0) {
        error = pthread_cond_timedwait(&service->changed, &service->mutex, &end);
    }
    pthread_mutex_unlock(&service->mutex);
}

static void service_settle(struct engine *engine)
{
    engine_settle(service_self(engine)->inner);
    service_turn(engine);
}

/* ---- disk ------------------------------------------------------------------------------------ */

/* What the calls waited for is on disk: they go on in the next turn. */
static void flushed(struct service *service)
{
    list_splice_last(&service->ready, &service->flushing);
}

static bool service_flush_begin(struct engine *engine)
{
    struct service *service = service_self(engine);
    bool begun = engine_flush_begin(service->inner);

    service->told_flushing = service->told_count;
    list_splice_last(&service->flushing, &service->unflushed);
    if (!begun) {
        service_told_flushed(service, service->told_count); /* it is on disk already */
        flushed(service);
    }
    return begun;
}

static void service_flush_work(struct engine *engine)
{
    engine_flush_work(service_self(engine)->inner);
}

/* Calls go on in the next turn: what they answered now would be sent before it is on disk. */
static void service_flush_end(struct engine *engine)
{
    struct service *service = service_self(engine);

    engine_flush_end(service->inner);
    if (engine_failure(service->inner) == NULL) {
        service_told_flushed(service, service->told_flushing);
        flushed(service);
    }
    service->told_flushing = 0;
}

/* ---- what is forwarded as it is -------------------------------------------------------------- */

static void service_take_back(struct engine *engine, struct command *undo, uint64_t grant,
                              const void *context)
{
    engine_take_back(service_self(engine)->inner, undo, grant, context);
}

static void service_prepare(struct engine *engine, const struct command *commands, size_t count)
{
    engine_prepare(service_self(engine)->inner, commands, count);
}

static void service_together(struct engine *engine, bool together)
{
    engine_together(service_self(engine)->inner, together);
}

static bool service_is_durable(struct engine *engine)
{
    return engine_is_durable(service_self(engine)->inner);
}

static const char *service_failure(struct engine *engine)
{
    return engine_failure(service_self(engine)->inner);
}

static size_t service_nodes(struct engine *engine, engine_node_each *each, void *context)
{
    return engine_nodes(service_self(engine)->inner, each, context);
}

static bool service_is_away(struct engine *engine)
{
    return engine_is_away(service_self(engine)->inner);
}

static const char *service_unready(struct engine *engine)
{
    struct service *service = service_self(engine);
    const char *why = engine_unready(service->inner);

    return why == NULL && service->guards ? ledger_unready(service->ledger) : why;
}

static void service_collect_events(struct engine *engine, bool collect)
{
    engine_collect_events(service_self(engine)->inner, collect);
}

static bool service_next_event(struct engine *engine, struct event *event)
{
    return engine_next_event(service_self(engine)->inner, event);
}

static enum hf_error service_snapshot(struct engine *engine, struct problem *problem)
{
    return engine_snapshot(service_self(engine)->inner, problem);
}

static enum hf_error service_info(struct engine *engine, struct hf_info *info)
{
    return engine_info(service_self(engine)->inner, info);
}

static enum hf_error service_audit(struct engine *engine, hf_audit_report *report, void *context,
                                   uint64_t *findings, struct problem *problem)
{
    return engine_audit(service_self(engine)->inner, report, context, findings, problem);
}

static enum hf_error service_audit_begin(struct engine *engine, struct audit_child *child,
                                         struct problem *problem)
{
    return engine_audit_begin(service_self(engine)->inner, child, problem);
}

/* ---- the type -------------------------------------------------------------------------------- */

/* What the inner engine does not have, the service does not have either. */
void service_fill_type(struct service *service)
{
    const struct engine_type *inner = service->inner->type;

    service->type = (struct engine_type){
        .close = service_close,
        .submit = service_submit,
        .prepare = inner->prepare != NULL ? service_prepare : NULL,
        .take_back = inner->take_back != NULL ? service_take_back : NULL,
        .ready = inner->ready != NULL ? service_ready : NULL,
        .together = inner->together != NULL ? service_together : NULL,
        .turn = service_turn,
        .idle_ms = service_idle_ms,
        .wait = service_wait,
        .settle = service_settle,
        .is_durable = service_is_durable,
        .flush_begin = service_flush_begin,
        .flush_work = service_flush_work,
        .flush_end = service_flush_end,
        .failure = inner->failure != NULL ? service_failure : NULL,
        .is_away = inner->is_away != NULL ? service_is_away : NULL,
        .unready = service_unready,
        .collect_events = inner->collect_events != NULL ? service_collect_events : NULL,
        .next_event = inner->next_event != NULL ? service_next_event : NULL,
        .snapshot = service_snapshot,
        .figures = service_figures,
        .nodes = inner->nodes != NULL ? service_nodes : NULL,
        .info = service_info,
        .audit = service_audit,
        .audit_begin = inner->audit_begin != NULL ? service_audit_begin : NULL,
    };
    service->engine.type = &service->type;
    service->engine.name = service->inner->name;
}

bool service_is(const struct engine *engine)
{
    return engine->type->submit == service_submit;
}
