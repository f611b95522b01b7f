/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver around that for SQLite which fails when it is told to: it loses the connection before or
 * after the COMMIT, hangs, or answers that all is to be tried again. */
#ifndef UNIT_LEDGER_FAULTY_H
#define UNIT_LEDGER_FAULTY_H

#include "ledger/statements.h"

enum fault {
    FAULT_NONE,
    FAULT_AGAIN,       /* nothing happened: a deadlock */
    FAULT_AWAY,        /* nothing happened: the connection is lost */
    FAULT_LOST_BEFORE, /* lost during the COMMIT, which does not happen */
    FAULT_LOST_AFTER,  /* lost during the COMMIT, which happens */
    FAULT_LINGER,      /* lost during the COMMIT, which happens at faulty_commit() */
};

extern const struct sql_driver sql_faulty;

/* As it was in the beginning: nothing fails. */
void faulty_reset(void);
/* The next `times` transactions with this statement fail, after `skipped` that do not. */
void faulty_fail(enum fault fault, enum ledger_statement statement, unsigned skipped,
                 unsigned times);
/* … and each hangs before that, until it is released. */
void faulty_hang(void);
void faulty_wait_until_hanging(void);
void faulty_release(void);
/* Nobody is let in, or everybody is again. */
void faulty_refuse(bool refuses);
/* Who has less time than this to connect is not let in. */
void faulty_slow(int64_t ms);
/* Waits until somebody is let in, since then. */
void faulty_wait_for_entry(void);
/* Waits until somebody has tried to connect so many times, in all. */
void faulty_wait_for_connects(unsigned times);
unsigned faulty_connects(void);
/* Commits the transaction that lingers. */
void faulty_commit(void);

#endif
