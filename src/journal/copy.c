/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the newest valid snapshot and the segments after it while the owner may write, and
 * retries when the owner replaces them meanwhile. */
#include "journal/copy.h"

#include "journal/directory.h"
#include "journal/snapshot.h"
#include "journal/examine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define ATTEMPTS 20
#define PIECE ((size_t)1 << 20)

enum copy_outcome {
    COPY_DONE,
    COPY_AGAIN, /* the owner put a snapshot in place of what was to be copied */
    COPY_FAILED
};

struct copying {
    struct storage *from, *to;
    struct directory directory; /* of `from`, as it was listed */
    struct buffer bytes;        /* of the file that is being copied */
    copy_progress *progress;
    void *context;
    int64_t done, total;
    int64_t free_bytes; /* where the copy goes, before it was begun; -1: not known */
    struct copied *copied;
    char *why;
};

static enum copy_outcome cannot(struct copying *copying, const char *name, const char *what,
                                int code)
{
    const char *advice = storage_is_full(code) ? "; make room there, or choose another place" : "";
    char cause[STORAGE_WHY_SIZE];

    if (code == -ENOENT) {
        return COPY_AGAIN;
    }
    /* The sizes of all files are more than enough: they have room made in advance. */
    storage_why(code, copying->total, copying->free_bytes, cause);
    snprintf(copying->why, 256, "%.30s: cannot be %.8s: %s%s", name, what, cause, advice);
    return COPY_FAILED;
}

static enum copy_outcome bad(struct copying *copying, const char *name,
                             const struct examined *examined)
{
    snprintf(copying->why, 256, "%s at byte %" PRId64 ": %s", name, examined->end,
             examined->state == EXAMINED_NEWER ? "written by a newer version of this program"
                                               : "damaged");
    return COPY_FAILED;
}

/* ---- one file -------------------------------------------------------------------------------- */

static int write_pieces(struct copying *copying, int handle, struct hf_bytes data)
{
    for (size_t at = 0; at < data.size; at += PIECE) {
        size_t size = data.size - at < PIECE ? data.size - at : PIECE;
        int code = storage_write_all(copying->to, handle, (int64_t)at, data.data + at, size);
        if (code != 0) {
            return code;
        }
        if (copying->progress != NULL) {
            copying->progress(copying->context, copying->done + (int64_t)(at + size),
                              copying->total);
        }
    }
    return copying->to->type->sync(copying->to, handle);
}

/* -EILSEQ if the file is not what was written. */
static int read_back(struct storage *storage, int handle, struct hf_bytes data)
{
    char piece[65536];

    if (storage->type->size(storage, handle) != (int64_t)data.size) {
        return -EILSEQ;
    }
    for (size_t at = 0; at < data.size;) {
        size_t want = data.size - at < sizeof piece ? data.size - at : sizeof piece;
        int64_t got = storage->type->read(storage, handle, (int64_t)at, piece, want);
        if (got == -EINTR) {
            continue;
        }
        if (got <= 0 || memcmp(piece, data.data + at, (size_t)got) != 0) {
            return got < 0 ? (int)got : -EILSEQ;
        }
        at += (size_t)got;
    }
    return 0;
}

static enum copy_outcome write_file(struct copying *copying, const char *name, int64_t size)
{
    struct storage *to = copying->to;
    struct hf_bytes data = {copying->bytes.data, (size_t)size};
    int handle = to->type->open(to, name, STORAGE_CREATE);
    int code = handle < 0 ? handle : write_pieces(copying, handle, data);

    if (code == 0) {
        code = read_back(to, handle, data);
    }
    if (handle >= 0) {
        to->type->close(to, handle);
    }
    copying->done += (int64_t)copying->bytes.size;
    copying->copied->files++;
    copying->copied->bytes += size;
    if (code == -EILSEQ) {
        snprintf(copying->why, 256,
                 "%s: what was written reads back differently: is the disk good?", name);
        return COPY_FAILED;
    }
    return code == 0 ? COPY_DONE : cannot(copying, name, "written", code == -ENOENT ? -EIO : code);
}

/* ---- which files ----------------------------------------------------------------------------- */

/* The newest valid one. */
static enum copy_outcome copy_snapshot(struct copying *copying)
{
    const struct numbers *snapshots = &copying->directory.snapshots;
    char name[SNAPSHOT_NAME_SIZE] = "";

    for (size_t i = snapshots->count; i-- > 0;) {
        struct examined examined;
        snapshot_name(snapshots->at[i], name);
        int code = examine_snapshot(copying->from, snapshots->at[i], &copying->bytes, &examined);
        if (code != 0) {
            return cannot(copying, name, "read", code);
        }
        if (examined.state == EXAMINED_NEWER) {
            return bad(copying, name, &examined);
        }
        if (examined.state == EXAMINED_GOOD) {
            copying->copied->snapshot = copying->copied->last = snapshots->at[i];
            return write_file(copying, name, examined.end);
        }
        copying->done += (int64_t)copying->bytes.size;
    }
    return COPY_DONE;
}

static enum copy_outcome copy_segment(struct copying *copying, uint64_t number, bool newest)
{
    struct examined examined;
    char name[SEGMENT_NAME_SIZE];

    segment_name(number, name);
    int code = examine_segment(copying->from, number, newest, &copying->bytes, &examined);
    if (code != 0) {
        return cannot(copying, name, "read", code);
    }
    if (examined.state == EXAMINED_UNBEGUN) {
        return COPY_DONE;
    }
    if (examined.state != EXAMINED_GOOD && examined.state != EXAMINED_TORN) {
        return bad(copying, name, &examined);
    }
    if (examined.last > copying->copied->last) {
        copying->copied->last = examined.last;
    }
    return write_file(copying, name, examined.end);
}

/* From the last segment that begins at or before the record after the snapshot. */
static enum copy_outcome copy_segments(struct copying *copying)
{
    const struct numbers *segments = &copying->directory.segments;
    uint64_t next = copying->copied->snapshot + 1;
    enum copy_outcome outcome = COPY_DONE;
    size_t first = 0;

    while (first + 1 < segments->count && segments->at[first + 1] <= next) {
        first++;
    }
    if (segments->count > 0 && segments->at[first] > next) {
        snprintf(copying->why, 256,
                 "record %" PRIu64 " is missing: the journal begins with %" PRIu64
                 " and there is no valid snapshot that reaches it",
                 next, segments->at[first]);
        return COPY_AGAIN; /* or was just replaced */
    }
    for (size_t i = first; i < segments->count && outcome == COPY_DONE; i++) {
        outcome = copy_segment(copying, segments->at[i], i + 1 == segments->count);
    }
    return outcome;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void add_size(struct copying *copying, const char *name)
{
    int64_t size = storage_file_size(copying->from, name);

    copying->total += size > 0 ? size : 0;
}

static void add_up(struct copying *copying)
{
    const struct directory *directory = &copying->directory;
    char name[SEGMENT_NAME_SIZE];

    copying->done = copying->total = 0;
    for (size_t i = 0; i < directory->segments.count; i++) {
        segment_name(directory->segments.at[i], name);
        add_size(copying, name);
    }
    for (size_t i = 0; i < directory->snapshots.count; i++) {
        snapshot_name(directory->snapshots.at[i], name);
        add_size(copying, name);
    }
}

static enum copy_outcome attempt(struct copying *copying)
{
    int code = directory_read(copying->from, &copying->directory);

    *copying->copied = (struct copied){.snapshot = 0};
    copying->free_bytes = storage_free_bytes(copying->to);
    copying->why[0] = '\0';
    enum copy_outcome outcome = COPY_DONE;
    if (code != 0) {
        outcome = cannot(copying, "the directory", "read", code);
    }
    if (outcome == COPY_DONE) {
        add_up(copying);
        outcome = copy_snapshot(copying);
    }
    outcome = outcome == COPY_DONE ? copy_segments(copying) : outcome;
    if (outcome == COPY_DONE) {
        code = copying->to->type->sync_directory(copying->to);
        outcome = code == 0 ? COPY_DONE : cannot(copying, "the copy", "synced", code);
    }
    directory_free(&copying->directory);
    return outcome;
}

bool copy_data(struct storage *from, struct storage *to, copy_progress *progress, void *context,
               struct copied *copied, char why[256])
{
    struct memory memory;
    struct copying copying = {.from = from,
                              .to = to,
                              .progress = progress,
                              .context = context,
                              .copied = copied,
                              .why = why};
    enum copy_outcome outcome = COPY_AGAIN;

    memory_init(&memory);
    buffer_init(&copying.bytes, &memory);
    for (int i = 0; i < ATTEMPTS && outcome == COPY_AGAIN; i++) {
        int code = copy_clear(to);
        outcome = code == 0 ? attempt(&copying) : cannot(&copying, "the copy", "cleared", code);
    }
    buffer_free(&copying.bytes);
    if (outcome == COPY_AGAIN && why[0] == '\0') {
        snprintf(
            why, 256,
            "its files were replaced by a snapshot %d times while being copied; try again when "
            "it is less busy",
            ATTEMPTS);
    }
    return outcome == COPY_DONE;
}

/* ---- clearing -------------------------------------------------------------------------------- */

struct clearing {
    struct storage *storage;
    int code;
};

static void clear_one(void *context, const char *name)
{
    struct clearing *clearing = context;

    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
        int code = clearing->storage->type->remove(clearing->storage, name);
        clearing->code = clearing->code != 0 ? clearing->code : code;
    }
}

int copy_clear(struct storage *storage)
{
    struct clearing clearing = {.storage = storage};
    int code = storage->type->list(storage, clear_one, &clearing);

    return code != 0 ? code : clearing.code;
}
