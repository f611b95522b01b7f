/* SPDX-License-Identifier: Apache-2.0
 *
 * Which executor carries out a command on Redis. Most commands are one call of their script, by
 * their row; the few that take more have an executor of their own. */
#include "engine/redis_state.h"
#include "redis/redlock/redlock.h"
#include "redis/script/list_scopes.h"
#include "redis/script/room_admit.h"
#include "redis/script/script_execute.h"
#include "redis/script/sem_waiters.h"
#include "redis/stock/stock.h"

void redis_execute(struct redis_engine *engine, struct pending_command *pending)
{
    if (engine->redlock != NULL) {
        redlock_execute(engine->redlock, pending);
        return;
    }
    if (engine->stocks != NULL && stock_has(&pending->command)) {
        stock_execute(engine->stocks, pending);
        return;
    }
    switch (command_id(pending->command.spec)) {
    case SEM_ACQUIRE:
        sem_waiters_acquire(engine->waiters, pending);
        break;
    case SEM_RELEASE:
        if (pending->takes_back) {
            sem_waiters_take_back(engine->waiters, pending);
        } else {
            script_execute(pending);
        }
        break;
    case LIST:
        list_scopes_execute(pending);
        break;
    case ROOM_ADMIT:
    case ROOM_TICK:
        room_admit_execute(pending);
        break;
    default:
        script_execute(pending);
    }
}
