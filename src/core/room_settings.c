/* SPDX-License-Identifier: Apache-2.0
 *
 * What ROOM.OPEN sets, and how a room is doing. RATE is a bucket that holds one second's worth of
 * users and begins full: in any t seconds no more than RATE * (t + 1) are admitted by ROOM.TICK,
 * whoever calls it. It counts thousandths of users, so that a millisecond adds a whole number. */
#include "core/room.h"

#include "base/check.h"
#include "base/siphash.h"
#include "base/text.h"

#define USER_MILLI 1000

bool room_has_settings(const struct room *room)
{
    return room->rate != 0 || room->inside_max != 0 || room->start_ms != 0 || room->pass_ms != 0 ||
           room->record.flags & (ROOM_RANDOM | ROOM_PAUSED | ROOM_GATE);
}

int64_t room_pass_ms(const struct room *room)
{
    return room->pass_ms != 0 ? room->pass_ms : ROOM_PASS_DEFAULT_MS;
}

/* ---- RATE ------------------------------------------------------------------------------------ */

/* Thousandths of users in the bucket. */
static int64_t allowed_now(const struct core *core, const struct room *room)
{
    int64_t most = room->rate * USER_MILLI, elapsed_ms = core->now_ms - room->allowance_ms;
    int64_t missing = most - room->allowance;

    CHECK(missing >= 0 && elapsed_ms >= 0);
    return elapsed_ms >= USER_MILLI || room->rate * elapsed_ms >= missing
               ? most
               : room->allowance + room->rate * elapsed_ms;
}

int64_t room_allowance(const struct core *core, const struct room *room)
{
    return room->rate == 0 ? ROOM_ADMIT_MAX : allowed_now(core, room) / USER_MILLI;
}

void room_spend(const struct core *core, struct room *room, int64_t count)
{
    if (room->rate != 0 && count > 0) {
        room->allowance = allowed_now(core, room) - count * USER_MILLI;
        room->allowance_ms = core->now_ms;
        CHECK(room->allowance >= 0);
    }
}

/* Sets another rate: what was allowed under the former one stays, but for what the new one does not
 * hold; a room without a rate begins with a full bucket. */
static void set_rate(const struct core *core, struct room *room, int64_t rate)
{
    int64_t most = rate * USER_MILLI, known = room->rate == 0 ? most : allowed_now(core, room);

    room->allowance = known < most ? known : most;
    room->allowance_ms = core->now_ms;
    room->rate = rate;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Puts a line in random order. */
static void shuffle(struct core *core, struct room *room, const uint8_t *entropy)
{
    for (uint32_t i = room->line.count; i > 1; i--) {
        uint32_t lot = (uint32_t)(siphash(entropy, &i, sizeof i) % i);
        room_swap(core, room, line_place(&room->line, i), line_place(&room->line, lot + 1));
    }
}

/* Does the order of those in line have to be drawn, which it is not yet? */
static bool must_shuffle(const struct core *core, const struct hf_room_open_args *a,
                         const struct room *room)
{
    return text_equal(a->order, hf_text("random")) && a->start_ms > core->now_ms &&
           !(room->record.flags & ROOM_SHUFFLED);
}

static void set_all(struct core *core, struct room *room, const struct hf_room_open_args *a)
{
    uint8_t flags = room->record.flags & ROOM_SHUFFLED;

    core->gates -= (room->record.flags & ROOM_GATE) != 0;
    core->gates += a->gate;
    flags |= text_equal(a->order, hf_text("random")) ? ROOM_RANDOM : 0;
    flags |= a->paused ? ROOM_PAUSED : 0;
    flags |= a->gate ? ROOM_GATE : 0;
    room->record.flags = flags;
    set_rate(core, room, a->rate);
    room->inside_max = a->inside;
    room->start_ms = a->start_ms;
    room->pass_ms = a->pass_ms != ROOM_PASS_DEFAULT_MS ? a->pass_ms : 0;
    if (!room_has_settings(room)) {
        room->record.flags = 0;
        room->admitted = room->allowance_ms = 0;
    }
    room_check_counts(room);
}

CORE_COMMAND(room_open)
{
    const struct hf_room_open_args *a = &args->room_open;
    uint32_t known = core_enter(core, CORE_ROOMS, a->event);
    uint32_t index = known != NONE ? known : core_obtain(core, CORE_ROOMS, 0, a->event);

    if (index == NONE) {
        reply_busy(core, reply);
        return;
    }
    struct room *room = room_at(core, index);
    if (must_shuffle(core, a, room)) {
        if (room->line.count > ROOM_SHUFFLE_MAX) {
            reply_refuse_with(reply, HF_INVALID_STATE,
                              "# are in line: ORDER random with a START to come draws the order of "
                              "at most #; set it before they come",
                              room->line.count, ROOM_SHUFFLE_MAX, 0);
            return;
        }
        shuffle(core, room, entropy);
        room->record.flags |= ROOM_SHUFFLED;
    }
    set_all(core, room, a);
    reply_number(reply, room->line.count);
    reply_number(reply, room->passes);
    room_drop(core, index);
}

/* ---- how it is doing ------------------------------------------------------------------------- */

int64_t room_wait_s(const struct core *core, const struct room *room, int64_t place)
{
    int64_t early_ms = room_is_early(core, room) ? room->start_ms - core->now_ms : 0;

    if (room->rate == 0 || room->record.flags & ROOM_PAUSED) {
        return -1;
    }
    return (early_ms + 999) / 1000 + (place + room->rate - 1) / room->rate;
}

CORE_COMMAND(room_stats)
{
    static const struct room nobody = {.passes = 0};
    uint32_t index = core_enter(core, CORE_ROOMS, args->room_stats.event);
    const struct room *room = index == NONE ? &nobody : room_at(core, index);
    (void)entropy;

    reply_number(reply, room->line.count);
    reply_number(reply, room->passes);
    reply_number(reply, room->admitted);
    reply_number(reply, room->rate);
    reply_number(reply, room->inside_max);
    reply_number(reply, !room_is_early(core, room));
    reply_number(reply, (room->record.flags & ROOM_PAUSED) != 0);
    reply_number(reply, room_wait_s(core, room, room->line.count));
    reply_number(reply, room->start_ms);
    reply_number(reply, (room->record.flags & ROOM_RANDOM) != 0);
    reply_number(reply, room_pass_ms(room));
    reply_number(reply, (room->record.flags & ROOM_GATE) != 0);
}
