/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor of SEM.ACQUIRE, whose client may wait in line for a slot.
 *
 * The line is kept in Redis. A waiter is notified by a message on this engine's channel, and its
 * script is polled besides: when a slot falls due, a few times a second near the head of the line
 * (other programs on the same keys send us no message), and every few seconds to renew its lease.
 * A waiter whose lease is not renewed is taken out of the line after WAIT_LEASE_MS, so that those
 * behind it do not wait for an engine that is gone. */
#ifndef REDIS_SCRIPT_SEM_WAITERS_H
#define REDIS_SCRIPT_SEM_WAITERS_H

#include "redis/script/pending.h"

struct sem_waiters;

/* NULL when there is no memory. */
struct sem_waiters *sem_waiters_open(struct script_env *env);
/* No waiter is polled any more, nor answered; their leases in Redis run out. */
void sem_waiters_stop(struct sem_waiters *waiters);
/* After the client is closed. */
void sem_waiters_free(struct sem_waiters *waiters);

size_t sem_waiters_count(const struct sem_waiters *waiters);
/* Polls for every waiter now: for tests that move the clock. */
void sem_waiters_poll(struct sem_waiters *waiters);
/* Is a poll in flight or due, or has an abandoned waiter not left yet? */
bool sem_waiters_polling(const struct sem_waiters *waiters);

/* Carries out a SEM.ACQUIRE. */
void sem_waiters_acquire(struct sem_waiters *waiters, struct pending_command *pending);

/* Carries out a SEM.RELEASE that takes back what an ACQUIRE got, or waits for, whose client is
 * gone: by the token of its call, so that a call that holds the same id since is left alone. */
void sem_waiters_take_back(struct sem_waiters *waiters, struct pending_command *pending);

/* Nobody reads the answer of any waiter: each leaves its line, or gives back the slot that it was
 * just granted. */
void sem_waiters_abandon(struct sem_waiters *waiters);

#endif
