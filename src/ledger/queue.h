/* SPDX-License-Identifier: Apache-2.0
 *
 * What is submitted, until it is answered. */
#ifndef LEDGER_QUEUE_H
#define LEDGER_QUEUE_H

#include "ledger/state.h"

bool ledger_queue_init(struct ledger *ledger);
void ledger_queue_free(struct ledger *ledger);

/* Under the lock: the next batch, its sales copied, for which the lock is released for a moment;
 * NULL if there is nothing to do, or the caller has to answer others first. */
struct ledger_batch *ledger_queue_take(struct ledger *ledger, struct ledger_writer *writer);
/* Under the lock: the next job, or NULL. */
struct ledger_job *ledger_queue_take_job(struct ledger *ledger);

/* It is decided: the caller's thread answers. */
void ledger_queue_finish(struct ledger *ledger, struct ledger_batch *batch);
void ledger_queue_finish_job(struct ledger *ledger, struct ledger_job *job);

/* Answers LEDGER_AWAY to all that waits: nobody is connected. */
void ledger_queue_refuse_all(struct ledger *ledger);

/* Under the lock: is there something for ledger_turn()? */
bool ledger_has_answers(const struct ledger *ledger);

/* Under the lock: has every writer failed to connect? */
static inline bool ledger_is_down(const struct ledger *ledger)
{
    for (unsigned i = 0; i < ledger->writer_count; i++) {
        if (ledger->writers[i].link != LEDGER_LINK_DOWN) {
            return false;
        }
    }
    return true;
}

/* So many sales that wait are worth another writer while others are busy. */
static inline size_t ledger_crowd(const struct ledger *ledger)
{
    return ledger->batch_max / 4 + 1;
}

#endif
