/* SPDX-License-Identifier: Apache-2.0
 *
 * What the crew does for connections, and where the loop finds it. Work on one connection touches
 * its stream and its buffer and nothing else: no counter, no list, no allocation of the server. */
#include "server/ahead.h"

#include "base/crew.h"
#include "server/loop.h"

#include <errno.h>
#include <stdlib.h>

#define AHEAD_MOST 32
/* For fewer it is not worth waking anybody. */
#define AHEAD_LEAST 4

struct read_ahead {
    struct connection *connection; /* NULL: not in use */
    char *at;                      /* where the bytes are: behind those left over before */
    size_t room;
    ssize_t size; /* as of recv() */
    int error;
    bool is_taken;
    char buffer[READ_SIZE];
};

struct ahead {
    struct crew *crew;
    size_t reads_in_use;
    void *items[AHEAD_MOST];
    struct read_ahead reads[AHEAD_MOST];
};

struct ahead *ahead_start(unsigned threads)
{
    struct ahead *ahead = threads > 1 ? calloc(1, sizeof *ahead) : NULL;

    if (ahead == NULL) {
        return NULL;
    }
    ahead->crew = crew_start(threads - 1);
    if (ahead->crew == NULL) {
        free(ahead);
        return NULL;
    }
    return ahead;
}

void ahead_stop(struct ahead *ahead)
{
    if (ahead != NULL) {
        crew_stop(ahead->crew);
        free(ahead);
    }
}

unsigned ahead_threads(const struct ahead *ahead)
{
    return ahead != NULL ? crew_size(ahead->crew) : 1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_one(void *item)
{
    struct read_ahead *read = item;

    read->size = stream_read(&read->connection->stream, read->at, read->room);
    read->error = errno;
}

static void use(struct read_ahead *read, struct connection *connection)
{
    read->connection = connection;
    read->is_taken = false;
    connection->ahead.read = read;
    read->at = connection_room(connection, &read->room);
}

void ahead_read(struct loop *loop, const struct list *resumed)
{
    struct ahead *ahead = loop->ahead;
    struct connection *ready[AHEAD_MOST];
    size_t count = 0, seen = 0;

    if (ahead == NULL || ahead->reads_in_use > 0) {
        return;
    }
    for (struct list *node = resumed->next; node != resumed && seen < AHEAD_MOST;
         node = node->next, seen++) {
        struct connection *connection = connection_of(LIST_ENTRY(node, struct session, resumed));
        if (connection_can_read_ahead(connection)) {
            ready[count++] = connection;
        }
    }
    if (count < AHEAD_LEAST) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        use(&ahead->reads[i], ready[i]);
        ahead->items[i] = &ahead->reads[i];
    }
    ahead->reads_in_use = count;
    crew_run(ahead->crew, read_one, ahead->items, count);
}

char *ahead_buffer(struct connection *connection)
{
    struct read_ahead *read = connection->ahead.read;
    return read != NULL ? read->buffer : connection->loop->read_buffer;
}

ssize_t ahead_received(struct connection *connection, char *at, size_t size)
{
    struct read_ahead *read = connection->ahead.read;

    if (read == NULL || read->is_taken) {
        return stream_read(&connection->stream, at, size);
    }
    read->is_taken = true;
    errno = read->error;
    return read->size;
}

void ahead_over(struct connection *connection)
{
    struct read_ahead *read = connection->ahead.read;

    if (read != NULL) {
        connection->ahead.read = NULL;
        read->connection = NULL;
        connection->loop->ahead->reads_in_use--;
    }
}

void ahead_give_back(struct connection *connection)
{
    const struct read_ahead *read = connection->ahead.read;

    ahead_over(connection);
    if (!read->is_taken && read->size > 0) {
        connection_keep_read(connection, read->at, (size_t)read->size);
    }
}

void ahead_keep(struct loop *loop)
{
    struct ahead *ahead = loop->ahead;

    for (size_t i = 0; ahead != NULL && ahead->reads_in_use > 0 && i < AHEAD_MOST; i++) {
        struct read_ahead *read = &ahead->reads[i];
        if (read->connection != NULL) {
            ahead_give_back(read->connection);
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_one(void *item)
{
    struct connection *connection = item;
    struct done_ahead *done = &connection->ahead;
    const struct session *session = &connection->session;

    done->written = stream_write(&connection->stream, session->out.data + connection->sent,
                                 session->firm - connection->sent);
    done->error = errno;
}

static bool can_write(const struct connection *connection)
{
    const struct session *session = &connection->session;

    return stream_is_open(&connection->stream) && !stream_is_handshaking(&connection->stream) &&
           !session->out.failed && connection->sent < session->firm;
}

void ahead_write(struct loop *loop, const struct list *sending)
{
    struct ahead *ahead = loop->ahead;
    size_t count = 0, seen = 0;

    if (ahead == NULL) {
        return;
    }
    for (struct list *node = sending->next; node != sending && seen < AHEAD_MOST;
         node = node->next, seen++) {
        struct connection *connection = connection_of(LIST_ENTRY(node, struct session, sending));
        if (connection->ahead.is_written) {
            return; /* those that were written for are not through yet */
        }
        if (can_write(connection)) {
            ahead->items[count++] = connection;
        }
    }
    if (count < AHEAD_LEAST) {
        return;
    }
    crew_run(ahead->crew, write_one, ahead->items, count);
    for (size_t i = 0; i < count; i++) {
        ((struct connection *)ahead->items[i])->ahead.is_written = true;
    }
}

ssize_t ahead_sent(struct connection *connection, const char *data, size_t size)
{
    struct done_ahead *done = &connection->ahead;

    if (!done->is_written) {
        return stream_write(&connection->stream, data, size);
    }
    done->is_written = false;
    errno = done->error;
    return done->written;
}
