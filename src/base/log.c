/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TEXT_SIZE 2048
#define ESCAPED_MAX 6                             /* \u001f */
#define LINE_SIZE (ESCAPED_MAX * TEXT_SIZE + 128) /* with what is around the message */

static const char *const prefixes[] = {
    [LOG_DEBUG] = "debug: ", [LOG_INFO] = "", [LOG_WARNING] = "warning: ", [LOG_ERROR] = "error: "};
static const char *const names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARNING] = "warning", [LOG_ERROR] = "error"};

/* As the inside of a JSON string; what is no UTF-8 becomes U+FFFD. Returns its size. */
static size_t escape(char *out, struct hf_bytes text)
{
    size_t size = 0;

    for (size_t i = 0, used; i < text.size; i += used ? used : 1) {
        unsigned char c = (unsigned char)text.data[i];
        used = text_utf8_size(text, i);
        if (used == 0) {
            size += (size_t)sprintf(out + size, "\\ufffd");
        } else if (c == '"' || c == '\\') {
            size += (size_t)sprintf(out + size, "\\%c", c);
        } else if (c < ' ') {
            size += (size_t)sprintf(out + size, "\\u%04x", c);
        } else {
            memcpy(out + size, text.data + i, used);
            size += used;
        }
    }
    return size;
}

static size_t json_line(char *out, enum log_level level, const char *text)
{
    struct timespec now;
    struct tm parts;
    char time[40] = "";
    size_t size;

    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts) != NULL) {
        strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &parts);
    }
    size = (size_t)sprintf(out, "{\"time\":\"%s.%03dZ\",\"level\":\"%s\",\"message\":\"", time,
                           (int)(now.tv_nsec / 1000000), names[level]);
    size += escape(out + size, hf_text(text));
    return size + (size_t)sprintf(out + size, "\"}\n");
}

void log_line(const struct log *log, enum log_level level, const char *format, ...)
{
    char text[TEXT_SIZE], line[LINE_SIZE];
    int error = errno;
    va_list args;

    if (level < log->level) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t size = log->json ? json_line(line, level, text)
                            : (size_t)sprintf(line, "holdfast: %s%s\n", prefixes[level], text);
    /* In one call, so that lines of several processes or threads do not mix. */
    while (write(STDERR_FILENO, line, size) < 0 && errno == EINTR) {}
    errno = error;
}
