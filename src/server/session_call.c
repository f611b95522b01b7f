/* SPDX-License-Identifier: Apache-2.0
 *
 * How a command goes from a front to the engine, and its answer back:
 *
 *     front ──session_submit()──> engine ──answered()──> front->answer() ──> out
 *                                            └──> kept, while a call before it is not answered
 *
 * Some engines answer within engine_submit() and others in a later turn. There is one path for
 * both; `session->submitted` tells which it was. */
#include "server/session_call.h"

#include "command/binary.h"
#include "server/audit_log.h"
#include "server/server.h"
#include "server/session_access.h"
#include "server/session_trace.h"
#include "server/session_undo.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- calls in the order of the requests ------------------------------------------------------ */

/* NULL when there is no memory. The server keeps one call for the next command, so that an engine
 * that answers at once costs no allocation. */
static struct session_call *add_call(struct session *session, const struct command_spec *spec)
{
    struct server *server = session->server;
    struct session_call *call = server->spare_call;

    server->spare_call = NULL;
    if (call == NULL) {
        call = memory_zeroed(&server->memory, sizeof *call);
        if (call == NULL) {
            return NULL;
        }
        buffer_init(&call->bytes, &server->memory);
        call->source.describe = call_describe;
    }
    call->session = session;
    call->spec = spec;
    call->answered = false;
    list_add_last(&session->calls, &call->node);
    session->call_count++;
    return call;
}

static void remove_call(struct session_call *call)
{
    struct session *session = call->session;
    struct server *server = session->server;

    list_remove(&call->node);
    session->call_count--;
    if (call->bytes.capacity > 0) {
        buffer_free(&call->bytes);
    }
    if (call->left != NULL) {
        memory_free(&server->memory, call->left, sizeof *call->left);
        call->left = NULL;
    }
    if (server->spare_call == NULL) {
        server->spare_call = call;
    } else {
        memory_free(&server->memory, call, sizeof *call);
    }
}

void session_calls_drop(struct session *session)
{
    while (!list_empty(&session->calls)) {
        remove_call(LIST_ENTRY(session->calls.next, struct session_call, node));
    }
}

void session_calls_free_spare(struct server *server)
{
    if (server->spare_call != NULL) {
        memory_free(&server->memory, server->spare_call, sizeof *server->spare_call);
        server->spare_call = NULL;
    }
}

/* What the front wrote to `out` behind `before` is kept until all calls before it are answered. */
static void keep_answer(struct session_call *call, size_t before)
{
    struct buffer *out = &call->session->out;

    buffer_clear(&call->bytes);
    buffer_bytes(&call->bytes, out->data + before, out->size - before);
    out->failed |= call->bytes.failed;
    out->size = before;
    call->answered = true;
}

/* Moves kept answers to `out`, up to the first call that is not answered. */
static void release_answers(struct session *session)
{
    while (!list_empty(&session->calls)) {
        struct session_call *call = LIST_ENTRY(session->calls.next, struct session_call, node);
        if (!call->answered) {
            return;
        }
        buffer_bytes(&session->out, call->bytes.data, call->bytes.size);
        remove_call(call);
        session_answered(session);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

void session_refuse(struct session *session, enum hf_error code, const char *format, ...)
{
    struct problem problem = {.code = code};
    size_t before = session->out.size;
    va_list args;

    va_start(args, format);
    vsnprintf(problem.message, sizeof problem.message, format, args);
    va_end(args);
    audit_log_refused(session, code);
    session->front->refuse(session, &problem);
    if (session->call_count == 0) {
        session_answered(session);
        return;
    }
    struct session_call *call = add_call(session, NULL);
    if (call == NULL) {
        session->out.failed = true; /* the connection ends, and the client has to retry */
        session_touch(session);
    } else {
        keep_answer(call, before);
    }
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

/* Is the engine open, and has it not failed? */
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

/* A row that says neither what it does nor for whom it is, is for nobody but administrators. */
enum role session_needed_role(const struct command_spec *spec)
{
    return spec->flags & COMMAND_ADMIN    ? ROLE_ADMIN
           : spec->flags & COMMAND_WRITES ? ROLE_WRITE
           : spec->flags & COMMAND_READS  ? ROLE_READ
                                          : ROLE_ADMIN;
}

bool session_accepts(struct session *session, const struct command_spec *spec)
{
    return session_allows(session, session_needed_role(spec)) && engine_serves(session);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Writes to the slow log, before the front lets go of the request that the command's texts are part
 * of. */
static void note_time(const struct session_call *call)
{
    struct server *server = call->session->server;
    uint64_t now = clock_ticks();
    uint64_t took = now - server->last_ticks;

    if (took > server->slow_ticks) {
        double share = (double)took / (double)(now - server->started_ticks);
        uint64_t since_start_ns = clock_nanoseconds() - server->started_ns;
        slowlog_add(&server->slowlog, call->command, call->session->peer,
                    (uint64_t)(share * (double)since_start_ns));
    }
    server->last_ticks = now;
}

/* Hands the feed what the command changed. */
static void observe(const struct session_call *call, const struct reply *reply)
{
    struct feed *feed = &call->session->server->feed;
    struct hf_bytes bytes = {call->bytes.data, call->bytes.size};
    struct command command;
    struct binary_scratch scratch;

    if (!(call->spec->flags & COMMAND_WRITES) || reply->code != HF_OK) {
        return;
    }
    if (call->command != NULL) {
        feed_command(feed, call->command, reply);
    } else if (!engine_has_events(call->session->server->engine) && bytes.size > 0 &&
               command_from_binary(&command, bytes, &scratch, NULL) == HF_OK) {
        feed_command(feed, &command, reply);
    }
}

static void count_answer(const struct session_call *call, const struct reply *reply)
{
    struct server *server = call->session->server;
    enum command_id id = command_id(call->spec);

    if (call->command != NULL) {
        metrics_done(&server->metrics, id, reply->code);
        note_time(call);
    } else {
        metrics_waited(&server->metrics, id, reply->code, clock_nanoseconds() - call->since_ns);
    }
    if (server->records || reply->code == HF_INTERNAL) {
        session_log_answer(call, reply);
        audit_log_answer(call, reply);
    }
    if (feed_wanted(&server->feed)) {
        observe(call, reply);
    }
}

/* Which parts of a reply this client is not told. */
struct hidden {
    bool secrets; /* what only those who may write are */
    bool scopes;  /* what is of others than the user's */
};

static struct hidden hidden_from(const struct session *session)
{
    const struct access *access = session->who.access;

    return (struct hidden){.secrets = session->server->auth != NULL &&
                                      session->who.role < ROLE_WRITE &&
                                      reply_has_secrets(session->spec),
                           .scopes = access != NULL && access_filters(access, session->spec)};
}

/* The reply without them. */
static void answer_part(struct session *session, const struct reply *reply, struct hidden hidden)
{
    struct problem problem = {.code = HF_BUSY, .message = "out of memory"};
    struct reply copy;

    if (!reply_init(&copy, &session->server->memory)) {
        session->front->refuse(session, &problem);
        return;
    }
    if (reply_copy(&copy, reply)) {
        if (hidden.secrets) {
            reply_conceal(&copy, session->spec);
        }
        if (hidden.scopes) {
            session_filter(session, &copy);
        }
        session->front->answer(session, &copy);
    } else {
        session->front->refuse(session, &problem);
    }
    reply_free(&copy);
}

/* A waiter that left its line because the server stops has not waited for as long as it asked to:
 * it is answered with the reason, so that it retries with another server or this one's
 * successor. So is one whose grant was on its way here: it was taken back. */
static void write_answer(struct session *session, const struct reply *reply)
{
    struct hidden hidden = hidden_from(session);
    struct problem problem;

    if (session->given_up && (reply->code == HF_TIMEOUT || reply->granted)) {
        problem_set(&problem, HF_BUSY,
                    "the server is shutting down and this request waits no longer: ask again, "
                    "another server or this one when it is back");
        session->front->refuse(session, &problem);
    } else if (hidden.secrets || hidden.scopes) {
        answer_part(session, reply, hidden);
    } else {
        session->front->answer(session, reply);
    }
    session->given_up = false;
}

/* The client left before this call was answered; after the last one the session is freed. */
static void bury(struct session_call *call)
{
    struct session *session = call->session;

    remove_call(call);
    if (session->call_count == 0) {
        session_set_waits(session, false);
        session->server->release(session);
    }
}

static void answered(void *context, const struct reply *reply)
{
    struct session_call *call = context;
    struct session *session = call->session;
    const struct command_spec *spec = call->spec;
    bool at_once = session->submitted == call, first = session->calls.next == &call->node;
    bool granted = spec->undo != NULL && reply->code == HF_OK && reply->granted;
    size_t before = session->out.size;

    count_answer(call, reply);
    if (spec->undo != NULL && !granted) {
        if (reply->code == HF_OK) {
            undo_confirm_last(session);
        } else {
            undo_forget_last(session);
        }
    }
    if (session->gone) {
        bury(call);
        return;
    }
    if (session->waits) {
        session_set_waits(session, false);
    }
    session->spec = spec;
    session->submitted = at_once ? NULL : session->submitted;
    write_answer(session, reply);
    if (granted) {
        undo_note_end(session, reply->grant);
    }
    if (first) {
        remove_call(call);
        session_answered(session);
    } else {
        keep_answer(call, before);
    }
    if (session->call_count > 0) {
        release_answers(session);
    }
    session->barrier = session->barrier && session->call_count > 0;
    if (!at_once) {
        session_resume(session);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Will somebody ask for the command when it is answered? Not the feed, if the engine itself reports
 * what becomes of it. */
static bool is_wanted_later(const struct server *server, const struct command_spec *spec)
{
    bool feed = feed_wanted(&server->feed) && spec->flags & COMMAND_WRITES &&
                !engine_has_events(server->engine);

    return feed || (server->audit_log != NULL && spec->flags & (COMMAND_WRITES | COMMAND_ADMIN));
}

/* The engine has taken the command and not answered it. Its texts are gone when the front goes on:
 * whoever needs them then gets a copy. */
static void leave_in_flight(struct session_call *call)
{
    struct session *session = call->session;
    struct server *server = session->server;
    const struct command_spec *spec = call->spec;

    note_time(call);
    call->since_ns = clock_nanoseconds();
    if (is_wanted_later(server, spec)) {
        command_to_binary(call->command, &call->bytes);
    }
    call->command = NULL;
    session->submitted = NULL;
    session_set_waits(session, !session->front->pipelines || spec->undo != NULL);
}

bool session_submit(struct session *session, struct command *command)
{
    struct server *server = session->server;
    const struct command_spec *spec = command->spec;
    char after[HF_CURSOR_SIZE];

    if (!session_accepts(session, spec) || !session_reaches(session, command)) {
        return true;
    }
    if (!engine_ready(server->engine, command)) {
        session_yield(session);
        return false;
    }
    if (!session_pays(session, command) || !session_narrow(session, command, after)) {
        return true;
    }
    if (spec->undo != NULL && !undo_remember(session, command)) {
        session_refuse(session, HF_BUSY, "out of memory");
        return true;
    }
    struct session_call *call = add_call(session, spec);
    if (call == NULL) {
        if (spec->undo != NULL) {
            undo_forget_last(session);
        }
        session_refuse(session, HF_BUSY, "out of memory");
        return true;
    }
    call->command = command;
    command->source = &call->source;
    session->spec = spec;
    session->submitted = call;
    engine_submit(server->engine, command, answered, call);
    if (session->submitted != NULL) {
        leave_in_flight(call);
    }
    if (server->state == SERVER_DRAINING) {
        session_give_up(session); /* no waiter gets in line any more */
    }
    return true;
}
