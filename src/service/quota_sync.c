/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of the quota sync, QUOTA.SYNCALL and QUOTA.SYNCED, and its timer. A run is not the
 * caller's: a client that waits for it looks every so often how far it is, and one that goes away
 * leaves it going on. */
#include "service/quota_sync.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOK_MS 25
/* The wall clock is looked at so often at least: it may be set. */
#define WALL_EVERY_MS ((int64_t)60 * 1000)
#define DEFAULT_AT "03:00"

/* ---- settings -------------------------------------------------------------------------------- */

static const char *usage_url(const struct service_options *settings)
{
    return settings->quota_sync_db != NULL ? settings->quota_sync_db
           : settings->ledger_url != NULL  ? settings->ledger_url
                                           : settings->ledger_lazily;
}

/* Nobody who never spoke of the sync has it done every night. */
static const char *timer_text(const struct service_options *settings)
{
    bool meant = settings->quota_sync_db != NULL || settings->quota_sync_query != NULL;

    return settings->quota_sync_at == NULL && meant ? DEFAULT_AT : settings->quota_sync_at;
}

enum hf_error quota_sync_check(const struct service_options *settings, struct problem *problem)
{
    struct sync_when when;
    const char *url = usage_url(settings);
    const char *query =
        settings->quota_sync_query != NULL ? settings->quota_sync_query : USAGE_QUERY;

    if (sync_when_read(timer_text(settings), &when, problem) != HF_OK) {
        return problem->code;
    }
    if (url == NULL) {
        bool asked = settings->quota_sync_query != NULL || when.every_ms > 0 || when.minute >= 0;
        return asked ? problem_set(problem, HF_INVALID_ARGUMENT,
                                   "quota sync needs a database to read: quota-sync-db or ledger")
                     : HF_OK;
    }
    struct problem found;
    if (usage_check(url, query, &found) != HF_OK) {
        bool is_query = text_starts_with(found.message, "quota-sync-query");
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s%.220s",
                           is_query ? "" : "quota-sync-db: ", found.message);
    }
    return HF_OK;
}

bool quota_sync_open(struct service *service)
{
    struct quota_sync *sync = calloc(1, sizeof *sync);
    struct problem problem;

    service->sync = sync;
    if (sync == NULL) {
        return false;
    }
    sync->service = service;
    sync->url = usage_url(&service->settings);
    sync_when_read(timer_text(&service->settings), &sync->when, &problem);
    sync->next_ms = sync_when_next(&sync->when, clock_wall_ms());
    sync->due_ms = service_now(service);
    return true;
}

void quota_sync_close(struct service *service)
{
    struct quota_sync *sync = service->sync;

    if (sync != NULL) {
        usage_free(sync->usage);
        usage_settle();
        free(sync->report);
        free(sync);
        service->sync = NULL;
    }
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Begins a run; false when there is no memory. */
static bool begin(struct quota_sync *sync, struct hf_bytes tenant, bool dry, bool timed)
{
    struct command command = {.spec = &command_table[QUOTA_SYNCALL]};
    struct service_call *call;

    command.args.quota_syncall =
        (struct hf_quota_syncall_args){.tenant = {"", 0}, .run = 0, .wait_ms = 0};
    call = call_new(sync->service, &command, NULL, NULL);
    if (call == NULL) {
        return false;
    }
    sync->service->sync_call = call;
    snprintf(sync->tenant, sizeof sync->tenant, "%.*s", (int)tenant.size, tenant.data);
    sync->run = clock_wall_ms() > sync->run ? clock_wall_ms() : sync->run + 1;
    sync->active = true;
    sync->dry = dry;
    sync->timed = timed;
    sync->locked = sync->drift_lost = sync->last = false;
    sync->at = sync->count = sync->drift_at = sync->report_count = 0;
    sync->cursor[0] = '\0';
    sync->problem = (struct problem){.code = HF_OK};
    sync->tenants = sync->applied = sync->changed = sync->drift = 0;
    sync->missing = sync->skipped = 0;
    sync_run_begin(sync);
    return true;
}

/* ---- QUOTA.SYNCALL --------------------------------------------------------------------------- */

static void answer_run(struct service_call *call)
{
    const struct quota_sync *sync = call->service->sync;
    struct reply *reply = call_reply(call);

    reply_number(reply, sync->run);
    reply_number(reply, !sync->active);
    reply_number(reply, sync->tenants);
    reply_number(reply, sync->applied);
    reply_number(reply, sync->changed);
    reply_number(reply, sync->drift);
    reply_number(reply, sync->missing);
    reply_number(reply, sync->skipped);
    call_answer(call, reply);
    call_end(call);
}

/* call->total is the number of the run that the client waits for, call->remaining until when. */
static void look_at_run(struct service_call *call)
{
    const struct quota_sync *sync = call->service->sync;

    if (sync->run != call->total) {
        call_refuse(call, HF_INVALID_ARGUMENT,
                    "RUN %" PRId64 " is not known: the last run is %" PRId64, call->total,
                    sync->run);
        call_end(call);
    } else if (!sync->active && sync->problem.code != HF_OK) {
        call_refuse_problem(call, &sync->problem);
        call_end(call);
    } else if (!sync->active || service_now(call->service) >= call->remaining) {
        answer_run(call);
    } else {
        call_later(call, look_at_run, LOOK_MS);
    }
}

static bool is_same_run(const struct quota_sync *sync, const struct hf_quota_syncall_args *args)
{
    return sync->dry == args->dry && text_equal(hf_text(sync->tenant), args->tenant);
}

/* NULL if there is a run for the client, begun or joined; or why there is none. */
static const char *enter_run(struct quota_sync *sync, const struct hf_quota_syncall_args *args)
{
    if (args->run > 0) {
        return NULL;
    }
    if (sync->url == NULL) {
        return "there is no database to read usage from: the setting quota-sync-db or ledger "
               "names one";
    }
    if (sync->active) {
        return is_same_run(sync, args) ? NULL : "another sync is going on: try again later";
    }
    return begin(sync, args->tenant, args->dry, false) ? NULL : "out of memory";
}

void quota_sync_command(struct service_call *call)
{
    struct quota_sync *sync = call->service->sync;
    struct hf_quota_syncall_args *args = &call->command.args.quota_syncall;
    struct hf_bytes none = {"", 0};

    args->tenant = args->tenant.size > 0 ? args->tenant : none;
    const char *problem = enter_run(sync, args);
    if (problem != NULL) {
        call_refuse(call, sync->url == NULL ? HF_LEDGER_DOWN : HF_BUSY, "%s", problem);
        call_end(call);
        return;
    }
    call->total = args->run > 0 ? args->run : sync->run;
    call->remaining = args->wait_ms > 0 ? service_now(call->service) + args->wait_ms : INT64_MAX;
    call_ready(call, look_at_run);
}

/* ---- QUOTA.SYNCED ---------------------------------------------------------------------------- */

static void answer_report(struct service_call *call, size_t first, size_t count)
{
    const struct quota_sync *sync = call->service->sync;
    struct reply *reply = call_reply(call);
    size_t end = first + count < sync->report_count ? first + count : sync->report_count;
    char cursor[32] = "";

    if (end < sync->report_count) {
        snprintf(cursor, sizeof cursor, "%zu", end);
    }
    if (!reply_reserve(reply, 1 + (end - first) * 5,
                       sizeof cursor + (end - first) * sizeof(struct sync_entry))) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
        return;
    }
    reply_word(reply, cursor);
    for (size_t i = first; i < end; i++) {
        const struct sync_entry *entry = &sync->report[i];
        reply_word(reply, entry->tenant);
        reply_word(reply, entry->outcome);
        reply_number(reply, entry->before);
        reply_number(reply, entry->after);
        reply_word(reply, entry->why);
    }
    call_answer(call, reply);
    call_end(call);
}

void quota_synced_command(struct service_call *call)
{
    const struct hf_quota_synced_args *args = &call->command.args.quota_synced;
    int64_t first = 0;

    if (args->after.size > 0 && (!text_to_integer(args->after, &first) || first < 0 ||
                                 (size_t)first > call->service->sync->report_count)) {
        call_refuse(call, HF_INVALID_ARGUMENT, "AFTER is no cursor of this list");
        call_end(call);
        return;
    }
    answer_report(call, (size_t)first, args->count > 0 ? (size_t)args->count : PAGE_DEFAULT);
}

/* ---- the timer ------------------------------------------------------------------------------- */

static bool is_timed(const struct quota_sync *sync)
{
    return sync->url != NULL && (sync->when.every_ms > 0 || sync->when.minute >= 0);
}

void quota_sync_turn(struct service *service, int64_t now_ms)
{
    struct quota_sync *sync = service->sync;

    if (!is_timed(sync) || now_ms < sync->due_ms) {
        return;
    }
    int64_t wall_ms = clock_wall_ms();
    if (wall_ms >= sync->next_ms && !sync->active && !engine_is_away(service->inner)) {
        sync->next_ms = sync_when_next(&sync->when, wall_ms);
        begin(sync, (struct hf_bytes){"", 0}, false, true);
    }
    int64_t left_ms = sync->next_ms > wall_ms ? sync->next_ms - wall_ms : LOOK_MS;
    sync->due_ms = now_ms + (left_ms < WALL_EVERY_MS ? left_ms : WALL_EVERY_MS);
}

int64_t quota_sync_due(const struct service *service)
{
    return is_timed(service->sync) ? service->sync->due_ms : INT64_MAX;
}

void quota_sync_figures(const struct service *service, engine_figure *each, void *context)
{
    const struct quota_sync *sync = service->sync;

    if (sync->url == NULL) {
        return;
    }
    each(context, "quota_syncs_total", "Syncs of quotas with the database.", true,
         (double)sync->runs);
    each(context, "quota_sync_failures_total", "Those that failed and changed nothing more.", true,
         (double)sync->failures);
    each(context, "quota_sync_changed_total", "Tenants whose usage a sync changed.", true,
         (double)sync->changed_total);
    each(context, "quota_sync_drift_total", "By how much, without signs.", true,
         (double)sync->drift_total);
    each(context, "quota_sync_missing", "Tenants of the engine that the last sync did not find.",
         false, (double)sync->missing);
    each(context, "quota_sync_skipped", "Tenants whose usage could not be set in the last sync.",
         false, (double)sync->skipped);
    if (sync->ended_ms != 0) {
        each(context, "quota_synced_seconds", "How long ago the last sync ended.", false,
             (double)(service_now(service) - sync->ended_ms) / 1000);
    }
}
