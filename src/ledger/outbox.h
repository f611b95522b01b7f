/* SPDX-License-Identifier: Apache-2.0
 *
 * The outbox: notices that wait to be delivered. The rules of its rows:
 *
 *     1. A row is written by the transaction of the change that it tells of.
 *     2. It is pending until it was delivered or given up; a replay makes it pending again.
 *     3. Of one subject (scope and id) only the pending row with the lowest id may be delivered.
 *     4. Rows that ended are removed when they are old; pending ones never are. */
#ifndef LEDGER_OUTBOX_H
#define LEDGER_OUTBOX_H

#include "ledger/ledger.h"
#include "ledger/sql.h"

#define LEDGER_NOTICE_VALUES 4

/* The values of LEDGER_NOTICE_ADD. */
void ledger_notice_values(struct hf_bytes scope, struct hf_bytes id, const char *type,
                          struct hf_bytes data, struct sql_value values[LEDGER_NOTICE_VALUES]);

#endif
