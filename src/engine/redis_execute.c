/* SPDX-License-Identifier: Apache-2.0
 *
 * Which executor carries out a command on Redis. Most commands are one call of their script, by
 * their row; the few that take more have an executor of their own. */
#include "engine/redis_state.h"
#include "redis/redlock/redlock.h"
#include "redis/script/execute.h"
#include "redis/script/waiting.h"
#include "redis/stock/stock.h"

typedef void executor(struct redis *redis, struct job *job);

static executor *const special[COMMAND_COUNT] = {
    [SEM_ACQUIRE] = wait_execute,
    [ROOM_ADMIT] = execute_admit,
};

void redis_execute(struct redis *redis, struct job *job)
{
    executor *own = special[command_id(job->command.spec)];

    if (redis->redlock != NULL) {
        redlock_execute(redis, job);
    } else if (redis->stocks != NULL && stock_has(&job->command)) {
        stock_execute(redis, job);
    } else if (own != NULL) {
        own(redis, job);
    } else {
        execute_one_call(redis, job);
    }
}
