/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole state as bytes, back again, and as one number.
 *
 *     magic      8 bytes "HOLDFAST"
 *     version    varint, SNAPSHOT_VERSION
 *     time, last fence           zigzag varints
 *     last ticket                varint
 *     for each kind, in the order of enum kind:
 *         count                  varint
 *         record                 as many: index (varint, less the one before and 1), scope (zigzag
 *                                varint), state, flags, marks (zigzag varints), deadline in ms or 0
 *                                (zigzag varint), name unless hidden, the fields of the kind
 * (codec.c) closed                 varint count, then the indexes, oldest first for each semaphore,
 * then for each room, in the order of their indexes: line                   varint count, then the
 * indexes of those in line, in order crc32c                     4 bytes, little-endian, over all
 * before
 *
 * A valid snapshot
 *   1. has the magic, a known version and the right checksum, and ends behind it,
 *   2. names in every reference a record of the right kind that stands before,
 *   3. has every number within its bounds,
 *   4. passes the audit: every total agrees with the records.
 *
 * Records come back under the indexes they had. What can be counted from the records (references,
 * slots in use) is counted, not stored. */
#include "base/check.h"
#include "base/crc32c.h"
#include "core/codec.h"

#define SNAPSHOT_VERSION 1

static const char magic[8] = "HOLDFAST";

/* The struct record, then the fields. */
static void walk_record(struct codec *codec, enum kind kind, uint32_t index)
{
    struct record *record = core_at(codec->core, kind, index);
    struct name name = record_name(record);

    if (kinds[kind].parent != NO_KIND) {
        codec_reference(codec, kinds[kind].parent, &record->scope, false);
    }
    codec_small(codec, &record->state, BOOKING_LAPSED);
    codec_small(codec, &record->flags, 1);
    codec_small(codec, &record->marks, RECORD_HIDDEN | RECORD_CLOSED);
    codec_number(codec, &record->timer.deadline_ms, 0, HF_INTEGER_MAX >> 6);
    if (!(record->marks & RECORD_HIDDEN) && !codec->failed) {
        codec_name(codec, &name);
        record->name_words[0] = name.words[0];
        record->name_words[1] = name.words[1];
        record->name_kind = name.kind;
    }
    if (!codec->failed) {
        codec_fields(codec, kind, record);
    }
}

static struct line *line_of(const struct core *core, enum kind kind, uint32_t index)
{
    return kind == SEMAPHORES ? &((struct semaphore *)core_at(core, kind, index))->line
                              : &((struct room *)core_at(core, kind, index))->line;
}

/* ---- writing -------------------------------------------------------------------------------------- */

static void write_kind(struct codec *codec, enum kind kind)
{
    const struct store *store = &codec->core->stores[kind];
    uint32_t last = NONE, at = store->closed;

    buffer_varint(codec->out, store->slab.count);
    for (uint32_t i = slab_next(&store->slab, 0); i != NONE; i = slab_next(&store->slab, i + 1)) {
        buffer_varint(codec->out, i - last - 1);
        walk_record(codec, kind, i);
        last = i;
    }
    buffer_varint(codec->out, store->closed_count);
    for (uint32_t i = 0; i < store->closed_count; i++) {
        buffer_varint(codec->out, at);
        at = ((struct record *)store_at(store, at))->timer.next;
    }
}

static void write_lines(struct codec *codec, enum kind kind)
{
    const struct slab *slab = &codec->core->stores[kind].slab;

    for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
        const struct line *line = line_of(codec->core, kind, i);
        uint32_t place = 0, index;
        buffer_varint(codec->out, line->count);
        while ((index = line_walk(line, &place)) != NONE) {
            buffer_varint(codec->out, index);
        }
    }
}

bool core_snapshot(struct core *core, struct buffer *out)
{
    struct codec codec = {.mode = CODEC_WRITE, .core = core, .out = out};
    size_t start = out->size;

    buffer_bytes(out, magic, sizeof magic);
    buffer_varint(out, SNAPSHOT_VERSION);
    buffer_signed(out, core->now_ms);
    buffer_signed(out, core->fence);
    buffer_varint(out, core->ticket);
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        write_kind(&codec, kind);
    }
    write_lines(&codec, SEMAPHORES);
    write_lines(&codec, ROOMS);
    if (out->failed) {
        return false;
    }
    uint32_t crc = crc32c(0, out->data + start, out->size - start);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        buffer_byte(out, (uint8_t)(crc >> shift));
    }
    return !out->failed;
}

/* ---- reading -------------------------------------------------------------------------------------- */

/* Puts the timer or the list of the closed in order again. The deadline was read into the record.
 */
static void rearm(struct codec *codec, enum kind kind, uint32_t index)
{
    struct record *record = core_at(codec->core, kind, index);
    int64_t deadline_ms = record->timer.deadline_ms;

    if (deadline_ms == 0 || record->marks & RECORD_CLOSED) {
        return;
    }
    if (kinds[kind].due == NULL) {
        codec->failed = true;
        return;
    }
    record->timer.deadline_ms = 0;
    core_arm(codec->core, kind, index, deadline_ms);
}

static void read_closed(struct codec *codec, enum kind kind)
{
    struct store *store = &codec->core->stores[kind];
    uint64_t count = reader_varint(&codec->reader);

    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t index = reader_varint(&codec->reader);
        if (codec->reader.failed || index >= RECORDS_MAX ||
            !slab_has(&store->slab, (uint32_t)index)) {
            codec->failed = true;
            return;
        }
        struct record *record = store_at(store, (uint32_t)index);
        int64_t until_ms = record->timer.deadline_ms;
        if (!(record->marks & RECORD_CLOSED) || until_ms == 0) {
            codec->failed = true;
            return;
        }
        record->timer.deadline_ms = 0;
        store_close(store, (uint32_t)index, until_ms);
        codec->core->next_due_ms = 0; /* found out at the first chance */
    }
}

static void read_kind(struct codec *codec, enum kind kind)
{
    struct store *store = &codec->core->stores[kind];
    uint64_t count = reader_varint(&codec->reader);
    uint64_t index = UINT64_MAX; /* one before the first */

    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t skip = reader_varint(&codec->reader);
        index += skip + 1;
        if (codec->reader.failed || skip > RECORDS_MAX || index >= RECORDS_MAX ||
            !store_restore_at(store, (uint32_t)index)) {
            codec->failed = true;
            return;
        }
        walk_record(codec, kind, (uint32_t)index);
        if (!codec->failed) {
            struct record *record = store_at(store, (uint32_t)index);
            codec->failed = !(record->marks & RECORD_HIDDEN) && !store_link(store, (uint32_t)index);
        }
        if (!codec->failed) {
            rearm(codec, kind, (uint32_t)index);
        }
    }
    codec->failed |= codec->reader.failed;
    if (!codec->failed) {
        store_restore_end(store);
        read_closed(codec, kind);
    }
}

static void read_line(struct codec *codec, enum kind kind, uint32_t owner)
{
    struct core *core = codec->core;
    enum kind member_kind = kind == SEMAPHORES ? SEM_CLIENTS : ROOM_ENTRIES;
    line_moved *moved = kind == SEMAPHORES ? sem_client_moved : room_entry_moved;
    struct line *line = line_of(core, kind, owner);
    uint64_t count = reader_varint(&codec->reader);

    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t index = reader_varint(&codec->reader);
        if (codec->reader.failed || index >= RECORDS_MAX ||
            !slab_has(&core->stores[member_kind].slab, (uint32_t)index) ||
            ((struct record *)core_at(core, member_kind, (uint32_t)index))->scope != owner ||
            !line_reserve(line, core->memory, moved, core)) {
            codec->failed = true;
            return;
        }
        moved(core, (uint32_t)index, line_join(line, (uint32_t)index));
    }
}

static void read_lines(struct codec *codec, enum kind kind)
{
    const struct slab *slab = &codec->core->stores[kind].slab;

    for (uint32_t i = slab_next(slab, 0); i != NONE && !codec->failed; i = slab_next(slab, i + 1)) {
        read_line(codec, kind, i);
    }
}

static bool checksum_right(struct hf_bytes snapshot)
{
    uint32_t stored = 0;

    if (snapshot.size < sizeof magic + 4 || memcmp(snapshot.data, magic, sizeof magic) != 0) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        stored |= (uint32_t)(uint8_t)snapshot.data[snapshot.size - 4 + i] << (8 * i);
    }
    return crc32c(0, snapshot.data, snapshot.size - 4) == stored;
}

static void read_all(struct codec *codec)
{
    struct core *core = codec->core;

    codec_number(codec, &core->now_ms, 0, HF_INTEGER_MAX >> 6);
    codec_number(codec, &core->fence, 0, HF_INTEGER_MAX);
    codec_word(codec, &core->ticket);
    for (enum kind kind = 0; kind < KIND_COUNT && !codec->failed; kind++) {
        read_kind(codec, kind);
    }
    if (!codec->failed) {
        read_lines(codec, SEMAPHORES);
    }
    if (!codec->failed) {
        read_lines(codec, ROOMS);
    }
    codec->failed |= codec->reader.failed || reader_left(&codec->reader) != 0;
}

/* A half-read core is taken apart without following its references. */
static void discard(struct core *core)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        struct slab *slab = &core->stores[kind].slab;
        for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
            if (kind == SEMAPHORES || kind == LOCKS || kind == ORDERS || kind == ROOMS ||
                kind == IDEM_KEYS) {
                kinds[kind].let_go(core, i);
            }
        }
        store_free(&core->stores[kind]);
    }
    for (uint32_t i = slab_next(&core->sales, 0); i != NONE; i = slab_next(&core->sales, i + 1)) {
        name_free(core->memory, &((struct sale *)slab_at(&core->sales, i))->payment);
    }
    slab_free(&core->sales);
    core_destroy(core);
}

struct core *core_restore(struct memory *memory, const uint64_t seed[2], struct hf_bytes snapshot,
                          struct problem *problem)
{
    struct codec codec = {.mode = CODEC_READ};

    if (!checksum_right(snapshot)) {
        problem_set(problem, HF_IOERR, "not a snapshot, or damaged: the checksum is wrong");
        return NULL;
    }
    reader_init(&codec.reader, snapshot.data + sizeof magic, snapshot.size - sizeof magic - 4);
    uint64_t version = reader_varint(&codec.reader);
    if (version != SNAPSHOT_VERSION) {
        problem_set(problem, HF_IOERR, "the snapshot is of version %llu; this program reads %d",
                    (unsigned long long)version, SNAPSHOT_VERSION);
        return NULL;
    }
    codec.core = core_create(memory, seed);
    if (codec.core == NULL) {
        problem_set(problem, HF_BUSY, "out of memory");
        return NULL;
    }
    read_all(&codec);
    if (codec.failed || core_audit(codec.core, NULL, NULL) != 0) {
        problem_set(problem, HF_IOERR,
                    "the snapshot is damaged at byte %zu of %zu, or memory ran out",
                    (size_t)(codec.reader.at - (const uint8_t *)snapshot.data), snapshot.size);
        discard(codec.core);
        return NULL;
    }
    return codec.core;
}

/* ---- digest --------------------------------------------------------------------------------------- */

/* Those in line, in order, with the name of what they stand in line for. */
static uint64_t line_digest(struct codec *codec, enum kind kind, uint32_t owner)
{
    enum kind member_kind = kind == SEMAPHORES ? SEM_CLIENTS : ROOM_ENTRIES;
    const struct line *line = line_of(codec->core, kind, owner);
    uint32_t place = 0, index;

    codec->digest = KIND_COUNT + (uint64_t)kind;
    codec_reference(codec, kind, &owner, false);
    while ((index = line_walk(line, &place)) != NONE) {
        codec_reference(codec, member_kind, &index, false);
    }
    return codec->digest;
}

/* The sum over the records and the lines, so that the order of the records does not matter. */
uint64_t core_digest(struct core *core)
{
    struct codec codec = {.mode = CODEC_DIGEST, .core = core};

    codec_number(&codec, &core->now_ms, 0, 0);
    codec_number(&codec, &core->fence, 0, 0);
    codec_word(&codec, &core->ticket);
    uint64_t total = codec.digest;
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct slab *slab = &core->stores[kind].slab;
        for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
            codec.digest = kind;
            walk_record(&codec, kind, i);
            total += codec.digest;
            if (kind == SEMAPHORES || kind == ROOMS) {
                total += line_digest(&codec, kind, i);
            }
        }
    }
    return total;
}
