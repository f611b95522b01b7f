/* SPDX-License-Identifier: Apache-2.0
 *
 * One line on standard error for each thing worth saying: "holdfast: warning: …". */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

struct log {
    enum log_level level; /* what is below is not written */
};

void log_line(const struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
