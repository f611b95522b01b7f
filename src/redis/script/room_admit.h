/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor of ROOM.ADMIT and ROOM.TICK. A call of their scripts admits only a few users, so
 * that it never holds up Redis for long; the executor repeats it. */
#ifndef REDIS_SCRIPT_ROOM_ADMIT_H
#define REDIS_SCRIPT_ROOM_ADMIT_H

#include "redis/script/pending.h"

void room_admit_execute(struct pending_command *pending);

#endif
