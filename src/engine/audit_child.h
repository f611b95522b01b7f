/* SPDX-License-Identifier: Apache-2.0
 *
 * An audit that holds no client up: a child of fork() has the state as it is at that moment and
 * looks through it, while the parent goes on. What it finds comes back through a pipe, whose end is
 * also the child's. */
#ifndef ENGINE_AUDIT_CHILD_H
#define ENGINE_AUDIT_CHILD_H

#include "core/core.h"

#include <sys/types.h>

struct audit_child {
    pid_t pid;
    int from; /* what it finds; -1 when nothing more is to be read */
};

/* `forked` lets go, in the child, of what it must not keep; may be NULL. BUSY if the system has no
 * process to spare. */
enum hf_error audit_child_begin(struct audit_child *child, struct core *core,
                                void (*forked)(void *context), void *context,
                                struct problem *problem);

/* Waits for it, on any thread, and reports what it found. A child that makes no progress is killed.
 */
enum hf_error audit_child_end(struct audit_child *child, hf_audit_report *report, void *context,
                              uint64_t *findings, struct problem *problem);

/* Ends it early, from another thread than the one that waits: that one gets BUSY. */
void audit_child_stop(const struct audit_child *child);

#endif
