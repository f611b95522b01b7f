/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that writes lines to standard error, so that no other thread has to wait for whatever
 * reads them. Lines wait in a ring of fixed size. */
#ifndef BASE_LOG_WRITER_H
#define BASE_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log_writer;

/* `lost` writes the line that tells how many there was no room for, and returns its size; it is
 * called by the thread. NULL if there is no memory or no thread to be had. */
#define LOG_LOST_SIZE 256
struct log_writer *
log_writer_start(size_t (*lost)(bool json, char out[LOG_LOST_SIZE], uint64_t count), bool json);

/* Takes a whole line. False if it is for the caller to write: this is another process, which has no
 * such thread. */
bool log_writer_put(struct log_writer *writer, const char *line, size_t size);

/* Writes what waits, for at most so long, before the process ends: other threads may still have
 * lines to put, which nobody writes any more. False if it is stuck. */
bool log_writer_finish(struct log_writer *writer, int wait_ms);

/* Writes what waits, for at most so long, and ends the thread. If that is stuck it is left behind,
 * for the end of the process to stop. */
void log_writer_stop(struct log_writer *writer, int wait_ms);

#endif
