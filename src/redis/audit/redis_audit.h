/* SPDX-License-Identifier: Apache-2.0
 *
 * The proof of conservation on Redis: every total is computed again from the records, and what does
 * not add up is named. Where Redis lost something (a failover, an eviction, a hand that slipped),
 * this is what tells.
 *
 * Commands go on meanwhile. What changes in one step is read in one step (MULTI) before it is
 * reported; where that would stop Redis for too long, what is read is bounded on both sides by what
 * held before and after. Nothing is changed, and holds that are due but not yet given back are part
 * of the sums: they are no finding. */
#ifndef REDIS_AUDIT_REDIS_AUDIT_H
#define REDIS_AUDIT_REDIS_AUDIT_H

#include "redis/client/url.h"

/* Over connections of its own, so any thread may call it; it takes as long as it takes. `report`
 * may be NULL. ENGINE_DOWN if Redis cannot be asked to the end, INVALID_ARGUMENT for redlock://,
 * BUSY when there is no memory. */
enum hf_error redis_audit(const struct redis_url *url, hf_audit_report *report, void *context,
                          uint64_t *findings, struct problem *problem);

#endif
