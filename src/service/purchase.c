/* SPDX-License-Identifier: Apache-2.0
 *
 * STOCK.BUY: the engine takes the rush, the ledger decides, and each order has one end.
 *
 *   ENTERING ──> TAKING ──> SELLING ──> SETTLING ──> DONE           sold
 *      │   ^       │ │         │         │   ^
 *      │   └───────┘ │         │         v   │
 *      │ not known   │         │       RETAKING                     its take was gone
 *      │             │         │         │
 *      │             │         │       UNSETTLED ──> DONE           answered; the engine fails
 *      │             │         v
 *      │             │       GIVING ───────────────> DONE           sold before, or refused
 *      │             v
 *      │          ASKING ──────────────────────────> DONE           perhaps the engine forgot it
 *      v             │ (or refused)
 *   DIRECT ──────────┴─────────────────────────────> DONE           past an engine that is away
 *
 * The ledger's COMMIT is the sale: what comes after it cannot undo it. Whatever is lost on the
 * way, the same command again finds out, because the order's id is in both. A take whose purchase
 * is lost returns at its TTL, or is settled by whoever finds the order in the ledger (stale.c). */
#include "base/check.h"
#include "base/fault.h"
#include "base/text.h"
#include "service/purchase.h"

#define BIT(state) (1U << (state))
/* How often a purchase waits anew for a product that was open and is not any more. */
#define ENTRIES_MAX 5

static const unsigned purchase_moves[PURCHASE_STATES] = {
    [PURCHASE_ENTERING] = BIT(PURCHASE_TAKING) | BIT(PURCHASE_DIRECT) | BIT(PURCHASE_DONE),
    [PURCHASE_TAKING] = BIT(PURCHASE_ENTERING) | BIT(PURCHASE_SELLING) | BIT(PURCHASE_ASKING) |
                        BIT(PURCHASE_DIRECT) | BIT(PURCHASE_DONE),
    [PURCHASE_SELLING] = BIT(PURCHASE_SETTLING) | BIT(PURCHASE_GIVING) | BIT(PURCHASE_DONE),
    [PURCHASE_SETTLING] = BIT(PURCHASE_RETAKING) | BIT(PURCHASE_UNSETTLED) | BIT(PURCHASE_DONE),
    [PURCHASE_RETAKING] = BIT(PURCHASE_SETTLING) | BIT(PURCHASE_UNSETTLED) | BIT(PURCHASE_DONE),
    [PURCHASE_UNSETTLED] = BIT(PURCHASE_DONE),
    [PURCHASE_GIVING] = BIT(PURCHASE_DONE),
    [PURCHASE_ASKING] = BIT(PURCHASE_DONE),
    [PURCHASE_DIRECT] = BIT(PURCHASE_DONE),
    [PURCHASE_DONE] = 0,
};

/* What must be true of a purchase in each state. */
static void purchase_check(const struct service_call *call)
{
    switch ((enum purchase_state)call->step) {
    case PURCHASE_ENTERING:
    case PURCHASE_TAKING:
    case PURCHASE_DIRECT:
        CHECK(!call->sold && !call->untold);
        break;
    case PURCHASE_SELLING:
        CHECK(call->taken && !call->sold);
        break;
    case PURCHASE_SETTLING:
    case PURCHASE_RETAKING:
        CHECK(call->sold);
        break;
    case PURCHASE_UNSETTLED:
        CHECK(call->sold && call->untold && call->done == NULL);
        break;
    case PURCHASE_GIVING:
        CHECK(call->taken && !call->untold); /* what this call has sold is not given back */
        break;
    case PURCHASE_ASKING:
        CHECK(!call->taken && !call->untold);
        break;
    default:
        CHECK(call->done == NULL && !call->untold);
        break;
    }
}

void purchase_move(struct service_call *call, enum purchase_state to)
{
    CHECK(purchase_moves[call->step] & BIT(to));
    call->step = to;
    purchase_check(call);
}

/* ---- the end --------------------------------------------------------------------------------- */

void purchase_finish(struct service_call *call, enum service_outcome outcome)
{
    call->service->outcomes[outcome]++;
    purchase_move(call, PURCHASE_DONE);
    call_end(call);
}

void purchase_answer_sold(struct service_call *call)
{
    struct reply *reply = call_reply(call);

    if (call->product != NULL) {
        call->product->remaining = call->remaining;
    }
    reply_number(reply, call->remaining);
    reply_word(reply, "SOLD");
    call_answer(call, reply);
}

void purchase_finish_sold(struct service_call *call, enum service_outcome outcome)
{
    purchase_answer_sold(call);
    FAULT_POINT(purchase_answered);
    if (call->untold) {
        call_told(call);
        FAULT_POINT(purchase_told);
    }
    purchase_finish(call, outcome);
}

void purchase_finish_refused(struct service_call *call, enum hf_error code)
{
    purchase_finish(call, code == HF_SOLD_OUT            ? OUTCOME_SOLD_OUT
                          : code == HF_LEDGER_DOWN       ? OUTCOME_LEDGER_DOWN
                          : code == HF_TIMEOUT           ? OUTCOME_UNKNOWN
                          : code == HF_BUSY              ? OUTCOME_BUSY
                          : code_is_failure(code, false) ? OUTCOME_ENGINE_DOWN
                                                         : OUTCOME_REFUSED);
}

/* ---- the ledger's answers -------------------------------------------------------------------- */

/* The order may be one of another product, whose buyer is no business of this one's: the id alone
 * does not show who that is. */
static void refuse_differing(struct service_call *call, const struct ledger_sale *sale)
{
    if (text_equal(hf_text(sale->found.user), purchase_args(call)->user)) {
        call_refuse(call, HF_INVALID_STATE,
                    "the order exists with quantity %lld and price %lld, or for another product: "
                    "use another id",
                    (long long)sale->found.quantity, (long long)sale->found.unit_price);
    } else {
        call_refuse(call, HF_INVALID_STATE,
                    "the order exists with another user than \"%.*s\", or for another product: use "
                    "another id",
                    (int)purchase_args(call)->user.size, purchase_args(call)->user.data);
    }
}

/* Tells the buyer what the ledger said, where that was no sale. */
static void refuse(struct service_call *call, const struct ledger_sale *sale)
{
    const struct hf_stock_buy_args *args = purchase_args(call);

    switch (sale->answer) {
    case LEDGER_SOLD_OUT:
        call_refuse(call, HF_SOLD_OUT, "%lld left, %lld requested", (long long)sale->left,
                    (long long)args->quantity);
        break;
    case LEDGER_OVER_LIMIT:
        call_refuse(call, HF_USER_LIMIT_EXCEEDED,
                    "the user has %lld of the product, %lld requested, at most %lld allowed",
                    (long long)sale->left, (long long)args->quantity, (long long)args->max);
        break;
    case LEDGER_ENDED_BEFORE:
        call_refuse(call, HF_INVALID_STATE, "the order was sold and is %s: use another id",
                    sale->found.status);
        break;
    case LEDGER_DIFFERS:
        refuse_differing(call, sale);
        break;
    case LEDGER_NOT_FOUND:
        call_refuse(call, HF_PRODUCT_NOT_FOUND, "the ledger has no product \"%.*s\"",
                    (int)args->product.size, args->product.data);
        break;
    default:
        call_refuse_as_ledger(call, sale->answer, &sale->problem);
        break;
    }
}

static enum hf_error code_of(enum ledger_answer answer)
{
    return answer == LEDGER_SOLD_OUT  ? HF_SOLD_OUT
           : answer == LEDGER_AWAY    ? HF_LEDGER_DOWN
           : answer == LEDGER_UNKNOWN ? HF_TIMEOUT
                                      : HF_INVALID_STATE;
}

void purchase_refuse_as_ledger(struct service_call *call)
{
    enum hf_error code = code_of(call->sale.answer);

    refuse(call, &call->sale);
    purchase_finish_refused(call, code);
}

/* ---- what both files need -------------------------------------------------------------------- */

void purchase_take(struct service_call *call, int64_t max, engine_done *done)
{
    const struct hf_stock_buy_args *args = purchase_args(call);
    struct command take = {.spec = &command_table[STOCK_TAKE]};

    take.args.stock_take = (struct hf_stock_take_args){.product = args->product,
                                                       .order = args->order,
                                                       .user = args->user,
                                                       .quantity = args->quantity,
                                                       .ttl_ms = PURCHASE_TTL_MS,
                                                       .max = max};
    engine_submit(call->service->inner, &take, done, call);
}

void purchase_fill_sale(struct service_call *call)
{
    const struct hf_stock_buy_args *args = purchase_args(call);
    struct ledger_sale *sale = &call->sale;

    sale->kind = LEDGER_ORDER;
    sale->scope = args->product;
    sale->id = args->order;
    sale->user = args->user;
    sale->zone = sale->payment = sale->show = sale->code = (struct hf_bytes){"", 0};
    sale->created_ms = 0;
    sale->quantity = args->quantity;
    sale->unit_price = args->unit_price;
    sale->max = args->max == HF_INTEGER_MAX ? 0 : args->max;
    sale->notice = webhooks_type(call->service, "order.sold");
    sale->trace = hf_text(call->trace);
    sale->problem.message[0] = '\0';
}

/* ---- past the engine ------------------------------------------------------------------------- */

static void sold_directly(struct service_call *call)
{
    const struct ledger_sale *sale = &call->sale;

    if (sale->answer == LEDGER_DONE || sale->answer == LEDGER_DONE_BEFORE) {
        FAULT_POINT(purchase_direct_sold);
        call->sold = true;
        if (call->product != NULL) {
            call->product->directly += sale->answer == LEDGER_DONE;
            call->remaining = call->product->remaining;
        }
        purchase_finish_sold(call, call->untold ? OUTCOME_SOLD_DIRECTLY : OUTCOME_REPEATED);
        return;
    }
    purchase_refuse_as_ledger(call);
}

/* The engine is away: a trickle goes straight to the ledger, whose conditional update is as good
 * as ever. The engine is put right when it is back. */
static void sell_directly(struct service_call *call)
{
    struct service *service = call->service;

    if (!limiter_take(&service->limiter, service_now(service))) {
        call_refuse(call, HF_BUSY,
                    "the engine does not answer, and more orders come than the %lld a second that "
                    "are carried out without it: try again later",
                    (long long)(service->settings.fallback_rate / service->settings.servers));
        purchase_finish(call, OUTCOME_BUSY);
        return;
    }
    purchase_move(call, PURCHASE_DIRECT);
    purchase_fill_sale(call);
    call_sell(call, sold_directly);
}

/* ---- asking the ledger ----------------------------------------------------------------------- */

static bool is_same_order(const struct service_call *call)
{
    const struct ledger_row *found = &call->job.found;
    const struct hf_stock_buy_args *args = purchase_args(call);

    return strcmp(found->status, "sold") == 0 && found->quantity == args->quantity &&
           found->unit_price == args->unit_price && strlen(found->user) == args->user.size &&
           memcmp(found->user, args->user.data, args->user.size) == 0;
}

static void asked(struct service_call *call)
{
    bool found = call->job.answer == LEDGER_DONE || call->job.answer == LEDGER_DONE_BEFORE;

    if (found && is_same_order(call)) {
        call->remaining = call->product->remaining;
        purchase_finish_sold(call, OUTCOME_REPEATED);
        return;
    }
    enum hf_error code = call->engine.code;
    call_refuse_as_engine(call);
    purchase_finish_refused(call, code);
}

/* The engine refuses, and was found to be older than the ledger a while ago: perhaps this order is
 * one of those that it has forgotten. */
static void ask(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_FIND);

    purchase_move(call, PURCHASE_ASKING);
    job->kind = LEDGER_ORDER;
    job->scope = purchase_args(call)->product;
    job->id = purchase_args(call)->order;
    call_submit(call, asked);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static void enter(struct service_call *call);
static void take(struct service_call *call);

/* The engine failed. If the breaker is open by now, the ledger can still sell. */
static void take_failed(struct service_call *call)
{
    if (call->engine.unknown && !call->retried) {
        call->retried = true;
        take(call);
    } else if (call->service->breaker.state == BREAKER_OPEN) {
        sell_directly(call);
    } else {
        enum hf_error code = call->engine.code;
        call_refuse_as_engine(call);
        purchase_finish_refused(call, code);
    }
}

/* The engine does not know the product: it is opened from the ledger, once. */
static void enter_anew(struct service_call *call)
{
    product_distrust(call->product);
    call->total = 1;
    purchase_move(call, PURCHASE_ENTERING);
    enter(call);
}

/* Called by the engine. What is refused is answered at once, with the engine's own words. */
static void take_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;
    bool limit = reply->code == HF_SOLD_OUT || reply->code == HF_USER_LIMIT_EXCEEDED;

    if (reply->code == HF_OK) {
        rebuild_note(call->service, HF_OK, false);
        call->taken = true;
        call->remaining = reply->values[0].number;
        call_ready(call, purchase_sell);
    } else if (code_is_failure(reply->code, reply->unknown)) {
        call_note(call, reply);
        call_ready(call, take_failed);
    } else if (limit && product_is_doubtful(call->product)) {
        call_note(call, reply);
        call_ready(call, ask);
    } else if (reply->code == HF_PRODUCT_NOT_FOUND && call->total == 0) {
        call_note(call, reply);
        call_ready(call, enter_anew);
    } else {
        rebuild_note(call->service, reply->code, reply->unknown);
        enum hf_error code = reply->code;
        call_answer(call, reply);
        purchase_finish_refused(call, code);
    }
}

static void take(struct service_call *call)
{
    purchase_take(call, purchase_args(call)->max, take_answered);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void refuse_as_look(struct service_call *call)
{
    const struct hf_stock_buy_args *args = purchase_args(call);
    const struct problem *problem = &call->look.problem;

    switch (call->look.result) {
    case LOOK_FOREIGN:
    case LOOK_UNKNOWN:
        call_refuse(call, HF_PRODUCT_NOT_FOUND, "%s; product \"%.*s\"",
                    call->look.result == LOOK_FOREIGN
                        ? "the ledger does not have it: load it with STOCK.LOAD"
                        : "no such product: load it first",
                    (int)args->product.size, args->product.data);
        break;
    case LOOK_ENGINE:
    case LOOK_LEDGER:
        call_refuse(call, problem->code, "%s", problem->message);
        break;
    default:
        call_refuse(call, product_shut_code(call->service),
                    "the product is not open yet: %s; try again", problem->message);
        break;
    }
}

static void entered(struct service_call *call)
{
    struct service *service = call->service;
    enum look_result result = call->look.result;

    if (product_is_open(call->product) && !call->product->foreign) {
        purchase_move(call, PURCHASE_TAKING);
        take(call);
        return;
    }
    if (call->product->foreign && result != LOOK_FOREIGN) {
        product_distrust(call->product); /* it may be there by now */
        product_enter(call, call->product, entered);
        return;
    }
    if (result == LOOK_ENGINE && service->breaker.state == BREAKER_OPEN) {
        sell_directly(call);
        return;
    }
    if (result <= LOOK_ADOPTED && call->delta++ < ENTRIES_MAX) {
        product_enter(call, call->product, entered); /* it was open, and is distrusted again */
        return;
    }
    enum hf_error code = call->look.problem.code;
    refuse_as_look(call);
    purchase_finish_refused(call, code);
}

static void enter(struct service_call *call)
{
    struct service *service = call->service;
    struct service_product *product = call->product;

    if (product == NULL) {
        product = product_get(service, purchase_args(call)->product);
    }
    if (product == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        purchase_finish(call, OUTCOME_BUSY);
        return;
    }
    product_enter(call, product, entered);
}

void purchase_begin(struct service_call *call)
{
    struct service *service = call->service;

    call->step = PURCHASE_ENTERING;
    if (engine_is_away(service->inner)) {
        /* It would keep the buyer waiting and fail. The breaker learns of it without that. */
        rebuild_note(service, HF_ENGINE_DOWN, false);
        sell_directly(call);
    } else if (breaker_allows(&service->breaker, service_now(service))) {
        enter(call);
    } else {
        sell_directly(call);
    }
}
