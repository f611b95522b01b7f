/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor of LIST, which no script can carry out: what is listed is on all masters. */
#ifndef REDIS_SCRIPT_LIST_SCOPES_H
#define REDIS_SCRIPT_LIST_SCOPES_H

#include "redis/script/pending.h"

void list_scopes_execute(struct pending_command *pending);

#endif
