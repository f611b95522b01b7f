/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects to a server, by TLS if its URL says so, authenticates, and exchanges one request and
 * its answer before a deadline. */
#include "library/remote_connection.h"

#include "base/clock.h"
#include "base/resp_write.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE ((size_t)16 << 10)
#define ANSWER_MAX ((size_t)64 << 20) /* no answer is that long */
#define KEPT_MAX ((size_t)256 << 10)  /* buffers that grew beyond this are given back */

/* ---- waiting --------------------------------------------------------------------------------- */

/* Until the socket is ready. 0, or an errno: ETIMEDOUT at the deadline. */
static int await(int fd, short events, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = clock_nanoseconds();
        uint64_t left_ms = now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000000 + 1 : 0;
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int ready = poll(&poll_fd, 1, left_ms < 1000000 ? (int)left_ms : 1000000);
        if (ready > 0) {
            return 0;
        }
        if (ready < 0 && errno != EINTR) {
            return errno;
        }
        if (left_ms == 0) {
            return ETIMEDOUT;
        }
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* As recv() and send() on a socket that does not block. */
static ssize_t receive(struct remote_connection *connection, void *data, size_t size,
                       bool *wants_write)
{
    *wants_write = false;
    return connection->tls ? tls_read(connection->tls, data, size, wants_write)
                           : recv(connection->fd, data, size, 0);
}

static ssize_t transmit(struct remote_connection *connection, const void *data, size_t size,
                        bool *wants_write)
{
    *wants_write = true;
    return connection->tls ? tls_write(connection->tls, data, size, wants_write)
                           : send(connection->fd, data, size, MSG_NOSIGNAL);
}

/* Waits until an operation that said EAGAIN may be tried again. 0 or an errno. */
static int await_again(struct remote_connection *connection, int error, bool wants_write,
                       uint64_t deadline_ns)
{
    if (error == EINTR) {
        return 0;
    }
    if (error != EAGAIN && error != EWOULDBLOCK) {
        return error;
    }
    return await(connection->fd, wants_write ? POLLOUT : POLLIN, deadline_ns);
}

static int send_all(struct remote_connection *connection, uint64_t deadline_ns)
{
    struct buffer *out = &connection->out;

    for (size_t sent = 0; sent < out->size;) {
        bool wants_write;
        ssize_t done = transmit(connection, out->data + sent, out->size - sent, &wants_write);
        if (done > 0) {
            sent += (size_t)done;
            continue;
        }
        int error = await_again(connection, done == 0 ? EPIPE : errno, wants_write, deadline_ns);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* Until there are `needed` bytes in all. */
static int receive_until(struct remote_connection *connection, size_t needed, uint64_t deadline_ns)
{
    struct buffer *in = &connection->in;

    while (in->size < needed) {
        size_t missing = needed - in->size;
        size_t room = missing > READ_SIZE ? missing : READ_SIZE;
        bool wants_write;
        if (needed > ANSWER_MAX) {
            return EMSGSIZE;
        }
        if (!buffer_reserve(in, room)) {
            return ENOMEM;
        }
        ssize_t got =
            receive(connection, in->data + in->size, in->capacity - in->size, &wants_write);
        if (got > 0) {
            in->size += (size_t)got;
            continue;
        }
        int error =
            await_again(connection, got == 0 ? ECONNRESET : errno, wants_write, deadline_ns);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* ---- one request, one answer ----------------------------------------------------------------- */

/* What an errno was about, in words. */
static void say(const struct remote_connection *connection, int error, char *why)
{
    const char *tls = connection->tls != NULL ? tls_why(connection->tls) : "";
    const char *text = error == ETIMEDOUT  ? "no answer in time"
                       : error == EMSGSIZE ? "the answer is longer than any can be"
                       : tls[0] != '\0'    ? tls
                                           : strerror(error);
    snprintf(why, MESSAGE_SIZE, "%s", text);
}

static enum exchanged read_answer(struct remote_connection *connection, uint64_t deadline_ns,
                                  answer_reader *read, void *context, char *why)
{
    size_t size = 1;
    enum resp_state state = RESP_MORE;

    while (state == RESP_MORE) {
        int error = receive_until(connection, size, deadline_ns);
        if (error != 0) {
            say(connection, error, why);
            return UNANSWERED;
        }
        struct hf_bytes bytes = {connection->in.data, connection->in.size};
        state = read(context, bytes, &size);
    }
    if (state == RESP_DONE && size == connection->in.size) {
        return ANSWERED;
    }
    snprintf(why, MESSAGE_SIZE, "%s",
             state == RESP_NO_MEMORY ? "no memory for the answer"
                                     : "the answer is not one that a Holdfast server gives");
    return UNANSWERED;
}

enum exchanged remote_connection_exchange(struct remote_connection *connection,
                                          uint64_t deadline_ns, answer_reader *read, void *context,
                                          char *why)
{
    int error = connection->out.failed ? ENOMEM : send_all(connection, deadline_ns);

    if (error != 0) {
        say(connection, error, why);
        return NOT_SENT;
    }
    buffer_clear(&connection->in);
    enum exchanged exchanged = read_answer(connection, deadline_ns, read, context, why);
    if (connection->in.capacity > KEPT_MAX) {
        buffer_free(&connection->in);
    }
    if (connection->out.capacity > KEPT_MAX) {
        buffer_free(&connection->out);
    }
    return exchanged;
}

void remote_connection_words(struct remote_connection *connection, size_t count,
                             const char *const *words)
{
    buffer_clear(&connection->out);
    resp_number(&connection->out, '*', (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        resp_text(&connection->out, hf_text(words[i]));
    }
}

bool remote_connection_is_status(struct hf_bytes answer, struct problem *status)
{
    struct resp_item items[4] = {{.type = 0}};
    struct hf_bytes message;
    size_t offset = 0;

    resp_read(answer, &offset, &items[0]);
    if (items[0].type == '+') {
        status->code = HF_OK;
        return true;
    }
    if (items[0].type == '-') {
        enum hf_error code = error_from_line(items[0].text, &message);
        problem_set(status, code, "%.*s", (int)message.size, message.data);
        return true;
    }
    for (size_t i = 1; i < 4 && items[0].type == '*' && items[0].number == 3; i++) {
        resp_read(answer, &offset, &items[i]);
    }
    if (items[1].type != ':' || items[1].number != 0 || items[2].type != '$' ||
        items[3].type != '$') {
        return false;
    }
    enum hf_error code = error_from_name(items[2].text);
    problem_set(status, code != HF_OK ? code : HF_ERR, "%.*s", (int)items[3].text.size,
                items[3].text.data);
    return true;
}

enum resp_state remote_connection_read_status(void *context, struct hf_bytes bytes, size_t *size)
{
    *size = 0;
    enum resp_state state = resp_skip(bytes, size);
    return state != RESP_DONE || remote_connection_is_status(bytes, context) ? state : RESP_BROKEN;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void set_options(int fd)
{
    int on = 1, idle_s = 30, interval_s = 10, probes = 3;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* A call may wait for days: a machine that is gone is to be noticed all the same. */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* A connected socket, or -1 with errno. */
static int connect_to(const struct addrinfo *address, uint64_t deadline_ns)
{
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    address->ai_protocol);
    int error = 0;
    socklen_t size = sizeof error;

    if (fd < 0) {
        return -1;
    }
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        error = errno;
        if (error == EINPROGRESS || error == EINTR) {
            error = await(fd, POLLOUT, deadline_ns);
            if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
                error = errno;
            }
        }
    }
    if (error != 0) {
        close(fd);
        errno = error;
        return -1;
    }
    set_options(fd);
    return fd;
}

/* Tries every address the name has. */
static int dial(const struct remote_url *url, uint64_t deadline_ns, struct problem *problem)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    char port[8];
    int fd = -1;

    snprintf(port, sizeof port, "%u", url->port);
    int error = getaddrinfo(url->host, port, &hints, &addresses);
    if (error != 0) {
        problem_set(problem, HF_ENGINE_DOWN, "%s: %s", url->host, gai_strerror(error));
        return -1;
    }
    errno = ENOENT;
    for (const struct addrinfo *at = addresses; at != NULL && fd < 0; at = at->ai_next) {
        fd = connect_to(at, deadline_ns);
    }
    error = errno;
    freeaddrinfo(addresses);
    if (fd < 0) {
        problem_set(problem, HF_ENGINE_DOWN, "cannot connect to %s:%u: %s", url->host, url->port,
                    strerror(error));
    }
    return fd;
}

/* AUTH, if the URL has a secret. */
static bool introduce(struct remote_connection *connection, const struct remote_url *url,
                      uint64_t deadline_ns, struct problem *problem)
{
    const char *words[] = {"AUTH", url->user, url->secret};
    char why[MESSAGE_SIZE];

    if (url->secret[0] == '\0') {
        return true;
    }
    if (url->user[0] == '\0') {
        words[1] = url->secret;
    }
    remote_connection_words(connection, url->user[0] == '\0' ? 2 : 3, words);
    if (remote_connection_exchange(connection, deadline_ns, remote_connection_read_status, problem,
                                   why) != ANSWERED) {
        problem_set(problem, HF_ENGINE_DOWN, "%s:%u does not let us in: %s", url->host, url->port,
                    why);
        return false;
    }
    return problem->code == HF_OK;
}

struct remote_connection *remote_connection_open(const struct remote_url *url, struct tls *tls,
                                                 uint64_t deadline_ns, struct problem *problem)
{
    struct remote_connection *connection = calloc(1, sizeof *connection);

    if (connection == NULL) {
        problem_set(problem, HF_BUSY, "out of memory");
        return NULL;
    }
    connection->fd = -1;
    memory_init(&connection->memory);
    buffer_init(&connection->in, &connection->memory);
    buffer_init(&connection->out, &connection->memory);
    if (!reply_init(&connection->reply, &connection->memory)) {
        problem_set(problem, HF_BUSY, "out of memory");
        goto failed;
    }
    connection->fd = dial(url, deadline_ns, problem);
    if (connection->fd < 0) {
        goto failed;
    }
    if (tls != NULL && (connection->tls = tls_connect(tls, connection->fd, url->host)) == NULL) {
        problem_set(problem, HF_BUSY, "out of memory");
        goto failed;
    }
    if (introduce(connection, url, deadline_ns, problem)) {
        return connection;
    }
failed:
    remote_connection_close(connection);
    return NULL;
}

void remote_connection_close(struct remote_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    if (connection->tls != NULL) {
        tls_close(connection->tls);
    }
    if (connection->fd >= 0) {
        close(connection->fd);
    }
    reply_free(&connection->reply);
    buffer_free(&connection->in);
    buffer_free(&connection->out);
    free(connection);
}

bool remote_connection_is_open(struct remote_connection *connection)
{
    struct pollfd poll_fd = {.fd = connection->fd, .events = POLLIN};
    bool wants_write;
    char byte;

    if (poll(&poll_fd, 1, 0) == 0) {
        return true;
    }
    /* Nothing was asked, so nothing is to come: it is the end, or a message of TLS' own. */
    return connection->tls != NULL && poll_fd.revents == POLLIN &&
           receive(connection, &byte, 1, &wants_write) < 0 && errno == EAGAIN;
}
