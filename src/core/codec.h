/* SPDX-License-Identifier: Apache-2.0
 *
 * One description of a record's fields, walked in three ways: written to a snapshot, read back, or
 * summed into a digest. Only reading changes a record: the process that writes a snapshot shares
 * all pages with its parent, and would have to copy each that it wrote to. */
#ifndef CORE_CODEC_H
#define CORE_CODEC_H

#include "core/state.h"

enum codec_mode { CODEC_WRITE, CODEC_READ, CODEC_DIGEST };

struct codec {
    enum codec_mode mode;
    struct core *core;
    struct buffer *out;    /* CODEC_WRITE */
    struct reader *reader; /* CODEC_READ */
    uint64_t version;      /* of the snapshot; in other modes that of this program */
    uint32_t **ordinals;   /* CODEC_WRITE: of each kind, its place among the records by index */
    bool failed;           /* CODEC_READ: damaged, or no memory */
    uint64_t digest;       /* CODEC_DIGEST: of the record so far */
};

#define SNAPSHOT_VERSION 6

/* A number within bounds; out of them, the reading fails. */
void codec_number(struct codec *codec, int64_t *number, int64_t min, int64_t max);
void codec_word(struct codec *codec, uint64_t *word);
void codec_small(struct codec *codec, uint8_t *number, uint8_t max);
void codec_name(struct codec *codec, struct name *name);
void codec_bytes(struct codec *codec, void *bytes, size_t size);

/* A record of `kind`, which was walked before: by its ordinal, or in a digest by its name. NONE
 * only if `optional`. */
void codec_reference(struct codec *codec, enum kind kind, uint32_t *index, bool optional);

/* The fields of a record of a kind, those of struct record apart. */
void codec_fields(struct codec *codec, enum kind kind, void *record);

/* The struct record, then the fields. */
void codec_record(struct codec *codec, enum kind kind, uint32_t index);

/* The line of a semaphore or a room, and the kind of those who stand in it. */
struct line *codec_line(const struct core *core, enum kind kind, uint32_t index);
enum kind codec_member(enum kind kind);

#endif
