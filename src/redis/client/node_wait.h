/* SPDX-License-Identifier: Apache-2.0
 *
 * Stronger promises, if the URL asks for them: what requests changed is on so many replicas
 * (wait_replicas, by WAIT) or on disk (wait_aof, by WAITAOF) before any of them is answered.
 *
 * Requests that are sent together have one WAIT behind them, and their replies are held until it is
 * answered. At most one is in flight: what is sent meanwhile has the next one, as soon as the
 * first is answered. What falls short is an unknown outcome, never a success.
 *
 * WAIT looks at the last change that its own connection made. A repeated command that changed
 * nothing relies on a change that another connection may have made, so a small change of our own
 * stands in front of each WAIT: the mark. */
#ifndef REDIS_CLIENT_NODE_WAIT_H
#define REDIS_CLIENT_NODE_WAIT_H

#include "base/buffer.h"
#include "redis/client/client.h"

struct redis_node;

struct node_wait {
    uint64_t sent_at;  /* the number of the WAIT in flight plus 1; 0: there is none */
    bool needed;       /* requests were sent that no WAIT stands behind yet */
    bool is_marked;    /* the mark in front of the WAIT was made */
    int slot;          /* of the mark, on a cluster */
    char tag[8];       /* which is in that slot; empty: none was looked for */
    char problem[120]; /* why there is no mark */
};

/* Does this node wait? */
bool node_waits(const struct redis_node *node);
/* Writes what tells at the beginning whether the server can wait at all. Returns how many replies
 * to expect. */
unsigned node_wait_greet(const struct redis_node *node, struct buffer *out);
/* What to say of an error reply to that; NULL: it is none. */
const char *node_wait_refusal(const struct redis_node *node, const char *error);

/* At the end of the loop's turn: sends the mark and the WAIT, if they are needed. */
void node_wait_send(struct redis_node *node);
void node_wait_marked(struct redis_node *node, const redisReply *reply);
/* The WAIT was answered: so are all requests in front of it. */
void node_wait_answered(struct redis_node *node, uint64_t number, const redisReply *reply);

#endif
