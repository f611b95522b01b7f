/* SPDX-License-Identifier: Apache-2.0
 *
 * INFO: sections of name:value, as monitoring tools of the field read them. */
#include "base/text.h"
#include "server/resp/resp_front.h"

#include <unistd.h>

static void server_section(struct server *server, struct buffer *out)
{
    uint64_t uptime_s = (clock_nanoseconds() - server->started_ns) / 1000000000;

    /* Clients of the field decide by redis_version what they may send. */
    buffer_format(out,
                  "redis_version:7.0.0\r\nredis_mode:standalone\r\nholdfast_version:%s\r\n"
                  "engine:%s\r\nstate:%s\r\nprocess_id:%d\r\nuptime_in_seconds:%llu\r\n",
                  hf_version(), server_engine_name(server), server_state_name(server->state),
                  (int)getpid(), (unsigned long long)uptime_s);
}

static void clients_section(struct server *server, struct buffer *out)
{
    buffer_format(out,
                  "connected_clients:%zu\r\nblocked_clients:%zu\r\nmaxclients:%lld\r\n"
                  "client_memory_bytes:%zu\r\n",
                  server->session_count, server->waiting,
                  (long long)server->options->max_connections, server->memory.used);
}

static void persistence_section(struct server *server, struct buffer *out)
{
    buffer_format(out, "loading:%d\r\nloading_loaded_bytes:%lld\r\nloading_total_bytes:%lld\r\n",
                  server->state == SERVER_LOADING, (long long)server->loaded,
                  (long long)server->load_total);
    if (server->options->fsync == NULL) {
        return; /* the engine's own URL has it, or Redis its own */
    }
    buffer_format(out, "durable:%d\r\nfsync:%s\r\njournal_flushes:%llu\r\n",
                  server->engine != NULL && engine_is_durable(server->engine),
                  server->options->memory ? "none" : server->options->fsync,
                  (unsigned long long)server->metrics.flushes.count);
}

static void stats_section(struct server *server, struct buffer *out)
{
    const struct metrics *metrics = &server->metrics;
    uint64_t commands = 0;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        for (size_t code = 0; code < HF_ERROR_COUNT; code++) {
            commands += metrics->outcomes[i][code];
        }
    }
    buffer_format(out,
                  "total_commands_processed:%llu\r\ntotal_connections_received:%llu\r\n"
                  "rejected_connections:%llu\r\ntimed_out_connections:%llu\r\n"
                  "evicted_connections:%llu\r\ntotal_net_input_bytes:%llu\r\n"
                  "total_net_output_bytes:%llu\r\n",
                  (unsigned long long)commands, (unsigned long long)metrics->accepted,
                  (unsigned long long)metrics->refused_connections,
                  (unsigned long long)metrics->timed_out, (unsigned long long)metrics->evicted,
                  (unsigned long long)metrics->bytes_in, (unsigned long long)metrics->bytes_out);
}

static void state_section(struct server *server, struct buffer *out)
{
    struct hf_info info;
    const char *unknown = server_info(server, &info);

    if (unknown != NULL) { /* a line that is missing is not taken for 0 */
        buffer_format(out, "unknown_because:%s\r\n", unknown);
        return;
    }
    buffer_format(out, "memory_bytes:%llu\r\nholds:%llu\r\nwaiting:%llu\r\nexpired:%llu\r\n",
                  (unsigned long long)info.memory_bytes, (unsigned long long)info.holds,
                  (unsigned long long)info.waiting, (unsigned long long)info.expired);
    buffer_format(out, "memory_limit_bytes:%llu\r\nbookings_confirmed:%llu\r\n",
                  (unsigned long long)server_figure(server, "memory_limit_bytes"),
                  (unsigned long long)server_figure(server, "bookings_confirmed"));
}

static void replication_section(struct server *server, struct buffer *out)
{
    (void)server;
    buffer_text(out, "role:master\r\nconnected_slaves:0\r\n");
}

static const struct {
    const char *name;
    void (*write)(struct server *server, struct buffer *out);
} sections[] = {
    {"Server", server_section},           {"Clients", clients_section},
    {"Persistence", persistence_section}, {"Stats", stats_section},
    {"Replication", replication_section}, {"State", state_section},
};

static bool is_wanted(const char *name, size_t count, const struct hf_bytes *words)
{
    for (size_t i = 1; i < count; i++) {
        if (text_is_word(words[i], name) || text_is_word(words[i], "ALL") ||
            text_is_word(words[i], "DEFAULT") || text_is_word(words[i], "EVERYTHING")) {
            return true;
        }
    }
    return count == 1;
}

void own_command_info(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct buffer text;

    buffer_init(&text, &session->server->memory);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (is_wanted(sections[i].name, count, words)) {
            buffer_format(&text, "%s# %s\r\n", text.size > 0 ? "\r\n" : "", sections[i].name);
            sections[i].write(session->server, &text);
        }
    }
    resp_answer_text(session, &text);
}
