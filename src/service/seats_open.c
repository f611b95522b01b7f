/* SPDX-License-Identifier: Apache-2.0
 *
 * Zones with a ledger that was given. SEATS.OPEN sets the capacity on both sides, under a lease:
 * in the ledger first where it grows, in the engine first where it shrinks, so that at no moment
 * more can be held than can be sold. SEATS.RESERVE of a zone that the engine does not know and the
 * ledger does opens it with what is left to sell.
 *
 * Either side may know of confirmed seats that the other does not: the engine of those from before
 * there was a ledger, the ledger of those from before the engine was lost. Each side's capacity is
 * less by what only the other one has. */
#include "base/check.h"
#include "service/holds.h"
#include "service/zone_look.h"

#include <stdlib.h>

struct zone_work {
    bool known, leased, undoing;
    int64_t capacity, confirmed, max, lifetime; /* of the engine */
    struct ledger_counter counter;
    int64_t engine_target, ledger_target;
    char lease[ZONE_NAME_SIZE];
};

static struct zone_work *work_of(const struct service_call *call)
{
    return call->state;
}

static struct hf_bytes zone_event(const struct service_call *call)
{
    return call->command.args.seats_open.event;
}

static struct hf_bytes zone_id(const struct service_call *call)
{
    return call->command.args.seats_open.zone;
}

_Static_assert(offsetof(struct hf_seats_open_args, zone) ==
                   offsetof(struct hf_seats_reserve_args, zone),
               "event and zone are at the same place");

static void zone_end(struct service_call *call)
{
    call_drop_state(call);
    call_end(call);
}

static void finish(struct service_call *call)
{
    CHECK(call->done == NULL);
    if (work_of(call)->leased) {
        work_of(call)->leased = false;
        call_give_lease(call, zone_end);
    } else {
        zone_end(call);
    }
}

static bool begin_work(struct service_call *call)
{
    if (call_add_state(call, sizeof(struct zone_work), free) == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
        return false;
    }
    return true;
}

static void read_ledger(struct service_call *call, service_run *next)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_READ);

    job->kind = LEDGER_BOOKING;
    job->scopes = &call->command.args.seats_open.event;
    job->zones = &call->command.args.seats_open.zone;
    job->counters = &work_of(call)->counter;
    job->count = 1;
    call_submit(call, next);
}

static void submit_open(struct service_call *call, int64_t capacity, int64_t max, bool lifetime,
                        service_run *next)
{
    struct command open = {.spec = &command_table[SEATS_OPEN]};

    open.args.seats_open = (struct hf_seats_open_args){.event = zone_event(call),
                                                       .zone = zone_id(call),
                                                       .capacity = capacity,
                                                       .max = max,
                                                       .lifetime = lifetime};
    call_engine(call, &open, next);
}

/* ---- SEATS.OPEN ------------------------------------------------------------------------------ */

static void answer_open(struct service_call *call)
{
    struct reply *reply = call_reply(call);

    reply_number(reply, call->remaining);
    reply_number(reply, call->command.args.seats_open.capacity);
    call_answer(call, reply);
    finish(call);
}

static bool grows(const struct service_call *call)
{
    const struct zone_work *work = work_of(call);
    return !work->known || work->engine_target >= work->capacity;
}

static void engine_opened(struct service_call *call);
static void ledger_set(struct service_call *call);

static void open_engine(struct service_call *call)
{
    const struct hf_seats_open_args *args = &call->command.args.seats_open;

    submit_open(call, work_of(call)->engine_target, args->max, args->lifetime, engine_opened);
}

static void set_ledger(struct service_call *call, int64_t capacity, service_run *next)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_ZONE);

    job->kind = LEDGER_BOOKING;
    job->scope = zone_event(call);
    job->zone = zone_id(call);
    job->delta = capacity;
    job->create = true;
    call_submit(call, next);
}

static void refuse_open(struct service_call *call)
{
    if (work_of(call)->undoing && call->job.answer == LEDGER_SOLD_OUT) {
        call_refuse(call, HF_CAPACITY_IN_USE, "the ledger has sold more seats than that");
    } else {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
    }
    finish(call);
}

/* The engine refused to grow, or failed: the ledger keeps its larger capacity, which hands out
 * nothing by itself. */
static void engine_opened(struct service_call *call)
{
    if (call->engine.code != HF_OK) {
        call_refuse_as_engine(call);
        finish(call);
        return;
    }
    call->remaining = call->engine.numbers[0];
    if (grows(call)) {
        answer_open(call);
    } else {
        set_ledger(call, work_of(call)->ledger_target, ledger_set);
    }
}

static void ledger_set(struct service_call *call)
{
    struct zone_work *work = work_of(call);

    if (call->job.answer == LEDGER_DONE) {
        if (grows(call)) {
            open_engine(call);
        } else {
            answer_open(call);
        }
        return;
    }
    work->undoing = true;
    if (grows(call) || call->job.answer == LEDGER_UNKNOWN) {
        refuse_open(call);
    } else {
        submit_open(call, work->capacity, work->max > 0 ? work->max : HF_INTEGER_MAX,
                    work->lifetime != 0, refuse_open);
    }
}

/* Works out what each side's capacity is to be. */
static void plan(struct service_call *call)
{
    struct zone_work *work = work_of(call);
    const struct ledger_counter *counter = &work->counter;
    int64_t wanted = call->command.args.seats_open.capacity;
    int64_t sold = counter->found ? counter->size - counter->left : 0;
    int64_t only_engine = work->confirmed - sold;
    int64_t only_ledger = sold - counter->selling - work->confirmed;

    work->ledger_target = wanted - (only_engine > 0 ? only_engine : 0);
    work->engine_target = wanted - (only_ledger > 0 ? only_ledger : 0);
    if (work->ledger_target < 0 || work->engine_target < 0) {
        call_refuse(call, HF_CAPACITY_IN_USE, "%lld seats are confirmed",
                    (long long)(only_engine > 0 ? work->confirmed : sold));
        finish(call);
    } else if (grows(call)) {
        set_ledger(call, work->ledger_target, ledger_set);
    } else {
        open_engine(call);
    }
}

static void open_ledger_read(struct service_call *call)
{
    if (call->job.answer != LEDGER_DONE) {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
        return;
    }
    plan(call);
}

static void open_engine_read(struct service_call *call)
{
    struct zone_work *work = work_of(call);

    work->known = call->engine.code == HF_OK;
    if (!work->known && call->engine.code != HF_ZONE_NOT_FOUND) {
        call_refuse_as_engine(call);
        finish(call);
        return;
    }
    if (work->known) {
        work->capacity = call->engine.numbers[0];
        work->confirmed = call->engine.numbers[3];
        work->max = call->engine.numbers[4];
        work->lifetime = call->engine.numbers[5];
    }
    read_ledger(call, open_ledger_read);
}

static void read_engine(struct service_call *call)
{
    struct command zone = {.spec = &command_table[SEATS_ZONE]};

    zone.args.seats_zone =
        (struct hf_seats_zone_args){.event = zone_event(call), .zone = zone_id(call)};
    call_engine(call, &zone, open_engine_read);
}

static void take_lease(struct service_call *call, service_run *next)
{
    call_take_lease(call, zone_name(work_of(call)->lease, zone_event(call), zone_id(call)), next);
}

/* Somebody else has the lease, to open the zone or to compare it: it is asked for again, for a
 * moment. False if that was long enough. */
static bool waits_for_lease(struct service_call *call, service_run *again)
{
    if (++call->look.waits >= LEASE_RETRIES) {
        return false;
    }
    call_later(call, again, LEASE_RETRY_MS);
    return true;
}

static void lease_to_open(struct service_call *call);

static void open_leased(struct service_call *call)
{
    if (call->job.answer == LEDGER_DONE) {
        work_of(call)->leased = true;
        read_engine(call);
    } else if (call->job.answer == LEDGER_SOLD_OUT) {
        if (!waits_for_lease(call, lease_to_open)) {
            call_refuse(call, HF_BUSY, "another server is changing the zone: try again");
            finish(call);
        }
    } else {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
    }
}

static void lease_to_open(struct service_call *call)
{
    take_lease(call, open_leased);
}

void seats_open_guarded(struct service_call *call)
{
    if (begin_work(call)) {
        lease_to_open(call);
    }
}

/* ---- SEATS.RESERVE --------------------------------------------------------------------------- */

enum { RESERVED_EXPIRES = 2 }; /* of the values of the engine's reply */

/* The row of a hold follows. A retry that finds it confirmed has no deadline to show. */
static void keep_reserved(struct service_call *call, const struct reply *reply)
{
    const struct hf_seats_reserve_args *args = &call->command.args.seats_reserve;

    if (reply->code != HF_OK || reply->count <= RESERVED_EXPIRES ||
        reply->values[RESERVED_EXPIRES].number == 0) {
        return;
    }
    struct ledger_booking row = {.event = args->event,
                                 .booking = args->booking,
                                 .zone = args->zone,
                                 .user = args->user,
                                 .show = args->show,
                                 .status = hf_text("reserved"),
                                 .quantity = args->quantity,
                                 .unit_price = args->unit_price,
                                 .expires_ms = reply->values[RESERVED_EXPIRES].number,
                                 .trace = hf_text(call->trace)};
    row.created_ms = row.expires_ms - args->ttl_ms;
    holds_keep(call->service, &row);
}

static void reserve_last(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    rebuild_note(call->service, reply->code, reply->unknown);
    call_answer(call, reply);
    keep_reserved(call, reply);
    call_ready(call, finish);
}

static void reserve_opened(struct service_call *call)
{
    if (call->engine.code != HF_OK) {
        call_refuse_as_engine(call);
        finish(call);
        return;
    }
    engine_submit(call->service->inner, &call->command, reserve_last, call);
}

static void reserve_ledger_read(struct service_call *call)
{
    const struct ledger_counter *counter = &work_of(call)->counter;

    if (call->job.answer != LEDGER_DONE) {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
    } else if (!counter->found) {
        call_refuse_as_engine(call);
        finish(call);
    } else {
        submit_open(call, counter->left, HF_INTEGER_MAX, false, reserve_opened);
    }
}

static void lease_to_reserve(struct service_call *call);

static void reserve_leased(struct service_call *call)
{
    if (call->job.answer == LEDGER_DONE) {
        work_of(call)->leased = true;
        read_ledger(call, reserve_ledger_read);
    } else if (call->job.answer == LEDGER_SOLD_OUT) {
        if (!waits_for_lease(call, lease_to_reserve)) {
            call_refuse(call, HF_LOADING, "another server is opening the zone: try again");
            finish(call);
        }
    } else {
        call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
        finish(call);
    }
}

static void lease_to_reserve(struct service_call *call)
{
    take_lease(call, reserve_leased);
}

static void open_zone(struct service_call *call)
{
    if (begin_work(call)) {
        lease_to_reserve(call);
    }
}

/* Called by the engine. */
static void reserve_first(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    if (reply->code == HF_ZONE_NOT_FOUND) {
        call_note(call, reply);
        call_ready(call, open_zone);
        return;
    }
    rebuild_note(call->service, reply->code, reply->unknown);
    call_answer(call, reply);
    keep_reserved(call, reply);
    call_ready(call, call_end);
}

void seats_reserve_guarded(struct service_call *call)
{
    engine_submit(call->service->inner, &call->command, reserve_first, call);
}
