/* SPDX-License-Identifier: Apache-2.0
 *
 * One transfer of stock, step by step: send, receive, forget. transfer.h says why each step may be
 * repeated. */
#include "redis/stock/transfer.h"

#include "redis/script/script_reply.h"

/* Every step may be repeated, so a lost answer is no reason to stop. */
#define REPEATABLE true
#define ERROR_SHOWN 120 /* bytes of an error of Redis that are passed on */

static const struct problem nonsense = {HF_INTERNAL, "a transfer was answered with nonsense"};

void stock_transfer_init(struct stock_transfer *transfer, struct stock_product *product,
                         int64_t epoch, size_t source, size_t target)
{
    *transfer = (struct stock_transfer){
        .product = product, .epoch = epoch, .source = source, .target = target};
    script_call_init(&transfer->call, product->stocks->env);
}

void stock_transfer_free(struct stock_transfer *transfer)
{
    script_call_free(&transfer->call);
}

static void end(struct stock_transfer *transfer, const struct problem *problem)
{
    if (problem != NULL) {
        transfer->failed = true;
        transfer->problem = *problem;
    }
    transfer->done(transfer);
}

static void counter_arg(struct script_call *call, size_t counter)
{
    char name[COUNTER_NAME_SIZE];

    counter_name(counter, name);
    script_call_text(call, hf_text(name));
}

/* Is the reply {first, second, …}? Otherwise the transfer ends here. */
static bool has_answer(struct stock_transfer *transfer, enum redis_fate fate,
                       const redisReply *reply, const struct problem *problem, int64_t *first,
                       int64_t *second)
{
    if (fate != REDIS_ANSWERED) {
        end(transfer, problem);
        return false;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        struct problem refused;
        problem_set(&refused, HF_BUSY, "stock cannot be moved between shards: %.*s",
                    (int)(reply->len < ERROR_SHOWN ? reply->len : ERROR_SHOWN), reply->str);
        end(transfer, &refused);
        return false;
    }
    if (!script_reply_number(reply, 0, first) || !script_reply_number(reply, 1, second)) {
        end(transfer, &nonsense);
        return false;
    }
    return true;
}

/* ---- the last step --------------------------------------------------------------------------- */

/* Tells the log what a failover lost of earlier transfers, which are made good by now. */
static void log_loss(const struct stock_transfer *transfer, size_t lost_by, const char *what,
                     int64_t quantity)
{
    const struct stock_product *product = transfer->product;
    struct hf_bytes id = product->command.args.stock_get.product;
    char loser[COUNTER_NAME_SIZE], source[COUNTER_NAME_SIZE], target[COUNTER_NAME_SIZE];

    counter_name(lost_by, loser);
    counter_name(transfer->source, source);
    counter_name(transfer->target, target);
    log_line(&product->stocks->env->log, LOG_WARNING,
             "product %.*s: a failover made %s forget %lld that went from %s to %s: %s",
             (int)id.size, id.data, loser, (long long)quantity, source, target, what);
}

static void forgotten(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                      const struct problem *problem)
{
    struct stock_transfer *transfer = call->context;
    int64_t lost, available, owed;

    (void)problem; /* the stock has arrived: the next survey to find it in the outbox retries */
    if (fate == REDIS_ANSWERED && script_reply_number(reply, 0, &lost) &&
        script_reply_number(reply, 1, &available) && script_reply_number(reply, 2, &owed)) {
        stock_product_saw_available(transfer->product, transfer->source, available - owed);
        if (lost > 0) {
            log_loss(transfer, transfer->source, "taken off again", lost);
        }
    }
    end(transfer, NULL);
}

static void forget(struct stock_transfer *transfer)
{
    struct script_call *call = &transfer->call;

    counter_call(call, transfer->product, "forget_stock", transfer->source, "outbox", 3);
    counter_arg(call, transfer->target);
    script_call_number(call, transfer->arrived);
    script_call_number(call, transfer->epoch);
    script_call_send(call, REPEATABLE, 0, forgotten, transfer);
}

/* ---- the second ------------------------------------------------------------------------------ */

static void received(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                     const struct problem *problem)
{
    struct stock_transfer *transfer = call->context;
    int64_t gained, available;

    if (!has_answer(transfer, fate, reply, problem, &gained, &available)) {
        return;
    }
    if (!script_reply_number(reply, 2, &transfer->arrived)) {
        end(transfer, &nonsense);
        return;
    }
    stock_product_saw_available(transfer->product, transfer->target, available);
    if (gained > transfer->quantity) {
        log_loss(transfer, transfer->target, "received again", gained - transfer->quantity);
    }
    forget(transfer);
}

static void receive(struct stock_transfer *transfer)
{
    struct script_call *call = &transfer->call;

    counter_call(call, transfer->product, "receive_stock", transfer->target, "inbox", 4);
    counter_arg(call, transfer->source);
    script_call_number(call, transfer->total);
    script_call_number(call, transfer->quantity);
    script_call_number(call, transfer->epoch);
    script_call_send(call, REPEATABLE, 0, received, transfer);
}

/* ---- the first ------------------------------------------------------------------------------- */

static void sent(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                 const struct problem *problem)
{
    struct stock_transfer *transfer = call->context;
    int64_t lead, second, available;

    if (!has_answer(transfer, fate, reply, problem, &lead, &second)) {
        return;
    }
    if (lead == 0) { /* the source has nothing left to send */
        stock_product_saw_available(transfer->product, transfer->source, second);
        end(transfer, NULL);
    } else if (script_reply_number(reply, 2, &transfer->quantity) &&
               script_reply_number(reply, 3, &available)) {
        stock_product_saw_available(transfer->product, transfer->source, available);
        transfer->total = second;
        receive(transfer);
    } else {
        end(transfer, &nonsense);
    }
}

void stock_transfer_send(struct stock_transfer *transfer, int64_t least, int64_t most,
                         stock_transfer_done *done, void *context)
{
    struct script_call *call = &transfer->call;

    transfer->least = least;
    transfer->most = most;
    transfer->done = done;
    transfer->context = context;
    counter_call(call, transfer->product, "send_stock", transfer->source, "outbox", 4);
    counter_arg(call, transfer->target);
    script_call_number(call, least);
    script_call_number(call, most);
    script_call_number(call, transfer->epoch);
    script_call_send(call, REPEATABLE, 0, sent, transfer);
}

void stock_transfer_carry_on(struct stock_transfer *transfer,
                             const struct stock_open_transfer *open, stock_transfer_done *done,
                             void *context)
{
    transfer->done = done;
    transfer->context = context;
    transfer->total = open->total;
    transfer->quantity = open->quantity;
    receive(transfer);
}
