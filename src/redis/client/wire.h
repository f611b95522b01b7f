/* SPDX-License-Identifier: Apache-2.0
 *
 * One TCP connection from its beginning to its end: what is written goes out once a turn of the
 * loop, in one piece; what comes in is told reply by reply. It knows nothing of what is said.
 *
 * Replies are read with hiredis' reader. Its asynchronous API is not used: it looks names up while
 * the loop stands still, it does not tell what had left when a connection broke, and its adapter
 * for libuv takes a refused connection for one that is still being made. */
#ifndef REDIS_CLIENT_WIRE_H
#define REDIS_CLIENT_WIRE_H

#include "base/buffer.h"
#include "base/list.h"

#include <hiredis/hiredis.h>
#include <uv.h>

#define WIRE_INPUT_SIZE ((size_t)64 << 10)

/* What the wires of one client share. */
struct wires {
    uv_loop_t *loop;
    uv_idle_t idle; /* runs while there is something to flush: the loop must not fall asleep */
    struct memory memory;
    struct list unflushed;
    size_t alive;                           /* wires that are not yet freed */
    void (*none_left)(struct wires *wires); /* called when one is freed and `alive` is 0 */
    char input[WIRE_INPUT_SIZE];
};

/* Told to the owner, from the loop. After wire_close() nothing more is told. */
struct wire_events {
    void (*opened)(void *owner);
    void (*reply)(void *owner, const redisReply *reply);
    /* It cannot be made, or broke: wire_close() is to be called, here or later. */
    void (*failed)(void *owner, const char *why);
};

struct wire;

void wires_init(struct wires *wires, uv_loop_t *loop);
/* To be called once a turn, before the loop waits. */
void wires_flush(struct wires *wires);

/* Begins to connect. NULL when there is no memory. */
struct wire *wire_open(struct wires *wires, const char *host, uint16_t port,
                       const struct wire_events *events, void *owner);
/* The wire is gone for the owner; it is freed by and by. NULL is fine. */
void wire_close(struct wire *wire);

/* Where to write what is to be sent; flushed with this turn of the loop, or once connected. */
struct buffer *wire_out(struct wire *wire);
/* How many bytes were written so far. */
uint64_t wire_written(const struct wire *wire);
/* How many of them the system has taken: the others cannot have reached the server. */
uint64_t wire_taken(const struct wire *wire);

#endif
