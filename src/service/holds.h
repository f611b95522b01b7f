/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of holds in the ledger, written behind the engine: the client's answer never waits for
 * them, and what the ledger cannot take in time is dropped and counted. */
#ifndef SERVICE_HOLDS_H
#define SERVICE_HOLDS_H

#include "service/service_state.h"

/* What has become of a booking that is not sold is to be written; its texts are copied. Nothing
 * happens where no ledger was given. */
void holds_keep(struct service *service, const struct ledger_booking *booking);

/* Has the first reconciliation of this process write down the holds that the engine has, of which
 * a server that was killed may have written no row; `next` runs then. */
void holds_rebuild(struct service_call *call, service_run *next);

#endif
