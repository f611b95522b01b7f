/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole state as bytes, back again, and as one number.
 *
 * Sizes are in bytes; v is a varint and z a zigzag varint (base/buffer.h); past offset 9
 * nothing is at a fixed offset.
 *
 *     offset  size
 *          0     8   magic "HOLDFAST"
 *          8     v   version, SNAPSHOT_VERSION
 *          9     z   time in ms
 *                z   last fence
 *                v   last ticket
 *               16   boot of the last run; not in version 1
 *                z   offset of the last run's clock; not in version 1
 *                    for each kind, by its number in enum kind, users of stock before orders:
 *                v       number of records
 *                        that many records, see below
 *                v       number of closed records
 *                v       the ordinal of each, oldest first
 *                    for each semaphore, then for each room, in their order above:
 *                v       number of those in line
 *                v       the ordinal of each, the first in line first
 *                    for each admission that is remembered, since version 5:
 *                v       number of its passes that are left
 *                v       the ordinal of each, in the order of admission
 *                4   crc32c, little-endian, over all before
 *
 * Record:
 *
 *                z   scope: ordinal of a record of the parent kind; not in kinds without a parent
 *                z   state, as the family defines
 *                z   flags, as the family defines
 *                z   marks, enum record_mark
 *                z   deadline in ms, or 0
 *                    name, unless it is hidden (codec_name())
 *                v   place in the roster, of an open record of a kind that has one; since version 4
 *                    fields of the kind (codec_fields())
 *
 * A snapshot is valid if it
 *   1. has the magic, a known version and the right checksum, and ends behind it,
 *   2. names in every reference a record of the right kind that stands before,
 *   3. has every number within its bounds,
 *   4. passes the audit: every total agrees with the records.
 *
 * A record is referred to by its ordinal: how many of its kind stand before it. What can be
 * counted from the records (references, slots in use) is counted, not stored. */
#include "base/check.h"
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "core/codec.h"
#include "core/room.h"

/* Former versions: 5 has nothing of what tenants committed lately, 4 remembers no admissions, 3 is
 * the last with the first vocabulary, 2 has no holds that were extended, 1 nothing of runs. What
 * a record has only since a later version, codec_fields() leaves at its default when it reads
 * them. */
#define VERSION_WITHOUT_RUN 1

static const char magic[8] = "HOLDFAST";

/* Where an open record stands in the roster of its scope. Before version 4 there were none: places
 * are given in order. A record that goes when time allows may have another place after a replay. */
static void walk_place(struct codec *codec, enum kind kind, uint32_t index)
{
    struct store *store = &codec->core->stores[kind];
    const struct record *record = store_at(store, index);
    bool open = !(record->marks & (RECORD_HIDDEN | RECORD_CLOSED));

    if (store->place_offset == 0 || (codec->mode == CODEC_DIGEST && kinds[kind].loose)) {
        return;
    }
    int64_t place = *store_place(store, record);
    if (open && codec->version >= 4) {
        codec_number(codec, &place, 0, RECORDS_MAX);
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        bool given = open && codec->version >= 4;
        codec->failed = !store_relist(store, index, given ? (uint32_t)place : NONE);
    }
}

/* The struct record, then the fields. */
static void walk_record(struct codec *codec, enum kind kind, uint32_t index)
{
    struct record *record = core_at(codec->core, kind, index);
    struct name name = record_name(record);
    int64_t none = 0; /* the deadline of a kind that has none */
    int64_t *deadline = kinds[kind].due != NULL ? &record_timer(record)->deadline_ms : &none;

    if (kinds[kind].parent != CORE_NO_KIND) {
        codec_reference(codec, kinds[kind].parent, &record->scope, false);
    }
    codec_small(codec, &record->state, kinds[kind].last_state);
    codec_small(codec, &record->flags, kinds[kind].all_flags);
    codec_small(codec, &record->marks, RECORD_HIDDEN | RECORD_CLOSED);
    codec_number(codec, deadline, 0, TIME_MAX_MS);
    codec->failed |= none != 0;
    if (!(record->marks & RECORD_HIDDEN) && !codec->failed) {
        codec_name(codec, &name);
        record->name_words[0] = name.words[0];
        record->name_words[1] = name.words[1];
        record->name_kind = name.kind;
    }
    if (!codec->failed) {
        walk_place(codec, kind, index);
    }
    if (!codec->failed) {
        codec_fields(codec, kind, record);
    }
}

static void walk_run(struct codec *codec)
{
    struct clock_run *run = &codec->core->run;

    codec_bytes(codec, run->boot, sizeof run->boot);
    codec_number(codec, &run->offset_ms, -CLOCK_MAX_MS, CLOCK_MAX_MS);
}

static struct line *line_of(const struct core *core, enum kind kind, uint32_t index)
{
    return kind == CORE_SEMAPHORES ? &((struct semaphore *)core_at(core, kind, index))->line
                                   : &((struct room *)core_at(core, kind, index))->line;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_kind(struct codec *codec, enum kind kind)
{
    const struct store *store = &codec->core->stores[kind];
    uint32_t at = store->closed;

    buffer_varint(codec->out, store->slab.count);
    for (uint32_t i = slab_next(&store->slab, 0); i != NONE; i = slab_next(&store->slab, i + 1)) {
        walk_record(codec, kind, i);
    }
    buffer_varint(codec->out, store->closed_count);
    for (uint32_t i = 0; i < store->closed_count; i++) {
        buffer_varint(codec->out, codec->ordinals[kind][at]);
        at = record_timer(store_at(store, at))->next;
    }
}

static enum kind member_of(enum kind kind)
{
    return kind == CORE_SEMAPHORES ? CORE_SEM_CLIENTS : CORE_ROOM_ENTRIES;
}

static void write_lines(struct codec *codec, enum kind kind)
{
    const struct slab *slab = &codec->core->stores[kind].slab;

    for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
        const struct line *line = line_of(codec->core, kind, i);
        uint32_t place = line_start(line), index;
        buffer_varint(codec->out, line->count);
        while ((index = line_walk(line, &place)) != NONE) {
            buffer_varint(codec->out, codec->ordinals[member_of(kind)][index]);
        }
    }
}

static void write_notes(struct codec *codec)
{
    const struct slab *slab = &codec->core->stores[CORE_ROOM_NOTES].slab;

    for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
        const struct room_note *note = slab_at(slab, i);
        buffer_varint(codec->out, note->passes);
        for (uint32_t pass = note->first; pass != NONE;
             pass = room_pass_at(codec->core, pass)->note_next) {
            buffer_varint(codec->out, codec->ordinals[CORE_ROOM_PASSES][pass]);
        }
    }
}

/* For each record of a kind, how many stand before it. NULL when there is no memory. */
static uint32_t *number_records(const struct core *core, enum kind kind)
{
    const struct slab *slab = &core->stores[kind].slab;
    uint32_t *ordinals = memory_get(core->memory, ((size_t)slab->top + 1) * sizeof(*ordinals));
    uint32_t next = 0;

    for (uint32_t i = slab_next(slab, 0); ordinals != NULL && i != NONE;
         i = slab_next(slab, i + 1)) {
        ordinals[i] = next++;
    }
    return ordinals;
}

static void write_all(struct codec *codec)
{
    struct core *core = codec->core;

    buffer_bytes(codec->out, magic, sizeof magic);
    buffer_varint(codec->out, SNAPSHOT_VERSION);
    buffer_signed(codec->out, core->latest_ms);
    buffer_signed(codec->out, core->fence);
    buffer_varint(codec->out, core->ticket);
    walk_run(codec);
    for (unsigned n = 0; n < CORE_KIND_COUNT; n++) {
        write_kind(codec, core_kind_in_turn(n));
    }
    write_lines(codec, CORE_SEMAPHORES);
    write_lines(codec, CORE_ROOMS);
    write_notes(codec);
}

bool core_snapshot(struct core *core, struct buffer *out)
{
    uint32_t *ordinals[CORE_KIND_COUNT] = {NULL};
    struct codec codec = {.mode = CODEC_WRITE,
                          .core = core,
                          .out = out,
                          .version = SNAPSHOT_VERSION,
                          .ordinals = ordinals};
    size_t start = out->size;
    bool enough = true;

    core_settle(core); /* a snapshot has nothing overdue in it, and nothing that was closed */
    for (enum kind kind = 0; kind < CORE_KIND_COUNT && enough; kind++) {
        ordinals[kind] = number_records(core, kind);
        enough = ordinals[kind] != NULL;
    }
    if (enough) {
        write_all(&codec);
    }
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        memory_free(core->memory, ordinals[kind],
                    ((size_t)core->stores[kind].slab.top + 1) * sizeof(*ordinals[kind]));
    }
    if (!enough || out->failed) {
        return false;
    }
    uint8_t crc[4];
    put_u32(crc, crc32c(0, out->data + start, out->size - start));
    buffer_bytes(out, crc, sizeof crc);
    return !out->failed;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Puts the timer or the list of the closed in order again. The deadline was read into the record.
 */
static void rearm(struct codec *codec, enum kind kind, uint32_t index)
{
    struct record *record = core_at(codec->core, kind, index);

    if (kinds[kind].due == NULL) {
        codec->failed |= (record->marks & RECORD_CLOSED) != 0;
        return;
    }
    int64_t deadline_ms = record_deadline_ms(record);
    if (record->marks & RECORD_CLOSED) {
        record_timer(record)->next = NONE; /* until read_closed() comes to it */
        return;
    }
    if (deadline_ms == 0) {
        return;
    }
    record_timer(record)->deadline_ms = 0;
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
        int64_t until_ms = store->timed ? record_deadline_ms(record) : 0;
        bool again = store->timed && record_timer(record)->next != NONE;
        if (!(record->marks & RECORD_CLOSED) || until_ms == 0 || again) {
            codec->failed = true;
            return;
        }
        record_timer(record)->deadline_ms = 0;
        store_close(store, (uint32_t)index, until_ms);
        core_note_due(codec->core, until_ms);
    }
}

static void read_kind(struct codec *codec, enum kind kind)
{
    struct store *store = &codec->core->stores[kind];
    uint64_t count = reader_varint(&codec->reader);

    /* A record takes some bytes, so that a wrong count cannot ask for more memory than its file. */
    codec->failed |= count > reader_left(&codec->reader) || !store_reserve(store, (uint32_t)count);
    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint32_t index = slab_take(&store->slab);
        CHECK(index == i); /* in a new slab the ordinal is the index */
        walk_record(codec, kind, index);
        codec->failed = codec->failed || !store_link(store, index);
        if (!codec->failed) {
            rearm(codec, kind, index);
        }
    }
    codec->failed |= codec->reader.failed;
    if (!codec->failed) {
        read_closed(codec, kind);
    }
}

static void read_line(struct codec *codec, enum kind kind, uint32_t owner)
{
    struct core *core = codec->core;
    enum kind member_kind = member_of(kind);
    struct line *line = line_of(core, kind, owner);
    uint64_t count = reader_varint(&codec->reader);

    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t index = reader_varint(&codec->reader);
        if (codec->reader.failed || index >= RECORDS_MAX ||
            !slab_has(&core->stores[member_kind].slab, (uint32_t)index) ||
            ((struct record *)core_at(core, member_kind, (uint32_t)index))->scope != owner ||
            !line_reserve(line, core->memory)) {
            codec->failed = true;
            return;
        }
        if (kind == CORE_SEMAPHORES) {
            struct sem_client *client = core_at(core, member_kind, (uint32_t)index);
            client->place = line_join(line, (uint32_t)index, (uint16_t)client->slots);
            core->in_line++;
        } else {
            struct room_entry *entry = core_at(core, member_kind, (uint32_t)index);
            entry->place = line_join(line, (uint32_t)index, 1);
        }
    }
}

static void read_lines(struct codec *codec, enum kind kind)
{
    const struct slab *slab = &codec->core->stores[kind].slab;

    for (uint32_t i = slab_next(slab, 0); i != NONE && !codec->failed; i = slab_next(slab, i + 1)) {
        read_line(codec, kind, i);
    }
}

/* A pass is of one note, and of the same room. */
static void read_note(struct codec *codec, uint32_t note)
{
    struct core *core = codec->core;
    uint32_t room = room_note_at(core, note)->record.scope;
    uint64_t count = reader_varint(&codec->reader);

    codec->failed |= count > (uint64_t)room_note_at(core, note)->count;
    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t index = reader_varint(&codec->reader);
        if (codec->reader.failed || index >= RECORDS_MAX ||
            !slab_has(&core->stores[CORE_ROOM_PASSES].slab, (uint32_t)index) ||
            room_pass_at(core, (uint32_t)index)->record.scope != room ||
            room_pass_at(core, (uint32_t)index)->note != NONE) {
            codec->failed = true;
            return;
        }
        room_note_put(core, note, (uint32_t)index);
    }
}

static void read_notes(struct codec *codec)
{
    const struct slab *slab = &codec->core->stores[CORE_ROOM_NOTES].slab;

    for (uint32_t i = slab_next(slab, 0); i != NONE && !codec->failed; i = slab_next(slab, i + 1)) {
        read_note(codec, i);
    }
}

static bool checksum_right(struct hf_bytes snapshot)
{
    if (snapshot.size < sizeof magic + 4 || memcmp(snapshot.data, magic, sizeof magic) != 0) {
        return false;
    }
    size_t end = snapshot.size - 4;
    return crc32c(0, snapshot.data, end) == get_u32(snapshot.data + end);
}

static void read_all(struct codec *codec)
{
    struct core *core = codec->core;

    codec_number(codec, &core->latest_ms, 0, TIME_MAX_MS - 1);
    core->now_ms = core->latest_ms;
    codec_number(codec, &core->fence, 0, HF_INTEGER_MAX);
    codec_word(codec, &core->ticket);
    if (codec->version != VERSION_WITHOUT_RUN) {
        walk_run(codec);
    }
    for (unsigned n = 0; n < CORE_KIND_COUNT && !codec->failed; n++) {
        if (kinds[core_kind_in_turn(n)].since <= codec->version) {
            read_kind(codec, core_kind_in_turn(n));
        }
    }
    if (!codec->failed) {
        read_lines(codec, CORE_SEMAPHORES);
    }
    if (!codec->failed) {
        read_lines(codec, CORE_ROOMS);
    }
    if (!codec->failed) {
        read_notes(codec); /* none before version 5 */
    }
    codec->failed |= codec->reader.failed || reader_left(&codec->reader) != 0;
}

/* A half-read core is taken apart without following its references. */
static void discard(struct core *core)
{
    core_free_rosters(core);
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        struct slab *slab = &core->stores[kind].slab;
        for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
            if (kind == CORE_SEMAPHORES || kind == CORE_LOCKS || kind == CORE_ROOMS ||
                kind == CORE_IDEM_KEYS) {
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
    codec.version = reader_varint(&codec.reader);
    if (codec.version < VERSION_WITHOUT_RUN || codec.version > SNAPSHOT_VERSION) {
        problem_set(problem, HF_IOERR,
                    "the snapshot is of version %llu; this program reads 1 to %d",
                    (unsigned long long)codec.version, SNAPSHOT_VERSION);
        return NULL;
    }
    codec.core = core_create(memory, seed);
    if (codec.core == NULL) {
        problem_set(problem, HF_BUSY, "out of memory");
        return NULL;
    }
    read_all(&codec);
    if (codec.failed || core_audit_totals(codec.core) != 0) {
        problem_set(problem, HF_IOERR,
                    "the snapshot is damaged at byte %zu of %zu, or memory ran out",
                    (size_t)(codec.reader.at - (const uint8_t *)snapshot.data), snapshot.size);
        discard(codec.core);
        return NULL;
    }
    return codec.core;
}

/* ---- digest ---------------------------------------------------------------------------------- */

/* Those in line, in order, with the name of what they stand in line for. */
static uint64_t line_digest(struct codec *codec, enum kind kind, uint32_t owner)
{
    enum kind member_kind = member_of(kind);
    const struct line *line = line_of(codec->core, kind, owner);
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
            walk_record(&codec, kind, i);
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
