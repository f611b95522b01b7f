/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of reconciliation. Nothing is paused while it reads, so the numbers are of
 * different moments; it promises never to correct what is merely in flight.
 *
 * Let E be what the engine has not sold (available + taken) and L what the ledger has not. A take
 * and a give move neither. A sale lowers L at its COMMIT and E at its SETTLE; a return raises L at
 * its COMMIT and E at its ADJUST. With U units sold in the ledger of which the engine was not
 * told, and R units returned likewise, in a right system at every moment
 *
 *     E = L + U - R        and in any system the engine has   D = E - (L + U - R)   too many.
 *
 * L, U' >= U and R' >= R are read at one moment t, in one look at the ledger. E0 is read before t
 * and E2 after it. While the total is not moved by a LOAD or an ADJUST, E only sinks: E0 >= E(t)
 * >= E2. So
 *
 *     E2 - L - U'  <=  D  <=  E0 - L + R'
 *
 * and when nothing is in flight that is a point. An overwrite with L (or with L - taken) would
 * undo the orders between their COMMIT and their SETTLE. */
#include "service/interval.h"

#include "base/check.h"

struct interval interval_of(const struct interval_reading *reading)
{
    struct interval interval = {.known = reading->total_before == reading->total_after};

    CHECK(reading->selling >= 0 && reading->ending >= 0);
    if (interval.known) {
        interval.low = reading->engine_after - reading->stock - reading->selling;
        interval.high = reading->engine_before - reading->stock + reading->ending;
    }
    return interval;
}

int64_t interval_correction(const struct interval *interval, const struct interval_reading *reading)
{
    if (!interval->known || interval->low > interval->high) {
        return 0; /* E rose although the total stood still: it was not read as promised */
    }
    if (interval->low > 0) {
        return -(interval->low < reading->available_after ? interval->low
                                                          : reading->available_after);
    }
    return interval->high < 0 ? -interval->high : 0;
}

int64_t interval_difference(const struct interval *interval)
{
    return interval->low > 0 ? interval->low : interval->high < 0 ? -interval->high : 0;
}

bool interval_is_suspicious(const struct interval_reading *reading)
{
    return reading->engine_before > reading->stock + reading->selling ||
           reading->engine_before < reading->stock - reading->ending;
}
