/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of sales, carried out: together if all goes well (batch.c), with care if not
 * (careful.c). */
#ifndef LEDGER_BATCH_H
#define LEDGER_BATCH_H

#include "ledger/link.h"
#include "ledger/state.h"

/* Decides every entry of a batch, as far as there is time. */
void ledger_batch_run(struct ledger_writer *writer, struct ledger_batch *batch);

/* Entries of a batch that are carried out together, in the order of arrival. */
struct ledger_span {
    struct ledger_batch *batch;
    struct ledger_entry **entries;
    size_t count;
};

/* Leaves out what is decided, and what is too late for: that is answered LEDGER_AWAY. */
void ledger_span_trim(struct ledger_span *span);

/* Decides all that is not decided. */
void ledger_span_answer(const struct ledger_span *span, enum ledger_answer answer,
                        const struct problem *problem);

/* Makes the entries of one state another: tentative ones decided, or pending again. */
size_t ledger_span_turn(const struct ledger_span *span, enum ledger_entry_state from,
                        enum ledger_entry_state to);

static inline struct ledger_detail *ledger_detail_of(const struct ledger_batch *batch,
                                                     const struct ledger_entry *entry)
{
    return &batch->details[entry - batch->entries];
}

/* What became of a transaction, as far as its span has to know. */
enum ledger_attempt {
    LEDGER_ATTEMPT_DONE,    /* committed */
    LEDGER_ATTEMPT_MISSED,  /* not what was expected */
    LEDGER_ATTEMPT_REFUSED, /* by the database */
    LEDGER_ATTEMPT_AGAIN,   /* came to nothing, and may be tried again */
    LEDGER_ATTEMPT_LOST,    /* all that is left to do is done */
};

/* Deals with the result of a transaction: ends its number, with the sales that were carried out if
 * it was committed, and finds out if that is not known. `times` counts those that came to nothing.
 * */
enum ledger_attempt ledger_batch_settle(struct ledger_writer *writer,
                                        const struct ledger_span *span, enum sql_result result,
                                        uint64_t number, size_t sales, unsigned *times);

/* Is there a connection? If none can be made, the span is answered LEDGER_AWAY. */
bool ledger_batch_connect(struct ledger_writer *writer, const struct ledger_span *span);

/* ---- the slow way ---------------------------------------------------------------------------- */

void ledger_careful_run(struct ledger_writer *writer, struct ledger_span span);

/* ---- what a transaction is made of: transaction.c -------------------------------------------- */

bool ledger_scratch_init(struct ledger_scratch *scratch, size_t batch_max);
void ledger_scratch_free(struct ledger_scratch *scratch);

/* Values of one HOLDS, which there is room for at least. */
#define LEDGER_HOLD_ADD_VALUES 14
#define LEDGER_HOLD_SET_VALUES 19
#define LEDGER_HOLD_TELL_VALUES 9
/* Texts that a notice of a hold needs. */
#define LEDGER_HOLD_TEXTS 2
#define LEDGER_HOLDS_VALUES                                                                        \
    (LEDGER_HOLDS_MAX * (LEDGER_HOLD_ADD_VALUES + LEDGER_HOLD_SET_VALUES + LEDGER_HOLD_TELL_VALUES))

/* Room for the values of a step. */
struct sql_value *ledger_scratch_values(struct ledger_scratch *scratch, size_t count);

/* Finds out which counters the entries have, and sorts them: everybody locks them in one order. */
void ledger_transaction_totals(struct ledger_writer *writer, const struct ledger_span *span);

/* The entries of this state, with nothing in front and the COMMIT to follow: fence, rows, counters;
 * and what nobody may exceed, if `guarded`. */
#define LEDGER_STEPS_MAX 8
size_t ledger_transaction_steps(struct ledger_writer *writer, const struct ledger_span *span,
                                enum ledger_entry_state state, bool guarded, uint64_t number,
                                struct sql_step steps[LEDGER_STEPS_MAX]);

#endif
