/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session.h"

#include "command/binary.h"
#include "server/server.h"
#include "server/session_undo.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A client that has not taken so much is not answered further until it has. */
#define OUT_MAX ((size_t)128 << 10)
/* A buffer for answers that is no larger stays with its session. */
#define OUT_KEPT ((size_t)1 << 10)
/* So much a client may ask before it is answered. */
#define LATER_MAX 128

bool session_open(struct session *session, struct server *server, const struct front *front)
{
    *session = (struct session){.server = server, .front = front, .id = ++server->sessions_made};
    buffer_init(&session->out, &server->memory);
    buffer_init(&session->undo, &server->memory);
    list_init(&session->later);
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

void session_committed(struct session *session)
{
    session->firm = session->out.size;
    session->answers = 0;
    list_remove(&session->touched);
    session->is_touched = false;
    if (!session->is_sending) {
        session->is_sending = true;
        list_add_last(&session->server->sending, &session->sending);
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

bool session_spent(struct session *session)
{
    if (clock_ticks() <= session->server->turn.share_ends) {
        return false;
    }
    session_yield(session);
    return true;
}

void session_want_ticks(struct session *session)
{
    if (!session->wants_ticks) {
        session->wants_ticks = true;
        list_add_last(&session->server->ticking, &session->ticking);
        session->server->ticking_count++;
    }
}

bool session_stopped(const struct session *session)
{
    return session->waits || session->closing || session->gone || session->barrier ||
           session->yielded || session->later_count >= LATER_MAX || session->out.size > OUT_MAX;
}

/* Does the engine, or another thread, owe it an answer? */
static bool is_owed(const struct session *session)
{
    return session->waits || session->later_count > 0;
}

bool session_busy(const struct session *session)
{
    return is_owed(session) || session->unfinished || session->yielded;
}

bool session_queues(const struct session *session)
{
    return session->waits && session->spec != NULL && session->spec->undo != NULL;
}

bool session_takes(struct session *session, struct hf_bytes name)
{
    const struct command_spec *spec = session->later_count > 0 ? command_find(name) : NULL;

    session->barrier = session->later_count > 0 && (spec == NULL || spec->undo != NULL);
    return !session->barrier;
}

size_t session_feed(struct session *session, const char *data, size_t size)
{
    struct server *server = session->server;
    struct engine *engine = server->engine;

    turn_begin(server);
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

/* ---- answers in order ------------------------------------------------------------------------ */

/* An answer that is still to come, or that came before those in front of it. */
struct later {
    struct list node; /* of session->later */
    struct session *session;
    const struct command_spec *spec;
    uint64_t since_ns;
    bool done;
    struct buffer bytes; /* the command, for those who watch; then its answer */
};

static struct later *add_later(struct session *session, const struct command_spec *spec)
{
    struct memory *memory = &session->server->memory;
    struct later *later = memory_zeroed(memory, sizeof *later);

    if (later != NULL) {
        later->session = session;
        later->spec = spec;
        buffer_init(&later->bytes, memory);
        list_add_last(&session->later, &later->node);
        session->later_count++;
    }
    return later;
}

static void remove_later(struct later *later)
{
    struct session *session = later->session;

    list_remove(&later->node);
    session->later_count--;
    buffer_free(&later->bytes);
    memory_free(&session->server->memory, later, sizeof *later);
}

/* What the front just wrote behind `before` has to wait for what comes before it. */
static void keep_answer(struct later *later, size_t before)
{
    struct buffer *out = &later->session->out;

    buffer_clear(&later->bytes);
    buffer_bytes(&later->bytes, out->data + before, out->size - before);
    out->failed |= later->bytes.failed;
    out->size = before;
    later->done = true;
}

/* Says what was kept, up to the first answer that is still to come. */
static void say_kept(struct session *session)
{
    while (!list_empty(&session->later)) {
        struct later *later = LIST_ENTRY(session->later.next, struct later, node);
        if (!later->done) {
            return;
        }
        buffer_bytes(&session->out, later->bytes.data, later->bytes.size);
        remove_later(later);
        session_answered(session);
    }
}

/* The front wrote an answer behind `before`, to the request that came last. */
static void said(struct session *session, size_t before)
{
    if (session->later_count == 0) {
        session_answered(session);
        return;
    }
    struct later *later = add_later(session, NULL);
    if (later == NULL) {
        session->out.failed = true; /* the client has to ask again */
        session_touch(session);
    } else {
        keep_answer(later, before);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

void session_refuse(struct session *session, enum hf_error code, const char *format, ...)
{
    struct problem problem = {.code = code};
    va_list args;

    va_start(args, format);
    vsnprintf(problem.message, sizeof problem.message, format, args);
    va_end(args);
    size_t before = session->out.size;
    session->front->refuse(session, &problem);
    said(session, before);
}

bool session_allows(struct session *session, enum role needed)
{
    if (session->server->auth == NULL || session->who.role >= needed) {
        return true;
    }
    session->server->metrics.unauthorized++;
    if (session->who.role == ROLE_NONE) {
        session_refuse(session, HF_UNAUTHORIZED, "Authentication required.");
    } else {
        session_refuse(session, HF_FORBIDDEN, "%s has the role %s; this needs %s",
                       session->who.name, role_name(session->who.role), role_name(needed));
    }
    return false;
}

/* Is the engine there to be asked? */
static bool engine_serves(struct session *session)
{
    struct server *server = session->server;

    switch (server->state) {
    case SERVER_READY:
    case SERVER_DRAINING:
        return true;
    case SERVER_LOADING:
        session_refuse(session, HF_LOADING,
                       "the data directory is being loaded: %lld of %lld bytes",
                       (long long)server->loaded, (long long)server->load_total);
        break;
    case SERVER_FAILED:
        session_refuse(session, HF_IOERR,
                       "the data directory failed; the next start decides what was kept");
        break;
    }
    return false;
}

/* Before the front lets go of the request, which the command's texts are part of. */
static void note_time(struct session *session)
{
    struct server *server = session->server;
    uint64_t now = clock_ticks();
    uint64_t took = now - server->last_ticks;

    if (took > server->slow_ticks) {
        double share = (double)took / (double)(now - server->started_ticks);
        uint64_t since_start_ns = clock_nanoseconds() - server->started_ns;
        slowlog_add(&server->slowlog, session->command, session->peer,
                    (uint64_t)(share * (double)since_start_ns));
    }
    server->last_ticks = now;
}

/* The client left before its command was answered; now it is. */
static void bury(struct session *session, const struct reply *reply)
{
    if (reply->code != HF_OK || !reply->granted) {
        undo_forget_last(session);
    }
    session->server->release(session);
}

/* What was taken out of its line because the server stops has not waited in vain for so long as it
 * asked to: it is told why, so that it asks another server or this one's successor. */
static void write_answer(struct session *session, const struct reply *reply, bool granted)
{
    struct problem problem;

    if (session->given_up && reply->code == HF_TIMEOUT) {
        problem_set(&problem, HF_BUSY,
                    "the server is shutting down and this request waits no longer: ask again, "
                    "another server or this one when it is back");
        session->front->refuse(session, &problem);
    } else {
        session->front->answer(session, reply);
    }
    session->given_up = false;
    if (granted) {
        undo_note_end(session);
    }
}

/* ---- an engine that answers at once ---------------------------------------------------------- */

static void answered(void *context, const struct reply *reply)
{
    struct session *session = context;
    struct server *server = session->server;
    enum command_id id = command_id(session->spec);

    session_set_waits(session, false);
    if (session->submitting) {
        metrics_done(&server->metrics, id, reply->code);
        note_time(session);
    } else {
        metrics_waited(&server->metrics, id, reply->code, clock_nanoseconds() - session->since_ns);
    }
    if (session->gone) {
        bury(session, reply);
        return;
    }
    bool granted = session->spec->undo != NULL && reply->code == HF_OK && reply->granted;
    if (session->spec->undo != NULL && !granted) {
        undo_forget_last(session);
    }
    write_answer(session, reply, granted);
    session_answered(session);
    if (!session->submitting) {
        session_resume(session);
    }
}

/* The same, and whoever listens to the feed is told. */
static void answered_and_observed(void *context, const struct reply *reply)
{
    struct session *session = context;

    /* What came of a command that waited, the engine's own events tell. */
    if (session->submitting && session->spec->flags & COMMAND_WRITES && reply->code == HF_OK) {
        feed_command(&session->server->feed, session->command, reply);
    }
    answered(session, reply);
}

static void submit_now(struct session *session, struct command *command)
{
    struct server *server = session->server;

    session->command = command;
    session->submitting = true;
    session_set_waits(session, true);
    engine_submit(server->engine, command,
                  feed_wanted(&server->feed) ? answered_and_observed : answered, session);
    session->submitting = false;
    if (session->waits) {
        note_time(session);
        session->since_ns = clock_nanoseconds();
    }
    session->command = NULL;
}

/* ---- one that answers later ------------------------------------------------------------------ */

static void observe(struct later *later, const struct reply *reply)
{
    struct hf_bytes bytes = {later->bytes.data, later->bytes.size};
    struct command command;
    struct binary_scratch scratch;

    if (bytes.size > 0 && reply->code == HF_OK &&
        command_from_binary(&command, bytes, &scratch, NULL) == HF_OK) {
        feed_command(&later->session->server->feed, &command, reply);
    }
}

/* Nobody is there any more to be told. */
static void bury_later(struct later *later, const struct reply *reply)
{
    struct session *session = later->session;
    bool queued = later->spec->undo != NULL;

    remove_later(later);
    if (queued && !(reply->code == HF_OK && reply->granted)) {
        undo_forget_last(session);
    }
    if (session->later_count == 0) {
        session_set_waits(session, false);
        session->server->release(session);
    }
}

static void answered_later(void *context, const struct reply *reply)
{
    struct later *later = context;
    struct session *session = later->session;

    metrics_waited(&session->server->metrics, command_id(later->spec), reply->code,
                   clock_nanoseconds() - later->since_ns);
    observe(later, reply);
    if (session->gone) {
        bury_later(later, reply);
        return;
    }
    session_set_waits(session, false);
    bool granted = later->spec->undo != NULL && reply->code == HF_OK && reply->granted;
    if (later->spec->undo != NULL && !granted) {
        undo_forget_last(session);
    }
    bool first = session->later.next == &later->node;
    size_t before = session->out.size;
    session->spec = later->spec;
    write_answer(session, reply, granted);
    if (first) {
        remove_later(later);
        session_answered(session);
        say_kept(session);
    } else {
        keep_answer(later, before);
    }
    session->barrier = session->barrier && session->later_count > 0;
    if (!session->submitting) {
        session_resume(session);
    }
}

static void submit_later(struct session *session, struct command *command)
{
    struct server *server = session->server;
    struct later *later = add_later(session, command->spec);

    if (later == NULL) {
        session_refuse(session, HF_BUSY, "out of memory");
        return;
    }
    if (feed_wanted(&server->feed) && command->spec->flags & COMMAND_WRITES) {
        command_to_binary(command, &later->bytes);
    }
    later->since_ns = clock_nanoseconds();
    session_set_waits(session, !session->front->pipelines || command->spec->undo != NULL);
    session->submitting = true;
    engine_submit(server->engine, command, answered_later, later);
    session->submitting = false;
}

bool session_accepts(struct session *session, const struct command_spec *spec)
{
    enum role needed = spec->flags & COMMAND_WRITES ? ROLE_WRITE : ROLE_READ;

    return session_allows(session, needed) && engine_serves(session);
}

bool session_submit(struct session *session, struct command *command)
{
    struct server *server = session->server;
    const struct command_spec *spec = command->spec;

    if (!session_accepts(session, spec)) {
        return true;
    }
    if (!engine_ready(server->engine, command)) {
        session_yield(session);
        return false;
    }
    if (spec->undo != NULL && !undo_remember(session, command)) {
        session_refuse(session, HF_BUSY, "out of memory");
        return true;
    }
    session->spec = spec;
    if (server->engine->later) {
        submit_later(session, command);
    } else {
        submit_now(session, command);
    }
    if (server->state == SERVER_DRAINING) {
        session_give_up(session); /* nobody gets in line any more */
    }
    return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void leave_lists(struct session *session)
{
    if (session->is_touched) {
        list_remove(&session->touched);
        session->is_touched = false;
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
    while (!list_empty(&session->later)) { /* only when the engine will answer nothing any more */
        remove_later(LIST_ENTRY(session->later.next, struct later, node));
    }
    session_set_waits(session, false);
    session_walks_pass(session);
    list_remove(&session->node);
    session->server->session_count--;
    buffer_free(&session->out);
    buffer_free(&session->undo);
}

bool session_close(struct session *session, bool heard)
{
    bool queued = session_queues(session);

    session->front->close(session);
    session->unfinished = false; /* nobody is left to resume it for */
    bool waited = is_owed(session);
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

void session_sent(struct session *session)
{
    session->out_begins += session->out.size;
    session->firm = 0;
    if (session->out.capacity > OUT_KEPT) {
        buffer_free(&session->out);
    } else {
        buffer_clear(&session->out);
    }
}
