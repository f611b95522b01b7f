/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns of the loop: read what is ready, apply it, commit once, send. Whatever could take long is
 * done in steps of bounded time, a few each turn. */
#include "server/loop.h"

#include "server/audit_log.h"
#include "server/systemd_notify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK_MS 250
#define DRAIN_TICK_MS 10
#define LINGER_MS 2000
#define HEALTH_MS 1000
/* A server whose disk failed goes on refusing for so long, so that health checks see it before it
 * exits. */
#define FAILED_MS 5000

/* ---- turns ----------------------------------------------------------------------------------- */

/* Resumes the sessions of a queue for so many microseconds, the first one in any case. A session
 * that is not done then, or not reached, waits for the next turn, so that each gets its share. */
static void serve(struct loop *loop, struct list *queue, uint64_t microseconds)
{
    uint64_t ends = turn_deadline(&loop->server, microseconds);
    struct list waiting;
    bool some = true;

    list_init(&waiting);
    list_splice_last(&waiting, queue);
    while (!list_empty(&waiting) && !connections_full(loop) && (some || turn_has_time(ends))) {
        ahead_read(loop, &waiting);
        struct session *session = LIST_ENTRY(waiting.next, struct session, resumed);
        list_remove(&session->resumed);
        session->is_resumed = false;
        connection_resume(connection_of(session));
        some = false;
    }
    ahead_keep(loop);
    list_splice_first(queue, &waiting);
}

/* Sessions with little to do come first; those that yielded and handshakes, which take long, come
 * after them and alternate. */
static void serve_all(struct loop *loop)
{
    struct server *server = &loop->server;
    struct list *yielded = &server->yielded, *handshaking = &loop->handshaking;

    serve(loop, &server->resumed, TURN_SHARE);
    bool shake = !list_empty(handshaking) && (loop->handshakes_next || list_empty(yielded));
    serve(loop, shake ? handshaking : yielded, TURN_SHARE);
    loop->handshakes_next = !shake;
}

static bool send_some(struct loop *loop, struct list *list, uint64_t ends)
{
    bool some = true;

    while (!list_empty(list) && (some || turn_has_time(ends))) {
        ahead_write(loop, list);
        struct session *session = LIST_ENTRY(list->next, struct session, sending);
        list_remove(&session->sending);
        session->is_sending = false;
        connection_send(connection_of(session));
        some = false;
    }
    return list_empty(list);
}

/* Commits and sends. What is committed now is sent first, so that it does not wait behind a hundred
 * thousand answers of an earlier turn. A connection that ends may bring a waiter its answer: that
 * is for the next commit. */
static void commit_and_send(struct loop *loop)
{
    struct server *server = &loop->server;
    uint64_t ends = turn_deadline(server, TURN_SENDING);
    struct list earlier;

    list_init(&earlier);
    list_splice_last(&earlier, &server->sending);
    do {
        server_commit(server);
        send_some(loop, &server->sending, ends);
        if (connections_memory(loop) > (size_t)server->options->client_memory_bytes ||
            strangers_full(loop)) {
            loop_evict(loop);
        }
    } while (!list_empty(&server->touched) && !server->in_flight && turn_has_time(ends));
    send_some(loop, &earlier, ends);
    list_splice_first(&server->sending, &earlier);
}

/* Something is due, or a snapshot may be done. */
static void on_engine_timer(uv_timer_t *timer)
{
    struct server *server = &((struct loop *)timer->data)->server;

    if (server->engine != NULL && server->state != SERVER_FAILED) {
        engine_turn(server->engine);
    }
}

static void on_engine_wake(uv_async_t *wake)
{
    struct server *server = &((struct loop *)wake->data)->server;

    if (server->engine != NULL) {
        engine_turn(server->engine);
    }
}

void loop_wake(void *loop)
{
    uv_async_send(&((struct loop *)loop)->engine_wake);
}

void loop_flush_on_thread(struct loop *loop)
{
    struct server *server = &loop->server;
    const char *fsync = server->options->fsync;

    if (engine_is_durable(server->engine) && fsync != NULL && strcmp(fsync, "always") == 0) {
        flusher_start(&server->flusher, loop_wake, loop);
    }
}

/* Wakes the loop when something falls due in the engine. The timer is only ever moved to an earlier
 * time: a wake-up for nothing does no harm, and a timer that each turn puts off never expires. */
static void set_engine_timer(struct loop *loop)
{
    int64_t idle_ms = loop->server.engine == NULL || loop->server.state == SERVER_FAILED
                          ? -1
                          : engine_idle_ms(loop->server.engine);

    if (idle_ms < 0) {
        if (loop->due_ms >= 0) {
            uv_timer_stop(&loop->engine_timer);
            loop->due_ms = -1;
        }
        return;
    }
    int64_t due_ms = (int64_t)uv_now(&loop->uv) + idle_ms;
    if (!uv_is_active((uv_handle_t *)&loop->engine_timer) || due_ms < loop->due_ms) {
        loop->due_ms = due_ms;
        uv_timer_start(&loop->engine_timer, on_engine_timer, (uint64_t)idle_ms, 0);
    }
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle; /* it only keeps the loop from waiting */
}

static void stop_if_done(struct loop *loop)
{
    if (loop->server.state == SERVER_DRAINING && list_empty(&loop->server.sessions)) {
        uv_stop(&loop->uv);
    }
}

/* The work itself is done in this turn and the next ones, a little each time. */
static void on_tick(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    if (loop->server.state == SERVER_LOADING) {
        systemd_notify("EXTEND_TIMEOUT_USEC=60000000"); /* as long as it loads, it is not stuck */
    }
    loop->limits_due = true;
    loop->ticks_left = loop->server.ticking_count;
    logins_tick(&loop->server);
    warnings_tick(&loop->server.warnings, &loop->server.log);
    if (loop->server.audit_log != NULL) {
        audit_log_tick(loop->server.audit_log);
    }
}

static void on_deadline(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* The loop ends then, whatever is pending. */
static void end_within(struct loop *loop, int64_t ms)
{
    uv_timer_start(&loop->deadline, on_deadline, (uint64_t)ms, 0);
}

void loop_drain_within(struct loop *loop, int64_t ms)
{
    uv_timer_start(&loop->ticks, on_tick, 0, DRAIN_TICK_MS);
    end_within(loop, ms);
}

static void note_failure(struct loop *loop)
{
    if (loop->exit_code == SERVER_DONE) {
        loop->exit_code = SERVER_DISK;
        log_line(&loop->server.log, LOG_ERROR, "stopping in %d s because the data directory failed",
                 FAILED_MS / 1000);
        end_within(loop, FAILED_MS);
        systemd_notify("STOPPING=1");
    }
}

/* Is there more to do than this turn had time for? */
static bool has_more(const struct loop *loop)
{
    const struct server *server = &loop->server;

    /* What waits for the batch in flight goes on when that is done: loop_wake(). */
    return !(list_empty(&server->resumed) && list_empty(&server->yielded) &&
             (list_empty(&server->touched) || server->in_flight) && list_empty(&server->sending) &&
             list_empty(&loop->handshaking)) ||
           loop->limits_due || loop->ticks_left > 0 || server->feed.behind;
}

/* What was read was applied: put it on disk, then answer. */
static void end_turn(struct loop *loop)
{
    struct server *server = &loop->server;

    commit_and_send(loop);
    connection_free_released(loop);
    if (server->metrics.turn_kinds > 0) {
        metrics_turn(&server->metrics, clock_nanoseconds() - server->turn.began_ns);
    }
    server->turn.began_ns = 0;
    loop->muted = 0;
    if (server->state == SERVER_FAILED) {
        note_failure(loop);
    }
    if (has_more(loop)) {
        uv_idle_start(&loop->idle, on_idle);
    } else {
        uv_idle_stop(&loop->idle);
    }
    set_engine_timer(loop);
    stop_if_done(loop);
}

/* Before the loop waits: commits and sends what timers and finished work have left. */
static void on_prepare(uv_prepare_t *prepare)
{
    end_turn(prepare->data);
}

/* After the loop waited and everything ready was read, or put in a queue. */
static void on_check(uv_check_t *check)
{
    struct loop *loop = check->data;

    serve_all(loop);
    if (loop->limits_due || loop->ticks_left > 0) {
        loop_keep_house(loop);
    }
    end_turn(loop);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void time_limit_init(struct time_limit *limit, int64_t limit_ms)
{
    list_init(&limit->connections);
    limit->limit_ms = limit_ms;
}

void loop_init(struct loop *loop, const struct server_options *options)
{
    server_init(&loop->server, options);
    loop->server.loop = loop;
    loop->server.release = connection_release;
    loop->server.turn.bounded = true;
    loop->due_ms = -1;
    loop->listeners[0].fd = loop->listeners[1].fd = -1;
    loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    time_limit_init(&loop->slow, options->request_timeout_ms);
    time_limit_init(&loop->crowding, 0);
    list_init(&loop->released);
    list_init(&loop->handshaking);
    strangers_init(&loop->strangers);
    time_limit_init(&loop->quiet, options->idle_timeout_ms);
    time_limit_init(&loop->lingering, LINGER_MS);
    time_limit_init(&loop->health, HEALTH_MS);
    uv_loop_init(&loop->uv);
    loop->has_workers = loop_work_start(loop); /* before those that can be done without */
    loop->ahead = ahead_start((unsigned)options->threads);
    uv_prepare_init(&loop->uv, &loop->prepare);
    uv_check_init(&loop->uv, &loop->check);
    uv_idle_init(&loop->uv, &loop->idle);
    uv_timer_init(&loop->uv, &loop->engine_timer);
    uv_async_init(&loop->uv, &loop->engine_wake, on_engine_wake);
    uv_timer_init(&loop->uv, &loop->ticks);
    uv_timer_init(&loop->uv, &loop->deadline);
    loop->prepare.data = loop->check.data = loop->ticks.data = loop->engine_timer.data = loop;
    loop->engine_wake.data = loop;
    uv_prepare_start(&loop->prepare, on_prepare);
    uv_check_start(&loop->check, on_check);
    uv_timer_start(&loop->ticks, on_tick, TICK_MS, TICK_MS);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* The engine is detached: sessions whose answers it still owed are freed, too. */
static void free_those_gone(struct loop *loop)
{
    struct list *sessions = &loop->server.sessions;

    connection_free_released(loop);
    while (!list_empty(sessions)) {
        connection_release(LIST_ENTRY(sessions->next, struct session, node));
        connection_free_released(loop);
    }
}

void loop_free(struct loop *loop)
{
    struct list *sessions = &loop->server.sessions;

    listener_close(&loop->listeners[0]);
    listener_close(&loop->listeners[1]);
    for (struct list *node = sessions->next, *next; node != sessions; node = next) {
        next = node->next;
        connection_end(connection_of(LIST_ENTRY(node, struct session, node)));
    }
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    if (loop->server.audit_child != NULL) {
        audit_child_stop(loop->server.audit_child);
    }
    while (loop->server.auditing) {
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    server_detach(&loop->server); /* the engine does not wake the loop after this */
    uv_walk(&loop->uv, close_handle, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT); /* until handles and work on other threads have ended */
    free_those_gone(loop);
    uv_loop_close(&loop->uv);
    ahead_stop(loop->ahead);
    tls_free(loop->tls);
    close(loop->spare_fd);
}
