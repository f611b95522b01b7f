/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts the lines of the audit log together, and hands them to the thread that writes them. */
#include "server/audit_log.h"

#include "base/text.h"
#include "command/binary.h"
#include "command/words.h"
#include "server/audit_file.h"
#include "server/server.h"
#include "server/session_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Lines that may wait for the disk. */
#define ROOM ((size_t)4 << 20)
/* How many refusals are written in a while: of all strangers together, and of each user. */
#define WHILE_NS (UINT64_C(10) * 1000000000)
#define STRANGERS_MOST 100
#define USER_MOST 1000
#define REFUSED_USERS 64 /* that are counted at a time; beyond: all of theirs are written */

/* The refusals of one user, or of all strangers, in a while: what asks for nothing that it may have
 * does not fill the disk, nor the room that the lines of others wait in. */
struct audit_refused {
    char user[AUTH_NAME_SIZE]; /* empty: the strangers */
    uint64_t since_ns;         /* the beginning of the while; 0: there is none */
    unsigned written;
    uint64_t left_out;
};

struct audit_log {
    char *path;
    struct log log;
    struct log_writer *writer;
    struct memory memory;
    struct buffer line; /* the one that is put together */
    uint64_t lines;
    struct audit_refused refused[1 + REFUSED_USERS]; /* the first is that of the strangers */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_name(struct buffer *out, const char *field)
{
    buffer_format(out, "%s\"%s\":", out->size > 1 ? "," : "", field);
}

/* NULL is null. */
static void put_text(struct buffer *out, const char *field, const char *text)
{
    put_name(out, field);
    if (text == NULL) {
        buffer_text(out, "null");
    } else {
        json_text(out, hf_text(text));
    }
}

static struct buffer *begin_line(struct audit_log *audit)
{
    char time[LOG_TIME_SIZE];

    buffer_clear(&audit->line);
    audit->line.failed = false;
    buffer_byte(&audit->line, '{');
    log_time(time);
    put_text(&audit->line, "time", time);
    return &audit->line;
}

/* A line that there is no memory for is counted as lost by the log alone. */
static void end_line(struct audit_log *audit)
{
    struct buffer *line = &audit->line;

    buffer_text(line, "}\n");
    if (line->failed || line->size > LOG_LINE_MAX) {
        log_line(&audit->log, LOG_WARNING, "a line of the audit log is missing: %s",
                 line->failed ? "there was no memory for it" : "it would have been too long");
        return;
    }
    audit->lines++;
    log_writer_put(audit->writer, line->data, line->size);
}

/* Who asks, and by which request. Without users everybody is nobody in particular, and may do
 * everything. */
static void put_who(struct buffer *out, const struct session *session,
                    const struct trace_source *source)
{
    const struct identity *who = &session->who;
    bool open = session->server->auth == NULL;
    struct trace_request request;
    char trace[TRACE_ID_SIZE];

    source->describe(source, &request);
    trace_write_id(&request.trace, trace);
    put_text(out, "user", open || who->name[0] == '\0' ? NULL : who->name);
    put_text(out, "role", role_name(open ? ROLE_ADMIN : who->role));
    put_text(out, "address", session->peer);
    put_text(out, "front", session->front->name);
    put_text(out, "request", request.id);
    put_text(out, "trace", trace);
}

static void put_what(struct buffer *out, const char *command, const struct command *arguments,
                     enum hf_error code)
{
    put_text(out, "command", command);
    if (arguments != NULL) {
        put_name(out, "arguments");
        command_to_record(arguments, out);
    }
    put_text(out, "outcome", hf_error_name(code));
}

/* ---- refusals without end -------------------------------------------------------------------- */

/* Ends a while that is over, and says what was left out of it. */
static void end_while(struct audit_log *audit, struct audit_refused *refused, uint64_t now_ns)
{
    bool stranger = refused->user[0] == '\0';

    if (refused->since_ns == 0 || now_ns - refused->since_ns < WHILE_NS) {
        return;
    }
    if (refused->left_out > 0) {
        struct buffer *line = begin_line(audit);
        if (!stranger) {
            put_text(line, "user", refused->user);
        }
        put_text(line, "command", NULL);
        put_text(line, "outcome", hf_error_name(stranger ? HF_UNAUTHORIZED : HF_FORBIDDEN));
        buffer_format(line, ",\"left_out\":%llu", (unsigned long long)refused->left_out);
        put_text(line, "message",
                 stranger ? "so many more refusals of strangers in the last seconds"
                          : "so many more refusals of this user in the last seconds");
        end_line(audit);
    }
    *refused = (struct audit_refused){.since_ns = 0};
}

void audit_log_tick(struct audit_log *audit)
{
    uint64_t now_ns = clock_nanoseconds();

    for (size_t i = 0; i <= REFUSED_USERS; i++) {
        end_while(audit, &audit->refused[i], now_ns);
    }
}

/* Where the refusals of a user are counted; NULL: nowhere, because those of too many others are. */
static struct audit_refused *refused_of(struct audit_log *audit, const char *user)
{
    struct audit_refused *free_one = NULL;

    for (size_t i = 1; i <= REFUSED_USERS; i++) {
        struct audit_refused *refused = &audit->refused[i];
        if (refused->since_ns != 0 && strcmp(refused->user, user) == 0) {
            return refused;
        }
        free_one = free_one == NULL && refused->since_ns == 0 ? refused : free_one;
    }
    if (free_one != NULL) {
        snprintf(free_one->user, sizeof free_one->user, "%s", user);
    }
    return free_one;
}

/* May a refusal be a line? Otherwise it is counted. An empty name is a stranger's. */
static bool admit_refusal(struct audit_log *audit, const char *user)
{
    bool stranger = user[0] == '\0';
    uint64_t now_ns = clock_nanoseconds();

    audit_log_tick(audit);
    struct audit_refused *refused = stranger ? &audit->refused[0] : refused_of(audit, user);
    if (refused == NULL) {
        return true;
    }
    if (refused->since_ns == 0) {
        refused->since_ns = now_ns;
    }
    if (refused->written == (stranger ? STRANGERS_MOST : USER_MOST)) {
        refused->left_out++;
        return false;
    }
    refused->written++;
    return true;
}

/* ---- what is noted --------------------------------------------------------------------------- */

/* Is it a command that the server gives itself, for the Idempotency-Key of a request? That request
 * has its own line. */
static bool is_own(const struct command *command)
{
    const struct arg_spec *scope = command->spec->args;

    return command->spec->required > 0 && scope->type == ARG_ID &&
           text_is_own_id(*(const struct hf_bytes *)command_arg(command, scope));
}

void audit_log_answer(const struct session_call *call, const struct reply *reply)
{
    struct audit_log *audit = call->session->server->audit_log;
    struct hf_bytes bytes = {call->bytes.data, call->bytes.size};
    const struct command *command = call->command;
    struct binary_scratch scratch;
    struct command copy;

    if (audit == NULL || !(call->spec->flags & (COMMAND_WRITES | COMMAND_ADMIN))) {
        return;
    }
    if (command == NULL && bytes.size > 0 &&
        command_from_binary(&copy, bytes, &scratch, NULL) == HF_OK) {
        command = &copy;
    }
    if (command != NULL && is_own(command)) {
        return;
    }
    struct buffer *line = begin_line(audit);
    put_who(line, call->session, &call->source);
    put_what(line, call->spec->name, command, reply->code);
    end_line(audit);
}

void audit_log_refused(const struct session *session, enum hf_error code)
{
    struct audit_log *audit = session->server->audit_log;
    bool stranger = session->server->auth != NULL && session->who.role == ROLE_NONE;

    if (audit == NULL || (code != HF_UNAUTHORIZED && code != HF_FORBIDDEN) ||
        !admit_refusal(audit, stranger ? "" : session->who.name)) {
        return;
    }
    struct session_source source = session_source(session);
    struct buffer *line = begin_line(audit);
    put_who(line, session, &source.source);
    put_what(line, session->state != NULL ? session->front->asked(session) : NULL, NULL, code);
    end_line(audit);
}

void audit_log_act(const struct session *session, const char *act, const char *detail,
                   enum hf_error code)
{
    struct audit_log *audit = session->server->audit_log;

    if (audit == NULL) {
        return;
    }
    struct session_source source = session_source(session);
    struct buffer *line = begin_line(audit);
    put_who(line, session, &source.source);
    put_what(line, act, NULL, code);
    if (detail != NULL) {
        put_text(line, "detail", detail);
    }
    end_line(audit);
}

void audit_log_stranger(const struct session *session, const char *user)
{
    struct audit_log *audit = session->server->audit_log;

    if (audit == NULL || !admit_refusal(audit, "")) {
        return;
    }
    struct session_source source = session_source(session);
    struct buffer *line = begin_line(audit);
    put_who(line, session, &source.source);
    put_what(line, "AUTH", NULL, HF_UNAUTHORIZED);
    put_text(line, "tried", user);
    end_line(audit);
}

void audit_log_server(struct server *server, const char *act, enum hf_error code)
{
    struct audit_log *audit = server->audit_log;

    if (audit != NULL) {
        struct buffer *line = begin_line(audit);
        put_text(line, "user", NULL);
        put_text(line, "front", "server");
        put_what(line, act, NULL, code);
        end_line(audit);
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Called by the thread that writes. */
static size_t lost_line(void *context, char out[LOG_LOST_SIZE], uint64_t count)
{
    char time[LOG_TIME_SIZE];

    (void)context;
    log_time(time);
    return (size_t)snprintf(out, LOG_LOST_SIZE,
                            "{\"time\":\"%s\",\"lost\":%llu,\"message\":\"%llu lines lost here: "
                            "the file could not be written in time\"}\n",
                            time, (unsigned long long)count, (unsigned long long)count);
}

static void tell_failing(void *context, int error)
{
    const struct audit_log *audit = context;

    if (error != 0) {
        log_line(
            &audit->log, LOG_ERROR,
            "audit-log \"%.200s\" cannot be written: %s; commands go on, and lines are lost if "
            "that lasts",
            audit->path, strerror(error));
    } else {
        log_line(&audit->log, LOG_INFO, "audit-log \"%.200s\" is written again", audit->path);
    }
}

bool audit_log_check(const char *path, struct problem *problem)
{
    return audit_file_check(path, problem);
}

static void free_audit(struct audit_log *audit)
{
    buffer_free(&audit->line);
    free(audit->path);
    free(audit);
}

struct audit_log *audit_log_open(const char *path, const struct log *log, struct problem *problem)
{
    struct audit_log *audit = calloc(1, sizeof *audit);
    int fd = -1;

    problem_set(problem, HF_BUSY, "audit-log \"%.200s\": no memory or no thread for it", path);
    if (audit == NULL) {
        return NULL;
    }
    audit->path = strdup(path);
    audit->log = *log;
    memory_init(&audit->memory);
    buffer_init(&audit->line, &audit->memory);
    if (audit->path != NULL && (fd = audit_file_open(path, problem)) >= 0) {
        audit->writer = log_writer_start(&(struct log_writer_target){.fd = fd,
                                                                     .is_file = true,
                                                                     .room = ROOM,
                                                                     .lost = lost_line,
                                                                     .failing = tell_failing,
                                                                     .context = audit});
    }
    if (audit->writer == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        free_audit(audit);
        return NULL;
    }
    return audit;
}

bool audit_log_reopen(struct audit_log *audit, struct problem *problem)
{
    int fd = audit_file_open(audit->path, problem);

    if (fd < 0) {
        return false;
    }
    log_writer_switch(audit->writer, fd);
    return true;
}

void audit_log_look(struct audit_log *audit, struct audit_log_figures *figures)
{
    figures->lines = audit->lines;
    log_writer_look(audit->writer, &figures->writer);
}

void audit_log_close(struct audit_log *audit, int wait_ms)
{
    if (audit == NULL) {
        return;
    }
    uint64_t lost;
    for (size_t i = 0; i <= REFUSED_USERS; i++) {
        end_while(audit, &audit->refused[i], UINT64_MAX); /* whatever is left of each */
    }
    bool stopped = log_writer_stop(audit->writer, wait_ms, &lost);
    if (lost > 0) {
        log_line(&audit->log, LOG_WARNING, "audit-log \"%.200s\": %llu lines were lost",
                 audit->path, (unsigned long long)lost);
    }
    if (stopped) {
        free_audit(audit);
    }
}
