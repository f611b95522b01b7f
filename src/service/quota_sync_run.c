/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of the quota sync.
 *
 *     LOCK ─> MARK ─> read all pages ─> GET, SYNC … ─> (drift) ─> LIST, GET … ─> UNLOCK
 *
 * Nothing is set before all of the database was read: a query that fails half-way changes nothing.
 * MARK comes before the reading begins, and each SYNC tells that time, so that what is committed
 * meanwhile stays counted. Tenants that only the engine knows are looked for at the end. The work
 * is done in batches, with a turn of the loop between them. */
#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"
#include "service/quota_sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCK_NAME "holdfast:quota-sync"
#define LOCK_MS ((int64_t)60 * 1000)
#define RENEW_MS ((int64_t)20 * 1000)
#define POLL_MS 20
#define PAUSE_MS 1
#define PAGE_TIMEOUT_MS ((int64_t)60 * 1000)
/* The clocks of several Redis servers may differ by so much, or step back. */
#define REDIS_MARGIN_MS 1000
/* A run of the timer that failed is tried again after so long, not only in the next night. */
#define AGAIN_MS ((int64_t)600 * 1000)

static void next_batch(struct service_call *call);
static void list_engine(struct service_call *call);

static struct quota_sync *sync_of(struct service_call *call)
{
    return call->service->sync;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void log_end(const struct quota_sync *sync)
{
    const struct log *log = &sync->service->options.log;

    if (sync->problem.code != HF_OK) {
        log_line(log, LOG_WARNING, "quota sync %" PRId64 " failed: %s", sync->run,
                 sync->problem.message);
    } else {
        log_line(log, LOG_INFO,
                 "quota sync %" PRId64 "%s: %" PRId64 " tenants, %" PRId64 " changed by %" PRId64
                 " in all, %" PRId64 " missing, %" PRId64 " skipped",
                 sync->run, sync->dry ? " (dry)" : "", sync->tenants, sync->changed, sync->drift,
                 sync->missing, sync->skipped);
    }
}

static void run_ended(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);

    usage_free(sync->usage);
    sync->usage = NULL;
    sync->active = false;
    if (sync->problem.code != HF_OK) {
        int64_t again_ms = clock_wall_ms() + AGAIN_MS;
        bool sooner = sync->timed && sync->problem.code != HF_BUSY && again_ms < sync->next_ms;
        sync->next_ms = sooner ? again_ms : sync->next_ms;
        sync->failures++;
    } else {
        sync->runs++;
        sync->ended_ms = service_now(call->service);
        sync->changed_total += sync->dry ? 0 : (uint64_t)sync->changed;
        sync->drift_total += sync->dry ? 0 : (uint64_t)sync->drift;
    }
    log_end(sync);
    call_end(call);
}

static void finish(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);
    struct command unlock = {.spec = &command_table[LOCK_UNLOCK]};

    if (!sync->locked) {
        run_ended(call);
        return;
    }
    sync->locked = false;
    unlock.args.lock_unlock = (struct hf_lock_unlock_args){.resource = hf_text(LOCK_NAME),
                                                           .lock_id = hf_text(sync->lock_id)};
    call_engine(call, &unlock, run_ended);
}

static void fail(struct service_call *call, enum hf_error code, const char *message)
{
    struct problem *problem = &sync_of(call)->problem;

    problem_set(problem, code != HF_OK ? code : HF_ENGINE_DOWN, "%.230s", message);
    finish(call);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void report(struct quota_sync *sync, struct sync_entry entry)
{
    if (sync->report_count == SYNC_REPORT_MAX) {
        return;
    }
    if (sync->report_count == sync->report_capacity) {
        size_t wanted = sync->report_capacity == 0 ? 64 : 2 * sync->report_capacity;
        struct sync_entry *more = realloc(sync->report, wanted * sizeof *more);
        if (more == NULL) {
            return;
        }
        sync->report = more;
        sync->report_capacity = wanted;
    }
    sync->report[sync->report_count++] = entry;
}

/* A text of the database, which may be any bytes, as one that can be shown. */
static void show(char *out, size_t size, struct hf_bytes text)
{
    size_t length = text.size < size - 1 ? text.size : size - 1;

    for (size_t i = 0; i < length; i++) {
        out[i] = text.data[i] > ' ' && text.data[i] < 0x7f ? text.data[i] : '?';
    }
    out[length] = '\0';
}

static void report_faulty(struct quota_sync *sync, const struct usage_row *row)
{
    struct sync_entry entry = {.outcome = "skipped"};
    char value[48];

    show(entry.tenant, sizeof entry.tenant, row->tenant);
    show(value, sizeof value, row->value);
    snprintf(entry.why, sizeof entry.why, "%s%s%.40s", usage_fault_text(row->fault),
             value[0] != '\0' ? ": " : "", value);
    sync->skipped++;
    report(sync, entry);
}

static void report_item(struct quota_sync *sync, const struct sync_item *item)
{
    struct sync_entry entry = {.before = item->before, .after = item->after};
    int64_t drift = item->after - item->before;

    memcpy(entry.tenant, item->tenant, sizeof entry.tenant);
    memcpy(entry.why, item->why, sizeof entry.why);
    sync->missing += item->missing;
    if (item->code != HF_OK) {
        sync->skipped++;
        entry.outcome = "skipped";
        entry.after = item->before;
    } else if (item->missing && !sync->service->settings.quota_sync_zero) {
        entry.outcome = "missing";
    } else {
        sync->applied += item->written;
        if (drift == 0) {
            return;
        }
        sync->changed++;
        sync->drift += drift < 0 ? -drift : drift;
        entry.outcome = "changed";
    }
    report(sync, entry);
}

/* ---- drift, where there is a ledger ---------------------------------------------------------- */

static void write_drift(struct service_call *call);

static void drift_written(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);

    if (call->job.answer != LEDGER_DONE) {
        sync->drift_lost = true;
        log_line(&call->service->options.log, LOG_WARNING,
                 "quota sync %" PRId64 ": drift is not written to the ledger: %s", sync->run,
                 call->job.problem.message);
    }
    write_drift(call);
}

static void write_drift(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);
    const struct sync_item *item = NULL;

    while (sync->drift_at < sync->count && item == NULL) {
        item = &sync->items[sync->drift_at++];
        item = item->written && item->after != item->before ? item : NULL;
    }
    if (item == NULL || call->service->ledger == NULL || sync->drift_lost) {
        call_later(call, sync->at < usage_count(sync->usage) ? next_batch : list_engine, PAUSE_MS);
        return;
    }
    struct ledger_job *job = call_job(call, LEDGER_TASK_DRIFT);
    job->scope = hf_text(item->tenant);
    job->id = hf_text("quota sync");
    job->user = hf_text(call->service->server_id);
    job->before = item->before;
    job->now = item->after;
    job->in_flight = item->held;
    call_submit(call, drift_written);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void batch_done(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);

    for (size_t i = 0; i < sync->count; i++) {
        if (code_is_failure(sync->items[i].code, true) || sync->items[i].code == HF_BUSY) {
            fail(call, sync->items[i].code, sync->items[i].why);
            return;
        }
    }
    for (size_t i = 0; i < sync->count; i++) {
        report_item(sync, &sync->items[i]);
    }
    sync->drift_at = 0;
    write_drift(call);
}

static void item_answered(struct sync_item *item, const struct reply *reply)
{
    struct service_call *call = item->sync->service->sync_call;

    if (reply->code != HF_OK && item->code == HF_OK) {
        char message[MESSAGE_SIZE];
        reply_message(reply, message);
        item->code = reply->code;
        snprintf(item->why, sizeof item->why, "%.90s", message);
    }
    CHECK(call->awaited > 0);
    if (--call->awaited == 0) {
        call_ready(call, batch_done);
    }
}

static void item_got(void *context, const struct reply *reply)
{
    struct sync_item *item = context;

    if (reply->code == HF_OK) {
        item->before = reply->values[0].number;
        item->held = reply->values[2].number;
        if (item->missing) {
            item->after = item->before;
        } else if (item->sync->dry) {
            item->after = item->actual + item->held;
        }
    }
    item_answered(item, reply);
}

static void item_synced(void *context, const struct reply *reply)
{
    struct sync_item *item = context;

    if (reply->code == HF_OK) {
        item->after = reply->values[0].number;
        item->written = true;
    }
    item_answered(item, reply);
}

static void ignore_reply(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

/* A run that lasts keeps its lock. */
static void renew_lock(struct quota_sync *sync)
{
    struct command extend = {.spec = &command_table[LOCK_EXTEND]};
    int64_t now_ms = service_now(sync->service);

    if (now_ms < sync->renew_ms) {
        return;
    }
    sync->renew_ms = now_ms + RENEW_MS;
    extend.args.lock_extend = (struct hf_lock_extend_args){
        .resource = hf_text(LOCK_NAME), .lock_id = hf_text(sync->lock_id), .ttl_ms = LOCK_MS};
    engine_submit(sync->service->inner, &extend, ignore_reply, NULL);
}

static bool is_set(const struct quota_sync *sync, const struct sync_item *item)
{
    return !sync->dry && (!item->missing || sync->service->settings.quota_sync_zero);
}

/* Asks the engine about the items, and sets those that are to be set. */
static void run_batch(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);
    struct command get = {.spec = &command_table[QUOTA_GET]};
    struct command set = {.spec = &command_table[QUOTA_SYNC]};

    renew_lock(sync);
    if (sync->count == 0) {
        call_ready(call, batch_done);
        return;
    }
    for (size_t i = 0; i < sync->count; i++) {
        call->awaited += is_set(sync, &sync->items[i]) ? 2 : 1;
    }
    for (size_t i = 0; i < sync->count; i++) {
        struct sync_item *item = &sync->items[i];
        bool sets = is_set(sync, item);
        get.args.quota_get.tenant = hf_text(item->tenant);
        set.args.quota_sync = (struct hf_quota_sync_args){
            .tenant = hf_text(item->tenant), .actual = item->actual, .since = sync->since_ms};
        engine_submit(sync->service->inner, &get, item_got, item);
        if (sets) {
            engine_submit(sync->service->inner, &set, item_synced, item);
        }
    }
}

static void add_item(struct quota_sync *sync, struct hf_bytes tenant, int64_t actual, bool missing)
{
    struct sync_item *item = &sync->items[sync->count++];

    *item = (struct sync_item){.sync = sync, .actual = actual, .missing = missing};
    snprintf(item->tenant, sizeof item->tenant, "%.*s", (int)tenant.size, tenant.data);
}

static void next_batch(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);

    sync->count = 0;
    while (sync->at < usage_count(sync->usage) && sync->count < SYNC_BATCH) {
        struct usage_row row = usage_at(sync->usage, sync->at++);
        if (row.fault != USAGE_FINE) {
            report_faulty(sync, &row);
        } else {
            add_item(sync, row.tenant, row.used, false);
        }
    }
    run_batch(call);
}

/* ---- tenants that only the engine knows ------------------------------------------------------ */

static void engine_failed(struct service_call *call)
{
    fail(call, call->engine.code, call->engine.problem.message);
}

static void listed(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    struct quota_sync *sync = sync_of(call);
    const struct command_spec *spec = &command_table[LIST];

    if (!call_listed(call, reply, sync->cursor, engine_failed)) {
        return;
    }
    sync->last = sync->cursor[0] == '\0';
    sync->count = 0;
    for (size_t i = 0; i < reply_items(reply, spec) && i < SYNC_BATCH; i++) {
        struct hf_bytes name = reply_bytes(reply, reply_item(spec, i));
        if (!usage_has(sync->usage, name)) {
            add_item(sync, name, 0, true);
        }
    }
    call_ready(call, run_batch);
}

static void list_engine(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);

    if (sync->last) {
        finish(call);
        return;
    }
    if (sync->tenant[0] != '\0') {
        sync->last = true;
        sync->count = 0;
        if (!usage_has(sync->usage, hf_text(sync->tenant))) {
            add_item(sync, hf_text(sync->tenant), 0, true);
        }
        run_batch(call);
        return;
    }
    call_list(call, "tenants", sync->cursor, SYNC_BATCH, listed);
}

/* ---- the reading ----------------------------------------------------------------------------- */

static void poll_usage(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);
    struct problem problem;
    bool ended = usage_ended(sync->usage, &problem);

    sync->tenants = (int64_t)usage_progress(sync->usage);
    if (!ended) {
        renew_lock(sync);
        call_later(call, poll_usage, POLL_MS);
    } else if (problem.code != HF_OK) {
        fail(call, problem.code, problem.message);
    } else {
        next_batch(call);
    }
}

static void marked(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);
    const struct service_options *settings = &call->service->settings;
    bool own_clock = text_starts_with(call->service->inner->name, "embedded");
    int64_t margin_ms = settings->quota_sync_margin_ms;

    if (call->engine.code != HF_OK) {
        engine_failed(call);
        return;
    }
    margin_ms = own_clock || margin_ms > REDIS_MARGIN_MS ? margin_ms : REDIS_MARGIN_MS;
    sync->since_ms = call->engine.numbers[0] - margin_ms;
    sync->since_ms = sync->since_ms > 0 ? sync->since_ms : 1;
    sync->usage = usage_begin(&(struct usage_options){
        .url = sync->url,
        .query = settings->quota_sync_query != NULL ? settings->quota_sync_query : USAGE_QUERY,
        .tenant = hf_text(sync->tenant),
        .page_timeout_ms = PAGE_TIMEOUT_MS,
        .wake = service_wake,
        .wake_context = call->service});
    if (sync->usage == NULL) {
        fail(call, HF_BUSY, "out of memory, or of threads");
        return;
    }
    poll_usage(call);
}

static void locked(struct service_call *call)
{
    struct quota_sync *sync = sync_of(call);
    struct command mark = {.spec = &command_table[QUOTA_MARK]};

    if (call->engine.code == HF_LOCKED) {
        fail(call, HF_BUSY, "another server syncs the quotas: try again later");
        return;
    }
    if (call->engine.code != HF_OK) {
        engine_failed(call);
        return;
    }
    sync->locked = true;
    sync->renew_ms = service_now(call->service) + RENEW_MS;
    mark.args.quota_mark.tenant = hf_text(sync->tenant[0] != '\0' ? sync->tenant : LOCK_NAME);
    call_engine(call, &mark, marked);
}

void sync_run_begin(struct quota_sync *sync)
{
    struct service *service = sync->service;
    struct command lock = {.spec = &command_table[LOCK_TRY]};
    struct service_call *call = service->sync_call;

    snprintf(sync->lock_id, sizeof sync->lock_id, "%s/%" PRId64, service->server_id, sync->run);
    lock.args.lock_try = (struct hf_lock_try_args){
        .resource = hf_text(LOCK_NAME), .ttl_ms = LOCK_MS, .id = hf_text(sync->lock_id)};
    call_engine(call, &lock, locked);
}
