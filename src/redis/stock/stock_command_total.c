/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands for a product in shards as a whole, LOAD, ADJUST and GET; and what every command
 * does with the result of a survey. */
#include "redis/script/script_reply.h"
#include "redis/stock/stock_command.h"

static struct stock_command *command_of(struct stock_want *want)
{
    return LIST_ENTRY(want, struct stock_command, want);
}

/* ---- LOAD and ADJUST ------------------------------------------------------------------------- */

static void booked(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                   const struct problem *problem)
{
    struct stock_command *command = call->context;
    struct stock_product *product = command->product;
    int64_t lead, number;

    if (!stock_command_answered(command, fate, reply, problem)) {
        return;
    }
    if (stock_reply_says(reply, "SHORT") && script_reply_number(reply, 2, &number)) {
        if (product->epoch == 0) {
            stock_command_learn(command);
        } else {
            stock_command_survey(command, STOCK_WANT_QUANTITY, COUNTER_MAIN, number);
        }
    } else if (script_reply_number(reply, 0, &lead) && lead == 1) {
        command->booked = true;
        stock_command_begin(command);
    } else {
        stock_command_answer(command, reply);
    }
}

void stock_command_book(struct stock_command *command)
{
    struct script_call *call = &command->pending->call;
    const struct command_spec *spec = command->pending->command.spec;
    bool loads = command_id(spec) == STOCK_LOAD;

    counter_call(call, command->product, loads ? "load_shards" : "adjust_shards", COUNTER_MAIN,
                 NULL, script_call_row_arg_count(spec));
    script_call_row_args(call, &command->pending->command);
    stock_command_send(command, booked);
}

/* ---- what a survey found --------------------------------------------------------------------- */

static void refuse_total(struct stock_command *command, const struct stock_totals *totals)
{
    int64_t wanted = totals->available - command->want.quantity + totals->taken + totals->sold;

    stock_command_refuse(command, HF_CAPACITY_IN_USE,
                         "that would leave # in all, with # taken and # sold", wanted,
                         totals->taken, totals->sold);
}

/* There is stock, but the user has too much already. */
static void refuse_user(struct stock_command *command)
{
    const struct hf_stock_take_args *args = &command->pending->command.args.stock_take;

    stock_command_refuse(command, HF_USER_LIMIT_EXCEEDED,
                         "the user has # of the product, # requested, at most # allowed",
                         command->user_has, args->quantity, args->max);
}

static void answer_totals(struct stock_command *command, const struct stock_totals *totals)
{
    int64_t available = totals->available > 0 ? totals->available : 0; /* nobody can buy a debt */

    if (command->booked) {
        stock_command_answer_number(command, available);
        return;
    }
    struct pending_command *pending = stock_command_end(command);
    reply_clear(&pending->reply);
    reply_number(&pending->reply, available);
    reply_number(&pending->reply, totals->taken);
    reply_number(&pending->reply, totals->sold);
    reply_number(&pending->reply, totals->loaded);
    reply_number(&pending->reply, totals->shards);
    reply_word(&pending->reply, totals->merged ? "merged" : "sharded");
    pending_finish(pending);
}

void stock_command_surveyed(struct stock_want *want, enum stock_survey_result result,
                            const struct stock_totals *totals, const struct problem *problem)
{
    struct stock_command *command = command_of(want);

    command->waiting = false;
    alarm_stop(&command->alarm);
    if (command->product->stocks->stopped) {
        return;
    }
    switch (result) {
    case STOCK_SURVEY_RETRY:
        if (want->kind == STOCK_WANT_PROOF) {
            refuse_user(command);
            return;
        }
        command->spread = command->spread || want->kind == STOCK_WANT_SPREAD;
        stock_command_retry(command);
        break;
    case STOCK_SURVEY_SHORT:
        if (command_id(command->pending->command.spec) == STOCK_TAKE) {
            stock_command_refuse(command, HF_SOLD_OUT, "# left, # requested",
                                 totals->available > 0 ? totals->available : 0, want->quantity, 0);
        } else {
            refuse_total(command, totals);
        }
        break;
    case STOCK_SURVEY_FIGURES:
        if (command->counting) {
            stock_command_shut_counted(command, totals);
        } else {
            answer_totals(command, totals);
        }
        break;
    case STOCK_SURVEY_FAILED:
        stock_command_fail(command, problem);
        break;
    }
}
