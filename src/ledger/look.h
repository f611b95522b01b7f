/* SPDX-License-Identifier: Apache-2.0
 *
 * What the slow way has to know before it decides. */
#ifndef LEDGER_LOOK_H
#define LEDGER_LOOK_H

#include "ledger/batch.h"

/* Begins a transaction that locks the counters of a span's entries, and fills in: of each entry
 * whether its id is there (exists, differs, detail.found) and what the user has (had); of each
 * counter what is left, and how many rows it has in the database. */
enum sql_result ledger_look(struct ledger_writer *writer, const struct ledger_span *span,
                            int64_t deadline_ms);

#endif
