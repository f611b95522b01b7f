/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of waiting rooms share: room.c has the line, room_admission.c the passes,
 * room_note.c what is remembered of an admission, room_settings.c what ROOM.OPEN sets. */
#ifndef CORE_ROOM_H
#define CORE_ROOM_H

#include "core/state.h"

static inline struct room *room_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ROOMS, index);
}

static inline struct room_entry *room_entry_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ROOM_ENTRIES, index);
}

static inline struct room_pass *room_pass_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ROOM_PASSES, index);
}

static inline struct room_note *room_note_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ROOM_NOTES, index);
}

/* Is START still to come? */
static inline bool room_is_early(const struct core *core, const struct room *room)
{
    return room->start_ms > core->now_ms;
}

/* Is the order of the line still to be drawn, so that nobody has a position in it? */
static inline bool room_is_undrawn(const struct core *core, const struct room *room)
{
    return room->record.flags & ROOM_RANDOM && room_is_early(core, room);
}

/* What must be true of a room after every change. */
void room_check_counts(const struct room *room);

/* Forgets a room that nobody is in line for or inside of, and that has no settings and no notes. */
void room_drop(struct core *core, uint32_t index);

/* Has ROOM.OPEN set anything that differs from the defaults? */
bool room_has_settings(const struct room *room);

/* How long a pass of this room is valid unless a command says otherwise. */
int64_t room_pass_ms(const struct room *room);

/* Users that RATE allows now, and takes `count` of them off. */
int64_t room_allowance(const struct core *core, const struct room *room);
void room_spend(const struct core *core, struct room *room, int64_t count);

/* How long the one at a place of the line waits, in seconds; -1 if the settings do not tell. */
int64_t room_wait_s(const struct core *core, const struct room *room, int64_t place);

/* Compares a secret with its text in hex. */
bool room_is_token(const uint8_t token[TOKEN_BYTES], struct hf_bytes hex);

/* Answers a ROOM.ADMIT whose id is known, and returns whether it was. */
bool room_note_answers(struct core *core, uint32_t room, const struct hf_room_admit_args *args,
                       struct reply *reply);
/* A note of a ROOM.ADMIT whose id is not known; NONE when there is no memory. */
uint32_t room_note_add(struct core *core, uint32_t room, const struct hf_room_admit_args *args);
/* Puts a pass at the end of a note's list, and takes one out of the list that it is in, if any. */
void room_note_put(struct core *core, uint32_t index, uint32_t pass_index);
void room_note_take(struct core *core, uint32_t pass_index);

/* Exchanges the places of two entries of a line. */
void room_swap(struct core *core, struct room *room, uint32_t place, uint32_t other);

#endif
