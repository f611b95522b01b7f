/* SPDX-License-Identifier: Apache-2.0
 *
 * What a survey does about what it has read: it changes the mode of the product, completes the
 * transfers that others left in outboxes, and moves stock by a plan (transfer_plan.h). */
#include "redis/script/script_reply.h"
#include "redis/stock/transfer_plan.h"
#include "redis/stock/survey_parts.h"

#include <stdlib.h>
#include <string.h>

static void move(struct stock_survey *survey);

/* ---- turning --------------------------------------------------------------------------------- */

static void turned(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct stock_survey *survey = call->context;
    struct stock_product *product = survey->product;
    int64_t lead, epoch;
    (void)problem; /* a later survey, of this or another engine, changes the mode then */

    if (product->epoch != 0 && fate == REDIS_ANSWERED && script_reply_number(reply, 0, &lead) &&
        script_reply_number(reply, 1, &epoch) && reply->elements == 3) {
        const char *mode = reply->element[2]->str != NULL ? reply->element[2]->str : "";
        bool closed = strcmp(mode, "closed") == 0;
        /* Another engine may have begun to close it, or have limited it: what this epoch means is
         * to be read. Who took it for open would sell what a CLOSE does not find any more. */
        bool by_another = lead == 0;
        product->epoch = closed || by_another ? 0 : epoch;
        product->end = closed ? PRODUCT_CLOSED : product->end;
        product->merged = strcmp(mode, "merged") == 0;
        log_line(&product->stocks->env->log, LOG_INFO, "product %.*s is %s",
                 (int)product->command.args.stock_get.product.size, product->id, mode);
    }
    stock_survey_carry_on(survey);
}

void stock_survey_turn(struct stock_survey *survey, const char *mode, int64_t above)
{
    struct script_call *call = &survey->turn_call;

    counter_call(call, survey->product, "turn_shards", COUNTER_MAIN, NULL, 3);
    script_call_number(call, survey->product->epoch);
    script_call_text(call, hf_text(mode));
    script_call_number(call, above);
    script_call_send(call, true, 0, turned, survey);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void free_transfers(struct stock_survey *survey)
{
    for (size_t i = 0; i < survey->transfer_count; i++) {
        stock_transfer_free(&survey->transfers[i]);
    }
    free(survey->transfers);
    survey->transfers = NULL;
    survey->transfer_count = 0;
}

/* Allocates so many transfers; false if there are none to make, or there is no memory. */
static bool prepare_transfers(struct stock_survey *survey, size_t count)
{
    survey->transfers = count > 0 ? calloc(count, sizeof *survey->transfers) : NULL;
    survey->transfer_count = survey->in_flight = survey->transfers != NULL ? count : 0;
    return survey->transfers != NULL;
}

/* Retains why a transfer failed: commands that wait for the stock are answered with it. */
static void note_obstacle(const struct stock_transfer *transfer)
{
    if (transfer->failed) {
        transfer->product->obstacle = transfer->problem;
    }
}

static void carried_on(struct stock_transfer *transfer)
{
    struct stock_survey *survey = transfer->context;

    note_obstacle(transfer);
    if (--survey->in_flight == 0) {
        free_transfers(survey);
        move(survey);
    }
}

void stock_survey_carry_on(struct stock_survey *survey)
{
    survey->product->obstacle.code = HF_OK;
    if (survey->product->stocks->stopped || !prepare_transfers(survey, survey->open_count)) {
        move(survey);
        return;
    }
    for (size_t i = 0; i < survey->open_count; i++) {
        struct stock_transfer *transfer = &survey->transfers[i];
        stock_transfer_init(transfer, survey->product, survey->epoch, survey->open[i].source,
                            survey->open[i].target);
        stock_transfer_carry_on(transfer, &survey->open[i], carried_on, survey);
    }
}

static void moved(struct stock_transfer *transfer)
{
    struct stock_survey *survey = transfer->context;

    note_obstacle(transfer);
    if (--survey->in_flight == 0) {
        free_transfers(survey);
        stock_survey_finish(survey, STOCK_SURVEY_RETRY, NULL);
    }
}

static void move(struct stock_survey *survey)
{
    struct stock_product *product = survey->product;
    struct transfer_plan plan;

    transfer_plan_init(&plan, product, survey->count);
    if (!product->stocks->stopped) {
        transfer_plan_make(&plan, &survey->wants);
    }
    if (prepare_transfers(survey, plan.count)) {
        for (size_t i = 0; i < plan.count; i++) {
            const struct transfer_plan_move *planned = &plan.moves[i];
            stock_transfer_init(&survey->transfers[i], product, survey->epoch, planned->source,
                                planned->target);
            stock_transfer_send(&survey->transfers[i], planned->quantity, planned->quantity, moved,
                                survey);
        }
    } else {
        stock_survey_finish(survey, STOCK_SURVEY_RETRY, NULL);
    }
    transfer_plan_free(&plan);
}
