/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast backup DIR DEST
 * holdfast restore BACKUP DIR
 *
 * A copy is made in a directory named "partial", synced, recovered to prove it, and only then given
 * its place: DEST.partial becomes DEST; if DEST is there already and empty (a mounted volume), the
 * files move up from DEST/partial, the snapshot last, so that no step in between would start.
 *
 * Exit code: 0 if the copy is in its place, 1 if it could not be made, 2 if what was asked for
 * makes no sense. */
#include "cli/cli.h"
#include "cli/directory.h"
#include "engine/inspect.h"
#include "journal/copy.h"
#include "journal/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096

struct backup {
    const char *from;
    char to[PATH_SIZE];         /* without a slash at its end */
    char work[PATH_SIZE];       /* where the copy is made */
    struct storage *existing;   /* `to`, if it was there; locked */
    struct storage *work_files; /* `work` */
    struct copied copied;
};

/* Says what went wrong; returns EXIT_REFUSED. */
static int failed(const char *path, const char *what)
{
    cli_usage("%s: %s", path, what);
    return EXIT_REFUSED;
}

/* ---- the place it goes to -------------------------------------------------------------------- */

static void see_name(void *context, const char *name)
{
    static const char *const ignored[] = {".", "..", "lost+found", "LOCK"};
    bool counts = true;

    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        counts &= strcmp(name, ignored[i]) != 0;
    }
    *(bool *)context |= counts;
}

/* `to` is there: it must be empty, and no server may start in it until we are done. */
static int take_existing(struct backup *backup)
{
    bool anything = false;
    int code = backup->existing->type->list(backup->existing, see_name, &anything);

    if (code == 0 && anything) {
        return cli_usage("%s: is not empty; name a directory that is empty or not there",
                         backup->to);
    }
    if (code == 0) {
        code = backup->existing->type->lock(backup->existing);
    }
    if (code == -EAGAIN) {
        return cli_usage("%s: is in use by another process", backup->to);
    }
    return code == 0 ? EXIT_DONE : failed(backup->to, strerror(-code));
}

static int begin(struct backup *backup, const char *to)
{
    size_t size = strlen(to);

    while (size > 1 && to[size - 1] == '/') {
        size--;
    }
    if (size == 0 || size + sizeof ".partial" > PATH_SIZE) {
        return cli_usage("'%.100s': a path of 1 to %d bytes is needed", to, PATH_SIZE - 10);
    }
    snprintf(backup->to, PATH_SIZE, "%.*s", (int)size, to);
    int code = storage_posix(backup->to, false, &backup->existing);
    if (code != 0 && code != -ENOENT) {
        return cli_usage("%s: cannot be used: %s", backup->to, strerror(-code));
    }
    int result = code == 0 ? take_existing(backup) : EXIT_DONE;
    if (result != EXIT_DONE) {
        return result;
    }
    snprintf(backup->work, PATH_SIZE, "%.*s%cpartial", (int)size, to, code == 0 ? '/' : '.');
    if (mkdir(backup->work, 0750) != 0) {
        return errno == EEXIST
                   ? cli_usage("%s: is left from a copy that did not finish, or belongs "
                               "to one that is being made; remove it first",
                               backup->work)
                   : failed(backup->work, strerror(errno));
    }
    code = storage_posix(backup->work, false, &backup->work_files);
    return code == 0 ? EXIT_DONE : failed(backup->work, strerror(-code));
}

/* Leaves nothing of a copy that has not got its place. */
static void end(struct backup *backup, bool done)
{
    if (backup->work_files != NULL && !done) {
        copy_clear(backup->work_files);
        rmdir(backup->work);
        if (backup->existing != NULL) {
            backup->existing->type->remove(backup->existing, "LOCK");
        }
    }
    storage_free(backup->work_files);
    storage_free(backup->existing);
}

/* ---- giving it its place --------------------------------------------------------------------- */

static int move_up(struct backup *backup, const char *name)
{
    char inside[SEGMENT_NAME_SIZE + sizeof "partial/"];

    snprintf(inside, sizeof inside, "partial/%s", name);
    return backup->existing->type->rename(backup->existing, inside, name);
}

/* The newest segment first and the snapshot last: until all are there, the journal begins too late
 * to start with. */
static int move_files(struct backup *backup)
{
    struct directory directory;
    char name[SEGMENT_NAME_SIZE];
    int code = directory_read(backup->work_files, &directory);

    for (size_t i = directory.segments.count; i-- > 0 && code == 0;) {
        segment_name(directory.segments.at[i], name);
        code = move_up(backup, name);
        code = code != 0 ? code : backup->existing->type->sync_directory(backup->existing);
    }
    for (size_t i = directory.snapshots.count; i-- > 0 && code == 0;) {
        snapshot_name(directory.snapshots.at[i], name);
        code = move_up(backup, name);
    }
    directory_free(&directory);
    if (code == 0 && rmdir(backup->work) != 0) {
        code = -errno;
    }
    return code != 0 ? code : backup->existing->type->sync_directory(backup->existing);
}

static int rename_directory(struct backup *backup)
{
    char path[PATH_SIZE];

    if (rename(backup->work, backup->to) != 0) {
        return -errno;
    }
    memcpy(path, backup->to, sizeof path);
    int parent = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = parent < 0 || fsync(parent) != 0 ? -errno : 0;
    if (parent >= 0) {
        close(parent);
    }
    return code;
}

/* ---- both ways ------------------------------------------------------------------------------- */

static int copy(struct backup *backup)
{
    struct directory directory;
    char label[] = "copying";
    char why[256] = "";
    struct storage *from = cli_open_directory(backup->from, &directory);

    if (from == NULL) {
        return EXIT_USAGE;
    }
    bool done = copy_data(from, backup->work_files, cli_progress, label, &backup->copied, why);
    cli_live_end();
    directory_free(&directory);
    storage_free(from);
    if (!done) {
        cli_usage("cannot copy %s to %s: %s", backup->from, backup->to, why);
    }
    return done ? EXIT_DONE : EXIT_REFUSED;
}

static int verify(const char *path, const char *what)
{
    char label[] = "verifying";
    struct problem problem;
    enum hf_error code = inspect(path, cli_progress, label, &problem);

    cli_live_end();
    if (code != HF_OK) {
        cli_usage("%s would not start: %s", what, problem.message);
    }
    return code == HF_OK ? EXIT_DONE : EXIT_REFUSED;
}

static int publish(struct backup *backup)
{
    int code = backup->existing != NULL ? move_files(backup) : rename_directory(backup);

    if (code != 0) {
        cli_usage("%s: the copy cannot be given its place: %s; do not use what is there",
                  backup->to, strerror(-code));
        return EXIT_REFUSED;
    }
    const struct copied *copied = &backup->copied;
    printf("%s: copied to %s up to record %" PRIu64, backup->from, backup->to, copied->last);
    if (copied->snapshot > 0) {
        printf(", with the snapshot of record %" PRIu64, copied->snapshot);
    }
    printf("; %zu file%s, %" PRId64 " bytes, verified\n", copied->files,
           copied->files == 1 ? "" : "s", copied->bytes);
    return EXIT_DONE;
}

static int run(const char *from, const char *to)
{
    struct backup backup = {.from = from};
    char what[PATH_SIZE + 32];
    int code = begin(&backup, to);

    snprintf(what, sizeof what, "the copy of %.4000s", from);
    code = code == EXIT_DONE ? copy(&backup) : code;
    code = code == EXIT_DONE ? verify(backup.work, what) : code;
    code = code == EXIT_DONE ? publish(&backup) : code;
    end(&backup, code == EXIT_DONE);
    return code;
}

int cli_backup(int argc, char **argv)
{
    if (!cli_arguments(argc, argv, "DIR DEST", 2) || !cli_is_directory(argv[1])) {
        return EXIT_USAGE;
    }
    return run(argv[1], argv[2]);
}

int cli_restore(int argc, char **argv)
{
    if (!cli_arguments(argc, argv, "BACKUP DIR", 2) || !cli_is_directory(argv[1])) {
        return EXIT_USAGE;
    }
    int code = verify(argv[1], argv[1]);
    return code == EXIT_DONE ? run(argv[1], argv[2]) : code;
}
