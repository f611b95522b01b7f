/* SPDX-License-Identifier: Apache-2.0
 *
 * CLIENT: what a connection says of itself, and what can be learned of the others. The lines of
 * INFO and LIST have the fields of Redis and no others: some clients refuse a line with a field
 * that they do not know, or without one that they do. */
#include "base/text.h"
#include "net/address.h"
#include "server/audit_log.h"
#include "server/connection.h"
#include "server/resp/resp_front.h"
#include "server/session_access.h"

#include <ctype.h>
#include <stdio.h>

static bool is_admin(const struct session *session)
{
    return session->server->auth == NULL ||
           (session->who.role >= ROLE_ADMIN && !session_is_limited(session));
}

/* ---- one line -------------------------------------------------------------------------------- */

/* What the two fronts and the connection know of a client. */
struct client_figures {
    char local[ADDRESS_TEXT_SIZE];
    int fd;
    size_t in, in_free, out, kept;
    const struct resp_client *resp; /* NULL: it speaks HTTP */
};

static void find_figures(struct session *session, struct client_figures *figures)
{
    *figures = (struct client_figures){.fd = -1, .out = session->out.size};
    figures->resp = session->front == &front_resp ? session->state : NULL;
    if (session->server->loop == NULL) {
        return; /* there is no socket */
    }
    const struct connection *connection = connection_of(session);
    address_of_socket(connection->stream.fd, figures->local);
    figures->fd = connection->stream.fd;
    figures->in = connection->in.size - connection->in_used;
    figures->in_free = connection->in.capacity - connection->in.size;
    figures->out = session->out.size - connection->sent;
    figures->kept = connection_memory(connection) + sizeof *connection +
                    (figures->resp != NULL ? sizeof *figures->resp : 0);
}

static void write_command(struct buffer *out, const struct resp_client *resp)
{
    const char *name = resp == NULL ? "http" : resp->last != NULL ? resp->last : "NULL";

    for (; *name != '\0'; name++) {
        buffer_byte(out, (uint8_t)tolower((unsigned char)*name));
    }
}

static const char *user_of(const struct session *session)
{
    return session->server->auth == NULL    ? "default"
           : session->who.role == ROLE_NONE ? ""
                                            : session->who.name;
}

static void describe(struct session *session, struct buffer *out)
{
    struct client_figures figures;
    uint64_t now_ns = clock_nanoseconds();

    find_figures(session, &figures);
    const struct resp_client *resp = figures.resp;
    bool queues = resp != NULL && resp->transaction.open;
    size_t queued = queues ? resp->transaction.words.capacity : 0;

    buffer_format(out, "id=%llu addr=%s laddr=%s fd=%d name=%s age=%llu idle=%llu flags=%s",
                  (unsigned long long)session->id, session->peer, figures.local, figures.fd,
                  resp != NULL ? resp->name : "",
                  (unsigned long long)((now_ns - session->opened_ns) / 1000000000),
                  (unsigned long long)((now_ns - session->heard_ns) / 1000000000),
                  session->waits ? "b"
                  : queues       ? "x"
                                 : "N");
    buffer_format(out, " db=0 sub=0 psub=0 ssub=0 multi=%d watch=0 qbuf=%zu qbuf-free=%zu",
                  queues ? (int)resp->transaction.count : -1, figures.in, figures.in_free);
    buffer_format(out, " argv-mem=0 multi-mem=%zu rbs=%zu rbp=%zu obl=0 oll=%d omem=%zu", queued,
                  session->out.capacity, session->out.capacity, figures.out > 0, figures.out);
    buffer_format(out, " tot-mem=%zu events=%s cmd=", figures.kept, figures.out > 0 ? "rw" : "r");
    write_command(out, resp);
    buffer_format(out, " user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s\n", user_of(session),
                  resp != NULL ? resp->version : 0, resp != NULL ? resp->library : "",
                  resp != NULL ? resp->library_version : "");
}

static void info(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct buffer text;
    (void)count;
    (void)words;

    buffer_init(&text, &session->server->memory);
    describe(session, &text);
    resp_answer_text(session, &text);
}

/* ---- LIST ------------------------------------------------------------------------------------ */

/* So many clients are looked at in a turn of the loop: thousands at once would hold up all of them.
 */
#define LIST_STEP 100
#define LIST_IDS_MAX 128

struct client_list {
    struct session_iterator iterator;
    struct buffer text;
    bool nobody; /* of a type that there is none of */
    size_t id_count;
    uint64_t ids[LIST_IDS_MAX]; /* only these; none: all */
};

void resp_list_end(struct session *session)
{
    struct resp_client *state = resp_client(session);

    if (state->list != NULL) {
        session_iterator_end(&state->list->iterator);
        buffer_free(&state->list->text);
        memory_free(&session->server->memory, state->list, sizeof *state->list);
        state->list = NULL;
    }
}

size_t resp_list_memory(const struct resp_client *state)
{
    return state->list != NULL ? sizeof *state->list + state->list->text.capacity : 0;
}

/* Admins see everybody, others the connections of their own user. */
static bool is_listed(const struct session *session, const struct client_list *list,
                      const struct session *other)
{
    bool wanted = !list->nobody && list->id_count == 0;

    for (size_t i = 0; i < list->id_count; i++) {
        wanted |= list->ids[i] == other->id;
    }
    return wanted && !other->gone &&
           (is_admin(session) ||
            (other->who.role != ROLE_NONE &&
             text_equal(hf_text(session->who.name), hf_text(other->who.name))));
}

static void list_some(struct session *session)
{
    struct client_list *list = resp_client(session)->list;
    struct session *other = NULL;

    for (unsigned i = 0; i < LIST_STEP; i++) {
        other = session_iterator_next(&list->iterator, session->server);
        if (other == NULL) {
            break;
        }
        if (is_listed(session, list, other)) {
            describe(other, &list->text);
        }
    }
    session->unfinished = other != NULL;
    if (session->unfinished) {
        session_resume(session);
    } else {
        resp_answer_text(session, &list->text);
        resp_list_end(session);
        session_answered(session);
    }
}

/* Reads [TYPE type] or [ID id …]; false if it is neither, and the client knows. */
static bool read_filter(struct session *session, struct client_list *list, size_t count,
                        const struct hf_bytes *words)
{
    if (count == 2) {
        return true;
    }
    if (text_is_word(words[2], "TYPE") && count == 4) {
        list->nobody = !text_is_word(words[3], "NORMAL");
        return true;
    }
    if (!text_is_word(words[2], "ID") || count < 4 || count - 3 > LIST_IDS_MAX) {
        resp_error(session, "ERR syntax: CLIENT LIST [TYPE normal | ID id ...], at most %d ids",
                   LIST_IDS_MAX);
        return false;
    }
    for (size_t i = 3; i < count; i++) {
        int64_t id;
        if (!text_to_integer(words[i], &id) || id <= 0) {
            resp_error(session, "ERR Invalid client ID");
            return false;
        }
        list->ids[list->id_count++] = (uint64_t)id;
    }
    return true;
}

static void list_clients(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);
    struct server *server = session->server;

    if (state->transaction.running) {
        resp_error(session, "ERR CLIENT LIST is not allowed inside a transaction");
        return;
    }
    state->list = memory_zeroed(&server->memory, sizeof *state->list);
    if (state->list == NULL) {
        resp_error(session, "BUSY no memory for the list; try again later");
        return;
    }
    buffer_init(&state->list->text, &server->memory);
    session_iterator_begin(&state->list->iterator, server);
    if (read_filter(session, state->list, count, words)) {
        state->go_on = list_some;
        list_some(session);
    } else {
        resp_list_end(session);
    }
}

/* ---- KILL ------------------------------------------------------------------------------------ */

/* Whom to close: what is not given fits everybody. */
struct kill_filter {
    int64_t id; /* 0: not given */
    struct hf_bytes address, user;
    bool not_me;
};

static bool read_kill_filter(struct kill_filter *filter, size_t count, const struct hf_bytes *words)
{
    for (size_t i = 2; i + 1 < count; i += 2) {
        if (text_is_word(words[i], "ID")) {
            if (!text_to_integer(words[i + 1], &filter->id) || filter->id <= 0) {
                return false;
            }
        } else if (text_is_word(words[i], "ADDR")) {
            filter->address = words[i + 1];
        } else if (text_is_word(words[i], "USER")) {
            filter->user = words[i + 1];
        } else if (text_is_word(words[i], "SKIPME") && text_is_word(words[i + 1], "NO")) {
            filter->not_me = false;
        } else if (!text_is_word(words[i], "SKIPME") || !text_is_word(words[i + 1], "YES")) {
            return false;
        }
    }
    return count % 2 == 0;
}

/* Closes those that fit when they have been sent what they were answered. Returns how many. */
static int64_t close_clients(struct session *session, const struct kill_filter *filter)
{
    struct list *sessions = &session->server->sessions;
    int64_t closed = 0;

    for (struct list *node = sessions->next; node != sessions; node = node->next) {
        struct session *other = LIST_ENTRY(node, struct session, node);
        bool fits =
            (filter->id == 0 || filter->id == (int64_t)other->id) &&
            (filter->address.data == NULL || text_equal(filter->address, hf_text(other->peer))) &&
            (filter->user.data == NULL || text_equal(filter->user, hf_text(user_of(other)))) &&
            !(filter->not_me && other == session);
        if (fits && !other->gone && !other->closing) {
            other->closing = true;
            session_touch(other);
            closed++;
        }
    }
    return closed;
}

static int shown(struct hf_bytes text)
{
    return (int)(text.size < 128 ? text.size : 128);
}

/* The filter goes to the audit log as it was understood, not as it was given: a word that is
 * repeated, or that is followed by many, would hide there who was meant. */
static void note_kill(const struct session *session, const struct kill_filter *filter,
                      enum hf_error code)
{
    char detail[512] = "", id[32] = "";

    if (session->server->audit_log == NULL) {
        return;
    }
    if (filter->id != 0) {
        snprintf(id, sizeof id, " ID %lld", (long long)filter->id);
    }
    snprintf(
        detail, sizeof detail, "%s%s%.*s%s%.*s%s", id, filter->address.data != NULL ? " ADDR " : "",
        shown(filter->address), filter->address.data != NULL ? filter->address.data : "",
        filter->user.data != NULL ? " USER " : "", shown(filter->user),
        filter->user.data != NULL ? filter->user.data : "", filter->not_me ? "" : " SKIPME no");
    audit_log_act(session, "CLIENT KILL", detail[0] != '\0' ? detail + 1 : NULL, code);
}

/* KILL addr, which answers OK; or KILL with filters, which answers how many. */
static void kill_clients(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct kill_filter filter = {.not_me = true};

    if (!session_allows(session, ROLE_ADMIN) || !session_reaches_all(session, "CLIENT KILL")) {
        return;
    }
    if (count != 3 && !read_kill_filter(&filter, count, words)) {
        note_kill(session, &filter, HF_INVALID_ARGUMENT);
        resp_error(session, "ERR syntax: CLIENT KILL addr | [ID id] [ADDR addr] [USER user] "
                            "[SKIPME yes|no]");
        return;
    }
    if (count == 3) {
        filter = (struct kill_filter){.address = words[2]};
    }
    int64_t closed = close_clients(session, &filter);
    note_kill(session, &filter, count == 3 && closed == 0 ? HF_NOT_FOUND : HF_OK);
    if (count != 3) {
        resp_number(&session->out, ':', closed);
    } else if (closed > 0) {
        resp_ok(session);
    } else {
        resp_error(session, "ERR No such client");
    }
}

/* ---- names and the small ones ---------------------------------------------------------------- */

bool resp_set_name(struct session *session, char out[CLIENT_NAME_SIZE], struct hf_bytes name)
{
    bool fits = name.size < CLIENT_NAME_SIZE;

    for (size_t i = 0; fits && i < name.size; i++) {
        fits = name.data[i] > ' ' && name.data[i] <= '~';
    }
    if (!fits) {
        resp_error(session,
                   "ERR a name has no spaces, newlines or special characters, and at most %d "
                   "of the others",
                   CLIENT_NAME_SIZE - 1);
        return false;
    }
    memcpy(out, name.data, name.size);
    out[name.size] = '\0';
    return true;
}

static void set_name(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    if (resp_set_name(session, resp_client(session)->name, words[2])) {
        resp_ok(session);
    }
}

static void get_name(struct session *session, size_t count, const struct hf_bytes *words)
{
    const struct resp_client *state = resp_client(session);
    (void)count;
    (void)words;

    if (state->name[0] == '\0') {
        resp_nil(&session->out, state->version);
    } else {
        resp_text(&session->out, hf_text(state->name));
    }
}

static void set_info(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct resp_client *state = resp_client(session);
    char *value = text_is_word(words[2], "LIB-NAME")  ? state->library
                  : text_is_word(words[2], "LIB-VER") ? state->library_version
                                                      : NULL;
    (void)count;

    if (value == NULL) {
        resp_error(session, "ERR CLIENT SETINFO knows LIB-NAME and LIB-VER");
    } else if (resp_set_name(session, value, words[3])) {
        resp_ok(session);
    }
}

static void id(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;
    resp_number(&session->out, ':', (int64_t)session->id);
}

/* NO-EVICT and NO-TOUCH: there is nothing that it would change. */
static void accept_switch(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    if (text_is_word(words[2], "ON") || text_is_word(words[2], "OFF")) {
        resp_ok(session);
    } else {
        resp_error(session, "ERR syntax: ON or OFF");
    }
}

static void reply(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    if (text_is_word(words[2], "ON")) {
        resp_ok(session);
    } else {
        resp_error(session, "ERR CLIENT REPLY can only be ON: every command is answered");
    }
}

static void get_redirection(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;
    resp_number(&session->out, ':', -1); /* no tracking */
}

/* The trace that the requests of this connection are part of from now on; an empty one: none. */
static void set_trace(struct session *session, size_t count, const struct hf_bytes *words)
{
    struct trace_parent *trace = &resp_client(session)->trace;
    (void)count;

    if (words[2].size == 0) {
        *trace = (struct trace_parent){.flags = 0};
    } else if (!trace_read(words[2], trace)) {
        resp_error(session, "ERR CLIENT TRACEPARENT takes a traceparent of W3C Trace Context, such "
                            "as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, or an "
                            "empty text for none");
        return;
    }
    resp_ok(session);
}

static void help(struct session *session, size_t count, const struct hf_bytes *words);

static const struct {
    const char *name, *help;
    size_t min, max; /* words after the name */
    void (*run)(struct session *session, size_t count, const struct hf_bytes *words);
} subcommands[] = {
    {"GETNAME", "The name of this connection", 0, 0, get_name},
    {"GETREDIR", "-1: nothing is tracked", 0, 0, get_redirection},
    {"HELP", "This", 0, 0, help},
    {"ID", "The number of this connection", 0, 0, id},
    {"INFO", "This connection, as LIST has it", 0, 0, info},
    {"KILL", "addr | [ID id] [ADDR addr] [USER user] [SKIPME yes|no]: close connections", 1, 8,
     kill_clients},
    {"LIST", "[TYPE normal | ID id ...]: the connections of this user; of all, for admins", 0, 999,
     list_clients},
    {"NO-EVICT", "ON or OFF", 1, 1, accept_switch},
    {"NO-TOUCH", "ON or OFF", 1, 1, accept_switch},
    {"REPLY", "ON", 1, 1, reply},
    {"SETINFO", "LIB-NAME name or LIB-VER version", 2, 2, set_info},
    {"SETNAME", "Name this connection", 1, 1, set_name},
    {"TRACEPARENT", "The trace that the requests from now on are part of, or an empty text", 1, 1,
     set_trace},
};
#define SUBCOMMANDS (sizeof subcommands / sizeof subcommands[0])

static void help(struct session *session, size_t count, const struct hf_bytes *words)
{
    (void)count;
    (void)words;
    resp_number(&session->out, '*', 2 * (int64_t)SUBCOMMANDS);
    for (size_t i = 0; i < SUBCOMMANDS; i++) {
        resp_simple(&session->out, subcommands[i].name);
        resp_simple(&session->out, subcommands[i].help);
    }
}

void own_command_client(struct session *session, size_t count, const struct hf_bytes *words)
{
    for (size_t i = 0; i < SUBCOMMANDS; i++) {
        if (!text_is_word(words[1], subcommands[i].name)) {
            continue;
        }
        if (count - 2 < subcommands[i].min || count - 2 > subcommands[i].max) {
            resp_error(session, "ERR wrong number of arguments for 'client|%s' command",
                       subcommands[i].name);
        } else {
            subcommands[i].run(session, count, words);
        }
        return;
    }
    resp_error(session, "ERR unknown subcommand '%.*s'. Try CLIENT HELP.",
               (int)(words[1].size < 128 ? words[1].size : 128), words[1].data);
}
