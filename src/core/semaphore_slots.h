/* SPDX-License-Identifier: Apache-2.0
 *
 * The slots of semaphores: what the commands of semaphore.c are made of. */
#ifndef CORE_SEMAPHORE_SLOTS_H
#define CORE_SEMAPHORE_SLOTS_H

#include "core/state.h"

static inline struct semaphore *semaphore_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_SEMAPHORES, index);
}

static inline struct sem_client *sem_client_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_SEM_CLIENTS, index);
}

static inline bool sem_client_holds(const struct sem_client *client)
{
    return client->record.state == CLIENT_HOLDING;
}

/* Can others have slots once the client is gone? A holder's are free then; those behind a waiter
 * for several may fit where it did not. A waiter for one that leaves the line changes nothing. */
static inline bool sem_client_frees(const struct sem_client *client)
{
    return sem_client_holds(client) || client->slots > 1;
}

/* The refusal of a request for more slots than the limit; # are both. */
#define SEM_TOO_LARGE "SLOTS # is more than limit #: it could never be granted"
/* The same of one that waits, and was within the limit before. */
#define SEM_TOO_LARGE_NOW "SLOTS # is more than the limit, which is # now"

/* What must be true of a semaphore after every change of its slots or its line. */
void sem_check(const struct core *core, const struct semaphore *semaphore);

/* Removes a semaphore without a holder or a waiter. */
void sem_drop_if_idle(struct core *core, uint32_t index);

/* Sets the client's deadline by the fields of its record. */
void sem_arm(struct core *core, uint32_t index);

/* Answers the call that the client waits in, if it does. */
void sem_end_wait(struct core *core, struct sem_client *client, struct wakeup wakeup);

/* The client, who is not in line, gets its slots. */
void sem_grant(struct core *core, struct semaphore *semaphore, uint32_t index);

/* Out of the slots or the line, and gone. Hands nothing on. `why` is for the call that waits. */
void sem_remove_client(struct core *core, uint32_t index, const char *why);

/* The slots in use when all that can be handed out are. */
int64_t sem_slots_in_use(const struct semaphore *semaphore);

/* A command freed slots: the first in line get theirs, and where they are more than may take part
 * in one step, the rest is handed out next, before anything else happens to any semaphore. Returns
 * how many got theirs, the rest included. */
int64_t sem_hand_on(struct core *core, uint32_t index);

#endif
