/* SPDX-License-Identifier: Apache-2.0
 *
 * Making snapshots: a child process writes the state as it was when it was forked. */
#include "engine/snapshots.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/thread.h"
#include "journal/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS ((int64_t)60 * 1000)
#define RETRY_FIRST_MS 1000
#define RETRY_MOST_MS ((int64_t)60 * 1000)
#define POLL_MS 1000  /* how often a child at work is polled */
#define DEATH_MS 5000 /* a killed child is waited for so long */

/* When the engine is closed a child may go on as long as it makes progress, within bounds. */
#define GRACE_MS 2000
#define GRACE_MOST_MS 10000
#define STEP_MS 5 /* between two polls of the child */

/* What a snapshot leaves free for the journal, which ends the engine if it cannot be written. */
#define RESERVE ((int64_t)1 << 20)

#define WHY_SIZE (STORAGE_WHY_SIZE + 64)

void snapshots_init(struct snapshots *snapshots, struct journal *journal, const struct log *log,
                    int64_t timeout_ms, int64_t now_ms)
{
    struct storage *storage = journal_storage(journal);
    char name[SNAPSHOT_NAME_SIZE];

    *snapshots = (struct snapshots){.journal = journal,
                                    .log = log,
                                    .timeout_ms = timeout_ms > 0 ? timeout_ms : TIMEOUT_MS,
                                    .reports = -1};
    if (journal_snapshot(journal) == 0 || storage->type->age_ms == NULL) {
        return;
    }
    snapshot_name(journal_snapshot(journal), name);
    int handle = storage->type->open(storage, name, STORAGE_READ);
    if (handle >= 0) {
        snapshots->last_ms = now_ms - storage->type->age_ms(storage, handle);
        snapshots->last_bytes = storage->type->size(storage, handle);
        snapshots->has_last = snapshots->last_bytes > 0;
        storage->type->close(storage, handle);
    }
}

/* ---- in place, or not ------------------------------------------------------------------------ */

static void *clean(void *context)
{
    struct snapshots *snapshots = context;

    journal_forget_before(snapshots->journal, snapshots->sequence);
    atomic_store(&snapshots->cleaned, true);
    return NULL;
}

static void begin_cleaning(struct snapshots *snapshots)
{
    atomic_store(&snapshots->cleaned, false);
    snapshots->cleaning = journal_storage(snapshots->journal)->type->forked != NULL &&
                          thread_start(&snapshots->cleaner, clean, snapshots);
    if (!snapshots->cleaning) {
        clean(snapshots);
    }
}

static void join_cleaner(struct snapshots *snapshots)
{
    if (snapshots->cleaning) {
        pthread_join(snapshots->cleaner, NULL);
        snapshots->cleaning = false;
    }
}

static int64_t retry_after_ms(unsigned failed_in_a_row)
{
    int64_t delay_ms = RETRY_FIRST_MS;

    for (unsigned i = 1; i < failed_in_a_row && delay_ms < RETRY_MOST_MS; i++) {
        delay_ms *= 2;
    }
    return delay_ms < RETRY_MOST_MS ? delay_ms : RETRY_MOST_MS;
}

/* Nothing is lost: the journal has it all. But it grows until a snapshot succeeds. */
static void failed(struct snapshots *snapshots, const char *why, int64_t now_ms)
{
    snapshots->failed++;
    snapshots->failed_in_a_row++;
    int64_t delay_ms = retry_after_ms(snapshots->failed_in_a_row);
    snapshots->retry_ms = now_ms + delay_ms;
    snapshot_discard(journal_storage(snapshots->journal));
    if (snapshots->closing) {
        log_line(snapshots->log, LOG_WARNING, "a snapshot was not finished before the end: %s",
                 why);
        return;
    }
    log_line(snapshots->log, LOG_WARNING,
             "no snapshot could be made: %s; failure %u in a row, the next try is in %d s", why,
             snapshots->failed_in_a_row, (int)(delay_ms / 1000));
}

static void succeeded(struct snapshots *snapshots, int64_t bytes, int64_t now_ms)
{
    if (snapshots->failed_in_a_row > 0) {
        log_line(snapshots->log, LOG_INFO, "snapshots can be made again, after %u that failed",
                 snapshots->failed_in_a_row);
    }
    log_line(snapshots->log, LOG_DEBUG, "snapshot of record %" PRIu64 " is in place",
             snapshots->sequence);
    journal_growth_covered(snapshots->journal, snapshots->growth);
    snapshots->failed_in_a_row = 0;
    snapshots->made++;
    snapshots->has_last = true;
    snapshots->last_ms = now_ms;
    snapshots->last_bytes = bytes;
    begin_cleaning(snapshots);
}

static void finish(struct snapshots *snapshots, struct snapshot_outcome outcome, int64_t now_ms)
{
    struct storage *storage = journal_storage(snapshots->journal);
    char why[STORAGE_WHY_SIZE];

    if (outcome.code == 0) {
        outcome.code = snapshot_publish(storage, snapshots->sequence);
        outcome.free_bytes = storage_free_bytes(storage);
    }
    if (outcome.code == 0) {
        succeeded(snapshots, outcome.bytes, now_ms);
    } else {
        storage_why(outcome.code, outcome.bytes, outcome.free_bytes, why);
        failed(snapshots, why, now_ms);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What the child says: one of these for each piece of its work, and a last one. */
struct report {
    bool last;
    struct snapshot_outcome outcome;
};

static void send_report(int to, const struct report *report)
{
    ssize_t sent;

    do {
        sent = write(to, report, sizeof *report);
    } while (sent < 0 && errno == EINTR);
    if (sent != (ssize_t)sizeof *report) {
        _exit(1); /* the parent is gone */
    }
}

static void report_progress(void *context)
{
    send_report(*(int *)context, &(struct report){.last = false});
}

/* Size and checksum, from going over the state once without keeping it. */
static bool measure_piece(void *context, struct hf_bytes piece)
{
    struct snapshot_header *header = context;

    header->state_size += piece.size;
    header->state_crc = crc32c(header->state_crc, piece.data, piece.size);
    return true;
}

static bool write_piece(void *context, struct hf_bytes piece)
{
    return snapshot_write_piece(context, piece);
}

static int write_state(struct core *core, struct snapshot_writer *writer,
                       const struct snapshot_header *header)
{
    snapshot_write_header(writer, header);
    bool whole = core_snapshot_pieces(core, write_piece, writer);
    return writer->code != 0 ? writer->code : whole ? snapshot_write_end(writer, header) : -ENOMEM;
}

/* The state is gone over twice: the header stands before it and has its size and checksum, and it
 * is known before the first byte is written whether there is room. `progress` may be NULL. */
static struct snapshot_outcome write_down(struct core *core, struct journal *journal, int handle,
                                          const struct snapshot_progress *progress)
{
    struct storage *storage = journal_storage(journal);
    struct snapshot_header header = {.sequence = journal_last(journal),
                                     .chain = journal_chain(journal)};
    struct snapshot_outcome outcome = {.free_bytes = storage_free_bytes(storage)};
    struct snapshot_writer writer = {.storage = storage, .handle = handle, .progress = progress};

    outcome.code = core_snapshot_pieces(core, measure_piece, &header) ? 0 : -ENOMEM;
    outcome.bytes = SNAPSHOT_HEADER + (int64_t)header.state_size;
    if (progress != NULL) {
        progress->tell(progress->context);
    }
    if (outcome.code == 0 && outcome.free_bytes >= 0 &&
        outcome.free_bytes < outcome.bytes + RESERVE) {
        outcome.code = -ENOSPC;
        outcome.bytes += RESERVE;
    } else if (outcome.code == 0) {
        outcome.code = write_state(core, &writer, &header);
        outcome.free_bytes = storage_free_bytes(storage);
    }
    return outcome;
}

void snapshots_close_sockets(void)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    struct stat status;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) {
            close(fd);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

/* The child's whole life. The parent alone gives names and takes them: an orphan does no harm. */
static void be_child(struct snapshots *snapshots, struct core *core, int handle, int reports[2])
{
    struct storage *storage = journal_storage(snapshots->journal);
    struct snapshot_progress progress = {report_progress, &reports[1]};

    close(reports[0]); /* or a parent that dies would not be noticed */
    storage->type->forked(storage);
    snapshots_close_sockets();
    struct report report = {.last = true};
    report.outcome = write_down(core, snapshots->journal, handle, &progress);
    send_report(reports[1], &report);
    _exit(0);
}

/* 0 or a negative errno. */
static int start_child(struct snapshots *snapshots, struct core *core, int handle, int64_t now_ms)
{
    int reports[2];

    if (pipe2(reports, O_CLOEXEC) < 0) {
        return -errno;
    }
    pid_t child = fork();
    int code = child < 0 ? -errno : 0;
    if (child == 0) {
        be_child(snapshots, core, handle, reports);
    }
    close(reports[1]);
    if (code == 0) {
        code = fcntl(reports[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
        CHECK(code == 0);
        snapshots->child = child;
        snapshots->reports = reports[0];
        snapshots->reported = snapshots->killed = false;
        snapshots->progress_ms = now_ms;
    } else {
        close(reports[0]);
    }
    return code;
}

enum hf_error snapshots_begin(struct snapshots *snapshots, struct core *core, int64_t now_ms,
                              struct problem *problem)
{
    struct storage *storage = journal_storage(snapshots->journal);
    char why[WHY_SIZE];

    CHECK(!snapshots_running(snapshots));
    snapshots->sequence = journal_last(snapshots->journal);
    snapshots->growth = journal_growth(snapshots->journal);
    if (snapshots->sequence == 0) {
        return HF_OK; /* nothing has happened yet */
    }
    int handle = snapshot_create(storage);
    if (handle < 0 || storage->type->forked == NULL) {
        struct snapshot_outcome outcome = {handle, SNAPSHOT_HEADER, storage_free_bytes(storage)};
        if (handle >= 0) {
            outcome = write_down(core, snapshots->journal, handle, NULL);
            storage->type->close(storage, handle);
        }
        finish(snapshots, outcome, now_ms);
        return HF_OK;
    }
    int code = start_child(snapshots, core, handle, now_ms);
    storage->type->close(storage, handle);
    if (code != 0) {
        snprintf(why, sizeof why, "cannot fork for it: %s", strerror(-code));
        failed(snapshots, why, now_ms);
        return problem_set(problem, HF_BUSY, "cannot fork for a snapshot: %s", strerror(-code));
    }
    return HF_OK;
}

/* ---- watching -------------------------------------------------------------------------------- */

bool snapshots_running(const struct snapshots *snapshots)
{
    return snapshots->child != 0 || snapshots->cleaning;
}

bool snapshots_due(const struct snapshots *snapshots, int64_t limit, int64_t now_ms)
{
    if (snapshots_running(snapshots)) {
        return false;
    }
    return snapshots->failed_in_a_row > 0
               ? now_ms >= snapshots->retry_ms
               : limit > 0 && journal_growth(snapshots->journal) >= limit;
}

int64_t snapshots_idle_ms(const struct snapshots *snapshots, int64_t now_ms)
{
    if (snapshots_running(snapshots)) {
        return POLL_MS;
    }
    if (snapshots->failed_in_a_row == 0) {
        return INT64_MAX;
    }
    return snapshots->retry_ms > now_ms ? snapshots->retry_ms - now_ms : 1; /* after the flush */
}

static void read_reports(struct snapshots *snapshots, int64_t now_ms)
{
    struct report reports[64];
    ssize_t got;

    while ((got = read(snapshots->reports, reports, sizeof reports)) > 0 ||
           (got < 0 && errno == EINTR)) {
        /* A report is smaller than PIPE_BUF, so that none comes in halves. */
        for (ssize_t i = 0; i < got / (ssize_t)sizeof reports[0]; i++) {
            snapshots->progress_ms = snapshots->killed ? snapshots->progress_ms : now_ms;
            if (reports[i].last) {
                snapshots->reported = true;
                snapshots->outcome = reports[i].outcome;
            }
        }
    }
}

/* The child is gone, or given up. */
static void forget_child(struct snapshots *snapshots)
{
    close(snapshots->reports);
    snapshots->reports = -1;
    snapshots->child = 0;
}

static void describe_end(const struct snapshots *snapshots, bool known, int status,
                         char why[WHY_SIZE])
{
    if (snapshots->killed) {
        snprintf(why, WHY_SIZE, "it did not come to an end, and was killed");
    } else if (known && WIFSIGNALED(status)) {
        snprintf(why, WHY_SIZE, "its process was killed by signal %d", WTERMSIG(status));
    } else {
        snprintf(why, WHY_SIZE, "its process ended without saying why");
    }
}

/* Deals with a child that has ended. What counts is what it reported: the system may have nothing
 * to say of it, because SIGCHLD is ignored or another part of the process has waited first. */
static void collect(struct snapshots *snapshots, int64_t now_ms)
{
    int status = 0;
    char why[WHY_SIZE];

    if (snapshots->child == 0) {
        return;
    }
    pid_t ended = waitpid(snapshots->child, &status, WNOHANG);
    read_reports(snapshots, now_ms);
    if (ended == 0 || (ended < 0 && errno == EINTR)) {
        return;
    }
    forget_child(snapshots);
    if (snapshots->reported) {
        finish(snapshots, snapshots->outcome, now_ms);
    } else {
        describe_end(snapshots, ended > 0, status, why);
        failed(snapshots, why, now_ms);
    }
}

static void kill_child(struct snapshots *snapshots, int64_t now_ms)
{
    kill(snapshots->child, SIGKILL);
    snapshots->killed = true;
    snapshots->progress_ms = now_ms;
}

/* One that cannot be killed waits for a disk that does not answer. It has a file of its own, which
 * is given another name or none, so it does no harm. */
static void give_up(struct snapshots *snapshots, int64_t now_ms)
{
    log_line(snapshots->log, LOG_WARNING,
             "process %d, which was writing a snapshot, cannot be killed", (int)snapshots->child);
    forget_child(snapshots);
    failed(snapshots, "the disk does not answer", now_ms);
}

void snapshots_watch(struct snapshots *snapshots, int64_t now_ms)
{
    if (snapshots->cleaning && atomic_load(&snapshots->cleaned)) {
        join_cleaner(snapshots);
    }
    collect(snapshots, now_ms);
    if (snapshots->child == 0) {
        return;
    }
    int64_t silent_ms = now_ms - snapshots->progress_ms;
    if (snapshots->killed && silent_ms >= DEATH_MS) {
        give_up(snapshots, now_ms);
    } else if (!snapshots->killed && silent_ms >= snapshots->timeout_ms) {
        log_line(snapshots->log, LOG_WARNING,
                 "process %d, which writes a snapshot, made no progress for %d s: it is killed",
                 (int)snapshots->child, (int)(silent_ms / 1000));
        kill_child(snapshots, now_ms);
    }
}

/* Waits for the child's end, as long as it makes progress, by the system's own clock. */
static void await(struct snapshots *snapshots, int64_t most_ms)
{
    int64_t start_ms = (int64_t)(clock_nanoseconds() / 1000000), now_ms = start_ms;

    snapshots->progress_ms = start_ms;
    collect(snapshots, now_ms);
    while (snapshots->child != 0 && now_ms - snapshots->progress_ms < GRACE_MS &&
           now_ms - start_ms < most_ms) {
        poll(NULL, 0, STEP_MS);
        now_ms = (int64_t)(clock_nanoseconds() / 1000000);
        collect(snapshots, now_ms);
    }
}

void snapshots_end(struct snapshots *snapshots)
{
    snapshots->closing = true;
    await(snapshots, GRACE_MOST_MS);
    if (snapshots->child != 0) {
        kill_child(snapshots, 0);
        await(snapshots, GRACE_MS);
    }
    if (snapshots->child != 0) {
        give_up(snapshots, 0);
    }
    join_cleaner(snapshots);
}
