/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of the audit log: a regular one, which nobody but its owner may read, appended to. */
#ifndef SERVER_AUDIT_FILE_H
#define SERVER_AUDIT_FILE_H

#include "base/problem.h"

/* Opens it for appending, and makes it if need be. A last line that a crash has torn is ended. -1,
 * and the problem says why: it is a directory, a symbolic link, a pipe or a device, or the system
 * does not allow it. Never waits for a pipe. */
int audit_file_open(const char *path, struct problem *problem);

/* Would that succeed? Makes nothing. */
bool audit_file_check(const char *path, struct problem *problem);

#endif
