/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client is made of; for the files of this folder that make it up.
 *
 *     client.c     beginning and end, and what the others have in common
 *     request.c    requests: where they go, when their time is over, what came of them
 *     node.c       a server and the connection to it
 *     reply_stream.c  a stream whose input goes through hiredis' reader
 *     standalone.c, sentinel.c, cluster.c
 *                  who the masters are: a topology
 *     ask.c        a question to a server on a connection of its own
 *     subscribe.c  messages of a channel */
#ifndef REDIS_CLIENT_CLIENT_STATE_H
#define REDIS_CLIENT_CLIENT_STATE_H

#include "base/random.h"
#include "net/alarm.h"
#include "redis/client/client.h"
#include "redis/client/node.h"
#include "redis/client/reply_stream.h"

/* Who serves what. Everything is called from the loop. */
struct topology {
    /* Makes client->topology_state. False when there is no memory. */
    bool (*make)(struct redis_client *client);
    /* Begins to find out. */
    void (*open)(struct redis_client *client);
    /* Stops it, and frees the state. */
    void (*close)(struct redis_client *client);
    /* Who has the slot (-1: anybody will do); NULL: that is not known now. */
    struct redis_node *(*route)(struct redis_client *client, int slot);
    /* A node came up; or could not be reached, is lost, does not answer in time, or cannot do what
     * it is there for. */
    void (*up)(struct redis_client *client, struct redis_node *node);
    void (*down)(struct redis_client *client, struct redis_node *node);
    /* A node says that it is a replica. */
    void (*doubt)(struct redis_client *client, struct redis_node *node);
    /* A slot is at another node now. NULL: there are no slots. */
    void (*moved)(struct redis_client *client, int slot, struct redis_node *node);
    /* Can work begin? `late`: with what there is. */
    bool (*stands)(struct redis_client *client, bool late);
    /* Where to subscribe; false: nobody is known. */
    bool (*anybody)(struct redis_client *client, struct redis_host *host);
    /* Is a subscription there any good (still)? */
    bool (*knows)(struct redis_client *client, const struct redis_host *host);
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
    struct random random;

    const struct topology *topology;
    void *topology_state;
    struct problem problem; /* why no master is known; HF_OK: there is one */
    struct list nodes;
    struct subscription *subscription;

    struct list waiting; /* requests that were not sent, or have to be again */
    struct list refused; /* to be answered from the loop; private.last says what */
    struct alarm waiting_alarm, ready_alarm, sweep_alarm, close_alarm;
    struct redis_figures figures;

    void (*ready)(void *context, const struct problem *problem); /* NULL: it was called */
    void *context;
    bool closing;
    unsigned handles; /* of the client's own that are not closed yet */
    void (*closed)(void *context);
    void *closed_context;
};

/* ---- what node.c tells client.c -------------------------------------------------------------- */

void client_node_up(struct redis_node *node);
/* After client_lost() for all that was under way there. */
void client_node_down(struct redis_node *node);
void client_answered(struct redis_node *node, struct redis_request *request,
                     const redisReply *reply);
/* `sent`: it may have reached the server. */
void client_lost(struct redis_node *node, struct redis_request *request, bool sent,
                 const char *why);

/* ---- for topologies -------------------------------------------------------------------------- */

/* The node at this address, made if need be. NULL when there is no memory. */
struct redis_node *client_node(struct redis_client *client, const struct redis_host *host);
/* The same, if there is one. */
struct redis_node *client_find_node(struct redis_client *client, const struct redis_host *host);
/* Who was asked who the masters are answered with an error: if it is not about the moment, those
 * who wait for the client to be ready need not wait longer. client->problem says it in words. */
void client_turned_away(struct redis_client *client, const redisReply *error);
/* Requests that wait may find somebody now; and perhaps the client is ready. */
void client_changed(struct redis_client *client);

/* Somewhere between half of it and all of it, so that many clients do not come at once. */
uint64_t client_jitter(struct redis_client *client, uint64_t delay_ms);

bool redis_host_equal(const struct redis_host *a, const struct redis_host *b);
/* "127.0.0.1:6379", "[::1]:6379". */
void redis_host_show(const struct redis_host *host, char *out, size_t size);

/* What goes in front of everything on a connection: AUTH, if there is a password. How many answers
 * that gives. */
unsigned client_write_auth(const struct redis_client *client, struct buffer *out);
/* A command of words, in RESP. */
void client_write_words(struct buffer *out, size_t count, const char *const *words);

/* ---- ask.c ----------------------------------------------------------------------------------- */

struct ask;

/* Asks one question on a connection of its own. `answered` is told the answer, which may be an
 * error reply, or NULL and why there is none; from the loop, once, unless it is cancelled first.
 * NULL when there is no memory. */
struct ask *ask_begin(struct redis_client *client, const struct redis_host *host,
                      bool with_password, size_t count, const char *const *words,
                      void (*answered)(struct redis_client *client, const redisReply *reply,
                                       const char *why));
void ask_cancel(struct ask *ask); /* NULL is fine */

/* ---- subscribe.c ----------------------------------------------------------------------------- */

/* Who the masters are has changed. */
void subscription_look(struct subscription *subscription); /* NULL is fine */
void subscription_free(struct subscription *subscription); /* NULL is fine */

#endif
