/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests with an Idempotency-Key: carried out once, and answered with the same words whenever
 * they come again. The key is taken (IDEM.BEGIN), the command carried out, and its answer stored
 * (IDEM.COMPLETE) before it is sent. An answer that says that nothing was done, and that the
 * client should put something right or try again, frees the key instead (IDEM.ABORT).
 *
 * Should we stop between the command and the storing of its answer, the key is free after a minute
 * and the command is carried out again; an id that we make is the same both times, so that it finds
 * what the first one did.
 *
 * The keys are kept among those of IDEM.*, under names that no command of a client can have
 * (text_is_own_id): nobody but this file begins, completes or aborts them, or reads what they
 * stand for. What is stored is checked all the same before it is sent: with the state in Redis,
 * others can write there. */
#include "server/http/http.h"

#include "base/text.h"
#include "server/http/json.h"
#include "server/session_access.h"

#include <openssl/evp.h>
#include <stdio.h>

#define DIGEST 32
#define HTTP_KEY_MAX 255
#define OWN_KEYS "http " /* in front of each */

struct http_idempotency {
    size_t key_size;
    char key[HF_ID_SIZE];         /* "http USER:KEY" */
    bool hashed;                  /* the key is the hash of both */
    char fingerprint[2 * DIGEST]; /* of the request, in hexadecimal */
    struct buffer result;         /* "201 {…}": the answer that is to be given */
    int status;                   /* of that answer */
    enum hf_error code;           /* of that answer */
};

/* ---- what the key stands for ----------------------------------------------------------------- */

static void hash(const struct hf_bytes *parts, size_t count, uint8_t digest[DIGEST])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    memset(digest, 0, DIGEST);
    if (context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1) {
        for (size_t i = 0; i < count; i++) {
            uint64_t size = parts[i].size; /* where one ends and the next begins counts too */
            EVP_DigestUpdate(context, &size, sizeof size);
            EVP_DigestUpdate(context, parts[i].data, parts[i].size);
        }
        EVP_DigestFinal_ex(context, digest, NULL);
    }
    EVP_MD_CTX_free(context);
}

static void write_hex(const uint8_t digest[DIGEST], char *out)
{
    for (size_t i = 0; i < DIGEST; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
}

static void take_fingerprint(const struct http_request *request,
                             struct http_idempotency *idempotency)
{
    const struct hf_bytes parts[] = {hf_text(request->method_name),
                                     {request->path, request->path_size},
                                     request->query,
                                     request->body};
    uint8_t digest[DIGEST];

    hash(parts, sizeof parts / sizeof parts[0], digest);
    write_hex(digest, idempotency->fingerprint);
}

static struct hf_bytes fingerprint(const struct http_idempotency *idempotency)
{
    return (struct hf_bytes){idempotency->fingerprint, sizeof idempotency->fingerprint};
}

static struct hf_bytes key(const struct http_idempotency *idempotency)
{
    return (struct hf_bytes){idempotency->key, idempotency->key_size};
}

/* Ids are made from "http:USER:KEY" or "http#HASH", the names that keys had before no command could
 * name them: a request that is retried after an upgrade makes the ids that it made before. */
void http_idempotency_entropy(const struct session *session, uint8_t *entropy, size_t size)
{
    const struct http_idempotency *idempotency = http_of(session)->idempotency;
    char name[HF_ID_SIZE];
    const struct hf_bytes parts[] = {{name, idempotency->key_size}, fingerprint(idempotency)};
    uint8_t digest[DIGEST];

    memcpy(name, idempotency->key, sizeof name);
    name[sizeof OWN_KEYS - 2] = idempotency->hashed ? '#' : ':';
    hash(parts, 2, digest);
    memcpy(entropy, digest, size);
}

bool http_idempotency_open(struct session *session)
{
    struct http *http = http_of(session);
    const struct http_request *request = http_request_of(session);

    http->idempotency = memory_zeroed(&session->server->memory, sizeof *http->idempotency);
    if (http->idempotency == NULL) {
        http_respond_error(session, 503, 0, "out of memory");
        http_finish(session);
        return false;
    }
    buffer_init(&http->idempotency->result, &session->server->memory);
    take_fingerprint(request, http->idempotency);
    return true;
}

void http_idempotency_close(struct session *session)
{
    struct http *http = http_of(session);

    buffer_free(&http->idempotency->result);
    memory_free(&session->server->memory, http->idempotency, sizeof *http->idempotency);
    http->idempotency = NULL;
}

/* ---- begin ----------------------------------------------------------------------------------- */

/* The key that the header field has: bare, or in quotes as a string of a structured field. It goes
 * to `out` without its quotes. False if it is neither, empty or too long. */
static bool read_key(struct hf_bytes field, char out[HTTP_KEY_MAX], size_t *size)
{
    bool quoted = field.size > 0 && field.data[0] == '"';
    size_t end = field.size - quoted; /* the closing quote */

    *size = 0;
    if (quoted && (field.size < 3 || field.data[end] != '"')) {
        return false;
    }
    for (size_t i = quoted; i < end; i++) {
        char c = field.data[i];
        if (quoted && c == '\\') {
            c = ++i < end ? field.data[i] : '\0';
            if (c != '"' && c != '\\') {
                return false;
            }
        } else if (quoted ? c == '"' || c < ' ' || c > '~' : c == ' ' || c == '\t') {
            return false;
        }
        if (*size == HTTP_KEY_MAX) {
            return false;
        }
        out[(*size)++] = c;
    }
    return *size > 0 && text_is_utf8((struct hf_bytes){out, *size});
}

/* One user's keys are no business of another's: "http USER:KEY", as long as that is a name of the
 * server's own; otherwise the hash of both, which has no colon. */
static bool name_key(struct session *session, struct http_idempotency *idempotency)
{
    const char *user = session->server->auth != NULL ? session->who.name : "";
    char given[HTTP_KEY_MAX], name[HTTP_KEY_MAX + HF_ID_SIZE];
    size_t given_size;

    if (!read_key(http_request_of(session)->headers[HEADER_IDEMPOTENCY_KEY], given, &given_size)) {
        return false;
    }
    int size = snprintf(name, sizeof name, OWN_KEYS "%s:%.*s", user, (int)given_size, given);
    if (size > 0 && text_is_own_id((struct hf_bytes){name, (size_t)size})) {
        memcpy(idempotency->key, name, (size_t)size);
        idempotency->key_size = (size_t)size;
        return true;
    }
    const struct hf_bytes parts[] = {hf_text(user), {given, given_size}};
    uint8_t digest[DIGEST];
    hash(parts, 2, digest);
    memcpy(idempotency->key, OWN_KEYS, sizeof OWN_KEYS - 1);
    write_hex(digest, idempotency->key + sizeof OWN_KEYS - 1);
    idempotency->key_size = sizeof OWN_KEYS - 1 + 2 * DIGEST;
    idempotency->hashed = true;
    return true;
}

/* How long the command itself may wait, so that its key stays taken meanwhile. */
static int64_t longest_wait(const struct command *command)
{
    const struct command_spec *spec = command->spec;

    for (size_t i = 0; i < spec->arg_count; i++) {
        if (spec->args[i].type == ARG_WAIT) {
            int64_t wait_ms;
            memcpy(&wait_ms, command_arg(command, &spec->args[i]), sizeof wait_ms);
            return wait_ms;
        }
    }
    return 0;
}

void http_idempotency_begin(struct session *session)
{
    struct http *http = http_of(session);
    struct hf_idem_begin_args args = {.ttl_ms = IDEM_PROCESSING_DEFAULT_MS};
    struct command command;
    struct json_fields json;

    if (!name_key(session, http->idempotency)) {
        session_refuse(session, HF_INVALID_ID,
                       "Idempotency-Key (%zu bytes) must be 1 to %d characters without spaces, or "
                       "such a text in double quotes, in which a space is fine",
                       http_request_of(session)->headers[HEADER_IDEMPOTENCY_KEY].size,
                       HTTP_KEY_MAX);
        return;
    }
    if (!http_command(session, &command, &json)) {
        return;
    }
    args.ttl_ms += longest_wait(&command);
    args.ttl_ms = args.ttl_ms < HF_TTL_MAX_MS ? args.ttl_ms : HF_TTL_MAX_MS;
    /* Before the key: what was answered under it may be of a scope that is no longer the user's. */
    bool may = session_reaches(session, &command) && session_prepays(session, &command);
    json_release(&json);
    if (!may) {
        return;
    }
    args.key = key(http->idempotency);
    args.fingerprint = fingerprint(http->idempotency);
    command_from_own(&command, &command_table[IDEM_BEGIN], &args, NULL);
    http_submit(session, &command, STEP_BEGINNING);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The status of "201 {…}"; 0 if that is no answer of ours: one of our statuses, and JSON. */
static int stored_status(struct hf_bytes result)
{
    int status = 0;

    if (result.size <= 4 || result.data[3] != ' ') {
        return 0;
    }
    for (size_t i = 0; i < 3; i++) {
        if (result.data[i] < '0' || result.data[i] > '9') {
            return 0;
        }
        status = status * 10 + (result.data[i] - '0');
    }
    bool ours = ((status >= 200 && status <= 202) || status >= 400) &&
                http_status_line(status) != NULL &&
                json_is_whole((struct hf_bytes){result.data + 4, result.size - 4});
    return ours ? status : 0;
}

static void send(struct session *session, struct hf_bytes result, int status, enum hf_error code,
                 bool replayed)
{
    size_t start = session->out.size;

    buffer_bytes(&session->out, result.data + 4, result.size - 4);
    http_respond(session, start,
                 &(struct http_answer){
                     .status = status, .code = code, .type = HTTP_JSON, .replayed = replayed});
    http_finish(session);
}

/* Nothing of what somebody else put there is sent. */
static void refuse_stored(struct session *session)
{
    struct problem problem;

    session_warn(session, WARNING_STORED,
                 "%s: what is stored under an Idempotency-Key is no answer of this server",
                 session->peer);
    problem_set(&problem, HF_INTERNAL,
                "what is stored under this Idempotency-Key is no answer of this server: it is not "
                "sent, and nothing was done; another key is needed");
    http_answer_problem(session, &problem);
}

void http_idempotency_begun(struct session *session, const struct reply *reply)
{
    struct http *http = http_of(session);

    if (reply->code != HF_OK) { /* being processed, or used for another request */
        size_t start = session->out.size;
        reply_to_json(reply, session->spec, &session->out);
        http_respond(session, start,
                     &(struct http_answer){.status = hf_error_status(reply->code),
                                           .code = reply->code,
                                           .type = HTTP_JSON});
        http_finish(session);
    } else if (reply->count > 1) {
        struct hf_bytes stored = reply_bytes(reply, 1);
        int status = stored_status(stored);
        if (status == 0) {
            refuse_stored(session);
        } else {
            /* Trying later does not help, whatever it says: the same is replayed. */
            send(session, stored, status, HF_OK, true);
        }
    } else {
        http->step = STEP_BEGUN;
    }
}

void http_idempotency_ran(struct session *session, const struct reply *reply,
                          const struct problem *problem)
{
    struct http *http = http_of(session);
    struct buffer *result = &http->idempotency->result;

    http->idempotency->code = problem != NULL ? problem->code : reply->code;
    buffer_clear(result);
    buffer_text(result, "000 ");
    int status =
        problem != NULL ? hf_error_status(problem->code) : http_write_reply(session, reply, result);
    if (problem != NULL) {
        problem_to_json(problem, result);
    }
    http->idempotency->status = status;
    if (!result->failed) {
        for (int i = 2, rest = status; i >= 0; i--, rest /= 10) {
            result->data[i] = (char)('0' + rest % 10);
        }
    }
    http->step = STEP_RAN;
}

/* Was nothing done, so that the same request may well succeed later, or put right? */
static bool is_void(struct hf_bytes result)
{
    static const char *const statuses[] = {"400", "401", "403", "408", "429"};

    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (memcmp(result.data, statuses[i], 3) == 0) {
            return true;
        }
    }
    return result.data[0] == '5';
}

/* Is kept instead of an answer that is too long. */
static const char too_long[] =
    "409 {\"error\":{\"code\":\"INVALID_STATE\",\"message\":\"this was carried out before, and its "
    "answer was too long to be kept\"}}";

void http_idempotency_end(struct session *session)
{
    struct http *http = http_of(session);
    struct http_idempotency *idempotency = http->idempotency;
    struct hf_bytes result = {idempotency->result.data, idempotency->result.size};
    struct command command;

    if (idempotency->result.failed || result.size < 4 || is_void(result)) {
        struct hf_idem_abort_args args = {.key = key(idempotency)};
        command_from_own(&command, &command_table[IDEM_ABORT], &args, NULL);
    } else {
        struct hf_idem_complete_args args = {
            .key = key(idempotency),
            .response = result.size <= RESPONSE_MAX ? result : hf_text(too_long)};
        command_from_own(&command, &command_table[IDEM_COMPLETE], &args, NULL);
    }
    http_submit(session, &command, STEP_ENDING);
}

static void ignore(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

void http_idempotency_give_up(struct session *session)
{
    struct hf_idem_abort_args args = {.key = key(http_of(session)->idempotency)};
    struct command command;

    command_from_own(&command, &command_table[IDEM_ABORT], &args, NULL);
    engine_submit(session->server->engine, &command, ignore, NULL);
}

void http_idempotency_ended(struct session *session)
{
    const struct http_idempotency *idempotency = http_of(session)->idempotency;
    const struct buffer *result = &idempotency->result;

    /* A client that does not receive it retries with its key: nothing is to be taken back. */
    session_heard(session);
    if (result->failed) {
        http_respond_error(session, 503, 0,
                           "out of memory for the answer; what was asked was done");
        http_finish(session);
    } else {
        send(session, (struct hf_bytes){result->data, result->size}, idempotency->status,
             idempotency->code, false);
    }
}
