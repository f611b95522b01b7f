/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads every master for one thread that waits for its replies: a client (redis/client) on a loop
 * of its own, which runs whenever a reply is waited for. Requests may be sent ahead; each master
 * answers them in their order, and error replies too are handed over as they are. */
#ifndef REDIS_AUDIT_AUDIT_READER_H
#define REDIS_AUDIT_AUDIT_READER_H

#include "redis/client/client.h"

#define AUDIT_MASTERS_MAX 256

struct audit_reader {
    const struct redis_url *url;
    uv_loop_t loop;
    uv_timer_t timer;                        /* the end of a pause, or ticks while a reply is due */
    struct redis_client *client;             /* NULL: it was not opened */
    char names[AUDIT_MASTERS_MAX][264];      /* of the masters: "10.0.0.1:7001" */
    struct list requests[AUDIT_MASTERS_MAX]; /* sent to each master, in their order */
    size_t count;                            /* of masters */
    size_t queued;                           /* requests since audit_reader_begin() */
    bool waits;                              /* for the client to be ready, or for the pause */
    int64_t ticks, ticks_max;                /* how long a reply was waited for, and may be */
    enum hf_error code; /* not HF_OK: it cannot go on, and every reply is NULL */
    struct problem *problem;
};

enum hf_error audit_reader_open(struct audit_reader *reader, const struct redis_url *url,
                                struct problem *problem);
/* Also after audit_reader_open() has failed. */
void audit_reader_close(struct audit_reader *reader);

/* Learns of masters that have joined. */
void audit_reader_refresh(struct audit_reader *reader);

/* Waits so long; what the client learns of a cluster meanwhile counts from then on. */
void audit_reader_pause(struct audit_reader *reader, uint64_t ms);

/* Which master has this key. */
size_t audit_reader_owner(struct audit_reader *reader, struct hf_bytes key);

void audit_reader_ask(struct audit_reader *reader, size_t master, size_t count,
                      const struct hf_bytes *words);
/* The next reply, to be freed with freeReplyObject(); NULL once the reader cannot go on. */
redisReply *audit_reader_answer(struct audit_reader *reader, size_t master);

#define AUDIT_ASK(reader, master, ...)                                                             \
    audit_reader_ask(reader, master,                                                               \
                     sizeof((struct hf_bytes[]){__VA_ARGS__}) / sizeof(struct hf_bytes),           \
                     (struct hf_bytes[]){__VA_ARGS__})

/* What is asked between the two happens in one step, and is answered by one list. NULL if it did
 * not happen: the reader cannot go on, or the slot is being moved. */
void audit_reader_begin(struct audit_reader *reader, size_t master);
redisReply *audit_reader_commit(struct audit_reader *reader, size_t master);

/* Gives up. Returns the code. */
enum hf_error audit_reader_fail(struct audit_reader *reader, enum hf_error code, const char *format,
                                ...) __attribute__((format(printf, 3, 4)));

#endif
