/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of servers that are no more. */
#ifndef SERVICE_STALE_H
#define SERVICE_STALE_H

#include "service/service_state.h"

/* Drives what dead servers left in flight to its end, and forgets those servers. The call is not
 * waited for by a client; `next` runs when all that could be done is. */
void stale_begin(struct service_call *call, service_run *next);

#endif
