/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections to every master, for one thread that waits for its answers. Questions may be asked
 * ahead; they are answered in their order. */
#ifndef REDIS_AUDIT_AUDIT_READER_H
#define REDIS_AUDIT_AUDIT_READER_H

#include "redis/client/url.h"

#include <hiredis/hiredis.h>

#define AUDIT_MASTERS_MAX 256
#define SLOTS 16384

struct audit_reader {
    const struct redis_url *url;
    redisContext *contexts[AUDIT_MASTERS_MAX];
    char names[AUDIT_MASTERS_MAX][264]; /* of the masters: "10.0.0.1:7001" */
    size_t count;
    uint8_t owners[SLOTS]; /* which of them has a slot; on a cluster */
    size_t queued;         /* questions since audit_reader_begin() */
    enum hf_error code;    /* not HF_OK: it cannot go on, and every answer is NULL */
    struct problem *problem;
};

enum hf_error audit_reader_open(struct audit_reader *reader, const struct redis_url *url,
                                struct problem *problem);
void audit_reader_close(struct audit_reader *reader);

/* Learns anew who has which slots. */
void audit_reader_refresh(struct audit_reader *reader);

/* Which master has this key. */
size_t audit_reader_owner(const struct audit_reader *reader, struct hf_bytes key);

void audit_reader_ask(struct audit_reader *reader, size_t master, size_t count,
                      const struct hf_bytes *words);
/* The next answer, to be freed with freeReplyObject(); NULL once the links are broken. */
redisReply *audit_reader_answer(struct audit_reader *reader, size_t master);

#define AUDIT_ASK(reader, master, ...)                                                             \
    audit_reader_ask(reader, master,                                                               \
                     sizeof((struct hf_bytes[]){__VA_ARGS__}) / sizeof(struct hf_bytes),           \
                     (struct hf_bytes[]){__VA_ARGS__})

/* What is asked between the two happens in one step, and is answered by one list. NULL if it did
 * not happen: the links are broken, or the slot is on its way elsewhere. */
void audit_reader_begin(struct audit_reader *reader, size_t master);
redisReply *audit_reader_commit(struct audit_reader *reader, size_t master);

/* Gives up. Returns the code. */
enum hf_error audit_reader_fail(struct audit_reader *reader, enum hf_error code, const char *format,
                                ...) __attribute__((format(printf, 3, 4)));

#endif
