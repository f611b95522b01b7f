/* SPDX-License-Identifier: Apache-2.0
 *
 * A server without sockets, and clients that speak HTTP to it. */
#ifndef UNIT_SERVER_HTTP_FIXTURE_H
#define UNIT_SERVER_HTTP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/server.h"

#define CLIENTS 4

struct fixture {
    struct server_options options;
    struct server server;
    struct session clients[CLIENTS];
    bool is_open[CLIENTS];
    char heard[1 << 18]; /* what the client asked last was answered last */
};

extern struct fixture fixture;

/* With an engine in memory; CLIENTS connections. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* The same users for all: root (admin), pen (write), eye (read); their token is their name. */
void fixture_authenticate(void);
void fixture_reopen(int client);
void fixture_leave(int client);

/* Sends bytes, lets turns pass until nothing goes on, and gives what was answered. */
const char *say(int client, const char *bytes);
/* What was answered since. */
const char *heard(int client);
/* A request with a body, or without if it is NULL. `headers` are lines with their CR LF. */
const char *ask(int client, const char *method, const char *path, const char *headers,
                const char *body);

/* Of the answer given last: its status, its body, and a header field ("" if it has none). */
int status(void);
const char *body(void);
const char *header(const char *name);

/* ask() and its outcome in one. */
void expect(int client, const char *method, const char *path, const char *request, int code,
            const char *answer);

/* The same once there is something, for at most a few seconds, with the ticks that streams get. */
const char *wait_to_hear(int client);

#endif
