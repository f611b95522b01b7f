/* SPDX-License-Identifier: Apache-2.0 */
#include "server/loop.h"

#include "server/notify.h"
#include "server/work.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK_MS 250
#define LINGER_MS 2000
/* A server whose disk failed goes on refusing so long, so that those who ask for its health see it
 * before it is gone. */
#define FAILED_MS 5000

/* ---- turns ----------------------------------------------------------------------------------- */

/* Moves all of a list to another, empty one. */
static void take_list(struct list *from, struct list *to)
{
    list_init(to);
    if (!list_empty(from)) {
        *to = *from;
        to->next->prev = to->prev->next = to;
        list_init(from);
    }
}

/* Those who have to come again after this wait for the next turn, so that each gets its share. */
static void resume_all(struct server *server)
{
    struct list resumed;

    take_list(&server->resumed, &resumed);
    while (!list_empty(&resumed)) {
        struct session *session = LIST_ENTRY(resumed.next, struct session, resumed);
        list_remove(&session->resumed);
        session->is_resumed = false;
        connection_resume(connection_of(session));
    }
}

/* Sends what was committed. Somebody's end may be another one's answer: that is for the next
 * commit. */
static void send_all(struct server *server)
{
    struct list touched;

    take_list(&server->touched, &touched);
    while (!list_empty(&touched)) {
        struct session *session = LIST_ENTRY(touched.next, struct session, touched);
        list_remove(&session->touched);
        session->is_touched = false;
        connection_send(connection_of(session));
    }
}

/* Closes those in a list who keep at least `least` bytes, the longest there first, until what is
 * left is `enough`. Returns how many. */
static unsigned close_some(struct loop *loop, struct patience *patience, size_t least,
                           size_t enough)
{
    struct list *head = &patience->connections;
    unsigned closed = 0;

    for (struct list *node = head->next, *next; node != head; node = next) {
        struct connection *connection = LIST_ENTRY(node, struct connection, patient);
        next = node->next;
        if (loop->server.memory.used <= enough) {
            break;
        }
        if (connection_keeps(connection) >= least) {
            connection_end(connection, false);
            closed++;
        }
    }
    return closed;
}

/* Makes room at the cost of those who keep memory without need: a good deal more of it than is
 * missing, so that the next turn is not full at once. Who keeps little goes last. */
static void evict(struct loop *loop)
{
    struct server *server = &loop->server;
    size_t limit = (size_t)server->options->client_memory_bytes, used = server->memory.used;
    size_t enough = limit / 4 * 3;

    unsigned closed = close_some(loop, &loop->crowding, CONNECTION_SMALL, enough);
    closed += close_some(loop, &loop->slow, CONNECTION_SMALL, enough);
    closed += close_some(loop, &loop->slow, 0, limit);
    if (closed > 0) {
        server->metrics.evicted += closed;
        log_line(&server->log, LOG_WARNING,
                 "clients kept %zu bytes waiting, at most %zu are allowed: closed %u of them", used,
                 limit, closed);
    }
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

/* Wakes the loop when something falls due. The timer is only ever moved to an earlier time: one
 * that comes too early does no harm, and one that is put off each turn never comes. */
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

static void on_deadline(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

void loop_end_within(struct loop *loop, int64_t ms)
{
    uv_timer_start(&loop->deadline, on_deadline, (uint64_t)ms, 0);
}

static void note_failure(struct loop *loop)
{
    if (loop->exit_code == SERVER_DONE) {
        loop->exit_code = SERVER_DISK;
        loop_end_within(loop, FAILED_MS);
        notify_supervisor("STOPPING=1");
    }
}

/* What was read was applied: put it on disk, then answer. */
static void end_turn(struct loop *loop)
{
    struct server *server = &loop->server;

    resume_all(server);
    do {
        server_commit(server);
        send_all(server);
        if (server->memory.used > (size_t)server->options->client_memory_bytes) {
            evict(loop);
        }
    } while (!list_empty(&server->touched));
    connection_free_released(loop);
    if (server->metrics.turn_kinds > 0) {
        metrics_turn(&server->metrics, clock_nanoseconds() - server->turn_ns);
    }
    server->turn_ns = 0;
    if (server->state == SERVER_FAILED) {
        note_failure(loop);
    }
    if (list_empty(&server->resumed)) {
        uv_idle_stop(&loop->idle);
    } else {
        uv_idle_start(&loop->idle, on_idle);
    }
    set_engine_timer(loop);
    stop_if_done(loop);
}

/* Before the loop waits: what timers and finished work left to be said. */
static void on_prepare(uv_prepare_t *prepare)
{
    end_turn(prepare->data);
}

/* After it waited and all that was ready has been read. */
static void on_check(uv_check_t *check)
{
    end_turn(check->data);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void lose_patience(struct loop *loop, struct patience *patience, uint64_t now_ns)
{
    uint64_t limit_ns = (uint64_t)patience->limit_ms * 1000000;

    while (patience->limit_ms > 0 && !list_empty(&patience->connections)) {
        struct connection *connection =
            LIST_ENTRY(patience->connections.next, struct connection, patient);
        struct session *session = &connection->session;
        if (now_ns - connection->patient_ns < limit_ns) {
            return;
        }
        if (patience == &loop->slow) {
            loop->server.metrics.timed_out++;
            if (session->partial && !session->closing && !session->waits) {
                session->front->timed_out(session); /* its last words */
                session->closing = true;
                session->partial = false;
                session_touch(session);
                connection->patient_ns = now_ns; /* a second time to take them */
                list_remove(&connection->patient);
                list_add_last(&patience->connections, &connection->patient);
                continue;
            }
        }
        connection_end(connection, patience != &loop->slow);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    uint64_t now_ns = clock_nanoseconds();

    lose_patience(loop, &loop->slow, now_ns);
    lose_patience(loop, &loop->quiet, now_ns);
    lose_patience(loop, &loop->lingering, now_ns);
    struct list *sessions = &loop->server.sessions;
    for (struct list *node = sessions->next, *next; node != sessions; node = next) {
        struct session *session = LIST_ENTRY(node, struct session, node);
        next = node->next;
        if (session->wants_ticks && !session->gone) {
            session->front->tick(session);
        }
    }
}

/* ---- work on other threads ------------------------------------------------------------------- */

static void run_work(uv_work_t *request)
{
    struct work *work = request->data;
    work->run(work);
}

static void work_done(uv_work_t *request, int status)
{
    struct work *work = request->data;
    (void)status;
    work->done(work);
}

void work_begin(struct work *work, struct loop *loop, void (*run)(struct work *work),
                void (*done)(struct work *work))
{
    work->run = run;
    work->done = done;
    if (loop == NULL) {
        run(work);
        done(work);
        return;
    }
    work->request.data = work;
    uv_queue_work(&loop->uv, &work->request, run_work, work_done);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void patience_init(struct patience *patience, int64_t limit_ms)
{
    list_init(&patience->connections);
    patience->limit_ms = limit_ms;
}

void loop_init(struct loop *loop, const struct server_options *options)
{
    server_init(&loop->server, options);
    loop->server.loop = loop;
    loop->server.release = connection_release;
    loop->due_ms = -1;
    loop->listeners[0].fd = loop->listeners[1].fd = -1;
    loop->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    patience_init(&loop->slow, options->request_timeout_ms);
    patience_init(&loop->crowding, 0);
    list_init(&loop->released);
    patience_init(&loop->quiet, options->idle_timeout_ms);
    patience_init(&loop->lingering, LINGER_MS);
    uv_loop_init(&loop->uv);
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

/* Nobody is left to be answered, and the engine will not ask. */
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
        connection_end(connection_of(LIST_ENTRY(node, struct session, node)), false);
    }
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    while (loop->server.auditing) {
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    server_detach(&loop->server); /* nobody wakes the loop after this */
    uv_walk(&loop->uv, close_handle, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT); /* until passwords are hashed, too */
    free_those_gone(loop);
    uv_loop_close(&loop->uv);
    tls_free(loop->tls);
    close(loop->spare_fd);
}
