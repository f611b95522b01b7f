/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting room: a line per event, and passes for those admitted. Leaving the line and getting the
 * pass is one step. A room exists while a user is in line or has a pass. */
#include "base/check.h"
#include "base/siphash.h"
#include "core/state.h"

static struct room *room_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ROOMS, index);
}

static struct room_entry *entry_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ROOM_ENTRIES, index);
}

static struct room_pass *pass_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ROOM_PASSES, index);
}

void room_let_go(struct core *core, uint32_t index)
{
    line_free(&room_at(core, index)->line, core->memory);
}

/* What must be true of a room after every change: all in line and all passes have an end. */
static void room_count_check(const struct room *room)
{
    CHECK(room->entry_deadlines.count == room->line.count);
    CHECK(room->pass_deadlines.count == room->passes);
}

static void drop_room(struct core *core, uint32_t index)
{
    const struct room *room = room_at(core, index);

    if (room->line.count == 0 && room->passes == 0) {
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

static void answer_position(struct reply *reply, const struct room *room,
                            const struct room_entry *entry)
{
    reply_number(reply, line_position(&room->line, entry->place));
    reply_number(reply, room->line.count);
}

CORE_COMMAND(room_join)
{
    const struct hf_room_join_args *a = &args->room_join;
    uint32_t room_index, index = find_entry(core, a->event, a->user, &room_index);

    if (index != NONE) {
        const struct room *room = room_at(core, room_index);
        reply_refuse_with(reply, HF_ALREADY_IN_QUEUE, "in the queue already, at place # of #",
                          line_position(&room->line, entry_at(core, index)->place),
                          room->line.count, 0);
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
    struct room *room = room_at(core, room_index);
    struct key key = core_key(core, CORE_ROOM_ENTRIES, room_index, a->user);
    if (line_reserve(&room->line, core->memory)) {
        index = core_add(core, CORE_ROOM_ENTRIES, &key);
    }
    if (index == NONE) {
        drop_room(core, room_index);
        reply_busy(core, reply);
        return;
    }
    struct room_entry *entry = entry_at(core, index);
    memcpy(entry->token, entropy, sizeof entry->token);
    entry->place = line_join(&room->line, index);
    core_arm(core, CORE_ROOM_ENTRIES, index, core->now_ms + a->ttl_ms);
    room_count_check(room);
    answer_position(reply, room, entry);
    reply_hex(reply, entry->token);
}

CORE_COMMAND(room_position)
{
    const struct hf_room_position_args *a = &args->room_position;
    uint32_t room, index = find_entry(core, a->event, a->user, &room);
    (void)entropy;

    if (index == NONE) {
        reply_refuse(reply, HF_NOT_IN_QUEUE, NULL);
        return;
    }
    answer_position(reply, room_at(core, room), entry_at(core, index));
}

/* Out of the line, and gone. */
static void remove_entry(struct core *core, uint32_t index)
{
    uint32_t room = entry_at(core, index)->record.scope;

    line_leave(&room_at(core, room)->line, core->memory, entry_at(core, index)->place);
    core_forget(core, CORE_ROOM_ENTRIES, index);
    room_count_check(room_at(core, room));
    drop_room(core, room);
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

/* ---- admission ------------------------------------------------------------------------------- */

/* The n-th pass of an ADMIT: unguessable, and the same when the journal is replayed. */
static void make_pass(const uint8_t *entropy, uint64_t n, uint8_t token[TOKEN_BYTES])
{
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t input[2] = {n, half};
        uint64_t word = siphash(entropy, input, sizeof input);
        memcpy(token + 8 * half, &word, sizeof word);
    }
}

/* The first in line leaves it and gets a pass; its name goes along. Cannot fail after the room for
 * it was reserved. */
static void admit_first(struct core *core, uint32_t room_index, int64_t deadline_ms,
                        const uint8_t token[TOKEN_BYTES], struct reply *reply)
{
    struct room *room = room_at(core, room_index);
    uint32_t entry = line_first(&room->line);

    line_leave(&room->line, core->memory, entry_at(core, entry)->place);
    struct key user = store_key(&core->stores[CORE_ROOM_PASSES], room_index,
                                store_take_name(&core->stores[CORE_ROOM_ENTRIES], entry));
    uint32_t pass = core_find_key(core, CORE_ROOM_PASSES, &user);
    reply_name(reply, &user.name);
    reply_hex(reply, token);
    if (pass == NONE) {
        pass = store_adopt(&core->stores[CORE_ROOM_PASSES], &user);
        room->passes++;
    } else {
        name_free(core->memory, &user.name);
    }
    memcpy(pass_at(core, pass)->token, token, TOKEN_BYTES);
    core_arm(core, CORE_ROOM_PASSES, pass, deadline_ms);
    room_count_check(room);
}

CORE_COMMAND(room_admit)
{
    const struct hf_room_admit_args *a = &args->room_admit;
    uint32_t room = core_enter(core, CORE_ROOMS, a->event);
    uint32_t count = room == NONE ? 0 : room_at(core, room)->line.count;

    count = count < ROOM_ADMIT_MAX ? count : ROOM_ADMIT_MAX;
    count = a->count < count ? (uint32_t)a->count : count;
    if (!reply_reserve(reply, count * 2, count * (size_t)(HF_ID_MAX + TOKEN_BYTES * 2)) ||
        !store_reserve(&core->stores[CORE_ROOM_PASSES], count)) {
        reply_busy(core, reply);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t token[TOKEN_BYTES];
        make_pass(entropy, i, token);
        admit_first(core, room, core->now_ms + a->pass_ms, token, reply);
    }
}

/* Compares all bytes whatever they are, so that the time taken tells nothing. */
static bool is_token(const uint8_t token[TOKEN_BYTES], struct hf_bytes hex)
{
    static const char digits[] = "0123456789abcdef";
    unsigned differs = 0;

    if (hex.size != TOKEN_BYTES * 2) {
        return false;
    }
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        differs |= (unsigned)(hex.data[2 * i] ^ digits[token[i] >> 4]);
        differs |= (unsigned)(hex.data[2 * i + 1] ^ digits[token[i] & 15]);
    }
    return differs == 0;
}

CORE_COMMAND(room_check)
{
    const struct hf_room_check_args *a = &args->room_check;
    uint32_t room = core_enter(core, CORE_ROOMS, a->event);
    uint32_t pass = room == NONE ? NONE : core_find(core, CORE_ROOM_PASSES, room, a->user);
    (void)entropy;

    reply_number(reply, pass != NONE && is_token(pass_at(core, pass)->token, a->pass));
}

/* ---- deadlines ------------------------------------------------------------------------------- */

void room_entry_due(struct core *core, uint32_t index)
{
    core_emit(core, EVENT_QUEUE_ENTRY_LAPSED, CORE_ROOMS, &entry_at(core, index)->record, 1);
    remove_entry(core, index);
}

void room_pass_due(struct core *core, uint32_t index)
{
    core_emit(core, EVENT_PASS_LAPSED, CORE_ROOMS, &pass_at(core, index)->record, 1);
    core_forget(core, CORE_ROOM_PASSES, index);
}

void room_pass_let_go(struct core *core, uint32_t index)
{
    uint32_t room = pass_at(core, index)->record.scope;

    room_at(core, room)->passes--;
    drop_room(core, room);
}
