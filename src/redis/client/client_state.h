/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client is made of; for the files of this room that make it up.
 *
 *     client.c           beginning and end, nodes, readiness
 *     request.c          requests: where they go, when their time is over, what became of them
 *     scope_line.c       requests that are held back so that those of one scope keep their order
 *     node.c             a server, the connection to it and the pipeline on that
 *     batch.c            requests of one scope that travel together
 *     batch_write.c      the call that carries them
 *     node_wait.c        replies that are held until replicas or the disk have what was changed
 *     reply_stream.c     a stream whose input goes through hiredis' reader
 *     error_reply.c      what an error reply asks for
 *     topology_standalone.c, topology_sentinel.c, topology_cluster.c
 *                        which masters there are
 *     topology_query.c   one query to a server on a connection of its own
 *     slot_map.c, slot.c the answer to CLUSTER SLOTS; the slot of a key
 *     subscription.c     messages of a channel
 *     board.c            what other threads see of the nodes
 *     script.c           the scripts to be loaded
 *     url.c              the URL of a deployment */
#ifndef REDIS_CLIENT_CLIENT_STATE_H
#define REDIS_CLIENT_CLIENT_STATE_H

#include "base/random.h"
#include "net/alarm.h"
#include "redis/client/board.h"
#include "redis/client/client.h"
#include "redis/client/node.h"
#include "redis/client/reply_stream.h"
#include "redis/client/scope_line.h"

/* Which master serves which slots. Everything is called from the loop. */
struct topology {
    /* Allocates client->topology_state. False when there is no memory. */
    bool (*create)(struct redis_client *client);
    /* Begins to find the masters. */
    void (*open)(struct redis_client *client);
    /* Stops that, and frees the state. */
    void (*close)(struct redis_client *client);
    /* The node that has the slot (-1: any master); NULL: none is known now. */
    struct redis_node *(*route)(struct redis_client *client, int slot);
    /* A node came up; or could not be reached, was lost, did not answer in time, or answered that
     * it is not able to serve now. */
    void (*node_up)(struct redis_client *client, struct redis_node *node);
    void (*node_down)(struct redis_client *client, struct redis_node *node);
    /* A node answered that it is a replica. */
    void (*not_master)(struct redis_client *client, struct redis_node *node);
    /* A slot is at another node now. NULL: there are no slots. */
    void (*slot_moved)(struct redis_client *client, int slot, struct redis_node *node);
    /* Can requests be served? `late`: the connect timeout is over, and part of the masters will
     * do. */
    bool (*is_ready)(struct redis_client *client, bool late);
    /* The host to subscribe at; false: none is known. */
    bool (*subscription_host)(struct redis_client *client, struct redis_host *host);
    /* Does a subscription at this host (still) receive what is published? */
    bool (*serves_subscription)(struct redis_client *client, const struct redis_host *host);
};

extern const struct topology topology_standalone, topology_sentinel, topology_cluster;

struct subscription;

struct redis_client {
    struct redis_url url;
    size_t host; /* of a server alone, which of the URL's */
    struct log log;
    uv_loop_t *loop;
    uv_prepare_t prepare;
    struct alarms alarms;
    struct client_streams streams;
    struct tls *tls; /* NULL: plain, or it cannot be set up, which `problem` has then */
    struct random random;

    const struct topology *topology;
    void *topology_state;
    struct problem problem; /* why no master is known; HF_OK: there is one */
    struct list nodes;
    struct subscription *subscription;

    struct list waiting; /* requests to be sent, or sent again */
    struct list refused; /* to be answered from the loop, with private.last_problem */
    struct scope_lines lines;
    uint64_t sent; /* how many requests redis_client_send() was called for */
    struct alarm waiting_alarm, ready_alarm, sweep_alarm, close_alarm;
    struct redis_figures figures;
    struct client_board board;
    unsigned queued; /* requests in flight that count against url.queue */

    void (*ready)(void *context, const struct problem *problem); /* NULL: it was called */
    void *context;
    bool closing;
    unsigned handles; /* of the client's own that are not closed yet */
    void (*closed)(void *context);
    void *closed_context;
};

/* ---- called by node.c ------------------------------------------------------------------------ */

void client_node_up(struct redis_node *node);
/* After client_lost() for every request that was in flight there. */
void client_node_down(struct redis_node *node);
void client_answered(struct redis_node *node, struct redis_request *request,
                     const redisReply *reply);
/* It was answered, but what it changed or read may still be lost. */
void client_unsafe(struct redis_node *node, struct redis_request *request, const char *why);
/* `sent`: it may have reached the server. */
void client_lost(struct redis_node *node, struct redis_request *request, bool sent,
                 const char *why);

/* ---- for topologies -------------------------------------------------------------------------- */

/* The node at this address, made if need be. NULL when there is no memory. */
struct redis_node *client_node(struct redis_client *client, const struct redis_host *host);
/* The same, if there is one. */
struct redis_node *client_find_node(struct redis_client *client, const struct redis_host *host);
/* A server answered a query for the masters with an error. If that is not a passing one, the caller
 * that waits for the client to be ready is notified: client->problem has the words. */
void client_query_refused(struct redis_client *client, const redisReply *error);
/* The masters changed: waiting requests may be sent now, and perhaps the client is ready. */
void client_topology_changed(struct redis_client *client);

/* A random delay between half of it and all of it, so that many clients do not retry at once. */
uint64_t client_jitter(struct redis_client *client, uint64_t delay_ms);

bool redis_host_equal(const struct redis_host *a, const struct redis_host *b);
/* "127.0.0.1:6379", "[::1]:6379". */
void redis_host_show(const struct redis_host *host, char *out, size_t size);

/* As whom a connection is authenticated. */
enum redis_login { REDIS_LOGIN_NONE, REDIS_LOGIN_SERVER, REDIS_LOGIN_SENTINEL };

/* What a connection begins with: AUTH, if there is a password. Returns how many replies to expect
 * for it. */
unsigned client_write_login(const struct redis_client *client, enum redis_login login,
                            struct buffer *out);
/* The same, at a server. */
unsigned client_write_auth(const struct redis_client *client, struct buffer *out);
/* A command in RESP. */
void client_write_command(struct buffer *out, size_t count, const char *const *words);

/* ---- topology_query.c ------------------------------------------------------------------------ */

struct topology_query;

/* Sends one command on a connection of its own. `answered` gets the reply, which may be an error
 * reply, or NULL and why there is none; from the loop, once, unless the query is cancelled first.
 * NULL when there is no memory. */
struct topology_query *topology_query_start(
    struct redis_client *client, const struct redis_host *host, enum redis_login login,
    size_t count, const char *const *words,
    void (*answered)(struct redis_client *client, const redisReply *reply, const char *why));
void topology_query_cancel(struct topology_query *query); /* NULL is fine */

/* ---- subscription.c -------------------------------------------------------------------------- */

struct subscription_options {
    const char *channel;
    const struct redis_host *host; /* this sentinel; NULL: the server that the topology names */
    const enum redis_login *login; /* read whenever the connection is made */
    void (*message)(void *context, struct hf_bytes payload);
    void (*resubscribed)(void *context); /* messages may have been missed */
    void *context;
};

/* NULL when there is no memory. */
struct subscription *subscription_open(struct redis_client *client,
                                       const struct subscription_options *options);
/* The masters changed: is the subscription still at one of them? */
void subscription_check(struct subscription *subscription); /* NULL is fine */
void subscription_free(struct subscription *subscription);  /* NULL is fine */

#endif
