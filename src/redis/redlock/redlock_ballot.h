/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of redlock: a command under way, as a ballot of the servers. Only redlock.c and
 * redlock_try.c include this. */
#ifndef REDIS_REDLOCK_REDLOCK_BALLOT_H
#define REDIS_REDLOCK_REDLOCK_BALLOT_H

#include "base/clock.h"
#include "net/alarm.h"
#include "redis/redlock/redlock.h"

/* ASKING is the one round of UNLOCK, EXTEND and GET; the others are TRY's. */
enum step { ASKING, TAKING, RAISING, GIVING_BACK, PAUSING };

enum say { UNASKED, OPEN, YES, NO, SILENT };

struct server {
    struct redlock *redlock;
    struct redis_client *client;
};

/* One server's part in a ballot. */
struct vote {
    struct ballot *ballot;
    struct script_call call;
    unsigned round; /* of the ballot, when it was asked */
    bool under_way;
    bool owes_unlock; /* as soon as it is not under way any more */

    enum say say;
    bool maybe; /* SILENT, but it may have been carried out */
    bool fresh; /* YES: the lock was taken just now; otherwise this id held it before */
    int64_t fence, left_ms;
    char id[HF_ID_MAX];
    size_t id_size;
};

/* A command under way. */
struct ballot {
    struct list node;
    struct redlock *redlock;
    struct pending_command *pending; /* NULL: it was answered; what is left is to be tidied up */
    enum step step;
    unsigned round;
    unsigned attempt;
    size_t under_way; /* votes that are */
    int64_t ttl_ms, limit_ms;
    int64_t began_ms; /* the command */
    int64_t asked_ms; /* this attempt */
    int64_t fence;    /* the largest that was handed out, and to be written down */
    bool spare;       /* this id may have held the lock before: only what is fresh is given back */
    struct alarm pause;
    struct command unlock; /* gives back what a TRY got; its texts are here: */
    char resource[HF_ID_MAX], lock_id[HF_ID_MAX];
    struct vote votes[];
};

struct redlock {
    struct script_env *env;
    struct clock clock;
    struct list ballots;
    size_t count, quorum;
    struct server servers[REDIS_HOSTS_MAX];

    void (*ready)(void *context, const struct problem *problem);
    void *ready_context;
    size_t up, down; /* servers that said whether they are there */

    bool closing;
    size_t to_close; /* clients, and redlock_close() while it runs */
    void (*closed)(void *context);
    void *closed_context;
};

/* How a round stands. */
struct tally {
    size_t fresh, held, no, silent, open;
    bool maybe; /* somebody who is silent, or said yes, may have changed something */
};

/* ---- redlock.c ------------------------------------------------------------------------------- */

int64_t ballot_now_ms(const struct ballot *ballot);
struct tally ballot_count(const struct ballot *ballot);

/* How long the lock is certain to last, by the vote that ends first. */
int64_t ballot_validity_ms(const struct ballot *ballot);

/* Sends the call that was written to the vote's server. */
void ballot_send(struct vote *vote);

/* The ways to answer. The command is no longer ours then. */
void ballot_finish(struct ballot *ballot); /* its reply is filled in */
void ballot_nil(struct ballot *ballot);    /* what the row calls nil */
/* Too few answered to tell. Who did not stands in the message. */
void ballot_unclear(struct ballot *ballot, enum hf_error code);

/* ---- redlock_try.c --------------------------------------------------------------------------- */

/* The first attempt; false when there is no memory. */
bool ballot_try(struct ballot *ballot);
/* After each answer. */
void ballot_try_judge(struct ballot *ballot);
/* Gives back what this server may have given. */
void ballot_try_unlock(struct vote *vote);

#endif
