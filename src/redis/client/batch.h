/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of one scope that travel to a node together, as one call of a script that carries them
 * out one after the other (lua/parts/batch.lua). Each is answered by itself, and has the fate that
 * it would have alone.
 *
 * A request opens the batch of its scope, or joins it if it is open. At the end of the loop's turn
 * a batch is sent, unless BATCH_CALLS_MAX calls of its scope are in flight: then it stays open for
 * those that come, until the first of these calls is answered or it is full. So a request waits
 * only while others of its scope are in flight, and the more of them there are, the more travel
 * together. Requests of one scope never overtake each other: one that cannot travel in a batch has
 * the open one of its scope sent first, and a call that is sent while others of its scope are in
 * flight is told so (scope_line.h). */
#ifndef REDIS_CLIENT_BATCH_H
#define REDIS_CLIENT_BATCH_H

#include "base/buffer.h"
#include "redis/client/client.h"

#define BATCH_MAX 16       /* requests; no call of a script may take long */
#define BATCH_CALLS_MAX 4  /* in flight for a scope before the next one waits to be full */
#define BATCH_WORDS_MAX 32 /* keys and arguments of a request */
#define BATCH_PLACES 256   /* scopes whose calls in flight are known; a power of two */

struct redis_node;

struct redis_batch {
    struct list node;                       /* of the open ones of its redis_node */
    struct redis_request *items[BATCH_MAX]; /* NULL: its caller does not wait any more */
    size_t count;
    uint64_t hash; /* of the scope */
    bool open;     /* not written to the stream yet */
};

/* What a node knows of a scope. Where two scopes meet, the later one takes the place over. */
struct batch_place {
    struct redis_batch *open; /* or NULL */
    uint64_t hash;            /* of the scope */
    uint64_t
        sent_at[BATCH_CALLS_MAX]; /* numbers of its last calls plus 1, the oldest at `oldest` */
    unsigned oldest;
    uint64_t last_sent; /* the number of the last call plus 1, of whatever scope was here */
};

struct node_batches {
    struct list open; /* in the order in which they were opened */
    struct batch_place places[BATCH_PLACES];
};

struct node_batches *node_batches_new(void); /* NULL when there is no memory */

/* Can it travel in a batch? */
bool batch_takes(const struct redis_request *request);
/* Has the request join the batch of its scope. False when there is no memory. */
bool batch_join(struct redis_node *node, struct redis_request *request);
/* Sends the open batch of the scope of a request that goes alone, and so has to come behind it. */
void batch_send_before(struct redis_node *node, const struct redis_request *request);
/* Writes a request as a call by itself. It has to be put into the pipeline, and told here. */
void batch_write_single(struct redis_node *node, const struct redis_request *request);
void batch_sent_single(struct redis_node *node, const struct redis_request *request,
                       uint64_t number);
/* Takes the requests out of the open batch of this one's scope. */
void batch_recall(struct redis_node *node, const struct redis_request *request,
                  void (*each)(void *context, struct redis_request *request), void *context);
/* At the end of the loop's turn: sends the batches that need not wait. */
void batches_send(struct redis_node *node);

/* A hash of a scope or a key. Those with the same hash only get in each other's way. */
uint64_t batch_hash(struct hf_bytes text);
/* Writes the call, in RESP; every caller waits. `behind`: others of the scope are in flight before
 * it. batch_write.c. */
void batch_write(struct buffer *out, const struct redis_batch *batch, bool behind);
/* The same of a request alone. */
void batch_write_behind(struct buffer *out, const struct redis_request *request);

/* The first request in it whose caller waits; NULL: there is none. */
struct redis_request *batch_first(const struct redis_batch *batch);

/* The call was answered: so is each request. The batch is gone. `unsafe`: why nothing of it may be
 * told, except for errors; or NULL. */
void batch_answered(struct redis_node *node, struct redis_batch *batch, const redisReply *replies,
                    const char *unsafe);
/* The caller of this request does not wait any more. Returns whether it was sent. */
bool batch_abandon(struct redis_request *request);
/* The connection was lost. `sent`: the batch may have reached the server. It is gone. */
void batch_lost(struct redis_node *node, struct redis_batch *batch, bool sent, const char *why);
/* The same for all that are open. */
void batches_lost(struct redis_node *node, const char *why);

#endif
