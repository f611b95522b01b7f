/* SPDX-License-Identifier: Apache-2.0
 *
 * Drift written down, and the audit of the ledger by itself: what its tables say twice has to
 * agree. */
#include "ledger/jobs.h"

#include "ledger/writer.h"

#include <stdio.h>

enum sql_result ledger_job_drift(struct ledger_job_run *run)
{
    struct ledger_job *job = run->job;
    struct sql_value values[] = {
        sql_text(job->scope),  sql_text(job->zone),         sql_integer(job->before),
        sql_integer(job->now), sql_integer(job->in_flight), sql_text(job->id),
        sql_text(job->user),
    };
    struct sql_step steps[] = {ledger_job_fence(run),
                               ledger_step(run->writer, LEDGER_DRIFT_ADD, values, 1)};

    job->answer = LEDGER_DONE;
    return ledger_job_steps(run, steps, 2, true);
}

/* ---- the audit ------------------------------------------------------------------------------- */

/* A finding: % stands for the columns in their order. */
static const struct {
    enum ledger_statement statement;
    const char *finding;
} rules[] = {
    {LEDGER_AUDIT_STOCK, "product %: the stock is %"},
    {LEDGER_AUDIT_ZONES, "event %, zone %: % seats are sold of %"},
    {LEDGER_AUDIT_SEATS, "event %, zone %: % seats are sold, and % confirmed in bookings"},
    {LEDGER_AUDIT_RETURNS, "product %, order %: returned without a barrier"},
    {LEDGER_AUDIT_REFUNDS, "event %, booking %: refunded without a barrier"},
    {LEDGER_AUDIT_BARRIERS, "%, %: there is a barrier '%', and the row is not in that state"},
};

#define RULES (sizeof rules / sizeof rules[0])

struct seen_rule {
    const struct ledger_job *job;
    const char *finding;
};

static void see_finding(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    const struct seen_rule *rule = context;
    char text[512];
    size_t size = 0, column = 0;

    (void)row;
    for (const char *at = rule->finding; *at != '\0' && size < sizeof text - 1; at++) {
        if (*at != '%') {
            text[size++] = *at;
        } else if (column < count) {
            const struct sql_value *value = &columns[column++];
            int written =
                value->kind == SQL_INTEGER
                    ? snprintf(text + size, sizeof text - size, "%lld", (long long)value->integer)
                    : snprintf(text + size, sizeof text - size, "%.*s", (int)value->text.size,
                               value->text.data);
            size += (size_t)written < sizeof text - size ? (size_t)written : sizeof text - size - 1;
        }
    }
    text[size] = '\0';
    rule->job->finding(rule->job->context, text);
}

enum sql_result ledger_job_audit(struct ledger_job_run *run)
{
    struct sql_step steps[RULES];
    struct seen_rule seen[RULES];

    for (size_t i = 0; i < RULES; i++) {
        seen[i] = (struct seen_rule){run->job, rules[i].finding};
        steps[i] = ledger_query(run->writer, rules[i].statement, NULL, see_finding, &seen[i]);
    }
    run->job->answer = LEDGER_DONE;
    return ledger_job_steps(run, steps, RULES, true);
}
