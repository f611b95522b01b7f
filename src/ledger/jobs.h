/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: all that is not a sale. */
#ifndef LEDGER_JOBS_H
#define LEDGER_JOBS_H

#include "ledger/outbox.h"
#include "ledger/state.h"

/* Carries a job out, or finds out that it cannot be until its deadline. */
void ledger_job_run(struct ledger_writer *writer, struct ledger_job *job);

/* A job while it is carried out. */
struct ledger_job_run {
    struct ledger_writer *writer;
    struct ledger_job *job;
    uint64_t number;     /* of its transaction, if it writes */
    int64_t deadline_ms; /* of its transaction */
    struct sql_value fence[5];
    struct sql_value notice[LEDGER_NOTICE_VALUES];
    char noticed[LEDGER_NOTICED_MAX];
};

/* Each begins and ends a transaction, and says what is to be answered if it is committed. */
typedef enum sql_result ledger_job_task(struct ledger_job_run *run);

ledger_job_task ledger_job_find, ledger_job_end, ledger_job_cancel; /* jobs_row.c */
ledger_job_task ledger_job_stock, ledger_job_zone, ledger_job_read; /* jobs_counter.c */
ledger_job_task ledger_job_lease, ledger_job_unlease;               /* jobs_lease.c */
ledger_job_task ledger_job_mark, ledger_job_stale, ledger_job_bury; /* jobs_writers.c */
ledger_job_task ledger_job_drift, ledger_job_audit;                 /* jobs_audit.c */
ledger_job_task ledger_job_note, ledger_job_due, ledger_job_settle; /* jobs_outbox.c */
ledger_job_task ledger_job_replay, ledger_job_sweep;
ledger_job_task ledger_job_saga_move, ledger_job_saga_find; /* jobs_saga.c */
ledger_job_task ledger_job_saga_claim, ledger_job_saga_wake;
ledger_job_task ledger_job_saga_list;                                 /* jobs_saga_list.c */
ledger_job_task ledger_job_holds, ledger_job_lapsed, ledger_job_list; /* jobs_bookings.c */

/* The columns of SAGA in statements.c. */
void ledger_saga_read(struct ledger_saga *saga, const struct sql_value *columns);

/* Carries out steps of it. */
enum sql_result ledger_job_steps(struct ledger_job_run *run, const struct sql_step *steps,
                                 size_t count, bool commit);
/* Ends the transaction where there is nothing more to do, with an answer. */
enum sql_result ledger_job_leave(struct ledger_job_run *run, enum ledger_answer answer);
/* The first step of those that write. */
struct sql_step ledger_job_fence(struct ledger_job_run *run);

/* Adds the step that writes the job's notice, if it has one: behind the steps that make the change,
 * in the same transaction. `noticed` is what it is made of if the notice has no data of its own. */
void ledger_job_notice(struct ledger_job_run *run, const struct ledger_noticed *noticed,
                       struct sql_step *steps, size_t *count);

/* The first number of a query's row, into an int64_t. */
void ledger_see_number(void *context, size_t row, const struct sql_value *columns, size_t count);

/* Notes in the database what this process' writers know as told: those that have something new to
 * note, or all of them, as a sign of life. */
enum sql_result ledger_job_marks(struct ledger_job_run *run, bool all);

#endif
