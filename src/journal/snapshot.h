/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshot files: the whole state as it was after a record of the journal. A file
 * "snapshot-SSSSSSSSSSSSSSSSSSSS", where S is the sequence number of that record in 20 decimal
 * digits. All numbers are little-endian.
 *
 *     offset  size
 *          0     8   magic "HFSNAPS\n"
 *          8     4   version, SNAPSHOT_FILE_VERSION
 *         12     4   chain: the checksum of record S
 *         16     8   sequence number S
 *         24     8   length of the state
 *         32     4   crc32c over the state
 *         36     4   crc32c over the 36 bytes before
 *         40         the state (core/snapshot.c)
 *
 * A snapshot is valid if
 *   1. both checksums are right and the version is known,
 *   2. its name and its sequence number agree,
 *   3. the file ends where the state does. */
#ifndef JOURNAL_SNAPSHOT_H
#define JOURNAL_SNAPSHOT_H

#include "journal/storage.h"

#define SNAPSHOT_FILE_VERSION 1
#define SNAPSHOT_HEADER 40

struct snapshot_header {
    uint64_t sequence;
    uint32_t chain;
    uint32_t state_crc; /* over the state, which has so many bytes */
    uint64_t state_size;
};

enum snapshot_check { SNAPSHOT_GOOD, SNAPSHOT_DAMAGED, SNAPSHOT_NEWER };

/* Checks a whole file; *state is a view of it. */
enum snapshot_check snapshot_read(struct hf_bytes file, struct snapshot_header *header,
                                  struct hf_bytes *state);

/* The state in a snapshot file, a part of it in memory at a time. */
struct snapshot_file {
    struct reader state; /* from its first byte to its last */
    struct storage *storage;
    int handle;
    int64_t offset; /* of the first byte of the file behind the window */
    struct memory memory;
    struct buffer window;
    int code; /* why no more of it could be read, a negative errno; or 0 */
    /* Called as the state is read, with the bytes of the file so far; may be NULL. */
    void (*was_read)(void *context, int64_t bytes);
    void *context;
};

/* Checks a file as a whole, then gives its state to be read if it is good. A negative errno if it
 * cannot be read. To be closed if it is 0, whatever *check is. */
int snapshot_open(struct storage *storage, const char *name, struct snapshot_file *file,
                  struct snapshot_header *header, enum snapshot_check *check);
void snapshot_close(struct snapshot_file *file);

/* A new file under a temporary name: a handle, or a negative errno. Who writes to it needs no
 * names: one that comes late, when another process owns the directory, writes to a file that is
 * gone. */
int snapshot_create(struct storage *storage);

/* Called after each piece of the work, at least once a mebibyte. */
struct snapshot_progress {
    void (*tell)(void *context);
    void *context;
};

/* A snapshot that is being written to that file, in any number of pieces. After a failure they are
 * ignored. `progress` may be NULL. */
struct snapshot_writer {
    struct storage *storage;
    int handle;
    const struct snapshot_progress *progress;
    int64_t at;     /* where the next piece goes */
    int64_t synced; /* so far it was synced */
    int code;       /* 0, or the negative errno of what failed first */
};

void snapshot_write_header(struct snapshot_writer *writer, const struct snapshot_header *header);
bool snapshot_write_piece(struct snapshot_writer *writer, struct hf_bytes piece);

/* Syncs the file, reads it back and checks it. A negative errno if that or anything before failed;
 * -EILSEQ if what was read back is not what the header says. */
int snapshot_write_end(struct snapshot_writer *writer, const struct snapshot_header *header);

/* Removes what was not finished, if it is there: it takes up room that the journal may need. */
void snapshot_discard(struct storage *storage);

/* Gives the snapshot that was written its name, for good. */
int snapshot_publish(struct storage *storage, uint64_t sequence);

/* "snapshot-…" */
#define SNAPSHOT_NAME_SIZE 40
void snapshot_name(uint64_t sequence, char out[SNAPSHOT_NAME_SIZE]);

#endif
