/* SPDX-License-Identifier: Apache-2.0
 *
 * One look at one product: the engine, the ledger, the engine again (interval.c), and what is
 * certain to be wrong is put right. What changes something is done under the product's lease,
 * after a second look under it, so that two servers that find the same difference correct it once.
 *
 *     GET ─> READ ─┬─ both know it, nothing certain ───────────────────────────────> AGREES
 *      ^           ├─ both know it ─> GET ─> certain? ─> ADJUST ─> drift row ─────> CORRECTED
 *      │           ├─ only the ledger knows it ─> LOAD ───────────────────────────> OPENED
 *      │           └─ only the engine knows it: default ledger ─> row ────────────> ADOPTED
 *      └── LEASE <── before the first change on a ledger that others may use             FOREIGN */
#include "base/check.h"
#include "base/fault.h"
#include "service/service_state.h"

static void read_engine(struct service_call *call);
static void read_before(struct service_call *call);

static struct hf_bytes look_product(const struct service_call *call)
{
    return call->command.args.stock_open.product;
}

struct service_call *look_new(struct service *service, struct hf_bytes product)
{
    struct command command = {.spec = &command_table[STOCK_OPEN]};

    command.args.stock_open =
        (struct hf_stock_open_args){.product = product, .shards = 1, .policy = hf_text("merge")};
    return call_new(service, &command, NULL, NULL);
}

/* ---- who may change it ----------------------------------------------------------------------- */

static void take_lock(struct service_call *call);

/* Somebody else changes it: another server, or another call of this one. */
static void wait_for_other(struct service_call *call, const char *who)
{
    struct service_look *look = &call->look;

    if (look->patient && ++look->waits < LEASE_RETRIES) {
        call_later(call, look->locked != NULL ? take_lock : read_before, LEASE_RETRY_MS);
    } else {
        problem_set(&look->problem, HF_BUSY, "%s is changing the product", who);
        look_finish(call, LOOK_BUSY);
    }
}

static void lease_answered(struct service_call *call)
{
    struct service_look *look = &call->look;

    if (call->job.answer == LEDGER_DONE) {
        look->leased = true;
        FAULT_POINT(look_leased);
        read_before(call);
    } else if (call->job.answer == LEDGER_SOLD_OUT) {
        look->leased = false;
        wait_for_other(call, "another server");
    } else {
        look_fail_by_ledger(call);
    }
}

/* Whoever has the lock reads again: what was read before may be corrected by now. */
static void take_lock(struct service_call *call)
{
    struct service_look *look = &call->look;
    struct service_product *product = look->locked;

    if (product == NULL) {
        product = product_get(call->service, look_product(call));
        if (product == NULL) {
            problem_set(&look->problem, HF_BUSY, "out of memory");
            look_finish(call, LOOK_BUSY);
            return;
        }
        if (!product_lock(product, call)) {
            wait_for_other(call, "this server");
            return;
        }
        look->locked = product;
    }
    if (call->service->guards) {
        call_take_lease(call, look_product(call), lease_answered);
    } else {
        read_before(call); /* a default ledger belongs to this process alone */
    }
}

/* May something be changed now? If not, it is read again once it may. */
static bool may_change(struct service_call *call)
{
    const struct service_look *look = &call->look;
    bool fresh = look->leased && service_now(call->service) - look->leased_ms < LEASE_MS / 2;

    if (look->locked != NULL && (fresh || !call->service->guards)) {
        return true;
    }
    take_lock(call);
    return false;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void loaded(struct service_call *call)
{
    if (call->engine.code != HF_OK) {
        look_fail_by_engine(call);
        return;
    }
    FAULT_POINT(look_opened);
    call->look.reading.available_after = call->engine.numbers[0];
    look_finish(call, LOOK_OPENED);
}

/* What is left to sell, and what is in flight: those orders are taken again and settled. */
static void load_engine(struct service_call *call)
{
    const struct hf_stock_open_args *args = &call->command.args.stock_open;
    struct command load = {.spec = &command_table[STOCK_LOAD]};

    load.args.stock_load = (struct hf_stock_load_args){
        .product = args->product,
        .quantity = call->look.counter.left + call->look.counter.selling,
        .shards = args->shards,
        .watermark = args->watermark,
        .policy = args->policy,
    };
    call_engine(call, &load, loaded);
}

static void adopted(struct service_call *call)
{
    if (call->job.answer != LEDGER_DONE) {
        look_fail_by_ledger(call);
        return;
    }
    FAULT_POINT(look_adopted);
    look_finish(call, LOOK_ADOPTED);
}

static void adopt(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_STOCK);

    job->scope = look_product(call);
    job->delta = call->look.reading.engine_before;
    job->create = true;
    call_submit(call, adopted);
}

static const char *cause_of(const struct service_call *call)
{
    struct service_product *product = product_find(call->service, look_product(call));

    if (call->look.applied > 0) {
        return "the engine had less than the ledger";
    }
    if (product != NULL && product->directly > 0) {
        product->directly = 0;
        return "sold while the engine was away";
    }
    return call->look.opens ? "the engine is older than the ledger"
                            : "the engine had more than the ledger";
}

static void adjusted(struct service_call *call)
{
    const struct service_look *look = &call->look;

    if (look_moved(call, read_before)) {
        look_write_drift(call, look_product(call), (struct hf_bytes){"", 0}, cause_of(call),
                         look->counter.selling + look->counter.ending);
    }
}

static void adjust(struct service_call *call, int64_t delta)
{
    struct command adjust = {.spec = &command_table[STOCK_ADJUST]};

    call->delta = delta;
    adjust.args.stock_adjust = (struct hf_stock_adjust_args){
        .product = look_product(call), .delta = delta, .reason = hf_text("reconciliation")};
    call_engine(call, &adjust, adjusted);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void decide(struct service_call *call)
{
    struct service_look *look = &call->look;
    struct interval interval = interval_of(&look->reading);
    int64_t correction = interval_correction(&interval, &look->reading);

    look->difference = interval_difference(&interval);
    if (!interval.known && ++look->tries < LOOK_TRIES) {
        read_before(call);
    } else if (correction == 0) {
        look_finish(call, look->difference > 0 ? LOOK_DIFFERS : LOOK_AGREES);
    } else if (look->dry) {
        look_finish(call, LOOK_DIFFERS);
    } else if (may_change(call)) {
        adjust(call, correction);
    }
}

static void after_read(struct service_call *call)
{
    struct interval_reading *reading = &call->look.reading;

    if (call->engine.code == HF_PRODUCT_NOT_FOUND && ++call->look.tries < LOOK_TRIES) {
        read_before(call); /* it was closed meanwhile */
        return;
    }
    if (call->engine.code != HF_OK) {
        look_fail_by_engine(call);
        return;
    }
    reading->available_after = call->engine.numbers[0];
    reading->engine_after = call->engine.numbers[0] + call->engine.numbers[1];
    reading->total_after = call->engine.numbers[3];
    decide(call);
}

static void only_one_knows(struct service_call *call)
{
    const struct service_look *look = &call->look;

    if (look->known) {
        if (call->service->guards || !look->opens) {
            look_finish(call, LOOK_FOREIGN);
        } else if (may_change(call)) {
            adopt(call);
        }
    } else if (!look->counter.found) {
        look_finish(call, LOOK_UNKNOWN);
    } else if (!look->opens || look->dry) {
        look_finish(call, LOOK_AGREES); /* it is opened when it is first used */
    } else if (may_change(call)) {
        load_engine(call);
    }
}

static void ledger_read(struct service_call *call)
{
    struct service_look *look = &call->look;

    if (call->job.answer != LEDGER_DONE) {
        look_fail_by_ledger(call);
        return;
    }
    if (!look->known || !look->counter.found) {
        only_one_knows(call);
        return;
    }
    look->reading.stock = look->counter.left;
    look->reading.selling = look->counter.selling;
    look->reading.ending = look->counter.ending;
    if (interval_is_suspicious(&look->reading)) {
        call->run = after_read;
        read_engine(call);
    } else {
        look_finish(call, LOOK_AGREES);
    }
}

static void before_read(struct service_call *call)
{
    struct service_look *look = &call->look;
    struct ledger_job *job;

    look->known = call->engine.code == HF_OK;
    if (!look->known && call->engine.code != HF_PRODUCT_NOT_FOUND) {
        look_fail_by_engine(call);
        return;
    }
    look->reading = (struct interval_reading){
        .engine_before = look->known ? call->engine.numbers[0] + call->engine.numbers[1] : 0,
        .total_before = call->engine.numbers[3],
        .available_after = call->engine.numbers[0]};
    look->counter = (struct ledger_counter){.found = false};
    job = call_job(call, LEDGER_TASK_READ);
    job->kind = LEDGER_ORDER;
    job->scopes = &call->command.args.stock_open.product;
    job->counters = &look->counter;
    job->count = 1;
    call_submit(call, ledger_read);
}

/* Runs call->run with the product's totals. */
static void read_engine(struct service_call *call)
{
    struct command get = {.spec = &command_table[STOCK_GET]};

    get.args.stock_get.product = look_product(call);
    call_engine(call, &get, call->run);
}

static void read_before(struct service_call *call)
{
    call->run = before_read;
    read_engine(call);
}

void look_begin(struct service_call *call)
{
    CHECK(call->look.ended != NULL && !call->look.leased);
    call->look.tries = call->look.waits = 0;
    call->look.applied = call->look.difference = 0;
    read_before(call);
}
