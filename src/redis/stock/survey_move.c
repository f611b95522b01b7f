/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/script/script_reply.h"
#include "redis/stock/transfer_plan.h"
#include "redis/stock/survey_parts.h"

#include <stdlib.h>

static void move(struct scan *scan);

/* ---- turning --------------------------------------------------------------------------------- */

static void turned(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct scan *scan = call->context;
    struct product *product = scan->product;
    int64_t lead, epoch;
    (void)problem; /* then somebody else turns it, another time */

    if (fate == REDIS_ANSWERED && script_reply_number(reply, 0, &lead) &&
        script_reply_number(reply, 1, &epoch) && reply->elements == 3) {
        product->epoch = epoch;
        product->merged = reply->element[2]->str != NULL && reply->element[2]->str[0] == 'm';
        log_line(&product->stocks->env->log, LOG_INFO, "product %.*s is %s",
                 (int)product->command.args.stock_get.product.size, product->id,
                 product->merged ? "merged" : "sharded");
    }
    scan_carry_on(scan);
}

void scan_turn(struct scan *scan, bool merged, int64_t above)
{
    struct script_call *call = &scan->turn_call;

    place_call(call, scan->product, "turn_shards", PLACE_MAIN, NULL, 3);
    script_call_number(call, scan->product->epoch);
    script_call_text(call, hf_text(merged ? "merged" : "sharded"));
    script_call_number(call, above);
    script_call_send(call, true, 0, turned, scan);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void free_transfers(struct scan *scan)
{
    for (size_t i = 0; i < scan->transfer_count; i++) {
        transfer_free(&scan->transfers[i]);
    }
    free(scan->transfers);
    scan->transfers = NULL;
    scan->transfer_count = 0;
}

/* Room for that many; false: there is nothing to do, or no memory for it. */
static bool prepare_transfers(struct scan *scan, size_t count)
{
    scan->transfers = count > 0 ? calloc(count, sizeof *scan->transfers) : NULL;
    scan->transfer_count = scan->under_way = scan->transfers != NULL ? count : 0;
    return scan->transfers != NULL;
}

static void carried_on(struct transfer *transfer)
{
    struct scan *scan = transfer->context;

    if (--scan->under_way == 0) {
        free_transfers(scan);
        move(scan);
    }
}

void scan_carry_on(struct scan *scan)
{
    if (scan->product->stocks->stopped || !prepare_transfers(scan, scan->open_count)) {
        move(scan);
        return;
    }
    for (size_t i = 0; i < scan->open_count; i++) {
        struct transfer *transfer = &scan->transfers[i];
        transfer_init(transfer, scan->product, scan->open[i].source, scan->open[i].target);
        transfer_carry_on(transfer, &scan->open[i], carried_on, scan);
    }
}

static void moved(struct transfer *transfer)
{
    struct scan *scan = transfer->context;

    if (--scan->under_way == 0) {
        free_transfers(scan);
        scan_finish(scan, SCAN_TRY_AGAIN, NULL);
    }
}

static void move(struct scan *scan)
{
    struct product *product = scan->product;
    struct plan plan;

    plan_init(&plan, product, scan->count);
    if (!product->stocks->stopped) {
        plan_moves(&plan, &scan->wants);
    }
    if (prepare_transfers(scan, plan.count)) {
        for (size_t i = 0; i < plan.count; i++) {
            const struct planned *planned = &plan.moves[i];
            transfer_init(&scan->transfers[i], product, planned->source, planned->target);
            transfer_send(&scan->transfers[i], planned->quantity, planned->quantity, moved, scan);
        }
    } else {
        scan_finish(scan, SCAN_TRY_AGAIN, NULL);
    }
    plan_free(&plan);
}
