/* SPDX-License-Identifier: Apache-2.0
 *
 * MULTI, EXEC and DISCARD. What a client sends after MULTI is checked and queued; EXEC carries it
 * out in its order and answers with one array of the replies. On an engine that answers at once all
 * of it happens at one moment and nothing of another client comes in between. On one that answers
 * later each command is submitted when the one before it is answered, because that is the only way
 * to keep their order there; others are served meanwhile.
 *
 *     closed ──MULTI──> queueing ──EXEC──> running ──all answered──> closed
 *       ^                  └──DISCARD, RESET, the client left──┐
 *       └──────────────────────────────────────────────────────┘
 *
 * A command that cannot be queued is refused at once, and EXEC then carries out nothing
 * (EXECABORT). What EXEC carries out and is refused is that command's reply and no more.
 *
 * Bounds: a transaction weighs at most WEIGHT_MAX, so that EXEC takes no more than a few
 * milliseconds from all other clients. Most commands weigh 1; those of the server that write long
 * answers weigh more, and so does one that hands out many things at once. What is queued has
 * WORDS_MAX bytes at most, and once the answers have more than ANSWERS_MAX bytes the rest is not
 * carried out. */
#include "base/check.h"
#include "server/resp/resp_front.h"
#include "server/resp/resp_request.h"
#include "server/session_access.h"
#include "server/session_undo.h"

#define WEIGHT_MAX 1024
/* The largest request fits, and a second one of the usual size. */
#define WORDS_MAX ((size_t)2 << 20)
#define ANSWERS_MAX ((size_t)2 << 20)
/* A command that hands out many things at once is bounded by itself. Two large ones do not go
 * together, but one and a few others do. */
#define PAIRS_WEIGHT_MAX 1000

_Static_assert(RESPONSE_MAX + (256 << 10) < WORDS_MAX, "every request can be queued");

static struct resp_transaction *transaction_of(struct session *session)
{
    return &resp_client(session)->transaction;
}

void resp_transaction_end(struct session *session)
{
    struct resp_transaction *transaction = transaction_of(session);

    buffer_free(&transaction->words);
    *transaction = (struct resp_transaction){.open = false};
    buffer_init(&transaction->words, &session->server->memory);
}

/* ---- queueing -------------------------------------------------------------------------------- */

/* EXEC will discard all: what was queued is not kept any longer. */
static void spoil(struct session *session)
{
    resp_transaction_end(session);
    transaction_of(session)->open = transaction_of(session)->failed = true;
}

/* The value of an argument that is a number. */
static int64_t *number_at(struct command *command, const struct arg_spec *arg)
{
    return (int64_t *)(void *)((char *)&command->args + arg->offset);
}

/* At least 1; more for a command that answers with as many pairs as it is asked for, or as there
 * are, and for a list, which may look at many records for each it shows. */
static unsigned weigh(struct command *command)
{
    const struct command_spec *spec = command->spec;
    bool many = spec->shape == REPLY_PAGE || spec->shape == REPLY_PAIRS;
    int64_t pairs = many ? PAIRS_WEIGHT_MAX : 1;

    for (size_t i = 0; spec->shape == REPLY_PAIRS && i < spec->arg_count; i++) {
        if (spec->args[i].type == ARG_COUNT) {
            pairs = *number_at(command, &spec->args[i]);
        }
    }
    return pairs < PAIRS_WEIGHT_MAX ? (unsigned)pairs : PAIRS_WEIGHT_MAX;
}

/* What it weighs; 0: it cannot be queued, and the client knows. */
static unsigned check(struct session *session, size_t count, const struct hf_bytes *words)
{
    const struct own_command *own = own_command_find(words[0]);
    struct command command;

    if (own == NULL) {
        return resp_decode(session, count, words, &command) &&
                       session_accepts(session, command.spec) &&
                       session_reaches(session, &command) && session_pays(session, &command)
                   ? weigh(&command)
                   : 0;
    }
    if (!resp_own_fits(session, own, count)) {
        return 0;
    }
    if (own->weight == 0) {
        resp_error(session, "ERR %s is not allowed inside a transaction", own->name);
        return 0;
    }
    return resp_own_pays(session, own) ? own->weight : 0;
}

static void keep(struct buffer *out, size_t count, const struct hf_bytes *words)
{
    buffer_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        buffer_varint(out, words[i].size);
        buffer_bytes(out, words[i].data, words[i].size);
    }
}

/* Adds a command; false when there is no room for it, and the client knows. */
static bool add(struct session *session, unsigned weight, size_t count,
                const struct hf_bytes *words)
{
    struct resp_transaction *transaction = transaction_of(session);
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        size += words[i].size;
    }
    if (transaction->weight + weight > WEIGHT_MAX) {
        resp_error(session,
                   "ERR a transaction has at most %d commands (INFO, a list and some others "
                   "count for many): send EXEC earlier, or a pipeline without MULTI",
                   WEIGHT_MAX);
        return false;
    }
    if (transaction->words.size + size > WORDS_MAX) {
        resp_error(session, "ERR a transaction has at most %zu bytes: send EXEC earlier",
                   WORDS_MAX);
        return false;
    }
    keep(&transaction->words, count, words);
    if (transaction->words.failed) {
        resp_error(session, "BUSY no memory to queue the command; try again later");
        return false;
    }
    transaction->weight += weight;
    transaction->count++;
    return true;
}

void resp_transaction_queue(struct session *session, size_t count, const struct hf_bytes *words)
{
    const struct resp_transaction *transaction = transaction_of(session);
    uint64_t before = session->answered;
    unsigned weight = check(session, count, words);

    CHECK(transaction->open && !transaction->running);
    if (weight == 0 || (!transaction->failed && !add(session, weight, count, words))) {
        spoil(session);
    } else {
        resp_simple(&session->out, "QUEUED");
    }
    if (session->answered == before) {
        session_answered(session);
    }
}

/* ---- carrying out ---------------------------------------------------------------------------- */

void resp_transaction_hurry(struct command *command)
{
    const struct command_spec *spec = command->spec;

    for (size_t i = 0; spec->flags & COMMAND_WAITS && i < spec->arg_count; i++) {
        if (spec->args[i].type == ARG_WAIT) {
            *number_at(command, &spec->args[i]) = 0;
        }
    }
}

/* The next command that was queued; returns how many words it has. */
static size_t take_next(struct resp_transaction *transaction, struct hf_bytes *words)
{
    struct reader reader;
    size_t left = transaction->words.size - transaction->done_bytes;

    reader_init(&reader, transaction->words.data + transaction->done_bytes, left);
    size_t count = reader_varint(&reader);
    CHECK(count > 0 && count <= RESP_WORDS_MAX);
    for (size_t i = 0; i < count; i++) {
        words[i].size = reader_varint(&reader);
        words[i].data = (const char *)reader_bytes(&reader, words[i].size);
    }
    CHECK(!reader.failed);
    transaction->done_bytes += left - reader_left(&reader);
    transaction->done++;
    return count;
}

/* If the engine cannot take it in this turn, it is the next one again. */
static void run_next(struct session *session)
{
    struct resp_transaction *transaction = transaction_of(session);
    size_t before = transaction->done_bytes;
    struct hf_bytes words[RESP_WORDS_MAX];
    size_t count = take_next(transaction, words);

    if (session->out.size > ANSWERS_MAX) {
        resp_error(session,
                   "BUSY not carried out: the answers before it have more than %zu bytes; send "
                   "fewer commands in one transaction",
                   ANSWERS_MAX);
    } else if (!resp_run(session, count, words)) {
        transaction->done_bytes = before;
        transaction->done--;
    }
}

/* Can the engine take every command in this turn? Nothing of others may come between them. */
static bool all_ready(struct session *session)
{
    struct resp_transaction *transaction = transaction_of(session);
    struct engine *engine = session->server->engine;
    struct hf_bytes words[RESP_WORDS_MAX];
    struct command command;
    unsigned done = transaction->done;
    size_t done_bytes = transaction->done_bytes;
    bool ready = true;

    if (engine == NULL || engine_idle_ms(engine) != 0) {
        return true; /* nothing is due */
    }
    while (ready && transaction->done < transaction->count) {
        size_t count = take_next(transaction, words);
        if (command_find(words[0]) != NULL &&
            command_from_words(&command, count, words, NULL) == HF_OK) {
            ready = engine_ready(engine, &command);
        }
    }
    transaction->done = done;
    transaction->done_bytes = done_bytes;
    return ready;
}

/* Carries out what is left, up to a command that is not answered at once. */
static void go_on(struct session *session)
{
    struct resp_transaction *transaction = transaction_of(session);
    unsigned answers = session->answers;
    uint64_t answered = session->answered;

    session->unfinished = true;
    if (transaction->done == 0 && !all_ready(session)) {
        session_yield(session);
        return;
    }
    while (transaction->done < transaction->count && session->call_count == 0 &&
           !session->yielded) {
        run_next(session);
    }
    session_set_waits(session, session->call_count > 0);
    session->unfinished = session->call_count > 0 || session->yielded;
    if (!session->unfinished) {
        resp_transaction_end(session);
        undo_note_finished(session);
    }
    /* EXEC is one request: should its batch not get to disk, one error takes the place of the
     * whole array. */
    session->answers = answers;
    session->answered = answered;
    session_answered(session);
}

void own_command_exec(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_transaction *transaction = transaction_of(session);
    (void)count;
    (void)words;

    if (!transaction->open) {
        resp_error(session, "ERR EXEC without MULTI");
    } else if (transaction->failed) {
        resp_transaction_end(session);
        resp_error(session, "EXECABORT Transaction discarded because of previous errors.");
    } else {
        resp_number(&session->out, '*', transaction->count);
        transaction->running = true;
        transaction->number = session->answered + 1;
        resp_client(session)->go_on = go_on;
        go_on(session);
    }
}

static void ignore(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

/* May the session's user still have it carried out? The users may have been read again since it was
 * queued. */
static bool is_allowed(const struct session *session, const struct command *command)
{
    const struct identity *who = &session->who;

    return session->server->auth == NULL ||
           (who->role >= session_needed_role(command->spec) &&
            (who->access == NULL || access_judge(who->access, command) == ACCESS_GRANTED));
}

/* The client left in the middle of its EXEC. It must not depend on that how much of the transaction
 * is carried out, so the rest is. What would have to be undone again, because the client can never
 * learn of it, is left out, and so is what its user may no longer do. */
static void finish_unheard(struct session *session)
{
    struct resp_transaction *transaction = transaction_of(session);
    struct server *server = session->server;
    struct hf_bytes words[RESP_WORDS_MAX];
    struct command command;

    while (server->engine != NULL && transaction->done < transaction->count) {
        size_t count = take_next(transaction, words);
        if (own_command_find(words[0]) == NULL &&
            command_from_words(&command, count, words, NULL) == HF_OK &&
            command.spec->undo == NULL && is_allowed(session, &command)) {
            resp_transaction_hurry(&command);
            engine_submit(server->engine, &command, ignore, NULL);
        }
    }
}

void resp_transaction_close(struct session *session)
{
    if (transaction_of(session)->running) {
        finish_unheard(session);
    }
    resp_transaction_end(session);
}

/* ---- the small ones -------------------------------------------------------------------------- */

void own_command_multi(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_transaction *transaction = transaction_of(session);
    (void)count;
    (void)words;

    if (transaction->open) {
        resp_error(session, "ERR MULTI calls can not be nested");
    } else {
        transaction->open = true;
        transaction->failed = false;
        resp_ok(session);
    }
}

void own_command_discard(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;

    if (transaction_of(session)->open) {
        resp_transaction_end(session);
        resp_ok(session);
    } else {
        resp_error(session, "ERR DISCARD without MULTI");
    }
}

void own_command_watch(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;

    if (transaction_of(session)->open) {
        resp_error(session, "ERR WATCH inside MULTI is not allowed");
    } else {
        resp_error(session, "ERR WATCH is not supported: each command checks and changes its scope "
                            "in one step, and refuses what does not fit");
    }
}
