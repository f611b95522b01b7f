/* SPDX-License-Identifier: Apache-2.0
 *
 * What sessions share, and the end of a turn: one flush, then the answers may be sent. */
#include "server/server.h"

#include "base/check.h"
#include "base/error.h"
#include "base/random.h"
#include "server/audit_log.h"
#include "server/session_call.h"

/* With nothing else to do, the loop waits for the sync of a disk that took no longer than this the
 * last time, and for how long. */
#define QUICK_NS UINT64_C(500000)
#define QUICK_WAIT_US 1000

const char *server_state_name(enum server_state state)
{
    static const char *const names[] = {[SERVER_LOADING] = "loading",
                                        [SERVER_READY] = "ready",
                                        [SERVER_DRAINING] = "draining",
                                        [SERVER_FAILED] = "failed"};
    return names[state];
}

void server_init(struct server *server, const struct server_options *options)
{
    struct random random;

    *server = (struct server){.options = options, .state = SERVER_LOADING};
    server->log = (struct log){.level = options->log_level, .json = options->log_json};
    server->started_ns = clock_nanoseconds();
    server->started_ticks = clock_ticks();
    server->slow_ticks = UINT64_MAX;
    server->records = options->log_level <= LOG_DEBUG;
    random_init(&random);
    random_bytes(&random, server->trace_key, sizeof server->trace_key);
    memory_init(&server->memory);
    feed_init(&server->feed, &server->memory);
    undo_table_init(&server->undos, &server->memory);
    origins_init(&server->origins, &server->memory);
    logins_init(&server->logins);
    list_init(&server->sessions);
    list_init(&server->iterators);
    list_init(&server->touched);
    list_init(&server->flushing);
    list_init(&server->sending);
    list_init(&server->resumed);
    list_init(&server->yielded);
    list_init(&server->ticking);
}

void server_free(struct server *server)
{
    CHECK(list_empty(&server->sessions));
    feed_free(&server->feed);
    undo_table_free(&server->undos);
    origins_free(&server->origins);
    auth_free(server->auth);
    server_detach(server);
    session_calls_free_spare(server);
    CHECK(server->memory.used == 0);
}

void server_detach(struct server *server)
{
    if (server->in_flight) {
        flusher_wait(&server->flusher, -1);
        server->in_flight = false;
        engine_flush_end(server->engine);
    }
    flusher_stop(&server->flusher);
    engine_close(server->engine);
    server->engine = NULL;
}

const char *server_engine_name(const struct server *server)
{
    return server->engine != NULL ? engine_name(server->engine) : "loading";
}

const char *server_info(struct server *server, struct hf_info *info)
{
    enum hf_error code = server->engine != NULL ? engine_info(server->engine, info) : HF_LOADING;

    return code == HF_OK ? NULL
           : code == HF_INVALID_STATE
               ? "the state is in Redis: counting it would mean to read all of it"
               : error_text(code);
}

struct wanted_figure {
    const char *name;
    uint64_t value;
};

static void note_figure(void *context, const char *name, const char *help, bool grows, double value)
{
    struct wanted_figure *wanted = context;
    (void)help, (void)grows;

    if (strcmp(name, wanted->name) == 0) {
        wanted->value = (uint64_t)value;
    }
}

uint64_t server_figure(const struct server *server, const char *name)
{
    struct wanted_figure wanted = {.name = name};

    if (server->engine != NULL) {
        engine_figures(server->engine, note_figure, &wanted);
    }
    return wanted.value;
}

void server_attach(struct server *server, struct engine *engine)
{
    server->engine = engine;
    if (server->state == SERVER_LOADING) {
        server->state = SERVER_READY;
    }
}

void server_refused(struct server *server, const char *peer)
{
    server->metrics.refused_connections++;
    server_warn(server, WARNING_REFUSED,
                "%s: refused, there are %zu connections and max-connections is %lld, or too many "
                "strangers from that address; see max-strangers-per-address",
                peer, server->session_count, (long long)server->options->max_connections);
}

/* The batch did not get to disk: no client may see what was answered in this turn. */
static void fail(struct server *server, const char *why)
{
    log_line(&server->log, LOG_ERROR, "the data directory failed: %s; no command is taken any more",
             why);
    audit_log_server(server, "FAILED", HF_IOERR);
    server->state = SERVER_FAILED;
    while (!list_empty(&server->flushing)) {
        session_uncover(LIST_ENTRY(server->flushing.next, struct session, flushing));
    }
    for (struct list *node = server->touched.next; node != &server->touched; node = node->next) {
        struct session *session = LIST_ENTRY(node, struct session, touched);
        unsigned answers = session->answers;
        struct problem problem;
        problem_set(&problem, HF_IOERR,
                    "the data directory failed; the next start decides whether it happened");
        session->out.size = session->firm;
        for (unsigned i = 0; i < answers; i++) {
            session->front->refuse(session, &problem);
        }
    }
}

/* As many as one turn has time for. The engine keeps the others, within its own bounds. */
static void collect_events(struct server *server)
{
    uint64_t ends = turn_deadline(server, TURN_HOUSEKEEPING);
    struct event event;

    server->feed.behind = false;
    while (engine_next_event(server->engine, &event)) {
        feed_event(&server->feed, &event);
        if (clock_ticks() > ends) {
            server->feed.behind = true;
            return;
        }
    }
}

void server_carried_out(void *context, const struct command *command, const struct reply *reply)
{
    struct server *server = context;

    if (feed_wanted(&server->feed)) {
        feed_command(&server->feed, command, reply);
    }
}

/* ---- the end of a turn ----------------------------------------------------------------------- */

/* Is there a request that this turn had no time for? */
static bool has_backlog(const struct server *server)
{
    return !list_empty(&server->resumed) || !list_empty(&server->yielded);
}

/* All that was answered so far is in the batch that begins now. What holds nothing that is not sent
 * yet, such as a session that is to be closed, waits with the others for its turn. */
static void begin_flush(struct server *server)
{
    while (!list_empty(&server->touched)) {
        struct session *session = LIST_ENTRY(server->touched.next, struct session, touched);
        if (session->out.size > session->firm) {
            session_cover(session);
        } else {
            session_committed(session);
        }
    }
    server->in_flight = true;
    server->flush_started_ns = clock_nanoseconds();
    flusher_begin(&server->flusher, server->engine);
}

static void end_flush(struct server *server)
{
    server->in_flight = false;
    engine_flush_end(server->engine);
    latency_add(&server->metrics.flushes, clock_nanoseconds() - server->flush_started_ns, 1);
    const char *why = engine_failure(server->engine);
    if (why != NULL) {
        fail(server, why);
        return;
    }
    while (!list_empty(&server->flushing)) {
        session_flushed(LIST_ENTRY(server->flushing.next, struct session, flushing));
    }
}

void server_settle(struct server *server)
{
    if (server->in_flight) {
        flusher_wait(&server->flusher, -1);
        end_flush(server);
    }
}

/* Lets time pass in the engine, and tells those who watch what it brought. */
static void turn_engine(struct server *server)
{
    if (engine_idle_ms(server->engine) == 0) {
        engine_turn(server->engine);
    }
    if (feed_wanted(&server->feed)) {
        collect_events(server);
        feed_turn(&server->feed, server->engine, clock_nanoseconds());
    }
}

/* One batch is in flight at a time, and while it is the loop goes on reading and applying: what
 * comes is in the next one. Only a disk whose sync takes about as long as two threads need to wake
 * each other is waited for, unless requests are there that this turn had no time for; and not for
 * long, so that a disk that hangs does not keep the server from saying that it lives. See
 * docs/decisions/0092. */
static void flush(struct server *server)
{
    if (server->in_flight && flusher_wait(&server->flusher, 0)) {
        end_flush(server);
    }
    if (!server->in_flight && server->state != SERVER_FAILED &&
        engine_flush_begin(server->engine)) {
        begin_flush(server);
        bool waits = !has_backlog(server) && flusher_last_ns(&server->flusher) <= QUICK_NS;
        if (flusher_wait(&server->flusher, waits ? QUICK_WAIT_US : 0)) {
            end_flush(server);
        }
    }
}

void server_commit(struct server *server)
{
    if (server->engine != NULL && server->state != SERVER_FAILED) {
        turn_engine(server);
        flush(server);
        const char *why = engine_failure(server->engine);
        if (why != NULL && server->state != SERVER_FAILED) {
            fail(server, why);
        }
    }
    while (!list_empty(&server->touched) && !server->in_flight) {
        session_committed(LIST_ENTRY(server->touched.next, struct session, touched));
    }
}
