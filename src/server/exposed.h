/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a server keeps its secrets in, and that others than their owner can read or write. */
#ifndef SERVER_EXPOSED_H
#define SERVER_EXPOSED_H

#include "server/options.h"

typedef void exposed_say(void *context, const char *warning);

/* Says of each such file of the settings what others may do with it, and how that is put right. */
void exposed_files(const struct server_options *options, exposed_say *say, void *context);

#endif
