/* SPDX-License-Identifier: Apache-2.0
 *
 * Refuses what is not of a user's scopes and families, and what is beyond its rate; counts it, and
 * warns of it in the log. */
#include "server/session_access.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "server/server.h"
#include "server/session_trace.h"

#include <stdio.h>

#define SHOWN_MAX 96 /* bytes of a user's scopes that a message shows */

/* ---- scopes and families --------------------------------------------------------------------- */

static void count_forbidden(struct session *session, enum family family, const char *what)
{
    struct metrics *metrics = &session->server->metrics;

    metrics->unauthorized++;
    metrics->forbidden[family]++;
    session_warn(session, WARNING_ACCESS, "%s: %s may not: %s", session->peer, session->who.name,
                 what);
}

static void refuse_scope(struct session *session, struct hf_bytes scope)
{
    const struct access *access = session->who.access;
    bool cut = strlen(access->scopes_text) > SHOWN_MAX;

    session_refuse(session, HF_FORBIDDEN, "\"%.*s\" is not one of the scopes of %s: %.*s%s",
                   (int)scope.size, scope.data, session->who.name, SHOWN_MAX, access->scopes_text,
                   cut ? "..." : "");
}

bool session_reaches_limited(struct session *session, const struct command *command)
{
    const char *name = command->spec->name;
    enum family family = command_family(command);
    enum access_verdict verdict = access_judge(session->who.access, command);

    if (verdict == ACCESS_GRANTED) {
        return true;
    }
    count_forbidden(session, family, name);
    metrics_refused(&session->server->metrics, command_id(command->spec), HF_FORBIDDEN);
    switch (verdict) {
    case ACCESS_OTHER_FAMILY:
        session_refuse(session, HF_FORBIDDEN, "%s is of the family %s, which is not one of %s's",
                       name, family_name(family), session->who.name);
        break;
    case ACCESS_OTHER_SCOPE:
        refuse_scope(session, command_scope(command));
        break;
    default:
        session_refuse(session, HF_FORBIDDEN,
                       "%s without a scope concerns all of them, and %s is kept to some", name,
                       session->who.name);
    }
    return false;
}

bool session_reaches_all(struct session *session, const char *what)
{
    if (!session_is_limited(session)) {
        return true;
    }
    count_forbidden(session, FAMILY_NONE, what);
    session_refuse(session, HF_FORBIDDEN,
                   "%s concerns all there is, and %s is kept to some scopes or families", what,
                   session->who.name);
    return false;
}

/* ---- lists of which a part is shown ---------------------------------------------------------- */

#define PURPOSE_SIZE 128

_Static_assert(AUTH_NAME_SIZE + RESP_NAME_MAX < PURPOSE_SIZE, "a user and a list fit");

/* Whose cursor of what list. */
static struct hf_bytes purpose_of(const struct session *session, const struct command_spec *spec,
                                  char out[PURPOSE_SIZE])
{
    int size = snprintf(out, PURPOSE_SIZE, "%s %s", session->who.name, spec->name);

    return (struct hf_bytes){out, (size_t)size};
}

/* The text that the command has behind AFTER, or NULL if its row has none. */
static struct hf_bytes *cursor_of(struct command *command)
{
    const struct command_spec *spec = command->spec;

    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (arg->keyword != NULL && strcmp(arg->keyword, "AFTER") == 0) {
            return (struct hf_bytes *)(void *)((char *)&command->args + arg->offset);
        }
    }
    return NULL;
}

bool session_narrow_limited(struct session *session, struct command *command,
                            char after[HF_CURSOR_SIZE])
{
    struct hf_bytes *cursor = cursor_of(command);
    char purpose[PURPOSE_SIZE];

    if (cursor != NULL && cursor->size > 0) {
        if (!cursor_open(auth_cursor_key(session->server->auth),
                         purpose_of(session, command->spec, purpose), *cursor, after)) {
            session_refuse(session, HF_INVALID_ARGUMENT,
                           "AFTER is no cursor that %s was given of this list: begin without it",
                           session->who.name);
            return false;
        }
        *cursor = hf_text(after);
    }
    if (command_id(command->spec) == LIST) {
        struct hf_bytes *match = &command->args.list.match;
        struct hf_bytes narrowed = access_narrow(session->who.access, *match);
        *match = narrowed.data != NULL ? narrowed : hf_text(" "); /* which no name begins with */
    }
    return true;
}

void session_filter(const struct session *session, struct reply *reply)
{
    const struct command_spec *spec = session->spec;
    char purpose[PURPOSE_SIZE], sealed[HF_CURSOR_SIZE];

    access_filter(session->who.access, reply, spec);
    if (reply->code != HF_OK || spec->shape != REPLY_PAGE || reply_bytes(reply, 0).size == 0) {
        return;
    }
    if (cursor_seal(auth_cursor_key(session->server->auth), purpose_of(session, spec, purpose),
                    reply_bytes(reply, 0), sealed) &&
        reply_set_cursor(reply, hf_text(sealed))) {
        return;
    }
    reply_clear(reply);
    reply_refuse(reply, HF_BUSY, "out of memory");
}

/* ---- rate ------------------------------------------------------------------------------------ */

static bool take(struct session *session, enum family family, struct problem *problem)
{
    struct access *access = session->who.access;
    uint64_t now_ns = clock_nanoseconds();

    if (bucket_take(&access->bucket, now_ns)) {
        return true;
    }
    uint64_t wait_ms = bucket_wait(&access->bucket, now_ns) / 1000000 + 1;
    session->server->metrics.rate_limited[family]++;
    session_warn(session, WARNING_RATE, "%s: %s asks more often than %llu/%c", session->peer,
                 session->who.name, (unsigned long long)access->rate, access->unit);
    problem_set(problem, HF_RATE_LIMITED,
                "%s may ask %llu/%c, and %llu at once: ask again in %llu ms", session->who.name,
                (unsigned long long)access->rate, access->unit, (unsigned long long)access->burst,
                (unsigned long long)wait_ms);
    return false;
}

static bool is_free(const struct session *session, const struct command *command)
{
    return !session->who.access->by_rate || command->spec->flags & COMMAND_GIVES_BACK;
}

static bool take_for(struct session *session, const struct command *command)
{
    struct problem problem;

    if (is_free(session, command) || take(session, command_family(command), &problem)) {
        return true;
    }
    metrics_refused(&session->server->metrics, command_id(command->spec), HF_RATE_LIMITED);
    session_refuse(session, problem.code, "%s", problem.message);
    return false;
}

bool session_pays_limited(struct session *session, const struct command *command)
{
    if (text_is_own_id(command_scope(command))) {
        return true;
    }
    if (session->prepaid) {
        session->prepaid = false;
        return true;
    }
    return take_for(session, command);
}

bool session_prepays(struct session *session, const struct command *command)
{
    if (session->who.access != NULL && !session->prepaid) {
        session->prepaid = take_for(session, command);
        return session->prepaid;
    }
    return true;
}

bool session_pays_server(struct session *session, struct problem *problem)
{
    const struct access *access = session->who.access;

    if (access == NULL || !access->by_rate || session->prepaid) {
        return true;
    }
    session->prepaid = take(session, FAMILY_NONE, problem);
    return session->prepaid;
}

int session_retry_s(const struct session *session)
{
    struct access *access = session->who.access;

    if (access == NULL || !access->by_rate) {
        return error_retry_s(HF_RATE_LIMITED);
    }
    uint64_t wait_ns = bucket_wait(&access->bucket, clock_nanoseconds());
    return (int)(wait_ns / 1000000000) + 1;
}
