/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor of most commands: one call of the script that the command's row names, with the
 * keys and arguments of the row. */
#ifndef REDIS_SCRIPT_SCRIPT_EXECUTE_H
#define REDIS_SCRIPT_SCRIPT_EXECUTE_H

#include "redis/script/pending.h"

void script_execute(struct pending_command *pending);

#endif
