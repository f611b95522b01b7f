/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves bytes of many requests and answers over one connection without waiting for any of them. */
#include "cli/pipeline.h"

#include "cli/cli.h"

#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>

#define READ_SIZE ((size_t)64 << 10)

/* ---- opening and closing --------------------------------------------------------------------- */

enum hf_error pipeline_server_open(struct pipeline_server *server, const char *url,
                                   struct problem *problem)
{
    char shown[CLI_URL_SIZE];

    *server = (struct pipeline_server){.tls = NULL};
    if (!remote_url_is(url)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: not a server's URL, such as holdfast://127.0.0.1:4653",
                           cli_url_shown(url, shown));
    }
    enum hf_error code = remote_url_read(url, &server->url, problem);
    if (code == HF_OK && server->url.tls) {
        const char *ca = server->url.ca[0] != '\0' ? server->url.ca : NULL;
        server->tls = tls_client(&(struct tls_client_options){.ca = ca}, problem);
        code = server->tls != NULL ? HF_OK : problem->code;
    }
    return code;
}

void pipeline_server_close(struct pipeline_server *server)
{
    tls_free(server->tls);
    explicit_bzero(&server->url, sizeof server->url);
}

enum hf_error pipeline_open(struct pipeline *pipeline, const struct pipeline_server *server,
                            struct problem *problem)
{
    uint64_t deadline_ns = clock_nanoseconds() + (uint64_t)server->url.timeout_ms * 1000000;

    *pipeline = (struct pipeline){
        .connection = remote_connection_open(&server->url, server->tls, deadline_ns, problem)};
    if (pipeline->connection == NULL) {
        return problem->code;
    }
    buffer_clear(&pipeline->connection->in);
    buffer_clear(&pipeline->connection->out);
    return HF_OK;
}

void pipeline_close(struct pipeline *pipeline)
{
    remote_connection_close(pipeline->connection);
    pipeline->connection = NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool fail(struct pipeline *pipeline, const char *why)
{
    pipeline->failed = why;
    return false;
}

/* What to make of an operation that moved nothing: try again later, or never. */
static bool judge(struct pipeline *pipeline, ssize_t moved)
{
    const struct remote_connection *connection = pipeline->connection;

    if (moved == 0) {
        return fail(pipeline, "the server closed the connection");
    }
    if (errno == EAGAIN || errno == EINTR) {
        return true;
    }
    const char *why = connection->tls != NULL ? tls_why(connection->tls) : "";
    return fail(pipeline, why[0] != '\0' ? why : strerror(errno));
}

bool pipeline_send(struct pipeline *pipeline)
{
    struct remote_connection *connection = pipeline->connection;
    struct buffer *out = &connection->out;

    pipeline->wants_write = false;
    if (out->failed) {
        return fail(pipeline, "out of memory");
    }
    while (pipeline->sent < out->size) {
        const char *data = out->data + pipeline->sent;
        size_t size = out->size - pipeline->sent;
        bool wants_write = true;
        ssize_t moved = connection->tls ? tls_write(connection->tls, data, size, &wants_write)
                                        : send(connection->fd, data, size, MSG_NOSIGNAL);
        if (moved <= 0) {
            pipeline->wants_write = wants_write;
            return judge(pipeline, moved);
        }
        pipeline->sent += (size_t)moved;
    }
    buffer_clear(out);
    pipeline->sent = 0;
    return true;
}

/* Moves what was not taken to the front: it is the start of one answer, and short. */
static void make_room(struct pipeline *pipeline)
{
    struct buffer *in = &pipeline->connection->in;

    if (pipeline->taken > 0) {
        in->size -= pipeline->taken;
        memmove(in->data, in->data + pipeline->taken, in->size);
        pipeline->taken = 0;
    }
}

bool pipeline_receive(struct pipeline *pipeline)
{
    struct remote_connection *connection = pipeline->connection;
    struct buffer *in = &connection->in;

    make_room(pipeline);
    for (;;) {
        bool wants_write = false;
        if (!buffer_reserve(in, READ_SIZE)) {
            return fail(pipeline, "out of memory");
        }
        ssize_t moved = connection->tls ? tls_read(connection->tls, in->data + in->size, READ_SIZE,
                                                   &wants_write)
                                        : recv(connection->fd, in->data + in->size, READ_SIZE, 0);
        if (moved <= 0) {
            pipeline->wants_write |= wants_write;
            return judge(pipeline, moved);
        }
        in->size += (size_t)moved;
        /* A short read has taken all there was; inside TLS there may be more. */
        if (connection->tls == NULL ? (size_t)moved < READ_SIZE : !tls_pending(connection->tls)) {
            return true;
        }
    }
}

bool pipeline_wait(struct pipeline *pipeline, int64_t timeout_ms)
{
    struct pollfd wait = {.fd = pipeline_fd(pipeline),
                          .events = (short)(pipeline->wants_write ? POLLIN | POLLOUT : POLLIN)};
    int ready = poll(&wait, 1, timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX);

    return ready != 0 || fail(pipeline, "no answer in time");
}
