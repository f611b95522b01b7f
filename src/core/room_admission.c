/* SPDX-License-Identifier: Apache-2.0
 *
 * Admission to what a waiting room is for: leaving the line and getting the pass is one step, and a
 * pass is a place inside until it ends. There are never more of them than INSIDE allows. */
#include "core/room.h"

#include "base/check.h"
#include "base/siphash.h"

/* ---- from the line to a pass ----------------------------------------------------------------- */

/* The n-th pass of a command: unguessable, and the same when the journal is replayed. */
static void make_pass(const uint8_t *entropy, uint64_t n, uint8_t token[TOKEN_BYTES])
{
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t input[2] = {n, half};
        uint64_t word = siphash(entropy, input, sizeof input);
        memcpy(token + 8 * half, &word, sizeof word);
    }
}

/* The first in line leaves it and gets a pass; its name and the token of its entry go along. Cannot
 * fail after the room for it was reserved. Returns the pass. */
static uint32_t admit_first(struct core *core, uint32_t room_index, int64_t pass_ms,
                            const uint8_t token[TOKEN_BYTES], struct reply *reply)
{
    struct room *room = room_at(core, room_index);
    uint32_t entry = line_first(&room->line);
    uint8_t entry_token[TOKEN_BYTES];

    memcpy(entry_token, room_entry_at(core, entry)->token, sizeof entry_token);
    line_leave(&room->line, core->memory, room_entry_at(core, entry)->place);
    struct key user = store_key(&core->stores[CORE_ROOM_PASSES], room_index,
                                store_take_name(&core->stores[CORE_ROOM_ENTRIES], entry));
    uint32_t index = core_find_key(core, CORE_ROOM_PASSES, &user);
    reply_name(reply, &user.name);
    reply_hex(reply, token);
    if (index == NONE) {
        index = store_adopt(&core->stores[CORE_ROOM_PASSES], &user);
        room_pass_at(core, index)->note = NONE;
        room->passes++;
        CHECK(room->inside_max == 0 || room->passes <= room->inside_max);
    } else {
        room_note_take(core, index);
        name_free(core->memory, &user.name);
    }
    struct room_pass *pass = room_pass_at(core, index);
    memcpy(pass->token, token, TOKEN_BYTES);
    memcpy(pass->entry_token, entry_token, TOKEN_BYTES);
    pass->ttl_ms = (uint32_t)pass_ms;
    core_arm(core, CORE_ROOM_PASSES, index, core->now_ms + pass_ms);
    room_check_counts(room);
    return index;
}

static bool has_place(const struct room *room)
{
    return room->inside_max == 0 || room->passes < room->inside_max;
}

/* Admits up to `most`, as many as INSIDE and START allow, and returns how many they were. Their
 * passes are noted if there is a note. */
static int64_t admit(struct core *core, uint32_t index, uint32_t note, int64_t most,
                     int64_t pass_ms, const uint8_t *entropy, struct reply *reply)
{
    struct room *room = index == NONE ? NULL : room_at(core, index);

    if (room == NULL || room_is_early(core, room)) {
        return 0;
    }
    uint32_t count = room->line.count < ROOM_ADMIT_MAX ? room->line.count : ROOM_ADMIT_MAX;
    count = most < count ? (uint32_t)most : count;
    if (!reply_reserve(reply, count * 2, count * (size_t)(HF_ID_MAX + TOKEN_BYTES * 2)) ||
        !store_reserve(&core->stores[CORE_ROOM_PASSES], count)) {
        reply_busy(core, reply);
        return 0;
    }
    uint32_t admitted = 0;
    for (; admitted < count && has_place(room); admitted++) {
        uint8_t token[TOKEN_BYTES];
        make_pass(entropy, admitted, token);
        uint32_t pass = admit_first(core, index, pass_ms, token, reply);
        if (note != NONE) {
            room_note_put(core, note, pass);
        }
    }
    room->admitted += room_has_settings(room) ? admitted : 0;
    return admitted;
}

CORE_COMMAND(room_admit)
{
    const struct hf_room_admit_args *a = &args->room_admit;
    uint32_t index = core_enter(core, CORE_ROOMS, a->event), note = NONE;

    if (a->id.size > 0) {
        if (room_note_answers(core, index, a, reply)) {
            return;
        }
        index = core_obtain(core, CORE_ROOMS, 0, a->event);
        note = index == NONE ? NONE : room_note_add(core, index, a);
        if (note == NONE) {
            reply_busy(core, reply);
            if (index != NONE) {
                room_drop(core, index);
            }
            return;
        }
    }
    int64_t pass_ms =
        a->pass_ms != 0 || index == NONE ? a->pass_ms : room_pass_ms(room_at(core, index));
    admit(core, index, note, a->count, pass_ms, entropy, reply);
    if (note != NONE && reply->code != HF_OK) {
        core_forget(core, CORE_ROOM_NOTES, note);
    }
}

CORE_COMMAND(room_tick)
{
    uint32_t index = core_enter(core, CORE_ROOMS, args->room_tick.event);
    struct room *room = index == NONE ? NULL : room_at(core, index);

    if (room == NULL || room->record.flags & ROOM_PAUSED ||
        (args->room_tick.limited && room->rate == 0 && room->inside_max == 0)) {
        return;
    }
    int64_t most = room_allowance(core, room);
    int64_t admitted = admit(core, index, NONE, most, room_pass_ms(room), entropy, reply);
    room_spend(core, room, admitted);
    room_check_counts(room);
}

/* ---- passes ---------------------------------------------------------------------------------- */

bool room_is_token(const uint8_t token[TOKEN_BYTES], struct hf_bytes hex)
{
    static const char digits[] = "0123456789abcdef";
    unsigned differs = 0;

    if (hex.size != TOKEN_BYTES * 2) {
        return false;
    }
    /* All bytes are compared whatever they are, so that the time taken tells nothing. */
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
    uint32_t index = room == NONE ? NONE : core_find(core, CORE_ROOM_PASSES, room, a->user);
    bool valid = index != NONE && room_is_token(room_pass_at(core, index)->token, a->pass);
    (void)entropy;

    if (valid && a->renew) {
        uint32_t ttl_ms = room_pass_at(core, index)->ttl_ms;
        core_arm(core, CORE_ROOM_PASSES, index,
                 core->now_ms + (ttl_ms != 0 ? ttl_ms : room_pass_ms(room_at(core, room))));
    }
    reply_number(reply, valid);
}

CORE_COMMAND(room_done)
{
    const struct hf_room_done_args *a = &args->room_done;
    uint32_t room = core_enter(core, CORE_ROOMS, a->event);
    uint32_t index = room == NONE ? NONE : core_find(core, CORE_ROOM_PASSES, room, a->user);
    (void)entropy;

    if (index != NONE) {
        core_forget(core, CORE_ROOM_PASSES, index);
    }
    reply_number(reply, index != NONE);
}

void room_pass_due(struct core *core, uint32_t index)
{
    core_emit(core, EVENT_PASS_LAPSED, CORE_ROOMS, &room_pass_at(core, index)->record, 1);
    core_forget(core, CORE_ROOM_PASSES, index);
}

void room_pass_let_go(struct core *core, uint32_t index)
{
    uint32_t room = room_pass_at(core, index)->record.scope;

    room_note_take(core, index);
    room_at(core, room)->passes--;
    room_drop(core, room);
}

/* ---- seats ----------------------------------------------------------------------------------- */

/* The user's pass in an event, unless its deadline has passed. Expires nothing: that takes as long
 * as there are others whose deadline has passed, and this is asked for by commands on seats. */
static uint32_t find_pass(struct core *core, struct hf_bytes event, struct name user)
{
    uint32_t room = core_find_recent(core, CORE_ROOMS, 0, event);
    struct key key = store_key(&core->stores[CORE_ROOM_PASSES], room, user);
    uint32_t index = room == NONE ? NONE : core_find_key(core, CORE_ROOM_PASSES, &key);

    return index != NONE && room_pass_at(core, index)->timer.deadline_ms > core->now_ms ? index
                                                                                        : NONE;
}

bool room_lets_reserve(struct core *core, const struct hf_seats_reserve_args *args,
                       struct reply *reply)
{
    uint32_t room = core->gates == 0 ? NONE : core_find_recent(core, CORE_ROOMS, 0, args->event);

    if (room == NONE || !(room_at(core, room)->record.flags & ROOM_GATE)) {
        return true;
    }
    uint32_t index = find_pass(core, args->event, name_view(args->user));
    if (index != NONE && room_is_token(room_pass_at(core, index)->token, args->pass)) {
        return true;
    }
    reply_refuse_texts(reply, HF_NOT_ADMITTED,
                       args->pass.size == 0
                           ? "event @ is entered through its waiting room: PASS is missing, which "
                             "admission gives to user @"
                           : "event @ is entered through its waiting room: PASS is not the pass of "
                             "user @, or no longer valid",
                       args->event, args->user);
    return false;
}

void room_confirmed(struct core *core, struct hf_bytes event, const struct name *user)
{
    uint32_t index = NONE;

    if (core->stores[CORE_ROOM_PASSES].slab.count > 0) {
        index = find_pass(core, event, *user);
    }
    if (index != NONE &&
        room_has_settings(room_at(core, room_pass_at(core, index)->record.scope))) {
        core_forget(core, CORE_ROOM_PASSES, index);
    }
}
