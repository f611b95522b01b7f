/* SPDX-License-Identifier: Apache-2.0 */
#include "library_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"
#include "command/reply.h"
#include "library/handle.h"

#define REQUEST_MAX ((size_t)4 << 20)
#define WORDS_MAX 32

struct visit {
    struct peer *peer;
    int number; /* in peer->fds */
    bool known; /* who it is */
    struct memory memory;
    struct buffer out;
    char *in;
    size_t size;
};

/* ---- requests -------------------------------------------------------------------------------- */

/* The words of the request at `at`, if it is all there; returns its size or 0. */
static size_t read_words(const struct visit *visit, size_t at, struct hf_bytes *words,
                         size_t *count)
{
    struct hf_bytes bytes = {visit->in + at, visit->size - at};
    struct resp_item item;
    size_t offset = 0;

    if (resp_read(bytes, &offset, &item) != RESP_DONE) {
        return 0;
    }
    CHECK(item.type == '*' && item.number <= WORDS_MAX);
    *count = (size_t)item.number;
    for (size_t i = 0; i < *count; i++) {
        if (resp_read(bytes, &offset, &item) != RESP_DONE) {
            return 0;
        }
        CHECK(item.type == '$');
        words[i] = item.text;
    }
    return offset;
}

struct run {
    struct visit *visit;
    const struct command_spec *spec;
};

static void write_reply(void *context, const struct reply *reply)
{
    struct run *run = context;
    reply_to_resp(reply, run->spec, 2, &run->visit->out);
}

static void run_command(struct visit *visit, size_t count, const struct hf_bytes *words)
{
    struct command command;
    struct problem problem;

    atomic_fetch_add(&visit->peer->commands, 1);
    if (command_from_words(&command, count, words, &problem) != HF_OK) {
        problem_to_resp(&problem, &visit->out);
        return;
    }
    struct run run = {visit, command.spec};
    handle_run(visit->peer->engine, &command, write_reply, &run);
}

static bool is_secret(const struct peer *peer, size_t count, const struct hf_bytes *words)
{
    if (count == 2) {
        return peer->user == NULL && text_equal(words[1], hf_text(peer->secret));
    }
    return count == 3 && peer->user != NULL && text_equal(words[1], hf_text(peer->user)) &&
           text_equal(words[2], hf_text(peer->secret));
}

static void answer(struct visit *visit, size_t count, const struct hf_bytes *words)
{
    struct peer *peer = visit->peer;

    if (text_is_word(words[0], "AUTH")) {
        visit->known = peer->secret != NULL && is_secret(peer, count, words);
        buffer_text(&visit->out, visit->known ? "+OK\r\n" : "-WRONGPASS not you\r\n");
    } else if (peer->secret != NULL && !visit->known) {
        buffer_text(&visit->out, "-NOAUTH who are you?\r\n");
    } else if (text_is_word(words[0], "PING")) {
        buffer_text(&visit->out, "+PONG\r\n");
    } else if (text_is_word(words[0], "INFO")) {
        buffer_format(&visit->out, "$%zu\r\n%s\r\n", strlen(peer->info), peer->info);
    } else if (text_is_word(words[0], "AUDIT")) {
        buffer_text(&visit->out, "*4\r\n:1\r\n:2\r\n$5\r\nfirst\r\n$6\r\nsecond\r\n");
    } else if (text_is_word(words[0], "SNAPSHOT")) {
        buffer_text(&visit->out, "*3\r\n:0\r\n$13\r\nINVALID_STATE\r\n$9\r\nin memory\r\n");
    } else {
        run_command(visit, count, words);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool send_bytes(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* False when the conversation is over. */
static bool send_answer(struct visit *visit)
{
    static const char garbage[] = "HTTP/1.1 200 OK\r\n\r\n";
    int fd = visit->peer->fds[visit->number];
    struct buffer *out = &visit->out;

    switch (atomic_load(&visit->peer->mode)) {
    case PEER_SILENT:
        return true;
    case PEER_HANG_UP:
        return false;
    case PEER_HALF:
        send_bytes(fd, out->data, out->size / 2);
        return false;
    case PEER_GARBAGE:
        return send_bytes(fd, garbage, sizeof garbage - 1);
    case PEER_CHATTY:
        buffer_text(out, "+MORE\r\n");
        break;
    case PEER_SLOW:
        for (size_t i = 0; i < out->size; i++) {
            if (!send_bytes(fd, out->data + i, 1)) {
                return false;
            }
        }
        return true;
    case PEER_GOOD:
        break;
    }
    return send_bytes(fd, out->data, out->size);
}

static void *serve(void *context)
{
    struct visit *visit = context;
    int fd = visit->peer->fds[visit->number];
    struct hf_bytes words[WORDS_MAX];
    size_t count, used;
    bool on = true;
    ssize_t got;

    memory_init(&visit->memory);
    buffer_init(&visit->out, &visit->memory);
    visit->in = malloc(REQUEST_MAX);
    while (on && (got = recv(fd, visit->in + visit->size, REQUEST_MAX - visit->size, 0)) > 0) {
        size_t done = 0;
        visit->size += (size_t)got;
        while (on && (used = read_words(visit, done, words, &count)) > 0) {
            buffer_clear(&visit->out);
            answer(visit, count, words);
            on = send_answer(visit);
            done += used;
        }
        visit->size -= done;
        memmove(visit->in, visit->in + done, visit->size);
    }
    shutdown(fd, SHUT_RDWR);
    buffer_free(&visit->out);
    free(visit->in);
    free(visit);
    return NULL;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void *accept_all(void *context)
{
    struct peer *peer = context;
    int fd;

    while ((fd = accept(peer->listener, NULL, NULL)) >= 0) {
        int number = atomic_load(&peer->connections);
        struct visit *visit = calloc(1, sizeof *visit);
        CHECK(visit != NULL && number < PEER_CONNECTIONS_MAX);
        int on = 1; /* answers go out one by one: none may wait for the last to be acknowledged */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        visit->peer = peer;
        visit->number = number;
        peer->fds[number] = fd;
        atomic_store(&peer->connections, number + 1);
        CHECK(pthread_create(&peer->threads[number], NULL, serve, visit) == 0);
    }
    return NULL;
}

void peer_start(struct peer *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)peer->port)};
    socklen_t size = sizeof address;
    int on = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(peer->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK(bind(peer->listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(peer->listener, 100) == 0);
    CHECK(getsockname(peer->listener, (struct sockaddr *)&address, &size) == 0);
    peer->port = ntohs(address.sin_port);
    if (peer->engine == NULL) {
        CHECK(hf_open("embedded:", &peer->engine) == HF_OK);
    }
    CHECK(pthread_create(&peer->thread, NULL, accept_all, peer) == 0);
}

void peer_hang_up(struct peer *peer)
{
    for (int i = 0; i < atomic_load(&peer->connections); i++) {
        shutdown(peer->fds[i], SHUT_RDWR);
    }
}

void peer_stop(struct peer *peer)
{
    shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
    peer_hang_up(peer);
    for (int i = 0; i < atomic_load(&peer->connections); i++) {
        pthread_join(peer->threads[i], NULL);
        close(peer->fds[i]);
    }
    atomic_store(&peer->connections, 0);
}

const char *peer_url(const struct peer *peer, const char *who, const char *options)
{
    static _Thread_local char url[512];

    snprintf(url, sizeof url, "holdfast://%s127.0.0.1:%u%s", who, peer->port, options);
    return url;
}
