/* SPDX-License-Identifier: Apache-2.0
 *
 * A server's life: it reads what its settings name, opens its ports and then its engine, reads
 * users and certificate again on SIGHUP, and on SIGTERM answers what it has and goes. */
#include "server/audit_log.h"
#include "server/loop_work.h"
#include "server/reload.h"
#include "server/systemd_notify.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/resource.h>

/* How long the end waits for the log to be read. */
#define LAST_WORDS_MS 1000

/* ---- opening the engine ---------------------------------------------------------------------- */

struct opening {
    struct loop_work work;
    struct loop *loop;
    struct options_urls urls;
    struct service_options service;
    const char *shown; /* what may be said of the engine's: it can hold a password */
    struct engine *engine;
    struct problem problem;
};

static void note_progress(void *context, int64_t done, int64_t total)
{
    struct server *server = context;

    server->load_total = total;
    server->loaded = done;
}

static void open_engine(struct loop_work *work)
{
    struct opening *opening = (struct opening *)work;
    struct server *server = &opening->loop->server;
    struct engine_options options = {.log = server->log,
                                     .progress = note_progress,
                                     .progress_context = server,
                                     .wake = loop_wake,
                                     .wake_context = opening->loop,
                                     .max_memory_bytes = server->options->max_memory_bytes,
                                     .min_free_bytes = server->options->min_free_bytes,
                                     .answers_before_flush = true,
                                     .worker = true,
                                     .clock = server->options->clock,
                                     .clock_context = server->options->clock_context};

    opening->service.carried_out = server_carried_out;
    opening->service.carried_out_context = server;
    service_open(opening->urls.engine, &options, &opening->service, &opening->engine,
                 &opening->problem);
}

/* What is served from now on, and what it took to get there. */
static void log_ready(struct loop *loop)
{
    struct server *server = &loop->server;
    double seconds = (double)(clock_nanoseconds() - server->started_ns) / 1e9;
    const char *ledger = service_status(server->engine);
    struct hf_info info;

    if (ledger != NULL) {
        log_line(&server->log, LOG_INFO, "%s", ledger);
    }
    if (server_info(server, &info) != NULL) {
        log_line(&server->log, LOG_INFO, "ready after %.3f s", seconds);
        return;
    }
    log_line(&server->log, LOG_INFO,
             "ready after %.3f s: read %lld bytes of snapshot and journal, %llu holds and %llu in "
             "line",
             seconds, (long long)server->loaded, (unsigned long long)info.holds,
             (unsigned long long)info.waiting);
}

static void say_ready(struct loop *loop)
{
    log_ready(loop);
    printf("holdfast: ready resp=%s http=%s engine=%s\n", loop->listeners[0].name,
           loop->listeners[1].name, engine_name(loop->server.engine));
    fflush(stdout);
    systemd_notify("READY=1");
}

static void engine_opened(struct loop_work *work)
{
    struct opening *opening = (struct opening *)work;
    struct loop *loop = opening->loop;

    if (opening->engine != NULL) {
        server_attach(&loop->server, opening->engine);
        loop_flush_on_thread(loop);
        if (loop->server.state == SERVER_READY) {
            say_ready(loop);
        }
    } else {
        log_line(&loop->server.log, LOG_ERROR, "%s%s%s", opening->shown,
                 opening->shown[0] != '\0' ? ": " : "", opening->problem.message);
        loop->exit_code = opening->problem.code == HF_IOERR              ? SERVER_DISK
                          : opening->problem.code == HF_INVALID_ARGUMENT ? SERVER_USAGE
                                                                         : SERVER_UNAVAILABLE;
        uv_stop(&loop->uv);
    }
    free(opening);
}

static bool begin_opening(struct loop *loop)
{
    const struct server_options *options = loop->server.options;
    struct opening *opening = calloc(1, sizeof *opening);

    if (opening == NULL) {
        return false;
    }
    opening->loop = loop;
    options_service(options, &opening->urls, &opening->service);
    opening->shown = options->fsync != NULL ? opening->urls.engine : "";
    log_line(&loop->server.log, LOG_INFO,
             "version %s starts: RESP on %s, HTTP on %s, %s, engine %s%s%s", hf_version(),
             loop->listeners[0].name, loop->listeners[1].name, loop->tls != NULL ? "TLS" : "no TLS",
             options->fsync != NULL ? opening->urls.engine : "elsewhere",
             options->fsync != NULL ? ", fsync " : "",
             options->fsync == NULL ? ""
             : options->memory      ? "none"
                                    : options->fsync);
    loop_work_begin(&opening->work, loop, open_engine, engine_opened);
    return true;
}

/* ---- signals --------------------------------------------------------------------------------- */

static void drain(struct loop *loop, const char *why)
{
    struct server *server = &loop->server;

    if (server->state == SERVER_DRAINING || server->state == SERVER_FAILED) {
        return;
    }
    if (server->state == SERVER_LOADING) {
        log_line(&server->log, LOG_INFO, "asked to stop by %s while loading: nothing was changed",
                 why);
        /* The thread that loads goes on until the very end. */
        audit_log_close(server->audit_log, LAST_WORDS_MS);
        log_finish(&server->log, LAST_WORDS_MS);
        _exit(SERVER_DONE);
    }
    server->state = SERVER_DRAINING;
    listener_close(&loop->listeners[0]);
    listener_close(&loop->listeners[1]);
    /* Who is told relies on it that nobody new is let in. */
    log_line(&server->log, LOG_INFO, "asked to stop by %s: answering %zu clients", why,
             server->session_count);
    systemd_notify("STOPPING=1");
    for (struct list *node = server->sessions.next, *next; node != &server->sessions; node = next) {
        struct session *session = LIST_ENTRY(node, struct session, node);
        next = node->next;
        if (!session->gone) {
            login_give_up(session);
            session_give_up(session);
            connection_drain(connection_of(session));
        }
    }
    loop_drain_within(loop, server->options->drain_timeout_ms);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct loop *loop = handle->data;

    if (number == SIGHUP) {
        reload_again(loop);
    } else {
        drain(loop, number == SIGTERM ? "SIGTERM" : "SIGINT");
    }
}

static void watch_signals(struct loop *loop)
{
    static const int signals[3] = {SIGTERM, SIGINT, SIGHUP};

    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1,
           SIG_IGN); /* what other servers take for a request to reopen logs and the like */
    signal(SIGUSR2, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of the write */
    for (size_t i = 0; i < 3; i++) {
        uv_signal_init(&loop->uv, &loop->signals[i]);
        loop->signals[i].data = loop;
        uv_signal_start(&loop->signals[i], on_signal, signals[i]);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* As many descriptors as there may be connections, and some for files. */
static void raise_limits(struct loop *loop)
{
    const struct server_options *options = loop->server.options;
    rlim_t wanted = (rlim_t)options->max_connections + 64;
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < wanted) {
            log_line(&loop->server.log, LOG_WARNING,
                     "only %llu files may be open: fewer than %lld connections will be taken",
                     (unsigned long long)limit.rlim_cur, (long long)options->max_connections);
        }
    }
}

static bool open_audit_log(struct server *server, struct problem *problem)
{
    const char *path = server->options->audit_log;

    if (path == NULL) {
        return true;
    }
    server->audit_log = audit_log_open(path, &server->log, problem);
    server->records = true;
    audit_log_server(server, "START", HF_OK);
    return server->audit_log != NULL;
}

/* Reads what the settings name, and opens the ports. */
static bool prepare(struct loop *loop, struct problem *problem)
{
    const struct server_options *options = loop->server.options;

    if (!loop->has_workers) {
        problem_set(problem, HF_BUSY, "the system gives no threads: limits of processes or memory");
        return false;
    }
    if (!reload_first(loop, problem) || !open_audit_log(&loop->server, problem)) {
        return false;
    }
    raise_limits(loop);
    if (ahead_threads(loop->ahead) < options->threads) {
        log_line(&loop->server.log, LOG_WARNING,
                 "the system gives only %u threads of %lld to read and write with",
                 ahead_threads(loop->ahead), (long long)options->threads);
    }
    return listener_open(&loop->listeners[0], loop, &front_resp, options->resp_port, problem) &&
           listener_open(&loop->listeners[1], loop, &front_http, options->http_port, problem);
}

enum server_exit server_run(const struct server_options *options)
{
    struct problem problem = {.message = "out of memory"};
    struct loop *loop = calloc(1, sizeof *loop);

    if (loop == NULL) {
        return SERVER_DISK;
    }
    mallopt(M_MMAP_THRESHOLD, 64 << 10); /* clients' large buffers go back when they are freed */
    loop_init(loop, options);
    if (!options->check_config) {
        log_start(&loop->server.log);
    }
    watch_signals(loop);
    if (!prepare(loop, &problem) || !begin_opening(loop)) {
        log_line(&loop->server.log, LOG_ERROR, "%s", problem.message);
        loop->exit_code = loop->has_workers ? SERVER_USAGE : SERVER_UNAVAILABLE;
    } else {
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    }
    enum server_exit code = loop->exit_code;
    struct log log = loop->server.log;
    struct audit_log *audit = loop->server.audit_log;
    audit_log_server(&loop->server, "STOP", code == SERVER_DONE ? HF_OK : HF_INTERNAL);
    loop_free(loop);
    server_free(&loop->server);
    free(loop);
    audit_log_close(audit, LAST_WORDS_MS);
    if (!options->check_config) {
        log_line(&log, LOG_INFO, "stopped, exit code %d", (int)code);
    }
    log_stop(&log, LAST_WORDS_MS);
    return code;
}
