/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs commands on a server over a pool of connections, each used by one thread at a time, and
 * says of every failure whether the command can have been carried out. */
#include "library/remote.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "command/words.h"
#include "library/remote_connection.h"

#include <stdlib.h>

/* Calls that wait in line may not take the last connections: the heartbeats of the holders of what
 * they wait for have to get through. */
#define CONNECTIONS_MAX 80
#define CONNECTIONS_WAITING_MAX 64

struct remote {
    struct remote_url url;
    struct tls *tls;
    bool greeted;          /* it is there, and nothing but PING was sent before */
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t freed;
    struct list idle; /* the one used last comes last */
    unsigned open;    /* idle or in use */
    unsigned waiting; /* in use by calls that wait in line */
};

/* ---- the pool -------------------------------------------------------------------------------- */

static uint64_t deadline_in(int64_t ms)
{
    return clock_nanoseconds() + (uint64_t)ms * 1000000;
}

/* A call is over, or has failed to begin: its connection is idle again, or with NULL there is one
 * less. */
static void leave(struct remote *remote, struct remote_connection *connection, bool waits)
{
    pthread_mutex_lock(&remote->mutex);
    if (connection != NULL) {
        list_add_last(&remote->idle, &connection->node);
    } else {
        remote->open--;
    }
    remote->waiting -= waits;
    pthread_cond_broadcast(&remote->freed);
    pthread_mutex_unlock(&remote->mutex);
}

static bool is_room(const struct remote *remote, bool waits)
{
    return (!list_empty(&remote->idle) || remote->open < CONNECTIONS_MAX) &&
           (!waits || remote->waiting < CONNECTIONS_WAITING_MAX);
}

/* An idle connection, or NULL and leave to open one. False if the time is up first. */
static bool enter(struct remote *remote, bool waits, uint64_t deadline_ns,
                  struct remote_connection **connection)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                             .tv_nsec = (long)(deadline_ns % 1000000000)};
    bool in_time = true;

    pthread_mutex_lock(&remote->mutex);
    while (!is_room(remote, waits) && in_time) {
        in_time = pthread_cond_timedwait(&remote->freed, &remote->mutex, &until) == 0;
    }
    bool entered = is_room(remote, waits);
    *connection = NULL;
    if (entered) {
        remote->waiting += waits;
        if (list_empty(&remote->idle)) {
            remote->open++;
        } else {
            *connection = LIST_ENTRY(remote->idle.prev, struct remote_connection, node);
            list_remove(&(*connection)->node);
        }
    }
    pthread_mutex_unlock(&remote->mutex);
    return entered;
}

/* A connection for one call, to be given to leave(). One that the server has closed meanwhile is
 * replaced. */
static struct remote_connection *take(struct remote *remote, bool waits, uint64_t deadline_ns,
                                      struct problem *problem)
{
    struct remote_connection *connection;

    if (!enter(remote, waits, deadline_ns, &connection)) {
        problem_set(problem, HF_BUSY,
                    "all connections to the server are in use; nothing was changed");
        return NULL;
    }
    if (connection != NULL && remote_connection_is_open(connection)) {
        return connection;
    }
    remote_connection_close(connection);
    connection = remote_connection_open(&remote->url, remote->tls, deadline_ns, problem);
    if (connection == NULL) {
        leave(remote, NULL, waits);
    }
    return connection;
}

/* ---- a call ---------------------------------------------------------------------------------- */

static enum hf_error failed(const struct remote *remote, enum exchanged exchanged, const char *why,
                            struct problem *problem)
{
    if (exchanged == NOT_SENT || !remote->greeted) {
        return problem_set(problem, HF_ENGINE_DOWN, "%s:%u: %.120s; nothing was changed",
                           remote->url.host, remote->url.port, why);
    }
    return problem_set(problem, HF_TIMEOUT,
                       "outcome unknown: %s:%u: %.120s; ask again with the same id",
                       remote->url.host, remote->url.port, why);
}

/* Sends what is in connection->out and reads the answer. A connection that failed is gone. */
static enum hf_error exchange(struct remote *remote, struct remote_connection *connection,
                              bool waits, uint64_t deadline_ns, answer_reader *read, void *context,
                              struct problem *problem)
{
    char why[MESSAGE_SIZE];
    enum exchanged exchanged =
        remote_connection_exchange(connection, deadline_ns, read, context, why);

    if (exchanged == ANSWERED) {
        return HF_OK;
    }
    remote_connection_close(connection);
    leave(remote, NULL, waits);
    return failed(remote, exchanged, why, problem);
}

/* How long a command says that it waits. */
static int64_t wait_of(const struct command *command)
{
    const struct command_spec *spec = command->spec;
    int64_t wait_ms = 0;

    for (size_t i = 0; i < spec->arg_count; i++) {
        if (spec->args[i].type == ARG_WAIT) {
            memcpy(&wait_ms, command_arg(command, &spec->args[i]), sizeof wait_ms);
        }
    }
    return wait_ms;
}

struct expected {
    const struct command_spec *spec;
    struct reply *reply;
};

static enum resp_state read_reply(void *context, struct hf_bytes bytes, size_t *size)
{
    const struct expected *expected = context;
    return reply_from_resp(expected->reply, expected->spec, bytes, size);
}

/* *answered says whether `use` was called. */
static enum hf_error run(struct remote *remote, const struct command *command, handle_use *use,
                         void *context, bool *answered, struct problem *problem)
{
    int64_t timeout_ms = remote->url.timeout_ms;
    int64_t wait_ms = wait_of(command);
    bool waits = wait_ms > 0;
    struct remote_connection *connection = take(remote, waits, deadline_in(timeout_ms), problem);

    if (connection == NULL) {
        return problem->code;
    }
    struct expected expected = {command->spec, &connection->reply};
    buffer_clear(&connection->out);
    command_to_resp(command, &connection->out);
    if (exchange(remote, connection, waits, deadline_in(timeout_ms + wait_ms), read_reply,
                 &expected, problem) != HF_OK) {
        return problem->code;
    }
    *answered = true;
    enum hf_error code = connection->reply.code;
    if (code != HF_OK) {
        problem->code = code;
        reply_message(&connection->reply, problem->message);
    }
    if (use != NULL) {
        use(context, &connection->reply);
    }
    leave(remote, connection, waits);
    return code;
}

enum hf_error remote_run(struct remote *remote, const struct command *command, handle_use *use,
                         void *context, struct problem *problem)
{
    bool answered = false;
    enum hf_error code = run(remote, command, use, context, &answered, problem);

    if (!answered) {
        handle_use_problem(problem, use, context);
    }
    return code;
}

/* ---- several calls at once ------------------------------------------------------------------- */

/* Commands that were sent together: their answers come one behind the other. */
struct expected_all {
    struct reply *reply;
    struct handle_call *calls;
    size_t count, answered;
    size_t offset; /* where the answers end that were used already */
};

static void use_reply(struct handle_call *call, const struct reply *reply)
{
    call->done = true;
    call->problem.code = reply->code;
    if (reply->code != HF_OK) {
        reply_message(reply, call->problem.message);
    }
    if (call->use != NULL) {
        call->use(call->context, reply);
    }
}

static enum resp_state read_replies(void *context, struct hf_bytes bytes, size_t *size)
{
    struct expected_all *all = context;

    while (all->answered < all->count) {
        struct handle_call *call = &all->calls[all->answered];
        struct hf_bytes rest = {bytes.data + all->offset, bytes.size - all->offset};
        enum resp_state state = reply_from_resp(all->reply, call->command->spec, rest, size);
        *size += all->offset;
        if (state != RESP_DONE) {
            return state;
        }
        use_reply(call, all->reply);
        all->answered++;
        all->offset = *size;
    }
    return RESP_DONE;
}

static int64_t allowed_ms(const struct remote *remote, int64_t timeout_ms)
{
    return timeout_ms > 0 && timeout_ms < remote->url.timeout_ms ? timeout_ms
                                                                 : remote->url.timeout_ms;
}

/* HF_OK, or why some of the calls are not done. */
static enum hf_error run_all(struct remote *remote, struct handle_call *calls, size_t count,
                             int64_t timeout_ms, struct problem *problem)
{
    uint64_t deadline_ns = deadline_in(timeout_ms);
    struct remote_connection *connection = take(remote, false, deadline_ns, problem);

    if (connection == NULL) {
        return problem->code;
    }
    struct expected_all all = {.reply = &connection->reply, .calls = calls, .count = count};
    buffer_clear(&connection->out);
    for (size_t i = 0; i < count; i++) {
        command_to_resp(calls[i].command, &connection->out);
    }
    enum hf_error code =
        exchange(remote, connection, false, deadline_ns, read_replies, &all, problem);
    if (code == HF_OK) {
        leave(remote, connection, false);
    }
    return code;
}

void remote_run_all(struct remote *remote, struct handle_call *calls, size_t count,
                    int64_t timeout_ms)
{
    struct problem problem;

    for (size_t i = 0; i < count; i++) {
        calls[i].done = false;
    }
    if (run_all(remote, calls, count, allowed_ms(remote, timeout_ms), &problem) == HF_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!calls[i].done) {
            calls[i].problem = problem;
            handle_use_problem(&problem, calls[i].use, calls[i].context);
            calls[i].done = true;
        }
    }
}

enum hf_error remote_ask(struct remote *remote, const char *word, int64_t timeout_ms,
                         answer_reader *read, void *context, struct problem *problem)
{
    int64_t connect_ms = remote->url.timeout_ms;
    struct remote_connection *connection = take(remote, false, deadline_in(connect_ms), problem);

    if (connection == NULL) {
        return problem->code;
    }
    remote_connection_words(connection, 1, &word);
    enum hf_error code =
        exchange(remote, connection, false, deadline_in(timeout_ms > 0 ? timeout_ms : connect_ms),
                 read, context, problem);
    if (code == HF_OK) {
        leave(remote, connection, false);
    }
    return code;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void init_pool(struct remote *remote)
{
    thread_condition(&remote->freed);
    pthread_mutex_init(&remote->mutex, NULL);
    list_init(&remote->idle);
}

/* Is it there, is it one of ours, and does it let us in? One that is still loading is. */
static enum hf_error greet(struct remote *remote, struct problem *problem)
{
    struct problem status = {.code = HF_OK};
    enum hf_error code =
        remote_ask(remote, "PING", 0, remote_connection_read_status, &status, problem);

    if (code == HF_OK && status.code != HF_OK && status.code != HF_LOADING) {
        *problem = status;
        code = status.code;
    }
    return code;
}

enum hf_error remote_open(const char *url, struct remote **remote, struct problem *problem)
{
    struct remote *opened = calloc(1, sizeof *opened);

    *remote = NULL;
    if (opened == NULL) {
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    init_pool(opened);
    enum hf_error code = remote_url_read(url, &opened->url, problem);
    if (code == HF_OK && opened->url.tls) {
        const char *ca = opened->url.ca[0] != '\0' ? opened->url.ca : NULL;
        opened->tls = tls_client(&(struct tls_client_options){.ca = ca}, problem);
        code = opened->tls != NULL ? HF_OK : problem->code;
    }
    if (code == HF_OK) {
        code = greet(opened, problem);
    }
    if (code != HF_OK) {
        remote_close(opened);
        return code;
    }
    opened->greeted = true;
    *remote = opened;
    return HF_OK;
}

void remote_close(struct remote *remote)
{
    if (remote == NULL) {
        return;
    }
    while (!list_empty(&remote->idle)) {
        struct remote_connection *connection =
            LIST_ENTRY(remote->idle.next, struct remote_connection, node);
        list_remove(&connection->node);
        remote_connection_close(connection);
    }
    tls_free(remote->tls);
    pthread_cond_destroy(&remote->freed);
    pthread_mutex_destroy(&remote->mutex);
    explicit_bzero(&remote->url, sizeof remote->url);
    free(remote);
}
