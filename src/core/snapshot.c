/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole state as bytes, and back again.
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
#include "base/follower.h"
#include "base/little_endian.h"
#include "core/codec.h"
#include "core/room.h"

/* Former versions: 5 has nothing of what tenants committed lately, 4 remembers no admissions, 3 is
 * the last with the first vocabulary, 2 has no holds that were extended, 1 nothing of runs. What
 * a record has only since a later version, codec_fields() leaves at its default when it reads
 * them. */
#define VERSION_WITHOUT_RUN 1

#define CHECKSUM 4 /* bytes at the end */

/* A kind with so many records has a thread put them into its index, so many at a time. */
#define LINKED_BY_THREAD 8192
#define LINKED_AT_ONCE 256

static const char magic[8] = "HOLDFAST";

static void walk_run(struct codec *codec)
{
    struct clock_run *run = &codec->core->run;

    codec_bytes(codec, run->boot, sizeof run->boot);
    codec_number(codec, &run->offset_ms, -CLOCK_MAX_MS, CLOCK_MAX_MS);
}

/* ---- writing --------------------------------------------------------------------------------- */

#define PIECE ((size_t)64 << 10)

/* The codec's buffer holds the piece that is being made. */
struct writing {
    struct codec codec;
    struct buffer buffer;
    uint32_t crc;
    core_piece *piece;
    void *context;
};

/* Hands over what was written, and begins the next piece. */
static void hand_over(struct writing *writing)
{
    struct buffer *buffer = &writing->buffer;

    if (buffer->failed) {
        return;
    }
    writing->crc = crc32c(writing->crc, buffer->data, buffer->size);
    buffer->failed =
        !writing->piece(writing->context, (struct hf_bytes){buffer->data, buffer->size});
    buffer->size = 0;
}

/* After each record and each ordinal: a codec in writing is the head of a struct writing. */
static void end_item(struct codec *codec)
{
    if (codec->out->size >= PIECE) {
        hand_over((struct writing *)codec);
    }
}

static void write_ordinal(struct codec *codec, enum kind kind, uint32_t index)
{
    buffer_varint(codec->out, codec->ordinals[kind][index]);
    end_item(codec);
}

static void write_kind(struct codec *codec, enum kind kind)
{
    const struct store *store = &codec->core->stores[kind];
    uint32_t at = store->closed;

    buffer_varint(codec->out, store->slab.count);
    for (uint32_t i = slab_next(&store->slab, 0); i != NONE; i = slab_next(&store->slab, i + 1)) {
        codec_record(codec, kind, i);
        end_item(codec);
    }
    buffer_varint(codec->out, store->closed_count);
    for (uint32_t i = 0; i < store->closed_count; i++) {
        write_ordinal(codec, kind, at);
        at = record_timer(store_at(store, at))->next;
    }
}

static void write_lines(struct codec *codec, enum kind kind)
{
    const struct slab *slab = &codec->core->stores[kind].slab;

    for (uint32_t i = slab_next(slab, 0); i != NONE; i = slab_next(slab, i + 1)) {
        const struct line *line = codec_line(codec->core, kind, i);
        uint32_t place = line_start(line), index;
        buffer_varint(codec->out, line->count);
        while ((index = line_walk(line, &place)) != NONE) {
            write_ordinal(codec, codec_member(kind), index);
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
            write_ordinal(codec, CORE_ROOM_PASSES, pass);
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

static bool number_all(const struct core *core, uint32_t *ordinals[CORE_KIND_COUNT])
{
    bool enough = true;

    for (enum kind kind = 0; kind < CORE_KIND_COUNT && enough; kind++) {
        ordinals[kind] = number_records(core, kind);
        enough = ordinals[kind] != NULL;
    }
    return enough;
}

bool core_snapshot_pieces(struct core *core, core_piece *piece, void *context)
{
    uint32_t *ordinals[CORE_KIND_COUNT] = {NULL};
    struct writing writing = {
        .codec = {.mode = CODEC_WRITE, .core = core, .version = SNAPSHOT_VERSION},
        .piece = piece,
        .context = context};
    uint8_t crc[4];

    writing.codec.out = &writing.buffer;
    writing.codec.ordinals = ordinals;
    buffer_init(&writing.buffer, core->memory);
    core_settle(core); /* a snapshot has nothing overdue in it, and nothing that was closed */
    bool enough = number_all(core, ordinals);
    if (enough) {
        write_all(&writing.codec);
        hand_over(&writing);
        put_u32(crc, writing.crc);
        buffer_bytes(&writing.buffer, crc, sizeof crc);
        hand_over(&writing);
    }
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        memory_free(core->memory, ordinals[kind],
                    ((size_t)core->stores[kind].slab.top + 1) * sizeof(*ordinals[kind]));
    }
    bool whole = enough && !writing.buffer.failed;
    buffer_free(&writing.buffer);
    return whole;
}

static bool append_piece(void *context, struct hf_bytes piece)
{
    struct buffer *out = context;

    buffer_bytes(out, piece.data, piece.size);
    return !out->failed;
}

bool core_snapshot(struct core *core, struct buffer *out)
{
    return core_snapshot_pieces(core, append_piece, out);
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
    uint64_t count = reader_varint(codec->reader);

    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t index = reader_varint(codec->reader);
        if (codec->reader->failed || index >= RECORDS_MAX ||
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

/* The records of a kind on their way into its index. */
struct linking {
    struct store *store;
    bool failed;
};

static void link_some(void *context, uint64_t from, uint64_t to)
{
    struct linking *linking = context;

    linking->failed = linking->failed || !store_link(linking->store, (uint32_t)from, (uint32_t)to);
}

/* While a thread puts the records into the index of their kind, the next ones are read: a lookup in
 * a large table waits for memory about as long as it takes to read a record. The table has room for
 * all, and reading touches it no more until they are in. The slab gets its memory as it is filled,
 * so that a thread can find the next of it meanwhile; nothing that the other side reads moves. */
static void read_records(struct codec *codec, enum kind kind, uint32_t count)
{
    struct store *store = &codec->core->stores[kind];
    struct linking linking = {.store = store};
    struct follower follower;
    uint32_t done = 0;

    follower_begin(&follower, count < LINKED_BY_THREAD, link_some, &linking);
    while (done < count && !codec->failed) {
        uint32_t index = slab_take(&store->slab);
        if (index == NONE) {
            codec->failed = true;
            break;
        }
        CHECK(index == done); /* in a new slab the ordinal is the index */
        codec_record(codec, kind, index);
        if (!codec->failed) {
            rearm(codec, kind, index);
            done++;
        }
        if (done % LINKED_AT_ONCE == 0) {
            follower_offer(&follower, done);
        }
    }
    follower_offer(&follower, done);
    follower_end(&follower);
    codec->failed |= linking.failed;
}

static void read_kind(struct codec *codec, enum kind kind)
{
    struct store *store = &codec->core->stores[kind];
    uint64_t count = reader_varint(codec->reader);

    /* A record takes some bytes, so that a wrong count cannot ask for more memory than its file. */
    codec->failed |= count > reader_left(codec->reader) || count > RECORDS_MAX ||
                     !store_expect(store, (uint32_t)count);
    if (!codec->failed) {
        read_records(codec, kind, (uint32_t)count);
    }
    codec->failed |= codec->reader->failed;
    if (!codec->failed) {
        read_closed(codec, kind);
    }
}

static void read_line(struct codec *codec, enum kind kind, uint32_t owner)
{
    struct core *core = codec->core;
    enum kind member_kind = codec_member(kind);
    struct line *line = codec_line(core, kind, owner);
    uint64_t count = reader_varint(codec->reader);

    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t index = reader_varint(codec->reader);
        if (codec->reader->failed || index >= RECORDS_MAX ||
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
    uint64_t count = reader_varint(codec->reader);

    codec->failed |= count > (uint64_t)room_note_at(core, note)->count;
    for (uint64_t i = 0; i < count && !codec->failed; i++) {
        uint64_t index = reader_varint(codec->reader);
        if (codec->reader->failed || index >= RECORDS_MAX ||
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
    codec->failed |= codec->reader->failed || reader_left(codec->reader) != CHECKSUM;
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

/* Why there is no core. Where memory ran out, nothing is known to be wrong with the snapshot. */
static void explain(const struct codec *codec, size_t total, bool starved, struct problem *problem)
{
    size_t at = total - reader_left(codec->reader);

    if (starved) {
        problem_set(problem, HF_BUSY, "memory ran out at byte %zu of %zu of the snapshot", at,
                    total);
    } else if (codec->reader->failed) {
        problem_set(problem, HF_IOERR, "the snapshot of %zu bytes is damaged", total);
    } else {
        problem_set(problem, HF_IOERR, "the snapshot is damaged at byte %zu of %zu", at, total);
    }
}

struct core *core_restore_from(struct memory *memory, const uint64_t seed[2],
                               struct reader *snapshot, struct problem *problem)
{
    struct codec codec = {.mode = CODEC_READ, .reader = snapshot};
    size_t total = reader_left(snapshot), refused = memory->refused;
    const uint8_t *begins = reader_bytes(snapshot, sizeof magic);

    if (begins == NULL || memcmp(begins, magic, sizeof magic) != 0) {
        problem_set(problem, HF_IOERR, "not a snapshot");
        return NULL;
    }
    codec.version = reader_varint(snapshot);
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
        explain(&codec, total, memory->refused != refused, problem);
        discard(codec.core);
        return NULL;
    }
    return codec.core;
}

struct core *core_restore(struct memory *memory, const uint64_t seed[2], struct hf_bytes snapshot,
                          struct problem *problem)
{
    struct reader reader;

    if (!checksum_right(snapshot)) {
        problem_set(problem, HF_IOERR, "not a snapshot, or damaged: the checksum is wrong");
        return NULL;
    }
    reader_init(&reader, snapshot.data, snapshot.size);
    return core_restore_from(memory, seed, &reader, problem);
}
