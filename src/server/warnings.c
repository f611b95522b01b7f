/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts warnings by their kind, so that many of one do not hide another. */
#include "server/warnings.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#define WHILE_NS (UINT64_C(10) * 1000000000)
#define LINE_SIZE 400

static const struct {
    unsigned most; /* lines in a while */
    const char *what;
} rules[WARNING_KINDS] = {
    [WARNING_SECRET] = {10, "wrong secrets"},
    [WARNING_PROTOCOL] = {10, "clients that speak something else"},
    [WARNING_REFUSED] = {1, "refused connections"},
    [WARNING_STORED] = {3, "answers under an Idempotency-Key that are none"},
    [WARNING_INTERNAL] = {10, "commands that failed"},
    [WARNING_MEMORY] = {3, "warnings of the memory of clients"},
    [WARNING_ACCESS] = {10, "requests beyond the scopes or families of their users"},
    [WARNING_RATE] = {3, "requests beyond the rate of their users"},
};

/* Begins another while if the last one is over, and says what was left out of it. */
static void look(struct warnings *warnings, const struct log *log, enum warning_kind kind,
                 uint64_t now_ns)
{
    struct warnings_of_kind *of_kind = &warnings->kinds[kind];

    if (of_kind->since_ns == 0 || now_ns - of_kind->since_ns < WHILE_NS) {
        return;
    }
    if (of_kind->left_out > 0) {
        log_line(log, LOG_WARNING, "%llu more %s in the last %llu s",
                 (unsigned long long)of_kind->left_out, rules[kind].what,
                 (unsigned long long)((now_ns - of_kind->since_ns) / 1000000000));
    }
    *of_kind = (struct warnings_of_kind){.since_ns = 0};
}

/* Is there room for one more in this while? Counts it. */
static bool admit(struct warnings *warnings, const struct log *log, enum warning_kind kind)
{
    struct warnings_of_kind *of_kind = &warnings->kinds[kind];
    uint64_t now_ns = clock_nanoseconds();

    look(warnings, log, kind, now_ns);
    if (of_kind->since_ns == 0) {
        of_kind->since_ns = now_ns;
    }
    if (of_kind->written == rules[kind].most) {
        of_kind->left_out++;
        return false;
    }
    of_kind->written++;
    return true;
}

void warnings_line(struct warnings *warnings, const struct log *log, enum warning_kind kind,
                   const struct trace_source *source, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;

    if (admit(warnings, log, kind)) {
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
        log_request_line(log, source, LOG_WARNING, "%s", line);
    }
}

void warnings_tick(struct warnings *warnings, const struct log *log)
{
    uint64_t now_ns = clock_nanoseconds();

    for (enum warning_kind kind = 0; kind < WARNING_KINDS; kind++) {
        look(warnings, log, kind, now_ns);
    }
}
