/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's loop: listening sockets, turns, timers and signals, on one thread. */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

#include "server/connection.h"
#include "server/listener.h"
#include "server/loop_work.h"
#include "server/server.h"
#include "server/strangers.h"

#define READ_SIZE ((size_t)64 << 10)

struct loop {
    struct server server;
    uv_loop_t uv;
    struct listener listeners[2];
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;          /* active while there is more to do than a turn has time for */
    uv_timer_t engine_timer; /* when something falls due */
    uv_async_t engine_wake;  /* an engine's own thread has answers */
    uv_timer_t ticks;
    uv_timer_t deadline; /* the end of draining, or of a failed server */
    uv_signal_t signals[3];
    struct tls *tls; /* NULL: plain */
    int spare_fd;    /* given up for a moment when descriptors run out */
    int64_t due_ms;  /* what engine_timer is set to */
    enum server_exit exit_code;

    struct time_limit slow;      /* in the middle of a request, or does not read its answers */
    struct time_limit crowding;  /* waiting or idle, and holds more memory than that needs */
    struct time_limit quiet;     /* HTTP, between two requests */
    struct time_limit lingering; /* everything is answered */
    struct time_limit health;    /* beyond max-connections, and has not checked the health yet */
    struct strangers strangers;
    struct list handshaking; /* sessions whose TLS handshake goes on in one of the next turns */
    bool handshakes_next;    /* those come next, rather than sessions that yielded */
    bool limits_due;         /* the time limits of connections are to be checked */
    unsigned muted;          /* connections that this turn has stopped to watch */
    size_t ticks_left;       /* sessions that are still to be given their tick */
    bool has_workers;        /* threads for slow work */
    struct loop_work first_work;
    struct ahead *ahead;  /* what other threads read and write; NULL: nothing */
    struct list released; /* sessions to be freed at the end of the turn */
    char read_buffer[READ_SIZE];
};

void loop_init(struct loop *loop, const struct server_options *options);
/* Ends all connections. */
void loop_free(struct loop *loop);

/* Parts of a turn, in loop_close.c: the first reclaims memory of connections that hold it without
 * need, the second closes those that are slow or silent, and gives sessions their ticks. */
void loop_evict(struct loop *loop);
void loop_keep_house(struct loop *loop);

/* Called from any thread: the engine has answers. */
void loop_wake(void *loop);

/* The engine is there: if each batch waits for the disk, a thread does that. */
void loop_flush_on_thread(struct loop *loop);

/* Of a server that stops: hangs up on each client that has its answers; the loop ends when all do,
 * or when the time is over. */
void loop_drain_within(struct loop *loop, int64_t ms);

#endif
