/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands about checkouts. SEATS.CHECKOUT writes a saga's row and answers as soon as the
 * ledger has it, or waits for the end; the saga goes on by itself. SAGA.GET shows the row, SAGA.RESUME
 * and SAGA.REFUND are for administrators. */
#include "base/text.h"
#include "base/uuid.h"
#include "service/saga.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How often the ledger is asked about a saga that another server drives. */
#define POLL_FIRST_MS 50
#define POLL_MAX_MS 500

/* What a client's call has in its state. */
struct checkout_work {
    struct ledger_saga row, looked;
    struct problem problem;
    int64_t wait_until_ms, poll_ms;
    service_run *answers; /* with the row */
};

static struct checkout_work *work_of(struct service_call *call)
{
    return call->state;
}

static void release(void *state)
{
    struct checkout_work *work = state;

    explicit_bzero(work->row.token, sizeof work->row.token);
    explicit_bzero(work->looked.token, sizeof work->looked.token);
    free(work);
}

static void finish(struct service_call *call)
{
    call_drop_state(call);
    call_end(call);
}

static bool begin_work(struct service_call *call, int64_t wait_ms, service_run *answers)
{
    struct checkout_work *work = call_add_state(call, sizeof *work, release);

    if (work == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        call_end(call);
        return false;
    }
    work->wait_until_ms = service_now(call->service) + wait_ms;
    work->poll_ms = POLL_FIRST_MS;
    work->answers = answers;
    return true;
}

static void refuse_ledger(struct service_call *call)
{
    call_refuse_as_ledger(call, call->job.answer, &call->job.problem);
    finish(call);
}

/* ---- the row, and waiting for its end -------------------------------------------------------- */

static void row_found(struct service_call *call);

static void find_row(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_FIND);

    job->id = hf_text(work_of(call)->row.saga);
    job->sagas = &work_of(call)->looked;
    call_submit(call, row_found);
}

/* Watches a saga that is driven here, and asks the ledger about one that is not. */
static void wait_for_end(struct service_call *call)
{
    struct checkout_work *work = work_of(call);
    int64_t left_ms = work->wait_until_ms - service_now(call->service);
    struct saga *saga = saga_find(call->service, hf_text(work->row.saga));

    if (saga_state_is_final(saga_state_read(work->row.state)) || left_ms <= 0) {
        work->answers(call);
    } else if (saga != NULL) {
        saga_watch(saga, call, left_ms, find_row);
    } else {
        call_later(call, find_row, left_ms < work->poll_ms ? left_ms : work->poll_ms);
        work->poll_ms = work->poll_ms < POLL_MAX_MS ? 2 * work->poll_ms : POLL_MAX_MS;
    }
}

static void row_found(struct service_call *call)
{
    struct checkout_work *work = work_of(call);

    if (call->job.answer == LEDGER_DONE) {
        work->row = work->looked;
        wait_for_end(call);
    } else if (call->job.answer == LEDGER_NOT_FOUND) {
        call_refuse(call, HF_NOT_FOUND, "the ledger has no such saga: \"%s\"", work->row.saga);
        finish(call);
    } else {
        refuse_ledger(call);
    }
}

/* ---- SEATS.CHECKOUT: the answer -------------------------------------------------------------- */

static const char *provider_of(const struct service_call *call)
{
    const char *provider = payments_provider(call->service);

    return provider != NULL ? provider : "";
}

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
    const struct ledger_saga *row = &work_of(call)->row;
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
        reply_word(reply, provider_of(call));
        call_answer(call, reply);
    }
    finish(call);
}

/* ---- SEATS.CHECKOUT: a booking that has a saga ------------------------------------------------ */

static bool is_same(const struct ledger_saga *a, const struct ledger_saga *b, bool same_saga)
{
    return strcmp(a->zone, b->zone) == 0 && strcmp(a->user, b->user) == 0 &&
           a->quantity == b->quantity && a->max_per_user == b->max_per_user &&
           a->unit_price == b->unit_price && strcmp(a->currency, b->currency) == 0 &&
           (!same_saga || strcmp(a->saga, b->saga) == 0);
}

static void saga_id_found(struct service_call *call)
{
    struct checkout_work *work = work_of(call);

    if (call->job.answer == LEDGER_DONE) {
        call_refuse(call, HF_INVALID_STATE, "the saga \"%s\" is that of booking \"%s\" of \"%s\"",
                    work->row.saga, work->looked.booking, work->looked.event);
        finish(call);
    } else if (call->job.answer == LEDGER_NOT_FOUND) {
        call_refuse_problem(call, &work->problem); /* the database refuses the row itself */
        finish(call);
    } else {
        refuse_ledger(call);
    }
}

static void booking_found(struct service_call *call)
{
    struct checkout_work *work = work_of(call);
    bool chosen = call->command.args.seats_checkout.saga.size > 0;

    if (call->job.answer == LEDGER_DONE && is_same(&work->row, &work->looked, chosen)) {
        work->row = work->looked;
        wait_for_end(call);
    } else if (call->job.answer == LEDGER_DONE) {
        call_refuse(call, HF_INVALID_STATE,
                    "booking \"%s\" was checked out with other arguments: zone \"%s\", user "
                    "\"%s\", quantity %lld, price %lld %s, saga \"%s\"",
                    work->row.booking, work->looked.zone, work->looked.user,
                    (long long)work->looked.quantity, (long long)work->looked.unit_price,
                    work->looked.currency, work->looked.saga);
        finish(call);
    } else if (call->job.answer == LEDGER_NOT_FOUND) {
        struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_FIND);
        job->id = hf_text(work->row.saga);
        job->sagas = &work->looked;
        call_submit(call, saga_id_found);
    } else {
        refuse_ledger(call);
    }
}

static void find_booking(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_FIND);

    job->scope = hf_text(work_of(call)->row.event);
    job->id = hf_text(work_of(call)->row.booking);
    job->sagas = &work_of(call)->looked;
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
        wait_for_end(client);
        saga_drive(call);
        return;
    case LEDGER_REFUSED:
        problem_set(&work_of(client)->problem, HF_INVALID_ARGUMENT,
                    "the ledger's database refuses it: %.200s", saga->problem.message);
        find_booking(client);
        break;
    default:
        call_refuse_as_ledger(client, saga->answer, &saga->problem);
        finish(client);
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
    struct timespec now;

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
    clock_gettime(CLOCK_REALTIME, &now);
    row->created_at_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
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
        !begin_work(call, call->command.args.seats_checkout.wait_ms, answer_checkout)) {
        return;
    }
    struct ledger_saga *row = &work_of(call)->row;
    fill_in(call, row);
    struct saga *saga = saga_new(call->service, row);
    if (saga == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        finish(call);
        return;
    }
    saga->client = call;
    saga_insert(saga, inserted);
}

/* ---- SAGA.GET -------------------------------------------------------------------------------- */

static void answer_row(struct service_call *call)
{
    const struct ledger_saga *row = &work_of(call)->row;
    struct reply *reply = call_reply(call);

    reply_word(reply, row->saga);
    reply_word(reply, row->state);
    reply_word(reply, row->event);
    reply_word(reply, row->booking);
    reply_word(reply, row->zone);
    reply_word(reply, row->user);
    reply_number(reply, row->quantity);
    reply_number(reply, row->unit_price);
    reply_number(reply, payment_amount(row));
    reply_word(reply, row->currency);
    reply_word(reply, row->payment_id);
    reply_word(reply, row->payment[0] != '\0' ? row->payment : saga_charge_name(SAGA_CHARGE_NONE));
    reply_word(reply, provider_of(call));
    reply_word(reply, row->error_code);
    reply_word(reply, row->error);
    reply_number(reply, row->attempts);
    reply_number(reply, row->created_at_ms);
    reply_number(reply, row->updated_at_ms);
    call_answer(call, reply);
    finish(call);
}

/* All three commands have the saga in front. */
static void find_named(struct service_call *call, int64_t wait_ms, service_run *answers)
{
    struct hf_bytes id = call->command.args.saga_get.saga;

    if (begin_work(call, wait_ms, answers)) {
        snprintf(work_of(call)->row.saga, HF_ID_SIZE, "%.*s", (int)id.size, id.data);
        find_row(call);
    }
}

void saga_show(struct service_call *call)
{
    find_named(call, call->command.args.saga_get.wait_ms, answer_row);
}

/* ---- SAGA.RESUME, SAGA.REFUND ---------------------------------------------------------------- */

static void answer_change(struct service_call *call)
{
    struct reply *reply = call_reply(call);

    reply_word(reply, work_of(call)->row.saga);
    reply_word(reply, work_of(call)->row.state);
    call_answer(call, reply);
    finish(call);
}

/* The saga has become this process', or not. Runs as the saga. */
static void taken(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    struct service_call *client = saga->client;

    saga->client = NULL;
    if (saga->answer == LEDGER_DONE) {
        work_of(client)->row = saga->row;
        answer_change(client);
        saga->fresh = false;
        saga_drive(call);
        return;
    }
    if (saga->answer == LEDGER_REFUSED) {
        call_refuse(client, HF_BUSY, "another server changes the saga: look at it, and try again");
    } else {
        call_refuse_as_ledger(client, saga->answer, &saga->problem);
    }
    finish(client);
    saga_drop(call);
}

static void take_over(struct service_call *call, enum saga_state to)
{
    const struct ledger_saga *row = &work_of(call)->row;
    enum saga_charge charge = saga_charge_read(row->payment);
    const char *broken = saga_broken_rule(saga_state_read(row->state), charge);

    broken = broken == NULL ? saga_broken_rule(to, charge) : broken;
    if (broken != NULL || saga_find(call->service, hf_text(row->saga)) != NULL) {
        call_refuse(call, broken != NULL ? HF_INVALID_STATE : HF_BUSY,
                    "saga \"%s\" cannot go on as it is: %s", row->saga,
                    broken != NULL ? broken : "it is being changed, try again");
        finish(call);
        return;
    }
    struct saga *saga = saga_new(call->service, row);
    if (saga == NULL) {
        call_refuse(call, HF_BUSY, "out of memory");
        finish(call);
        return;
    }
    saga->client = call;
    saga_move(saga, &(struct saga_change){.to = to, .charge = charge, .takes = true}, taken);
}

static void resume_found(struct service_call *call)
{
    const struct ledger_saga *row = &work_of(call)->row;
    enum saga_state from = saga_state_read(row->came_from);

    if (saga_state_read(row->state) != SAGA_NEEDS_ATTENTION) {
        answer_change(call);
    } else if (!saga_may_move(SAGA_NEEDS_ATTENTION, from)) {
        call_refuse(call, HF_INVALID_STATE, "saga \"%s\" came from \"%s\", which is no state",
                    row->saga, row->came_from);
        finish(call);
    } else {
        take_over(call, from);
    }
}

static void refund_found(struct service_call *call)
{
    const struct ledger_saga *row = &work_of(call)->row;

    switch (saga_state_read(row->state)) {
    case SAGA_COMPLETED:
    case SAGA_NEEDS_ATTENTION:
        take_over(call, SAGA_COMPENSATING);
        break;
    case SAGA_COMPENSATING:
    case SAGA_COMPENSATED:
        answer_change(call);
        break;
    default:
        call_refuse(call, HF_INVALID_STATE,
                    "saga \"%s\" is %s: it is refunded when it is COMPLETED or NEEDS_ATTENTION",
                    row->saga, row->state);
        finish(call);
        break;
    }
}

void saga_resume(struct service_call *call)
{
    find_named(call, 0, resume_found);
}

void saga_refund(struct service_call *call)
{
    find_named(call, 0, refund_found);
}
