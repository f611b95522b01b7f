/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks: an engine is compared with the ledger, and what is certain to be wrong is put right. Of a
 * product in look.c, of a zone in zone_look.c; what both have in common is in look_common.c. */
#ifndef SERVICE_LOOK_H
#define SERVICE_LOOK_H

#include "ledger/sql.h"
#include "service/interval.h"
#include "service/service.h"

struct service;
struct service_call;
struct service_product;
typedef void service_run(struct service_call *call);

/* How often a reading is repeated that other calls have moved meanwhile. */
#define LOOK_TRIES 3

enum look_result {
    LOOK_AGREES,    /* nothing that is certain is between them */
    LOOK_CORRECTED, /* the engine was moved by `applied` */
    LOOK_DIFFERS,   /* it would have been, but was only to be looked at, or could not */
    LOOK_OPENED,    /* the engine did not know it and does now */
    LOOK_ADOPTED,   /* the default ledger did not know it and does now */
    LOOK_FOREIGN,   /* the engine knows it and the ledger does not */
    LOOK_UNKNOWN,   /* neither does */
    LOOK_BUSY,      /* another server is changing it */
    LOOK_ENGINE,    /* the engine does not answer: `problem` */
    LOOK_LEDGER,    /* the ledger does not: `problem` */
};

struct service_look {
    bool dry;   /* change nothing */
    bool opens; /* load a product that only the ledger knows, adopt one that only the engine does */
    bool patient; /* wait for another server that changes it */
    bool leased;
    int64_t leased_ms;              /* when the lease was asked for */
    struct service_product *locked; /* the product, while it is this call's to correct */
    bool known;                     /* the engine knows it */
    unsigned tries, waits;
    struct ledger_counter counter;
    struct interval_reading reading;
    int64_t applied, difference; /* what was corrected; what was found */
    enum look_result result;
    struct problem problem;
    service_run *ended; /* the call is the owner's again */
    void *owner;
};

/* Compares a product with the ledger. call->look says how; call->command is a STOCK.OPEN with the
 * product. look.ended is called once; the call is its owner's again then. */
void look_begin(struct service_call *call);
/* A call of the service's own for a product; NULL when there is no memory. */
struct service_call *look_new(struct service *service, struct hf_bytes product);

/* ---- for look.c and zone_look.c: look_common.c ----------------------------------------------- */

/* The end: gives the lease back, if there is one, and then calls look.ended. */
void look_finish(struct service_call *call, enum look_result result);
/* The end where the engine refused, or the ledger did not carry out a job. */
void look_fail_by_engine(struct service_call *call);
void look_fail_by_ledger(struct service_call *call);

/* The engine has answered to a move by call->delta: was it carried out? If not, `again` runs, or
 * the look has ended. */
bool look_moved(struct service_call *call, service_run *again);
/* The row of the ledger's drift for what was applied to a product, or to a zone of an event; then
 * the end. The names and `cause` have to stay until that. */
void look_write_drift(struct service_call *call, struct hf_bytes scope, struct hf_bytes zone,
                      const char *cause, int64_t in_flight);

#endif
