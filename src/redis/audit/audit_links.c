/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/audit/audit_links.h"

#include "base/check.h"
#include "redis/client/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_MS 10000 /* at least: some of the questions are long */
#define WORDS_MAX 4096

enum hf_error links_fail(struct links *links, enum hf_error code, const char *format, ...)
{
    char text[MESSAGE_SIZE];
    va_list args;

    if (links->code == HF_OK) {
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        links->code = problem_set(links->problem, code, "%s", text);
    }
    return links->code;
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

void links_ask(struct links *links, size_t link, size_t count, const struct hf_bytes *words)
{
    if (links->code == HF_OK) {
        ask(links->contexts[link], count, words);
        links->queued++;
    }
}

redisReply *links_answer(struct links *links, size_t link)
{
    redisReply *reply = links->code == HF_OK ? answer(links->contexts[link]) : NULL;

    if (reply == NULL && links->code == HF_OK) {
        links_fail(links, HF_ENGINE_DOWN, "lost the connection to redis %s: %s", links->names[link],
                   links->contexts[link]->errstr);
    }
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
        (strncmp(reply->str, "NOPERM", 6) == 0 || strncmp(reply->str, "NOAUTH", 6) == 0)) {
        links_fail(links, HF_ENGINE_DOWN, "redis %s does not let us read it: %s",
                   links->names[link], reply->str);
    }
    return reply;
}

void links_begin(struct links *links, size_t link)
{
    ASK(links, link, hf_text("MULTI"));
    links->queued = 0;
}

/* Between MULTI and EXEC each question is answered QUEUED, or with what is wrong with it, which
 * EXEC then says again: nobody has to look at those, except at why a Redis queues nothing at
 * all. */
static void look_at_queued(struct links *links, size_t link)
{
    redisReply *reply = links_answer(links, link);

    if (reply != NULL && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "OOM ", 4) == 0) {
        links_fail(links, HF_ENGINE_DOWN,
                   "redis %s is out of memory (maxmemory), which keeps it from being audited: %s",
                   links->names[link], reply->str);
    }
    freeReplyObject(reply);
}

redisReply *links_commit(struct links *links, size_t link)
{
    size_t queued = links->queued;

    ASK(links, link, hf_text("EXEC"));
    for (size_t i = 0; i < queued + 1; i++) {
        look_at_queued(links, link);
    }
    redisReply *reply = links_answer(links, link);
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

/* Adds a master, unless it is there already. Returns which it is; LINKS_MAX if it failed. */
static size_t add_master(struct links *links, const char *host, uint16_t port)
{
    char why[MESSAGE_SIZE] = "there are too many of them", name[sizeof links->names[0]];

    snprintf(name, sizeof name, "%s:%u", host, port);
    for (size_t i = 0; i < links->count; i++) {
        if (strcmp(links->names[i], name) == 0) {
            return i;
        }
    }
    redisContext *context =
        links->count < LINKS_MAX ? connect_to(links->url, host, port, why) : NULL;
    if (context == NULL || !log_in(links->url, context, why) ||
        !choose_database(links->url, context, why)) {
        redisFree(context);
        links_fail(links, HF_ENGINE_DOWN, "cannot use redis %s: %s", name, why);
        return LINKS_MAX;
    }
    memcpy(links->names[links->count], name, sizeof name);
    links->contexts[links->count] = context;
    return links->count++;
}

/* ---- a cluster ------------------------------------------------------------------------------- */

/* One row of CLUSTER SLOTS: first, last, [host, port, …] of the master, then its replicas. */
static bool take_slots(struct links *links, const redisReply *row, const char *asked)
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
    size_t link = add_master(links, known ? host->str : asked, (uint16_t)port->integer);
    if (link == LINKS_MAX) {
        return true; /* links_fail() has said why */
    }
    memset(links->owners + first, (int)link, (size_t)(last - first + 1));
    return true;
}

static bool read_slots(struct links *links, redisContext *context, const char *asked,
                       char why[MESSAGE_SIZE])
{
    redisReply *reply = ASK_ONCE(context, hf_text("CLUSTER"), hf_text("SLOTS"));
    bool good = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0;

    for (size_t i = 0; good && i < reply->elements; i++) {
        good = take_slots(links, reply->element[i], asked);
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

static bool learn_cluster(struct links *links, const struct redis_host *host,
                          char why[MESSAGE_SIZE])
{
    redisContext *context = connect_to(links->url, host->name, host->port, why);
    bool good = context != NULL && log_in(links->url, context, why) &&
                read_slots(links, context, host->name, why);

    redisFree(context);
    return good;
}

/* ---- Sentinel -------------------------------------------------------------------------------- */

/* Asks a Sentinel who the master is. One that wants no password says so, and answers all the same.
 */
static bool ask_sentinel(struct links *links, const struct redis_host *host, char why[MESSAGE_SIZE])
{
    redisContext *context = connect_to(links->url, host->name, host->port, why);

    if (context == NULL) {
        return false;
    }
    (void)log_in(links->url, context, why);
    redisReply *reply = ASK_ONCE(context, hf_text("SENTINEL"), hf_text("GET-MASTER-ADDR-BY-NAME"),
                                 hf_text(links->url->master));
    bool good = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    if (good) {
        add_master(links, reply->element[0]->str,
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

static bool add_only(struct links *links, const struct redis_host *host, char why[MESSAGE_SIZE])
{
    (void)why;
    add_master(links, host->name, host->port);
    return true;
}

void links_refresh(struct links *links)
{
    static bool (*const learn[])(struct links *, const struct redis_host *, char *) = {
        [REDIS_STANDALONE] = add_only,
        [REDIS_SENTINEL] = ask_sentinel,
        [REDIS_CLUSTER] = learn_cluster,
    };
    const struct redis_url *url = links->url;
    char why[MESSAGE_SIZE] = "";

    for (size_t i = 0; i < url->host_count; i++) {
        if (learn[url->kind](links, &url->hosts[i], why)) {
            return; /* or it has failed for good */
        }
    }
    const struct redis_host *last = &url->hosts[url->host_count - 1];
    links_fail(links, HF_ENGINE_DOWN, "cannot ask redis %s:%u: %s", last->name, last->port, why);
}

enum hf_error links_open(struct links *links, const struct redis_url *url, struct problem *problem)
{
    *links = (struct links){.url = url, .problem = problem};
    if (url->kind == REDIS_REDLOCK || url->host_count == 0) {
        return links_fail(links, HF_INVALID_ARGUMENT,
                          "locks on independent servers have no totals that could be audited");
    }
    links_refresh(links);
    return links->code;
}

void links_close(struct links *links)
{
    for (size_t i = 0; i < links->count; i++) {
        redisFree(links->contexts[i]);
    }
    links->count = 0;
}

size_t links_of(const struct links *links, struct hf_bytes key)
{
    return links->url->kind == REDIS_CLUSTER ? links->owners[redis_slot(key)] : 0;
}
