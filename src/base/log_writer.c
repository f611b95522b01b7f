/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of lines and the thread that empties it. A thread that has a line never waits: without
 * room for it, it is counted and left out. The thread takes whole lines out of the ring, so that a
 * file that is switched ends with a line, and the next one begins with one. */
#include "base/log_writer.h"

#include "base/check.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE_SIZE LOG_LINE_MAX /* written at a time */
/* How long until a file that could not be written is tried again. */
#define RETRY_MS 200
#define NO_FILE (-1)

struct log_writer {
    pthread_t thread;
    pid_t owner; /* the process that has the thread: a child has only the memory */
    struct log_writer_target target;

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t wanted, done;
    bool stopping, stopped;
    bool failing;           /* the file could not be written the last time */
    int next_fd;            /* the file to write to from the next line on, or NO_FILE */
    uint64_t lost;          /* lines there was no room for since the last one that reported it */
    uint64_t lost_ever;     /* and altogether */
    uint64_t first, behind; /* bytes ever taken out of the ring, and ever put into it */
    char ring[];
};

/* ---- the ring -------------------------------------------------------------------------------- */

static void copy_out(const struct log_writer *writer, char *to, size_t size)
{
    size_t room = writer->target.room, at = writer->first % room;
    size_t straight = size < room - at ? size : room - at;

    memcpy(to, writer->ring + at, straight);
    memcpy(to + straight, writer->ring, size - straight);
}

static void copy_in(struct log_writer *writer, const char *line, size_t size)
{
    size_t room = writer->target.room, at = writer->behind % room;
    size_t straight = size < room - at ? size : room - at;

    memcpy(writer->ring + at, line, straight);
    memcpy(writer->ring, line + straight, size - straight);
    writer->behind += size;
}

static void take_switch(struct log_writer *writer)
{
    if (writer->next_fd != NO_FILE) {
        close(writer->target.fd);
        writer->target.fd = writer->next_fd;
        writer->next_fd = NO_FILE;
    }
}

/* Whole lines of what is in the ring. */
static size_t take_lines(struct log_writer *writer, size_t left, char piece[PIECE_SIZE])
{
    size_t size = left < PIECE_SIZE ? left : PIECE_SIZE;

    copy_out(writer, piece, size);
    while (size < left && piece[size - 1] != '\n') {
        size--;
        CHECK(size > 0);
    }
    writer->first += size;
    return size;
}

/* What is to be written next, which is nothing when the file was switched only. False when the
 * thread has to stop. */
static bool next_piece(struct log_writer *writer, char piece[PIECE_SIZE], size_t *size)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->behind == writer->first && writer->lost == 0 && !writer->stopping &&
           writer->next_fd == NO_FILE) {
        pthread_cond_wait(&writer->wanted, &writer->lock);
    }
    take_switch(writer);
    size_t left = (size_t)(writer->behind - writer->first);
    *size = 0;
    if (left > 0) {
        *size = take_lines(writer, left, piece);
    } else if (writer->lost > 0) {
        *size = writer->target.lost(writer->target.context, piece, writer->lost);
        writer->lost = 0;
    }
    bool goes_on = *size > 0 || !writer->stopping;
    pthread_mutex_unlock(&writer->lock);
    return goes_on;
}

/* ---- what is no file ------------------------------------------------------------------------- */

/* Waits as long as it takes. What cannot be written at all is given up. */
static void write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, data, size);
        if (done >= 0) {
            data += done;
            size -= (size_t)done;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* ---- a file ---------------------------------------------------------------------------------- */

static void set_failing(struct log_writer *writer, int error)
{
    pthread_mutex_lock(&writer->lock);
    bool changed = writer->failing != (error != 0);
    writer->failing = error != 0;
    pthread_mutex_unlock(&writer->lock);
    if (changed) {
        writer->target.failing(writer->target.context, error);
    }
}

static struct timespec until(int wait_ms)
{
    struct timespec end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += wait_ms / 1000;
    end.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    return end;
}

enum file_hope { FILE_RETRY, FILE_SWITCHED, FILE_GIVEN_UP };

/* Waits until it is worth trying again. */
static enum file_hope wait_for_room(struct log_writer *writer)
{
    struct timespec end = until(RETRY_MS);
    int waited = 0;

    pthread_mutex_lock(&writer->lock);
    while (!writer->stopping && writer->next_fd == NO_FILE && waited != ETIMEDOUT) {
        waited = pthread_cond_timedwait(&writer->wanted, &writer->lock, &end);
    }
    enum file_hope hope = writer->next_fd != NO_FILE ? FILE_SWITCHED
                          : writer->stopping         ? FILE_GIVEN_UP
                                                     : FILE_RETRY;
    pthread_mutex_unlock(&writer->lock);
    return hope;
}

/* Where the line begins that the first `done` bytes end in the middle of, or with. */
static size_t line_start(const char *data, size_t done)
{
    while (done > 0 && data[done - 1] != '\n') {
        done--;
    }
    return done;
}

/* Takes the beginning of a line off the end of the file, unless somebody else has written behind
 * it. */
static void cut_torn(int fd, size_t torn)
{
    off_t end = lseek(fd, 0, SEEK_CUR);
    struct stat about;

    if (torn > 0 && end >= (off_t)torn && fstat(fd, &about) == 0 && about.st_size == end &&
        ftruncate(fd, end - (off_t)torn) != 0) {
        return; /* the next who opens the file ends the line */
    }
}

static void lose_lines(struct log_writer *writer, const char *data, size_t size)
{
    uint64_t count = 0;

    for (size_t i = 0; i < size; i++) {
        count += data[i] == '\n';
    }
    pthread_mutex_lock(&writer->lock);
    writer->lost_ever += count;
    pthread_mutex_unlock(&writer->lock);
}

static void write_file(struct log_writer *writer, const char *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t written = write(writer->target.fd, data + done, size - done);
        if (written > 0) {
            done += (size_t)written;
            continue;
        }
        if (written < 0 && errno == EINTR) {
            continue;
        }
        set_failing(writer, written < 0 ? errno : ENOSPC);
        enum file_hope hope = wait_for_room(writer);
        if (hope == FILE_RETRY) {
            continue;
        }
        size_t start = line_start(data, done);
        cut_torn(writer->target.fd, done - start);
        done = start;
        if (hope == FILE_GIVEN_UP) {
            lose_lines(writer, data + done, size - done);
            return;
        }
        pthread_mutex_lock(&writer->lock);
        take_switch(writer);
        pthread_mutex_unlock(&writer->lock);
    }
    set_failing(writer, 0);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *write_lines(void *context)
{
    struct log_writer *writer = context;
    char piece[PIECE_SIZE];
    size_t size;

    while (next_piece(writer, piece, &size)) {
        if (!writer->target.is_file) {
            write_all(writer->target.fd, piece, size);
        } else if (size > 0) {
            write_file(writer, piece, size);
        }
    }
    pthread_mutex_lock(&writer->lock);
    writer->stopped = true;
    pthread_cond_signal(&writer->done);
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

struct log_writer *log_writer_start(const struct log_writer_target *target)
{
    struct log_writer *writer = calloc(1, sizeof *writer + target->room);

    if (writer == NULL) {
        return NULL;
    }
    CHECK(target->room >= PIECE_SIZE && (!target->is_file || target->failing != NULL));
    writer->owner = getpid();
    writer->target = *target;
    writer->next_fd = NO_FILE;
    pthread_mutex_init(&writer->lock, NULL);
    thread_condition(&writer->wanted);
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
    if (writer->lost > 0 || size > writer->target.room - (size_t)(writer->behind - writer->first)) {
        writer->lost++; /* until that is reported, so that the gap is where it belongs */
        writer->lost_ever++;
    } else {
        copy_in(writer, line, size);
    }
    pthread_cond_signal(&writer->wanted);
    pthread_mutex_unlock(&writer->lock);
    return true;
}

void log_writer_switch(struct log_writer *writer, int fd)
{
    pthread_mutex_lock(&writer->lock);
    int overtaken = writer->next_fd;
    writer->next_fd = fd;
    pthread_cond_signal(&writer->wanted);
    pthread_mutex_unlock(&writer->lock);
    if (overtaken != NO_FILE) {
        close(overtaken);
    }
}

void log_writer_look(struct log_writer *writer, struct log_writer_figures *figures)
{
    pthread_mutex_lock(&writer->lock);
    *figures = (struct log_writer_figures){.lost = writer->lost_ever, .failing = writer->failing};
    pthread_mutex_unlock(&writer->lock);
}

bool log_writer_finish(struct log_writer *writer, int wait_ms)
{
    struct timespec end = until(wait_ms);

    pthread_mutex_lock(&writer->lock);
    writer->stopping = true;
    pthread_cond_signal(&writer->wanted);
    while (!writer->stopped &&
           pthread_cond_timedwait(&writer->done, &writer->lock, &end) != ETIMEDOUT) {}
    bool stopped = writer->stopped;
    pthread_mutex_unlock(&writer->lock);
    if (stopped) {
        pthread_join(writer->thread, NULL);
    }
    return stopped;
}

bool log_writer_stop(struct log_writer *writer, int wait_ms, uint64_t *lost)
{
    struct log_writer_figures figures;
    bool stopped = log_writer_finish(writer, wait_ms);

    log_writer_look(writer, &figures);
    if (lost != NULL) {
        *lost = figures.lost;
    }
    if (!stopped) {
        pthread_detach(writer->thread);
        return false;
    }
    if (writer->target.is_file) {
        close(writer->target.fd);
    }
    pthread_cond_destroy(&writer->wanted);
    pthread_cond_destroy(&writer->done);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
    return true;
}
