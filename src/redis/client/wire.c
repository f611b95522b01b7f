/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/client/wire.h"

#include "base/check.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT_MAX ((size_t)256 << 10) /* buffers that grew beyond this are given back */
#define KEEPALIVE_S 15

struct wire {
    struct wires *wires;
    const struct wire_events *events; /* NULL: closed */
    void *owner;
    struct list unflushed;
    bool is_unflushed;

    uv_getaddrinfo_t lookup;
    uv_tcp_t tcp;
    uv_connect_t connecting;
    uv_write_t writing;
    bool looking_up, connected, has_failed;
    bool has_no_tcp; /* it was closed for good; until then there is a handle, connected or not */
    struct addrinfo *addresses, *next_address;
    char why[128]; /* the last address could not be reached */

    struct buffer out;     /* written, not yet given to the loop */
    struct buffer pending; /* given to the loop, which has not sent all of it */
    uint64_t given;        /* bytes given to the loop so far */
    redisReader *reader;
};

static void connect_next(struct wire *wire);

/* ---- ends ------------------------------------------------------------------------------------ */

static void free_if_idle(struct wire *wire)
{
    struct wires *wires = wire->wires;

    if (wire->looking_up || !wire->has_no_tcp) {
        return;
    }
    CHECK(wire->events == NULL);
    if (wire->is_unflushed) {
        list_remove(&wire->unflushed);
    }
    uv_freeaddrinfo(wire->addresses);
    buffer_free(&wire->out);
    buffer_free(&wire->pending);
    redisReaderFree(wire->reader);
    free(wire);
    wires->alive--;
    if (wires->alive == 0 && wires->none_left != NULL) {
        wires->none_left(wires);
    }
}

static void tcp_closed(uv_handle_t *handle)
{
    struct wire *wire = handle->data;

    if (wire->events == NULL) {
        wire->has_no_tcp = true;
        free_if_idle(wire);
    } else {
        uv_tcp_init(wire->wires->loop, &wire->tcp);
        connect_next(wire);
    }
}

static void fail(struct wire *wire, const char *why)
{
    if (wire->events != NULL && !wire->has_failed) {
        wire->has_failed = true;
        wire->events->failed(wire->owner, why);
    }
}

static void nothing(uv_idle_t *idle)
{
    (void)idle;
}

static void mark_unflushed(struct wire *wire)
{
    if (!wire->is_unflushed) {
        wire->is_unflushed = true;
        list_add_last(&wire->wires->unflushed, &wire->unflushed);
        uv_idle_start(&wire->wires->idle, nothing);
    }
}

void wire_close(struct wire *wire)
{
    if (wire == NULL) {
        return;
    }
    CHECK(wire->events != NULL);
    wire->events = NULL;
    if (wire->looking_up) {
        uv_cancel((uv_req_t *)&wire->lookup); /* if it cannot be, we wait for it */
    }
    if (!uv_is_closing((uv_handle_t *)&wire->tcp)) {
        uv_close((uv_handle_t *)&wire->tcp, tcp_closed);
    }
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void give_input(uv_handle_t *handle, size_t suggested, uv_buf_t *input)
{
    struct wire *wire = handle->data;

    (void)suggested;
    *input = uv_buf_init(wire->wires->input, sizeof wire->wires->input);
}

static void tell_replies(struct wire *wire)
{
    while (wire->events != NULL && !wire->has_failed) {
        void *reply = NULL;
        if (redisReaderGetReply(wire->reader, &reply) != REDIS_OK) {
            char why[160];
            snprintf(why, sizeof why, "not an answer of Redis: %s", wire->reader->errstr);
            fail(wire, why);
            return;
        }
        if (reply == NULL) {
            return;
        }
        wire->events->reply(wire->owner, reply);
        freeReplyObject(reply);
    }
}

static void have_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *input)
{
    struct wire *wire = stream->data;

    if (wire->events == NULL || wire->has_failed || size == 0) {
        return;
    }
    if (size < 0) {
        fail(wire, size == UV_EOF ? "the server closed the connection" : uv_strerror((int)size));
        return;
    }
    if (redisReaderFeed(wire->reader, input->base, (size_t)size) != REDIS_OK) {
        fail(wire, "out of memory");
        return;
    }
    tell_replies(wire);
}

/* ---- what goes out --------------------------------------------------------------------------- */

static void flush(struct wire *wire);

static void give_back(struct buffer *buffer)
{
    if (buffer->capacity > KEPT_MAX) {
        buffer_free(buffer);
    } else {
        buffer_clear(buffer);
    }
}

static void have_written(uv_write_t *request, int status)
{
    struct wire *wire = request->handle->data;

    give_back(&wire->pending);
    if (status == 0) {
        flush(wire);
    } else {
        fail(wire, uv_strerror(status));
    }
}

static void flush(struct wire *wire)
{
    struct buffer *out = &wire->out;

    if (wire->events == NULL || wire->has_failed || !wire->connected || wire->pending.size > 0) {
        return;
    }
    if (out->failed) {
        fail(wire, "out of memory");
        return;
    }
    if (out->size == 0) {
        return;
    }
    uv_buf_t all = uv_buf_init(out->data, (unsigned)out->size);
    int taken = uv_try_write((uv_stream_t *)&wire->tcp, &all, 1);
    if (taken < 0 && taken != UV_EAGAIN) {
        fail(wire, uv_strerror(taken));
        return;
    }
    size_t sent = taken > 0 ? (size_t)taken : 0;
    wire->given += out->size;
    if (sent == out->size) {
        give_back(out);
        return;
    }
    struct buffer empty = wire->pending;
    wire->pending = *out;
    *out = empty;
    uv_buf_t rest = uv_buf_init(wire->pending.data + sent, (unsigned)(wire->pending.size - sent));
    uv_write(&wire->writing, (uv_stream_t *)&wire->tcp, &rest, 1, have_written);
}

struct buffer *wire_out(struct wire *wire)
{
    CHECK(wire->events != NULL);
    mark_unflushed(wire);
    return &wire->out;
}

uint64_t wire_written(const struct wire *wire)
{
    return wire->given + wire->out.size;
}

uint64_t wire_taken(const struct wire *wire)
{
    return wire->given - uv_stream_get_write_queue_size((const uv_stream_t *)&wire->tcp);
}

void wires_flush(struct wires *wires)
{
    while (!list_empty(&wires->unflushed)) {
        struct wire *wire = LIST_ENTRY(wires->unflushed.next, struct wire, unflushed);
        list_remove(&wire->unflushed);
        wire->is_unflushed = false;
        if (wire->addresses == NULL && !wire->looking_up) {
            fail(wire, wire->why);
        } else {
            flush(wire);
        }
    }
    uv_idle_stop(&wires->idle);
}

/* ---- beginnings ------------------------------------------------------------------------------ */

static void have_connected(uv_connect_t *request, int status)
{
    struct wire *wire = request->handle->data;

    if (wire->events == NULL) {
        return;
    }
    if (status != 0) {
        snprintf(wire->why, sizeof wire->why, "%s", uv_strerror(status));
        uv_close((uv_handle_t *)&wire->tcp, tcp_closed); /* which goes on to the next address */
        return;
    }
    wire->connected = true;
    uv_tcp_nodelay(&wire->tcp, 1);
    uv_tcp_keepalive(&wire->tcp, 1, KEEPALIVE_S);
    uv_read_start((uv_stream_t *)&wire->tcp, give_input, have_read);
    mark_unflushed(wire);
    wire->events->opened(wire->owner);
}

/* Tries every address the name has, one after the other. */
static void connect_next(struct wire *wire)
{
    const struct addrinfo *address = wire->next_address;

    if (address == NULL) {
        fail(wire, wire->why);
        return;
    }
    wire->next_address = address->ai_next;
    int status = uv_tcp_connect(&wire->connecting, &wire->tcp, address->ai_addr, have_connected);
    if (status != 0) {
        snprintf(wire->why, sizeof wire->why, "%s", uv_strerror(status));
        uv_close((uv_handle_t *)&wire->tcp, tcp_closed);
    }
}

static void have_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct wire *wire = request->data;

    wire->looking_up = false;
    wire->addresses = wire->next_address = addresses;
    if (wire->events == NULL) {
        free_if_idle(wire);
        return;
    }
    snprintf(wire->why, sizeof wire->why, "%s", status != 0 ? uv_strerror(status) : "no address");
    connect_next(wire);
}

/* Names are looked up on another thread; an address needs no look. */
static void look_up(struct wire *wire, const char *host, uint16_t port_number)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    char port[8];

    snprintf(port, sizeof port, "%u", port_number);
    if (getaddrinfo(host, port, &hints, &wire->addresses) == 0) {
        wire->next_address = wire->addresses;
        connect_next(wire);
        return;
    }
    wire->addresses = NULL;
    hints.ai_flags = 0;
    wire->lookup.data = wire;
    int status =
        uv_getaddrinfo(wire->wires->loop, &wire->lookup, have_looked_up, host, port, &hints);
    wire->looking_up = status == 0;
    if (status != 0) {
        snprintf(wire->why, sizeof wire->why, "%s", uv_strerror(status));
        mark_unflushed(wire); /* there it fails: not from inside wire_open() */
    }
}

void wires_init(struct wires *wires, uv_loop_t *loop)
{
    wires->loop = loop;
    uv_idle_init(loop, &wires->idle);
    memory_init(&wires->memory);
    list_init(&wires->unflushed);
    wires->alive = 0;
    wires->none_left = NULL;
}

struct wire *wire_open(struct wires *wires, const char *host, uint16_t port,
                       const struct wire_events *events, void *owner)
{
    struct wire *wire = calloc(1, sizeof *wire);

    if (wire == NULL || (wire->reader = redisReaderCreate()) == NULL) {
        free(wire);
        return NULL;
    }
    wire->wires = wires;
    wire->events = events;
    wire->owner = owner;
    buffer_init(&wire->out, &wires->memory);
    buffer_init(&wire->pending, &wires->memory);
    wires->alive++;
    uv_tcp_init(wires->loop, &wire->tcp);
    wire->tcp.data = wire;
    look_up(wire, host, port);
    return wire;
}
