/* SPDX-License-Identifier: Apache-2.0 */
#include "redis/stock/stock_command.h"

#include "redis/script/script_reply.h"

#include <stdlib.h>

/* How often a trade begins anew before it is told that too many want the same. */
#define TRIES_MAX 40
/* From the third time on it waits before, up to so long. */
#define PAUSE_MAX_MS 32

static uint64_t now_ms(const struct trade *trade)
{
    return uv_now(trade->product->stocks->env->loop);
}

static int64_t left_ms(const struct trade *trade)
{
    uint64_t now = now_ms(trade);
    return trade->due_ms > now ? (int64_t)(trade->due_ms - now) : 0;
}

/* ---- the end of a trade ---------------------------------------------------------------------- */

struct pending_command *trade_end(struct trade *trade)
{
    struct pending_command *pending = trade->pending;

    alarm_stop(&trade->alarm);
    if (trade->waiting) {
        stock_survey_leave(&trade->want);
    }
    list_remove(&trade->node);
    product_release(trade->product);
    free(trade);
    return pending;
}

void trade_answer_number(struct trade *trade, int64_t number)
{
    struct pending_command *pending = trade_end(trade);

    reply_clear(&pending->reply);
    reply_number(&pending->reply, number);
    pending_finish(pending);
}

/* `remaining`: as far as this engine knows. */
void trade_succeed(struct trade *trade)
{
    trade_answer_number(trade, product_estimate(trade->product));
}

void trade_fail(struct trade *trade, const struct problem *problem)
{
    if (trade->booked) { /* it happened, whatever came behind it */
        trade_succeed(trade);
        return;
    }
    struct problem copy = *problem;
    pending_refuse(trade_end(trade), &copy);
}

void trade_refuse(struct trade *trade, enum hf_error code, const char *why, int64_t a, int64_t b,
                  int64_t c)
{
    struct pending_command *pending = trade_end(trade);

    reply_clear(&pending->reply);
    reply_refuse_with(&pending->reply, code, why, a, b, c);
    pending_finish(pending);
}

/* A place answered for good. */
void trade_answer(struct trade *trade, const redisReply *reply)
{
    pending_answer(trade_end(trade), REDIS_ANSWERED, reply, NULL);
}

static const struct problem too_many = {
    HF_BUSY, "too many want the same stock at the same time; nothing was changed, try again"};
static const struct problem no_memory = {HF_BUSY, "out of memory"};

/* ---- trying again ---------------------------------------------------------------------------- */

/* Either it has waited long enough to try again, or too long for a survey. */
static void ring(struct alarm *alarm)
{
    struct trade *trade = LIST_ENTRY(alarm, struct trade, alarm);

    if (trade->waiting) {
        trade_fail(trade, &too_many);
    } else {
        trade_begin(trade);
    }
}

void trade_try_again(struct trade *trade)
{
    uint16_t dice;

    if (++trade->tries > TRIES_MAX || left_ms(trade) == 0) {
        trade_fail(trade, &too_many);
        return;
    }
    if (trade->tries <= 2) {
        trade_begin(trade);
        return;
    }
    struct stocks *stocks = trade->product->stocks;
    unsigned longest = trade->tries < 7 ? 1U << (trade->tries - 2) : PAUSE_MAX_MS;
    random_bytes(&stocks->env->random, &dice, sizeof dice);
    alarm_set(&stocks->env->alarms, &trade->alarm, 1 + dice % longest);
}

/* Waits for a survey, as long as its time lasts. */
void trade_ask(struct trade *trade, enum stock_want_kind kind, size_t target, int64_t quantity)
{
    int64_t patience_ms = left_ms(trade);

    if (patience_ms == 0) {
        trade_fail(trade, &too_many);
        return;
    }
    trade->want = (struct stock_want){
        .kind = kind, .target = target, .quantity = quantity, .done = trade_surveyed};
    trade->waiting = true;
    alarm_set(&trade->product->stocks->env->alarms, &trade->alarm, (uint64_t)patience_ms);
    if (!stock_survey_join(trade->product, &trade->want)) {
        trade->waiting = false;
        trade_fail(trade, &no_memory);
    }
}

/* A place knows more than this engine does: a survey learns it. */
static void learn_by_survey(struct trade *trade)
{
    trade_ask(trade, STOCK_WANT_QUANTITY, PLACE_MAIN, 0);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Has the call an answer that can be gone on with? Otherwise the trade is over. */
bool trade_answered(struct trade *trade, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    if (trade->product->stocks->stopped) {
        return false;
    }
    if (fate != REDIS_ANSWERED) {
        trade_fail(trade, problem);
        return false;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        trade_answer(trade, reply);
        return false;
    }
    if (reply_says(reply, "STALE")) {
        learn_by_survey(trade);
        return false;
    }
    return true;
}

void trade_send(struct trade *trade, script_call_done *done)
{
    int64_t limit_ms = left_ms(trade);

    script_call_send(&trade->pending->call, false, limit_ms > 0 ? limit_ms : 1, done, trade);
}

/* ---- learning -------------------------------------------------------------------------------- */

static void learned(struct script_call *call, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    struct trade *trade = call->context;
    struct product *product = trade->product;
    struct figures main;

    if (!trade_answered(trade, fate, reply, problem)) {
        return;
    }
    if (!figures_read(&main, reply)) {
        trade_answer(trade, reply);
        return;
    }
    if (!main.known || main.main.places == 0) { /* no shards after all */
        product->places = 0;
        struct script_env *env = product->stocks->env;
        stock_single(env, trade_end(trade));
        return;
    }
    if (!product_learn(product, &main)) {
        trade_fail(trade, &no_memory);
        return;
    }
    product_saw(product, PLACE_MAIN, &main);
    trade_begin(trade);
}

void trade_learn(struct trade *trade)
{
    place_read(&trade->pending->call, trade->product, PLACE_MAIN);
    trade_send(trade, learned);
}

/* ---- begin ----------------------------------------------------------------------------------- */

void trade_begin(struct trade *trade)
{
    enum command_id id = command_id(trade->pending->command.spec);
    bool books = (id == STOCK_LOAD || id == STOCK_ADJUST) && !trade->booked;

    if (trade->product->epoch == 0 && !(books && id == STOCK_LOAD)) {
        trade_learn(trade);
    } else if (books) {
        trade_book(trade);
    } else if (trade->booked && !trade->spread) {
        trade_ask(trade, STOCK_WANT_SPREAD, PLACE_MAIN, 0);
    } else if (id == STOCK_TAKE) {
        trade_take(trade);
    } else if (id == STOCK_SETTLE || id == STOCK_GIVE) {
        trade->given_until = trade->hidden_until = 0;
        trade_close(trade);
    } else {
        trade_ask(trade, STOCK_WANT_FIGURES, PLACE_MAIN, 0);
    }
}

void trade_start(struct stocks *stocks, struct pending_command *pending, struct product *product)
{
    struct trade *trade = product != NULL ? calloc(1, sizeof *trade) : NULL;

    if (trade == NULL) {
        pending_refuse(pending, &no_memory);
        return;
    }
    trade->pending = pending;
    trade->product = product;
    trade->due_ms = uv_now(stocks->env->loop) + (uint64_t)stocks->env->url.timeout_ms;
    alarm_init(&trade->alarm, ring);
    list_add_last(&stocks->trades, &trade->node);
    product_hold(product);
    trade_begin(trade);
}

/* ---- the engine closes ----------------------------------------------------------------------- */

void trades_stop(struct stocks *stocks)
{
    for (struct list *at = stocks->trades.next; at != &stocks->trades; at = at->next) {
        alarm_stop(&LIST_ENTRY(at, struct trade, node)->alarm);
    }
}

void trades_free(struct stocks *stocks)
{
    for (struct list *node = stocks->trades.next, *next; node != &stocks->trades; node = next) {
        struct trade *trade = LIST_ENTRY(node, struct trade, node);
        next = node->next;
        trade->waiting = false;
        trade_end(trade);
    }
}
