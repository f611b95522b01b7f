/* SPDX-License-Identifier: Apache-2.0
 *
 * SEATS.CHECKOUT writes a row of a saga and answers when the ledger has it, or waits for the end;
 * the saga goes on by itself. */
#include "base/clock.h"
#include "base/uuid.h"
#include "service/checkout.h"

#include <stdio.h>

/* ---- SEATS.CHECKOUT: the answer -------------------------------------------------------------- */

static enum hf_error error_of(const char *name)
{
    for (enum hf_error code = HF_OK; code < HF_ERROR_COUNT; code++) {
        if (strcmp(hf_error_name(code), name) == 0) {
            return code;
        }
    }
    return HF_OK;
}

static void answer_checkout(struct service_call *call)
{
    const struct ledger_saga *row = &checkout_work_of(call)->row;
    enum hf_error error = error_of(row->error_code);

    if (saga_state_read(row->state) == SAGA_COMPENSATED) {
        call_refuse(call, error != HF_OK ? error : HF_INVALID_STATE,
                    "%.200s; saga \"%s\" is COMPENSATED",
                    row->error[0] != '\0' ? row->error : "it was taken back", row->saga);
    } else {
        struct reply *reply = call_reply(call);
        reply_word(reply, row->saga);
        reply_word(reply, row->booking);
        reply_word(reply, row->state);
        reply_word(reply, checkout_provider(call));
        call_answer(call, reply);
    }
    checkout_finish(call);
}

/* ---- SEATS.CHECKOUT: a booking that has a saga ----------------------------------------------- */

static bool is_same(const struct ledger_saga *a, const struct ledger_saga *b, bool same_saga)
{
    return strcmp(a->zone, b->zone) == 0 && strcmp(a->user, b->user) == 0 &&
           a->quantity == b->quantity && a->max_per_user == b->max_per_user &&
           a->unit_price == b->unit_price && strcmp(a->currency, b->currency) == 0 &&
           (!same_saga || strcmp(a->saga, b->saga) == 0);
}

/* The saga may be one of another event, which is no business of whoever may not reach that: the
 * message names nothing of it. */
static void refuse_taken_id(struct service_call *call, const struct checkout_work *work)
{
    if (strcmp(work->row.event, work->looked.event) == 0) {
        call_refuse(call, HF_INVALID_STATE, "the saga \"%s\" is that of booking \"%s\"",
                    work->row.saga, work->looked.booking);
    } else {
        call_refuse(call, HF_INVALID_STATE,
                    "the saga \"%s\" is one of another event: use another id", work->row.saga);
    }
}

static void saga_id_found(struct service_call *call)
{
    struct checkout_work *work = checkout_work_of(call);

    if (call->job.answer == LEDGER_DONE) {
        refuse_taken_id(call, work);
        checkout_finish(call);
    } else if (call->job.answer == LEDGER_NOT_FOUND) {
        call_refuse_problem(call, &work->problem); /* the database refuses the row itself */
        checkout_finish(call);
    } else {
        checkout_refuse_ledger(call);
    }
}

static void booking_found(struct service_call *call)
{
    struct checkout_work *work = checkout_work_of(call);
    bool chosen = call->command.args.seats_checkout.saga.size > 0;

    if (call->job.answer == LEDGER_DONE && is_same(&work->row, &work->looked, chosen)) {
        work->row = work->looked;
        checkout_wait(call);
    } else if (call->job.answer == LEDGER_DONE) {
        call_refuse(call, HF_INVALID_STATE,
                    "booking \"%s\" was checked out with other arguments: zone \"%s\", user "
                    "\"%s\", quantity %lld, price %lld %s, saga \"%s\"",
                    work->row.booking, work->looked.zone, work->looked.user,
                    (long long)work->looked.quantity, (long long)work->looked.unit_price,
                    work->looked.currency, work->looked.saga);
        checkout_finish(call);
    } else if (call->job.answer == LEDGER_NOT_FOUND) {
        struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_FIND);
        job->id = hf_text(work->row.saga);
        job->sagas = &work->looked;
        call_submit(call, saga_id_found);
    } else {
        checkout_refuse_ledger(call);
    }
}

static void find_booking(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_FIND);

    job->scope = hf_text(checkout_work_of(call)->row.event);
    job->id = hf_text(checkout_work_of(call)->row.booking);
    job->sagas = &checkout_work_of(call)->looked;
    call_submit(call, booking_found);
}

/* ---- SEATS.CHECKOUT: a new one --------------------------------------------------------------- */

/* The row was written, or not. Runs as the saga; its client is told. */
static void inserted(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    struct service_call *client = saga->client;

    saga->client = NULL;
    switch (saga->answer) {
    case LEDGER_DONE:
        call->service->sagas->begun++;
        checkout_wait(client);
        saga_drive(call);
        return;
    case LEDGER_REFUSED:
        problem_set(&checkout_work_of(client)->problem, HF_INVALID_ARGUMENT,
                    "the ledger's database refuses it: %.200s", saga->problem.message);
        find_booking(client);
        break;
    default:
        call_refuse_as_ledger(client, saga->answer, &saga->problem);
        checkout_finish(client);
        break;
    }
    saga_drop(call);
}

static void make_id(struct service *service, char out[HF_ID_SIZE])
{
    uint8_t bytes[UUID_BYTES];

    random_bytes(&service->random, bytes, sizeof bytes);
    uuid_from_random(bytes);
    uuid_write(bytes, out);
    out[UUID_TEXT] = '\0';
}

static void set_id(struct service *service, char out[HF_ID_SIZE], struct hf_bytes id)
{
    if (id.size > 0) {
        snprintf(out, HF_ID_SIZE, "%.*s", (int)id.size, id.data);
    } else {
        make_id(service, out);
    }
}

static void fill_in(struct service_call *call, struct ledger_saga *row)
{
    const struct hf_seats_checkout_args *args = &call->command.args.seats_checkout;
    struct service *service = call->service;

    set_id(service, row->saga, args->saga);
    set_id(service, row->booking, args->booking);
    make_id(service, row->payment_id);
    snprintf(row->event, sizeof row->event, "%.*s", (int)args->event.size, args->event.data);
    snprintf(row->zone, sizeof row->zone, "%.*s", (int)args->zone.size, args->zone.data);
    snprintf(row->user, sizeof row->user, "%.*s", (int)args->user.size, args->user.data);
    snprintf(row->pass, sizeof row->pass, "%.*s", (int)args->pass.size, args->pass.data);
    snprintf(row->token, sizeof row->token, "%.*s", (int)args->payment_token.size,
             args->payment_token.data);
    if (args->currency.size > 0) {
        snprintf(row->currency, sizeof row->currency, "%.*s", (int)args->currency.size,
                 args->currency.data);
    } else {
        snprintf(row->currency, sizeof row->currency, "%s", service->settings.currency);
    }
    row->quantity = args->quantity;
    row->max_per_user = args->max_per_user;
    row->unit_price = args->unit_price;
    row->fence = 1;
    snprintf(row->state, sizeof row->state, "%s", saga_state_name(SAGA_STARTED));
    snprintf(row->owner, sizeof row->owner, "%s", service->server_id);
    row->created_at_ms = clock_wall_ms();
}

/* What the row of the command does not say. */
static bool is_valid(struct service_call *call)
{
    const struct hf_seats_checkout_args *args = &call->command.args.seats_checkout;
    struct problem problem = {.code = HF_OK};

    if (payments_provider(call->service) == NULL) {
        problem_set(&problem, HF_INVALID_STATE,
                    "there is nobody to take payments: start the server with --payment-url, such "
                    "as test:");
    } else if (args->currency.size > 0 && !payment_is_currency(args->currency)) {
        problem_set(&problem, HF_INVALID_ARGUMENT,
                    "currency \"%.*s\": must be three capital letters, such as EUR",
                    (int)args->currency.size, args->currency.data);
    } else if (args->unit_price > 0 && args->quantity > HF_INTEGER_MAX / args->unit_price) {
        problem_set(&problem, HF_INVALID_AMOUNT,
                    "%lld times %lld is more than 2^53-1: the amount of a payment has to be less",
                    (long long)args->quantity, (long long)args->unit_price);
    } else if (call->service->sagas->active >= SAGA_ACTIVE_MAX) {
        problem_set(&problem, HF_BUSY, "%zu checkouts are in flight: try again later",
                    call->service->sagas->active);
    }
    if (problem.code != HF_OK) {
        call_refuse_problem(call, &problem);
        call_end(call);
    }
    return problem.code == HF_OK;
}

void checkout_begin(struct service_call *call)
{
    if (!is_valid(call) ||
        !checkout_work_begin(call, call->command.args.seats_checkout.wait_ms, answer_checkout)) {
        return;
    }
    struct ledger_saga *row = &checkout_work_of(call)->row;
    checkout_work_of(call)->timeless = true;
    fill_in(call, row);
    /* One that was begun before is answered all the same. */
    if (payment_amount(row) > 0 && !payments_serve(call->service)) {
        problem_set(&checkout_work_of(call)->problem, HF_BUSY,
                    "the payment peer does not answer, and no checkout is begun until it does; try "
                    "again later");
        find_booking(call);
        return;
    }
    struct saga *saga = saga_new(call->service, row);
    if (saga == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        checkout_finish(call);
        return;
    }
    saga->client = call;
    saga_note_request(saga, call);
    saga_insert(saga, inserted);
}
