/* SPDX-License-Identifier: Apache-2.0
 *
 * Appends records to the newest segment, begins the next one when it is full, flushes, and removes
 * what a snapshot replaces. The rules of the format are in record.h. */
#include "journal/journal.h"

#include "base/check.h"
#include "journal/directory.h"
#include "journal/record.h"
#include "journal/recover.h"
#include "journal/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The room made for a segment at first, as a part of what it may grow to. */
#define FIRST_PART 64

struct journal {
    struct storage *storage;
    struct journal_options options;
    struct memory memory;

    /* Appending. */
    struct buffer open;     /* the batch that is being collected */
    uint64_t last;          /* number of the last record appended */
    uint32_t chain;         /* its checksum */
    uint64_t known_durable; /* as far as appending knows */
    int64_t growth;         /* bytes since the last snapshot */
    uint64_t snapshot;      /* the one it was recovered from; 0: none */

    /* Flushing. */
    struct buffer taken; /* the batch that is being flushed */
    uint64_t taken_last; /* number of its last record */
    uint32_t taken_chain;
    int handle;             /* of the newest segment, or -1 */
    int64_t end;            /* where the next batch goes */
    int64_t room;           /* the size of the segment: there is room up to here */
    int64_t more_at;        /* a batch that ends behind this asks for more */
    uint64_t written;       /* number of the last record written */
    uint32_t written_chain; /* its checksum */
    bool unsynced;
    bool failed;
    char failure[STORAGE_WHY_SIZE + 128];

    /* Asked for while another thread flushes, or removes what a snapshot replaces. */
    atomic_int_least64_t spare;  /* room in the newest segment that nothing was written to yet */
    atomic_int_least64_t stored; /* size of all segments */
};

/* ---- failure --------------------------------------------------------------------------------- */

/* `needed` are the bytes that were to be written. */
static bool fail(struct journal *journal, const char *what, int code, int64_t needed)
{
    char why[STORAGE_WHY_SIZE];

    if (!journal->failed) {
        journal->failed = true;
        storage_why(code, needed, storage_free_bytes(journal->storage), why);
        snprintf(journal->failure, sizeof journal->failure,
                 "%s: %s; nothing more is acknowledged, restart to recover", what, why);
        log_line(journal->options.log, LOG_ERROR, "%s", journal->failure);
    }
    return false;
}

const char *journal_failure(const struct journal *journal)
{
    return journal->failed ? journal->failure : NULL;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void close_segment(struct journal *journal)
{
    if (journal->handle >= 0) {
        journal->storage->type->close(journal->storage, journal->handle);
        journal->handle = -1;
    }
}

static void set_room(struct journal *journal, int64_t room)
{
    atomic_fetch_add(&journal->stored, room - journal->room);
    journal->room = room;
    atomic_store(&journal->spare, room - journal->end);
}

static void wrote_to(struct journal *journal, int64_t end)
{
    journal->end = end;
    set_room(journal, end > journal->room ? end : journal->room);
}

/* Asks for room up to `wanted`, or less where the disk has less, but at least up to `least`. False
 * if there is none. */
static bool allocate(struct journal *journal, int64_t wanted, int64_t least)
{
    int code = -ENOSPC;

    while (wanted >= least && storage_is_full(code)) {
        code = journal->storage->type->allocate(journal->storage, journal->handle, wanted);
        if (code == 0) {
            set_room(journal, wanted);
            return true;
        }
        wanted -= (wanted - journal->room + 1) / 2;
    }
    return false;
}

/* Makes room for a segment that is about to grow up to `end`, so that most syncs need not bring a
 * new size to disk. It grows from small, twofold each time: on a small disk it takes little more
 * than it holds. Where no room can be made in advance the write itself finds out whether it fits.
 */
static void make_room(struct journal *journal, int64_t end)
{
    int64_t most = journal->options.segment_bytes, first = most / FIRST_PART + 1;
    int64_t wanted = journal->room * 2 > first ? journal->room * 2 : first;

    if (end <= journal->room || end <= journal->more_at || journal->room >= most) {
        return;
    }
    while (wanted < end && wanted < most) {
        wanted *= 2;
    }
    int64_t least = end > journal->room + first ? end : journal->room + first;
    wanted = wanted < most ? wanted : most;
    if (!allocate(journal, wanted, least < wanted ? least : wanted)) {
        journal->more_at = end + first; /* it is not asked for again with every batch */
    }
}

/* Begins the segment whose first record follows on the last one written. It is on disk, name and
 * all, before anything is written to it. */
static bool begin_segment(struct journal *journal)
{
    const struct storage_type *type = journal->storage->type;
    struct segment_header header = {.chain = journal->written_chain, .first = journal->written + 1};
    char name[SEGMENT_NAME_SIZE];
    struct memory memory; /* not the journal's, which appending may be using */
    struct buffer bytes;
    int64_t needed = SEGMENT_HEADER + (int64_t)journal->taken.size;

    segment_name(header.first, name);
    journal->handle = type->open(journal->storage, name, STORAGE_CREATE);
    if (journal->handle < 0) {
        return fail(journal, "cannot create a segment of the journal", journal->handle, needed);
    }
    journal->room = journal->more_at = journal->end = 0;
    make_room(journal, needed);
    memory_init(&memory);
    buffer_init(&bytes, &memory);
    segment_header_write(&header, &bytes);
    int code = bytes.failed ? -ENOMEM : 0;
    if (code == 0) {
        code = storage_write_all(journal->storage, journal->handle, 0, bytes.data, bytes.size);
    }
    buffer_free(&bytes);
    if (code == 0) {
        code = type->sync(journal->storage, journal->handle);
    }
    if (code == 0) {
        code = type->sync_directory(journal->storage);
    }
    wrote_to(journal, SEGMENT_HEADER);
    return code == 0 || fail(journal, "cannot begin a segment of the journal", code, needed);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int rewrite_segment(struct journal *journal, const char *name, int64_t end)
{
    struct buffer bytes;

    buffer_init(&bytes, &journal->memory);
    int code = storage_read_file(journal->storage, name, &bytes);
    if (code == 0 && bytes.size >= (size_t)end) {
        code = storage_write_all(journal->storage, journal->handle, 0, bytes.data, (size_t)end);
    }
    buffer_free(&bytes);
    return code;
}

/* Opens the last segment for appending, its torn tail cut off. */
static bool resume_segment(struct journal *journal, const struct recovery *recovery, char why[256])
{
    const struct storage_type *type = journal->storage->type;
    char name[SEGMENT_NAME_SIZE];

    segment_name(recovery->segment, name);
    int code = journal->handle = type->open(journal->storage, name, STORAGE_WRITE);
    journal->room = code < 0 ? 0 : type->size(journal->storage, journal->handle);
    if (code >= 0 && recovery->torn > 0) {
        log_line(journal->options.log, LOG_WARNING,
                 "%s: a tail of %" PRId64 " bytes at byte %" PRId64
                 " was being written when the last run ended; cut",
                 name, recovery->torn, recovery->segment_end);
        code = type->truncate(journal->storage, journal->handle, recovery->segment_end);
    }
    /* What a killed process wrote can be read, but need not be on disk yet; after a failed sync the
     * system may even take it for written. So it is written again, and synced, names and all,
     * before any client is answered from it or anything older is removed. */
    if (code >= 0) {
        code = rewrite_segment(journal, name, recovery->segment_end);
    }
    if (code >= 0) {
        code = type->sync(journal->storage, journal->handle);
    }
    if (code >= 0) {
        code = type->sync_directory(journal->storage);
    }
    int64_t size = code < 0 ? code : type->size(journal->storage, journal->handle);
    if (size < 0) {
        char cause[STORAGE_WHY_SIZE];
        storage_why((int)size, recovery->segment_end, storage_free_bytes(journal->storage), cause);
        snprintf(why, 256, "%s: cannot go on with it: %s", name, cause);
        return false;
    }
    journal->end = recovery->segment_end;
    set_room(journal, size);
    return true;
}

/* Removes what is left from before the snapshot, and what was left half done. */
static bool clean(struct journal *journal, const struct directory *directory,
                  const struct recovery *recovery, char why[256])
{
    const struct storage_type *type = journal->storage->type;
    char name[SEGMENT_NAME_SIZE];
    int code = 0;

    if (directory->temporary) {
        code = type->remove(journal->storage, "snapshot.tmp");
    }
    if (code == 0 && recovery->drop_last) {
        segment_name(recovery->last_name, name);
        code = type->remove(journal->storage, name);
        code = code != 0 ? code : type->sync_directory(journal->storage);
    }
    if (code != 0) {
        snprintf(why, 256, "cannot remove what an earlier run left behind: %s", strerror(-code));
    }
    return code == 0;
}

static bool start(struct journal *journal, const struct journal_sink *sink, char why[256])
{
    struct directory directory;
    struct recovery recovery;
    int code = journal->options.read_only ? 0 : journal->storage->type->lock(journal->storage);

    if (code != 0) {
        snprintf(why, 256,
                 code == -EAGAIN || code == -EWOULDBLOCK
                     ? "the directory is in use by another process"
                     : "the directory cannot be locked: LOCK: %s",
                 storage_error(code));
        return false;
    }
    code = directory_read(journal->storage, &directory);
    bool fine = code == 0;
    if (!fine) {
        snprintf(why, 256, "the directory cannot be read: %s", strerror(-code));
    }
    fine = fine && recover(journal->storage, &directory, sink, &recovery, why);
    if (fine && recovery.damaged != 0) {
        log_line(journal->options.log, LOG_WARNING,
                 "snapshot-%020" PRIu64 " is damaged; recovered from what is before it",
                 recovery.damaged);
    }
    if (fine && !journal->options.read_only) {
        fine = clean(journal, &directory, &recovery, why);
    }
    if (fine) {
        journal->last = journal->known_durable = journal->written = recovery.last;
        journal->chain = journal->written_chain = recovery.chain;
        journal->growth = recovery.growth;
        journal->snapshot = recovery.snapshot;
    }
    if (fine && !journal->options.read_only) {
        atomic_store(&journal->stored, recover_bytes(journal->storage, &directory.segments));
        fine =
            recovery.has_segment ? resume_segment(journal, &recovery, why) : begin_segment(journal);
        if (!fine && journal->failed) {
            snprintf(why, 256, "%.255s", journal->failure);
        }
    }
    if (fine && !journal->options.read_only && recovery.snapshot > 0) {
        journal_forget_before(journal, recovery.snapshot);
    }
    directory_free(&directory);
    return fine;
}

struct journal *journal_open(struct storage *storage, const struct journal_options *options,
                             const struct journal_sink *sink, char why[256])
{
    struct journal *journal = calloc(1, sizeof *journal);

    if (journal == NULL) {
        snprintf(why, 256, "out of memory");
        storage_free(storage);
        return NULL;
    }
    journal->storage = storage;
    journal->options = *options;
    journal->handle = -1;
    memory_init(&journal->memory);
    buffer_init(&journal->open, &journal->memory);
    buffer_init(&journal->taken, &journal->memory);
    if (!start(journal, sink, why)) {
        journal_close(journal);
        return NULL;
    }
    return journal;
}

void journal_close(struct journal *journal)
{
    if (journal != NULL) {
        close_segment(journal);
        buffer_free(&journal->open);
        buffer_free(&journal->taken);
        storage_free(journal->storage);
        free(journal);
    }
}

/* ---- appending ------------------------------------------------------------------------------- */

bool journal_reserve(struct journal *journal, size_t size)
{
    if (size > RECORD_MAX - RECORD_HEADER) {
        return false;
    }
    if (!buffer_reserve(&journal->open, RECORD_HEADER + size)) {
        journal->open.failed = false; /* what it holds is whole */
        return false;
    }
    return true;
}

uint64_t journal_append(struct journal *journal, int64_t time_ms, struct hf_bytes command)
{
    uint64_t undurable = journal->last - journal->known_durable;
    struct journal_record record = {
        .sequence = journal->last + 1,
        .chain = journal->chain,
        .undurable = undurable < UINT32_MAX ? (uint32_t)undurable : UINT32_MAX,
        .time_ms = time_ms,
        .command = command,
    };

    record_write(&record, &journal->open);
    CHECK(!journal->open.failed);
    journal->last = record.sequence;
    journal->chain = record.checksum;
    journal->growth += (int64_t)record.size;
    return record.sequence;
}

/* ---- flushing -------------------------------------------------------------------------------- */

bool journal_take(struct journal *journal)
{
    if (journal->open.size == 0 || journal->taken.size > 0) {
        return journal->taken.size > 0;
    }
    struct buffer empty = journal->taken;
    journal->taken = journal->open;
    journal->open = empty;
    journal->taken_last = journal->last;
    journal->taken_chain = journal->chain;
    return true;
}

bool journal_sync(struct journal *journal)
{
    if (journal->failed) {
        return false;
    }
    if (journal->unsynced) {
        int code = journal->storage->type->sync(journal->storage, journal->handle);
        if (code != 0) {
            return fail(journal, "the journal cannot be synced", code, -1);
        }
        journal->unsynced = false;
    }
    return true;
}

/* Closes the full segment and begins the next one. A segment is left only when all of it is on
 * disk: what follows proves it whole. */
static bool rotate_segment(struct journal *journal)
{
    if (!journal_sync(journal)) {
        return false;
    }
    close_segment(journal);
    return begin_segment(journal);
}

/* A segment that is cut must hold so much, or it is not worth a file. */
static bool is_worth_cutting(const struct journal *journal)
{
    int64_t free_bytes = storage_free_bytes(journal->storage);

    /* The room that was made for it is given up until the snapshot is in place. */
    return journal->end > SEGMENT_HEADER &&
           journal->end > journal->options.segment_bytes / FIRST_PART &&
           (free_bytes < 0 || free_bytes >= 2 * journal->room);
}

bool journal_cut(struct journal *journal)
{
    CHECK(journal->taken.size == 0);
    if (!journal_sync(journal)) {
        return false;
    }
    return !is_worth_cutting(journal) || rotate_segment(journal);
}

bool journal_flush(struct journal *journal)
{
    if (journal->failed || journal->taken.size == 0) {
        return !journal->failed;
    }
    if (journal->end >= journal->options.segment_bytes && !rotate_segment(journal)) {
        return false;
    }
    int64_t size = (int64_t)journal->taken.size;
    make_room(journal, journal->end + size);
    int code = storage_write_all(journal->storage, journal->handle, journal->end,
                                 journal->taken.data, journal->taken.size);
    if (code != 0) {
        return fail(journal, "the journal cannot be written", code, size);
    }
    wrote_to(journal, journal->end + size);
    journal->written = journal->taken_last;
    journal->written_chain = journal->taken_chain;
    journal->unsynced = true;
    buffer_clear(&journal->taken);
    return journal->options.policy != JOURNAL_ALWAYS || journal_sync(journal);
}

void journal_flushed(struct journal *journal)
{
    if (!journal->failed && !journal->unsynced) {
        journal->known_durable = journal->written;
    }
}

/* ---- snapshots ------------------------------------------------------------------------------- */

void journal_growth_covered(struct journal *journal, int64_t bytes)
{
    journal->growth -= bytes;
}

bool journal_forget_before(struct journal *journal, uint64_t sequence)
{
    const struct storage_type *type = journal->storage->type;
    struct directory directory;
    char name[SEGMENT_NAME_SIZE] = "what the snapshot replaces";
    int code = directory_read(journal->storage, &directory);

    /* A segment goes if the next one begins at or before the record after the snapshot. */
    for (size_t i = 0; i + 1 < directory.segments.count && code == 0 &&
                       directory.segments.at[i + 1] <= sequence + 1;
         i++) {
        segment_name(directory.segments.at[i], name);
        int64_t size = storage_file_size(journal->storage, name);
        code = type->remove(journal->storage, name);
        if (code == 0 && size > 0) {
            atomic_fetch_sub(&journal->stored, size);
        }
    }
    for (size_t i = 0; i < directory.snapshots.count && code == 0; i++) {
        if (directory.snapshots.at[i] < sequence) {
            snapshot_name(directory.snapshots.at[i], name);
            code = type->remove(journal->storage, name);
        }
    }
    directory_free(&directory);
    if (code != 0) {
        /* It only takes room; the next start tries again. */
        log_line(journal->options.log, LOG_WARNING, "%s: cannot be removed: %s", name,
                 strerror(-code));
    }
    return code == 0;
}

uint64_t journal_last(const struct journal *journal)
{
    return journal->last;
}

uint32_t journal_chain(const struct journal *journal)
{
    return journal->chain;
}

int64_t journal_growth(const struct journal *journal)
{
    return journal->growth;
}

int64_t journal_spare(const struct journal *journal)
{
    return atomic_load(&journal->spare);
}

int64_t journal_stored(const struct journal *journal)
{
    return atomic_load(&journal->stored);
}

uint64_t journal_snapshot(const struct journal *journal)
{
    return journal->snapshot;
}

struct storage *journal_storage(struct journal *journal)
{
    return journal->storage;
}
