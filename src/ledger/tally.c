/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts, for one writer, what the engine has not been told yet. */
#include "ledger/tally.h"

#include "base/check.h"

#include <stdlib.h>

#define CAPACITY_FIRST 64
#define OPEN (-1)

void ledger_tally_free(struct ledger_tally *tally)
{
    free(tally->untold);
}

static int32_t *untold_of(const struct ledger_tally *tally, uint64_t number)
{
    CHECK(number > tally->told && number <= tally->last);
    return &tally->untold[number & (tally->capacity - 1)];
}

/* Numbers keep their place in the ring by their lower bits, of which there is one more now. */
static void grow(struct ledger_tally *tally)
{
    uint64_t capacity = tally->capacity == 0 ? CAPACITY_FIRST : 2 * tally->capacity;
    int32_t *untold = malloc(capacity * sizeof *untold);

    CHECK(untold != NULL);
    for (uint64_t number = tally->told + 1; number <= tally->last; number++) {
        untold[number & (capacity - 1)] = *untold_of(tally, number);
    }
    free(tally->untold);
    tally->untold = untold;
    tally->capacity = capacity;
}

uint64_t ledger_tally_begin(struct ledger_tally *tally)
{
    if (tally->last - tally->told == tally->capacity) {
        grow(tally);
    }
    tally->last++;
    *untold_of(tally, tally->last) = OPEN;
    return tally->last;
}

static void advance(struct ledger_tally *tally)
{
    while (tally->told < tally->last && *untold_of(tally, tally->told + 1) == 0) {
        tally->told++;
    }
}

void ledger_tally_end(struct ledger_tally *tally, uint64_t number, size_t sales)
{
    int32_t *untold = untold_of(tally, number);

    CHECK(*untold == OPEN);
    *untold = (int32_t)sales;
    advance(tally);
}

void ledger_tally_tell(struct ledger_tally *tally, uint64_t number)
{
    int32_t *untold = untold_of(tally, number);

    CHECK(*untold > 0);
    (*untold)--;
    advance(tally);
}
