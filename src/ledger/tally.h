/* SPDX-License-Identifier: Apache-2.0
 *
 * Which transactions of a writer the engine knows. They are numbered from 1; each is open while it
 * runs, then has so many sales that the engine is to be told of, one by one. What matters is the
 * number up to which it was told of all. */
#ifndef LEDGER_TALLY_H
#define LEDGER_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_tally {
    uint64_t told;     /* all up to it were told, or came to nothing */
    uint64_t last;     /* the newest */
    int32_t *untold;   /* of each after `told`, in a ring: sales to tell of, or -1 while open */
    uint64_t capacity; /* of the ring: a power of 2 */
};

void ledger_tally_free(struct ledger_tally *tally);

/* The number of a new transaction. */
uint64_t ledger_tally_begin(struct ledger_tally *tally);

/* It is over, and so many sales are to be told; 0: it came to nothing. */
void ledger_tally_end(struct ledger_tally *tally, uint64_t number, size_t sales);

/* The engine was told of one sale of a transaction. */
void ledger_tally_tell(struct ledger_tally *tally, uint64_t number);

#endif
