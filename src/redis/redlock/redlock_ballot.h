/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of redlock: a command in flight, as a ballot of the servers. Only redlock.c and
 * redlock_try.c include this. */
#ifndef REDIS_REDLOCK_REDLOCK_BALLOT_H
#define REDIS_REDLOCK_REDLOCK_BALLOT_H

#include "base/clock.h"
#include "net/alarm.h"
#include "redis/redlock/redlock.h"

/* REDLOCK_ASKING is the one round of UNLOCK, EXTEND and GET; the others are TRY's. */
enum redlock_step {
    REDLOCK_ASKING,
    REDLOCK_TAKING,
    REDLOCK_RAISING,
    REDLOCK_GIVING_BACK,
    REDLOCK_PAUSING
};

enum redlock_say { REDLOCK_UNASKED, REDLOCK_OPEN, REDLOCK_YES, REDLOCK_NO, REDLOCK_SILENT };

struct redlock_server {
    struct redlock *redlock;
    struct redis_client *client;
};

/* One server's part in a ballot. */
struct redlock_vote {
    struct redlock_ballot *ballot;
    struct script_call call;
    unsigned round; /* the ballot's, when the server was asked */
    bool in_flight;
    bool away;        /* the ballot does not wait for this server */
    bool unlocking;   /* the call in flight gives a lock back: its answer is no vote */
    bool owes_unlock; /* to be unlocked there once the call in flight is answered */

    enum redlock_say say;
    bool maybe; /* silent, but the call may have been carried out */
    bool fresh; /* said yes: the lock was taken just now; otherwise this id held it before */
    int64_t fence, left_ms;
    char id[HF_ID_MAX];
    size_t id_size;
};

/* A LOCK.* command, from the first call until every call is answered. */
struct redlock_ballot {
    struct list node;
    struct redlock *redlock;
    struct pending_command *pending; /* NULL: answered; locks may still have to be given back */
    enum redlock_step step;
    unsigned round;
    unsigned attempt;
    size_t in_flight; /* calls of its votes */
    int64_t ttl_ms, limit_ms;
    int64_t began_ms; /* when the command began */
    int64_t asked_ms; /* when this attempt began */
    int64_t fence;    /* the largest that was handed out, and to be written down */
    bool spare;       /* this id may have held the lock before: only what is fresh is given back */
    struct alarm pause;
    struct command unlock;                        /* gives back what a TRY got */
    char resource[HF_ID_MAX], lock_id[HF_ID_MAX]; /* the texts of `unlock` */
    struct redlock_vote votes[];
};

struct redlock {
    struct script_env *env;
    struct clock clock;
    struct list ballots;
    size_t count, quorum;
    struct redlock_server servers[REDIS_HOSTS_MAX];

    void (*ready)(void *context, const struct problem *problem);
    void *ready_context;
    size_t up, down; /* servers that were reached, and that could not be */

    bool closing;
    size_t to_close; /* clients, and redlock_close() while it runs */
    void (*closed)(void *context);
    void *closed_context;
};

/* How a round stands. */
struct redlock_tally {
    size_t fresh, held, no, silent, open;
    bool maybe; /* a server that is silent, or said yes, may have changed something */
};

/* ---- redlock.c ------------------------------------------------------------------------------- */

int64_t redlock_ballot_now_ms(const struct redlock_ballot *ballot);
struct redlock_tally redlock_ballot_count(const struct redlock_ballot *ballot);

/* How long the lock is certain to last, by the vote that ends first. */
int64_t redlock_ballot_validity_ms(const struct redlock_ballot *ballot);

/* Finds the servers that are known to be away: a round does not wait for them as long as the others
 * are a quorum. A server that has not answered the round before yet cannot be asked. */
void redlock_ballot_find_away(struct redlock_ballot *ballot);

/* Sends the call that was written to the vote's server. */
void redlock_ballot_send(struct redlock_vote *vote);

/* The ways to answer. The command is no longer ours then. */
void redlock_ballot_finish(struct redlock_ballot *ballot); /* its reply is filled in */
void redlock_ballot_nil(struct redlock_ballot *ballot);    /* what the row calls nil */
/* Too few servers answered to tell. The message names those that did not. */
void redlock_ballot_unclear(struct redlock_ballot *ballot, enum hf_error code);

/* ---- redlock_try.c --------------------------------------------------------------------------- */

/* The first attempt; false when there is no memory. */
bool redlock_ballot_try(struct redlock_ballot *ballot);
/* After each answer. */
void redlock_ballot_try_judge(struct redlock_ballot *ballot);
/* Gives back the lock that this server may have granted. */
void redlock_ballot_try_unlock(struct redlock_vote *vote);

#endif
