/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing the engine in this process up, from nothing or from what its directory holds, and down
 * again. */
#include "base/check.h"
#include "base/huge_pages.h"
#include "base/memory_bound.h"
#include "engine/embedded_state.h"

#include <stdio.h>
#include <stdlib.h>

#define SEGMENT_BYTES ((int64_t)64 << 20)
#define SNAPSHOT_BYTES ((int64_t)256 << 20)
/* A state that has grown so far will grow further. */
#define PAGES_AHEAD_AFTER ((size_t)32 << 20)
/* So much of what was in use stays at hand for what comes next, and no more than this part of the
 * limit. */
#define RETAINED_MOST ((size_t)16 << 20)
#define RETAINED_PART 8

#define PATH_SIZE ((size_t)4096)

/* ---- recovery -------------------------------------------------------------------------------- */

static void note_code(void *context, const struct reply *reply)
{
    *(enum hf_error *)context = reply->code;
}

/* The waiters of the last run are not there any more. Those whose turn has come by now keep their
 * slot: they may have been answered. */
static void release_waiting(struct embedded *embedded)
{
    char name[HF_ID_SIZE], id[HF_ID_SIZE];
    uint32_t cursor = 0;
    enum hf_error code =
        HF_OK; /* BUSY for want of memory: then they stay until their wait is over */

    bool before_flush = embedded->options.answers_before_flush;
    embedded->options.answers_before_flush = true; /* no client sees them: all is one batch */
    while (code == HF_OK && core_waiting_call(embedded->core, &cursor, name, id)) {
        struct hf_sem_release_args args = {.name = hf_text(name), .id = hf_text(id)};
        struct command command;
        command_from_struct(&command, &command_table[SEM_RELEASE], &args, NULL);
        embedded_submit(&embedded->engine, &command, note_code, &code);
    }
    embedded->options.answers_before_flush = before_flush;
}

/* The start, and all that comes with it, is on disk whatever the policy is: what was handed out
 * under a fence must never be handed out again under the same. */
static enum hf_error begin(struct embedded *embedded, struct problem *problem)
{
    enum hf_error code = embedded_begin(embedded, problem);

    if (code != HF_OK || embedded->journal == NULL) {
        return code;
    }
    release_waiting(embedded);
    embedded_flush_all(embedded);
    if (embedded->failed || !journal_sync(embedded->journal)) {
        embedded->failed = true;
        return problem_set(problem, HF_IOERR, "%s", journal_failure(embedded->journal));
    }
    return HF_OK;
}

static enum hf_error open_journal(struct embedded *embedded, struct problem *problem)
{
    char why[256] = "";
    struct journal_options options = {.policy = embedded->options.policy,
                                      .segment_bytes = embedded->options.segment_bytes,
                                      .log = &embedded->options.log};
    bool no_memory = false;

    embedded->journal = embedded_replay(embedded, &options, &no_memory, why);
    if (embedded->journal == NULL) {
        return problem_set(problem, no_memory ? HF_BUSY : HF_IOERR, "%s", why);
    }
    snapshots_init(&embedded->snapshots, embedded->journal, &embedded->options.log,
                   embedded->options.snapshot_timeout_ms, embedded_elapsed(embedded));
    disk_watch_init(&embedded->disk, embedded->journal, &embedded->options.log,
                    embedded->options.min_free_bytes);
    embedded->durable = journal_last(embedded->journal);
    return HF_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What was acknowledged is recovered whatever it takes; after that the state may grow so far. The
 * closed holds that are remembered for retries are part of it. */
static size_t memory_limit(const struct embedded_options *options)
{
    if (options->max_memory_bytes > 0) {
        return (size_t)options->max_memory_bytes;
    }
    size_t bound = memory_bound("");
    return bound < SIZE_MAX ? bound / 4 * 3 : 0;
}

/* What is retained of an emptied state counts as in use: of a low limit it is a small part. */
static size_t retained_memory(size_t limit)
{
    size_t part = limit / RETAINED_PART;

    return limit == 0 || part > RETAINED_MOST ? RETAINED_MOST : part;
}

static void limit_memory(struct embedded *embedded)
{
    size_t limit = memory_limit(&embedded->options);

    embedded->memory.retained = retained_memory(limit);
    core_limit_memory(embedded->core, limit);
    if (core_is_full(embedded->core)) {
        log_line(&embedded->options.log, LOG_WARNING,
                 "the state takes %zu bytes of memory and max-memory is %zu: nothing new is taken "
                 "until some is given back",
                 embedded->memory.used, limit);
    }
}

/* ---- open and close -------------------------------------------------------------------------- */

static void free_pending(struct list *head)
{
    for (struct list *node = head->next, *next; node != head; node = next) {
        struct embedded_pending *pending = LIST_ENTRY(node, struct embedded_pending, node);
        next = node->next;
        reply_free(&pending->reply);
        free(pending);
    }
    list_init(head);
}

void embedded_close(struct engine *engine)
{
    struct embedded *embedded = embedded_self(engine);

    if (embedded->journal != NULL) {
        embedded_last_tick(embedded);
        embedded_flush_all(embedded);
        if (!embedded->failed) {
            journal_sync(embedded->journal);
        }
        snapshots_end(&embedded->snapshots);
        journal_close(embedded->journal);
    }
    storage_free(embedded->options.storage);
    core_destroy(embedded->core);
    reply_free(&embedded->reply);
    free_pending(&embedded->pending);
    free_pending(&embedded->spare);
    buffer_free(&embedded->encoded);
    slab_free(&embedded->waiters);
    table_free(&embedded->by_ticket);
    CHECK(embedded->memory.used == 0 && embedded->scratch.used == 0);
    huge_pages_end(&embedded->memory);
    free(embedded);
}

enum hf_error embedded_open_with(const struct embedded_options *options, struct engine **engine,
                                 struct problem *problem)
{
    uint64_t seed[2];
    struct embedded *embedded = calloc(1, sizeof *embedded);

    *engine = NULL;
    if (embedded == NULL) {
        storage_free(options->storage);
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    embedded->engine.type = &engine_embedded;
    embedded->engine.name = "embedded";
    embedded->options = *options;
    if (embedded->options.segment_bytes == 0) {
        embedded->options.segment_bytes = SEGMENT_BYTES;
    }
    if (embedded->options.snapshot_bytes == 0) {
        embedded->options.snapshot_bytes = SNAPSHOT_BYTES;
    }
    memory_init(&embedded->memory);
    if (options->pages_ahead) {
        huge_pages_ahead(&embedded->memory, PAGES_AHEAD_AFTER);
    }
    memory_init(&embedded->scratch);
    buffer_init(&embedded->encoded, &embedded->scratch);
    list_init(&embedded->pending);
    list_init(&embedded->spare);
    random_init(&embedded->random);
    random_bytes(&embedded->random, seed, sizeof seed);
    slab_init(&embedded->waiters, &embedded->scratch, sizeof(struct embedded_waiter));
    table_init(&embedded->by_ticket, &embedded->scratch);
    bool ready = reply_init(&embedded->reply, &embedded->scratch);
    embedded->core = ready ? core_create(&embedded->memory, seed) : NULL;
    enum hf_error code = HF_OK;
    if (embedded->core == NULL) {
        code = problem_set(problem, HF_BUSY, "out of memory");
    } else {
        code = embedded->options.storage != NULL ? open_journal(embedded, problem) : HF_OK;
        code = code == HF_OK ? begin(embedded, problem) : code;
    }
    if (code != HF_OK) {
        embedded_close(&embedded->engine);
        return code;
    }
    limit_memory(embedded);
    *engine = &embedded->engine;
    return HF_OK;
}

/* "?fsync=everysec" */
static bool parse_policy(const char *query, enum journal_policy *policy)
{
    static const struct {
        const char *text;
        enum journal_policy policy;
    } policies[] = {{"", JOURNAL_ALWAYS},
                    {"?fsync=always", JOURNAL_ALWAYS},
                    {"?fsync=everysec", JOURNAL_EVERYSEC},
                    {"?fsync=no", JOURNAL_NO}};

    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        if (strcmp(query, policies[i].text) == 0) {
            *policy = policies[i].policy;
            return true;
        }
    }
    return false;
}

/* Where the directory's name ends; 0 for none: in memory. False if it is no such URL. */
static bool parse_url(const char *url, size_t *size, enum journal_policy *policy,
                      struct problem *problem)
{
    const char *rest = strchr(url, ':') + 1;

    *size = strcspn(rest, "?");
    if (*rest == '\0' || (*size > 0 && *size < PATH_SIZE && parse_policy(rest + *size, policy))) {
        return true;
    }
    problem_set(problem, HF_INVALID_ARGUMENT,
                "embedded:%.80s: must be embedded:DIR, or embedded:DIR?fsync=always, "
                "everysec or no",
                rest);
    return false;
}

enum hf_error embedded_check(const char *url, struct problem *problem)
{
    enum journal_policy policy;
    size_t size;

    return parse_url(url, &size, &policy, problem) ? HF_OK : HF_INVALID_ARGUMENT;
}

enum hf_error embedded_open(const char *url, const struct engine_options *wanted,
                            struct engine **engine, struct problem *problem)
{
    struct embedded_options options = {.log = wanted->log,
                                       .answers_before_flush = wanted->answers_before_flush,
                                       .pages_ahead = true,
                                       .max_memory_bytes = wanted->max_memory_bytes,
                                       .min_free_bytes = wanted->min_free_bytes,
                                       .progress = wanted->progress,
                                       .progress_context = wanted->progress_context};
    size_t size;
    char path[PATH_SIZE];

    if (!parse_url(url, &size, &options.policy, problem)) {
        return HF_INVALID_ARGUMENT;
    }
    if (wanted->clock != NULL) {
        clock_asked(&options.clock, wanted->clock, wanted->clock_context);
    } else {
        clock_real(&options.clock);
    }
    if (size == 0) {
        return embedded_open_with(&options, engine, problem);
    }
    memcpy(path, strchr(url, ':') + 1, size);
    path[size] = '\0';
    int code = storage_posix(path, true, &options.storage);
    if (code != 0) {
        return problem_set(problem, HF_IOERR, "%.120s: %s", path, strerror(-code));
    }
    return embedded_open_with(&options, engine, problem);
}
