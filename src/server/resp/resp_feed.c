/* SPDX-License-Identifier: Apache-2.0
 *
 * From bytes to answers. Commands of the table that a client sent one behind the other are decoded
 * together, a batch at a time, and then carried out in their order, so that an engine can fetch
 * what all of them will touch before it applies the first:
 *
 *     bytes ──read_batch()──> batch ──carry_out_batch()──> session_submit() for each
 *       └──any other request, alone: the server's own, one with an error, one in a transaction
 *
 * What was decoded and could not be carried out yet is forgotten: its bytes are offered again. */
#include "base/text.h"
#include "server/resp/resp_front.h"
#include "server/resp/resp_request.h"

/* As many as a processor can fetch for at a time; more would only push the first out again. */
#define BATCH_MAX 16

struct resp_batch {
    size_t count;
    struct command commands[BATCH_MAX]; /* their texts are views of the bytes that were read */
    size_t ends[BATCH_MAX];             /* where the request of each ends in those bytes */
};

static const struct resp_limits strangers = {
    .words = 10, .word_bytes = 16 << 10, .request_bytes = 10 * (16 << 10) + 512};
static const struct resp_limits clients = {.words = RESP_WORDS_MAX,
                                           .word_bytes = RESPONSE_MAX + (64 << 10),
                                           .request_bytes = RESPONSE_MAX + (256 << 10)};

/* ---- requests that are taken alone ----------------------------------------------------------- */

/* NULL if there is no such command. */
static const char *name_of(struct hf_bytes name)
{
    const struct own_command *own = own_command_find(name);
    const struct command_spec *spec = own == NULL ? command_find(name) : NULL;

    return own != NULL ? own->name : spec != NULL ? spec->name : NULL;
}

/* False if the engine cannot take the command in this turn: the request is to be offered again. */
static bool carry_out(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);

    if (session->server->audit_log != NULL) {
        state->asked = name_of(words[0]);
    }
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
static void hang_up(struct session *session)
{
    session->server->metrics.malformed++;
    session->closing = true;
    session_touch(session);
}

/* Returns how many bytes were used: none if the request is to be offered again, and all after one
 * that ends the conversation. */
static size_t take_malformed(struct session *session, const struct resp_request *request,
                             size_t size)
{
    if (!session_takes(session, NULL)) {
        return 0;
    }
    resp_error(session, "ERR %s", request->problem);
    session_answered(session);
    hang_up(session);
    return size;
}

static size_t take_alone(struct session *session, const struct resp_request *request, bool on_line,
                         size_t size)
{
    if (request->count == 0) {
        return request->used; /* an empty line, or an empty array */
    }
    if (!session_takes(session, command_find(request->words[0]))) {
        return 0;
    }
    if (is_http(request, on_line)) {
        session_warn(session, WARNING_PROTOCOL, "%s: speaks HTTP to the RESP port", session->peer);
        hang_up(session);
        return size;
    }
    return carry_out(session, request->count, request->words) ? request->used : 0;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* May the client have commands decoded before the one in front of them is carried out? A stranger
 * is told nothing, and in a transaction they are queued. */
static bool may_batch(struct session *session)
{
    return !resp_client(session)->transaction.open &&
           (session->server->auth == NULL || session->who.role >= ROLE_READ);
}

/* Reads requests as long as they are commands of the table with valid arguments. If there is none,
 * returns what stands there instead, in `request`. The words of an inline request are gone with the
 * next one, so that it is never in a batch. */
static enum resp_result read_batch(struct session *session, const char *data, size_t size,
                                   struct resp_batch *batch, struct resp_request *request)
{
    bool stranger = session->server->auth != NULL && session->who.role == ROLE_NONE;
    bool batches = may_batch(session);
    enum resp_result result = RESP_INCOMPLETE;
    size_t used = 0;

    for (batch->count = 0; batch->count < BATCH_MAX; batch->count++) {
        result = resp_request(data + used, size - used, stranger ? &strangers : &clients, request);
        if (result != RESP_REQUEST || !batches || data[used] != '*' || request->count == 0) {
            break;
        }
        const struct command_spec *spec = command_find(request->words[0]);
        if (spec == NULL || command_from_row(&batch->commands[batch->count], spec, request->count,
                                             request->words, NULL) != HF_OK) {
            break;
        }
        used += request->used;
        batch->ends[batch->count] = used;
    }
    return result;
}

/* False if the engine cannot take the command in this turn. */
static bool submit(struct session *session, struct command *command)
{
    struct resp_client *state = resp_client(session);
    const char *name = command->spec->name;

    state->asked = name;
    if (!session_submit(session, command)) {
        return false;
    }
    state->last = name;
    return true;
}

/* Carries them out in their order, up to one behind which the session has to stop. Returns how many
 * bytes their requests had. */
static size_t carry_out_batch(struct session *session, struct resp_batch *batch)
{
    size_t done = 0;

    session_expect_answers(session);
    if (batch->count > 1 && session->server->engine != NULL) {
        engine_prepare(session->server->engine, batch->commands, batch->count);
    }
    while (done < batch->count && !session_stopped(session) &&
           !(done > 0 && session_late(session)) &&
           session_takes(session, batch->commands[done].spec) &&
           submit(session, &batch->commands[done])) {
        done++;
    }
    return done > 0 ? batch->ends[done - 1] : 0;
}

/* ---- the front's feed ------------------------------------------------------------------------ */

/* Takes a batch, or one request alone. Returns how many bytes that used; none: it cannot go on. */
static size_t take_some(struct session *session, const char *data, size_t size)
{
    struct resp_batch batch;
    struct resp_request request;
    enum resp_result result = read_batch(session, data, size, &batch, &request);

    if (batch.count > 0) {
        return carry_out_batch(session, &batch);
    }
    switch (result) {
    case RESP_INCOMPLETE:
        session->partial = true;
        return 0;
    case RESP_MALFORMED:
        return take_malformed(session, &request, size);
    case RESP_REQUEST:
        return take_alone(session, &request, data[0] != '*', size);
    }
    return 0;
}

size_t resp_feed(struct session *session, const char *data, size_t size)
{
    size_t used = 0, taken = 1;

    session->partial = false;
    if (session->unfinished) {
        resp_client(session)->go_on(session);
        if (session->unfinished) {
            return 0;
        }
    }
    while (taken > 0 && used < size && !session_stopped(session) && !session->unfinished &&
           !(used > 0 && session_spent(session))) {
        taken = take_some(session, data + used, size - used);
        used += taken;
    }
    if (session->server->state >= SERVER_DRAINING && !session_busy(session) && !session->closing &&
        !session->partial) {
        session->closing =
            true; /* it was in the middle of this when the server was asked to stop */
        session_touch(session);
    }
    return used;
}
