/* SPDX-License-Identifier: Apache-2.0
 *
 * What looks at products and at zones have in common: how one ends, and what is written of a
 * correction. */
#include "base/fault.h"
#include "service/service_state.h"

#include <stdio.h>

/* ---- the end --------------------------------------------------------------------------------- */

static void end(struct service_call *call)
{
    call->service->looks++;
    call->look.leased = false;
    if (call->look.locked != NULL) {
        product_unlock(call->look.locked, call);
        call->look.locked = NULL;
    }
    call->look.ended(call);
}

/* A lease that cannot be given back runs out by itself. */
void look_finish(struct service_call *call, enum look_result result)
{
    call->look.result = result;
    if (call->look.leased) {
        call_give_lease(call, end);
    } else {
        end(call);
    }
}

void look_fail_by_engine(struct service_call *call)
{
    call->look.problem = call->engine.problem;
    look_finish(call, LOOK_ENGINE);
}

void look_fail_by_ledger(struct service_call *call)
{
    call->look.problem = call->job.problem;
    call->look.problem.code = call->job.answer == LEDGER_UNKNOWN ? HF_TIMEOUT : HF_LEDGER_DOWN;
    look_finish(call, LOOK_LEDGER);
}

/* ---- a correction ---------------------------------------------------------------------------- */

bool look_moved(struct service_call *call, service_run *again)
{
    struct service_look *look = &call->look;
    struct service *service = call->service;

    if (call->engine.code == HF_CAPACITY_IN_USE) {
        if (++look->tries < LOOK_TRIES) {
            again(call); /* something was taken or reserved meanwhile */
        } else {
            look_finish(call, LOOK_DIFFERS);
        }
        return false;
    }
    if (call->engine.code != HF_OK) {
        look_fail_by_engine(call);
        return false;
    }
    FAULT_POINT(look_adjusted);
    look->applied = call->delta;
    service->corrections++;
    service->drift += (uint64_t)(look->applied < 0 ? -look->applied : look->applied);
    return true;
}

/* The product or the zone that a row of the drift is about, in words. */
static void name_of(const struct ledger_job *job, char out[2 * HF_ID_SIZE + 16])
{
    if (job->zone.size > 0) {
        snprintf(out, 2 * HF_ID_SIZE + 16, "event %.*s, zone %.*s", (int)job->scope.size,
                 job->scope.data, (int)job->zone.size, job->zone.data);
    } else {
        snprintf(out, 2 * HF_ID_SIZE + 16, "product %.*s", (int)job->scope.size, job->scope.data);
    }
}

static void drift_written(struct service_call *call)
{
    char name[2 * HF_ID_SIZE + 16];

    if (call->job.answer != LEDGER_DONE) {
        name_of(&call->job, name);
        log_line(&call->service->options.log, LOG_WARNING,
                 "%s: a correction of %lld is not in the ledger's drift: %s", name,
                 (long long)call->look.applied, call->job.problem.message);
    }
    FAULT_POINT(look_written);
    look_finish(call, LOOK_CORRECTED);
}

void look_write_drift(struct service_call *call, struct hf_bytes scope, struct hf_bytes zone,
                      const char *cause, int64_t in_flight)
{
    const struct service_look *look = &call->look;
    struct ledger_job *job = call_job(call, LEDGER_TASK_DRIFT);
    char name[2 * HF_ID_SIZE + 16];

    job->scope = scope;
    job->zone = zone;
    job->id = hf_text(cause);
    job->user = hf_text(call->service->server_id);
    job->before = look->reading.engine_after;
    job->now = look->reading.engine_after + look->applied;
    job->in_flight = in_flight;
    name_of(job, name);
    log_line(&call->service->options.log, LOG_WARNING, "%s: %s, corrected by %lld", name, cause,
             (long long)look->applied);
    call_submit(call, drift_written);
}
