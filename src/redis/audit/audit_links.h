/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections to every master, for one thread that waits for its answers. Questions may be asked
 * ahead; they are answered in their order. */
#ifndef REDIS_AUDIT_AUDIT_LINKS_H
#define REDIS_AUDIT_AUDIT_LINKS_H

#include "redis/client/url.h"

#include <hiredis/hiredis.h>

#define LINKS_MAX 256
#define SLOTS 16384

struct links {
    const struct redis_url *url;
    redisContext *contexts[LINKS_MAX];
    char names[LINKS_MAX][264]; /* of the masters: "10.0.0.1:7001" */
    size_t count;
    uint8_t owners[SLOTS]; /* which of them has a slot; on a cluster */
    size_t queued;         /* questions since links_begin() */
    enum hf_error code;    /* not HF_OK: it cannot go on, and every answer is NULL */
    struct problem *problem;
};

enum hf_error links_open(struct links *links, const struct redis_url *url, struct problem *problem);
void links_close(struct links *links);

/* Learns anew who has which slots. */
void links_refresh(struct links *links);

/* Which master has this key. */
size_t links_of(const struct links *links, struct hf_bytes key);

void links_ask(struct links *links, size_t link, size_t count, const struct hf_bytes *words);
/* The next answer, to be freed with freeReplyObject(); NULL once the links are broken. */
redisReply *links_answer(struct links *links, size_t link);

#define ASK(links, link, ...)                                                                      \
    links_ask(links, link, sizeof((struct hf_bytes[]){__VA_ARGS__}) / sizeof(struct hf_bytes),     \
              (struct hf_bytes[]){__VA_ARGS__})

/* What is asked between the two happens in one step, and is answered by one list. NULL if it did
 * not happen: the links are broken, or the slot is on its way elsewhere. */
void links_begin(struct links *links, size_t link);
redisReply *links_commit(struct links *links, size_t link);

/* Gives up. Returns the code. */
enum hf_error links_fail(struct links *links, enum hf_error code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
