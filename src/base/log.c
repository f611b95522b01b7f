/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats a line of the log, as text or as JSON, and hands it to the writer's thread or writes it
 * itself. */
#include "base/log.h"

#include "base/log_writer.h"
#include "base/text.h"
#include "base/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TEXT_SIZE 2048
#define ESCAPED_MAX 6                                            /* \u001f */
#define FIELDS_SIZE (2 * TRACE_REQUEST_MAX + TRACE_ID_SIZE + 32) /* of a request */
#define LINE_SIZE (ESCAPED_MAX * TEXT_SIZE + FIELDS_SIZE + 128)  /* with what is around it */
#define RING_SIZE ((size_t)256 << 10)

_Static_assert(LINE_SIZE <= LOG_LINE_MAX, "a writer takes every line");

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

void log_time(char out[LOG_TIME_SIZE])
{
    struct timespec now;
    struct tm parts;
    size_t size = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts) != NULL) {
        size = strftime(out, LOG_TIME_SIZE - 8, "%Y-%m-%dT%H:%M:%S", &parts);
    }
    snprintf(out + size, LOG_TIME_SIZE - size, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

/* What is said, and of which request; NULL: of none. */
struct log_said {
    enum log_level level;
    const char *text;
    const struct trace_request *request;
};

static size_t json_line(char *out, const struct log_said *said)
{
    char time[LOG_TIME_SIZE], trace[TRACE_ID_SIZE];
    size_t size;

    log_time(time);
    size = (size_t)sprintf(out, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"", time,
                           names[said->level]);
    size += escape(out + size, hf_text(said->text));
    if (said->request != NULL && said->request->id[0] != '\0') {
        size += (size_t)sprintf(out + size, "\",\"request\":\"");
        size += escape(out + size, hf_text(said->request->id));
    }
    if (said->request != NULL) {
        trace_write_id(&said->request->trace, trace);
        size += (size_t)sprintf(out + size, "\",\"trace\":\"%s", trace);
    }
    return size + (size_t)sprintf(out + size, "\"}\n");
}

static size_t text_line(char *out, const struct log_said *said, bool timed)
{
    char time[LOG_TIME_SIZE] = "", fields[FIELDS_SIZE] = "", trace[TRACE_ID_SIZE];

    if (timed) {
        log_time(time);
    }
    if (said->request != NULL) {
        trace_write_id(&said->request->trace, trace);
        snprintf(fields, sizeof fields, "%s%s trace=%s",
                 said->request->id[0] != '\0' ? " request=" : "", said->request->id, trace);
    }
    return (size_t)sprintf(out, "%s%sholdfast: %s%s%s\n", time, timed ? " " : "",
                           prefixes[said->level], said->text, fields);
}

static void write_line(const struct log *log, const struct log_said *said)
{
    char line[LINE_SIZE];
    size_t size = log->json ? json_line(line, said) : text_line(line, said, log->writer != NULL);

    if (log->writer == NULL || !log_writer_put(log->writer, line, size)) {
        /* In one call, so that lines of several processes or threads do not mix. */
        while (write(STDERR_FILENO, line, size) < 0 && errno == EINTR) {}
    }
}

static void say(const struct log *log, const struct trace_source *source, enum log_level level,
                const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void say(const struct log *log, const struct trace_source *source, enum log_level level,
                const char *format, va_list args)
{
    struct log_said said = {.level = level};
    struct trace_request request = {.id = ""};
    char text[TEXT_SIZE];
    int error = errno;

    vsnprintf(text, sizeof text, format, args);
    said.text = text;
    if (source != NULL) {
        source->describe(source, &request);
        said.request = &request;
    }
    write_line(log, &said);
    errno = error;
}

void log_line(const struct log *log, enum log_level level, const char *format, ...)
{
    va_list args;

    if (level >= log->level) {
        va_start(args, format);
        say(log, NULL, level, format, args);
        va_end(args);
    }
}

void log_request_line(const struct log *log, const struct trace_source *source,
                      enum log_level level, const char *format, ...)
{
    va_list args;

    if (level >= log->level) {
        va_start(args, format);
        say(log, source, level, format, args);
        va_end(args);
    }
}

/* ---- of a server ----------------------------------------------------------------------------- */

#define LOST_TEXT_SIZE 96

static struct log_said lost_lines(char text[LOST_TEXT_SIZE], uint64_t count)
{
    snprintf(text, LOST_TEXT_SIZE,
             "%llu lines were left out here: standard error was not read in time",
             (unsigned long long)count);
    return (struct log_said){.level = LOG_WARNING, .text = text};
}

static size_t lost_text(void *context, char out[LOG_LOST_SIZE], uint64_t count)
{
    char text[LOST_TEXT_SIZE];
    struct log_said said = lost_lines(text, count);

    (void)context;
    return text_line(out, &said, true);
}

static size_t lost_json(void *context, char out[LOG_LOST_SIZE], uint64_t count)
{
    char text[LOST_TEXT_SIZE];
    struct log_said said = lost_lines(text, count);

    (void)context;
    return json_line(out, &said);
}

void log_start(struct log *log)
{
    log->writer = log_writer_start(&(struct log_writer_target){
        .fd = STDERR_FILENO, .room = RING_SIZE, .lost = log->json ? lost_json : lost_text});
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
        log_writer_stop(log->writer, wait_ms, NULL);
        log->writer = NULL;
    }
}
