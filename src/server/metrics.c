/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting, and writing what was counted in Prometheus' text format. */
#include "server/metrics.h"

#include "server/audit_log.h"
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Upper bounds, in nanoseconds and as they are written. */
static const struct {
    uint64_t nanoseconds;
    const char *seconds;
} bounds[LATENCY_BUCKETS] = {
    {10000, "1e-05"},     {25000, "2.5e-05"},  {50000, "5e-05"},     {100000, "0.0001"},
    {250000, "0.00025"},  {500000, "0.0005"},  {1000000, "0.001"},   {2500000, "0.0025"},
    {5000000, "0.005"},   {10000000, "0.01"},  {25000000, "0.025"},  {50000000, "0.05"},
    {100000000, "0.1"},   {250000000, "0.25"}, {500000000, "0.5"},   {1000000000, "1"},
    {2500000000U, "2.5"}, {5000000000U, "5"},  {10000000000U, "10"}, {60000000000U, "60"},
};

void latency_add(struct latency *latency, uint64_t nanoseconds, uint64_t times)
{
    size_t i = 0;

    while (i < LATENCY_BUCKETS && nanoseconds > bounds[i].nanoseconds) {
        i++;
    }
    latency->counts[i] += times;
    latency->count += times;
    latency->sum_ns += nanoseconds * times;
}

const char *latency_bound(size_t bucket)
{
    return bounds[bucket].seconds;
}

void metrics_waited(struct metrics *metrics, enum command_id id, enum hf_error code,
                    uint64_t nanoseconds)
{
    metrics->outcomes[id][code]++;
    latency_add(&metrics->commands[id], nanoseconds, 1);
}

void metrics_turn(struct metrics *metrics, uint64_t nanoseconds)
{
    for (unsigned i = 0; i < metrics->turn_kinds; i++) {
        uint8_t id = metrics->turn_ids[i];
        latency_add(&metrics->commands[id], nanoseconds, metrics->turn[id]);
        metrics->turn[id] = 0;
    }
    metrics->turn_kinds = 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void head(struct buffer *out, const char *name, const char *type, const char *help)
{
    buffer_format(out, "# HELP holdfast_%s %s\n# TYPE holdfast_%s %s\n", name, help, name, type);
}

static void figure(struct buffer *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    head(out, name, type, help);
    buffer_format(out, "holdfast_%s %llu\n", name, (unsigned long long)value);
}

/* `label` is "" or `command="PING",`. */
static void histogram(struct buffer *out, const char *name, const char *label,
                      const struct latency *latency)
{
    uint64_t below = 0;

    for (size_t i = 0; i <= LATENCY_BUCKETS; i++) {
        below += latency->counts[i];
        buffer_format(out, "holdfast_%s_bucket{%sle=\"%s\"} %llu\n", name, label,
                      i < LATENCY_BUCKETS ? bounds[i].seconds : "+Inf", (unsigned long long)below);
    }
    size_t size = strlen(label);
    const char *open = size > 0 ? "{" : "", *close = size > 0 ? "}" : "";
    int shown = size > 0 ? (int)size - 1 : 0;
    buffer_format(out, "holdfast_%s_sum%s%.*s%s %.9f\n", name, open, shown, label, close,
                  (double)latency->sum_ns / 1e9);
    buffer_format(out, "holdfast_%s_count%s%.*s%s %llu\n", name, open, shown, label, close,
                  (unsigned long long)latency->count);
}

static void write_commands(const struct metrics *metrics, struct buffer *out)
{
    char label[64];

    head(out, "commands_total", "counter", "Commands answered, by name and outcome.");
    for (size_t id = 0; id < COMMAND_COUNT; id++) {
        for (size_t code = 0; code < HF_ERROR_COUNT; code++) {
            if (metrics->outcomes[id][code] > 0) {
                buffer_format(out, "holdfast_commands_total{command=\"%s\",outcome=\"%s\"} %llu\n",
                              command_table[id].name, hf_error_name((enum hf_error)code),
                              (unsigned long long)metrics->outcomes[id][code]);
            }
        }
    }
    head(out, "command_duration_seconds", "histogram",
         "From reading a request to its answer being sent, the sync of the journal included.");
    for (size_t id = 0; id < COMMAND_COUNT; id++) {
        if (metrics->commands[id].count > 0) {
            snprintf(label, sizeof label, "command=\"%s\",", command_table[id].name);
            histogram(out, "command_duration_seconds", label, &metrics->commands[id]);
        }
    }
    head(out, "journal_flush_duration_seconds", "histogram",
         "Writing a batch to the journal and syncing it, as the policy says.");
    histogram(out, "journal_flush_duration_seconds", "", &metrics->flushes);
}

/* The second figure of /proc/self/statm, which counts pages. */
uint64_t metrics_resident_bytes(void)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");

    if (file != NULL) {
        if (fgets(line, sizeof line, file) == NULL) {
            line[0] = '\0';
        }
        fclose(file);
    }
    const char *second = strchr(line, ' ');
    uint64_t pages = second != NULL ? strtoull(second, NULL, 10) : 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void write_process(struct server *server, struct buffer *out)
{
    struct rusage usage;
    uint64_t uptime_ns = clock_nanoseconds() - server->started_ns;

    getrusage(RUSAGE_SELF, &usage);
    head(out, "build_info", "gauge", "The version that runs.");
    buffer_format(out, "holdfast_build_info{version=\"%s\"} 1\n", hf_version());
    figure(out, "ready", "gauge", "1 while it carries out commands.",
           server->state == SERVER_READY);
    head(out, "uptime_seconds", "gauge", "Since the start.");
    buffer_format(out, "holdfast_uptime_seconds %.3f\n", (double)uptime_ns / 1e9);
    head(out, "cpu_seconds_total", "counter", "Processor time of user and system.");
    buffer_format(out, "holdfast_cpu_seconds_total %.6f\n",
                  (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    figure(out, "resident_memory_bytes", "gauge", "Memory of the process.",
           metrics_resident_bytes());
    figure(out, "client_memory_bytes", "gauge", "Buffers of all clients.", server->memory.used);
}

static void write_figure(void *context, const char *name, const char *help, bool grows,
                         double value)
{
    head(context, name, grows ? "counter" : "gauge", help);
    buffer_format(context, "holdfast_%s %.15g\n", name, value);
}

static void write_state(struct server *server, struct buffer *out)
{
    struct hf_info info;

    if (server->engine == NULL) {
        return;
    }
    engine_figures(server->engine, write_figure, out);
    if (server_info(server, &info) != NULL) {
        return;
    }
    figure(out, "state_memory_bytes", "gauge", "Memory of the state.", info.memory_bytes);
    figure(out, "holds", "gauge", "Live bookings, quota holds, orders, slots and locks.",
           info.holds);
    figure(out, "waiting", "gauge", "In line for slots and in waiting rooms.", info.waiting);
    figure(out, "expired_total", "counter", "Holds, waiters, entries and passes that fell due.",
           info.expired);
}

static void write_families(struct buffer *out, const uint64_t *counts, const char *limit)
{
    for (enum family family = 0; family < FAMILY_COUNT; family++) {
        if (counts[family] > 0) {
            buffer_format(out, "holdfast_limited_requests_total{family=\"%s\",limit=\"%s\"} %llu\n",
                          family_name(family), limit, (unsigned long long)counts[family]);
        }
    }
}

static void write_limited(const struct metrics *metrics, struct buffer *out)
{
    head(out, "limited_requests_total", "counter",
         "Requests refused by what their user is kept to, by family and limit: access or rate.");
    write_families(out, metrics->forbidden, "access");
    write_families(out, metrics->rate_limited, "rate");
}

static void write_audit_log(struct server *server, struct buffer *out)
{
    struct audit_log_figures figures;

    if (server->audit_log == NULL) {
        return;
    }
    audit_log_look(server->audit_log, &figures);
    figure(out, "audit_log_lines_total", "counter", "Lines for the audit log.", figures.lines);
    figure(out, "audit_log_lost_total", "counter",
           "Of them, those that were lost because its file could not be written in time.",
           figures.writer.lost);
    figure(out, "audit_log_failing", "gauge", "1 while its file cannot be written.",
           figures.writer.failing);
}

void metrics_write(const struct metrics *metrics, struct server *server, struct buffer *out)
{
    write_process(server, out);
    write_state(server, out);
    write_commands(metrics, out);
    figure(out, "connections", "gauge", "Open connections.", server->session_count);
    figure(out, "connections_accepted_total", "counter", "Connections taken.", metrics->accepted);
    figure(out, "connections_refused_total", "counter", "Connections turned away: too many.",
           metrics->refused_connections);
    figure(out, "connections_timed_out_total", "counter", "Connections closed for being slow.",
           metrics->timed_out);
    figure(out, "connections_evicted_total", "counter",
           "Connections closed because clients kept too much memory.", metrics->evicted);
    figure(out, "strangers_closed_total", "counter",
           "Connections closed because they did not sign in.", metrics->strangers_closed);
    figure(out, "strangers", "gauge", "Open connections that have not signed in.",
           server->stranger_count);
    figure(out, "malformed_requests_total", "counter", "Requests that could not be read.",
           metrics->malformed);
    figure(out, "unauthorized_requests_total", "counter", "Requests turned away for who made them.",
           metrics->unauthorized);
    write_limited(metrics, out);
    write_audit_log(server, out);
    figure(out, "received_bytes_total", "counter", "Bytes from clients.", metrics->bytes_in);
    figure(out, "sent_bytes_total", "counter", "Bytes to clients.", metrics->bytes_out);
}
