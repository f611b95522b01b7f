/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's life: how it begins, when it may read, in which of the server's queues it stands, and
 * how it ends. Its commands are in session_call.c. */
#include "server/session.h"

#include "base/check.h"
#include "server/server.h"
#include "server/session_trace.h"
#include "server/session_undo.h"

/* A buffer for answers that is no larger stays with its session. */
#define OUT_KEPT ((size_t)1 << 10)
/* Room for answers that is made before there are any. A client that then waits for its turn in a
 * line must not look as if it held more than a waiter does: see CONNECTION_SMALL. */
#define OUT_EXPECTED ((size_t)2 << 10)

bool session_open(struct session *session, struct server *server, const struct front *front)
{
    *session = (struct session){.server = server, .front = front, .id = ++server->sessions_made};
    buffer_init(&session->out, &server->memory);
    buffer_init(&session->undo, &server->memory);
    list_init(&session->calls);
    session->opened_ns = session->heard_ns = clock_nanoseconds();
    if (!front->open(session)) {
        return false;
    }
    list_add_last(&server->sessions, &session->node);
    server->session_count++;
    return true;
}

void session_touch(struct session *session)
{
    if (!session->is_touched) {
        session->is_touched = true;
        list_add_last(&session->server->touched, &session->touched);
    }
}

void session_answered(struct session *session)
{
    session->answers++;
    session->answered++;
    session_touch(session);
}

static void untouch(struct session *session)
{
    list_remove(&session->touched);
    session->is_touched = false;
    session->answers = 0;
}

static void send_firm(struct session *session)
{
    if (!session->is_sending) {
        session->is_sending = true;
        list_add_last(&session->server->sending, &session->sending);
    }
}

void session_committed(struct session *session)
{
    CHECK(!session->is_flushing);
    session->firm = session->out.size;
    untouch(session);
    send_firm(session);
}

static void leave_flushing(struct session *session)
{
    list_remove(&session->flushing);
    session->is_flushing = false;
}

void session_cover(struct session *session)
{
    CHECK(!session->is_flushing);
    session->covered = session->out.size;
    session->answers_covered = session->answers;
    untouch(session);
    session->is_flushing = true;
    list_add_last(&session->server->flushing, &session->flushing);
}

void session_flushed(struct session *session)
{
    leave_flushing(session);
    session->firm = session->covered;
    send_firm(session);
}

void session_uncover(struct session *session)
{
    leave_flushing(session);
    session->answers += session->answers_covered;
    session_touch(session);
}

void session_shows_nothing(struct session *session, size_t start)
{
    if (start == session->firm && session->is_touched && !session->is_flushing &&
        session->call_count == 0) {
        session_committed(session);
    }
}

void session_wait_turn(struct session *session, struct list *queue)
{
    if (!session->is_resumed && !session->gone) {
        session->is_resumed = true;
        list_add_last(queue, &session->resumed);
    }
}

void session_resume(struct session *session)
{
    session_wait_turn(session, &session->server->resumed);
}

void session_yield(struct session *session)
{
    session->yielded = true;
    session_wait_turn(session, &session->server->yielded);
}

void session_set_waits(struct session *session, bool waits)
{
    session->server->waiting += (size_t)waits - (size_t)session->waits;
    session->waits = waits;
}

static bool is_past_share(struct session *session, uint64_t now)
{
    if (now <= session->server->turn.share_ends) {
        return false;
    }
    session_yield(session);
    return true;
}

bool session_spent(struct session *session)
{
    return is_past_share(session, clock_ticks());
}

bool session_late(struct session *session)
{
    return is_past_share(session, session->server->last_ticks);
}

void session_want_ticks(struct session *session)
{
    if (!session->wants_ticks) {
        session->wants_ticks = true;
        list_add_last(&session->server->ticking, &session->ticking);
        session->server->ticking_count++;
    }
}

bool session_takes_beside(struct session *session, const struct command_spec *spec)
{
    session->barrier = spec == NULL || spec->undo != NULL;
    return !session->barrier;
}

size_t session_feed(struct session *session, const char *data, size_t size)
{
    struct server *server = session->server;
    struct engine *engine = server->engine;

    server->turn.share_ends = turn_deadline(server, TURN_SHARE);
    session->heard_ns = server->turn.began_ns;
    server->last_ticks = clock_ticks();
    session->yielded = false;
    if (engine != NULL) {
        engine_together(engine, true);
    }
    size_t used = session->front->feed(session, data, size);
    if (engine != NULL) {
        engine_together(engine, false);
    }
    return used;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void leave_lists(struct session *session)
{
    if (session->is_touched) {
        list_remove(&session->touched);
        session->is_touched = false;
    }
    if (session->is_flushing) {
        leave_flushing(session);
    }
    if (session->is_sending) {
        list_remove(&session->sending);
        session->is_sending = false;
    }
    if (session->is_resumed) {
        list_remove(&session->resumed);
        session->is_resumed = false;
    }
    if (session->wants_ticks) {
        list_remove(&session->ticking);
        session->server->ticking_count--;
        session->wants_ticks = false;
    }
}

void session_free(struct session *session)
{
    leave_lists(session);
    session_calls_drop(session);
    session_set_waits(session, false);
    session_iterators_pass(session);
    list_remove(&session->node);
    session->server->session_count--;
    origin_leave(&session->server->origins, session->origin);
    buffer_free(&session->out);
    undo_clear(session);
    buffer_free(&session->undo);
}

bool session_close(struct session *session, bool heard)
{
    login_abandon(session);
    bool queued = session_queues(session);

    session_trace_leave(session);
    session->front->close(session);
    session->unfinished = false; /* no client is left to resume it for */
    bool waited = session->waits || session->call_count > 0;
    leave_lists(session);
    buffer_free(&session->out);
    if (waited) {
        session->gone = true;
    }
    if (queued || !heard) { /* this answers what waits, unless memory is short */
        undo_from(session, heard ? session->undo_last : 0);
    }
    return !waited;
}

void session_expect_answers(struct session *session)
{
    if (session->out.size == 0 && session->out.capacity < session->out_usual) {
        buffer_reserve(&session->out, session->out_usual);
    }
}

void session_sent(struct session *session)
{
    session->out_usual = session->out.size < OUT_EXPECTED ? session->out.size : OUT_EXPECTED;
    session->out_begins += session->out.size;
    session->firm = 0;
    if (session->out.capacity > OUT_KEPT) {
        buffer_free(&session->out);
    } else {
        buffer_clear(&session->out);
    }
}
