/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in a data directory: which segments, which snapshots, and what was left half done.
 *
 *     name                            what it is
 *     journal-SSSSSSSSSSSSSSSSSSSS    a segment, whose first record is S (record.h)
 *     snapshot-SSSSSSSSSSSSSSSSSSSS   the state after record S (snapshot.h)
 *     snapshot.tmp                    a snapshot that is being written
 *     LOCK                            locked by the owner as long as it runs (storage_posix.c)
 *
 * A name counts if
 *   1. it is one of these to the last byte, S being 20 decimal digits,
 *   2. S is below 2^64.
 * Any other file is left alone. */
#ifndef JOURNAL_DIRECTORY_H
#define JOURNAL_DIRECTORY_H

#include "journal/storage.h"

struct numbers {
    uint64_t *at;
    size_t count, capacity;
};

struct directory {
    struct memory memory;     /* of the numbers */
    struct numbers segments;  /* first sequence numbers, ascending */
    struct numbers snapshots; /* sequence numbers, ascending */
    bool temporary;           /* a snapshot that was not finished */
    bool failed;              /* no memory */
};

#define SEGMENT_NAME_SIZE 40
void segment_name(uint64_t first, char out[SEGMENT_NAME_SIZE]);

/* 0 or a negative errno. directory_free() in any case. */
int directory_read(struct storage *storage, struct directory *directory);
/* The same with memory of the caller's choosing, for tests: it is copied. */
int directory_read_with(struct storage *storage, const struct memory *memory,
                        struct directory *directory);
void directory_free(struct directory *directory);

#endif
