/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a directory: the newest valid snapshot, then the records after it, by the rules of
 * record.h and snapshot.h. Changes nothing: what is to be cut or removed is only reported. */
#ifndef JOURNAL_RECOVER_H
#define JOURNAL_RECOVER_H

#include "journal/directory.h"
#include "journal/journal.h"

struct recovery {
    uint64_t snapshot; /* the one used; 0: none */
    uint64_t damaged;  /* the newest that was passed over; 0: none */
    uint64_t last;     /* number of the last record, or of the snapshot */
    uint32_t chain;    /* its checksum */
    int64_t bytes;     /* of the segments that were read */
    int64_t growth;    /* of the records after the snapshot */

    /* The segment to go on with, if there is one. */
    bool has_segment;
    uint64_t segment;
    int64_t segment_end; /* behind its last valid record */
    int64_t torn;        /* bytes of a torn tail behind that */

    bool drop_last;     /* the newest segment was never begun properly: it is to be removed */
    uint64_t last_name; /* the number of the newest segment, if drop_last */
};

/* False and `why` if the directory cannot be used as it is. */
bool recover(struct storage *storage, const struct directory *directory,
             const struct journal_sink *sink, struct recovery *recovery, char why[256]);

/* The size of all these segments on disk; one that cannot be looked at counts for nothing. */
int64_t recover_bytes(struct storage *storage, const struct numbers *segments);

#endif
