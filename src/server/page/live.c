/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the figures. Counters are sent as they stand: the page makes rates of two of them, and
 * percentiles of two histograms, so that pages that came at different times agree. What is not
 * known is null or left out, and never 0. */
#include "server/page/live.h"

#include "base/check.h"
#include "server/server.h"

#include <time.h>

#define LIVE_EVERY_NS UINT64_C(1000000000)

void live_init(struct live *live, struct memory *memory)
{
    *live = (struct live){.made_ns = 0};
    buffer_init(&live->text, memory);
}

void live_watch(struct live *live)
{
    live->watchers++;
}

void live_leave(struct live *live)
{
    CHECK(live->watchers > 0);
    if (--live->watchers == 0) {
        buffer_free(&live->text);
        live->made_ns = 0;
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void write_text(struct buffer *out, const char *name, const char *text)
{
    buffer_format(out, ",\"%s\":", name);
    if (text != NULL) {
        json_text(out, hf_text(text));
    } else {
        buffer_text(out, "null");
    }
}

static void write_count(struct buffer *out, const char *name, uint64_t count)
{
    buffer_format(out, ",\"%s\":%llu", name, (unsigned long long)count);
}

/* Less than nothing is how a number is written that is not known. */
static void write_known(struct buffer *out, const char *name, int64_t number)
{
    if (number >= 0) {
        write_count(out, name, (uint64_t)number);
    } else {
        write_text(out, name, NULL);
    }
}

static void write_server(struct server *server, struct buffer *out)
{
    struct engine *engine = server->engine;

    write_text(out, "version", hf_version());
    write_text(out, "state", server_state_name(server->state));
    write_text(out, "engine", server_engine_name(server));
    write_text(out, "ledger", engine != NULL ? service_ledger_name(engine) : NULL);
    write_text(out, "ledger_status", engine != NULL ? service_status(engine) : NULL);
    write_text(out, "unready", engine != NULL ? engine_unready(engine) : NULL);
    buffer_format(out, ",\"engine_away\":%s",
                  engine == NULL           ? "null"
                  : engine_is_away(engine) ? "true"
                                           : "false");
    write_count(out, "uptime_seconds", (clock_nanoseconds() - server->started_ns) / 1000000000);
    write_count(out, "connections", server->session_count);
    write_count(out, "client_memory_bytes", server->memory.used);
    write_count(out, "resident_memory_bytes", metrics_resident_bytes());
}

static void write_carried(struct server *server, struct buffer *out)
{
    struct hf_info info;
    const char *unknown = server_info(server, &info);

    write_text(out, "unknown_because", unknown);
    if (unknown == NULL) {
        write_count(out, "memory_bytes", info.memory_bytes);
        write_count(out, "holds", info.holds);
        write_count(out, "waiting", info.waiting);
        write_count(out, "expired", info.expired);
    } else {
        buffer_text(out, ",\"memory_bytes\":null,\"holds\":null,\"waiting\":null,\"expired\":null");
    }
}

static void write_outcomes(const struct metrics *metrics, struct buffer *out)
{
    const char *comma = "";

    buffer_text(out, ",\"commands\":{");
    for (size_t id = 0; id < COMMAND_COUNT; id++) {
        const char *inner = "";
        for (size_t code = 0; code < HF_ERROR_COUNT; code++) {
            if (metrics->outcomes[id][code] == 0) {
                continue;
            }
            if (*inner == '\0') {
                buffer_format(out, "%s\"%s\":{", comma, command_table[id].name);
                comma = ",";
            }
            buffer_format(out, "%s\"%s\":%llu", inner, hf_error_name((enum hf_error)code),
                          (unsigned long long)metrics->outcomes[id][code]);
            inner = ",";
        }
        buffer_text(out, *inner != '\0' ? "}" : "");
    }
    buffer_byte(out, '}');
}

static void write_counts(struct buffer *out, const char *name, const struct latency *latency)
{
    buffer_format(out, ",\"%s\":[", name);
    for (size_t i = 0; i <= LATENCY_BUCKETS; i++) {
        buffer_format(out, "%s%llu", i > 0 ? "," : "", (unsigned long long)latency->counts[i]);
    }
    buffer_byte(out, ']');
}

/* Histograms over all commands, and of the journal; the last bucket has no bound. */
static void write_latency(const struct metrics *metrics, struct buffer *out)
{
    struct latency sum = {.count = 0};

    for (size_t id = 0; id < COMMAND_COUNT; id++) {
        for (size_t i = 0; i <= LATENCY_BUCKETS; i++) {
            sum.counts[i] += metrics->commands[id].counts[i];
        }
    }
    buffer_text(out, ",\"latency_bounds_s\":[");
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        buffer_format(out, "%s%s", i > 0 ? "," : "", latency_bound(i));
    }
    buffer_byte(out, ']');
    write_counts(out, "latency", &sum);
    write_counts(out, "flushes", &metrics->flushes);
}

struct figures {
    struct buffer *out;
    const char *comma;
};

static void write_figure(void *context, const char *name, const char *help, bool grows,
                         double value)
{
    struct figures *figures = context;

    (void)help;
    (void)grows;
    buffer_format(figures->out, "%s\"%s\":%.15g", figures->comma, name, value);
    figures->comma = ",";
}

struct nodes {
    struct buffer *out;
    const char *comma;
};

static void write_node(void *context, const struct engine_node *node)
{
    struct nodes *nodes = context;
    struct buffer *out = nodes->out;

    buffer_format(out, "%s{\"name\":", nodes->comma);
    json_text(out, hf_text(node->name));
    write_text(out, "role", node->role);
    write_text(out, "state", node->state);
    write_text(out, "problem", node->problem);
    write_count(out, "commands", node->commands);
    write_count(out, "in_flight", node->in_flight);
    write_known(out, "reply_us", node->reply_us);
    write_known(out, "up_ms", node->up_ms);
    buffer_byte(out, '}');
    nodes->comma = ",";
}

/* The servers of Redis; null where the state is in this process. */
static void write_nodes(struct server *server, struct buffer *out)
{
    struct nodes nodes = {out, ""};

    if (server->engine == NULL || !engine_has_nodes(server->engine)) {
        buffer_text(out, ",\"nodes\":null");
        return;
    }
    buffer_text(out, ",\"nodes\":[");
    size_t left_out = engine_nodes(server->engine, write_node, &nodes);
    buffer_byte(out, ']');
    write_count(out, "nodes_left_out", left_out);
}

/* The wall clock's, as in the feed: the page tells the age of holds by it. */
static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the whole ------------------------------------------------------------------------------- */

bool live_refresh(struct live *live, struct server *server, uint64_t now_ns)
{
    struct buffer *out = &live->text;
    struct figures figures = {out, ""};

    if (live->made_ns != 0 && now_ns - live->made_ns < LIVE_EVERY_NS) {
        return true;
    }
    buffer_clear(out);
    buffer_format(out, "event: figures\ndata: {\"time_ms\":%lld", (long long)wall_ms());
    write_server(server, out);
    write_carried(server, out);
    write_outcomes(&server->metrics, out);
    write_latency(&server->metrics, out);
    buffer_text(out, ",\"figures\":{");
    if (server->engine != NULL) {
        engine_figures(server->engine, write_figure, &figures);
    }
    buffer_byte(out, '}');
    write_nodes(server, out);
    buffer_text(out, "}\n\n");
    live->made_ns = now_ns;
    if (out->failed) {
        buffer_free(out);
        live->made_ns = 0;
        return false;
    }
    return true;
}
