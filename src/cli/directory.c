/* SPDX-License-Identifier: Apache-2.0
 *
 * What the subcommands that work on a data directory share. */
#include "cli/directory.h"

#include "base/clock.h"
#include "cli/cli.h"

#include <stdio.h>

#define REDRAW_NS 50000000

bool cli_arguments(int argc, char **argv, const char *usage, int count)
{
    for (int i = 1; i < argc; i++) {
        if (i > count || argv[i][0] == '-') {
            cli_usage("%s takes %s; what is '%s'?", argv[0], usage, argv[i]);
            return false;
        }
    }
    if (argc - 1 < count) {
        cli_usage("%s needs %s", argv[0], usage);
    }
    return argc - 1 == count;
}

struct storage *cli_open_directory(const char *path, struct directory *directory)
{
    struct storage *storage;
    int code = storage_posix(path, false, &storage);

    *directory = (struct directory){.temporary = false};
    if (code == 0) {
        code = directory_read(storage, directory);
    }
    if (code != 0) {
        cli_usage("%s: the directory cannot be read: %s", path, strerror(-code));
    } else if (directory->segments.count == 0 && directory->snapshots.count == 0) {
        cli_usage("%s: holds no journal and no snapshot; is it the data directory?", path);
        code = 1;
    }
    if (code != 0) {
        directory_free(directory);
        storage_free(storage);
        return NULL;
    }
    return storage;
}

bool cli_is_directory(const char *path)
{
    struct directory directory;
    struct storage *storage = cli_open_directory(path, &directory);
    bool is_one = storage != NULL;

    directory_free(&directory);
    storage_free(storage);
    return is_one;
}

void cli_progress(void *context, int64_t done, int64_t total)
{
    static const char bar[] = "########################################";
    static const char rest[] = "........................................";
    const int width = (int)sizeof bar - 1;
    static uint64_t shown;
    uint64_t now = clock_nanoseconds();

    if (now - shown < REDRAW_NS || total <= 0) {
        return;
    }
    shown = now;
    double share = done < total ? (double)done / (double)total : 1;
    int full = (int)(share * width);
    cli_live("  %s [%.*s%.*s] %3.0f %%  %.0f of %.0f MB", (const char *)context, full, bar,
             width - full, rest, share * 100, (double)done / 1e6, (double)total / 1e6);
}
