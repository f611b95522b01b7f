/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells a process from the children that fork() makes of it. A child has a copy of all memory and
 * all files, and none of the threads: what it inherits is of no use to it, and using it may do the
 * parent harm. A child made by _Fork() or a bare system call is not noticed; it may only call what
 * is safe in a signal handler, and nothing here is. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include "base/list.h"

/* How many forks there were between the first call and this process. It costs a load. */
unsigned process_generation(void);

/* Something to be done in each child, before fork() returns in it. */
struct process_hook {
    struct list node;
    void (*forked)(struct process_hook *hook);
};

void process_add_hook(struct process_hook *hook);
void process_remove_hook(struct process_hook *hook);

#endif
