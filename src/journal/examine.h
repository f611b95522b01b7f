/* SPDX-License-Identifier: Apache-2.0
 *
 * Examines one file of a directory by itself: how far it is valid by the rules of record.h and
 * snapshot.h. Whether the files fit together, recover() decides. */
#ifndef JOURNAL_EXAMINE_H
#define JOURNAL_EXAMINE_H

#include "journal/storage.h"

enum examined_state {
    EXAMINED_GOOD,
    EXAMINED_TORN, /* ends in something that a crash, or a writer at work, has left half written */
    EXAMINED_UNBEGUN, /* a newest segment without a header: nothing was ever written to it */
    EXAMINED_DAMAGED,
    EXAMINED_NEWER, /* of a version we do not read */
};

struct examined {
    enum examined_state state;
    uint64_t first, last; /* records of a segment; last = first - 1 if there is none */
    int64_t end;          /* behind the last valid byte; where the damage is */
    int64_t torn;         /* bytes behind that, without the zeros at the end */
};

/* Both read the file into `bytes`, which is cleared before; 0 or a negative errno. A file that is
 * being written can look wrong for a moment, so only what is seen twice is reported. */
int examine_segment(struct storage *storage, uint64_t number, bool newest, struct buffer *bytes,
                    struct examined *examined);
int examine_snapshot(struct storage *storage, uint64_t number, struct buffer *bytes,
                     struct examined *examined);

#endif
