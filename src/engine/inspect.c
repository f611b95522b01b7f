/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a data directory without changing it. */
#include "engine/inspect.h"

#include "engine/embedded.h"
#include "journal/storage_read_only.h"

#define ATTEMPTS 10 /* to read a directory that is different each time */

static enum hf_error open_once(const char *path, inspect_progress *progress, void *context,
                               struct engine **engine, struct problem *problem)
{
    struct embedded_options options = {.policy = JOURNAL_NO,
                                       .snapshot_bytes = -1,
                                       .log = {.level = LOG_ERROR},
                                       .progress = progress,
                                       .progress_context = context};
    struct storage *storage;
    int code = storage_posix(path, false, &storage);

    *engine = NULL;
    if (code != 0) {
        return problem_set(problem, HF_IOERR, "the directory cannot be opened: %s",
                           strerror(-code));
    }
    options.storage = storage_read_only(storage);
    if (options.storage == NULL) {
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    clock_real(&options.clock);
    return embedded_open_with(&options, engine, problem);
}

enum hf_error inspect_open(const char *path, inspect_progress *progress, void *context,
                           struct engine **engine, struct problem *problem)
{
    struct problem before = {.code = HF_OK};

    /* The owner may put a snapshot in place of files we were about to read, or write where we are
     * reading. What is wrong with the files themselves is wrong a second time. */
    for (int i = 0; i < ATTEMPTS; i++) {
        if (open_once(path, progress, context, engine, problem) == HF_OK) {
            return HF_OK;
        }
        if (before.code == problem->code && strcmp(before.message, problem->message) == 0) {
            break;
        }
        before = *problem;
    }
    return problem->code;
}

enum hf_error inspect(const char *path, inspect_progress *progress, void *context,
                      struct problem *problem)
{
    struct engine *engine;
    enum hf_error code = inspect_open(path, progress, context, &engine, problem);

    if (code == HF_OK) {
        engine_close(engine);
    }
    return code;
}
