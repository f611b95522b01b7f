/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/audit/audit_reader.h"

#include "base/check.h"
#include "redis/client/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_MS 10000 /* at least: some of the questions are long */
#define WORDS_MAX 4096

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

/* ---- asking ---------------------------------------------------------------------------------- */

static void ask(redisContext *context, size_t count, const struct hf_bytes *words)
{
    const char *texts[WORDS_MAX];
    size_t sizes[WORDS_MAX];

    CHECK(count <= WORDS_MAX);
    for (size_t i = 0; i < count; i++) {
        texts[i] = words[i].data;
        sizes[i] = words[i].size;
    }
    redisAppendCommandArgv(context, (int)count, texts, sizes); /* what fails shows in the answer */
}

static redisReply *answer(redisContext *context)
{
    void *reply = NULL;
    return redisGetReply(context, &reply) == REDIS_OK ? reply : NULL;
}

static redisReply *ask_once(redisContext *context, size_t count, const struct hf_bytes *words)
{
    ask(context, count, words);
    return answer(context);
}

#define ASK_ONCE(context, ...)                                                                     \
    ask_once(context, sizeof((struct hf_bytes[]){__VA_ARGS__}) / sizeof(struct hf_bytes),          \
             (struct hf_bytes[]){__VA_ARGS__})

void audit_reader_ask(struct audit_reader *reader, size_t master, size_t count,
                      const struct hf_bytes *words)
{
    if (reader->code == HF_OK) {
        ask(reader->contexts[master], count, words);
        reader->queued++;
    }
}

redisReply *audit_reader_answer(struct audit_reader *reader, size_t master)
{
    redisReply *reply = reader->code == HF_OK ? answer(reader->contexts[master]) : NULL;

    if (reply == NULL && reader->code == HF_OK) {
        audit_reader_fail(reader, HF_ENGINE_DOWN, "lost the connection to redis %s: %s",
                          reader->names[master], reader->contexts[master]->errstr);
    }
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
        (strncmp(reply->str, "NOPERM", 6) == 0 || strncmp(reply->str, "NOAUTH", 6) == 0)) {
        audit_reader_fail(reader, HF_ENGINE_DOWN, "redis %s does not let us read it: %s",
                          reader->names[master], reply->str);
    }
    return reply;
}

void audit_reader_begin(struct audit_reader *reader, size_t master)
{
    AUDIT_ASK(reader, master, hf_text("MULTI"));
    reader->queued = 0;
}

/* Between MULTI and EXEC each question is answered QUEUED, or with what is wrong with it, which
 * EXEC then says again: nobody has to look at those, except at why a Redis queues nothing at
 * all. */
static void look_at_queued(struct audit_reader *reader, size_t master)
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
        look_at_queued(reader, master);
    }
    redisReply *reply = audit_reader_answer(reader, master);
    if (reply != NULL && (reply->type != REDIS_REPLY_ARRAY || reply->elements != queued)) {
        freeReplyObject(reply);
        return NULL;
    }
    return reply;
}

/* ---- connecting ------------------------------------------------------------------------------ */

static struct timeval to_timeval(int64_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

/* NULL with the reason in `why`. */
static redisContext *connect_to(const struct redis_url *url, const char *host, uint16_t port,
                                char why[MESSAGE_SIZE])
{
    int64_t command_ms = url->timeout_ms > COMMAND_MS ? url->timeout_ms : COMMAND_MS;
    redisContext *context =
        redisConnectWithTimeout(host, port, to_timeval(url->connect_timeout_ms));

    if (context == NULL || context->err != 0) {
        snprintf(why, MESSAGE_SIZE, "%s", context != NULL ? context->errstr : "out of memory");
        redisFree(context);
        return NULL;
    }
    redisSetTimeout(context, to_timeval(command_ms));
    return context;
}

/* Is it a good answer? If not, `why` says what it was. Frees it. */
static bool is_good(redisContext *context, redisReply *reply, char why[MESSAGE_SIZE])
{
    bool good = reply != NULL && reply->type != REDIS_REPLY_ERROR;

    if (!good) {
        snprintf(why, MESSAGE_SIZE, "%s", reply != NULL ? reply->str : context->errstr);
    }
    freeReplyObject(reply);
    return good;
}

/* Says who we are, if there is a password. */
static bool log_in(const struct redis_url *url, redisContext *context, char why[MESSAGE_SIZE])
{
    if (url->password[0] == '\0') {
        return true;
    }
    struct hf_bytes words[] = {hf_text("AUTH"), hf_text(url->username), hf_text(url->password)};
    size_t count = 3;

    if (url->username[0] == '\0') {
        words[1] = words[2];
        count = 2;
    }
    return is_good(context, ask_once(context, count, words), why);
}

static bool choose_database(const struct redis_url *url, redisContext *context,
                            char why[MESSAGE_SIZE])
{
    char number[12];

    snprintf(number, sizeof number, "%d", url->database);
    return url->database == 0 ||
           is_good(context, ASK_ONCE(context, hf_text("SELECT"), hf_text(number)), why);
}

/* Adds a master, unless it is there already. Returns which it is; AUDIT_MASTERS_MAX if it failed. */
static size_t add_master(struct audit_reader *reader, const char *host, uint16_t port)
{
    char why[MESSAGE_SIZE] = "there are too many of them", name[sizeof reader->names[0]];

    snprintf(name, sizeof name, "%s:%u", host, port);
    for (size_t i = 0; i < reader->count; i++) {
        if (strcmp(reader->names[i], name) == 0) {
            return i;
        }
    }
    redisContext *context =
        reader->count < AUDIT_MASTERS_MAX ? connect_to(reader->url, host, port, why) : NULL;
    if (context == NULL || !log_in(reader->url, context, why) ||
        !choose_database(reader->url, context, why)) {
        redisFree(context);
        audit_reader_fail(reader, HF_ENGINE_DOWN, "cannot use redis %s: %s", name, why);
        return AUDIT_MASTERS_MAX;
    }
    memcpy(reader->names[reader->count], name, sizeof name);
    reader->contexts[reader->count] = context;
    return reader->count++;
}

/* ---- a cluster ------------------------------------------------------------------------------- */

/* One row of CLUSTER SLOTS: first, last, [host, port, …] of the master, then its replicas. */
static bool take_slots(struct audit_reader *reader, const redisReply *row, const char *asked)
{
    if (row->type != REDIS_REPLY_ARRAY || row->elements < 3 ||
        row->element[2]->type != REDIS_REPLY_ARRAY || row->element[2]->elements < 2) {
        return false;
    }
    const redisReply *host = row->element[2]->element[0], *port = row->element[2]->element[1];
    int64_t first = row->element[0]->integer, last = row->element[1]->integer;
    if (first < 0 || last >= SLOTS || first > last || port->integer < 1 || port->integer > 65535) {
        return false;
    }
    bool known = host->type == REDIS_REPLY_STRING && host->len > 0 && strcmp(host->str, "?") != 0;
    size_t master = add_master(reader, known ? host->str : asked, (uint16_t)port->integer);
    if (master == AUDIT_MASTERS_MAX) {
        return true; /* audit_reader_fail() has said why */
    }
    memset(reader->owners + first, (int)master, (size_t)(last - first + 1));
    return true;
}

static bool read_slots(struct audit_reader *reader, redisContext *context, const char *asked,
                       char why[MESSAGE_SIZE])
{
    redisReply *reply = ASK_ONCE(context, hf_text("CLUSTER"), hf_text("SLOTS"));
    bool good = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0;

    for (size_t i = 0; good && i < reply->elements; i++) {
        good = take_slots(reader, reply->element[i], asked);
    }
    if (!good) {
        snprintf(why, MESSAGE_SIZE, "%s",
                 reply == NULL                      ? context->errstr
                 : reply->type == REDIS_REPLY_ERROR ? reply->str
                                                    : "it knows of no slots");
    }
    freeReplyObject(reply);
    return good;
}

static bool learn_cluster(struct audit_reader *reader, const struct redis_host *host,
                          char why[MESSAGE_SIZE])
{
    redisContext *context = connect_to(reader->url, host->name, host->port, why);
    bool good = context != NULL && log_in(reader->url, context, why) &&
                read_slots(reader, context, host->name, why);

    redisFree(context);
    return good;
}

/* ---- Sentinel -------------------------------------------------------------------------------- */

/* Asks a Sentinel who the master is. One that wants no password says so, and answers all the same.
 */
static bool ask_sentinel(struct audit_reader *reader, const struct redis_host *host,
                         char why[MESSAGE_SIZE])
{
    redisContext *context = connect_to(reader->url, host->name, host->port, why);

    if (context == NULL) {
        return false;
    }
    (void)log_in(reader->url, context, why);
    redisReply *reply = ASK_ONCE(context, hf_text("SENTINEL"), hf_text("GET-MASTER-ADDR-BY-NAME"),
                                 hf_text(reader->url->master));
    bool good = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    if (good) {
        add_master(reader, reply->element[0]->str,
                   (uint16_t)strtoul(reply->element[1]->str, NULL, 10));
    } else {
        snprintf(why, MESSAGE_SIZE, "%s",
                 reply == NULL                      ? context->errstr
                 : reply->type == REDIS_REPLY_ERROR ? reply->str
                                                    : "it knows no master of that name");
    }
    freeReplyObject(reply);
    redisFree(context);
    return good;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static bool add_only(struct audit_reader *reader, const struct redis_host *host,
                     char why[MESSAGE_SIZE])
{
    (void)why;
    add_master(reader, host->name, host->port);
    return true;
}

void audit_reader_refresh(struct audit_reader *reader)
{
    static bool (*const learn[])(struct audit_reader *, const struct redis_host *, char *) = {
        [REDIS_STANDALONE] = add_only,
        [REDIS_SENTINEL] = ask_sentinel,
        [REDIS_CLUSTER] = learn_cluster,
    };
    const struct redis_url *url = reader->url;
    char why[MESSAGE_SIZE] = "";

    for (size_t i = 0; i < url->host_count; i++) {
        if (learn[url->kind](reader, &url->hosts[i], why)) {
            return; /* or it has failed for good */
        }
    }
    const struct redis_host *last = &url->hosts[url->host_count - 1];
    audit_reader_fail(reader, HF_ENGINE_DOWN, "cannot ask redis %s:%u: %s", last->name, last->port,
                      why);
}

enum hf_error audit_reader_open(struct audit_reader *reader, const struct redis_url *url,
                                struct problem *problem)
{
    *reader = (struct audit_reader){.url = url, .problem = problem};
    if (url->kind == REDIS_REDLOCK || url->host_count == 0) {
        return audit_reader_fail(
            reader, HF_INVALID_ARGUMENT,
            "locks on independent servers have no totals that could be audited");
    }
    audit_reader_refresh(reader);
    return reader->code;
}

void audit_reader_close(struct audit_reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        redisFree(reader->contexts[i]);
    }
    reader->count = 0;
}

size_t audit_reader_owner(const struct audit_reader *reader, struct hf_bytes key)
{
    return reader->url->kind == REDIS_CLUSTER ? reader->owners[redis_slot(key)] : 0;
}
