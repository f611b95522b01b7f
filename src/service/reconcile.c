/* SPDX-License-Identifier: Apache-2.0
 *
 * Reconciliation of all products and zones, every so often and on demand (RECONCILE): a page of
 * names at a time, each read in the engine, all of them in the ledger at once; only those that are
 * suspicious are looked at one by one and corrected (look.c; zones: reconcile_zones.c). Nothing is
 * paused. Holds that have lapsed are marked in the ledger (lapse.c), and the first pass of a
 * process writes down those that have no row (holds_rebuild.c).
 *
 *     MARK ─> (lease) ─> STALE … BURY ─> LAPSED … ─> LIST ─> GET … ─> READ ─> look … ─> LIST …
 *          ─> zones ─> answer
 *
 * By the timer one server does it at a time, by a lease in the ledger. What is asked for by a
 * client is done without: each correction has the lease of its product. */
#include "base/check.h"
#include "base/text.h"
#include "service/holds.h"
#include "service/lapse.h"
#include "service/stale.h"
#include "service/zone_look.h"

#include <stdio.h>
#include <stdlib.h>

#define PASS_PAGE 100
/* A pass is followed by a pause that is so many times as long, at least. */
#define PASS_REST 10
/* A pass that came to nothing is tried again after so long, however rare passes are. */
#define PASS_RETRY_MS 5000

struct pass_item {
    struct service_call *call;
    char id[HF_ID_SIZE];
    bool known; /* to the engine */
    int64_t engine;
};

struct pass {
    bool leased;
    bool left; /* to another server, which is in the middle of its own */
    int64_t began_ms;
    int64_t products, corrected, drift;
    char cursor[HF_CURSOR_SIZE];
    bool last; /* there is no further page */
    struct zone_totals zones;
    struct problem problem;
    size_t count, at;
    struct pass_item items[PASS_PAGE];
    struct hf_bytes scopes[PASS_PAGE];
    struct ledger_counter counters[PASS_PAGE];
};

static void list_page(struct service_call *call);
static void look_next(struct service_call *call);

static const struct hf_reconcile_args *pass_args(const struct service_call *call)
{
    return &call->command.args.reconcile;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* When the timer begins the next one, if nothing keeps it from it: soon after one that has not done
 * what it is for. The first of a process also writes down holds. */
static int64_t next_pass_ms(const struct service *service, bool done)
{
    int64_t every_ms = service->settings.reconcile_every_ms;

    done = done && (service->holds_rebuilt || !service->guards);
    return done || every_ms < PASS_RETRY_MS ? every_ms : PASS_RETRY_MS;
}

static void pass_ended(struct service_call *call)
{
    struct service *service = call->service;
    struct pass *pass = call->state;
    int64_t now_ms = service_now(service);

    if (pass->problem.code != HF_OK) {
        call_refuse(call, pass->problem.code, "%s", pass->problem.message);
    } else {
        struct reply *reply = call_reply(call);
        reply_number(reply, pass->products);
        reply_number(reply, pass->corrected);
        reply_number(reply, pass->drift);
        call_answer(call, reply);
        service->reconciliations += !pass->left;
        service->reconciled_ms = pass->left ? service->reconciled_ms : now_ms;
    }
    if (call->retried) { /* begun by the timer */
        int64_t rest_ms = (now_ms - pass->began_ms) * PASS_REST;
        int64_t every_ms = next_pass_ms(service, pass->problem.code == HF_OK);
        service->reconciling = false;
        service->reconcile_due_ms = now_ms + (rest_ms > every_ms ? rest_ms : every_ms);
    }
    call_drop_state(call);
    call_end(call);
}

static void finish(struct service_call *call)
{
    struct pass *pass = call->state;

    if (pass->leased) {
        pass->leased = false;
        call_give_lease(call, pass_ended);
    } else {
        pass_ended(call);
    }
}

static void fail(struct service_call *call, const struct problem *problem)
{
    struct pass *pass = call->state;

    pass->problem = *problem;
    pass->problem.code = problem->code != HF_OK ? problem->code : HF_LEDGER_DOWN;
    finish(call);
}

/* Zones are compared with a ledger that was given, and has them. */
static void zones_compared(struct service_call *call)
{
    struct pass *pass = call->state;

    pass->corrected += pass->zones.corrected;
    pass->drift += pass->zones.drift;
    if (pass->zones.problem.code != HF_OK) {
        fail(call, &pass->zones.problem);
    } else {
        finish(call);
    }
}

static void compare_zones(struct service_call *call)
{
    struct pass *pass = call->state;

    if (!call->service->guards || pass_args(call)->product.size > 0) {
        finish(call);
        return;
    }
    pass->zones = (struct zone_totals){.dry = pass_args(call)->dry};
    zones_compare(call, &pass->zones, zones_compared);
}

/* ---- looks ----------------------------------------------------------------------------------- */

static void count_look(struct service_call *call, const struct service_look *look,
                       struct hf_bytes id)
{
    struct pass *pass = call->state;
    bool corrected = look->result == LOOK_CORRECTED;
    struct service_product *product = product_find(call->service, id);

    if (corrected || (look->result == LOOK_DIFFERS && look->dry)) {
        pass->corrected++;
    }
    if (corrected && look->applied < 0 && product != NULL) {
        product->doubtful_until_ms = service_now(call->service) + DOUBT_MS;
    }
    pass->drift += look->difference;
}

static void looked(struct service_call *look)
{
    struct service_call *call = look->look.owner;
    struct pass *pass = call->state;
    struct problem problem = look->look.problem;
    enum look_result result = look->look.result;

    count_look(call, &look->look, look->command.args.stock_open.product);
    call_end(look);
    if (result == LOOK_ENGINE || result == LOOK_LEDGER) {
        fail(call, &problem);
        return;
    }
    pass->at++;
    call_ready(call, look_next);
}

static void look_at(struct service_call *call, struct hf_bytes id)
{
    struct service_call *look = look_new(call->service, id);

    if (look == NULL) {
        fail(call, &(struct problem){HF_BUSY, "out of memory"});
        return;
    }
    look->look.dry = pass_args(call)->dry;
    look->look.ended = looked;
    look->look.owner = call;
    look_begin(look);
}

/* Is this one to be looked at? One that is being changed is not: its change does that. */
static bool is_suspicious(struct service_call *call, size_t i)
{
    const struct pass *pass = call->state;
    const struct ledger_counter *counter = &pass->counters[i];
    const struct service_product *product = product_find(call->service, pass->scopes[i]);
    struct interval_reading reading = {.engine_before = pass->items[i].engine,
                                       .stock = counter->left,
                                       .selling = counter->selling,
                                       .ending = counter->ending};

    return counter->found && pass->items[i].known &&
           (product == NULL || product->gate != GATE_CHANGING) && interval_is_suspicious(&reading);
}

static void look_next(struct service_call *call)
{
    struct pass *pass = call->state;

    while (pass->at < pass->count && !is_suspicious(call, pass->at)) {
        pass->at++;
    }
    if (pass->at < pass->count) {
        look_at(call, pass->scopes[pass->at]);
    } else if (pass->last) {
        compare_zones(call);
    } else {
        list_page(call);
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void ledger_read(struct service_call *call)
{
    struct pass *pass = call->state;
    struct hf_bytes only = pass_args(call)->product;

    if (call->job.answer != LEDGER_DONE) {
        fail(call, &call->job.problem);
        return;
    }
    if (only.size > 0 && !pass->counters[0].found) {
        struct problem problem;
        problem_set(&problem, HF_PRODUCT_NOT_FOUND, "the ledger has no product %.*s",
                    (int)only.size, only.data);
        fail(call, &problem);
        return;
    }
    for (size_t i = 0; i < pass->count; i++) {
        pass->products += pass->counters[i].found && pass->items[i].known;
    }
    pass->at = 0;
    look_next(call);
}

static void read_ledger(struct service_call *call)
{
    struct pass *pass = call->state;
    struct ledger_job *job = call_job(call, LEDGER_TASK_READ);

    memset(pass->counters, 0, sizeof pass->counters);
    job->kind = LEDGER_ORDER;
    job->scopes = pass->scopes;
    job->counters = pass->counters;
    job->count = pass->count;
    call_submit(call, ledger_read);
}

static void engine_failed(struct service_call *call)
{
    fail(call, &call->engine.problem);
}

static void product_read(void *context, const struct reply *reply)
{
    struct pass_item *item = context;
    struct service_call *call = item->call;
    struct pass *pass = call->state;

    item->known = reply->code == HF_OK;
    item->engine = item->known ? reply->values[0].number + reply->values[1].number : 0;
    if (!item->known && reply->code != HF_PRODUCT_NOT_FOUND) {
        call_note(call, reply);
        pass->at = 1; /* the page cannot be read */
    }
    CHECK(call->awaited > 0);
    if (--call->awaited == 0) {
        call_ready(call, pass->at == 0 ? read_ledger : engine_failed);
    }
}

/* Reads the page's products in the engine, whose answers come at once or later. */
static void read_engine(struct service_call *call)
{
    struct pass *pass = call->state;
    struct command get = {.spec = &command_table[STOCK_GET]};
    size_t count = pass->count;

    pass->at = 0;
    if (count == 0) {
        look_next(call);
        return;
    }
    call->awaited = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        pass->items[i].call = call;
        pass->scopes[i] = hf_text(pass->items[i].id);
        get.args.stock_get.product = pass->scopes[i];
        engine_submit(call->service->inner, &get, product_read, &pass->items[i]);
    }
}

static void listed(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct pass *pass = call->state;
    const struct command_spec *spec = &command_table[LIST];

    if (!call_listed(call, reply, pass->cursor, engine_failed)) {
        return;
    }
    pass->last = pass->cursor[0] == '\0';
    pass->count = 0;
    for (size_t i = 0; i < reply_items(reply, spec) && i < PASS_PAGE; i++) {
        struct hf_bytes name = reply_bytes(reply, reply_item(spec, i));
        snprintf(pass->items[pass->count++].id, HF_ID_SIZE, "%.*s", (int)name.size, name.data);
    }
    call_ready(call, read_engine);
}

static void list_page(struct service_call *call)
{
    const struct pass *pass = call->state;

    call_list(call, "products", pass->cursor, PASS_PAGE, listed);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void begin_pages(struct service_call *call)
{
    struct pass *pass = call->state;
    struct hf_bytes only = pass_args(call)->product;

    if (only.size == 0) {
        list_page(call);
        return;
    }
    snprintf(pass->items[0].id, HF_ID_SIZE, "%.*s", (int)only.size, only.data);
    pass->count = 1;
    pass->last = true;
    read_engine(call);
}

static void rebuild_holds(struct service_call *call)
{
    holds_rebuild(call, begin_pages);
}

static void mark_lapsed(struct service_call *call)
{
    lapse_begin(call, rebuild_holds);
}

static void marked(struct service_call *call);

/* What a client asks for is done, also if another server does the same for a long time. */
static void leased(struct service_call *call)
{
    struct pass *pass = call->state;

    if (call->job.answer == LEDGER_DONE) {
        pass->leased = true;
        stale_begin(call, mark_lapsed);
    } else if (call->job.answer != LEDGER_SOLD_OUT) {
        fail(call, &call->job.problem);
    } else if (call->retried) {
        pass->left = true;
        finish(call);
    } else if (++call->look.waits < LEASE_RETRIES) {
        call_later(call, marked, LEASE_RETRY_MS);
    } else {
        begin_pages(call);
    }
}

static void marked(struct service_call *call)
{
    if (call->service->guards) {
        call_take_lease(call, (struct hf_bytes){"", 0}, leased);
    } else {
        stale_begin(call, begin_pages);
    }
}

static void begin(struct service_call *call)
{
    struct pass *pass = call_add_state(call, sizeof *pass, free);

    if (pass == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call->service->reconciling = call->retried ? false : call->service->reconciling;
        call_end(call);
        return;
    }
    pass->began_ms = service_now(call->service);
    call_job(call, LEDGER_TASK_MARK);
    call_submit(call, marked);
}

void reconcile_command(struct service_call *call)
{
    struct hf_bytes product = pass_args(call)->product;
    struct hf_bytes none = {"", 0};

    call->command.args.reconcile.product = product.size > 0 ? product : none;
    begin(call);
}

/* ---- the timer ------------------------------------------------------------------------------- */

static void mark_ended(struct service_call *call)
{
    call->service->marking = false;
    call_end(call);
}

/* Says that this process' writers live, and what the engine knows: to others, so there must be
 * others or something new. */
static void mark(struct service *service, int64_t now_ms)
{
    struct service_call *call;

    service->mark_due_ms = now_ms + MARK_EVERY_MS;
    if (service->marking || (!service->guards && service->told_total == service->told_marked)) {
        return;
    }
    call = call_own(service);
    if (call != NULL) {
        service->told_marked = service->told_total;
        service->marking = true;
        call_job(call, LEDGER_TASK_MARK);
        call_submit(call, mark_ended);
    }
}

void reconcile_turn(struct service *service, int64_t now_ms)
{
    int64_t every_ms = service->settings.reconcile_every_ms;

    if (now_ms >= service->mark_due_ms) {
        mark(service, now_ms);
    }
    if (every_ms == 0 || service->reconciling || now_ms < service->reconcile_due_ms) {
        return;
    }
    service->reconcile_due_ms = now_ms + every_ms;
    /* A pass is a trial as good as a purchase: an engine that is back is found without buyers. */
    if (engine_is_away(service->inner) || !breaker_allows(&service->breaker, now_ms)) {
        service->reconcile_due_ms = now_ms + next_pass_ms(service, false);
        return;
    }
    struct service_call *call = call_own(service);
    if (call != NULL) {
        call->retried = service->reconciling = true;
        begin(call);
    }
}

int64_t reconcile_due(const struct service *service)
{
    bool timed = service->settings.reconcile_every_ms > 0 && !service->reconciling;

    return timed && service->reconcile_due_ms < service->mark_due_ms ? service->reconcile_due_ms
                                                                     : service->mark_due_ms;
}
