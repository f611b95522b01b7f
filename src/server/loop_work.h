/* SPDX-License-Identifier: Apache-2.0
 *
 * Slow work on another thread, and back on the loop when it is done. */
#ifndef SERVER_LOOP_WORK_H
#define SERVER_LOOP_WORK_H

#include <stdbool.h>
#include <uv.h>

struct loop;

/* The head of the caller's own struct, which must live until `done` was called. */
struct loop_work {
    uv_work_t request;
    void (*run)(struct loop_work *work);  /* on another thread */
    void (*done)(struct loop_work *work); /* on the loop */
};

/* Starts the threads of a loop. False if the system has none: then no work may be begun. */
bool loop_work_start(struct loop *loop);

/* Without a loop, both are called at once. */
void loop_work_begin(struct loop_work *work, struct loop *loop, void (*run)(struct loop_work *work),
                     void (*done)(struct loop_work *work));

#endif
