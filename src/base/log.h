/* SPDX-License-Identifier: Apache-2.0
 *
 * One line on standard error for each thing worth saying, written in one piece:
 *
 *     holdfast: warning: …
 *     {"time":"2031-05-17T20:00:00.123Z","level":"warning","message":"…"} */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

struct log {
    enum log_level level; /* what is below is not written */
    bool json;            /* for programs to read, rather than people */
};

/* Leaves errno alone. */
void log_line(const struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
