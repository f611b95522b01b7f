/* SPDX-License-Identifier: Apache-2.0
 *
 * What world.c and recovery.c share. */
#ifndef SIM_WORLD_PARTS_H
#define SIM_WORLD_PARTS_H

#include "disk.h"
#include "machine.h"
#include "world.h"

#include <stdarg.h>

void world_turn(struct world *world);
void world_wrong(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
