/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that change how much of a product there is, on both sides: STOCK.LOAD and STOCK.ADJUST
 * of a product that the ledger has, or of any with a ledger that was given; STOCK.OPEN; and the
 * gate in front of STOCK.TAKE.
 *
 *     product_change ─> READ ─> LEASE ─> GET, LOAD, GET ─> STOCK ─> UNLEASE ─> answer
 *                                         (or ADJUST)        │
 *                                             undone if the ledger refuses
 *
 * The engine says what the difference is: STOCK.LOAD sets how much was loaded, and what ADJUST
 * added stays. So the engine is changed first, and the ledger by the same difference; until then
 * nobody can buy more than the ledger has. The three commands to the engine are submitted at once,
 * so that nothing of this server comes between them; another server's return could, within the
 * time that the engine takes for the three.
 *
 * If the server dies between the two sides, reconciliation takes the engine back to the ledger;
 * the same LOAD again finds nothing to change then, and its answer shows how much there is. */
#include "base/check.h"
#include "base/fault.h"
#include "service/service_state.h"

static bool is_load(const struct service_call *call)
{
    return command_id(call->command.spec) == STOCK_LOAD;
}

static struct hf_bytes change_product(const struct service_call *call)
{
    return is_load(call) ? call->command.args.stock_load.product
                         : call->command.args.stock_adjust.product;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void unleased(struct service_call *call)
{
    if (call->look.locked != NULL) {
        product_unlock(call->look.locked, call);
        call->look.locked = NULL;
    }
    product_leave(call->product, NULL);
    call_end(call);
}

/* The client has its answer. */
static void finish(struct service_call *call)
{
    CHECK(call->done == NULL);
    if (call->look.leased) {
        call->look.leased = false;
        call_give_lease(call, unleased);
    } else {
        unleased(call);
    }
}

static void answer(struct service_call *call)
{
    struct reply *reply = call_reply(call);

    reply_number(reply, call->remaining);
    call_answer(call, reply);
    finish(call);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static void undone(struct service_call *call)
{
    if (call->engine.code != HF_OK) {
        call->product->was_open = false; /* reconciliation has to put it right */
    }
    if (call->job.answer == LEDGER_SOLD_OUT) {
        call_refuse(call, HF_CAPACITY_IN_USE, "the ledger has less than that to take away");
    } else {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
    }
    finish(call);
}

/* Puts the engine back to where it was: what was loaded before follows from the difference. */
static void undo(struct service_call *call)
{
    struct command undo = {.spec = call->command.spec, .args = call->command.args};

    if (!is_load(call)) {
        undo.args.stock_adjust.delta = -call->delta;
    } else if (!call->taken) {
        undo.spec = &command_table[STOCK_CLOSE]; /* the engine did not know it before */
        undo.args.stock_close.product = call->command.args.stock_load.product;
    } else {
        undo.args.stock_load.quantity -= call->delta;
    }
    call_engine(call, &undo, undone);
}

static void written(struct service_call *call)
{
    switch (call->job.answer) {
    case LEDGER_DONE:
        FAULT_POINT(load_written);
        answer(call);
        break;
    case LEDGER_UNKNOWN:
        call->product->was_open = false;
        call_refuse_as_ledger(call, LEDGER_UNKNOWN, &call->job.problem);
        finish(call);
        break;
    default:
        undo(call);
        break;
    }
}

/* A product that the ledger does not have gets all that the engine has not sold. */
static void write(struct service_call *call)
{
    bool found = call->look.counter.found;

    FAULT_POINT(load_changed);
    if (found && call->delta == 0) {
        answer(call);
        return;
    }
    struct ledger_job *job = call_job(call, LEDGER_TASK_STOCK);
    job->scope = change_product(call);
    job->delta = found ? call->delta : call->total;
    job->create = !found;
    call_submit(call, written);
}

/* ---- the engine ------------------------------------------------------------------------------ */

static void refuse_by_engine(struct service_call *call)
{
    call_refuse_as_engine(call);
    finish(call);
}

static void changed(struct service_call *call)
{
    if (call->engine.code != HF_OK) {
        refuse_by_engine(call);
        return;
    }
    write(call);
}

static void one_answered(struct service_call *call)
{
    CHECK(call->awaited > 0);
    if (--call->awaited == 0) {
        call_ready(call, changed);
    }
}

static void totals_before(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    call->taken = reply->code == HF_OK; /* the engine knows it */
    call->look.reading.total_before = call->taken ? reply->values[3].number : 0;
    one_answered(call);
}

static void change_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    call_note(call, reply);
    call->remaining = call->engine.numbers[0];
    one_answered(call);
}

static void totals_after(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    if (reply->code == HF_OK) {
        call->total = reply->values[0].number + reply->values[1].number;
        call->delta = reply->values[3].number - call->look.reading.total_before;
    } else if (call->engine.code == HF_OK) {
        call_note(call, reply); /* the change happened, and by how much cannot be told */
        call->product->was_open = false;
    }
    one_answered(call);
}

/* The three in one go. Answers may come at once or later, in this order. */
static void change(struct service_call *call)
{
    struct command get = {.spec = &command_table[STOCK_GET]};
    struct command change = {.spec = call->command.spec, .args = call->command.args};

    FAULT_POINT(load_leased);
    get.args.stock_get.product = change_product(call);
    call->awaited = 3;
    engine_submit(call->service->inner, &get, totals_before, call);
    engine_submit(call->service->inner, &change, change_answered, call);
    engine_submit(call->service->inner, &get, totals_after, call);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void lock(struct service_call *call);

/* Another server, or a reconciliation of this one, has it for a moment. */
static void wait_for_other(struct service_call *call)
{
    if (++call->look.waits < LEASE_RETRIES) {
        call_later(call, lock, LEASE_RETRY_MS);
    } else {
        call_refuse(call, HF_BUSY, "another server is changing the product: try again");
        finish(call);
    }
}

static void leased(struct service_call *call)
{
    if (call->job.answer == LEDGER_SOLD_OUT) {
        wait_for_other(call);
    } else if (call->job.answer != LEDGER_DONE) {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
    } else {
        call->look.leased = true;
        change(call);
    }
}

static void lock(struct service_call *call)
{
    if (call->look.locked == NULL && !product_lock(call->product, call)) {
        wait_for_other(call);
        return;
    }
    call->look.locked = call->product;
    if (call->service->guards) {
        call_take_lease(call, change_product(call), leased);
    } else {
        change(call);
    }
}

static void ledger_read(struct service_call *call)
{
    struct service *service = call->service;

    if (call->job.answer != LEDGER_DONE) {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
    } else if (service->guards || call->look.counter.found) {
        lock(call);
    } else {
        /* Nothing of this product was ever bought: it is the engine's alone. */
        engine_done *done = call->done;
        call->done = NULL;
        engine_submit(service->inner, &call->command, done, call->context);
        finish(call);
    }
}

static void read_ledger(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_READ);

    job->kind = LEDGER_ORDER;
    job->scopes = is_load(call) ? &call->command.args.stock_load.product
                                : &call->command.args.stock_adjust.product;
    job->counters = &call->look.counter;
    job->count = 1;
    call_submit(call, ledger_read);
}

/* Puts the product behind the engine and the ledger in line with each other first, if only the
 * ledger knows it: then a difference is one. */
static void verified(struct service_call *call)
{
    if (call->look.result == LOOK_ENGINE || call->look.result == LOOK_LEDGER) {
        call_refuse(call, call->look.problem.code, "%s", call->look.problem.message);
        call_end(call);
        return;
    }
    product_change(call, call->product, read_ledger);
}

void stock_change_begin(struct service_call *call)
{
    struct service_product *product = product_get(call->service, change_product(call));

    if (product == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
    } else if (call->service->guards) {
        product_enter(call, product, verified);
    } else {
        product_change(call, product, read_ledger);
    }
}

/* ---- STOCK.OPEN ------------------------------------------------------------------------------ */

static void opened(struct service_call *call)
{
    const struct service_look *look = &call->look;
    struct reply *reply = call_reply(call);

    switch (look->result) {
    case LOOK_FOREIGN:
    case LOOK_UNKNOWN:
        call_refuse(call, HF_PRODUCT_NOT_FOUND, "the ledger has no product \"%.*s\"",
                    (int)call->product->id_size, call->product->id);
        break;
    case LOOK_ENGINE:
    case LOOK_LEDGER:
    case LOOK_BUSY:
        call_refuse(call, look->problem.code, "%s", look->problem.message);
        break;
    default:
        call->remaining = look->reading.available_after + look->applied;
        reply_number(reply, call->remaining);
        call_answer(call, reply);
        break;
    }
    product_leave(call->product, look);
    call_end(call);
}

static void look(struct service_call *call)
{
    call->look.opens = call->look.patient = true;
    call->look.ended = opened;
    look_begin(call);
}

void stock_change_open(struct service_call *call)
{
    struct service_product *product =
        product_get(call->service, call->command.args.stock_open.product);

    if (product == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
    } else {
        product_change(call, product, look);
    }
}

/* ---- STOCK.TAKE ------------------------------------------------------------------------------ */

static void pass(struct service_call *call)
{
    engine_done *done = call->done;

    if (call->look.result == LOOK_LEDGER || call->look.result == LOOK_BUSY) {
        call_refuse(call, HF_LOADING,
                    "the product could not be compared with the ledger yet: %s; try again",
                    call->look.problem.message);
    } else {
        call->done = NULL;
        engine_submit(call->service->inner, &call->command, done, call->context);
    }
    call_end(call);
}

void stock_gate(struct service_call *call)
{
    struct service_product *product =
        product_get(call->service, call->command.args.stock_take.product);

    if (product == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
    } else {
        product_enter(call, product, pass);
    }
}
