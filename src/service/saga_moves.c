/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves of sagas: into the ledger first. While one transaction of moves is in flight the next one
 * collects, so that many checkouts cost few commits:
 *
 *     saga_move ─> moves ─> one job, one transaction ─> next step of each
 *                    ^             │ refused: one of them does not fit
 *                    └─────────────┘ in halves, until that one stands alone
 *
 * A move that stands alone and was refused, or whose outcome is unknown, is looked up: the row says
 * whether it was made, whether it is still to be made, or whether the saga is another's by now. */
#include "base/check.h"
#include "base/fault.h"
#include "base/text.h"
#include "service/saga.h"

#include <stdio.h>

static void submit(struct saga *saga);
static void move_answered(struct service_call *call);

static struct sagas *sagas_of(const struct saga *saga)
{
    return saga->call->service->sagas;
}

/* ---- the transaction ------------------------------------------------------------------------- */

static void carry(struct service *service);

static void moves_answered(struct ledger_job *job, void *context)
{
    struct service *service = context;
    struct sagas *sagas = service->sagas;
    struct list again;

    list_init(&again);
    sagas->moving = false;
    sagas->transactions++;
    for (size_t i = 0; i < job->count; i++) {
        struct ledger_move *move = sagas->carried[i];
        struct saga *saga = LIST_ENTRY(move, struct saga, move);
        if (job->answer == LEDGER_REFUSED && job->count > 1) {
            move->together = job->count / 2;
            list_add_last(&again, &move->node);
        } else {
            saga->answer = job->answer;
            saga->problem = job->problem;
            call_ready(saga->call, move_answered);
        }
    }
    list_splice_first(&sagas->moves, &again);
    carry(service);
}

static size_t take(struct sagas *sagas)
{
    size_t count = 0, most = SAGA_BATCH_MAX;

    while (!list_empty(&sagas->moves)) {
        struct ledger_move *move = LIST_ENTRY(sagas->moves.next, struct ledger_move, node);
        most = move->together < most ? move->together : most;
        if (count >= most) {
            break;
        }
        list_remove(&move->node);
        sagas->carried[count++] = move;
    }
    return count;
}

static void carry(struct service *service)
{
    struct sagas *sagas = service->sagas;

    if (sagas->moving || list_empty(&sagas->moves)) {
        return;
    }
    sagas->moving = true;
    sagas->job = (struct ledger_job){.task = LEDGER_TASK_SAGA_MOVE,
                                     .moves = sagas->carried,
                                     .count = take(sagas),
                                     .deadline_ms = sql_now_ms() + service_ledger_timeout(service),
                                     .done = moves_answered,
                                     .context = service};
    ledger_submit(service->ledger, &sagas->job);
}

static void submit(struct saga *saga)
{
    struct sagas *sagas = sagas_of(saga);

    if (saga->move.lease_ms == LEDGER_SAGA_KEEPS) {
        saga->next_lease_ms = saga->leased_until_ms;
    } else {
        saga->next_lease_ms = service_now(saga->call->service) + saga->move.lease_ms;
    }
    saga->move.together = SAGA_BATCH_MAX;
    sagas->moves_total++;
    list_add_last(&sagas->moves, &saga->move.node);
    carry(saga->call->service);
}

/* ---- after it -------------------------------------------------------------------------------- */

static void pass_fault_point(enum saga_state state)
{
#ifdef HOLDFAST_FAULT_POINTS
    static const enum fault_point points[SAGA_STATES] = {
        [SAGA_STARTED] = FAULT_saga_started,
        [SAGA_RESERVED] = FAULT_saga_reserved,
        [SAGA_PAYING] = FAULT_saga_paying,
        [SAGA_PAID] = FAULT_saga_paid,
        [SAGA_COMPLETED] = FAULT_saga_completed,
        [SAGA_COMPENSATING] = FAULT_saga_compensating,
        [SAGA_COMPENSATED] = FAULT_saga_compensated,
        [SAGA_NEEDS_ATTENTION] = FAULT_saga_needs_attention,
    };
    fault_pass(points[state]);
#else
    (void)state;
#endif
}

/* What the ledger has now. */
static void commit(struct saga *saga)
{
    bool changed = saga->state != saga->next_state || saga->move.is_new;

    saga->moving = false;
    saga->row = saga->next;
    saga->state = saga->next_state;
    saga->charge = saga->next_charge;
    saga->leased_until_ms = saga->next_lease_ms;
    saga->fresh = changed;
    CHECK(saga_broken_rule(saga->state, saga->charge) == NULL);
    pass_fault_point(saga->state);
    if (changed && saga_state_is_final(saga->state)) {
        sagas_of(saga)->ended[saga->state]++;
    }
    if (saga->move.notice != NULL) {
        webhooks_kick(saga->call->service);
    }
    if (saga->state == SAGA_NEEDS_ATTENTION) {
        log_request_line(&saga->call->service->options.log, &saga->source, LOG_WARNING,
                         "saga %s needs attention: it was %s; %s: %s", saga->row.saga,
                         saga->row.came_from, saga->row.error_code, saga->row.error);
    }
}

static void go_on(struct saga *saga)
{
    struct service_call *call = saga->call;
    bool leaves = saga->parks || saga_state_is_final(saga->next_state);

    commit(saga);
    if (saga->client != NULL || !leaves) {
        saga->moved(call);
    } else {
        saga_drop(call);
    }
}

static void look_up(struct service_call *call);

static void submit_again(struct service_call *call)
{
    submit(saga_of(call));
}

static void later(struct saga *saga, service_run *run)
{
    unsigned doublings = saga->tries < 5 ? saga->tries : 5;

    saga->tries++;
    call_later(saga->call, run, (int64_t)50 << doublings);
}

static bool is_made(const struct saga *saga, const struct ledger_saga *found)
{
    return found->fence == saga->next.fence && strcmp(found->state, saga->next.state) == 0 &&
           strcmp(found->owner, saga->next.owner) == 0;
}

static void looked_up(struct service_call *call)
{
    struct saga *saga = saga_of(call);
    const struct ledger_saga *found = call->job.sagas;
    bool known = call->job.answer == LEDGER_DONE || call->job.answer == LEDGER_NOT_FOUND;
    bool there = call->job.answer == LEDGER_DONE;

    if (!known) {
        later(saga, look_up);
    } else if (there && is_made(saga, found)) {
        saga->answer = LEDGER_DONE;
        go_on(saga);
    } else if (there && found->fence == saga->move.old_fence &&
               strcmp(found->state, saga->move.from) == 0) {
        later(saga, submit_again);
    } else {
        sagas_of(saga)->lost++;
        saga_drop(call);
    }
}

static void look_up(struct service_call *call)
{
    struct ledger_job *job = call_job(call, LEDGER_TASK_SAGA_FIND);

    job->id = hf_text(saga_of(call)->row.saga);
    job->sagas = &saga_of(call)->looked;
    call_submit(call, looked_up);
}

static void move_answered(struct service_call *call)
{
    struct saga *saga = saga_of(call);

    if (saga->answer == LEDGER_DONE) {
        go_on(saga);
    } else if (saga->client != NULL) {
        saga->moving = false;
        saga->moved(call);
    } else if (saga->answer == LEDGER_AWAY) {
        later(saga, submit_again);
    } else {
        look_up(call);
    }
}

/* ---- moves ----------------------------------------------------------------------------------- */

void saga_insert(struct saga *saga, service_run *next)
{
    saga->next = saga->row;
    saga->next_state = SAGA_STARTED;
    saga->next_charge = SAGA_CHARGE_NONE;
    saga->moved = next;
    saga->moving = true;
    saga->parks = false;
    saga->move = (struct ledger_move){.saga = &saga->next,
                                      .is_new = true,
                                      .from = "",
                                      .lease_ms = saga->call->service->settings.saga_lease_ms};
    submit(saga);
}

/* How long it is this process' if it moves so. A lease that has hardly begun stays as it is: the
 * database need not move its index. */
static int64_t lease_of(const struct saga *saga, const struct saga_change *change)
{
    const struct service *service = saga->call->service;
    const struct service_options *settings = &service->settings;
    bool pays = change->to == SAGA_PAYING || change->to == SAGA_COMPENSATING;

    if (saga_state_is_final(change->to)) {
        return LEDGER_SAGA_NEVER;
    }
    if (saga->parks) {
        return change->wait_ms;
    }
    int64_t lease_ms =
        settings->saga_lease_ms + change->wait_ms + (pays ? saga_pays_ms(service) : 0);
    int64_t left_ms = saga->leased_until_ms - service_now(service);
    return !change->takes && left_ms >= lease_ms - settings->saga_lease_ms / 8 ? LEDGER_SAGA_KEEPS
                                                                               : lease_ms;
}

/* A message may have been cut in the middle of a character, which a database would refuse. */
static void keep_message(char out[LEDGER_SAGA_ERROR_SIZE], const char *message)
{
    size_t size = (size_t)snprintf(out, LEDGER_SAGA_ERROR_SIZE, "%s", message);

    size = size < LEDGER_SAGA_ERROR_SIZE ? size : LEDGER_SAGA_ERROR_SIZE - 1;
    while (size > 0 && !text_is_utf8((struct hf_bytes){out, size})) {
        size--;
    }
    out[size] = '\0';
}

static void fill_in(struct saga *saga, const struct saga_change *change)
{
    struct ledger_saga *next = &saga->next;
    bool leaves = saga->parks || saga_state_is_final(change->to);

    *next = saga->row;
    if (change->to == SAGA_NEEDS_ATTENTION) {
        snprintf(next->came_from, sizeof next->came_from, "%s", saga_state_name(saga->state));
    }
    snprintf(next->state, sizeof next->state, "%s", saga_state_name(change->to));
    snprintf(next->payment, sizeof next->payment, "%s", saga_charge_name(change->charge));
    if (change->error != HF_OK) {
        snprintf(next->error_code, sizeof next->error_code, "%s", hf_error_name(change->error));
        keep_message(next->error, change->message);
    }
    if (!saga_state_charges(change->to)) {
        explicit_bzero(next->token, sizeof next->token); /* nothing can need it any more */
    }
    next->attempts = change->attempts;
    snprintf(next->owner, sizeof next->owner, "%s", leaves ? "" : saga->call->service->server_id);
    next->fence = saga->row.fence + (change->takes ? 1 : 0);
}

static void put_text(struct buffer *out, const char *name, const char *text)
{
    buffer_format(out, "%s\"%s\":", out->size > 1 ? "," : "", name);
    json_text(out, hf_text(text));
}

static void write_attention(struct buffer *out, const struct ledger_saga *next)
{
    buffer_byte(out, '{');
    put_text(out, "saga_id", next->saga);
    put_text(out, "event_id", next->event);
    put_text(out, "booking_id", next->booking);
    put_text(out, "user_id", next->user);
    put_text(out, "payment_id", next->payment_id);
    put_text(out, "status", next->state);
    put_text(out, "came_from", next->came_from);
    put_text(out, "payment", next->payment);
    put_text(out, "error_code", next->error_code);
    put_text(out, "error_message", next->error);
    buffer_byte(out, '}');
}

/* As the notice of a sale is. */
static void write_confirmed(struct buffer *out, const struct ledger_saga *next)
{
    struct ledger_noticed noticed = {.scope = hf_text(next->event),
                                     .id = hf_text(next->booking),
                                     .user = hf_text(next->user),
                                     .zone = hf_text(next->zone),
                                     .payment = hf_text(next->payment_id),
                                     .quantity = next->quantity,
                                     .unit_price = next->unit_price,
                                     .status = "confirmed"};

    ledger_notice_write(out, &noticed);
}

/* What a receiver of webhooks is told with the move. */
static void add_notice(struct saga *saga, const char *type,
                       void (*write)(struct buffer *out, const struct ledger_saga *next))
{
    char trace[TRACE_PARENT_SIZE];
    struct buffer out;
    size_t size = 0;

    saga->move.notice = webhooks_type(saga->call->service, type);
    if (saga->move.notice == NULL) {
        return;
    }
    buffer_init(&out, &saga->call->service->memory);
    write(&out, &saga->next);
    trace_write(&saga->request.trace, trace);
    ledger_notice_put_trace(&out, hf_text(trace));
    if (!out.failed && out.size <= sizeof saga->noticed) {
        size = out.size;
        memcpy(saga->noticed, out.data, size);
    }
    buffer_free(&out);
    saga->move.noticed = size > 0 ? (struct hf_bytes){saga->noticed, size} : hf_text("{}");
}

void saga_move(struct saga *saga, const struct saga_change *change, service_run *next)
{
    const struct service_options *settings = &saga->call->service->settings;

    CHECK(!saga->moving && saga_may_move(saga->state, change->to));
    saga->parks = change->wait_ms > settings->saga_lease_ms / 2 && !saga->woken;
    fill_in(saga, change);
    saga->next_state = change->to;
    saga->next_charge = change->charge;
    saga->moved = next;
    saga->moving = true;
    saga->tries = 0;
    saga->move = (struct ledger_move){.saga = &saga->next,
                                      .from = saga->row.state,
                                      .old_fence = saga->row.fence,
                                      .lease_ms = lease_of(saga, change),
                                      .due_ms = change->wait_ms};
    if (change->to == SAGA_NEEDS_ATTENTION) {
        add_notice(saga, "saga.needs_attention", write_attention);
    } else if (change->to == SAGA_COMPLETED && !saga->call->service->guards) {
        /* The engine alone has confirmed it: nothing has written its row yet. */
        saga->move.booked = saga->code;
        add_notice(saga, "booking.confirmed", write_confirmed);
    }
    submit(saga);
}
