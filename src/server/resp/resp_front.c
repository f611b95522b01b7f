/* SPDX-License-Identifier: Apache-2.0
 *
 * RESP: every command of the table by its name, and the server's own. */
#include "server/resp/resp_front.h"

#include "base/text.h"
#include "server/resp/resp_request.h"
#include "server/session_access.h"

#include <stdarg.h>
#include <stdio.h>

static const struct resp_limits strangers = {
    .words = 10, .word_bytes = 16 << 10, .request_bytes = 10 * (16 << 10) + 512};
static const struct resp_limits clients = {.words = RESP_WORDS_MAX,
                                           .word_bytes = RESPONSE_MAX + (64 << 10),
                                           .request_bytes = RESPONSE_MAX + (256 << 10)};

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

/* False if the engine cannot take the command in this turn: the request is to be offered again. */
static bool carry_out(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);

    if (state->transaction.open && !own_command_is_at_once(words[0])) {
        resp_transaction_queue(session, count, words);
        return true;
    }
    return resp_run(session, count, words);
}

/* "GET /path HTTP/1.1", or "Name: value" with or without the space: no command of ours looks so,
 * for those of three words have a point in their name, or no version behind them. */
static bool is_line_of_http(const struct resp_request *request)
{
    struct hf_bytes word = request->words[0], last = request->words[request->count - 1];

    if (word.size > 1 && memchr(word.data + 1, ':', word.size - 1) != NULL) {
        return true;
    }
    return request->count == 3 && word.size > 0 && memchr(word.data, '.', word.size) == NULL &&
           last.size > 5 && text_is_word((struct hf_bytes){last.data, 5}, "HTTP/");
}

/* A page can make a browser send us anything in the body of a request. Nobody who speaks HTTP here
 * means well. */
static bool is_http(const struct resp_request *request, bool on_line)
{
    struct hf_bytes word = request->words[0];

    return text_is_word(word, "POST") || text_is_word(word, "HOST:") ||
           (on_line && is_line_of_http(request));
}

/* What was asked before is answered; after this there is nothing more to be said. */
static size_t hang_up(struct session *session, size_t size)
{
    session->server->metrics.malformed++;
    session->closing = true;
    session_touch(session);
    return size;
}

static size_t feed(struct session *session, const char *data, size_t size)
{
    struct resp_request request;
    size_t used = 0;

    session->partial = false;
    if (session->unfinished) {
        resp_client(session)->go_on(session);
        if (session->unfinished) {
            return 0;
        }
    }
    while (!session_stopped(session) && !session->unfinished && used < size &&
           !(used > 0 && session_spent(session))) {
        bool stranger = session->server->auth != NULL && session->who.role == ROLE_NONE;
        switch (
            resp_request(data + used, size - used, stranger ? &strangers : &clients, &request)) {
        case RESP_INCOMPLETE:
            session->partial = true;
            return used;
        case RESP_MALFORMED:
            if (!session_takes(session, (struct hf_bytes){NULL, 0})) {
                return used;
            }
            resp_error(session, "ERR %s", request.problem);
            session_answered(session);
            return hang_up(session, size);
        case RESP_REQUEST:
            if (request.count > 0 && !session_takes(session, request.words[0])) {
                return used;
            }
            if (request.count > 0 && is_http(&request, data[used] != '*')) {
                server_warn(session->server, WARNING_PROTOCOL, "%s: speaks HTTP to the RESP port",
                            session->peer);
                return hang_up(session, size);
            }
            if (request.count > 0 && !carry_out(session, request.count, request.words)) {
                return used;
            }
            used += request.used;
            break;
        }
    }
    if (session->server->state >= SERVER_DRAINING && !session_busy(session) && !session->closing) {
        session->closing =
            true; /* it was in the middle of this when the server was asked to stop */
        session_touch(session);
    }
    return used;
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
    .feed = feed,
    .answer = answer,
    .refuse = refuse,
    .authenticated = authenticated,
    .audited = resp_audited,
    .timed_out = timed_out,
    .memory = client_memory,
};
