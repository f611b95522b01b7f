/* SPDX-License-Identifier: Apache-2.0
 *
 * The URL of a server, taken apart:
 *
 *     holdfast://[user:password@|token@]host[:port][?timeout=5s]
 *     holdfast+tls://…[?ca=FILE&timeout=5s]
 *
 * %XX stands for any byte in a user, password, token or file name. */
#ifndef LIBRARY_REMOTE_URL_H
#define LIBRARY_REMOTE_URL_H

#include "command/command.h"
#include "net/address.h"

#define REMOTE_PORT 4653
#define REMOTE_SECRET_SIZE 512

struct remote_url {
    char host[ADDRESS_HOST_SIZE];
    uint16_t port;
    bool tls;
    char user[REMOTE_SECRET_SIZE];   /* empty: none */
    char secret[REMOTE_SECRET_SIZE]; /* a password, or without a user a token; empty: none */
    char ca[REMOTE_SECRET_SIZE];     /* empty: what the system trusts */
    int64_t timeout_ms;              /* of a connect, and of a command on top of what it waits */
};

/* Is it the URL of a server, well-formed or not? */
bool remote_url_is(const char *url);

/* INVALID_ARGUMENT if it is malformed; the message never repeats a password. */
enum hf_error remote_url_read(const char *text, struct remote_url *url, struct problem *problem);

#endif
