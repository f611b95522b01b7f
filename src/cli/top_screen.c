/* SPDX-License-Identifier: Apache-2.0
 *
 * Lays out two samples of a server as a screen or as one line. Pure: samples in, text out. */
#include "cli/top.h"

#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- figures as text ------------------------------------------------------------------------- */

static bool is_first(const struct top_view *view)
{
    return view->before->taken_ns == 0;
}

/* The time between the two samples. */
static double seconds(const struct top_view *view)
{
    double apart = is_first(view) ? view->now->uptime_s
                                  : (double)(view->now->taken_ns - view->before->taken_ns) / 1e9;
    return apart > 0.001 ? apart : 0.001;
}

/* A rate: small ones are not rounded to nothing. */
static const char *rate_text(char out[16], double number)
{
    if (number > 0 && number < 9.95) {
        snprintf(out, 16, "%.1f", number);
    } else {
        cli_count(out, number);
    }
    return out;
}

/* A total that the server does not know is a dash: 0 would be a figure. */
static bool is_unknown(char out[16], double number)
{
    snprintf(out, 16, "-");
    return isnan(number);
}

static const char *total_text(char out[16], double number)
{
    if (!is_unknown(out, number)) {
        cli_count(out, number);
    }
    return out;
}

static const char *bytes_text(char out[16], double bytes)
{
    if (is_unknown(out, bytes)) {
        return out;
    }
    snprintf(out, 16, bytes < 1e9 ? "%.1f MB" : "%.2f GB", bytes / (bytes < 1e9 ? 1e6 : 1e9));
    return out;
}

static const char *quantile_text(char out[16], const struct sample_latency *latency, double share)
{
    double nanoseconds = sample_quantile(latency, share);

    if (nanoseconds < 0) {
        snprintf(out, 16, "-");
    } else {
        cli_time(out, (uint64_t)nanoseconds);
    }
    return out;
}

static const char *uptime_text(char out[32], double uptime_s)
{
    unsigned long long total = (unsigned long long)uptime_s;
    unsigned long long days = total / 86400, hours = total / 3600 % 24, minutes = total / 60 % 60;

    if (days > 0) {
        snprintf(out, 32, "%llu d %llu h", days, hours);
    } else if (hours > 0) {
        snprintf(out, 32, "%llu h %llu min", hours, minutes);
    } else {
        snprintf(out, 32, "%llu min %llu s", minutes, total % 60);
    }
    return out;
}

/* ---- the lines on top ------------------------------------------------------------------------ */

static double answers_per_s(const struct top_view *view, size_t command)
{
    return (sample_answers(view->now, command) - sample_answers(view->before, command)) /
           seconds(view);
}

static double outcome_per_s(const struct top_view *view, size_t command, size_t code)
{
    return (view->now->outcomes[command][code] - view->before->outcomes[command][code]) /
           seconds(view);
}

/* Per second, all commands together: [0] those that succeeded, [1] the others. */
static void sum_up(const struct top_view *view, double rates[2], struct sample_latency *latency)
{
    rates[0] = rates[1] = 0;
    *latency = (struct sample_latency){.count = 0};
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        double granted = outcome_per_s(view, i, HF_OK);
        rates[0] += granted;
        rates[1] += answers_per_s(view, i) - granted;
        sample_add_latency(latency, &view->now->latencies[i], &view->before->latencies[i]);
    }
}

static void head_lines(const struct top_view *view, struct buffer *out)
{
    const struct sample *now = view->now, *before = view->before;
    char a[16], b[16], c[16], d[16], up[32];
    double apart = seconds(view);

    buffer_format(out, "holdfast %s at %s: %s, engine %s%s%s, up %s\n", now->version, view->where,
                  now->state, now->engine, now->fsync[0] != '\0' ? ", fsync " : "", now->fsync,
                  uptime_text(up, now->uptime_s));
    buffer_format(out,
                  "  holds %s   in line %s   expired %s   connections %.0f, of which %.0f wait\n",
                  total_text(a, now->holds), total_text(b, now->waiting),
                  total_text(c, now->expired), now->connections, now->waiting_connections);
    buffer_format(out, "  state %s   process %s   processor %.0f %%   in %s/s   out %s/s\n",
                  bytes_text(a, now->state_bytes), bytes_text(b, now->resident_bytes),
                  100 * (now->cpu_s - before->cpu_s) / apart,
                  bytes_text(c, (now->in_bytes - before->in_bytes) / apart),
                  bytes_text(d, (now->out_bytes - before->out_bytes) / apart));
}

static void total_lines(const struct top_view *view, struct buffer *out)
{
    struct sample_latency latency, flushes = {.count = 0};
    double rates[2];
    char a[16], b[16], c[16], d[16];

    sum_up(view, rates, &latency);
    buffer_format(out, "  commands %s/s   granted %s/s   refused %s/s   p50 %s",
                  rate_text(a, rates[0] + rates[1]), rate_text(b, rates[0]), rate_text(c, rates[1]),
                  quantile_text(d, &latency, 0.5));
    buffer_format(out, "   p99 %s\n", quantile_text(a, &latency, 0.99));
    sample_add_latency(&flushes, &view->now->flushes, &view->before->flushes);
    if (sample_quantile(&flushes, 0.5) >= 0) {
        double count = flushes.below[flushes.count - 1];
        buffer_format(out, "  flushes %s/s   p50 %s   p99 %s\n",
                      rate_text(a, count / seconds(view)), quantile_text(b, &flushes, 0.5),
                      quantile_text(c, &flushes, 0.99));
    }
}

/* ---- by command ------------------------------------------------------------------------------ */

static void outcome_lines(const struct top_view *view, size_t command, struct buffer *out)
{
    char rate[16], total[16];

    /* Where all were granted there is nothing to tell apart. */
    if (view->now->outcomes[command][HF_OK] >= sample_answers(view->now, command)) {
        return;
    }
    for (size_t code = 0; code < HF_ERROR_COUNT; code++) {
        if (view->now->outcomes[command][code] > 0) {
            buffer_format(out, "    %-24s %9s %9s\n", hf_error_name((enum hf_error)code),
                          rate_text(rate, outcome_per_s(view, command, code)),
                          total_text(total, view->now->outcomes[command][code]));
        }
    }
}

static void command_lines(const struct top_view *view, size_t command, struct buffer *out)
{
    struct sample_latency latency = {.count = 0};
    char rate[16], total[16], p50[16], p99[16];

    sample_add_latency(&latency, &view->now->latencies[command], &view->before->latencies[command]);
    buffer_format(out, "  %-26s %9s %9s %9s %9s\n", command_table[command].name,
                  rate_text(rate, answers_per_s(view, command)),
                  total_text(total, sample_answers(view->now, command)),
                  quantile_text(p50, &latency, 0.5), quantile_text(p99, &latency, 0.99));
    outcome_lines(view, command, out);
}

struct ranked {
    size_t command;
    double per_s, total;
};

static int busier_first(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    double difference = a->per_s != b->per_s ? b->per_s - a->per_s : b->total - a->total;

    return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

static void table_lines(const struct top_view *view, struct buffer *out)
{
    struct ranked ranked[COMMAND_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        double total = sample_answers(view->now, i);
        if (total > 0) {
            ranked[count++] = (struct ranked){i, answers_per_s(view, i), total};
        }
    }
    qsort(ranked, count, sizeof ranked[0], busier_first);
    buffer_format(out, "\n  %-26s %9s %9s %9s %9s\n", is_first(view) ? "since the start" : "",
                  "per s", "total", "p50", "p99");
    for (size_t i = 0; i < count; i++) {
        command_lines(view, ranked[i].command, out);
    }
    if (count == 0) {
        buffer_text(out, view->now->has_commands ? "  nothing was asked yet\n"
                                                 : "  this server gives no figures by command\n");
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Leaves out what goes beyond so many rows and columns. */
static void crop(const struct buffer *text, size_t rows, size_t columns, struct buffer *out)
{
    size_t row = 0, column = 0;

    for (size_t i = 0; i < text->size && row < rows; i++) {
        if (text->data[i] == '\n') {
            row++;
            column = 0;
        } else if (++column > columns) {
            continue;
        }
        buffer_byte(out, (uint8_t)text->data[i]);
    }
}

void top_screen(const struct top_view *view, size_t rows, size_t columns, struct buffer *out)
{
    struct buffer text;

    buffer_init(&text, out->memory);
    head_lines(view, &text);
    total_lines(view, &text);
    table_lines(view, &text);
    crop(&text, rows, columns, out);
    buffer_free(&text);
}

void top_line(const struct top_view *view, struct buffer *out)
{
    struct sample_latency latency;
    double rates[2];
    char a[16], b[16], c[16], d[16];

    sum_up(view, rates, &latency);
    buffer_format(out, "%s  %s granted/s  %s refused/s  p50 %s", view->now->state,
                  rate_text(a, rates[0]), rate_text(b, rates[1]), quantile_text(c, &latency, 0.5));
    buffer_format(out, "  p99 %s  %s holds  %.0f connections  %s\n",
                  quantile_text(a, &latency, 0.99), total_text(b, view->now->holds),
                  view->now->connections, bytes_text(d, view->now->resident_bytes));
}
