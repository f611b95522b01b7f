/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes of ROOM.ADMIT: a command with an id leaves one for the retry window, so that the same
 * command again is answered with the same users and passes, and admits nobody. A note is the head
 * of a list of the passes it gave, in their order; a pass that ends leaves the list, and so does
 * one in whose place the user gets another. */
#include "core/room.h"

#include "base/check.h"

/* What must be true of a note after every change. */
static void room_note_check(const struct core *core, const struct room_note *note)
{
    CHECK(note->passes <= note->count);
    CHECK((note->first == NONE) == (note->passes == 0));
    CHECK((note->last == NONE) == (note->passes == 0));
    CHECK(note->passes <= room_at(core, note->record.scope)->passes);
}

/* What counts of the command's count, and what two commands are compared by. */
static int64_t counted(const struct hf_room_admit_args *args)
{
    return args->count < ROOM_ADMIT_MAX ? args->count : ROOM_ADMIT_MAX;
}

/* ---- passes ---------------------------------------------------------------------------------- */

void room_note_put(struct core *core, uint32_t index, uint32_t pass_index)
{
    struct room_note *note = room_note_at(core, index);
    struct room_pass *pass = room_pass_at(core, pass_index);

    CHECK(pass->note == NONE && pass->record.scope == note->record.scope);
    pass->note = index;
    pass->note_next = NONE;
    pass->note_previous = note->last;
    if (note->last == NONE) {
        note->first = pass_index;
    } else {
        room_pass_at(core, note->last)->note_next = pass_index;
    }
    note->last = pass_index;
    note->passes++;
    room_note_check(core, note);
}

void room_note_take(struct core *core, uint32_t pass_index)
{
    struct room_pass *pass = room_pass_at(core, pass_index);

    if (pass->note == NONE) {
        return;
    }
    struct room_note *note = room_note_at(core, pass->note);
    if (pass->note_previous == NONE) {
        note->first = pass->note_next;
    } else {
        room_pass_at(core, pass->note_previous)->note_next = pass->note_next;
    }
    if (pass->note_next == NONE) {
        note->last = pass->note_previous;
    } else {
        room_pass_at(core, pass->note_next)->note_previous = pass->note_previous;
    }
    note->passes--;
    pass->note = NONE;
    room_note_check(core, note);
}

/* ---- coming, answering and going ------------------------------------------------------------- */

uint32_t room_note_add(struct core *core, uint32_t room, const struct hf_room_admit_args *args)
{
    uint32_t index = core_obtain(core, CORE_ROOM_NOTES, room, args->id);

    if (index != NONE) {
        struct room_note *note = room_note_at(core, index);
        note->count = counted(args);
        note->pass_ms = args->pass_ms;
        note->first = note->last = NONE;
        room_at(core, room)->notes++;
        core_arm(core, CORE_ROOM_NOTES, index, core->now_ms + RETRY_WINDOW_MS);
        room_note_check(core, note);
    }
    return index;
}

static void answer_again(struct core *core, const struct room_note *note, struct reply *reply)
{
    if (!reply_reserve(reply, note->passes * 2,
                       note->passes * (size_t)(HF_ID_MAX + TOKEN_BYTES * 2))) {
        reply_busy(core, reply);
        return;
    }
    for (uint32_t i = note->first; i != NONE; i = room_pass_at(core, i)->note_next) {
        struct name user = record_name(&room_pass_at(core, i)->record);
        reply_name(reply, &user);
        reply_hex(reply, room_pass_at(core, i)->token);
    }
}

bool room_note_answers(struct core *core, uint32_t room, const struct hf_room_admit_args *args,
                       struct reply *reply)
{
    uint32_t index = room == NONE ? NONE : core_find(core, CORE_ROOM_NOTES, room, args->id);

    if (index == NONE) {
        return false;
    }
    const struct room_note *note = room_note_at(core, index);
    if (note->count != counted(args)) {
        reply_refuse_with(reply, HF_INVALID_STATE, "the id was used with count #, not #" ANOTHER_ID,
                          note->count, counted(args), 0);
    } else if (note->pass_ms != args->pass_ms) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the id was used with PASS # ms, not # ms" ANOTHER_ID, note->pass_ms,
                          args->pass_ms, 0);
    } else {
        answer_again(core, note, reply);
    }
    return true;
}

void room_note_due(struct core *core, uint32_t index)
{
    core_forget(core, CORE_ROOM_NOTES, index);
}

void room_note_let_go(struct core *core, uint32_t index)
{
    struct room_note *note = room_note_at(core, index);
    uint32_t room = note->record.scope;

    while (note->first != NONE) {
        room_note_take(core, note->first);
    }
    room_at(core, room)->notes--;
    room_drop(core, room);
}
