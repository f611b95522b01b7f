/* SPDX-License-Identifier: Apache-2.0
 *
 * When the timer of the quota sync runs: quota-sync-at is a time of the day in UTC, "03:00", which
 * no change of the clocks skips or repeats; or "every 1h"; or "never". */
#include "base/text.h"
#include "service/quota_sync.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define MINUTE_MS ((int64_t)60 * 1000)
#define EVERY "every "
#define EVERY_MIN_MS 100

static bool read_time(const char *text, int *minute)
{
    if (strlen(text) != 5 || text[2] != ':') {
        return false;
    }
    for (size_t i = 0; i < 5; i++) {
        if (i != 2 && (text[i] < '0' || text[i] > '9')) {
            return false;
        }
    }
    int hours = (text[0] - '0') * 10 + text[1] - '0';
    int minutes = (text[3] - '0') * 10 + text[4] - '0';
    *minute = hours * 60 + minutes;
    return hours < 24 && minutes < 60;
}

enum hf_error sync_when_read(const char *text, struct sync_when *when, struct problem *problem)
{
    *when = (struct sync_when){.minute = -1};
    if (text == NULL || strcmp(text, "never") == 0 || read_time(text, &when->minute)) {
        return HF_OK;
    }
    when->minute = -1;
    if (text_starts_with(text, EVERY) &&
        text_to_duration(hf_text(text + strlen(EVERY)), 1000, &when->every_ms) &&
        when->every_ms >= EVERY_MIN_MS && when->every_ms <= DAY_MS) {
        return HF_OK;
    }
    return problem_set(problem, HF_INVALID_ARGUMENT,
                       "quota-sync-at \"%.40s\": must be a time of the day in UTC such as 03:00, "
                       "\"every 1h\" from 100 ms to 24 h, or never",
                       text);
}

int64_t sync_when_next(const struct sync_when *when, int64_t now_ms)
{
    if (when->every_ms > 0) {
        return now_ms + when->every_ms;
    }
    if (when->minute < 0) {
        return INT64_MAX;
    }
    int64_t next_ms = now_ms - now_ms % DAY_MS + when->minute * MINUTE_MS;
    return next_ms > now_ms ? next_ms : next_ms + DAY_MS;
}
