/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole state as one number. */
#include "core/codec.h"
#include "core/room.h"

/* Those in line, in order, with the name of what they stand in line for. */
static uint64_t line_digest(struct codec *codec, enum kind kind, uint32_t owner)
{
    enum kind member_kind = codec_member(kind);
    const struct line *line = codec_line(codec->core, kind, owner);
    uint32_t place = line_start(line), index;

    codec->digest = CORE_KIND_COUNT + (uint64_t)kind;
    codec_reference(codec, kind, &owner, false);
    while ((index = line_walk(line, &place)) != NONE) {
        codec_reference(codec, member_kind, &index, false);
    }
    return codec->digest;
}

/* The passes of an admission, in order, with its own name and its room's. */
static uint64_t note_digest(struct codec *codec, uint32_t index)
{
    const struct room_note *note = room_note_at(codec->core, index);
    uint32_t room = note->record.scope;

    codec->digest = CORE_KIND_COUNT + (uint64_t)CORE_ROOM_NOTES;
    codec_reference(codec, CORE_ROOMS, &room, false);
    codec_reference(codec, CORE_ROOM_NOTES, &index, false);
    for (uint32_t i = note->first; i != NONE; i = room_pass_at(codec->core, i)->note_next) {
        codec_reference(codec, CORE_ROOM_PASSES, &i, false);
    }
    return codec->digest;
}

/* The sum over the records and the lines, so that the order of the records does not matter. */
uint64_t core_digest(struct core *core)
{
    struct codec codec = {.mode = CODEC_DIGEST, .core = core, .version = SNAPSHOT_VERSION};

    core_settle(core);
    codec_number(&codec, &core->latest_ms, 0, 0);
    codec_number(&codec, &core->fence, 0, 0);
    codec_word(&codec, &core->ticket);
    uint64_t total = codec.digest;
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        const struct slab *slab = &core->stores[kind].slab;
        for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
            codec.digest = kind;
            codec_record(&codec, kind, i);
            total += codec.digest;
            if (kind == CORE_SEMAPHORES || kind == CORE_ROOMS) {
                total += line_digest(&codec, kind, i);
            } else if (kind == CORE_ROOM_NOTES) {
                total += note_digest(&codec, i);
            }
        }
    }
    return total;
}
