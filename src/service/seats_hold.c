/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.RELEASE and SEATS.EXTEND with a ledger that was given: the engine carries them out and
 * answers, the booking's row follows.
 *
 *   RELEASE   GET ─> RELEASE ─> answer ─> row: cancelled
 *   EXTEND    EXTEND ─> answer ─> GET ─> row: the new deadline */
#include "base/clock.h"
#include "service/holds.h"
#include "service/seats_booking.h"

/* A release that is repeated finds no booking, and its row was written the first time. */
static void released(struct service_call *call)
{
    const struct seats_work *work = call->state;

    if (call->engine.code == HF_OK && work->found && work->seen.reserved) {
        struct ledger_booking row = seats_row(call, "cancelled");
        row.ended_ms = clock_wall_ms();
        holds_keep(call->service, &row);
    }
    seats_finish(call);
}

static void release(struct service_call *call)
{
    seats_forward(call, released);
}

void seats_release_guarded(struct service_call *call)
{
    seats_read(call, release);
}

static void extended_read(struct service_call *call)
{
    const struct seats_work *work = call->state;

    if (work->found && work->seen.reserved) {
        struct ledger_booking row = seats_row(call, "reserved");
        holds_keep(call->service, &row);
    }
    seats_finish(call);
}

static void extended(struct service_call *call)
{
    if (call->engine.code == HF_OK) {
        seats_read(call, extended_read);
    } else {
        seats_finish(call);
    }
}

void seats_extend_guarded(struct service_call *call)
{
    seats_forward(call, extended);
}
