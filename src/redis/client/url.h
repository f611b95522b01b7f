/* SPDX-License-Identifier: Apache-2.0
 *
 * Where Redis is:
 *
 *     redis://[[user]:password@]host[:6379][/database]
 *     redis+sentinel://[[user]:password@]host[:26379],…/master-name[/database]
 *     redis+cluster://[[user]:password@]host[:6379],…
 *     redlock://[[user]:password@]host[:6379],…[/database]
 *
 * IPv6 addresses stand in brackets; user and password may be percent-encoded. Behind a question
 * mark, joined by &: timeout=MS (of a command), connect_timeout=MS, queue=N (commands in flight at
 * a time), namespace=NAME (in front of every key), worker=yes|no (the release worker). */
#ifndef REDIS_CLIENT_URL_H
#define REDIS_CLIENT_URL_H

#include "base/problem.h"

#include <stdint.h>

enum redis_kind { REDIS_STANDALONE, REDIS_SENTINEL, REDIS_CLUSTER, REDIS_REDLOCK };

#define REDIS_HOSTS_MAX 16

struct redis_host {
    char name[256]; /* a host name or an address */
    uint16_t port;
};

struct redis_url {
    enum redis_kind kind;
    struct redis_host hosts[REDIS_HOSTS_MAX];
    size_t host_count;
    char master[129];                  /* of Sentinel */
    char username[129], password[513]; /* empty: none */
    int database;
    int64_t timeout_ms, connect_timeout_ms;
    unsigned queue;      /* commands in flight at a time; beyond: BUSY */
    char name_space[65]; /* empty, or with its colon: "shop:" */
    bool worker;
};

/* INVALID_ARGUMENT and what is wrong, without the password. */
enum hf_error redis_url_parse(const char *url, struct redis_url *parsed, struct problem *problem);

/* "redis://10.0.0.1:6379/0": for logs, with no secret in it. */
void redis_url_show(const struct redis_url *url, char *out, size_t size);

#endif
