/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of the engine in this process: how a run begins where the last one was, and how the
 * passing of time becomes as durable as a change.
 *
 * A start is a record of its own, on disk before anything is answered whatever the policy is:
 * otherwise two runs could hand out the same fences. What fell due since the last record is not on
 * disk by itself: the time is read from the wall clock at the next start, which may be behind. So
 * before anything leaves that could show it (an answer to a read or a refusal, a wakeup, an event,
 * a figure) a tick is appended, and what leaves waits for it as for any record. A command that is
 * recorded carries the time itself. */
#include "base/check.h"
#include "engine/embedded_state.h"
#include "engine/own_record.h"

#include <inttypes.h>
#include <stdio.h>

#define MINUTE_MS ((int64_t)60 * 1000)
#define DRIFT_MS 1000 /* what the offset of the last start may be off */

/* ---- records --------------------------------------------------------------------------------- */

void embedded_append(struct embedded *embedded, struct hf_bytes bytes)
{
    /* Not the moment of the command: in between, time may have gone on by itself. */
    embedded->recorded_ms = core_now(embedded->core);
    journal_append(embedded->journal, embedded->recorded_ms, bytes);
}

static void append_own(struct embedded *embedded, const struct own_record *record)
{
    struct buffer *out = &embedded->encoded;

    buffer_clear(out);
    own_record_encode(record, out);
    CHECK(!out->failed && out->size <= OWN_RECORD_MAX);
    embedded_append(embedded, (struct hf_bytes){out->data, out->size});
}

bool embedded_reserve_tick(struct embedded *embedded)
{
    if (embedded->journal == NULL) {
        return true;
    }
    buffer_clear(&embedded->encoded);
    return buffer_reserve(&embedded->encoded, OWN_RECORD_MAX) &&
           journal_reserve(embedded->journal, OWN_RECORD_MAX);
}

void embedded_tick(struct embedded *embedded)
{
    if (embedded->journal != NULL && core_changed_ms(embedded->core) > embedded->recorded_ms) {
        append_own(embedded, &(struct own_record){.kind = OWN_TICK});
        embedded->ticks++;
    }
}

/* The tick that a run ends with: the next one goes on from here, on another boot, too. */
void embedded_last_tick(struct embedded *embedded)
{
    if (embedded->begun && !embedded->failed && embedded_reserve_tick(embedded)) {
        core_advance(embedded->core, embedded_now(embedded));
        if (core_now(embedded->core) > embedded->recorded_ms) {
            append_own(embedded, &(struct own_record){.kind = OWN_TICK});
        }
    }
}

/* ---- starts ---------------------------------------------------------------------------------- */

/* "1 hour 12 minutes" */
static void write_span(char out[64], int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"year", 365 * 1440 * MINUTE_MS},
                 {"day", 1440 * MINUTE_MS},
                 {"hour", 60 * MINUTE_MS},
                 {"minute", MINUTE_MS},
                 {"second", 1000}};
    size_t i = 0;

    ms = (ms + 500) / 1000 * 1000; /* two clocks are not read in the same millisecond */
    while (i < 3 && ms < units[i].ms) {
        i++;
    }
    int64_t first = ms / units[i].ms, second = ms % units[i].ms / units[i + 1].ms;
    int size = snprintf(out, 64, "%" PRId64 " %s%s", first, units[i].name, first == 1 ? "" : "s");
    if (second > 0) {
        snprintf(out + size, 64 - (size_t)size, " %" PRId64 " %s%s", second, units[i + 1].name,
                 second == 1 ? "" : "s");
    }
}

/* Logs what an operator who wonders about deadlines will look for. */
static void log_clock(struct embedded *embedded, const struct clock_beginning *found)
{
    int64_t ahead_ms = clock_ahead_ms(&embedded->options.clock);
    int64_t jump_ms = embedded_now(embedded) - found->expected_ms;
    const struct log *log = &embedded->options.log;
    char span[64];

    if (ahead_ms > MINUTE_MS) {
        write_span(span, ahead_ms);
        log_line(
            log, LOG_WARNING,
            "the wall clock is %s behind the time that this directory has seen; time goes on "
            "from there and nears the wall clock by 1 ms a second, durations keep their length",
            span);
    } else if (found->expected_ms > 0 && jump_ms > MINUTE_MS) {
        write_span(span, jump_ms);
        log_line(log, LOG_INFO,
                 found->same_boot ? "the wall clock was set ahead by %s since the last run; it is "
                                    "followed, what is due by it expires now"
                                  : "by the wall clock the last record is %s old; what fell due "
                                    "since expires now",
                 span);
    }
}

static bool append_start(struct embedded *embedded, int64_t fence, int64_t now_ms)
{
    struct own_record start = {
        .kind = OWN_START, .run = clock_run(&embedded->options.clock), .fence = fence};

    if (!embedded_reserve_tick(embedded)) {
        return false;
    }
    core_begin_run(embedded->core, &start.run, start.fence, now_ms);
    if (embedded->journal != NULL) {
        append_own(embedded, &start);
    }
    return true;
}

enum hf_error embedded_begin(struct embedded *embedded, struct problem *problem)
{
    struct clock *clock = &embedded->options.clock;
    struct clock_beginning found;

    if (!clock_begin(clock, core_now(embedded->core), core_run(embedded->core), &found)) {
        return problem_set(problem, HF_INVALID_STATE,
                           "the clock cannot be right: the machine's, or that of an earlier run in "
                           "this directory, is before 1970 or after the year 4199; set it, or "
                           "restore a backup");
    }
    int64_t now_ms = embedded_now(embedded);
    int64_t fence = embedded->options.steady_fences ? 0 : core_start_fence(embedded->core, now_ms);
    log_clock(embedded, &found);
    if (!append_start(embedded, fence, now_ms)) {
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    core_clear_wakeups(embedded->core); /* the waiters are not there any more */
    embedded->begun = true;
    return HF_OK;
}

void embedded_follow_drift(struct embedded *embedded)
{
    int64_t drift_ms =
        clock_run(&embedded->options.clock).offset_ms - core_run(embedded->core)->offset_ms;

    if (embedded->journal != NULL && (drift_ms >= DRIFT_MS || drift_ms <= -DRIFT_MS)) {
        append_start(embedded, 0, core_now(embedded->core));
    }
}
