/* SPDX-License-Identifier: Apache-2.0
 *
 *     conformance_server CLOCK [settings of holdfast serve]
 *
 * `holdfast serve` with a clock that a test moves: the file CLOCK has the time in its first 8
 * bytes, in ms since the epoch, as this machine writes an int64_t. Linked with scripts that take
 * the time from the engine. */
#include "server/server.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t tell_time(void *context)
{
    return atomic_load((const _Atomic int64_t *)context);
}

/* The time, as the file has it from moment to moment; NULL if it cannot be read. */
static void *watch(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0) {
        return NULL;
    }
    void *time = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return time != MAP_FAILED ? time : NULL;
}

int main(int argc, char **argv)
{
    struct server_options options;
    struct problem problem;

    void *time = argc > 1 ? watch(argv[1]) : NULL;
    if (time == NULL) {
        fprintf(stderr, "usage: conformance_server CLOCK [settings]\n");
        return 2;
    }
    if (options_load(&options, argc - 1, argv + 1, &problem) != HF_OK) {
        fprintf(stderr, "conformance_server: %s\n", problem.message);
        return 2;
    }
    options.clock = tell_time;
    options.clock_context = time;
    options.admission_every_ms = 0; /* every reply is that of a command */
    enum server_exit code = server_run(&options);
    options_free(&options);
    return (int)code;
}
