/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what each tenant uses from an SQL database, by a query that is a setting: its first column
 * is the tenant, its second what the tenant uses. A reading has a connection and a thread of its
 * own, and asks for a page of tenants at a time, each with a deadline. Nobody sees a part of it:
 * either all pages were read, or there is a problem. */
#ifndef LEDGER_USAGE_H
#define LEDGER_USAGE_H

#include "base/problem.h"

#define USAGE_QUERY                                                                                \
    "SELECT tenant_id, SUM(size) FROM files WHERE status = 'AVAILABLE' GROUP BY tenant_id"
#define USAGE_QUERY_MAX 4000
/* More tenants than this a reading does not hold in memory. */
#define USAGE_TENANTS_MAX 5000000

enum usage_fault {
    USAGE_FINE,
    USAGE_NO_ID,     /* the tenant's name is none that a tenant can have */
    USAGE_NULL,      /* there is no sum */
    USAGE_NEGATIVE,  /* it is below 0 */
    USAGE_NO_NUMBER, /* it is no whole number */
    USAGE_TOO_LARGE, /* it is more than 2^53-1 */
};

struct usage_row {
    struct hf_bytes tenant; /* at most HF_ID_MAX bytes of it */
    enum usage_fault fault;
    int64_t used;          /* if there is no fault */
    struct hf_bytes value; /* if there is one: the beginning of what the database answered */
};

struct usage_options {
    const char *url, *query;
    struct hf_bytes tenant; /* the only one to be read; empty: all */
    int64_t page_timeout_ms;
    void (*wake)(void *context); /* on the thread, when it is at its end */
    void *wake_context;
};

/* Could there be a reading with this URL and this query? No I/O. */
enum hf_error usage_check(const char *url, const char *query, struct problem *problem);

/* Where it is read from, without secrets. */
void usage_show(const char *url, char *out, size_t size);

struct usage;

/* Begins to read. NULL when there is no memory, or no thread. The options are copied. */
struct usage *usage_begin(const struct usage_options *options);
/* Gives it up, also while it reads: then its thread ends at its next deadline. */
void usage_free(struct usage *usage);

/* Returns when no reading that was given up calls wake() any more. Not with a lock that wake()
 * takes. */
void usage_settle(void);

/* How many tenants were read so far. */
size_t usage_progress(struct usage *usage);
/* Is it at its end? *problem is why it failed, or HF_OK. */
bool usage_ended(struct usage *usage, struct problem *problem);

/* What follows is for one that has ended well. Rows stand in the order of the bytes of their
 * tenants, no tenant twice. */
size_t usage_count(const struct usage *usage);
struct usage_row usage_at(const struct usage *usage, size_t index);
bool usage_has(const struct usage *usage, struct hf_bytes tenant);

const char *usage_fault_text(enum usage_fault fault);

#endif
