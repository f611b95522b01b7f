/* SPDX-License-Identifier: Apache-2.0
 *
 * What the subcommands that work on a data directory share. */
#ifndef CLI_DIRECTORY_H
#define CLI_DIRECTORY_H

#include "journal/directory.h"

/* Are there so many arguments and no flag? Says on standard error what is wrong if not; `usage`
 * names them. */
bool cli_arguments(int argc, char **argv, const char *usage, int count);

/* Opens a data directory for looking at, and lists it. NULL, and why on standard error, if it
 * cannot be read or is none. Both are the caller's to free. */
struct storage *cli_open_directory(const char *path, struct directory *directory);

/* Is it a data directory? Says on standard error what is wrong if not. */
bool cli_is_directory(const char *path);

/* A bar on a terminal; `context` is the word in front of it. End it with cli_live_end(). */
void cli_progress(void *context, int64_t done, int64_t total);

#endif
