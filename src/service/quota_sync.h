/* SPDX-License-Identifier: Apache-2.0
 *
 * Quota sync: usage as the database has it, set in the engine for all tenants. quota_sync.c has the
 * commands and the timer, quota_sync_run.c the steps of a run, quota_sync_when.c when the timer
 * runs. One run is carried out at a time, also of several servers: the engine has a lock for it. */
#ifndef SERVICE_QUOTA_SYNC_H
#define SERVICE_QUOTA_SYNC_H

#include "ledger/usage.h"
#include "service/service_state.h"

#define SYNC_BATCH 64
/* What a run reports of single tenants; of more it only counts. */
#define SYNC_REPORT_MAX 10000
#define SYNC_WHY_SIZE 96

/* A tenant while the engine is asked about it. */
struct sync_item {
    struct quota_sync *sync;
    char tenant[HF_ID_SIZE];
    bool missing; /* in the answer of the database */
    bool written; /* QUOTA.SYNC was carried out */
    int64_t actual, before, held, after;
    enum hf_error code; /* of what went wrong */
    char why[SYNC_WHY_SIZE];
};

struct sync_entry {
    char tenant[HF_ID_SIZE], why[SYNC_WHY_SIZE];
    const char *outcome; /* "changed", "missing", "skipped" */
    int64_t before, after;
};

/* How often the timer runs. */
struct sync_when {
    int64_t every_ms; /* 0: once a day */
    int minute;       /* of the day, UTC; -1: never */
};

struct quota_sync {
    struct service *service;
    const char *url; /* the database that is read; NULL: there is none */
    struct sync_when when;
    int64_t due_ms;  /* when the timer is looked at next */
    int64_t next_ms; /* when it runs next, of the wall clock */

    /* The run, or the last one. */
    int64_t run; /* its number; 0: there was none yet */
    bool active, dry, timed, locked, drift_lost;
    char tenant[HF_ID_SIZE]; /* the only one; empty: all */
    char lock_id[64];
    int64_t renew_ms, since_ms;
    struct usage *usage;
    size_t at, drift_at, count;
    struct sync_item items[SYNC_BATCH];
    char cursor[HF_CURSOR_SIZE];
    bool last;
    struct problem problem;
    int64_t tenants, applied, changed, drift, missing, skipped;
    struct sync_entry *report;
    size_t report_count, report_capacity;

    /* Of all runs. */
    uint64_t runs, failures, changed_total, drift_total;
    int64_t ended_ms; /* of the last one that did not fail; 0: there was none */
};

/* NULL means never. INVALID_ARGUMENT for what is none. */
enum hf_error sync_when_read(const char *text, struct sync_when *when, struct problem *problem);
/* The next time behind `now_ms`, both of the wall clock. */
int64_t sync_when_next(const struct sync_when *when, int64_t now_ms);

/* Begins a run, whose tenant, dry and timed are set; it is not active any more when it has ended.
 */
void sync_run_begin(struct quota_sync *sync);

#endif
