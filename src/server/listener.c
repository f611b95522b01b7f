/* SPDX-License-Identifier: Apache-2.0
 *
 * Accepts clients, some each turn, and refuses those beyond max-connections with words that their
 * front understands. */
#include "server/listener.h"

#include "net/address.h"
#include "server/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_A_TURN 64
#define HEALTH_RESERVE 16

static void refuse(struct listener *listener, int fd)
{
    const char *sorry = listener->front->sorry;
    char peer[ADDRESS_TEXT_SIZE];

    address_of_peer(fd, peer);
    server_refused(&listener->loop->server, peer);
    if (listener->loop->tls == NULL) {
        (void)!send(fd, sorry, strlen(sorry), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    close(fd);
}

/* Out of descriptors: a spare one is given up for a moment, so that a waiting client is refused
 * rather than left without an answer. */
static bool accept_and_drop(struct loop *loop, struct listener *listener)
{
    close(loop->spare_fd);
    int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        refuse(listener, fd);
    }
    loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* A front that answers health checks takes some connections more: a check that is refused because
 * the server is busy would have it restarted. */
static void take(struct listener *listener, int fd)
{
    struct loop *loop = listener->loop;
    struct server *server = &loop->server;
    bool has_health = listener->front->has_health;
    size_t most = (size_t)server->options->max_connections,
           reserve = has_health ? HEALTH_RESERVE : 0;
    uint64_t origin = address_origin_of_peer(fd);
    enum stranger_place place =
        strangers_place(loop, origin_find(&server->origins, origin), has_health);

    if (server->session_count >= most + reserve || place == PLACE_NONE) {
        refuse(listener, fd);
    } else {
        connection_begin(loop, fd, listener->front, origin,
                         server->session_count >= most || place == PLACE_HEALTH);
    }
}

static void on_connect(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    struct loop *loop = listener->loop;
    (void)status;
    (void)events;

    for (int i = 0; i < ACCEPTS_A_TURN && !turn_is_over(&loop->server, TURN_FRESH); i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            if (!accept_and_drop(loop, listener)) {
                return;
            }
        } else if (fd < 0) {
            return;
        } else {
            take(listener, fd);
        }
    }
}

static int open_socket(const char *address, int64_t port, struct problem *problem)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    char service[16];
    int on = 1;

    snprintf(service, sizeof service, "%lld", (long long)port);
    int code = getaddrinfo(address, service, &hints, &found);
    if (code != 0) {
        problem_set(problem, HF_INVALID_ARGUMENT, "--bind %.100s: %s", address, gai_strerror(code));
        return -1;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 4096) != 0) {
            int why = errno;
            close(fd);
            errno = why;
            fd = -1;
        }
    }
    if (fd < 0) {
        problem_set(problem, HF_IOERR, "cannot listen on %.100s port %lld: %s", address,
                    (long long)port, strerror(errno));
    }
    freeaddrinfo(found);
    return fd;
}

bool listener_open(struct listener *listener, struct loop *loop, const struct front *front,
                   int64_t port, struct problem *problem)
{
    listener->loop = loop;
    listener->front = front;
    listener->fd = open_socket(loop->server.options->bind, port, problem);
    if (listener->fd < 0) {
        return false;
    }
    address_of_socket(listener->fd, listener->name);
    uv_poll_init(&loop->uv, &listener->poll, listener->fd);
    listener->poll.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_connect);
    return true;
}

void listener_close(struct listener *listener)
{
    if (listener->fd >= 0) {
        uv_poll_stop(&listener->poll);
        uv_close((uv_handle_t *)&listener->poll, NULL);
        close(listener->fd);
        listener->fd = -1;
    }
}
