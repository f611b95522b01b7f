/* SPDX-License-Identifier: Apache-2.0
 *
 * Slow work on another thread, and back on the loop when it is done. */
#ifndef SERVER_WORK_H
#define SERVER_WORK_H

#include <uv.h>

struct loop;

/* The head of the caller's own struct, which must live until `done` was called. */
struct work {
    uv_work_t request;
    void (*run)(struct work *work);  /* on another thread */
    void (*done)(struct work *work); /* on the loop */
};

/* Without a loop, both are called at once. */
void work_begin(struct work *work, struct loop *loop, void (*run)(struct work *work),
                void (*done)(struct work *work));

#endif
