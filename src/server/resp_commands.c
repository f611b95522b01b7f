/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients of RESP send on their own, and what is said to the server rather than to the engine.
 */
#include "base/text.h"
#include "server/resp_front.h"

#include <stdio.h>

static void ok(struct session *session)
{
    resp_simple(&session->out, "OK");
}

static void resp_pair(struct session *session, const char *name, struct hf_bytes value)
{
    resp_text(&session->out, hf_text(name));
    resp_text(&session->out, value);
}

/* Answers with a text, and gives its memory back. */
static void answer_text(struct session *session, struct buffer *text)
{
    resp_text(&session->out, (struct hf_bytes){text->data, text->failed ? 0 : text->size});
    buffer_free(text);
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
        ok(session);
    } else {
        resp_error(session, "ERR DB index is out of range: there is only 0");
    }
}

static void quit(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;
    ok(session);
    session->closing = true;
}

static void reset(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);
    (void)count;
    (void)words;

    state->version = 2;
    state->name[0] = '\0';
    session->who = (struct identity){.role = ROLE_NONE};
    resp_simple(&session->out, "RESET");
}

static void authenticate(struct session *session, size_t count, const struct hf_bytes *words)
{
    if (session->server->auth == NULL) {
        resp_error(session, "ERR AUTH called, but this server has no users: see --auth-file");
        return;
    }
    resp_client(session)->hello = 0;
    session_authenticate(session, count == 3 ? &words[1] : NULL, words[count - 1]);
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

void resp_say_hello(struct session *session)
{
    struct buffer *out = &session->out;
    int version = resp_client(session)->version;

    resp_map(out, version, 7);
    resp_pair(session, "server", hf_text("holdfast"));
    resp_pair(session, "version", hf_text(hf_version()));
    resp_text(out, hf_text("proto"));
    resp_number(out, ':', version);
    resp_text(out, hf_text("id"));
    resp_number(out, ':', (int64_t)session->id);
    resp_pair(session, "mode", hf_text("standalone"));
    resp_pair(session, "role", hf_text("master"));
    resp_text(out, hf_text("modules"));
    resp_number(out, '*', 0);
}

/* Names go into lists of words: no spaces, nothing that cannot be printed. */
static bool set_name(char out[CLIENT_NAME_SIZE], struct hf_bytes name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] <= ' ' || name.data[i] > '~') {
            return false;
        }
    }
    if (name.size >= CLIENT_NAME_SIZE) {
        return false;
    }
    memcpy(out, name.data, name.size);
    out[name.size] = '\0';
    return true;
}

static void bad_name(struct session *session)
{
    resp_error(session,
               "ERR a name has no spaces, newlines or special characters, and at most %d "
               "of the others",
               CLIENT_NAME_SIZE - 1);
}

/* HELLO [2|3 [AUTH user password] [SETNAME name]] */
static void hello(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);
    const struct hf_bytes *user = NULL;
    int64_t version = state->version;

    if (count > 1 && (!text_to_integer(words[1], &version) || version < 2 || version > 3)) {
        resp_error(session, "NOPROTO unsupported protocol version");
        return;
    }
    for (size_t i = 2; i < count;) {
        if (text_is_word(words[i], "AUTH") && i + 2 < count) {
            user = &words[i + 1];
            i += 3;
        } else if (text_is_word(words[i], "SETNAME") && i + 1 < count) {
            if (!set_name(state->name, words[i + 1])) {
                bad_name(session);
                return;
            }
            i += 2;
        } else {
            resp_error(session, "ERR Syntax error in HELLO");
            return;
        }
    }
    if (user != NULL && session->server->auth != NULL) {
        state->hello = (int)version;
        session_authenticate(session, user, user[1]);
    } else if (session->server->auth != NULL && session->who.role == ROLE_NONE) {
        resp_error(session, "NOAUTH HELLO must be called with the client already authenticated, "
                            "otherwise the HELLO <proto> AUTH <user> <pass> option can be used");
    } else {
        state->version = (int)version;
        resp_say_hello(session);
    }
}

/* ---- CLIENT ---------------------------------------------------------------------------------- */

static void describe_client(struct session *session, struct buffer *out)
{
    const struct resp_client *state = session->front == &front_resp ? session->state : NULL;

    buffer_format(
        out, "id=%llu addr=%s name=%s proto=%s age=%llu user=%s waits=%d omem=%zu",
        (unsigned long long)session->id, session->peer, state ? state->name : "",
        session->front->name,
        state ? (unsigned long long)((clock_nanoseconds() - state->since_ns) / 1000000000) : 0ULL,
        session->who.role == ROLE_NONE ? "" : session->who.name, session->waits, session->out.size);
    if (state != NULL) {
        buffer_format(out, " resp=%d lib-name=%s lib-ver=%s tot-cmds=%llu", state->version,
                      state->library, state->library_version, (unsigned long long)state->commands);
    }
    buffer_byte(out, '\n');
}

static void list_clients(struct session *session)
{
    struct server *server = session->server;
    struct buffer text;

    buffer_init(&text, &server->memory);
    for (struct list *node = server->sessions.next; node != &server->sessions; node = node->next) {
        struct session *other = LIST_ENTRY(node, struct session, node);
        if (!other->gone) {
            describe_client(other, &text);
        }
    }
    answer_text(session, &text);
}

static void client_info(struct session *session)
{
    struct buffer text;

    buffer_init(&text, &session->server->memory);
    describe_client(session, &text);
    answer_text(session, &text);
}

static void set_client_name(struct session *session, char name[CLIENT_NAME_SIZE],
                            struct hf_bytes value)
{
    if (set_name(name, value)) {
        ok(session);
    } else {
        bad_name(session);
    }
}

static void client(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);

    if (text_is_word(words[1], "SETNAME") && count == 3) {
        set_client_name(session, state->name, words[2]);
    } else if (text_is_word(words[1], "GETNAME") && count == 2) {
        resp_text(&session->out, hf_text(state->name));
    } else if (text_is_word(words[1], "SETINFO") && count == 4 &&
               text_is_word(words[2], "LIB-NAME")) {
        set_client_name(session, state->library, words[3]);
    } else if (text_is_word(words[1], "SETINFO") && count == 4 &&
               text_is_word(words[2], "LIB-VER")) {
        set_client_name(session, state->library_version, words[3]);
    } else if (text_is_word(words[1], "ID") && count == 2) {
        resp_number(&session->out, ':', (int64_t)session->id);
    } else if (text_is_word(words[1], "INFO") && count == 2) {
        client_info(session);
    } else if (text_is_word(words[1], "LIST") && count == 2) {
        if (session_allows(session, ROLE_ADMIN)) {
            list_clients(session);
        }
    } else if ((text_is_word(words[1], "NO-EVICT") || text_is_word(words[1], "NO-TOUCH")) &&
               count == 3) {
        ok(session); /* nothing to be evicted */
    } else {
        resp_error(session, "ERR unknown subcommand or wrong number of arguments for CLIENT: "
                            "SETNAME GETNAME SETINFO ID INFO LIST");
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

/* The few settings that clients ask for, under the names they know. */
static void config(struct session *session, size_t count, const struct hf_bytes *words)
{
    const struct server_options *options = session->server->options;
    char connections[24], timeout[24];
    struct {
        const char *name, *value;
    } settings[] = {
        {"save", ""},
        {"appendonly", options->memory ? "no" : "yes"},
        {"appendfsync", options->fsync},
        {"maxclients", connections},
        {"timeout", timeout},
        {"databases", "1"},
        {"maxmemory", "0"},
        {"bind", options->bind},
        {"dir", options->dir != NULL ? options->dir : ""},
    };
    const size_t rows = sizeof settings / sizeof settings[0];
    uint64_t wanted = 0;

    snprintf(connections, sizeof connections, "%lld", (long long)options->max_connections);
    snprintf(timeout, sizeof timeout, "0");
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
        ok(session);
    } else {
        resp_error(session, "ERR SLOWLOG GET [count], SLOWLOG LEN or SLOWLOG RESET");
    }
}

static void dbsize(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct hf_info info = {0};
    (void)count;
    (void)words;

    if (session->server->engine != NULL) {
        engine_info(session->server->engine, &info);
    }
    resp_number(&session->out, ':', (int64_t)info.holds);
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
    answer_text(session, &text);
}

static void snapshot(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct problem problem = {.code = HF_LOADING, .message = "still loading"};
    (void)count;
    (void)words;

    if (session->server->engine != NULL &&
        engine_snapshot(session->server->engine, &problem) == HF_OK) {
        ok(session);
    } else {
        session_refuse(session, problem.code, "%s", problem.message);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct own_command own_commands[] = {
    {"AUDIT", "Prove that everything adds up", 0, 0, false, ROLE_ADMIN, audit},
    {"AUTH", "Say who you are: [user] secret", 1, 2, true, ROLE_NONE, authenticate},
    {"CLIENT", "SETNAME, GETNAME, SETINFO, ID, INFO, LIST", 1, 3, false, ROLE_READ, client},
    {"COMMAND", "COUNT, DOCS, INFO, LIST", 0, 1000, false, ROLE_READ, own_command_docs},
    {"CONFIG", "GET name", 1, 100, false, ROLE_READ, config},
    {"DBSIZE", "How many holds there are", 0, 0, false, ROLE_READ, dbsize},
    {"ECHO", "The same back", 1, 1, false, ROLE_READ, echo},
    {"HELLO", "[2|3 [AUTH user password] [SETNAME name]]", 0, 6, true, ROLE_NONE, hello},
    {"INFO", "Figures about the server", 0, 10, false, ROLE_READ, own_command_info},
    {"METRICS", "The figures of /metrics", 0, 0, false, ROLE_READ, metrics},
    {"PING", "PONG, or the same back", 0, 1, false, ROLE_READ, ping},
    {"QUIT", "Close the connection", 0, 0, true, ROLE_NONE, quit},
    {"RESET", "As if just connected", 0, 0, true, ROLE_NONE, reset},
    {"SELECT", "0", 1, 1, false, ROLE_READ, select_database},
    {"SLOWLOG", "GET [count], LEN, RESET", 1, 2, false, ROLE_ADMIN, slowlog},
    {"SNAPSHOT", "Begin a snapshot of the state", 0, 0, false, ROLE_ADMIN, snapshot},
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
