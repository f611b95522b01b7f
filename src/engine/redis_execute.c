/* SPDX-License-Identifier: Apache-2.0
 *
 * Which executor carries out a command on Redis. Most commands are one call of their script, by
 * their row; the few that take more have an executor of their own. */
#include "engine/redis_state.h"
#include "redis/redlock/redlock.h"
#include "redis/script/execute.h"
#include "redis/script/waiting.h"
#include "redis/stock/stock.h"

typedef void executor(struct script_env *env, struct pending_command *pending);

static executor *const special[COMMAND_COUNT] = {
    [SEM_ACQUIRE] = wait_execute,
    [ROOM_ADMIT] = execute_admit,
};

void redis_execute(struct script_env *env, struct pending_command *pending)
{
    executor *own = special[command_id(pending->command.spec)];

    if (env->redlock != NULL) {
        redlock_execute(env, pending);
    } else if (env->stocks != NULL && stock_has(&pending->command)) {
        stock_execute(env, pending);
    } else if (own != NULL) {
        own(env, pending);
    } else {
        execute_one_call(env, pending);
    }
}
