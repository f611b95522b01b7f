/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients of RESP send on their own, and what is said to the server rather than to the engine.
 */
#include "base/text.h"
#include "server/audit_log.h"
#include "server/resp/resp_front.h"

#include <stdio.h>

static void resp_pair(struct session *session, const char *name, struct hf_bytes value)
{
    resp_text(&session->out, hf_text(name));
    resp_text(&session->out, value);
}

/* ---- the connection -------------------------------------------------------------------------- */

static void ping(struct session *session, size_t count, const struct hf_bytes *words)
{
    if (count > 1) {
        resp_text(&session->out, words[1]);
    } else {
        resp_simple(&session->out, "PONG");
    }
}

static void echo(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    resp_text(&session->out, words[1]);
}

static void select_database(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    if (text_equal(words[1], hf_text("0"))) {
        resp_ok(session);
    } else {
        resp_error(session, "ERR DB index is out of range: there is only 0");
    }
}

static void quit(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;
    resp_ok(session);
    session->closing = true;
}

static void reset(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);
    (void)count;
    (void)words;

    resp_transaction_end(session);
    state->version = 2;
    state->name[0] = '\0';
    state->trace = (struct trace_parent){.flags = 0};
    session->who = (struct identity){.role = ROLE_NONE};
    resp_simple(&session->out, "RESET");
}

/* Some clients send it as a matter of course when they are done. */
static void unwatch(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;
    resp_ok(session);
}

/* Clients that know of users only send a token as the password of the user "default", which is the
 * one everybody is on Redis. A user of that name with a password of its own comes in all the same.
 */
static void authenticate_as(struct session *session, const struct hf_bytes *user,
                            struct hf_bytes secret)
{
    struct identity who;
    bool is_token = user != NULL && text_equal(*user, hf_text("default")) &&
                    auth_token(session->server->auth, secret, &who);

    session_authenticate(session, is_token ? NULL : user, secret);
}

static void authenticate(struct session *session, size_t count, const struct hf_bytes *words)
{
    if (session->server->auth == NULL) {
        resp_error(session, "ERR AUTH called, but this server has no users: see --auth-file");
        return;
    }
    resp_client(session)->hello = (struct resp_hello){.version = 0};
    authenticate_as(session, count == 3 ? &words[1] : NULL, words[count - 1]);
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

void resp_say_hello(struct session *session)
{
    struct resp_client *state = resp_client(session);
    struct buffer *out = &session->out;

    state->version = state->hello.version;
    if (state->hello.names) {
        memcpy(state->name, state->hello.name, sizeof state->name);
    }
    resp_map(out, state->version, 7);
    resp_pair(session, "server", hf_text("holdfast"));
    resp_pair(session, "version", hf_text(hf_version()));
    resp_text(out, hf_text("proto"));
    resp_number(out, ':', state->version);
    resp_text(out, hf_text("id"));
    resp_number(out, ':', (int64_t)session->id);
    resp_pair(session, "mode", hf_text("standalone"));
    resp_pair(session, "role", hf_text("master"));
    resp_text(out, hf_text("modules"));
    resp_number(out, '*', 0);
}

/* Reads [2|3 [AUTH user password] [SETNAME name]]; false if it is no such thing, and the client
 * knows. *user stays NULL without AUTH; the password stands behind it. */
static bool read_hello(struct session *session, size_t count, const struct hf_bytes *words,
                       struct resp_hello *hello, const struct hf_bytes **user)
{
    int64_t version = resp_client(session)->version;

    if (count > 1 && (!text_to_integer(words[1], &version) || version < 2 || version > 3)) {
        resp_error(session, "NOPROTO unsupported protocol version");
        return false;
    }
    hello->version = (int)version;
    for (size_t i = 2; i < count;) {
        if (text_is_word(words[i], "AUTH") && i + 2 < count) {
            *user = &words[i + 1];
            i += 3;
        } else if (text_is_word(words[i], "SETNAME") && i + 1 < count) {
            if (!resp_set_name(session, hello->name, words[i + 1])) {
                return false;
            }
            hello->names = true;
            i += 2;
        } else {
            resp_error(session, "ERR Syntax error in HELLO");
            return false;
        }
    }
    return true;
}

/* HELLO [2|3 [AUTH user password] [SETNAME name]]. All of it counts or, with a wrong password,
 * nothing. */
static void hello(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);
    struct resp_hello wanted = {.version = 0};
    const struct hf_bytes *user = NULL;
    bool has_users = session->server->auth != NULL;

    if (!read_hello(session, count, words, &wanted, &user)) {
        return;
    }
    if (user != NULL && has_users && state->transaction.running) {
        resp_error(session, "ERR HELLO with AUTH is not allowed inside a transaction");
    } else if (user != NULL && has_users) {
        state->hello = wanted;
        authenticate_as(session, user, user[1]);
    } else if (has_users && session->who.role == ROLE_NONE) {
        resp_error(session, "NOAUTH HELLO must be called with the client already authenticated, "
                            "otherwise the HELLO <proto> AUTH <user> <pass> option can be used");
    } else {
        state->hello = wanted;
        resp_say_hello(session);
        state->hello = (struct resp_hello){.version = 0};
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

/* The few settings that clients ask for, under the names they know. */
static void config(struct session *session, size_t count, const struct hf_bytes *words)
{
    const struct server_options *options = session->server->options;
    char connections[24], timeout[24], memory[24];
    struct {
        const char *name, *value;
    } settings[] = {
        {"save", ""},
        {"appendonly", options->memory || options->dir == NULL ? "no" : "yes"},
        {"appendfsync", options->fsync != NULL ? options->fsync : ""},
        {"maxclients", connections},
        {"timeout", timeout},
        {"databases", "1"},
        {"maxmemory", memory},
        {"bind", options->bind},
        {"dir", options->dir != NULL ? options->dir : ""},
    };
    const size_t rows = sizeof settings / sizeof settings[0];
    uint64_t wanted = 0;

    snprintf(connections, sizeof connections, "%lld", (long long)options->max_connections);
    snprintf(timeout, sizeof timeout, "0");
    snprintf(memory, sizeof memory, "%llu",
             (unsigned long long)server_figure(session->server, "memory_limit_bytes"));
    if (!text_is_word(words[1], "GET") || count < 3) {
        resp_error(session, "ERR only CONFIG GET: settings are made when the server starts");
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t word = 2; word < count; word++) {
            if (text_is_word(words[word], settings[i].name) ||
                text_equal(words[word], hf_text("*"))) {
                wanted |= UINT64_C(1) << i;
            }
        }
    }
    resp_map(&session->out, resp_client(session)->version, (size_t)__builtin_popcountll(wanted));
    for (size_t i = 0; i < rows; i++) {
        if (wanted & UINT64_C(1) << i) {
            resp_pair(session, settings[i].name, hf_text(settings[i].value));
        }
    }
}

static void write_slow_entry(struct buffer *out, const struct slow_entry *entry)
{
    resp_number(out, '*', 6);
    resp_number(out, ':', (int64_t)entry->id);
    resp_number(out, ':', entry->time_s);
    resp_number(out, ':', (int64_t)entry->microseconds);
    resp_number(out, '*', 1);
    resp_text(out, hf_text(entry->text));
    resp_text(out, hf_text(entry->peer));
    resp_text(out, hf_text(""));
}

static void slowlog(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct slowlog *slow = &session->server->slowlog;
    int64_t most = 10;

    if (text_is_word(words[1], "GET") &&
        (count == 2 || (count == 3 && text_to_integer(words[2], &most) && most >= -1))) {
        size_t size = slowlog_size(slow);
        size = most >= 0 && (size_t)most < size ? (size_t)most : size;
        resp_number(&session->out, '*', (int64_t)size);
        for (size_t i = 0; i < size; i++) {
            write_slow_entry(&session->out, slowlog_entry(slow, i));
        }
    } else if (text_is_word(words[1], "LEN") && count == 2) {
        resp_number(&session->out, ':', (int64_t)slowlog_size(slow));
    } else if (text_is_word(words[1], "RESET") && count == 2) {
        slowlog_clear(slow);
        audit_log_act(session, "SLOWLOG RESET", NULL, HF_OK);
        resp_ok(session);
    } else {
        resp_error(session, "ERR SLOWLOG GET [count], SLOWLOG LEN or SLOWLOG RESET");
    }
}

static void dbsize(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct hf_info info;
    (void)count;
    (void)words;

    const char *unknown = server_info(session->server, &info);
    if (unknown != NULL) {
        resp_error(session, "ERR how many holds there are is not known: %s", unknown);
    } else {
        resp_number(&session->out, ':', (int64_t)info.holds);
    }
}

static void audit(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;
    session_audit(session);
}

/* [1, findings, text, …] */
void resp_audited(struct session *session, uint64_t count, struct hf_bytes findings)
{
    resp_number(&session->out, '*', (int64_t)count + 2);
    resp_number(&session->out, ':', 1);
    resp_number(&session->out, ':', (int64_t)count);
    while (findings.size > 0) {
        resp_text(&session->out, next_finding(&findings));
    }
}

static void metrics(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct server *server = session->server;
    struct buffer text;
    (void)count;
    (void)words;

    buffer_init(&text, &server->memory);
    metrics_write(&server->metrics, server, &text);
    resp_answer_text(session, &text);
}

static void snapshot(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct problem problem = {.code = HF_LOADING, .message = "still loading"};
    (void)count;
    (void)words;

    server_settle(session->server);
    enum hf_error code = session->server->engine == NULL
                             ? HF_LOADING
                             : engine_snapshot(session->server->engine, &problem);
    audit_log_act(session, "SNAPSHOT", NULL, code);
    if (code == HF_OK) {
        resp_ok(session);
    } else {
        session_refuse(session, problem.code, "%s", problem.message);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct own_command own_commands[] = {
    {"AUDIT", "Prove that everything adds up", 0, 0, false, false, 0, ROLE_ADMIN, audit},
    {"AUTH", "Say who you are: [user] secret", 1, 2, true, false, 0, ROLE_NONE, authenticate},
    {"CLIENT", "SETNAME, GETNAME, SETINFO, ID, INFO, LIST, KILL, …", 1, 1000, false, false, 4,
     ROLE_READ, own_command_client},
    {"COMMAND", "COUNT, DOCS, HELP, INFO, LIST", 0, 1000, false, false, OWN_WEIGHT_LONG, ROLE_READ,
     own_command_docs},
    {"CONFIG", "GET name", 1, 100, false, false, 1, ROLE_READ, config},
    {"DBSIZE", "How many holds there are", 0, 0, false, false, OWN_WEIGHT_LONG, ROLE_READ, dbsize},
    {"DISCARD", "Forget what was queued since MULTI", 0, 0, false, true, 1, ROLE_READ,
     own_command_discard},
    {"ECHO", "The same back", 1, 1, false, false, 1, ROLE_READ, echo},
    {"EXEC", "Carry out what was queued since MULTI", 0, 0, false, true, 1, ROLE_READ,
     own_command_exec},
    {"HELLO", "[2|3 [AUTH user password] [SETNAME name]]", 0, 6, true, false, 1, ROLE_NONE, hello},
    {"INFO", "Figures about the server", 0, 10, false, false, OWN_WEIGHT_LONG, ROLE_READ,
     own_command_info},
    {"METRICS", "The figures of /metrics", 0, 0, false, false, OWN_WEIGHT_LONG, ROLE_READ, metrics},
    {"MULTI", "Queue commands until EXEC or DISCARD", 0, 0, false, true, 1, ROLE_READ,
     own_command_multi},
    {"PING", "PONG, or the same back", 0, 1, false, false, 1, ROLE_READ, ping},
    {"QUIT", "Close the connection", 0, 0, true, true, 1, ROLE_NONE, quit},
    {"RESET", "As if just connected", 0, 0, true, true, 1, ROLE_NONE, reset},
    {"SELECT", "0", 1, 1, false, false, 1, ROLE_READ, select_database},
    {"SLOWLOG", "GET [count], LEN, RESET", 1, 2, false, false, OWN_WEIGHT_LONG, ROLE_ADMIN,
     slowlog},
    {"SNAPSHOT", "Begin a snapshot of the state", 0, 0, false, false, 0, ROLE_ADMIN, snapshot},
    {"UNWATCH", "Nothing is ever watched", 0, 0, false, false, 1, ROLE_READ, unwatch},
    {"WATCH", "Not supported", 1, 1000, false, true, 1, ROLE_READ, own_command_watch},
};

const struct own_command *own_command_find(struct hf_bytes name)
{
    /* Commands of the table have a dot in their names; these do not. */
    if (memchr(name.data, '.', name.size) != NULL) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof own_commands / sizeof own_commands[0]; i++) {
        if (text_is_word(name, own_commands[i].name)) {
            return &own_commands[i];
        }
    }
    return NULL;
}

bool own_command_is_at_once(struct hf_bytes name)
{
    const struct own_command *own = own_command_find(name);

    return own != NULL && own->at_once;
}
