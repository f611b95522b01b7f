/* SPDX-License-Identifier: Apache-2.0
 *
 * Where Redis is:
 *
 *     redis://[[user]:password@]host[:6379][/database]
 *     redis+sentinel://[[user]:password@]host[:26379],…/master-name[/database]
 *     redis+cluster://[[user]:password@]host[:6379],…
 *     redlock://[[user]:password@]host[:6379],…[/database]
 *
 * Over TLS they are rediss://, rediss+sentinel://, rediss+cluster:// and redlocks://.
 *
 * IPv6 addresses stand in brackets; user and password may be percent-encoded. Behind a question
 * mark, joined by &: timeout=MS (of a command), connect_timeout=MS, queue=N (commands in flight at
 * a time), namespace=NAME (in front of every key), worker=yes|no (the release worker),
 * wait_replicas=N and wait_aof=1 (what must have a change before it is acknowledged) and
 * wait_timeout=MS (how long that may take). With TLS
 * also tls_ca=PATH (whom to trust), tls_cert=FILE and tls_key=FILE (our own certificate) and
 * tls_server_name=NAME (what servers prove they are); with Sentinel sentinel_user=NAME and
 * sentinel_password=SECRET. All of these may be percent-encoded. */
#ifndef REDIS_CLIENT_URL_H
#define REDIS_CLIENT_URL_H

#include "base/problem.h"

#include <stdint.h>

enum redis_kind { REDIS_STANDALONE, REDIS_SENTINEL, REDIS_CLUSTER, REDIS_REDLOCK };

#define REDIS_HOSTS_MAX 16
#define REDIS_PATH_SIZE 513 /* of a file's name, with its NUL */

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
    unsigned wait_replicas;  /* how many must have a change before it is acknowledged; 0: none */
    bool wait_aof;           /* it must be on disk, too */
    int64_t wait_timeout_ms; /* how long that may take */
    bool tls;
    char tls_ca[REDIS_PATH_SIZE];                             /* empty: what the system trusts */
    char tls_cert[REDIS_PATH_SIZE], tls_key[REDIS_PATH_SIZE]; /* both or none */
    char tls_server_name[256]; /* empty: each server is verified by the name or address it has */
    char sentinel_username[129], sentinel_password[513]; /* empty: as at the servers */
};

/* INVALID_ARGUMENT and what is wrong, without the password. */
enum hf_error redis_url_parse(const char *url, struct redis_url *parsed, struct problem *problem);

/* "redis://10.0.0.1:6379/0": for logs, with no secret in it. */
void redis_url_show(const struct redis_url *url, char *out, size_t size);

#endif
