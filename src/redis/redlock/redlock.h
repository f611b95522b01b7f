/* SPDX-License-Identifier: Apache-2.0
 *
 * LOCK.* on N servers that know nothing of each other (Redlock): held is what a quorum of N/2 + 1
 * says is held.
 *
 * What it promises: while a quorum is up and remembers, at most one id holds a lock, as long as the
 * clocks of the servers run at about the same pace (one part in a hundred and 2 ms are allowed for)
 * and nobody's answer is later than the lock lasts; N - quorum servers may be down. Fences grow
 * from holder to holder, across servers: a fence is handed out only when a quorum has written it
 * down, and each quorum has a server in common with the one before.
 *
 * What it does not: a holder that was paused does not know that its lock is over, and a server that
 * forgot (restarted without its data, or failed over to a replica that had not yet heard) votes
 * again within the time of a lock it gave away. So what a lock guards should look at the fence.
 * Servers should write with appendfsync always, or stay away for the longest TTL after a crash. */
#ifndef REDIS_REDLOCK_REDLOCK_H
#define REDIS_REDLOCK_REDLOCK_H

#include "redis/script/pending.h"

struct redlock;

/* Connects to every server of the URL. options->ready is called once: a quorum is there, or cannot
 * be. NULL when there is no memory. */
struct redlock *redlock_open(struct script_env *env, const struct redis_client_options *options);

/* As redis_client_close(). Commands that wait to try again are not answered any more. */
void redlock_close(struct redlock *redlock, void (*closed)(void *context), void *context);

/* Server i's connections, for figures; NULL behind the last. */
struct redis_client *redlock_client(const struct redlock *redlock, size_t i);

/* LOCK.TRY, UNLOCK, EXTEND and GET; anything else is INVALID_ARGUMENT. */
void redlock_execute(struct redlock *redlock, struct pending_command *pending);

#endif
