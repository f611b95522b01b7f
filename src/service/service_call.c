/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls: commands that take several steps. They are used again, so that a purchase allocates
 * nothing; they wait on lists, and run only when no engine's callback is on the stack. */
#include "base/check.h"
#include "base/siphash.h"
#include "service/service_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int64_t service_now(const struct service *service)
{
    return service->options.clock != NULL ? service->options.clock(service->options.clock_context)
                                          : (int64_t)(clock_nanoseconds() / 1000000);
}

void service_note(struct service *service, struct breaker *breaker, const char *whose,
                  bool succeeded)
{
    enum breaker_state before = breaker->state;

    breaker_note(breaker, succeeded, service_now(service));
    if (breaker->state != before) {
        log_line(&service->options.log, LOG_WARNING, "the circuit breaker in front of %s is %s",
                 whose, breaker_state_name(breaker->state));
    }
}

/* ---- their life ------------------------------------------------------------------------------ */

static struct service_call *obtain(struct service *service)
{
    if (!list_empty(&service->spare)) {
        /* The last one that was used is still in the processor's cache. */
        struct service_call *call = LIST_ENTRY(service->spare.prev, struct service_call, node);
        list_remove(&call->node);
        return call;
    }
    struct service_call *call = calloc(1, sizeof *call);
    if (call != NULL) {
        call->service = service;
        buffer_init(&call->texts, &service->memory);
        list_add_last(&service->calls, &call->every);
    }
    return call;
}

/* What the client's request is part of is known as long as it is not answered, and webhooks may
 * tell of it later. */
static void note_trace(struct service_call *call)
{
    const struct trace_source *source = call->command.source;
    struct trace_request request;

    call->trace[0] = '\0';
    if (source != NULL && call->service->webhooks != NULL &&
        call->command.spec->flags & COMMAND_WRITES) {
        source->describe(source, &request);
        trace_write(&request.trace, call->trace);
    }
}

struct service_call *call_new(struct service *service, const struct command *command,
                              engine_done *done, void *context)
{
    struct service_call *call = obtain(service);

    if (call == NULL) {
        return NULL;
    }
    call->texts.failed = false;
    if (!command_copy(&call->command, command, &call->texts)) {
        list_add_last(&service->spare, &call->node);
        return NULL;
    }
    call->done = done;
    call->context = context;
    call->product = NULL;
    note_trace(call);
    call->step = 0;
    call->taken = call->sold = call->untold = call->retried = false;
    call->remaining = call->delta = call->total = 0;
    call->awaited = 0;
    call->look = (struct service_look){.result = LOOK_AGREES};
    return call;
}

struct service_call *call_own(struct service *service)
{
    struct command command = {.spec = &command_table[RECONCILE]};

    command.args.reconcile = (struct hf_reconcile_args){.product = {"", 0}};
    return call_new(service, &command, NULL, NULL);
}

void call_end(struct service_call *call)
{
    CHECK(call->done == NULL && !call->untold && call->awaited == 0 && call->state == NULL);
    if (call->product != NULL) {
        product_release(call);
    }
    list_add_last(&call->service->spare, &call->node);
}

void calls_free(struct service *service)
{
    struct list *next;

    for (struct list *node = service->calls.next; node != &service->calls; node = next) {
        struct service_call *call = LIST_ENTRY(node, struct service_call, every);
        next = node->next;
        call_drop_state(call);
        buffer_free(&call->texts);
        free(call);
    }
}

void *call_add_state(struct service_call *call, size_t size, void (*release)(void *state))
{
    call->state = calloc(1, size);
    call->release = release;
    return call->state;
}

void call_drop_state(struct service_call *call)
{
    if (call->state != NULL) {
        call->release(call->state);
        call->state = NULL;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

void call_ready(struct service_call *call, service_run *run)
{
    call->run = run;
    list_add_last(&call->service->ready, &call->node);
}

void call_later(struct service_call *call, service_run *run, int64_t ms)
{
    struct list *timers = &call->service->timers, *behind = timers->prev;

    call->run = run;
    call->due_ms = service_now(call->service) + ms;
    while (behind != timers &&
           LIST_ENTRY(behind, struct service_call, node)->due_ms > call->due_ms) {
        behind = behind->prev;
    }
    list_add_last(behind->next, &call->node);
}

void service_work(struct service *service, int64_t now_ms)
{
    while (now_ms != 0 && !list_empty(&service->timers)) {
        struct service_call *call = LIST_ENTRY(service->timers.next, struct service_call, node);
        if (call->due_ms > now_ms) {
            break;
        }
        list_remove(&call->node);
        call_ready(call, call->run);
    }
    while (!list_empty(&service->ready)) {
        struct service_call *call = LIST_ENTRY(service->ready.next, struct service_call, node);
        list_remove(&call->node);
        call->run(call);
    }
}

/* ---- the engine ------------------------------------------------------------------------------ */

void call_note(struct service_call *call, const struct reply *reply)
{
    struct service_answer *answer = &call->engine;

    answer->code = reply->code;
    answer->unknown = reply->unknown;
    if (reply->code != HF_OK) {
        answer->problem.code = reply->code;
        reply_message(reply, answer->problem.message);
    }
    for (size_t i = 0; i < SERVICE_NUMBERS; i++) {
        bool number = i < reply->count && reply->values[i].kind == VALUE_NUMBER;
        answer->numbers[i] = number ? reply->values[i].number : 0;
    }
    rebuild_note(call->service, reply->code, reply->unknown);
}

static void engine_answered(void *context, const struct reply *reply)
{
    struct service_call *call = context;

    call_note(call, reply);
    call_ready(call, call->run);
}

void call_engine(struct service_call *call, struct command *command, service_run *next)
{
    call->run = next;
    engine_submit(call->service->inner, command, engine_answered, call);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static void sale_answered(struct ledger_sale *sale, void *context)
{
    struct service_call *call = context;

    if (sale->answer == LEDGER_DONE) {
        call->untold = true;
        call->writer = sale->writer;
        call->batch = sale->batch;
    }
    if (sale->answer == LEDGER_DONE && sale->notice != NULL) {
        webhooks_kick(call->service);
    }
    call_ready(call, call->run);
}

void call_sell(struct service_call *call, service_run *next)
{
    call->run = next;
    call->sale.deadline_ms = sql_now_ms() + service_ledger_timeout(call->service);
    call->sale.done = sale_answered;
    call->sale.context = call;
    ledger_sell(call->service->ledger, &call->sale);
}

static void job_answered(struct ledger_job *job, void *context)
{
    struct service_call *call = context;

    if (job->task == LEDGER_TASK_END && job->answer == LEDGER_DONE) {
        call->untold = true;
        call->writer = job->writer;
        call->batch = job->batch;
    }
    if (job->answer == LEDGER_DONE && job->notice.type != NULL) {
        webhooks_kick(call->service);
    }
    call_ready(call, call->run);
}

struct ledger_job *call_job(struct service_call *call, enum ledger_task task)
{
    call->job = (struct ledger_job){.task = task, .done = job_answered, .context = call};
    return &call->job;
}

void call_submit(struct service_call *call, service_run *next)
{
    call->run = next;
    call->job.deadline_ms = sql_now_ms() + service_ledger_timeout(call->service);
    ledger_submit(call->service->ledger, &call->job);
}

static void submit_lease(struct service_call *call, enum ledger_task task, service_run *next)
{
    struct ledger_job *job = call_job(call, task);

    job->scope = hf_text(call->lease);
    job->id = hf_text(call->lease_owner);
    job->delta = LEASE_MS;
    call_submit(call, next);
}

void call_take_lease(struct service_call *call, struct hf_bytes product, service_run *next)
{
    /* A hash, which every server computes alike: an id can be as long as a name in the table. Two
     * products of the same hash only wait for each other. */
    static const uint8_t key[SIPHASH_KEY] = {0};
    uint64_t hash = siphash(key, product.data, product.size);

    snprintf(call->lease, sizeof call->lease, product.size > 0 ? "stock:%016" PRIx64 : "reconcile",
             hash);
    if (!call->look.leased) {
        snprintf(call->lease_owner, sizeof call->lease_owner, "%s/%" PRIu64,
                 call->service->server_id, ++call->service->leases);
    }
    call->look.leased_ms = service_now(call->service);
    submit_lease(call, LEDGER_TASK_LEASE, next);
}

void call_give_lease(struct service_call *call, service_run *next)
{
    submit_lease(call, LEDGER_TASK_UNLEASE, next);
}

/* ---- what the engine knows ------------------------------------------------------------------- */

/* Is an answer of the engine given before what it shows is on disk? */
static bool answers_ahead(const struct service *service)
{
    return service->options.answers_before_flush && engine_is_durable(service->inner);
}

static bool keep_told(struct service *service, struct service_told told)
{
    if (service->told_count == service->told_capacity) {
        size_t wanted = service->told_capacity == 0 ? 256 : 2 * service->told_capacity;
        struct service_told *more = realloc(service->told, wanted * sizeof *more);
        if (more == NULL) {
            return false;
        }
        service->told = more;
        service->told_capacity = wanted;
    }
    service->told[service->told_count++] = told;
    return true;
}

void call_told(struct service_call *call)
{
    struct service *service = call->service;

    CHECK(call->untold);
    call->untold = false;
    service->told_total++;
    if (!answers_ahead(service) ||
        !keep_told(service, (struct service_told){call->writer, call->batch})) {
        ledger_told(service->ledger, call->writer, call->batch);
    }
}

void call_when_durable(struct service_call *call, service_run *next)
{
    if (answers_ahead(call->service)) {
        call->run = next;
        list_add_last(&call->service->unflushed, &call->node);
    } else {
        call_ready(call, next);
    }
}

void service_told_flushed(struct service *service, size_t count)
{
    CHECK(count <= service->told_count);
    for (size_t i = 0; i < count; i++) {
        ledger_told(service->ledger, service->told[i].writer, service->told[i].batch);
    }
    service->told_count -= count;
    if (service->told_count > 0 && count > 0) {
        memmove(service->told, service->told + count, service->told_count * sizeof *service->told);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

struct reply *call_reply(struct service_call *call)
{
    reply_clear(&call->service->reply);
    return &call->service->reply;
}

void call_answer(struct service_call *call, const struct reply *reply)
{
    engine_done *done = call->done;

    if (done != NULL) {
        call->done = NULL;
        done(call->context, reply);
    }
}

/* Answers with a message that is put together already. */
static void refuse_said(struct service_call *call, enum hf_error code, const char *message,
                        bool unknown)
{
    struct reply *reply = call_reply(call);

    if (!reply_refuse_said(reply, code, hf_text(message))) {
        reply_refuse(reply, code, NULL);
    }
    reply->unknown = unknown;
    call_answer(call, reply);
}

void call_refuse_problem(struct service_call *call, const struct problem *problem)
{
    refuse_said(call, problem->code, problem->message, false);
}

void call_refuse_unknown(struct service_call *call, const char *what)
{
    refuse_said(call, HF_TIMEOUT, what, true);
}

void call_refuse_as_engine(struct service_call *call)
{
    bool unknown = call->engine.unknown && call->engine.code == HF_TIMEOUT;

    refuse_said(call, call->engine.code, call->engine.problem.message, unknown);
}

void call_refuse_as_ledger(struct service_call *call, enum ledger_answer answer,
                           const struct problem *problem)
{
    const char *words = problem->message[0] != '\0' ? problem->message : "no reason was given";
    struct problem said = {
        HF_TIMEOUT, "outcome unknown: the ledger did not answer in time; the same command again "
                    "finds out"};

    if (answer == LEDGER_AWAY) {
        problem_set(&said, HF_LEDGER_DOWN,
                    "the ledger does not answer, nothing was changed: %.200s", words);
    } else if (answer == LEDGER_REFUSED) {
        problem_set(&said, HF_INVALID_ARGUMENT, "the ledger's database refuses it: %.200s", words);
    }
    refuse_said(call, said.code, said.message, said.code == HF_TIMEOUT);
}
