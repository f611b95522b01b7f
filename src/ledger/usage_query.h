/* SPDX-License-Identifier: Apache-2.0
 *
 * The query of a reading of usage: whether it can be asked for in pages, and the statements that do
 * so in each dialect. */
#ifndef LEDGER_USAGE_QUERY_H
#define LEDGER_USAGE_QUERY_H

#include "ledger/sql.h"

/* INVALID_ARGUMENT, and why, for one that is no single SELECT. */
enum hf_error usage_query_check(const char *query, struct problem *problem);

/* The statement for a page of at most `limit` tenants behind a name, or for the tenant of that name
 * if `limit` is 0. To be freed; NULL when there is no memory. */
char *usage_query_text(enum sql_dialect dialect, const char *query, unsigned limit);

#endif
