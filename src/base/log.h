/* SPDX-License-Identifier: Apache-2.0
 *
 * One line on standard error for each thing worth saying, written in one piece:
 *
 *     holdfast: warning: …
 *     2031-05-17T20:00:00.123Z holdfast: warning: …
 *     {"time":"2031-05-17T20:00:00.123Z","level":"warning","message":"…"}
 *
 * A line that belongs to a request ends with request=ID trace=ID, or has them as fields. The first
 * form is for programs that say little, on a terminal. A server has a thread write its log, because
 * its reader may be slow or not read at all: log_line() then never waits. What there is no room for
 * is left out, and a line tells how much that was. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

struct log_writer;
struct trace_source;

struct log {
    enum log_level level;      /* what is below is not written */
    bool json;                 /* for programs to read, rather than people */
    struct log_writer *writer; /* NULL: the calling thread writes its line, without a time */
};

/* Leaves errno alone. Called from any thread. */
void log_line(const struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A line that belongs to a request; NULL: to none. Called from the thread that handles it. */
void log_request_line(const struct log *log, const struct trace_source *source,
                      enum log_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The time as lines have it: "2031-05-17T20:00:00.123Z". */
#define LOG_TIME_SIZE 48
void log_time(char out[LOG_TIME_SIZE]);

/* From now on lines have their time, and a thread writes them, also those of copies made of `log`
 * after this. Without a thread to be had, it stays as it is. */
void log_start(struct log *log);

/* Writes what is left, for at most so long, before _exit(), while other threads go on. */
void log_finish(const struct log *log, int wait_ms);

/* Writes what is left, for at most so long, and stops. No copy may be used any more. */
void log_stop(struct log *log, int wait_ms);

#endif
