/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to a server on which many requests are in flight at once. Requests are appended to
 * pipeline_out(); answers are read from pipeline_in() in the same order. Nothing here waits: that
 * is what the caller does, on the descriptor. */
#ifndef CLI_PIPELINE_H
#define CLI_PIPELINE_H

#include "library/remote_connection.h"

struct pipeline {
    struct remote_connection *connection;
    size_t sent;        /* of what is to go out */
    size_t taken;       /* of what has come in */
    bool wants_write;   /* wait until the socket can be written, not only read */
    const char *failed; /* why it is of no more use; NULL while it is */
};

/* What several connections to one server share. */
struct pipeline_server {
    struct remote_url url;
    struct tls *tls;
};

enum hf_error pipeline_server_open(struct pipeline_server *server, const char *url,
                                   struct problem *problem);
void pipeline_server_close(struct pipeline_server *server);

/* Connects and says who we are, waiting no longer than the URL says. */
enum hf_error pipeline_open(struct pipeline *pipeline, const struct pipeline_server *server,
                            struct problem *problem);
void pipeline_close(struct pipeline *pipeline);

static inline int pipeline_fd(const struct pipeline *pipeline)
{
    return pipeline->connection->fd;
}

/* Where requests are appended. */
static inline struct buffer *pipeline_out(struct pipeline *pipeline)
{
    return &pipeline->connection->out;
}

/* How much of them has not been sent yet. */
static inline size_t pipeline_unsent(const struct pipeline *pipeline)
{
    return pipeline->connection->out.size - pipeline->sent;
}

/* What has come in and was not taken yet. */
static inline struct hf_bytes pipeline_in(const struct pipeline *pipeline)
{
    const struct buffer *in = &pipeline->connection->in;
    return (struct hf_bytes){in->data + pipeline->taken, in->size - pipeline->taken};
}

static inline void pipeline_take(struct pipeline *pipeline, size_t size)
{
    pipeline->taken += size;
}

/* Sends what goes out at once. False if the connection has failed. */
bool pipeline_send(struct pipeline *pipeline);

/* Reads what is there. False if the connection has failed or is closed at the other end. */
bool pipeline_receive(struct pipeline *pipeline);

/* Waits until there is something to read, or room to write if that is wanted. False after
 * timeout_ms, which counts as a failure. */
bool pipeline_wait(struct pipeline *pipeline, int64_t timeout_ms);

#endif
