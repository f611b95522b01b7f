/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of records from a segment into a sink: those that a sink decodes wait in its slots while
 * a thread applies the ones before them. */
#ifndef JOURNAL_REPLAY_H
#define JOURNAL_REPLAY_H

#include "base/follower.h"
#include "journal/journal.h"
#include "journal/record.h"

/* How applying ended: where it stopped, and why, unless all was taken. */
struct replay_end {
    enum journal_taken taken;
    size_t offset; /* in its segment */
    char why[256];
};

struct replay {
    const struct journal_sink *sink;
    struct follower follower;
    uint64_t added;                /* records handed over */
    size_t offsets[JOURNAL_SLOTS]; /* of those in the slots */
    struct replay_end end;         /* of the side that applies, until all is */
};

/* `alone`: without a thread. */
void replay_begin(struct replay *replay, const struct journal_sink *sink, bool alone);

/* Hands a record over, which stands at an offset of its segment and stays there until
 * replay_settle(), which also tells what became of applying it: here is only what the sink says of
 * it at once. */
enum journal_taken replay_add(struct replay *replay, const struct journal_record *record,
                              size_t offset, char why[256]);

/* Returns when all that was handed over is applied, or one was refused. */
void replay_settle(struct replay *replay, struct replay_end *end);

void replay_end(struct replay *replay);

#endif
