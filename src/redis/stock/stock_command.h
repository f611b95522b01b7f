/* SPDX-License-Identifier: Apache-2.0
 *
 * A command for a product in shards is a few calls, one after the other, and a survey where
 * something falls short.
 *
 *     TAKE           look at the counter where the order may have been made before; take at the other
 *     SETTLE, GIVE   at the counter where new orders are made; then at the other
 *     LOAD, ADJUST   book the difference at the main counter; spread it; read the totals
 *     GET            read the totals
 */
#ifndef REDIS_STOCK_STOCK_COMMAND_H
#define REDIS_STOCK_STOCK_COMMAND_H

#include "redis/stock/survey.h"

struct stock_command {
    struct list node;
    struct pending_command *pending;
    struct stock_product *product;
    struct stock_want want;
    struct alarm alarm;
    uint64_t due_ms;
    unsigned tries;
    bool waiting;   /* in a survey */
    size_t counter; /* where the call under way goes */
    int64_t epoch;  /* what was known when it was sent */
    bool looked;    /* TAKE: the other counter was looked at in that epoch */
    /* TAKE: until when that counter remembers that the order was given back before. GIVE: the same of
     * the counter asked first; and, if the order expired there, what the other counter remembers until
     * then does not count. 0: it is not so. */
    int64_t given_until, hidden_until;
    bool booked; /* LOAD, ADJUST: the difference is applied */
    bool spread; /* … and was spread */
};

/* Carries out a command for a product that is, or may be, in shards; NULL: there is no memory. If
 * there are no shards after all, it goes to stock_single(). */
void stock_command_start(struct stocks *stocks, struct pending_command *pending,
                         struct stock_product *product);
/* The engine closes: nothing is answered any more. */
void stock_commands_stop(struct stocks *stocks);
void stock_commands_free(struct stocks *stocks);

/* stock.c: the one call of a product that is in no shards. */
void stock_single(struct script_env *env, struct pending_command *pending);

/* ---- for those who know the commands --------------------------------------------------------- */

/* From the beginning; and after it came to nothing, sooner or later, until its time is over. */
void stock_command_begin(struct stock_command *command);
void stock_command_retry(struct stock_command *command);

/* The ways to end it. */
struct pending_command *
stock_command_end(struct stock_command *command); /* the command is still to be answered */
void stock_command_succeed(
    struct stock_command *command); /* `remaining`, as far as this engine knows */
void stock_command_answer_number(struct stock_command *command, int64_t number);
void stock_command_answer(struct stock_command *command,
                          const redisReply *reply); /* as a counter has answered */
void stock_command_refuse(struct stock_command *command, enum hf_error code, const char *why,
                          int64_t a, int64_t b, int64_t c);
void stock_command_fail(struct stock_command *command, const struct problem *problem);

/* Sends pending->call, within the time that is left. Its `done` begins with
 * stock_command_answered(): has it an answer that can be gone on with? Otherwise the command is
 * over, or has begun anew. */
void stock_command_send(struct stock_command *command, script_call_done *done);
bool stock_command_answered(struct stock_command *command, enum redis_fate fate,
                            const redisReply *reply, const struct problem *problem);

/* Asks a survey, and comes back to stock_command_begin() or ends. */
void stock_command_survey(struct stock_command *command, enum stock_want_kind kind, size_t target,
                          int64_t quantity);
/* Asks the main counter for all there is to know of the product, and begins. */
void stock_command_learn(struct stock_command *command);

/* stock_command_order.c */
void stock_command_take(struct stock_command *command);
void stock_command_close(struct stock_command *command);
/* stock_command_total.c */
void stock_command_book(struct stock_command *command);
void stock_command_surveyed(struct stock_want *want, enum stock_survey_result result,
                            const struct stock_totals *totals, const struct problem *problem);

#endif
