/* SPDX-License-Identifier: Apache-2.0
 *
 * A product in shards as a whole: LOAD, ADJUST, GET; and what a survey has to say. */
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

static struct trade *trade_of(struct stock_want *want)
{
    return LIST_ENTRY(want, struct trade, want);
}

/* ---- LOAD and ADJUST ------------------------------------------------------------------------- */

static void booked(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct trade *trade = call->context;
    struct product *product = trade->product;
    int64_t lead, number;

    if (!trade_answered(trade, fate, reply, problem)) {
        return;
    }
    if (reply_says(reply, "SHORT") && script_reply_number(reply, 2, &number)) {
        if (product->epoch == 0) {
            trade_learn(trade);
        } else {
            trade_ask(trade, STOCK_WANT_QUANTITY, PLACE_MAIN, number);
        }
    } else if (script_reply_number(reply, 0, &lead) && lead == 1) {
        trade->booked = true;
        trade_begin(trade);
    } else {
        trade_answer(trade, reply);
    }
}

void trade_book(struct trade *trade)
{
    struct script_call *call = &trade->pending->call;
    const struct command *command = &trade->pending->command;
    bool loads = command_id(command->spec) == STOCK_LOAD;

    place_call(call, trade->product, loads ? "load_shards" : "adjust_shards", PLACE_MAIN, NULL,
               script_call_row_arg_count(command->spec));
    script_call_row_args(call, command);
    trade_send(trade, booked);
}

/* ---- what a survey found --------------------------------------------------------------------- */

static void refuse_total(struct trade *trade, const struct stock_totals *totals)
{
    int64_t wanted = totals->available - trade->want.quantity + totals->taken + totals->sold;

    trade_refuse(trade, HF_CAPACITY_IN_USE, "that would leave # in all, with # taken and # sold",
                 wanted, totals->taken, totals->sold);
}

static void answer_totals(struct trade *trade, const struct stock_totals *totals)
{
    if (trade->booked) {
        trade_answer_number(trade, totals->available);
        return;
    }
    struct pending_command *pending = trade_end(trade);
    reply_clear(&pending->reply);
    reply_number(&pending->reply, totals->available);
    reply_number(&pending->reply, totals->taken);
    reply_number(&pending->reply, totals->sold);
    reply_number(&pending->reply, totals->loaded);
    reply_number(&pending->reply, totals->shards);
    reply_word(&pending->reply, totals->merged ? "merged" : "sharded");
    pending_finish(pending);
}

void trade_surveyed(struct stock_want *want, enum stock_survey_result result,
                    const struct stock_totals *totals, const struct problem *problem)
{
    struct trade *trade = trade_of(want);

    trade->waiting = false;
    alarm_stop(&trade->alarm);
    if (trade->product->stocks->stopped) {
        return;
    }
    switch (result) {
    case STOCK_SURVEY_RETRY:
        trade->spread = trade->spread || want->kind == STOCK_WANT_SPREAD;
        trade_try_again(trade);
        break;
    case STOCK_SURVEY_SHORT:
        if (command_id(trade->pending->command.spec) == STOCK_TAKE) {
            trade_refuse(trade, HF_SOLD_OUT, "# left, # requested", totals->available,
                         want->quantity, 0);
        } else {
            refuse_total(trade, totals);
        }
        break;
    case STOCK_SURVEY_FIGURES:
        answer_totals(trade, totals);
        break;
    case STOCK_SURVEY_FAILED:
        trade_fail(trade, problem);
        break;
    }
}
