/* SPDX-License-Identifier: Apache-2.0
 *
 * How far an engine is from the ledger, as far as that is certain. */
#ifndef SERVICE_INTERVAL_H
#define SERVICE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* What was read of a product: in the engine, then in the ledger, then in the engine again. A zone
 * is read in the same way: its seats that are not confirmed, reserved ones included. */
struct interval_reading {
    int64_t engine_before, engine_after; /* available + taken */
    int64_t total_before, total_after;   /* the engine's total, which only ADJUST and LOAD move */
    int64_t available_after;
    int64_t stock;   /* in the ledger */
    int64_t selling; /* sold in the ledger; the engine may not have been told */
    int64_t ending;  /* returned in the ledger; the engine may not have been told */
};

/* The engine has between so many too many and so many too many; less than 0: too few. */
struct interval {
    bool known; /* false: the total moved between the two readings of the engine; read again */
    int64_t low, high;
};

struct interval interval_of(const struct interval_reading *reading);

/* By how much the engine's stock is to be moved: what is certain and can be done now; 0:
 * nothing. */
int64_t interval_correction(const struct interval *interval,
                            const struct interval_reading *reading);

/* How far the engine is off at least, to either side. */
int64_t interval_difference(const struct interval *interval);

/* Could a second reading of the engine show a difference that is certain? Needs only the first. */
bool interval_is_suspicious(const struct interval_reading *reading);

#endif
