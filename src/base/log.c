/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const prefixes[] = {
    [LOG_DEBUG] = "debug: ", [LOG_INFO] = "", [LOG_WARNING] = "warning: ", [LOG_ERROR] = "error: "};

void log_line(const struct log *log, enum log_level level, const char *format, ...)
{
    char text[2048];
    va_list args;

    if (level < log->level) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "holdfast: %s%s\n", prefixes[level], text);
}
