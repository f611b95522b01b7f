/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP: every command of the table by its name, and the server's own. */
#include "server/resp/resp_front.h"

#include "server/session_access.h"

#include <stdarg.h>
#include <stdio.h>

static bool open_front(struct session *session)
{
    struct resp_client *state = memory_zeroed(&session->server->memory, sizeof *state);

    session->state = state;
    if (state != NULL) {
        state->version = 2;
        buffer_init(&state->transaction.words, &session->server->memory);
    }
    return state != NULL;
}

static void close_front(struct session *session)
{
    resp_transaction_close(session);
    resp_list_end(session);
    memory_free(&session->server->memory, session->state, sizeof(struct resp_client));
    session->state = NULL;
}

static size_t client_memory(const struct session *session)
{
    const struct resp_client *state = session->state;

    return state->transaction.words.capacity + resp_list_memory(state);
}

static void refuse(struct session *session, const struct problem *problem)
{
    const struct resp_transaction *transaction = &resp_client(session)->transaction;

    if (transaction->open && !transaction->running) {
        /* Clients take every answer but an error for "queued". */
        problem_to_resp_error(problem, &session->out);
    } else {
        problem_to_resp(problem, &session->out);
    }
}

static void answer(struct session *session, const struct reply *reply)
{
    reply_to_resp(reply, session->spec, resp_client(session)->version, &session->out);
}

void resp_error(struct session *session, const char *format, ...)
{
    char text[MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at < ' ' || *at > '~' ? '?' : *at;
    }
    buffer_byte(&session->out, '-');
    buffer_text(&session->out, text);
    buffer_bytes(&session->out, "\r\n", 2);
}

void resp_ok(struct session *session)
{
    resp_simple(&session->out, "OK");
}

void resp_answer_text(struct session *session, struct buffer *text)
{
    session->out.failed |= text->failed; /* the client has to ask again */
    resp_text(&session->out, (struct hf_bytes){text->data, text->failed ? 0 : text->size});
    buffer_free(text);
}

bool resp_own_fits(struct session *session, const struct own_command *own, size_t count)
{
    if (count - 1 < own->min || count - 1 > own->max) {
        resp_error(session, "ERR wrong number of arguments for '%s' command", own->name);
        return false;
    }
    return own->open || (session_allows(session, own->role) &&
                         (own->role < ROLE_ADMIN || session_reaches_all(session, own->name)));
}

bool resp_own_pays(struct session *session, const struct own_command *own)
{
    bool counts = !own->open && (own->weight == 0 || own->weight >= OWN_WEIGHT_LONG);
    struct problem problem;

    if (counts && !session_pays_server(session, &problem)) {
        resp_error(session, "RATE_LIMITED %s", problem.message);
        return false;
    }
    session->prepaid = false;
    return true;
}

static void run_own(struct session *session, const struct own_command *own, size_t count,
                    const struct hf_bytes *words)
{
    struct resp_transaction *transaction = &resp_client(session)->transaction;
    uint64_t before = session->answered;

    if (resp_own_fits(session, own, count)) {
        if (transaction->running || resp_own_pays(session, own)) {
            own->run(session, count, words);
        }
    } else if (transaction->open && !transaction->running) {
        transaction->failed = true; /* a malformed EXEC or DISCARD spoils the transaction, too */
    }
    if (session->answered == before && !session_busy(session)) {
        session_answered(session);
    }
}

bool resp_decode(struct session *session, size_t count, const struct hf_bytes *words,
                 struct command *command)
{
    struct problem problem;

    /* Strangers learn nothing, not even what is wrong with their request. */
    if (session->server->auth != NULL && !session_allows(session, ROLE_READ)) {
        return false;
    }
    if (command_from_words(command, count, words, &problem) == HF_OK) {
        return true;
    }
    const struct command_spec *spec = command_find(words[0]);
    if (spec != NULL) {
        metrics_refused(&session->server->metrics, command_id(spec), problem.code);
    }
    session_refuse(session, problem.code, "%s", problem.message);
    return false;
}

bool resp_run(struct session *session, size_t count, const struct hf_bytes *words)
{
    const struct own_command *own = own_command_find(words[0]);
    struct command command;

    if (own != NULL) {
        resp_client(session)->last = own->name;
        run_own(session, own, count, words);
    } else if (resp_decode(session, count, words, &command)) {
        resp_client(session)->last = command.spec->name;
        if (resp_client(session)->transaction.running) {
            resp_transaction_hurry(&command);
            session->prepaid = true; /* when it was queued */
        }
        bool taken = session_submit(session, &command);
        session->prepaid = false;
        return taken;
    }
    return true;
}

static void authenticated(struct session *session, bool right)
{
    struct resp_client *state = resp_client(session);

    if (!right) {
        resp_error(session, "WRONGPASS invalid username-password pair or user is disabled.");
    } else if (state->hello.version != 0) {
        resp_say_hello(session);
    } else {
        resp_simple(&session->out, "OK");
    }
    state->hello = (struct resp_hello){.version = 0};
    session_answered(session);
}

/* What EXEC carries out is part of the one request that it is. */
static void describe(const struct session *session, uint64_t *number, struct trace_request *out)
{
    const struct resp_client *state = session->state;

    out->trace = state->trace;
    if (state->transaction.running) {
        *number = state->transaction.number;
    }
}

static const char *asked(const struct session *session)
{
    return ((const struct resp_client *)session->state)->asked;
}

static void timed_out(struct session *session)
{
    resp_error(session, "ERR the request did not come to its end in time");
}

const struct front front_resp = {
    .name = "resp",
    .wants_tls =
        "-ERR this port speaks TLS: connect with TLS, as rediss:// or redis-cli --tls do\r\n",
    .overdue = "-NOAUTH Authentication required: the time to sign in is over.\r\n",
    .sorry = "-ERR max number of clients reached\r\n",
    .pipelines = true,
    .open = open_front,
    .close = close_front,
    .feed = resp_feed,
    .answer = answer,
    .refuse = refuse,
    .authenticated = authenticated,
    .audited = resp_audited,
    .timed_out = timed_out,
    .memory = client_memory,
    .describe = describe,
    .asked = asked,
};
