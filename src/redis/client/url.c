/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of Redis URLs; url.h has their form. */
#include "redis/client/url.h"

#include "base/text.h"
#include "net/address.h"

#include <limits.h>
#include <stdio.h>

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MIN_MS 10
#define TIMEOUT_MAX_MS ((int64_t)3600 * 1000)
#define QUEUE_DEFAULT 10000
#define QUEUE_MAX 1000000

struct scheme {
    const char *name; /* with its "://" */
    enum redis_kind kind;
    uint16_t port; /* where none is given */
    const char *form;
};

static const struct scheme schemes[] = {
    {"redis://", REDIS_STANDALONE, 6379, "redis://[[user]:password@]host[:6379][/database]"},
    {"redis+sentinel://", REDIS_SENTINEL, 26379,
     "redis+sentinel://[[user]:password@]host[:26379],.../master-name[/database]"},
    {"redis+cluster://", REDIS_CLUSTER, 6379, "redis+cluster://[[user]:password@]host[:6379],..."},
    {"redlock://", REDIS_REDLOCK, 6379, "redlock://[[user]:password@]host[:6379],...[/database]"},
};

/* What is being read, and where to say what is wrong with it. */
struct parser {
    const struct scheme *scheme;
    struct redis_url *url;
    struct problem *problem;
};

static bool wrong(const struct parser *parser, const char *what)
{
    problem_set(parser->problem, HF_INVALID_ARGUMENT, "the URL of redis: %s; its form is %s", what,
                parser->scheme->form);
    return false;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* The part before the separator, which is taken off `rest`; all of it if there is none. */
static struct hf_bytes cut(struct hf_bytes *rest, char separator)
{
    const char *at = rest->size > 0 ? memchr(rest->data, separator, rest->size) : NULL;
    struct hf_bytes part = {rest->data, at != NULL ? (size_t)(at - rest->data) : rest->size};
    size_t passed = part.size + (at != NULL);

    *rest = (struct hf_bytes){rest->data + passed, rest->size - passed};
    return part;
}

static bool read_secret(const struct parser *parser, struct hf_bytes text)
{
    struct redis_url *url = parser->url;
    const char *colon = text.size > 0 ? memchr(text.data, ':', text.size) : NULL;

    if (colon == NULL) {
        return wrong(parser, "a password stands behind a colon, in front of the @");
    }
    struct hf_bytes user = cut(&text, ':');
    if (!text_unescape(user, url->username, sizeof url->username)) {
        return wrong(parser, "the user cannot be read, or is longer than 128 bytes");
    }
    if (!text_unescape(text, url->password, sizeof url->password)) {
        return wrong(parser, "the password cannot be read, or is longer than 512 bytes");
    }
    return url->password[0] != '\0' || wrong(parser, "the password is empty");
}

static bool read_hosts(const struct parser *parser, struct hf_bytes text)
{
    struct redis_url *url = parser->url;

    for (bool more = true; more; url->host_count++) {
        struct redis_host *host = &url->hosts[url->host_count];
        if (url->host_count == REDIS_HOSTS_MAX) {
            return wrong(parser, "there are more than 16 hosts");
        }
        host->port = parser->scheme->port;
        more = text.size > 0 && memchr(text.data, ',', text.size) != NULL;
        if (!address_split(cut(&text, ','), host->name, &host->port)) {
            return wrong(parser, "a host or its port cannot be read");
        }
        for (size_t i = 0; i < url->host_count; i++) {
            if (url->hosts[i].port == host->port && strcmp(url->hosts[i].name, host->name) == 0) {
                return wrong(parser, "a host stands there twice");
            }
        }
    }
    if (url->kind == REDIS_STANDALONE && url->host_count > 1) {
        return wrong(parser, "there is more than one host; several servers are redis+sentinel://, "
                             "redis+cluster:// or redlock://");
    }
    return true;
}

/* What stands behind the hosts: "/master-name/database", "/database" or nothing. */
static bool read_path(const struct parser *parser, struct hf_bytes text)
{
    struct redis_url *url = parser->url;
    int64_t database = 0;

    if (url->kind == REDIS_SENTINEL) {
        struct hf_bytes name = cut(&text, '/');
        if (!text_unescape(name, url->master, sizeof url->master) || url->master[0] == '\0') {
            return wrong(parser, "the name of the master is missing or too long");
        }
    }
    if (text.size > 0 &&
        (!text_to_integer(text, &database) || database < 0 || database > INT_MAX)) {
        return wrong(parser, "the database is not a number from 0 on");
    }
    if (url->kind == REDIS_CLUSTER && database != 0) {
        return wrong(parser, "a cluster has database 0 only");
    }
    url->database = (int)database;
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool read_duration(struct hf_bytes value, int64_t *duration_ms)
{
    return text_to_duration(value, 1, duration_ms) && *duration_ms >= TIMEOUT_MIN_MS &&
           *duration_ms <= TIMEOUT_MAX_MS;
}

static bool read_timeout(struct redis_url *url, struct hf_bytes value)
{
    return read_duration(value, &url->timeout_ms);
}

static bool read_connect_timeout(struct redis_url *url, struct hf_bytes value)
{
    return read_duration(value, &url->connect_timeout_ms);
}

static bool read_queue(struct redis_url *url, struct hf_bytes value)
{
    int64_t number;

    if (!text_to_integer(value, &number) || number < 1 || number > QUEUE_MAX) {
        return false;
    }
    url->queue = (unsigned)number;
    return true;
}

static bool read_namespace(struct redis_url *url, struct hf_bytes value)
{
    char name[sizeof url->name_space - 1];

    if (!text_unescape(value, name, sizeof name) || !text_is_id(hf_text(name))) {
        return false;
    }
    size_t size = strlen(name);
    snprintf(url->name_space, sizeof url->name_space, name[size - 1] == ':' ? "%s" : "%s:", name);
    return true;
}

static bool read_worker(struct redis_url *url, struct hf_bytes value)
{
    url->worker = text_equal(value, hf_text("yes"));
    return url->worker || text_equal(value, hf_text("no"));
}

static const struct option {
    const char *name;
    bool (*read)(struct redis_url *url, struct hf_bytes value);
    const char *wrong;
} options[] = {
    {"timeout", read_timeout, "timeout is not 10 ms to 1 hour, in ms"},
    {"connect_timeout", read_connect_timeout, "connect_timeout is not 10 ms to 1 hour, in ms"},
    {"queue", read_queue, "queue is not 1 to 1000000 commands"},
    {"namespace", read_namespace,
     "namespace is not 1 to 63 bytes without spaces, control characters, { or }"},
    {"worker", read_worker, "worker is not yes or no"},
};

static bool read_options(const struct parser *parser, struct hf_bytes text)
{
    while (text.size > 0) {
        struct hf_bytes value = cut(&text, '&');
        struct hf_bytes name = cut(&value, '=');
        const struct option *option = NULL;
        for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
            option = text_equal(name, hf_text(options[i].name)) ? &options[i] : option;
        }
        if (option == NULL) {
            return wrong(parser, "an option is none of timeout, connect_timeout, queue, namespace, "
                                 "worker");
        }
        if (!option->read(parser->url, value)) {
            return wrong(parser, option->wrong);
        }
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* NULL, with the problem, if it is none of ours. */
static const struct scheme *read_scheme(const char *text, struct problem *problem)
{
    if (text_starts_with(text, "rediss:") || text_starts_with(text, "redis+tls:") ||
        text_starts_with(text, "redis+ssl:")) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "redis over TLS is not there: the hiredis that we stand on has none; put "
                    "stunnel between, or use redis:// in a private network");
        return NULL;
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (text_starts_with(text, schemes[i].name)) {
            return &schemes[i];
        }
    }
    problem_set(problem, HF_INVALID_ARGUMENT,
                "not a URL of redis: it starts with redis://, redis+sentinel://, "
                "redis+cluster:// or redlock://");
    return NULL;
}

enum hf_error redis_url_parse(const char *url, struct redis_url *parsed, struct problem *problem)
{
    struct problem unheard = {.code = HF_OK};
    struct parser parser = {.url = parsed, .problem = problem != NULL ? problem : &unheard};

    parser.scheme = read_scheme(url, parser.problem);
    if (parser.scheme == NULL) {
        return parser.problem->code;
    }
    *parsed = (struct redis_url){
        .kind = parser.scheme->kind,
        .timeout_ms = TIMEOUT_DEFAULT_MS,
        .connect_timeout_ms = TIMEOUT_DEFAULT_MS,
        .queue = QUEUE_DEFAULT,
        .worker = true,
    };
    /* The last @ ends the secret, which may have a slash or a question mark in it: hosts, paths and
     * options have no @. */
    struct hf_bytes rest = hf_text(url + strlen(parser.scheme->name));
    const char *at = rest.size > 0 ? memrchr(rest.data, '@', rest.size) : NULL;
    if (at != NULL) {
        struct hf_bytes secret = {rest.data, (size_t)(at - rest.data)};
        rest = (struct hf_bytes){at + 1, rest.size - secret.size - 1};
        if (!read_secret(&parser, secret)) {
            return parser.problem->code;
        }
    }
    struct hf_bytes path = cut(&rest, '?');
    struct hf_bytes hosts = cut(&path, '/');
    bool fine =
        read_hosts(&parser, hosts) && read_path(&parser, path) && read_options(&parser, rest);
    return fine ? HF_OK : parser.problem->code;
}

void redis_url_show(const struct redis_url *url, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", schemes[url->kind].name);

    for (size_t i = 0; i < url->host_count && used < size; i++) {
        const struct redis_host *host = &url->hosts[i];
        bool has_colons = strchr(host->name, ':') != NULL;
        used += (size_t)snprintf(out + used, size - used, has_colons ? "%s[%s]:%u" : "%s%s:%u",
                                 i > 0 ? "," : "", host->name, host->port);
    }
    if (url->kind == REDIS_SENTINEL && used < size) {
        used += (size_t)snprintf(out + used, size - used, "/%s", url->master);
    }
    if (url->kind != REDIS_CLUSTER && used < size) {
        snprintf(out + used, size - used, "/%d", url->database);
    }
}
