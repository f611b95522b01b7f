/* SPDX-License-Identifier: Apache-2.0
 *
 * Zones compared with the ledger. */
#ifndef SERVICE_ZONE_LOOK_H
#define SERVICE_ZONE_LOOK_H

#include "service/service_state.h"

/* A call of the service's own that compares one zone, and corrects it unless call->look.dry;
 * call->look.ended is called once, with what was found in call->look, and drops the call's state.
 * NULL without memory. */
struct service_call *zone_look_new(struct service *service, struct hf_bytes event,
                                   struct hf_bytes zone);
void zone_look_begin(struct service_call *call);

/* The name of a zone's lease: event and zone with a space between, as LIST names it. */
#define ZONE_NAME_SIZE (2 * HF_ID_SIZE)
struct hf_bytes zone_name(char out[ZONE_NAME_SIZE], struct hf_bytes event, struct hf_bytes zone);

/* Compares all zones that the engine has, page by page; then runs `next`, with call->state as it
 * was. What was found is added to these. */
struct zone_totals {
    bool dry;
    int64_t corrected, drift;
    struct problem problem; /* HF_OK: all were compared */
};
void zones_compare(struct service_call *call, struct zone_totals *totals, service_run *next);

#endif
