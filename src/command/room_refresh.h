/* SPDX-License-Identifier: Apache-2.0
 *
 * When a client that waits in line should ask again. */
#ifndef COMMAND_ROOM_REFRESH_H
#define COMMAND_ROOM_REFRESH_H

#include "base/limits.h"

/* A tenth of the wait, within bounds; -1 for a wait that is not known. In seconds. */
static inline int64_t room_refresh_s(int64_t wait_s)
{
    int64_t tenth_s = wait_s / 10;

    return wait_s < 0                     ? ROOM_REFRESH_UNKNOWN_S
           : tenth_s < ROOM_REFRESH_MIN_S ? ROOM_REFRESH_MIN_S
           : tenth_s > ROOM_REFRESH_MAX_S ? ROOM_REFRESH_MAX_S
                                          : tenth_s;
}

#endif
