/* SPDX-License-Identifier: Apache-2.0
 *
 * The write-ahead log of a directory, its snapshots, and recovery from both. It knows bytes and
 * sequence numbers, not commands.
 *
 * Writing goes in batches: journal_append() collects records, journal_take() closes the batch, and
 * journal_flush() puts it on disk. journal_flush() touches nothing that journal_append() does, so
 * that one thread may wait for the disk while another goes on appending.
 *
 * Room on disk is made in steps, from a 64th of a segment to the whole of it, and where there is
 * too little for a step in smaller ones or none: that is no failure. The first failure of a write
 * or a sync is the end: journal_failure() says why, every later flush
 * fails, and what was appended since the last good flush is not durable and must not be
 * acknowledged. */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "base/log.h"
#include "journal/storage.h"

enum journal_policy {
    JOURNAL_ALWAYS,   /* a flush ends with a sync */
    JOURNAL_EVERYSEC, /* a sync once a second: journal_sync() */
    JOURNAL_NO,       /* the system decides */
};

struct journal_options {
    enum journal_policy policy;
    int64_t segment_bytes; /* a new segment is begun when one has grown to this */
    bool read_only;        /* takes no lock, cuts no tail, removes nothing; for looking only */
    const struct log *log;
};

/* What a sink says of what it was handed. All but the first end the recovery; of what it refuses it
 * has filled in what was wrong. */
enum journal_taken { JOURNAL_TAKEN, JOURNAL_REFUSED, JOURNAL_NO_MEMORY };

/* A sink that decodes has room for so many records that are not applied yet. */
#define JOURNAL_SLOTS 1024

/* What recovery finds, in order: at most one state, then the records after it.
 *
 * Records are handed over in one step, by `record`, or in two, so that one is read, checked and
 * decoded while those before it are applied on another thread: decode() puts record `number`,
 * counted from 0, into its slot, `number` % JOURNAL_SLOTS, and apply() takes those from `from` to
 * before `to` out of theirs. The bytes stay until then. The two never have a slot in common. */
struct journal_sink {
    enum journal_taken (*state)(void *context, uint64_t sequence, struct reader *state,
                                char why[256]);
    enum journal_taken (*record)(void *context, uint64_t sequence, int64_t time_ms,
                                 struct hf_bytes command, char why[256]);
    /* NULL: there is `record`. */
    enum journal_taken (*decode)(void *context, uint64_t number, int64_t time_ms,
                                 struct hf_bytes command, char why[256]);
    /* Returns the number of the first that was not taken, `to` if all were. */
    uint64_t (*apply)(void *context, uint64_t from, uint64_t to, enum journal_taken *taken,
                      char why[256]);
    bool *no_memory; /* set if recovery ended for want of memory; may be NULL */
    /* Now and then: bytes of the journal read, of all there are. May be NULL. */
    void (*progress)(void *context, int64_t done, int64_t total);
    void *context;
};

struct journal;

/* Recovers a directory and opens it for appending. NULL and `why` (what, where, and what to do) if
 * it is in use, damaged, or of a newer version; nothing is changed then. The journal takes the
 * storage over in any case. */
struct journal *journal_open(struct storage *storage, const struct journal_options *options,
                             const struct journal_sink *sink, char why[256]);
/* What was not flushed is lost. */
void journal_close(struct journal *journal);

/* Makes sure that appending a record of this size cannot fail. */
bool journal_reserve(struct journal *journal, size_t size);
/* Appends to the open batch; returns the record's sequence number. */
uint64_t journal_append(struct journal *journal, int64_t time_ms, struct hf_bytes command);

/* Closes the open batch for journal_flush(). False if there is nothing to flush. */
bool journal_take(struct journal *journal);
/* Writes the taken batch, and syncs it if the policy is `always`. */
bool journal_flush(struct journal *journal);
/* Notifies the appending side that the last flush or sync is over. */
void journal_flushed(struct journal *journal);
/* Syncs what was written. */
bool journal_sync(struct journal *journal);
/* Syncs it and begins a new segment, if the newest one is large enough, so that a snapshot of all
 * that was appended replaces it whole. Nothing may be taken or appended that is not flushed. */
bool journal_cut(struct journal *journal);

/* Why nothing can be written any more; NULL if all is well. */
const char *journal_failure(const struct journal *journal);

uint64_t journal_last(const struct journal *journal);  /* the last number given */
uint32_t journal_chain(const struct journal *journal); /* the checksum of the last record */
int64_t journal_growth(const struct journal *journal); /* bytes written since the last snapshot */
uint64_t journal_snapshot(const struct journal *journal); /* the one recovered from; 0: none */

/* These two may be asked for while another thread flushes. */
int64_t journal_stored(const struct journal *journal); /* size of all segments on disk */
int64_t journal_spare(const struct journal *journal);  /* room made that is not written to yet */

/* So much of the growth is in a snapshot. */
void journal_growth_covered(struct journal *journal, int64_t bytes);
/* Removes what the snapshot as of record `sequence` replaces. May run on a thread of its own. */
bool journal_forget_before(struct journal *journal, uint64_t sequence);

struct storage *journal_storage(struct journal *journal);

#endif
