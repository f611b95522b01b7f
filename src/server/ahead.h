/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing ahead, with --threads: before the loop serves the connections of a queue one
 * by one, its crew reads from the sockets of many at a time, each into a buffer of its own; and
 * before it sends the answers of a turn, the crew writes them. The loop finds the results where it
 * would have made the system call. What was read ahead and not served in this turn is kept with the
 * connection. */
#ifndef SERVER_AHEAD_H
#define SERVER_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ahead;
struct connection;
struct list;
struct loop;
struct read_ahead;

/* Of a connection: what was done ahead for it. */
struct done_ahead {
    struct read_ahead *read; /* NULL: nothing was read */
    bool is_written;         /* a write was made, with this result */
    ssize_t written;
    int error; /* errno of it */
};

/* With so many threads, the caller's among them. NULL if that is one, or if there are no others to
 * be had. */
struct ahead *ahead_start(unsigned threads);
void ahead_stop(struct ahead *ahead);
/* How many threads there are, the caller's among them; of NULL 1. */
unsigned ahead_threads(const struct ahead *ahead);

/* Reads for, or writes for, the first sessions of a queue, unless that was done before. */
void ahead_read(struct loop *loop, const struct list *resumed);
void ahead_write(struct loop *loop, const struct list *sending);
/* No more is served in this turn: what was read stays with the connections. */
void ahead_keep(struct loop *loop);

/* Where the connection's bytes are read to: the loop's buffer, or the one that was read into. */
char *ahead_buffer(struct connection *connection);

/* As stream_read() and stream_write(), or the result of what was done ahead. */
ssize_t ahead_received(struct connection *connection, char *at, size_t size);
ssize_t ahead_sent(struct connection *connection, const char *data, size_t size);

/* The connection was served, or was not: its buffer can be read into again. Bytes that were not
 * taken stay with the connection. */
void ahead_give_back(struct connection *connection);
/* The connection ends. */
void ahead_over(struct connection *connection);

#endif
