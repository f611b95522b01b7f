/* SPDX-License-Identifier: Apache-2.0
 *
 * The line of a waiting room: who joins stands at its end, or at a place drawn by lot while ORDER
 * random is set and START is to come. A room exists while a user is in line or has a pass,
 * ROOM.OPEN has set anything, or an admission is remembered. */
#include "core/room.h"

#include "base/check.h"
#include "base/siphash.h"
#include "command/room_refresh.h"

void room_let_go(struct core *core, uint32_t index)
{
    line_free(&room_at(core, index)->line, core->memory);
}

void room_check_counts(const struct room *room)
{
    CHECK(room->entry_deadlines.count == room->line.count);
    CHECK(room->pass_deadlines.count == room->passes);
    CHECK(room->note_deadlines.count == room->notes);
    CHECK(room->allowance <= room->rate * 1000);
}

void room_drop(struct core *core, uint32_t index)
{
    const struct room *room = room_at(core, index);

    if (room->line.count == 0 && room->passes == 0 && room->notes == 0 &&
        !room_has_settings(room)) {
        core_forget(core, CORE_ROOMS, index);
    }
}

/* The user's entry in an event's line; NONE if there is none. */
static uint32_t find_entry(struct core *core, struct hf_bytes event, struct hf_bytes user,
                           uint32_t *room)
{
    *room = core_enter(core, CORE_ROOMS, event);
    return *room == NONE ? NONE : core_find(core, CORE_ROOM_ENTRIES, *room, user);
}

/* Counted from 1; 0 as long as it is not drawn. */
static uint32_t position_of(const struct core *core, const struct room *room,
                            const struct room_entry *entry)
{
    return room_is_undrawn(core, room) ? 0 : line_position(&room->line, entry->place);
}

/* ---- joining --------------------------------------------------------------------------------- */

void room_swap(struct core *core, struct room *room, uint32_t place, uint32_t other)
{
    line_swap(&room->line, place, other);
    room_entry_at(core, line_at(&room->line, place))->place = place;
    room_entry_at(core, line_at(&room->line, other))->place = other;
}

/* The one who joined last changes places with anybody in line, or with nobody, all with the same
 * chance: so a line in random order remains in random order. */
static void draw_place(struct core *core, struct room *room, uint32_t place, const uint8_t *entropy)
{
    uint64_t lot = siphash(entropy, "place", 5) % room->line.count;

    room_swap(core, room, place, line_place(&room->line, (uint32_t)lot + 1));
}

static void refuse_twice(const struct core *core, const struct room *room,
                         const struct room_entry *entry, struct reply *reply)
{
    if (room_is_undrawn(core, room)) {
        reply_refuse_with(reply, HF_ALREADY_IN_QUEUE,
                          "in the queue already, one of # whose order is drawn at the start",
                          room->line.count, 0, 0);
    } else {
        reply_refuse_with(reply, HF_ALREADY_IN_QUEUE, "in the queue already, at place # of #",
                          line_position(&room->line, entry->place), room->line.count, 0);
    }
}

/* A new entry at the end of the line; NONE when there is no memory. */
static uint32_t add_entry(struct core *core, uint32_t room_index, struct hf_bytes user)
{
    struct room *room = room_at(core, room_index);
    struct key key = core_key(core, CORE_ROOM_ENTRIES, room_index, user);
    uint32_t index =
        line_reserve(&room->line, core->memory) ? core_add(core, CORE_ROOM_ENTRIES, &key) : NONE;

    if (index != NONE) {
        room_entry_at(core, index)->place = line_join(&room->line, index, 1);
    }
    return index;
}

CORE_COMMAND(room_join)
{
    const struct hf_room_join_args *a = &args->room_join;
    uint32_t room_index, index = find_entry(core, a->event, a->user, &room_index);

    if (index != NONE) {
        refuse_twice(core, room_at(core, room_index), room_entry_at(core, index), reply);
        return;
    }
    int64_t waiting = room_index == NONE ? 0 : room_at(core, room_index)->line.count;
    if (waiting >= a->max) {
        reply_refuse_with(reply, HF_QUEUE_FULL, "# in the queue, at most # allowed", waiting,
                          a->max, 0);
        return;
    }
    room_index = core_obtain(core, CORE_ROOMS, 0, a->event);
    if (room_index == NONE) {
        reply_busy(core, reply);
        return;
    }
    index = add_entry(core, room_index, a->user);
    if (index == NONE) {
        room_drop(core, room_index);
        reply_busy(core, reply);
        return;
    }
    struct room *room = room_at(core, room_index);
    struct room_entry *entry = room_entry_at(core, index);
    memcpy(entry->token, entropy, sizeof entry->token);
    core_arm(core, CORE_ROOM_ENTRIES, index, core->now_ms + a->ttl_ms);
    if (room_is_undrawn(core, room)) {
        draw_place(core, room, entry->place, entropy);
    } else {
        room->record.flags &= (uint8_t)~ROOM_SHUFFLED;
    }
    room_check_counts(room);
    reply_number(reply, position_of(core, room, entry));
    reply_number(reply, room->line.count);
    reply_hex(reply, entry->token);
}

/* ---- in line --------------------------------------------------------------------------------- */

/* The pass of a user who is admitted, for the one who shows the token that ROOM.JOIN answered. */
static void answer_admitted(struct core *core, uint32_t room_index,
                            const struct hf_room_position_args *a, struct reply *reply)
{
    uint32_t index =
        room_index == NONE ? NONE : core_find(core, CORE_ROOM_PASSES, room_index, a->user);
    const struct room_pass *pass = index == NONE ? NULL : room_pass_at(core, index);

    if (pass == NULL || pass->ttl_ms == 0 || !room_is_token(pass->entry_token, a->token)) {
        reply_refuse(reply, HF_NOT_IN_QUEUE, NULL);
        return;
    }
    reply_number(reply, 0);
    reply_number(reply, room_at(core, room_index)->line.count);
    reply_number(reply, 0);
    reply_number(reply, 0);
    reply_number(reply, 0);
    reply_hex(reply, pass->token);
}

CORE_COMMAND(room_position)
{
    const struct hf_room_position_args *a = &args->room_position;
    uint32_t room_index, index = find_entry(core, a->event, a->user, &room_index);
    (void)entropy;

    if (index == NONE) {
        answer_admitted(core, room_index, a, reply);
        return;
    }
    const struct room *room = room_at(core, room_index);
    uint32_t position = position_of(core, room, room_entry_at(core, index));
    int64_t wait_s = room_wait_s(core, room, position != 0 ? position : room->line.count);
    reply_number(reply, position);
    reply_number(reply, room->line.count);
    reply_number(reply, wait_s);
    reply_number(reply, 1);
    reply_number(reply, room_refresh_s(wait_s));
}

/* Out of the line, and gone. */
static void remove_entry(struct core *core, uint32_t index)
{
    uint32_t room = room_entry_at(core, index)->record.scope;

    line_leave(&room_at(core, room)->line, core->memory, room_entry_at(core, index)->place);
    core_forget(core, CORE_ROOM_ENTRIES, index);
    room_check_counts(room_at(core, room));
    room_drop(core, room);
}

CORE_COMMAND(room_leave)
{
    const struct hf_room_leave_args *a = &args->room_leave;
    uint32_t room, index = find_entry(core, a->event, a->user, &room);
    (void)entropy;

    if (index != NONE) {
        remove_entry(core, index);
    }
    reply_number(reply, index != NONE);
}

void room_entry_due(struct core *core, uint32_t index)
{
    core_emit(core, EVENT_QUEUE_ENTRY_LAPSED, CORE_ROOMS, &room_entry_at(core, index)->record, 1);
    remove_entry(core, index);
}
