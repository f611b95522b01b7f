/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit of the ledger by itself. It reads whole tables, so it has a connection of its own:
 * purchases go on meanwhile, and it may run on any thread. */
#include "base/thread.h"
#include "service/service_state.h"

#define AUDIT_MS ((int64_t)60 * 1000)
#define POLL_MS 200

struct ledger_audit {
    struct ledger_job job;
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    bool woken;
    hf_audit_report *report;
    void *context;
    uint64_t findings;
    bool answered;
};

static void wake_audit(void *context)
{
    struct ledger_audit *audit = context;

    pthread_mutex_lock(&audit->mutex);
    audit->woken = true;
    pthread_cond_signal(&audit->changed);
    pthread_mutex_unlock(&audit->mutex);
}

/* On the ledger's thread, while the caller's waits. */
static void add_finding(void *context, const char *finding)
{
    struct ledger_audit *audit = context;

    pthread_mutex_lock(&audit->mutex);
    audit->findings++;
    if (audit->report != NULL) {
        audit->report(audit->context, finding);
    }
    pthread_mutex_unlock(&audit->mutex);
}

static void end_audit(struct ledger_job *job, void *context)
{
    struct ledger_audit *audit = context;

    (void)job;
    audit->answered = true;
}

/* It is not certain that a wake comes for each answer: it is polled, too. */
static void wait_for(struct ledger_audit *audit)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&audit->mutex);
    if (!audit->woken) {
        pthread_cond_timedwait(&audit->changed, &audit->mutex, &until);
    }
    audit->woken = false;
    pthread_mutex_unlock(&audit->mutex);
}

static enum hf_error run_audit(struct ledger *ledger, struct ledger_audit *audit,
                               struct problem *problem)
{
    struct ledger_job *job = &audit->job;

    ledger_submit(ledger, job);
    while (!audit->answered) {
        ledger_turn(ledger);
        if (!audit->answered) {
            wait_for(audit);
        }
    }
    return job->answer == LEDGER_DONE
               ? HF_OK
               : problem_set(problem, HF_LEDGER_DOWN, "the ledger could not be audited: %.160s",
                             job->problem.message);
}

enum hf_error service_audit_ledger(struct engine *engine, hf_audit_report *report, void *context,
                                   uint64_t *findings, struct problem *problem)
{
    const struct service *service = service_self(engine);
    struct ledger_audit audit = {.report = report, .context = context};
    struct ledger_options options = {.url = service->ledger_url,
                                     .inventory = service->ledger_inventory,
                                     .connections = 1,
                                     .timeout_ms = service_ledger_timeout(service),
                                     .log = service->options.log,
                                     .wake = wake_audit,
                                     .wake_context = &audit};
    struct ledger *ledger;

    audit.job = (struct ledger_job){.task = LEDGER_TASK_AUDIT,
                                    .deadline_ms = sql_now_ms() + AUDIT_MS,
                                    .finding = add_finding,
                                    .done = end_audit,
                                    .context = &audit};
    pthread_mutex_init(&audit.mutex, NULL);
    thread_condition(&audit.changed);
    enum hf_error code = ledger_open(&options, &ledger, problem);
    if (code == HF_OK) {
        code = run_audit(ledger, &audit, problem);
        ledger_close(ledger);
    }
    pthread_cond_destroy(&audit.changed);
    pthread_mutex_destroy(&audit.mutex);
    *findings += audit.findings;
    return code;
}
