/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine in this process: the core, a clock, randomness, waiters, and with a directory the
 * journal. URLs:
 *
 *     embedded:                  in memory only
 *     embedded:DIR               in a directory
 *     embedded:DIR?fsync=POLICY  always (default), everysec or no
 *
 * A command is applied, then appended to the journal; its answer waits until that batch is on disk,
 * and so does the answer of every read that could have seen it. What fell due by the passing of
 * time is recorded as well before anybody sees it (embedded_time.c). After the first failed write
 * or sync every answer is IOERR: whether a command in flight has happened is for the next start to
 * find out. */
#include "base/check.h"
#include "base/error.h"
#include "command/binary.h"
#include "engine/embedded_state.h"
#include "engine/own_record.h"

#include <stdlib.h>

/* How long a turn goes on expiring, and how many records between two looks at the clock. */
#define TURN_NS UINT64_C(250000)
#define STEP_RECORDS 256
/* What is due in a command's own scope, up to so much, it expires by itself. */
#define READY_RECORDS 512

/* ---- answers --------------------------------------------------------------------------------- */

static struct embedded_pending *new_pending(struct embedded *embedded)
{
    if (!list_empty(&embedded->spare)) {
        struct embedded_pending *pending =
            LIST_ENTRY(embedded->spare.next, struct embedded_pending, node);
        list_remove(&pending->node);
        return pending;
    }
    struct embedded_pending *pending = calloc(1, sizeof *pending);
    if (pending != NULL && !reply_init(&pending->reply, &embedded->scratch)) {
        reply_free(&pending->reply);
        free(pending);
        pending = NULL;
    }
    return pending;
}

/* Makes sure that an answer can be kept until it is flushed. */
static bool reserve_pending(struct embedded *embedded)
{
    if (!list_empty(&embedded->spare)) {
        return true;
    }
    struct embedded_pending *pending = new_pending(embedded);
    if (pending != NULL) {
        list_add_last(&embedded->spare, &pending->node);
    }
    return pending != NULL;
}

/* Tickets are counted up; a table wants its hashes spread. */
static uint32_t ticket_hash(uint64_t ticket)
{
    return (uint32_t)(ticket * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static void refuse(struct embedded *embedded, enum hf_error code, engine_done *done, void *context)
{
    static const char lost[] =
        "the data directory failed; the next start decides whether it happened";

    reply_clear(&embedded->reply);
    reply_refuse(&embedded->reply, code, code == HF_IOERR ? lost : NULL);
    done(context, &embedded->reply);
}

/* Answers now, or when all that the answer could show is on disk. */
static void answer(struct embedded *embedded, const struct reply *reply, engine_done *done,
                   void *context)
{
    if (embedded->options.answers_before_flush || embedded->journal == NULL ||
        journal_last(embedded->journal) == embedded->durable) {
        done(context, reply);
        return;
    }
    struct embedded_pending *pending = new_pending(embedded);
    if (pending == NULL || !reply_copy(&pending->reply, reply)) {
        if (pending != NULL) {
            list_add_last(&embedded->spare, &pending->node);
        }
        refuse(embedded, HF_BUSY, done, context); /* only a huge read comes here */
        return;
    }
    pending->sequence = journal_last(embedded->journal);
    pending->done = done;
    pending->context = context;
    list_add_last(&embedded->pending, &pending->node);
}

/* After a failure no waiter's turn comes any more. */
static void refuse_waiters(struct embedded *embedded)
{
    for (uint32_t i = 0; (i = slab_next(&embedded->waiters, i)) != NONE; i++) {
        struct embedded_waiter waiter = *(struct embedded_waiter *)slab_at(&embedded->waiters, i);
        table_remove(&embedded->by_ticket, ticket_hash(waiter.ticket), i);
        slab_give(&embedded->waiters, i);
        refuse(embedded, HF_IOERR, waiter.done, waiter.context);
    }
}

/* Answers the commands whose records are on disk; after a failure all, and the waiters, too. */
static void answer_pending(struct embedded *embedded)
{
    while (!list_empty(&embedded->pending)) {
        struct embedded_pending *pending =
            LIST_ENTRY(embedded->pending.next, struct embedded_pending, node);
        if (pending->sequence > embedded->durable && !embedded->failed) {
            return;
        }
        list_remove(&pending->node);
        if (pending->sequence > embedded->durable) {
            refuse(embedded, HF_IOERR, pending->done, pending->context);
        } else {
            pending->done(pending->context, &pending->reply);
        }
        list_add_last(&embedded->spare, &pending->node);
    }
    if (embedded->failed) {
        refuse_waiters(embedded);
    }
}

/* ---- commands that wait ---------------------------------------------------------------------- */

struct embedded_wanted {
    const struct slab *waiters;
    uint64_t ticket;
};

static bool has_ticket(const void *context, uint32_t index)
{
    const struct embedded_wanted *wanted = context;
    return ((struct embedded_waiter *)slab_at(wanted->waiters, index))->ticket == wanted->ticket;
}

/* Answers the waiters whose wait is over. */
static void deliver(struct embedded *embedded)
{
    size_t count;
    const struct wakeup *wakeups = core_wakeups(embedded->core, &count);

    for (size_t i = 0; i < count; i++) {
        struct embedded_wanted wanted = {&embedded->waiters, wakeups[i].ticket};
        uint32_t index =
            table_find(&embedded->by_ticket, ticket_hash(wanted.ticket), has_ticket, &wanted);
        if (index == NONE) {
            continue; /* of a caller before the restart */
        }
        struct embedded_waiter waiter =
            *(struct embedded_waiter *)slab_at(&embedded->waiters, index);
        table_remove(&embedded->by_ticket, ticket_hash(waiter.ticket), index);
        slab_give(&embedded->waiters, index);
        wakeup_reply(&wakeups[i], &embedded->reply);
        answer(embedded, &embedded->reply, waiter.done, waiter.context);
    }
    core_clear_wakeups(embedded->core);
}

static void add_waiter(struct embedded *embedded, engine_done *done, void *context)
{
    uint32_t index = slab_take(&embedded->waiters);

    *(struct embedded_waiter *)slab_at(&embedded->waiters, index) =
        (struct embedded_waiter){embedded->reply.ticket, done, context};
    table_add(&embedded->by_ticket, ticket_hash(embedded->reply.ticket), index);
}

/* ---- submitting ------------------------------------------------------------------------------ */

static void fill_entropy(struct embedded *embedded, struct command *command)
{
    embedded->commands++;
    if (!(command->spec->flags & COMMAND_RANDOM) || command->seeded) {
        return;
    }
    if (embedded->options.fixed_entropy) {
        memset(command->entropy, 0, sizeof command->entropy);
        memcpy(command->entropy, &embedded->commands, sizeof embedded->commands);
    } else {
        random_bytes(&embedded->random, command->entropy, sizeof command->entropy);
    }
}

/* All the memory that may be needed once the core has changed. */
static bool prepare(struct embedded *embedded, const struct command *command)
{
    if (command->spec->flags & COMMAND_WAITS &&
        (!slab_reserve(&embedded->waiters, 1) || !table_reserve(&embedded->by_ticket, 1))) {
        return false;
    }
    if (embedded->journal == NULL) {
        return true;
    }
    if (!embedded->options.answers_before_flush && !reserve_pending(embedded)) {
        return false;
    }
    if (command->spec->flags & COMMAND_WRITES) {
        buffer_clear(&embedded->encoded);
        command_to_binary(command, &embedded->encoded);
        return !embedded->encoded.failed &&
               journal_reserve(embedded->journal, embedded->encoded.size + OWN_RECORD_MAX);
    }
    return embedded_reserve_tick(embedded);
}

/* When a command happens. */
static int64_t moment(struct embedded *embedded)
{
    int64_t time_ms = embedded->moment_ms;

    if (time_ms == 0) {
        time_ms = embedded_now(embedded);
        embedded->moment_ms = embedded->together ? time_ms : 0;
    }
    return time_ms;
}

static void embedded_together(struct engine *engine, bool together)
{
    struct embedded *embedded = embedded_self(engine);

    embedded->together = together;
    embedded->moment_ms = 0;
}

void embedded_submit(struct engine *engine, struct command *command, engine_done *done,
                     void *context)
{
    struct embedded *embedded = embedded_self(engine);
    struct reply *reply = &embedded->reply;

    if (embedded->failed) {
        refuse(embedded, HF_IOERR, done, context);
        return;
    }
    fill_entropy(embedded, command);
    if (!prepare(embedded, command)) {
        refuse(embedded, HF_BUSY, done, context);
        return;
    }
    core_apply(embedded->core, command, moment(embedded), reply);
    embedded->full += reply->code == HF_BUSY && core_is_full(embedded->core);
    if (embedded->journal != NULL && command->spec->flags & COMMAND_WRITES &&
        reply->code == HF_OK) {
        struct hf_bytes bytes = {embedded->encoded.data, embedded->encoded.size};
        embedded_append(embedded, bytes);
    } else {
        embedded_tick(embedded);
    }
    if (reply->waits) {
        add_waiter(embedded, done, context);
    } else {
        answer(embedded, reply, done, context);
    }
    deliver(embedded);
}

static void embedded_prepare(struct engine *engine, const struct command *commands, size_t count)
{
    core_prepare(embedded_self(engine)->core, commands, count);
}

static bool embedded_ready(struct engine *engine, const struct command *command)
{
    struct embedded *embedded = embedded_self(engine);

    return embedded->failed || !embedded_reserve_tick(embedded) ||
           core_ready(embedded->core, command, moment(embedded), READY_RECORDS);
}

/* Begins a snapshot if the journal has grown enough, or the last one failed a while ago. Whether
 * that goes well is for the log and the figures to tell. */
static void begin_due_snapshot(struct embedded *embedded)
{
    if (!embedded->failed && !embedded->under_way &&
        snapshots_due(&embedded->snapshots, embedded->options.snapshot_bytes,
                      embedded_elapsed(embedded))) {
        engine_snapshot(&embedded->engine, NULL);
    }
}

/* Expires what is due, as long as a turn may last; the rest follows in the next ones. */
static bool expire_some(struct embedded *embedded)
{
    int64_t now_ms = embedded_now(embedded);

    if (core_step(embedded->core, now_ms, STEP_RECORDS)) {
        return true;
    }
    bool done = false;
    for (uint64_t end_ns = clock_nanoseconds() + TURN_NS; !done && clock_nanoseconds() < end_ns;) {
        done = core_step(embedded->core, now_ms, STEP_RECORDS);
    }
    return done;
}

/* Time passes. Without room for the tick it does not: no client may see what is not recorded. */
static void advance(struct embedded *embedded)
{
    size_t woken;

    if (!embedded_reserve_tick(embedded)) {
        return;
    }
    if (expire_some(embedded)) {
        embedded_follow_drift(embedded);
    }
    core_wakeups(embedded->core, &woken);
    if (woken > 0) {
        embedded_tick(embedded);
        deliver(embedded);
    }
}

static void embedded_turn(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);

    if (!embedded->failed) {
        advance(embedded);
    }
    if (embedded->journal != NULL) {
        disk_watch_poll(&embedded->disk, embedded_elapsed(embedded));
        snapshots_watch(&embedded->snapshots, embedded_elapsed(embedded));
        begin_due_snapshot(embedded);
    }
}

static int64_t embedded_idle_ms(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);
    int64_t due_ms = core_next_due(embedded->core);
    int64_t left_ms = due_ms == INT64_MAX ? INT64_MAX : due_ms - embedded_now(embedded);

    if (embedded->journal != NULL) {
        int64_t snapshots_ms = snapshots_idle_ms(&embedded->snapshots, embedded_elapsed(embedded));
        bool counts = !embedded->failed || snapshots_running(&embedded->snapshots);
        left_ms = !counts || left_ms < snapshots_ms ? left_ms : snapshots_ms;
    }
    if (embedded->journal != NULL && embedded->options.policy == JOURNAL_EVERYSEC) {
        left_ms = left_ms < 1000 ? left_ms : 1000;
    }
    return left_ms == INT64_MAX ? -1 : left_ms > 0 ? left_ms : 0;
}

/* ---- group commit ---------------------------------------------------------------------------- */

static bool wants_sync(struct embedded *embedded)
{
    return embedded->options.policy == JOURNAL_EVERYSEC &&
           clock_elapsed(&embedded->options.clock) - embedded->synced_ms >= 1000;
}

static bool embedded_is_durable(struct engine *engine)
{
    return embedded_self(engine)->journal != NULL;
}

static bool embedded_flush_begin(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);

    if (embedded->journal == NULL || embedded->failed) {
        return false;
    }
    CHECK(!embedded->under_way);
    embedded->flushing = journal_last(embedded->journal);
    embedded->sync_too = wants_sync(embedded);
    embedded->under_way = journal_take(embedded->journal) || embedded->sync_too;
    return embedded->under_way;
}

/* Touches nothing that embedded_submit() does. */
static void embedded_flush_work(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);

    if (journal_flush(embedded->journal) && embedded->sync_too) {
        journal_sync(embedded->journal);
    }
}

static void flush_done(struct embedded *embedded)
{
    embedded->under_way = false;
    if (journal_failure(embedded->journal) != NULL) {
        embedded->failed = true;
    } else {
        journal_flushed(embedded->journal);
        embedded->durable = embedded->flushing;
        if (embedded->sync_too) {
            embedded->synced_ms = clock_elapsed(&embedded->options.clock);
        }
    }
    answer_pending(embedded);
}

static void embedded_flush_end(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);

    flush_done(embedded);
    begin_due_snapshot(embedded);
}

void embedded_flush_all(struct embedded *embedded)
{
    while (embedded_flush_begin(&embedded->engine)) {
        embedded_flush_work(&embedded->engine);
        flush_done(embedded);
    }
}

static enum hf_error embedded_snapshot(struct engine *engine, struct problem *problem)
{
    struct embedded *embedded = embedded_self(engine);

    if (embedded->journal == NULL) {
        return problem_set(problem, HF_INVALID_STATE, "in memory only: there is nothing to keep");
    }
    if (snapshots_running(&embedded->snapshots) || embedded->under_way) {
        return problem_set(problem, HF_BUSY, "a snapshot or a flush is under way already");
    }
    embedded_flush_all(embedded);
    if (embedded->failed || !journal_cut(embedded->journal)) {
        embedded->failed = true;
        answer_pending(embedded);
        return problem_set(problem, HF_IOERR, "%s", journal_failure(embedded->journal));
    }
    return snapshots_begin(&embedded->snapshots, embedded->core, embedded_elapsed(embedded),
                           problem);
}

/* ---- figures --------------------------------------------------------------------------------- */

static enum hf_error embedded_info(struct engine *engine, struct hf_info *info)
{
    if (embedded_self(engine)->failed) {
        return HF_IOERR;
    }
    embedded_turn(engine);
    if (!embedded_reserve_tick(embedded_self(engine))) {
        return HF_BUSY;
    }
    embedded_tick(embedded_self(engine));
    core_info(embedded_self(engine)->core, info);
    return HF_OK;
}

/* A child must not keep the directory's lock, nor anybody's connection. */
static void forked(void *context)
{
    struct embedded *embedded = context;

    if (embedded->journal != NULL) {
        struct storage *storage = journal_storage(embedded->journal);
        if (storage->type->forked != NULL) {
            storage->type->forked(storage);
        }
    }
    snapshots_close_sockets();
}

static enum hf_error embedded_audit_begin(struct engine *engine, struct audit_child *child,
                                          struct problem *problem)
{
    struct embedded *embedded = embedded_self(engine);

    if (embedded->failed) {
        return problem_set(problem, HF_IOERR, "%s", error_text(HF_IOERR));
    }
    core_reach(embedded->core, embedded_now(embedded));
    return audit_child_begin(child, embedded->core, forked, embedded, problem);
}

static enum hf_error embedded_audit(struct engine *engine, hf_audit_report *report, void *context,
                                    uint64_t *findings, struct problem *problem)
{
    if (embedded_self(engine)->failed) {
        return problem_set(problem, HF_IOERR, "%s", error_text(HF_IOERR));
    }
    embedded_turn(engine);
    *findings = core_audit(embedded_self(engine)->core, report, context);
    if (*findings == UINT64_MAX) {
        return problem_set(problem, HF_BUSY, "not enough memory for the audit");
    }
    return HF_OK;
}

uint64_t embedded_digest(struct engine *engine)
{
    return core_digest(embedded_self(engine)->core);
}

static const char *failure(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);
    return embedded->failed ? journal_failure(embedded->journal) : NULL;
}

static const char *unready(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);

    if (embedded->journal == NULL) {
        return NULL;
    }
    disk_watch_poll(&embedded->disk, embedded_elapsed(embedded));
    return embedded->disk.low ? embedded->disk.why : NULL;
}

static void collect_events(struct engine *engine, bool collect)
{
    core_collect_events(embedded_self(engine)->core, collect);
}

static bool next_event(struct engine *engine, struct event *event)
{
    struct embedded *embedded = embedded_self(engine);

    if (!embedded_reserve_tick(embedded) || !core_next_event(embedded->core, event)) {
        return false;
    }
    embedded_tick(embedded);
    return true;
}

const struct engine_type engine_embedded = {
    .open = embedded_open,
    .check = embedded_check,
    .close = embedded_close,
    .submit = embedded_submit,
    .prepare = embedded_prepare,
    .ready = embedded_ready,
    .together = embedded_together,
    .turn = embedded_turn,
    .idle_ms = embedded_idle_ms,
    .is_durable = embedded_is_durable,
    .flush_begin = embedded_flush_begin,
    .flush_work = embedded_flush_work,
    .flush_end = embedded_flush_end,
    .failure = failure,
    .unready = unready,
    .collect_events = collect_events,
    .next_event = next_event,
    .snapshot = embedded_snapshot,
    .figures = embedded_figures,
    .info = embedded_info,
    .audit = embedded_audit,
    .audit_begin = embedded_audit_begin,
};
