/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer: a thread with one connection, which carries out batches and jobs. */
#ifndef LEDGER_WRITER_H
#define LEDGER_WRITER_H

#include "ledger/state.h"

/* The thread. */
void *ledger_writer_run(void *writer);

/* Waits, longer the more often, by a random part; false if the ledger is being closed. */
bool ledger_writer_pause(struct ledger_writer *writer, unsigned times);

/* The number of a new transaction. */
uint64_t ledger_writer_begin(struct ledger_writer *writer);
/* Its first step; `values` has room for LEDGER_FENCE_VALUES. */
#define LEDGER_FENCE_VALUES 5
struct sql_step ledger_writer_fence(struct ledger_writer *writer, uint64_t number,
                                    struct sql_value *values);
/* It is over, with so many sales that the engine is to be told of. */
void ledger_writer_end(struct ledger_writer *writer, uint64_t number, size_t sales);

/* Counts something, under the lock. */
void ledger_writer_count(struct ledger_writer *writer, uint64_t *figure);

/* A step of one row of values. */
struct sql_step ledger_step(const struct ledger_writer *writer, enum ledger_statement statement,
                            const struct sql_value *values, int64_t expected);
/* A query of one row of values. */
struct sql_step ledger_query(const struct ledger_writer *writer, enum ledger_statement statement,
                             const struct sql_value *values, sql_each *each, void *context);
/* Of a query whose rows nobody reads. */
void ledger_see_nothing(void *context, size_t row, const struct sql_value *columns, size_t count);

#endif
