/* SPDX-License-Identifier: Apache-2.0
 *
 * The connections to one deployment of Redis: a server alone, the master that Sentinel names, or a
 * cluster. Requests go to the master that has their slot. They are pipelined, sent again after a
 * redirect, a failover or a flush of the scripts, and answered exactly once, within their time.
 *
 * A client lives on one uv loop and is used by its thread alone. Callbacks come from the loop,
 * never from inside redis_client_send(). Nothing blocks the loop: names are looked up on other
 * threads. */
#ifndef REDIS_CLIENT_CLIENT_H
#define REDIS_CLIENT_CLIENT_H

#include "base/list.h"
#include "base/log.h"
#include "net/alarm.h"
#include "redis/client/script.h"
#include "redis/client/url.h"

#include <hiredis/hiredis.h>
#include <uv.h>

struct redis_client;
struct redis_node; /* a master */

#define REDIS_SLOTS 16384

/* What is answered when a script says AGAIN until the time is over. */
#define CLIENT_MORE_DUE "more fell due than could be given back in time; try again"

/* What came of a request. */
enum redis_fate {
    REDIS_ANSWERED, /* here is the reply; an error reply only if it is the script's own */
    REDIS_NOT_DONE, /* it was certainly not carried out: the problem says why */
    REDIS_UNKNOWN,  /* it was sent and no answer came in time: it may have happened */
};

struct redis_request;
typedef void redis_done(struct redis_request *request, enum redis_fate fate,
                        const redisReply *reply, const struct problem *problem);

/* Part of the caller's own struct, which must live until `done` was called. */
struct redis_request {
    const char *bytes; /* the command in RESP; the caller's, until done */
    size_t size;
    const struct script *script; /* of an EVALSHA: loaded wherever it is missing; or NULL */
    int slot;                    /* of its keys, redis_slot(); -1: any master will do */
    struct redis_node *node;     /* this very master, whatever its slots; NULL: by slot */
    bool repeatable;             /* changes nothing: sent again when the outcome is unknown */
    bool verbatim;               /* error replies are answers: no redirect, nothing sent again */
    /* What it is for, such as an event: requests of one scope are carried out in the order in which
     * they were sent. The caller's, until done; of size 0: it has none. */
    struct hf_bytes scope;
    bool unordered; /* keeps to no order among those of its scope, nor do they to it */
    /* Of a script that has a batch: where in the bytes its keys begin, and its arguments, and how
     * many there are. args_at 0: it travels alone. */
    size_t keys_at, args_at, key_count, arg_count;
    bool unqueued;      /* neither counts against the URL's queue nor is refused for it */
    int64_t timeout_ms; /* from now until done; 0: as the URL says */
    redis_done *done;

    struct {
        struct alarm deadline;      /* rings when its time is over */
        struct list waiting;        /* in the client's `waiting` or `refused`, if is_waiting */
        struct redis_node *sent_to; /* the node that has not answered it yet; NULL: not in flight */
        struct redis_node *target;  /* the only node it may go to: pinned, or by an ASK; or NULL */
        uint64_t position;          /* in the pipeline of the node it was sent to */
        struct redis_batch *batch;  /* the one it travels in, at place `item`; NULL: alone */
        size_t item;
        uint64_t not_before_ms;  /* uv_now() before which it is not sent again */
        unsigned attempts;       /* how often it was sent */
        unsigned quick_attempts; /* how often since the last pause */
        uint64_t order;          /* of redis_client_send(), among those of its scope */
        uint64_t scope_hash;
        bool is_waiting;
        bool is_held;                /* it waits for those of its scope before it */
        bool leads;                  /* it was answered AGAIN: those of its scope wait for it */
        bool asking;                 /* an ASKING is sent in front of it */
        struct problem last_problem; /* why the last attempt was not carried out; HF_OK: none */
    } private;
};

struct redis_client_options {
    const struct redis_url *url; /* copied */
    size_t host;                 /* REDIS_REDLOCK: the client is for this host alone */
    uv_loop_t *loop;
    struct log log;
    /* Called once: the first connections are up (NULL), or are not within the connect timeout. */
    void (*ready)(void *context, const struct problem *problem);
    void *context;
};

/* What happened so far, for metrics; may be read by any thread. */
struct redis_figures {
    _Atomic uint64_t connects, disconnects, redirects, script_loads, resent, unknown, refused;
    _Atomic uint64_t batches, batched; /* calls of several requests, and the requests in them */
    _Atomic uint64_t in_flight;
};

/* Can the files that the URL names be used? */
enum hf_error redis_client_check(const struct redis_url *url, struct problem *problem);

/* NULL when there is no memory. */
struct redis_client *redis_client_open(const struct redis_client_options *options);

/* Every request in flight is answered (REDIS_NOT_DONE or REDIS_UNKNOWN), handles are closed, then
 * `closed` is called from the loop; the client is gone with it. */
void redis_client_close(struct redis_client *client, void (*closed)(void *context), void *context);

void redis_client_send(struct redis_client *client, struct redis_request *request);

/* Calls `each` for every master known now. A node may vanish with the next turn of the loop: keep
 * it no longer, except in a request sent at once. */
void redis_client_masters(struct redis_client *client,
                          void (*each)(void *context, struct redis_node *node), void *context);
const char *redis_node_name(const struct redis_node *node); /* "127.0.0.1:7001" */

/* Calls `each` for every node, as it was within the last second; may be called by any thread.
 * Returns how many more there are. */
struct redis_node_view;
size_t redis_client_nodes(struct redis_client *client,
                          void (*each)(void *context, const struct redis_node_view *view),
                          void *context);

/* The master that has a slot; NULL: none is known now. Not to be kept either. */
struct redis_node *redis_client_owner(struct redis_client *client, int slot);

/* Is that master known to be away: its connection lost and not made again yet, or silent? A request
 * that is sent all the same waits for it. */
bool redis_client_is_away(struct redis_client *client, int slot);

/* Messages of a channel, on a connection of its own that is made again when it breaks; at most one
 * channel a client. `resubscribed` is called whenever the subscription is made, the first time too:
 * messages may have been missed. */
void redis_client_subscribe(struct redis_client *client, const char *channel,
                            void (*message)(void *context, struct hf_bytes payload),
                            void (*resubscribed)(void *context), void *context);

const struct redis_figures *redis_client_figures(const struct redis_client *client);

/* The hash slot of a key: CRC16 of what stands in the first braces, or of all of it. */
int redis_slot(struct hf_bytes key);

#endif
