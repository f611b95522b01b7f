/* SPDX-License-Identifier: Apache-2.0
 *
 * A consistent copy of a data directory whose owner may be at work: the newest valid snapshot and
 * the segments after it, up to the last valid record. The copy is synced and read back. */
#ifndef JOURNAL_COPY_H
#define JOURNAL_COPY_H

#include "journal/storage.h"

struct copied {
    uint64_t snapshot; /* 0: none */
    uint64_t last;     /* number of the last record */
    size_t files;
    int64_t bytes;
};

typedef void copy_progress(void *context, int64_t done, int64_t total);

/* Copies into `to`, an empty directory of the caller's own. False and `why` if it cannot be done:
 * what is in `to` then is of no use. `progress` may be NULL. */
bool copy_data(struct storage *from, struct storage *to, copy_progress *progress, void *context,
               struct copied *copied, char why[256]);

/* Removes every file of a directory; 0 or a negative errno. */
int copy_clear(struct storage *storage);

#endif
