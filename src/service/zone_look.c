/* SPDX-License-Identifier: Apache-2.0
 *
 * One look at one zone. As with a product (interval.c), E is what the engine has not confirmed
 * (available and reserved) and L what the ledger has not sold; a hold, a release and an expiry move
 * neither, a confirmation lowers both. But here a refund raises E without moving the zone's
 * capacity, so E only sinks while there is none: that is certain if none is in flight at the first
 * reading, and none was written until the last one.
 *
 *     LEASE ─> READ ─> ZONE ─> READ ─> ZONE ─> READ ─> certain? ─> OPEN ─> drift row ─> UNLEASE
 *
 * The engine's capacity moves by the difference, which is how its free seats do: what is only in
 * the ledger is no part of the engine's capacity (seats_open.c). SEATS.OPEN has the same lease, so
 * nobody else moves the capacity meanwhile. */
#include "service/zone_look.h"

#include <stdio.h>
#include <stdlib.h>

struct zone_look {
    struct ledger_counter first, counter, last;
    int64_t capacity, max, lifetime; /* of the engine */
    char name[ZONE_NAME_SIZE];
};

/* The command of such a call is a SEATS.OPEN with the event and the zone. */
static const struct hf_seats_open_args *args_of(const struct service_call *call)
{
    return &call->command.args.seats_open;
}

struct hf_bytes zone_name(char out[ZONE_NAME_SIZE], struct hf_bytes event, struct hf_bytes zone)
{
    int size = snprintf(out, ZONE_NAME_SIZE, "%.*s %.*s", (int)event.size, event.data,
                        (int)zone.size, zone.data);

    return (struct hf_bytes){out, (size_t)size};
}

struct service_call *zone_look_new(struct service *service, struct hf_bytes event,
                                   struct hf_bytes zone)
{
    struct command command = {.spec = &command_table[SEATS_OPEN]};

    command.args.seats_open = (struct hf_seats_open_args){.event = event, .zone = zone};
    struct service_call *call = call_new(service, &command, NULL, NULL);
    if (call != NULL && call_add_state(call, sizeof(struct zone_look), free) == NULL) {
        call_end(call);
        call = NULL;
    }
    return call;
}

/* ---- correcting ------------------------------------------------------------------------------ */

static void read_first(struct service_call *call);

static void corrected(struct service_call *call)
{
    const struct service_look *look = &call->look;

    if (look_moved(call, read_first)) {
        look_write_drift(call, args_of(call)->event, args_of(call)->zone,
                         look->applied > 0 ? "the engine had less than the ledger"
                                           : "the engine had more than the ledger",
                         look->reading.selling);
    }
}

static void correct(struct service_call *call, int64_t delta)
{
    const struct zone_look *zone = call->state;
    struct command open = {.spec = &command_table[SEATS_OPEN]};

    call->delta = delta;
    open.args.seats_open =
        (struct hf_seats_open_args){.event = args_of(call)->event,
                                    .zone = args_of(call)->zone,
                                    .capacity = zone->capacity + delta,
                                    .max = zone->max > 0 ? zone->max : HF_INTEGER_MAX,
                                    .lifetime = zone->lifetime != 0};
    call_engine(call, &open, corrected);
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* Was no refund on its way to the engine between its two readings? */
static bool is_calm(const struct zone_look *zone)
{
    return zone->first.ending == 0 && zone->counter.ending == 0 &&
           zone->first.ended == zone->counter.ended && zone->counter.ended == zone->last.ended;
}

static void decide(struct service_call *call)
{
    struct service_look *look = &call->look;
    const struct zone_look *zone = call->state;
    struct interval interval = interval_of(&look->reading);
    bool known = interval.known && is_calm(zone);
    int64_t correction = known ? interval_correction(&interval, &look->reading) : 0;
    bool fresh = service_now(call->service) - look->leased_ms < LEASE_MS / 2;

    if (!known) {
        if (++look->tries < LOOK_TRIES) {
            read_first(call);
        } else {
            look_finish(call, LOOK_AGREES); /* nothing is certain: at a calmer moment */
        }
        return;
    }
    look->difference = interval_difference(&interval);
    if (correction == 0 || look->dry || !fresh) {
        look_finish(call, look->difference > 0 ? LOOK_DIFFERS : LOOK_AGREES);
    } else {
        correct(call, correction);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_ledger(struct service_call *call, struct ledger_counter *counter,
                        service_run *next)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_READ);

    job->kind = LEDGER_BOOKING;
    job->scopes = &call->command.args.seats_open.event;
    job->zones = &call->command.args.seats_open.zone;
    job->counters = counter;
    job->count = 1;
    call_submit(call, next);
}

/* Is there a zone to compare on this side? If not, the look is over. */
static bool is_read(struct service_call *call, const struct ledger_counter *counter)
{
    if (call->job.answer != LEDGER_DONE) {
        look_fail_by_ledger(call);
        return false;
    }
    if (!counter->found) {
        look_finish(call, LOOK_FOREIGN);
        return false;
    }
    return true;
}

static bool is_seen(struct service_call *call)
{
    if (call->engine.code == HF_OK) {
        return true;
    }
    if (call->engine.code == HF_ZONE_NOT_FOUND) {
        look_finish(call, LOOK_AGREES); /* it was closed; its first use opens it from the ledger */
    } else {
        look_fail_by_engine(call);
    }
    return false;
}

static void read_engine(struct service_call *call, service_run *next)
{
    struct command zone = {.spec = &command_table[SEATS_ZONE]};

    zone.args.seats_zone =
        (struct hf_seats_zone_args){.event = args_of(call)->event, .zone = args_of(call)->zone};
    call_engine(call, &zone, next);
}

static void last_read(struct service_call *call)
{
    const struct zone_look *zone = call->state;

    if (is_read(call, &zone->last)) {
        decide(call);
    }
}

static void engine_read_after(struct service_call *call)
{
    struct interval_reading *reading = &call->look.reading;
    struct zone_look *zone = call->state;

    if (!is_seen(call)) {
        return;
    }
    const int64_t *numbers = call->engine.numbers;
    reading->total_after = zone->capacity = numbers[0];
    reading->available_after = numbers[1];
    reading->engine_after = numbers[1] + numbers[2];
    zone->max = numbers[4];
    zone->lifetime = numbers[5];
    read_ledger(call, &zone->last, last_read);
}

static void ledger_read(struct service_call *call)
{
    struct interval_reading *reading = &call->look.reading;
    struct zone_look *zone = call->state;

    if (!is_read(call, &zone->counter)) {
        return;
    }
    reading->stock = zone->counter.left;
    reading->selling = zone->counter.selling;
    reading->ending = 0; /* or it is not decided by this reading */
    read_engine(call, engine_read_after);
}

static void engine_read_before(struct service_call *call)
{
    struct zone_look *zone = call->state;

    if (!is_seen(call)) {
        return;
    }
    const int64_t *numbers = call->engine.numbers;
    call->look.reading = (struct interval_reading){.total_before = numbers[0],
                                                   .engine_before = numbers[1] + numbers[2]};
    read_ledger(call, &zone->counter, ledger_read);
}

static void first_read(struct service_call *call)
{
    const struct zone_look *zone = call->state;

    if (is_read(call, &zone->first)) {
        read_engine(call, engine_read_before);
    }
}

static void read_first(struct service_call *call)
{
    struct zone_look *zone = call->state;

    read_ledger(call, &zone->first, first_read);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void leased(struct service_call *call)
{
    if (call->job.answer == LEDGER_DONE) {
        call->look.leased = true;
        read_first(call);
    } else if (call->job.answer == LEDGER_SOLD_OUT) {
        look_finish(call, LOOK_BUSY); /* it is being opened: at the next pass */
    } else {
        look_fail_by_ledger(call);
    }
}

void zone_look_begin(struct service_call *call)
{
    struct zone_look *zone = call->state;
    struct hf_bytes name = zone_name(zone->name, args_of(call)->event, args_of(call)->zone);

    if (call->look.dry) {
        read_first(call);
    } else {
        call_take_lease(call, name, leased);
    }
}
