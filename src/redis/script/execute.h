/* SPDX-License-Identifier: Apache-2.0
 *
 * The executors of commands that need nothing but their script. An executor carries out
 * pending->command: it fills in pending->reply and calls pending_finish() once, at once or from
 * the loop. */
#ifndef REDIS_SCRIPT_EXECUTE_H
#define REDIS_SCRIPT_EXECUTE_H

#include "redis/script/script_env.h"

/* One call of the script that the command's row names. */
void execute_one_call(struct script_env *env, struct pending_command *pending);

/* ROOM.ADMIT: calls of the script, one after the other, until as many are admitted as wanted. */
void execute_admit(struct script_env *env, struct pending_command *pending);

#endif
