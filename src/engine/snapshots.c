/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/snapshots.h"

#include "journal/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0 or a negative errno. */
static int write_down(struct core *core, struct journal *journal, int handle)
{
    struct snapshot_header header = {.sequence = journal_last(journal),
                                     .chain = journal_chain(journal)};
    struct memory memory;
    struct buffer state;

    memory_init(&memory);
    buffer_init(&state, &memory);
    int code = core_snapshot(core, &state) ? 0 : -ENOMEM;
    if (code == 0) {
        struct hf_bytes bytes = {state.data, state.size};
        code = snapshot_write(journal_storage(journal), handle, &header, bytes);
    }
    buffer_free(&state);
    return code;
}

static void *clean(void *context)
{
    struct snapshots *snapshots = context;

    journal_forget_before(snapshots->journal, snapshots->sequence);
    atomic_store(&snapshots->cleaned, true);
    return NULL;
}

/* The snapshot was written, or not: `code` says. */
static void finish(struct snapshots *snapshots, struct journal *journal, const struct log *log,
                   int code)
{
    journal_growth_covered(journal, snapshots->growth); /* also if it failed: not again at once */
    if (code == 0) {
        code = snapshot_publish(journal_storage(journal), snapshots->sequence);
    }
    if (code != 0) {
        /* Nothing is lost: the journal has it all. */
        log_line(log, LOG_WARNING, "no snapshot could be made: %s", strerror(-code));
        return;
    }
    log_line(log, LOG_DEBUG, "snapshot of record %" PRIu64 " is in place", snapshots->sequence);
    snapshots->journal = journal;
    atomic_store(&snapshots->cleaned, false);
    snapshots->cleaning = journal_storage(journal)->type->forked != NULL &&
                          pthread_create(&snapshots->cleaner, NULL, clean, snapshots) == 0;
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

/* Sockets of the parent's must not live on in the child: a port would stay taken, and a connection
 * that the parent closes stay open. */
static void close_sockets(void)
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

enum hf_error snapshots_begin(struct snapshots *snapshots, struct core *core,
                              struct journal *journal, const struct log *log,
                              struct problem *problem)
{
    struct storage *storage = journal_storage(journal);

    snapshots->sequence = journal_last(journal);
    snapshots->growth = journal_growth(journal);
    if (snapshots->sequence == 0) {
        return HF_OK; /* nothing has happened yet */
    }
    int handle = snapshot_create(storage);
    if (handle < 0 || storage->type->forked == NULL) {
        int code = handle < 0 ? handle : write_down(core, journal, handle);
        if (handle >= 0) {
            storage->type->close(storage, handle);
        }
        finish(snapshots, journal, log, code);
        return HF_OK;
    }
    pid_t child = fork();
    if (child == 0) {
        /* The parent alone gives names and takes them: an orphan does no harm. */
        storage->type->forked(storage);
        close_sockets();
        _exit(write_down(core, journal, handle) == 0 ? 0 : 1);
    }
    storage->type->close(storage, handle);
    if (child < 0) {
        journal_growth_covered(journal, snapshots->growth);
        return problem_set(problem, HF_BUSY, "cannot fork for a snapshot: %s", strerror(errno));
    }
    snapshots->child = child;
    return HF_OK;
}

bool snapshots_running(const struct snapshots *snapshots)
{
    return snapshots->child != 0 || snapshots->cleaning;
}

static void reap(struct snapshots *snapshots, struct journal *journal, const struct log *log,
                 int flags)
{
    int status = 0;

    if (snapshots->child == 0) {
        return;
    }
    pid_t ended = waitpid(snapshots->child, &status, flags);
    if (ended == 0 || (ended < 0 && errno == EINTR)) {
        return;
    }
    bool good = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    snapshots->child = 0;
    finish(snapshots, journal, log, good ? 0 : -EIO);
}

void snapshots_reap(struct snapshots *snapshots, struct journal *journal, const struct log *log)
{
    if (snapshots->cleaning && atomic_load(&snapshots->cleaned)) {
        join_cleaner(snapshots);
    }
    reap(snapshots, journal, log, WNOHANG);
}

void snapshots_end(struct snapshots *snapshots, struct journal *journal, const struct log *log)
{
    while (snapshots->child != 0) {
        reap(snapshots, journal, log, 0);
    }
    join_cleaner(snapshots);
}
