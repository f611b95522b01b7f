/* SPDX-License-Identifier: Apache-2.0
 *
 * SEM.ACQUIRE: a call that may wait in line for its slot.
 *
 * The line is Redis'. Who waits is told by a message on this engine's channel, and looks for itself
 * besides: when a slot falls due, a few times a second near the head of the line (other programs on
 * the same keys do not tell us), and now and then to say that it still waits. A waiter that does
 * not is taken out of the line after WAIT_LEASE_MS, so nobody stands behind the dead. */
#ifndef REDIS_SCRIPT_WAITING_H
#define REDIS_SCRIPT_WAITING_H

#include "redis/script/pending.h"

struct waits;

/* NULL when there is no memory. */
struct waits *waits_open(struct script_env *env);
/* Nobody looks any more. Those who still wait are never answered; their leases end. */
void waits_stop(struct waits *waits);
/* After the client is closed. */
void waits_free(struct waits *waits);

size_t waits_count(const struct waits *waits);
/* Everybody looks now; and is somebody still at it? For tests. */
void waits_look(struct waits *waits);
bool waits_looking(const struct waits *waits);

void wait_execute(struct waits *waits, struct pending_command *pending);

#endif
