/* SPDX-License-Identifier: Apache-2.0
 *
 * What world.c and recovery.c share. */
#ifndef SIM_WORLD_PARTS_H
#define SIM_WORLD_PARTS_H

#include "disk.h"
#include "world.h"

#include <stdarg.h>

struct clock world_clock(void);
void world_turn(struct world *world);
void world_wrong(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
