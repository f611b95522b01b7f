/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that answer as a test tells them to, on the loop of the client that is tested, and a
 * client with its requests. Everything is on one thread: nothing happens while a test looks. */
#ifndef UNIT_REDIS_FAKE_H
#define UNIT_REDIS_FAKE_H

#include "base/buffer.h"
#include "redis/client/client.h"

#define FAKE_SESSIONS_MAX 32
#define FAKE_TEXT_SIZE 512

struct fake_redis;

struct fake_session {
    struct fake_redis *redis; /* NULL: free */
    uv_tcp_t tcp;
    redisReader *reader;
    bool open;
    bool authenticated; /* an AUTH came */
};

struct fake_redis {
    uv_loop_t *loop;
    uv_tcp_t listener;
    bool listens;
    uint16_t port;
    struct fake_session sessions[FAKE_SESSIONS_MAX];
    /* What a command is answered with, in RESP; NULL: nothing. The greeting (AUTH, SELECT, SCRIPT
     * LOAD and the call of the last one, PING, ROLE) is answered without asking. */
    const char *(*answer)(struct fake_redis *redis, struct fake_session *session,
                          const redisReply *command);
    const char *refuses; /* the greeting is answered with this error */
    const char *role;    /* "master" if it is NULL */
    bool silent;         /* nothing is answered at all */
    unsigned connections, commands, loads;
    char auth[FAKE_TEXT_SIZE]; /* the words of the last AUTH, joined by spaces */
    char log[4096];            /* the commands that were asked, each with a space behind it */
    char said[FAKE_TEXT_SIZE]; /* for answers that have to be made */
};

/* What became of a request. */
struct fake_call {
    struct redis_request request;
    char bytes[FAKE_TEXT_SIZE];
    unsigned done; /* how often it was answered */
    enum redis_fate fate;
    enum hf_error code;
    char message[MESSAGE_SIZE]; /* of the problem; or the reply's text, or its elements' numbers */
    long long integer;
};

struct fake {
    uv_loop_t loop;
    struct redis_client *client;
    bool ready, closed;
    struct problem problem; /* what `ready` was told */
    struct fake_redis redis[4];
};

/* setup and teardown of cmocka: *state is a struct fake. Afterwards nothing is left on the loop. */
int fake_setup(void **state);
int fake_teardown(void **state);

/* Listens on a port of its own, or again on the one it had. */
void fake_listen(struct fake *fake, struct fake_redis *redis);
/* Does not listen any more; those who are connected stay. */
void fake_close(struct fake_redis *redis);
void fake_hang_up(struct fake_redis *redis);
void fake_say(struct fake_session *session, const char *resp, size_t size);

/* A client of this URL; ports of the fakes are put in where it says %u. */
void fake_open(struct fake *fake, const char *url);
/* And until it is ready. */
void fake_open_ready(struct fake *fake, const char *url);

/* Sends a command of words with single spaces between them. */
void fake_send(struct fake *fake, struct fake_call *call, const char *words);

/* Sends it and waits for its fate. Once more if that is unknown: then its time was over, as chance
 * has it, between a request and its reply, instead of between two requests. */
void fake_ask(struct fake *fake, struct fake_call *call, const char *words);

/* Turns the loop until it is true; fails when that takes too long. */
void fake_until(struct fake *fake, bool (*condition)(void *context), void *context);
void fake_until_done(struct fake *fake, struct fake_call *call);
/* For so long, and often enough that what can happen at once has happened. */
void fake_turn_for(struct fake *fake, uint64_t duration_ms);

/* Does the command consist of, or begin with, this word? */
bool fake_is(const redisReply *command, const char *word);

#endif
