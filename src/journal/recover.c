/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a data directory in order: the newest valid snapshot, then every record after it. Each
 * refusal says which file, which byte, and what is wrong there. */
#include "journal/recover.h"

#include "journal/record.h"
#include "journal/replay.h"
#include "journal/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* A journal of fewer bytes is not worth a thread. */
#define REPLAYED_BY_THREAD ((int64_t)4 << 20)

struct reading {
    struct storage *storage;
    const struct directory *directory;
    const struct journal_sink *sink;
    struct recovery *recovery;
    struct replay replay;
    int64_t segments_bytes;
    int64_t snapshot_bytes; /* of the snapshot that is used, once it is found */
    char *why;
};

static bool refuse(struct reading *reading, const char *name, size_t offset, const char *what)
{
    snprintf(reading->why, 256,
             "%s at byte %zu: %.130s; restore a backup, or move the file away to go "
             "on without what follows",
             name, offset, what);
    return false;
}

/* The data is as good as it was: nothing else may be advised than more memory. */
static bool starve(struct reading *reading, const char *name, size_t offset)
{
    snprintf(
        reading->why, 256,
        "%s at byte %zu: memory ran out while it was read; nothing is wrong with the data, and "
        "nothing was changed: start again with more memory",
        name, offset);
    if (reading->sink->no_memory != NULL) {
        *reading->sink->no_memory = true;
    }
    return false;
}

/* What became of reading a file; 0 is well. */
static bool was_read(struct reading *reading, const char *name, int code)
{
    if (code == -ENOMEM) {
        return starve(reading, name, 0);
    }
    if (code != 0) {
        snprintf(reading->why, 256, "%s: cannot be read: %s", name, storage_error(code));
    }
    return code == 0;
}

static bool read_file(struct reading *reading, const char *name, struct buffer *out)
{
    return was_read(reading, name, storage_read_file(reading->storage, name, out));
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* Tells how much of snapshot and segments was read. */
static void tell_progress(struct reading *reading, int64_t done)
{
    const struct journal_sink *sink = reading->sink;

    if (sink->progress != NULL) {
        sink->progress(sink->context, done, reading->snapshot_bytes + reading->segments_bytes);
    }
}

static void state_was_read(void *context, int64_t bytes)
{
    tell_progress(context, bytes);
}

/* Hands the state to the sink. */
static bool take_state(struct reading *reading, const char *name, uint64_t number,
                       struct snapshot_file *file)
{
    char why[256] = "";

    file->was_read = state_was_read;
    file->context = reading;
    enum journal_taken taken =
        reading->sink->state(reading->sink->context, number, &file->state, why);

    if (file->code != 0) {
        return was_read(reading, name, file->code);
    }
    if (taken == JOURNAL_NO_MEMORY) {
        return starve(reading, name, (size_t)file->offset - reader_left(&file->state));
    }
    return taken == JOURNAL_TAKEN || refuse(reading, name, SNAPSHOT_HEADER, why);
}

/* True if the snapshot was used, or is to be passed over (*used false); false to give up. */
static bool try_snapshot(struct reading *reading, uint64_t number, bool *used)
{
    struct snapshot_header header;
    struct snapshot_file file;
    enum snapshot_check check;
    char name[SNAPSHOT_NAME_SIZE];
    bool fine = true;

    *used = false;
    snapshot_name(number, name);
    if (!was_read(reading, name, snapshot_open(reading->storage, name, &file, &header, &check))) {
        return false;
    }
    if (check == SNAPSHOT_NEWER) {
        fine = refuse(reading, name, 8, "written by a newer version of this program");
    } else if (check == SNAPSHOT_DAMAGED || header.sequence != number) {
        if (reading->recovery->damaged == 0) {
            reading->recovery->damaged = number;
        }
    } else {
        reading->snapshot_bytes = SNAPSHOT_HEADER + (int64_t)header.state_size;
        *used = fine = take_state(reading, name, number, &file);
    }
    snapshot_close(&file);
    if (*used) {
        reading->recovery->snapshot = reading->recovery->last = number;
        reading->recovery->chain = header.chain;
    }
    return fine;
}

static bool read_snapshots(struct reading *reading)
{
    const struct numbers *snapshots = &reading->directory->snapshots;
    bool fine = true, used = false;

    for (size_t i = snapshots->count; i-- > 0 && fine && !used;) {
        fine = try_snapshot(reading, snapshots->at[i], &used);
    }
    if (fine && !used && snapshots->count > 0 &&
        (reading->directory->segments.count == 0 || reading->directory->segments.at[0] != 1)) {
        char name[SNAPSHOT_NAME_SIZE];
        snapshot_name(snapshots->at[snapshots->count - 1], name);
        return refuse(reading, name, 0, "damaged, and the journal before it is gone");
    }
    return fine;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* The file without the zeros at its end. */
static size_t end_of_content(struct hf_bytes file)
{
    size_t end = file.size;
    uint64_t word = 0;

    while (end >= sizeof word) {
        memcpy(&word, file.data + end - sizeof word, sizeof word);
        if (word != 0) {
            break;
        }
        end -= sizeof word;
    }
    while (end > 0 && file.data[end - 1] == 0) {
        end--;
    }
    return end;
}

/* The records of this file end at `offset`: properly, torn, or damaged. */
static bool read_end(struct reading *reading, const char *name, struct hf_bytes file, size_t offset,
                     bool newest)
{
    struct recovery *recovery = reading->recovery;
    size_t end = end_of_content(file);

    if (end > offset && (!newest || record_was_durable(file, offset, recovery->last + 1))) {
        return refuse(reading, name, offset, "damaged record before the end of the journal");
    }
    /* It is the one to go on with, unless a good one follows. */
    recovery->segment_end = (int64_t)offset;
    recovery->torn = end > offset ? (int64_t)(end - offset) : 0;
    return true;
}

static bool not_taken(struct reading *reading, const char *name, size_t offset,
                      enum journal_taken taken, const char *why)
{
    return taken == JOURNAL_NO_MEMORY ? starve(reading, name, offset)
                                      : refuse(reading, name, offset, why);
}

static bool read_records(struct reading *reading, const char *name, struct hf_bytes file,
                         struct segment_header header, bool newest)
{
    struct recovery *recovery = reading->recovery;
    size_t offset = SEGMENT_HEADER;
    uint64_t sequence = header.first - 1; /* of the record before */
    uint32_t chain = header.chain;
    struct journal_record record;
    char why[256] = "";

    if (sequence > recovery->last) {
        return refuse(reading, name, 0, "the journal before this segment is missing");
    }
    for (unsigned turn = 0; record_read(file, offset, &record) && record.sequence == sequence + 1 &&
                            record.chain == chain;
         turn++) {
        sequence = record.sequence;
        chain = record.checksum;
        if (sequence == recovery->snapshot && chain != recovery->chain) {
            return refuse(reading, name, offset, "does not belong to the snapshot");
        }
        if (sequence > recovery->last) {
            enum journal_taken taken = replay_add(&reading->replay, &record, offset, why);
            if (taken != JOURNAL_TAKEN) {
                return not_taken(reading, name, offset, taken, why);
            }
            recovery->last = sequence;
            recovery->chain = chain;
            recovery->growth += (int64_t)record.size;
        }
        offset += record.size;
        if (turn % 65536 == 0) {
            tell_progress(reading, reading->snapshot_bytes + recovery->bytes + (int64_t)offset);
        }
    }
    if (newest && sequence < recovery->last) {
        return refuse(reading, name, offset, "ends before the snapshot that was made of it");
    }
    recovery->bytes += (int64_t)offset;
    return read_end(reading, name, file, offset, newest);
}

static bool read_segment(struct reading *reading, const char *name, uint64_t number, bool newest,
                         struct buffer *bytes)
{
    struct segment_header header;

    if (!read_file(reading, name, bytes)) {
        return false;
    }
    struct hf_bytes file = {bytes->data, bytes->size};
    enum segment_check check = segment_header_read(file, &header);
    if (check == SEGMENT_NEWER) {
        return refuse(reading, name, 8, "written by a newer version of this program");
    }
    if (check != SEGMENT_GOOD || header.first != number) {
        /* One that was being made when the power went: its header is synced before the first record
         * is written, so nothing stands behind it. */
        if (newest && check != SEGMENT_GOOD && number == reading->recovery->last + 1 &&
            record_none_left(file, SEGMENT_HEADER)) {
            reading->recovery->drop_last = true;
            reading->recovery->last_name = number;
            return true;
        }
        return refuse(reading, name, 0, "the header of the segment is damaged");
    }
    if (header.first == reading->recovery->last + 1 && header.chain != reading->recovery->chain) {
        return refuse(reading, name, 12, "does not follow on the segment before it");
    }
    reading->recovery->has_segment = true;
    reading->recovery->segment = number;
    return read_records(reading, name, file, header, newest);
}

/* The segments that hold something after the snapshot: from the last that begins at or before the
 * record after it. */
static size_t first_needed(const struct reading *reading)
{
    const struct numbers *segments = &reading->directory->segments;
    size_t first = 0;

    while (first + 1 < segments->count && segments->at[first + 1] <= reading->recovery->last + 1) {
        first++;
    }
    return first;
}

static bool read_segments(struct reading *reading)
{
    const struct numbers *segments = &reading->directory->segments;
    struct memory memory;
    struct buffer bytes;
    bool fine = true;

    memory_init(&memory);
    buffer_init(&bytes, &memory);
    replay_begin(&reading->replay, reading->sink, reading->segments_bytes < REPLAYED_BY_THREAD);
    for (size_t i = first_needed(reading); i < segments->count && fine; i++) {
        struct replay_end end;
        char name[SEGMENT_NAME_SIZE];
        segment_name(segments->at[i], name);
        buffer_clear(&bytes);
        fine = read_segment(reading, name, segments->at[i], i + 1 == segments->count, &bytes);
        replay_settle(&reading->replay, &end);
        if (end.taken != JOURNAL_TAKEN) { /* it stands before what reading itself has refused */
            fine = not_taken(reading, name, end.offset, end.taken, end.why);
        }
    }
    replay_end(&reading->replay);
    buffer_free(&bytes);
    return fine;
}

int64_t recover_bytes(struct storage *storage, const struct numbers *segments)
{
    int64_t total = 0;

    for (size_t i = 0; i < segments->count; i++) {
        char name[SEGMENT_NAME_SIZE];
        segment_name(segments->at[i], name);
        int64_t size = storage_file_size(storage, name);
        total += size > 0 ? size : 0;
    }
    return total;
}

bool recover(struct storage *storage, const struct directory *directory,
             const struct journal_sink *sink, struct recovery *recovery, char why[256])
{
    struct reading reading = {
        .storage = storage, .directory = directory, .sink = sink, .recovery = recovery, .why = why};

    *recovery = (struct recovery){.snapshot = 0};
    reading.segments_bytes = recover_bytes(storage, &directory->segments);
    return read_snapshots(&reading) && read_segments(&reading);
}
