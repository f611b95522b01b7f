/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that writes lines to standard error or to a file, so that no other thread has to wait
 * for whatever reads them, or for a disk. Lines wait in a ring of fixed size. */
#ifndef BASE_LOG_WRITER_H
#define BASE_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_writer;

#define LOG_LOST_SIZE 256
/* No line may be longer. */
#define LOG_LINE_MAX ((size_t)16 << 10)

struct log_writer_target {
    int fd;
    /* It is a file, open for appending, and from now on the writer's, which closes it. While it
     * cannot be written, on a full disk, say, that is tried again and again and lines wait; of what
     * is not a file, what cannot be written is given up. */
    bool is_file;
    size_t room; /* bytes of lines that may wait */
    /* Writes the line that tells how many there was no room for, and returns its size. Called by
     * the thread. */
    size_t (*lost)(void *context, char out[LOG_LOST_SIZE], uint64_t count);
    /* Of a file: it cannot be written, for this reason; or, with 0, it can again. Called by the
     * thread. */
    void (*failing)(void *context, int error);
    void *context;
};

/* NULL if there is no memory or no thread to be had; the file is still the caller's then. */
struct log_writer *log_writer_start(const struct log_writer_target *target);

/* Takes a whole line. False if it is for the caller to write: this is another process, which has no
 * such thread. */
bool log_writer_put(struct log_writer *writer, const char *line, size_t size);

/* From the next line on that the thread takes, lines go to this file; the one before is closed. */
void log_writer_switch(struct log_writer *writer, int fd);

struct log_writer_figures {
    uint64_t lost; /* lines ever left out */
    bool failing;  /* the file cannot be written */
};
void log_writer_look(struct log_writer *writer, struct log_writer_figures *figures);

/* Writes what waits, for at most so long, before the process ends: other threads may still have
 * lines to put, which nobody writes any more. False if it is stuck. */
bool log_writer_finish(struct log_writer *writer, int wait_ms);

/* Writes what waits, for at most so long, and ends the thread. If that is stuck it is left behind,
 * for the end of the process to stop, and so must be what its functions use: false. *lost, if it is
 * not NULL, becomes how many lines were ever left out. */
bool log_writer_stop(struct log_writer *writer, int wait_ms, uint64_t *lost);

#endif
