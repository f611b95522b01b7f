/* SPDX-License-Identifier: Apache-2.0
 *
 * A command run for as long as something is held. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>

struct child {
    char **command;        /* ends with NULL; looked for as a shell would */
    int stop_fd;           /* when it can be read, the command gets SIGTERM */
    int64_t kill_after_ms; /* a command that has not ended so long after that is killed */
};

/* Runs the command in a process group of its own, to its end, and returns its exit code: 128 and
 * the number of the signal that ended it, 127 if there is no such program, 126 if it cannot be
 * started, with a message. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to it, and are blocked
 * from then on. If this process dies, the command gets SIGTERM. *stopped says whether stop_fd ended
 * it. */
int child_run(const struct child *child, bool *stopped);

#endif
