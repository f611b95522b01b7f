/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds whose deadline has passed, marked in the ledger. */
#ifndef SERVICE_LAPSE_H
#define SERVICE_LAPSE_H

#include "service/service_state.h"

/* Marks the holds that have lapsed, in pages, after asking the engine for each; then runs `next`,
 * with call->state as it was. What cannot be done now is done the next time. */
void lapse_begin(struct service_call *call, service_run *next);

#endif
