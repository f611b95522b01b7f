/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit's reader: requests to masters by name, their replies in order, and transactions. */
#include "redis/audit/audit_reader.h"

#include "base/check.h"
#include "base/resp_write.h"

#include <hiredis/alloc.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_MS 10000 /* a reply may take so long at least: some requests read much */
#define TICK_MS 100      /* by which the wait for a reply is measured */

/* A request to a master, until its reply is taken. */
struct audit_request {
    struct redis_request request; /* the first member */
    struct list node;
    struct memory memory;
    struct buffer bytes;
    bool answered;
    redisReply *reply; /* NULL: there is none, `problem` says why */
    struct problem problem;
};

enum hf_error audit_reader_fail(struct audit_reader *reader, enum hf_error code, const char *format,
                                ...)
{
    char text[MESSAGE_SIZE];
    va_list args;

    if (reader->code == HF_OK) {
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        reader->code = problem_set(reader->problem, code, "%s", text);
    }
    return reader->code;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* A copy that outlives the client's callback; NULL when there is no memory. */
static redisReply *copy_reply(const redisReply *from)
{
    redisReply *to = hi_calloc(1, sizeof *to);

    if (to == NULL) {
        return NULL;
    }
    to->type = from->type;
    to->integer = from->integer;
    if (from->str != NULL && (to->str = hi_malloc(from->len + 1)) != NULL) {
        memcpy(to->str, from->str, from->len + 1);
        to->len = from->len;
    }
    if (from->elements > 0) {
        to->element = hi_calloc(from->elements, sizeof(redisReply *));
    }
    bool copied =
        (from->str == NULL || to->str != NULL) && (from->elements == 0 || to->element != NULL);
    for (size_t i = 0; copied && i < from->elements; i++) {
        to->element[i] = copy_reply(from->element[i]);
        copied = to->element[i] != NULL;
        to->elements = i + 1;
    }
    if (!copied) {
        freeReplyObject(to);
        return NULL;
    }
    return to;
}

static void on_done(struct redis_request *request, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    struct audit_request *asked = (struct audit_request *)request;

    asked->answered = true;
    if (fate == REDIS_ANSWERED) {
        asked->reply = copy_reply(reply);
        problem_set(&asked->problem, HF_BUSY, "not enough memory for the audit");
    } else {
        asked->problem = *problem;
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

struct audit_wanted_master {
    const char *name;
    struct redis_node *node; /* NULL: it is no master now */
};

static void match_master(void *context, struct redis_node *node)
{
    struct audit_wanted_master *wanted = context;

    if (strcmp(redis_node_name(node), wanted->name) == 0) {
        wanted->node = node;
    }
}

static struct audit_request *new_request(size_t count, const struct hf_bytes *words)
{
    struct audit_request *asked = calloc(1, sizeof *asked);

    if (asked == NULL) {
        return NULL;
    }
    memory_init(&asked->memory);
    buffer_init(&asked->bytes, &asked->memory);
    resp_number(&asked->bytes, '*', (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        resp_text(&asked->bytes, words[i]);
    }
    if (asked->bytes.failed) {
        buffer_free(&asked->bytes);
        free(asked);
        return NULL;
    }
    return asked;
}

static void free_request(struct audit_request *asked)
{
    freeReplyObject(asked->reply);
    buffer_free(&asked->bytes);
    free(asked);
}

/* A master that has left the cluster answers as it would itself: its slots are elsewhere. */
static void answer_moved(struct audit_request *asked)
{
    static char text[] = "MOVED";
    redisReply reply = {.type = REDIS_REPLY_ERROR, .str = text, .len = sizeof text - 1};

    on_done(&asked->request, REDIS_ANSWERED, &reply, NULL);
}

void audit_reader_ask(struct audit_reader *reader, size_t master, size_t count,
                      const struct hf_bytes *words)
{
    struct audit_wanted_master wanted = {.name = reader->names[master]};

    if (reader->code != HF_OK) {
        return;
    }
    struct audit_request *asked = new_request(count, words);
    if (asked == NULL) {
        audit_reader_fail(reader, HF_BUSY, "not enough memory for the audit");
        return;
    }
    list_add_last(&reader->requests[master], &asked->node);
    reader->queued++;
    redis_client_masters(reader->client, match_master, &wanted);
    if (wanted.node == NULL) {
        answer_moved(asked);
        return;
    }
    asked->request = (struct redis_request){.bytes = asked->bytes.data,
                                            .size = asked->bytes.size,
                                            .slot = -1,
                                            .node = wanted.node,
                                            .verbatim = true,
                                            .timeout_ms = INT32_MAX, /* await() has the limit */
                                            .done = on_done};
    redis_client_send(reader->client, &asked->request);
}

static void on_tick(uv_timer_t *timer)
{
    struct audit_reader *reader = timer->data;
    reader->ticks++;
}

/* Runs the loop until the reply is there, or the time for it is over. Only time in which the loop
 * runs counts, tick by tick: while a finding is reported, or the process is stopped, replies lie in
 * the socket, and no server is to blame for that. */
static bool await(struct audit_reader *reader, const struct audit_request *asked)
{
    if (asked->answered) {
        return true;
    }
    reader->ticks = 0;
    uv_update_time(&reader->loop);
    uv_timer_start(&reader->timer, on_tick, TICK_MS, TICK_MS);
    while (!asked->answered && reader->ticks < reader->ticks_max) {
        uv_run(&reader->loop, UV_RUN_ONCE);
    }
    uv_timer_stop(&reader->timer);
    return asked->answered;
}

redisReply *audit_reader_answer(struct audit_reader *reader, size_t master)
{
    if (reader->code != HF_OK) {
        return NULL;
    }
    struct audit_request *asked =
        LIST_ENTRY(reader->requests[master].next, struct audit_request, node);
    if (!await(reader, asked)) {
        audit_reader_fail(reader, HF_ENGINE_DOWN, "cannot read redis %s: no answer within %lld ms",
                          reader->names[master], (long long)reader->ticks_max * TICK_MS);
        return NULL;
    }
    redisReply *reply = asked->reply;
    if (reply == NULL) {
        enum hf_error code = asked->problem.code == HF_BUSY ? HF_BUSY : HF_ENGINE_DOWN;
        audit_reader_fail(reader, code, "cannot read redis %s: %s", reader->names[master],
                          asked->problem.message);
    } else if (reply->type == REDIS_REPLY_ERROR &&
               (strncmp(reply->str, "NOPERM", 6) == 0 || strncmp(reply->str, "NOAUTH", 6) == 0)) {
        audit_reader_fail(reader, HF_ENGINE_DOWN, "redis %s does not let us read it: %s",
                          reader->names[master], reply->str);
    }
    list_remove(&asked->node);
    CHECK(reader->requests[master].next != &asked->node);
    asked->reply = NULL;
    free_request(asked);
    return reply;
}

/* ---- transactions ---------------------------------------------------------------------------- */

void audit_reader_begin(struct audit_reader *reader, size_t master)
{
    AUDIT_ASK(reader, master, hf_text("MULTI"));
    reader->queued = 0;
}

/* Takes one of the answers between MULTI and EXEC: QUEUED, or an error, which EXEC then repeats. So
 * only the reason why a Redis queues nothing at all is of interest here. */
static void take_queued(struct audit_reader *reader, size_t master)
{
    redisReply *reply = audit_reader_answer(reader, master);

    if (reply != NULL && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "OOM ", 4) == 0) {
        audit_reader_fail(
            reader, HF_ENGINE_DOWN,
            "redis %s is out of memory (maxmemory), which keeps it from being audited: %s",
            reader->names[master], reply->str);
    }
    freeReplyObject(reply);
}

redisReply *audit_reader_commit(struct audit_reader *reader, size_t master)
{
    size_t queued = reader->queued;

    AUDIT_ASK(reader, master, hf_text("EXEC"));
    for (size_t i = 0; i < queued + 1; i++) {
        take_queued(reader, master);
    }
    redisReply *reply = audit_reader_answer(reader, master);
    if (reply != NULL && (reply->type != REDIS_REPLY_ARRAY || reply->elements != queued)) {
        freeReplyObject(reply);
        return NULL;
    }
    return reply;
}

/* ---- masters --------------------------------------------------------------------------------- */

/* Which of the masters has this name; it is added if it is new. */
static size_t master_named(struct audit_reader *reader, const char *name)
{
    size_t i = 0;

    while (i < reader->count && strcmp(reader->names[i], name) != 0) {
        i++;
    }
    if (i == AUDIT_MASTERS_MAX) {
        audit_reader_fail(reader, HF_ENGINE_DOWN, "cannot use redis %s: there are too many of them",
                          name);
        return 0;
    }
    if (i == reader->count) {
        snprintf(reader->names[i], sizeof reader->names[i], "%s", name);
        list_init(&reader->requests[i]);
        reader->count++;
    }
    return i;
}

static void add_master(void *context, struct redis_node *node)
{
    master_named(context, redis_node_name(node));
}

void audit_reader_refresh(struct audit_reader *reader)
{
    redis_client_masters(reader->client, add_master, reader);
}

size_t audit_reader_owner(struct audit_reader *reader, struct hf_bytes key)
{
    struct redis_node *owner = NULL;

    if (reader->code == HF_OK && reader->url->kind == REDIS_CLUSTER) {
        owner = redis_client_owner(reader->client, redis_slot(key));
    }
    return owner != NULL ? master_named(reader, redis_node_name(owner)) : 0;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void on_pause_over(uv_timer_t *timer)
{
    struct audit_reader *reader = timer->data;
    reader->waits = false;
}

static void run_while_waiting(struct audit_reader *reader)
{
    while (reader->waits) {
        uv_run(&reader->loop, UV_RUN_ONCE);
    }
}

void audit_reader_pause(struct audit_reader *reader, uint64_t ms)
{
    reader->waits = true;
    uv_update_time(&reader->loop);
    uv_timer_start(&reader->timer, on_pause_over, ms, 0);
    run_while_waiting(reader);
}

static void on_ready(void *context, const struct problem *problem)
{
    struct audit_reader *reader = context;

    reader->waits = false;
    if (problem != NULL) {
        audit_reader_fail(reader, HF_ENGINE_DOWN, "%s", problem->message);
    }
}

enum hf_error audit_reader_open(struct audit_reader *reader, const struct redis_url *url,
                                struct problem *problem)
{
    struct redis_url own = *url;
    struct redis_client_options options = {
        .url = &own,
        .loop = &reader->loop,
        .log = {.level = LOG_ERROR}, /* the audit itself says what failed */
        .ready = on_ready,
        .context = reader,
    };

    *reader = (struct audit_reader){.url = url, .problem = problem};
    uv_loop_init(&reader->loop);
    uv_timer_init(&reader->loop, &reader->timer);
    reader->timer.data = reader;
    if (url->kind == REDIS_REDLOCK || url->host_count == 0) {
        return audit_reader_fail(
            reader, HF_INVALID_ARGUMENT,
            "locks on independent servers have no totals that could be audited");
    }
    own.queue = UINT_MAX;
    own.wait_replicas = 0; /* it changes nothing, and its transactions have no room for a WAIT */
    own.wait_aof = false;
    own.timeout_ms = url->timeout_ms > COMMAND_MS ? url->timeout_ms : COMMAND_MS;
    reader->ticks_max = own.timeout_ms / TICK_MS;
    reader->client = redis_client_open(&options);
    if (reader->client == NULL) {
        return audit_reader_fail(reader, HF_BUSY, "not enough memory for the audit");
    }
    reader->waits = true;
    run_while_waiting(reader);
    if (reader->code == HF_OK) {
        audit_reader_refresh(reader);
    }
    return reader->code;
}

static void on_closed(void *context)
{
    struct audit_reader *reader = context;
    reader->client = NULL;
}

void audit_reader_close(struct audit_reader *reader)
{
    if (reader->client != NULL) {
        redis_client_close(reader->client, on_closed, reader); /* answers every request */
    }
    uv_close((uv_handle_t *)&reader->timer, NULL);
    uv_run(&reader->loop, UV_RUN_DEFAULT);
    uv_loop_close(&reader->loop);
    for (size_t i = 0; i < reader->count; i++) {
        for (struct list *at = reader->requests[i].next, *next; at != &reader->requests[i];
             at = next) {
            next = at->next;
            free_request(LIST_ENTRY(at, struct audit_request, node));
        }
    }
    reader->count = 0;
}
