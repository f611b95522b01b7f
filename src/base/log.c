/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats a line of the log, as text or as JSON, and hands it to the writer's thread or writes it
 * itself. */
#include "base/log.h"

#include "base/log_writer.h"
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

/* "2031-05-17T20:00:00.123Z" */
#define TIME_SIZE 48

static void write_time(char out[TIME_SIZE])
{
    struct timespec now;
    struct tm parts;
    size_t size = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts) != NULL) {
        size = strftime(out, TIME_SIZE - 8, "%Y-%m-%dT%H:%M:%S", &parts);
    }
    snprintf(out + size, TIME_SIZE - size, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

static size_t json_line(char *out, enum log_level level, const char *text)
{
    char time[TIME_SIZE];
    size_t size;

    write_time(time);
    size = (size_t)sprintf(out, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"", time,
                           names[level]);
    size += escape(out + size, hf_text(text));
    return size + (size_t)sprintf(out + size, "\"}\n");
}

static size_t text_line(char *out, enum log_level level, const char *text, bool timed)
{
    char time[TIME_SIZE] = "";

    if (timed) {
        write_time(time);
    }
    return (size_t)sprintf(out, "%s%sholdfast: %s%s\n", time, timed ? " " : "", prefixes[level],
                           text);
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
                            : text_line(line, level, text, log->writer != NULL);
    if (log->writer == NULL || !log_writer_put(log->writer, line, size)) {
        /* In one call, so that lines of several processes or threads do not mix. */
        while (write(STDERR_FILENO, line, size) < 0 && errno == EINTR) {}
    }
    errno = error;
}

/* ---- of a server ----------------------------------------------------------------------------- */

static size_t lost_line(bool json, char out[LOG_LOST_SIZE], uint64_t count)
{
    char text[96];

    snprintf(text, sizeof text,
             "%llu lines were left out here: standard error was not read in time",
             (unsigned long long)count);
    return json ? json_line(out, LOG_WARNING, text) : text_line(out, LOG_WARNING, text, true);
}

void log_start(struct log *log)
{
    log->writer = log_writer_start(lost_line, log->json);
}

void log_finish(const struct log *log, int wait_ms)
{
    if (log->writer != NULL) {
        log_writer_finish(log->writer, wait_ms);
    }
}

void log_stop(struct log *log, int wait_ms)
{
    if (log->writer != NULL) {
        log_writer_stop(log->writer, wait_ms);
        log->writer = NULL;
    }
}
