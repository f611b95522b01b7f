/* SPDX-License-Identifier: Apache-2.0
 *
 * A server of Redis at one address, and our connection to it.
 *
 *              node_connect()        connected          greeted
 *       DOWN ---------------> CONNECTING ---> GREETING ---> UP
 *        ^                        |              |           |
 *        +------------------------+--------------+-----------+   failed, lost, closed
 *
 * Greeting: AUTH, SELECT, SCRIPT LOAD of every script, and PING (of a master that Sentinel named
 * ROLE, which has to be master), all written at once. A connection that failed is made anew with
 * growing delays as long as the node is wanted or a request is pinned to it. */
#ifndef REDIS_CLIENT_NODE_H
#define REDIS_CLIENT_NODE_H

#include "net/address.h"
#include "net/alarm.h"
#include "redis/client/batch.h"
#include "redis/client/board.h"
#include "redis/client/client.h"
#include "redis/client/node_wait.h"
#include "redis/client/reply_stream.h"

enum node_state { NODE_DOWN, NODE_CONNECTING, NODE_GREETING, NODE_UP, NODE_STATES };

/* What a command in the pipeline is for, and so what its reply means. */
enum node_command_kind {
    NODE_COMMAND_REQUEST,
    NODE_COMMAND_BATCH,         /* several requests */
    NODE_COMMAND_GREETING,      /* its reply only must not be an error */
    NODE_COMMAND_ACCESS_LOAD,   /* of the script in node_access.c, a part of the greeting */
    NODE_COMMAND_ACCESS,        /* its call */
    NODE_COMMAND_LAST_GREETING, /* PING or ROLE */
    NODE_COMMAND_ASIDE,         /* SCRIPT LOAD or ASKING in front of a request */
    NODE_COMMAND_MARK,          /* in front of a WAIT */
    NODE_COMMAND_WAIT,
};

/* A command in flight. Replies come in the order in which commands were sent. */
struct node_command {
    union {
        struct redis_request *request; /* NULL: no caller waits for the reply (any more) */
        struct redis_batch *batch;     /* of NODE_COMMAND_BATCH */
    };
    redisReply *reply; /* held until a WAIT is answered; or NULL */
    uint64_t end;      /* of its bytes, among those written to the stream */
    enum node_command_kind kind;
};

/* Numbered commands in a ring; those with first <= number < next are in flight. Of these the ones
 * before `answered` have a reply, which is held. */
struct node_pipeline {
    struct node_command *at;
    uint64_t mask; /* size - 1; the size is a power of two */
    uint64_t first, answered, next;
};

struct redis_node {
    struct redis_client *client;
    struct list node; /* of the client's */
    struct redis_host host;
    char name[ADDRESS_HOST_SIZE + 8];

    enum node_state state;
    struct reply_stream *stream;
    struct alarm alarm; /* the end of an attempt, or the beginning of the next */
    unsigned failures;  /* since it was last up for a while */
    uint64_t up_ms;     /* when it came up */
    struct node_pipeline pipeline;
    struct node_batches *batches;
    struct node_wait wait;
    uint64_t last_reply_ms; /* when it last replied, or the first command of a pipeline was sent */
    struct node_probe probe;
    uint64_t *loaded_at; /* of each script: the number of its last SCRIPT LOAD plus 1 */

    bool wanted;              /* it is a master, as far as the topology knows */
    unsigned missed;          /* of a cluster: how many maps in a row did not have it as a master */
    bool must_be_master;      /* its role is checked when it is greeted */
    const char *draining;     /* why nothing more is sent until it is connected anew; or NULL */
    unsigned pinned_requests; /* requests that may go to this node alone */
    bool refused;             /* it refused the greeting or TLS, and would refuse it again */
    struct problem problem;   /* why it is not up; HF_OK: it was never tried, or is up */
    struct problem logged;    /* the last one in the log, and when that was */
    uint64_t logged_ms;
};

/* NULL when there is no memory. */
struct redis_node *node_make(struct redis_client *client, const struct redis_host *host);
/* Nothing is in flight there, or its callers are not to be notified. */
void node_free(struct redis_node *node);

/* Connects, unless that is in progress, or has to wait after a failure. */
void node_connect(struct redis_node *node);
/* Is it a master? Then its connection is made again whenever it is lost. */
void node_want(struct redis_node *node, bool wanted);
/* It was a master and is none any more. What it still answers is worth nothing: another may have
 * taken over before, so that it will discard what it carried out since. Its requests in flight are
 * lost. */
void node_dismiss(struct redis_node *node);

/* Can requests be sent? */
bool node_is_open(const struct redis_node *node);
/* Sends it, with this turn of the loop or in a batch with others; the reply goes to
 * client_answered(). False when there is no memory. */
bool node_send(struct redis_node *node, struct redis_request *request);
/* Before the loop waits: sends what was held back. */
void node_end_turn(struct redis_node *node);
/* Loads the script of a request that was answered NOSCRIPT, unless that was done meanwhile. */
void node_load(struct redis_node *node, const struct redis_request *request);
/* The caller does not wait for this reply any more. Returns whether the request was sent. */
bool node_abandon(struct redis_node *node, struct redis_request *request);

/* The connection is broken or useless: requests in flight there go to client_lost(). */
void node_lose(struct redis_node *node, const char *why);
/* Sends nothing more; connects anew when everything in flight is answered. The reason, a constant,
 * goes on from "redis 127.0.0.1:6379 ". */
void node_drain(struct redis_node *node, const char *why);
#define NODE_TAKES_NO_WRITES "does not take writes"
bool node_is_idle(const struct redis_node *node);
/* Is it up, and does it answer in time? One that does not may have been replaced. */
bool node_is_healthy(const struct redis_node *node);

/* ---- for batch.c and node_wait.c ------------------------------------------------------------- */

/* Makes room for so many commands; false when there is no memory. */
bool node_pipeline_reserve(struct redis_node *node, uint64_t count);
/* What was just written is in flight, for which there must be room. Returns its number. */
uint64_t node_pipeline_append(struct redis_node *node, enum node_command_kind kind,
                              struct redis_request *request);
uint64_t node_pipeline_append_batch(struct redis_node *node, struct redis_batch *batch);
/* A command in flight. */
struct node_command *node_pipeline_at(const struct redis_node *node, uint64_t number);
/* A batch was answered; `unsafe` as in batch_answered(). */
void node_batch_came(struct redis_node *node, struct redis_batch *batch, const redisReply *reply,
                     const char *unsafe);

#endif
