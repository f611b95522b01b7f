/* SPDX-License-Identifier: Apache-2.0
 *
 * The clocks of a simulated machine: the time since its boot, which only grows until the next boot,
 * and the wall clock, which steps back and forth. There is one machine; an engine keeps a copy of
 * its clock, so what the clock reads stands here. */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "base/clock.h"
#include "dice.h"

void machine_new(void);

/* A clock that runs by the machine's. */
struct clock machine_clock(void);

int64_t machine_elapsed(void);

/* Lets time pass, by a little or a lot; now and then the wall clock is set meanwhile. */
void machine_wait(struct dice *dice);

/* What may happen while nothing runs: another boot, and any other time of day. */
void machine_rest(struct dice *dice);

#endif
