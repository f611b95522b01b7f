/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of Redis URLs; url.h has their form. */
#include "redis/client/url.h"

#include "base/text.h"
#include "net/address.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#define TIMEOUT_DEFAULT_MS 5000
#define TIMEOUT_MIN_MS 10
#define TIMEOUT_MAX_MS ((int64_t)3600 * 1000)
#define QUEUE_DEFAULT 10000
#define QUEUE_MAX 1000000
#define WAIT_REPLICAS_MAX 16

#define SENTINEL_PASSWORD "sentinel_password="
#define OPTION_NAMES                                                                               \
    "timeout, connect_timeout, queue, namespace, worker, wait_replicas, wait_aof, wait_timeout, "  \
    "tls_ca, tls_cert, tls_key, tls_server_name, sentinel_user, sentinel_password"

struct scheme {
    const char *names[2]; /* plain and over TLS, with their "://" */
    uint16_t port;        /* where none is given */
    const char *form;     /* what follows the name */
};

static const struct scheme schemes[] = {
    [REDIS_STANDALONE] = {{"redis://", "rediss://"},
                          6379,
                          "[[user]:password@]host[:6379][/database]"},
    [REDIS_SENTINEL] = {{"redis+sentinel://", "rediss+sentinel://"},
                        26379,
                        "[[user]:password@]host[:26379],.../master-name[/database]"},
    [REDIS_CLUSTER] = {{"redis+cluster://", "rediss+cluster://"},
                       6379,
                       "[[user]:password@]host[:6379],..."},
    [REDIS_REDLOCK] = {{"redlock://", "redlocks://"},
                       6379,
                       "[[user]:password@]host[:6379],...[/database]"},
};

/* What is being read, and where to say what is wrong with it. */
struct parser {
    const struct scheme *scheme;
    struct redis_url *url;
    struct problem *problem;
};

static bool wrong(const struct parser *parser, const char *what)
{
    problem_set(parser->problem, HF_INVALID_ARGUMENT, "the URL of redis: %s; its form is %s%s",
                what, parser->scheme->names[parser->url->tls], parser->scheme->form);
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

    /* An @ in that option would make a password of the hosts, and a host of the rest of it. */
    if (memmem(text.data, text.size, SENTINEL_PASSWORD, strlen(SENTINEL_PASSWORD)) != NULL) {
        return wrong(parser, "an @ in an option is written %40");
    }
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

static bool read_wait_replicas(struct redis_url *url, struct hf_bytes value)
{
    int64_t number;

    if (!text_to_integer(value, &number) || number < 0 || number > WAIT_REPLICAS_MAX) {
        return false;
    }
    url->wait_replicas = (unsigned)number;
    return url->kind != REDIS_REDLOCK;
}

static bool read_wait_aof(struct redis_url *url, struct hf_bytes value)
{
    url->wait_aof = text_equal(value, hf_text("1"));
    return (url->wait_aof || text_equal(value, hf_text("0"))) && url->kind != REDIS_REDLOCK;
}

static bool read_wait_timeout(struct redis_url *url, struct hf_bytes value)
{
    return read_duration(value, &url->wait_timeout_ms);
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
    {"wait_replicas", read_wait_replicas, "wait_replicas is not 0 to 16, or not for redlock"},
    {"wait_aof", read_wait_aof, "wait_aof is not 0 or 1, or not for redlock"},
    {"wait_timeout", read_wait_timeout, "wait_timeout is not 10 ms to 1 hour, in ms"},
};

/* Options that are text, which may be percent-encoded, at their place in struct redis_url. */
static const struct text_option {
    const char *name;
    size_t offset, size;
    bool is_of_sentinels; /* otherwise of TLS */
    const char *wrong;
} text_options[] = {
#define TEXT_AT(field) offsetof(struct redis_url, field), sizeof((struct redis_url *)NULL)->field
    {"tls_ca", TEXT_AT(tls_ca), false, "tls_ca is not a path of 1 to 512 bytes, with TLS"},
    {"tls_cert", TEXT_AT(tls_cert), false, "tls_cert is not a path of 1 to 512 bytes, with TLS"},
    {"tls_key", TEXT_AT(tls_key), false, "tls_key is not a path of 1 to 512 bytes, with TLS"},
    {"tls_server_name", TEXT_AT(tls_server_name), false,
     "tls_server_name is not a name or address of 1 to 255 bytes, with TLS"},
    {"sentinel_user", TEXT_AT(sentinel_username), true,
     "sentinel_user is not 1 to 128 bytes, with sentinels"},
    {"sentinel_password", TEXT_AT(sentinel_password), true,
     "sentinel_password is not 1 to 512 bytes, with sentinels"},
#undef TEXT_AT
};

static bool read_text(struct redis_url *url, const struct text_option *option,
                      struct hf_bytes value)
{
    char *out = (char *)url + option->offset;
    bool is_for_it = option->is_of_sentinels ? url->kind == REDIS_SENTINEL : url->tls;

    return is_for_it && text_unescape(value, out, option->size) && out[0] != '\0';
}

/* True, and what is wrong or NULL, if it is one of these. */
static bool read_if_text(struct redis_url *url, struct hf_bytes name, struct hf_bytes value,
                         const char **wrong_with_it)
{
    for (size_t i = 0; i < sizeof text_options / sizeof text_options[0]; i++) {
        const struct text_option *option = &text_options[i];
        if (text_equal(name, hf_text(option->name))) {
            *wrong_with_it = read_text(url, option, value) ? NULL : option->wrong;
            return true;
        }
    }
    return false;
}

static bool read_if_plain(struct redis_url *url, struct hf_bytes name, struct hf_bytes value,
                          const char **wrong_with_it)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (text_equal(name, hf_text(options[i].name))) {
            *wrong_with_it = options[i].read(url, value) ? NULL : options[i].wrong;
            return true;
        }
    }
    return false;
}

static bool read_options(const struct parser *parser, struct hf_bytes text)
{
    while (text.size > 0) {
        const char *wrong_with_it = "an option is none of " OPTION_NAMES;
        struct hf_bytes value = cut(&text, '&');
        struct hf_bytes name = cut(&value, '=');
        if (text_equal(name, hf_text("tls_verify"))) {
            wrong_with_it = "tls_verify is not there: a server is always verified; tls_ca may be "
                            "its own certificate, and tls_server_name the name in it";
        } else if (!read_if_text(parser->url, name, value, &wrong_with_it)) {
            read_if_plain(parser->url, name, value, &wrong_with_it);
        }
        if (wrong_with_it != NULL) {
            return wrong(parser, wrong_with_it);
        }
    }
    return true;
}

/* Options of which none is of use without the other. */
static bool check_pairs(const struct parser *parser)
{
    const struct redis_url *url = parser->url;

    if ((url->tls_cert[0] != '\0') != (url->tls_key[0] != '\0')) {
        return wrong(parser, "tls_cert and tls_key need each other");
    }
    if (url->sentinel_username[0] != '\0' && url->sentinel_password[0] == '\0') {
        return wrong(parser, "sentinel_user needs a sentinel_password");
    }
    if (url->wait_timeout_ms > url->timeout_ms) {
        return wrong(parser, "wait_timeout is longer than timeout");
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Which kind it is, and whether over TLS. NULL, with the problem, if it is none of ours. */
static const struct scheme *read_scheme(const char *text, struct redis_url *url,
                                        struct problem *problem)
{
    if (text_starts_with(text, "redis+tls:") || text_starts_with(text, "redis+ssl:")) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "redis over TLS is rediss://, rediss+sentinel://, rediss+cluster:// or "
                    "redlocks://");
        return NULL;
    }
    for (size_t i = 0; i < 2 * (sizeof schemes / sizeof schemes[0]); i++) {
        const struct scheme *scheme = &schemes[i / 2];
        if (text_starts_with(text, scheme->names[i % 2])) {
            *url = (struct redis_url){.kind = (enum redis_kind)(i / 2), .tls = i % 2 == 1};
            return scheme;
        }
    }
    problem_set(problem, HF_INVALID_ARGUMENT,
                "not a URL of redis: it starts with redis://, redis+sentinel://, "
                "redis+cluster:// or redlock://, or over TLS with rediss://, rediss+sentinel://, "
                "rediss+cluster:// or redlocks://");
    return NULL;
}

enum hf_error redis_url_parse(const char *url, struct redis_url *parsed, struct problem *problem)
{
    struct problem unheard = {.code = HF_OK};
    struct parser parser = {.url = parsed, .problem = problem != NULL ? problem : &unheard};

    parser.scheme = read_scheme(url, parsed, parser.problem);
    if (parser.scheme == NULL) {
        return parser.problem->code;
    }
    parsed->timeout_ms = parsed->connect_timeout_ms = TIMEOUT_DEFAULT_MS;
    parsed->queue = QUEUE_DEFAULT;
    parsed->worker = true;
    /* The last @ ends the secret, which may have a slash or a question mark in it: hosts, paths and
     * options have no @. */
    struct hf_bytes rest = hf_text(url + strlen(parser.scheme->names[parsed->tls]));
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
    bool fine = read_hosts(&parser, hosts) && read_path(&parser, path) &&
                read_options(&parser, rest) && check_pairs(&parser);
    if (parsed->wait_timeout_ms == 0) { /* commands that wait behind one WAIT have their own */
        parsed->wait_timeout_ms = parsed->timeout_ms / 2;
    }
    return fine ? HF_OK : parser.problem->code;
}

void redis_url_show(const struct redis_url *url, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", schemes[url->kind].names[url->tls]);

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
