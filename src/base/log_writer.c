/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of lines and the thread that empties it. A thread that has a line never waits: without
 * room for it, it is counted and left out. */
#include "base/log_writer.h"

#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RING_SIZE ((size_t)256 << 10)
#define PIECE_SIZE ((size_t)16 << 10) /* written at a time; no line is longer */

struct log_writer {
    pthread_t thread;
    pid_t owner; /* the process that has the thread: a child has only the memory */
    size_t (*lost_line)(bool json, char out[LOG_LOST_SIZE], uint64_t count);
    bool json;

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t wanted, done;
    bool stopping, stopped;
    uint64_t lost;          /* lines there was no room for since the last one that reported it */
    uint64_t first, behind; /* bytes ever taken out of the ring, and ever put into it */
    char ring[RING_SIZE];
};

static void copy_out(const struct log_writer *writer, char *to, size_t size)
{
    size_t at = writer->first % RING_SIZE;
    size_t straight = size < RING_SIZE - at ? size : RING_SIZE - at;

    memcpy(to, writer->ring + at, straight);
    memcpy(to + straight, writer->ring, size - straight);
}

/* What is to be written next; 0 when that is nothing and the thread has to stop. */
static size_t next_piece(struct log_writer *writer, char piece[PIECE_SIZE])
{
    size_t size = 0;

    pthread_mutex_lock(&writer->lock);
    while (writer->behind == writer->first && writer->lost == 0 && !writer->stopping) {
        pthread_cond_wait(&writer->wanted, &writer->lock);
    }
    size_t left = (size_t)(writer->behind - writer->first);
    if (left > 0) {
        size = left < PIECE_SIZE ? left : PIECE_SIZE;
        copy_out(writer, piece, size);
        writer->first += size;
    } else if (writer->lost > 0) {
        size = writer->lost_line(writer->json, piece, writer->lost);
        writer->lost = 0;
    }
    pthread_mutex_unlock(&writer->lock);
    return size;
}

/* Waits as long as it takes. What cannot be written at all is given up. */
static void write_all(const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(STDERR_FILENO, data, size);
        if (done >= 0) {
            data += done;
            size -= (size_t)done;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

static void *write_lines(void *context)
{
    struct log_writer *writer = context;
    char piece[PIECE_SIZE];
    size_t size;

    while ((size = next_piece(writer, piece)) > 0) {
        write_all(piece, size);
    }
    pthread_mutex_lock(&writer->lock);
    writer->stopped = true;
    pthread_cond_signal(&writer->done);
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

struct log_writer *
log_writer_start(size_t (*lost)(bool json, char out[LOG_LOST_SIZE], uint64_t count), bool json)
{
    struct log_writer *writer = calloc(1, sizeof *writer);

    if (writer == NULL) {
        return NULL;
    }
    writer->owner = getpid();
    writer->lost_line = lost;
    writer->json = json;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->wanted, NULL);
    thread_condition(&writer->done);
    if (!thread_start(&writer->thread, write_lines, writer)) {
        free(writer);
        return NULL;
    }
    return writer;
}

bool log_writer_put(struct log_writer *writer, const char *line, size_t size)
{
    if (writer->owner != getpid()) {
        return false;
    }
    pthread_mutex_lock(&writer->lock);
    if (writer->lost > 0 || size > RING_SIZE - (size_t)(writer->behind - writer->first)) {
        writer->lost++; /* until that is reported, so that the gap is where it belongs */
    } else {
        size_t at = writer->behind % RING_SIZE;
        size_t straight = size < RING_SIZE - at ? size : RING_SIZE - at;
        memcpy(writer->ring + at, line, straight);
        memcpy(writer->ring, line + straight, size - straight);
        writer->behind += size;
    }
    pthread_cond_signal(&writer->wanted);
    pthread_mutex_unlock(&writer->lock);
    return true;
}

bool log_writer_finish(struct log_writer *writer, int wait_ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    pthread_cond_signal(&writer->wanted);
    while (!writer->stopped &&
           pthread_cond_timedwait(&writer->done, &writer->lock, &until) != ETIMEDOUT) {}
    bool stopped = writer->stopped;
    pthread_mutex_unlock(&writer->lock);
    if (stopped) {
        pthread_join(writer->thread, NULL);
    }
    return stopped;
}

void log_writer_stop(struct log_writer *writer, int wait_ms)
{
    if (!log_writer_finish(writer, wait_ms)) {
        pthread_detach(writer->thread);
        return;
    }
    pthread_cond_destroy(&writer->wanted);
    pthread_cond_destroy(&writer->done);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
