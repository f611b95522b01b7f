/* SPDX-License-Identifier: Apache-2.0
 *
 * A STOCK command in flight for a product in shards: a few calls, one after the other, and a survey
 * where stock falls short.
 *
 *     TAKE           search the order at the counters that do not take it; take it at the one that
 *                    does
 *     SETTLE, GIVE,  at the counter where new orders are taken; if it is not known there, search it
 *     EXTEND         and go where it is
 *     LOAD, ADJUST   book the difference at the main counter; spread it; read the totals
 *     GET            read the totals
 *     LIST           read the product; then walk over the counters, the main one first
 *     SHARDS         read the product; then each counter, whether or not those before it answered
 *     CLOSE          change the mode, so that nothing is taken any more; read the totals; change
 *                    the mode back, or go on and wipe all counters
 *
 * Any command that finds the product half closed carries on with that, then begins again. */
#ifndef REDIS_STOCK_STOCK_COMMAND_H
#define REDIS_STOCK_STOCK_COMMAND_H

#include "redis/script/pending.h"
#include "redis/stock/order_search.h"
#include "redis/stock/survey.h"

struct stock_command {
    struct list node;
    struct pending_command *pending;
    struct stock_product *product;
    struct stock_want want;
    struct alarm alarm;
    uint64_t due_ms;
    unsigned tries;
    bool waiting;               /* its want is in a survey */
    size_t counter;             /* where the call in flight goes */
    int64_t epoch;              /* the product's, when that call was sent */
    struct order_search search; /* of an order; its result is valid in its epoch */
    bool searched;
    int64_t user_has;    /* TAKE: what the user has of the product, when it was found too much */
    int64_t refused_for; /* TAKE: what the user had elsewhere when it was refused; -1: it was not */
    bool counting;       /* its survey is to find whether anything of a closing product is taken */
    bool shut;           /* the product was found half closed since this command began */
    int64_t sold, available; /* CLOSE: of the counters that were wiped so far */
    int64_t taken;           /* CLOSE: of the product, when it was found that something is */
    bool learned;            /* the product was read since this command began */
    unsigned calls;          /* LIST: pages that counters were asked for */
    const struct redis_node *silent; /* SHARDS: one that did not answer, only to be compared */
    bool booked; /* LOAD, ADJUST: the difference is applied at the main counter */
    bool spread; /* LOAD, ADJUST: what was applied is spread over the shards */
};

/* Carries out a command for a product that has or may have shards. If it has none after all, it
 * goes to stock_single(). If `product` is NULL, it is refused for lack of memory. */
void stock_command_start(struct stocks *stocks, struct pending_command *pending,
                         struct stock_product *product);
/* The engine closes: no command is answered any more. */
void stock_commands_stop(struct stocks *stocks);
void stock_commands_free(struct stocks *stocks);

/* stock.c: the one call of a product without shards. */
void stock_single(struct stocks *stocks, struct pending_command *pending);

/* ---- for the files that make it up ----------------------------------------------------------- */

/* Begins, and begins again: at once or after a pause, until the time of the command is over. */
void stock_command_begin(struct stock_command *command);
void stock_command_retry(struct stock_command *command);

/* Frees the struct; the command is still to be answered. All that follow end the command too. */
struct pending_command *stock_command_end(struct stock_command *command);
/* Answers with `remaining`, as far as this engine knows. */
void stock_command_succeed(struct stock_command *command);
void stock_command_answer_number(struct stock_command *command, int64_t number);
/* Answers with what a counter replied. */
void stock_command_answer(struct stock_command *command, const redisReply *reply);
void stock_command_refuse(struct stock_command *command, enum hf_error code, const char *why,
                          int64_t a, int64_t b, int64_t c);
void stock_command_fail(struct stock_command *command, const struct problem *problem);

/* Sends pending->call, within the time that is left. Its `done` begins with
 * stock_command_answered(), which is false if the command has ended or begun again instead of going
 * on with the reply. */
void stock_command_send(struct stock_command *command, script_call_done *done);
bool stock_command_answered(struct stock_command *command, enum redis_fate fate,
                            const redisReply *reply, const struct problem *problem);

/* What is left of the command's time, in ms. */
int64_t stock_command_left_ms(const struct stock_command *command);

/* A counter knows of a later epoch than this engine: a survey reads the product again, then the
 * command begins again. */
void stock_command_relearn(struct stock_command *command);

/* Joins a survey; the command begins again, or ends, when the survey answers. */
void stock_command_survey(struct stock_command *command, enum stock_want_kind kind, size_t target,
                          int64_t quantity);
/* Reads the product at its main counter, then begins again. */
void stock_command_learn(struct stock_command *command);

/* stock_command_order.c: TAKE; SETTLE, GIVE and EXTEND. */
void stock_command_take(struct stock_command *command);
void stock_command_close(struct stock_command *command);
/* stock_command_list.c */
void stock_command_list(struct stock_command *command);
/* stock_command_shards.c */
void stock_command_shards(struct stock_command *command);
/* stock_command_shut.c: CLOSE, and what every command does with a product that is half closed. */
void stock_command_shut(struct stock_command *command);
void stock_command_shut_counted(struct stock_command *command, const struct stock_totals *totals);
/* stock_command_total.c */
void stock_command_book(struct stock_command *command);
void stock_command_surveyed(struct stock_want *want, enum stock_survey_result result,
                            const struct stock_totals *totals, const struct problem *problem);

#endif
