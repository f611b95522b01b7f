/* SPDX-License-Identifier: Apache-2.0
 *
 * A request from redis_client_send() to its one answer: it waits until its node is known and up, is
 * sent, and is sent again after errors that say that it was not carried out. */
#include "redis/client/request.h"

#include "base/check.h"
#include "redis/client/error_reply.h"
#include "redis/client/node_access.h"

#include <stdio.h>

#define WAITING_POLL_MS 10   /* how often waiting requests are tried, if nothing changes */
#define RETRY_MS 40          /* between two attempts, of which the first was not carried out */
#define RETRY_STEPS 4        /* attempts at a busy scope after which the pause is doubled */
#define RETRY_DOUBLED_MAX 2  /* how often it is */
#define REPLY_MS 20          /* what the reply to such a second attempt may take */
#define SILENCE_SLACK_MS 5   /* a node silent for a timeout less this is lost with the request */
#define QUICK_ATTEMPTS_MAX 4 /* attempts, such as after redirects, without a pause before them */

static void expire(struct alarm *alarm);

/* ---- answers to the caller ------------------------------------------------------------------- */

/* From now on the request may go to this node alone (NULL: to the master of its slot). */
static void set_target(struct redis_request *request, struct redis_node *node)
{
    if (request->private.target != NULL) {
        request->private.target->pinned_requests--;
    }
    request->private.target = node;
    if (node != NULL) {
        node->pinned_requests++;
    }
}

static void finish(struct redis_client *client, struct redis_request *request, enum redis_fate fate,
                   const redisReply *reply, const struct problem *problem)
{
    CHECK(request->private.sent_to == NULL);
    CHECK((fate == REDIS_ANSWERED) == (reply != NULL));
    alarm_stop(&request->private.deadline);
    if (request->private.is_waiting) {
        list_remove(&request->private.waiting);
    }
    set_target(request, NULL);
    client->figures.in_flight--;
    client->queued -= !request->unqueued;
    client->figures.unknown += fate == REDIS_UNKNOWN;
    client->figures.refused += fate == REDIS_NOT_DONE;
    struct scope_line *line = scope_line_left(client, request);
    request->done(request, fate, reply, problem); /* it may be gone after this */
    if (line != NULL) {
        scope_line_release(client, line);
    }
}

static void finish_not_done(struct redis_client *client, struct redis_request *request,
                            const struct problem *problem)
{
    struct problem copy = *problem; /* which may be the request's own */
    finish(client, request, REDIS_NOT_DONE, NULL, &copy);
}

static void finish_unknown(struct redis_client *client, struct redis_request *request,
                           const struct redis_node *node, const char *why)
{
    struct problem problem;

    problem_set(&problem, HF_TIMEOUT,
                "outcome unknown: redis %s: %s; the command may have been carried out: ask again "
                "with the same id",
                node->name, why);
    finish(client, request, REDIS_UNKNOWN, NULL, &problem);
}

void client_explain_unavailable(struct redis_client *client, const struct redis_node *node,
                                struct problem *problem)
{
    char where[MESSAGE_SIZE / 2];

    for (struct list *at = client->nodes.next; node == NULL && at != &client->nodes;
         at = at->next) {
        const struct redis_node *other = LIST_ENTRY(at, struct redis_node, node);
        node = other->wanted && other->problem.code != HF_OK ? other : NULL;
    }
    if (node != NULL && node->problem.code != HF_OK) {
        *problem = node->problem;
    } else if (client->problem.code != HF_OK) {
        *problem = client->problem;
    } else {
        redis_url_show(&client->url, where, sizeof where);
        problem_set(problem, HF_ENGINE_DOWN, "no connection to %s yet",
                    node != NULL ? node->name : where);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

static void enqueue(struct redis_client *client, struct redis_request *request)
{
    request->private.is_waiting = true;
    list_add_last(&client->waiting, &request->private.waiting);
    alarm_set_sooner(&client->alarms, &client->waiting_alarm, WAITING_POLL_MS);
}

/* Is it too early for the next attempt, or too late? An attempt whose reply may not come in time
 * would turn "certainly not carried out" into "unknown", so it is not made. */
static bool must_wait(const struct redis_client *client, const struct redis_request *request)
{
    uint64_t now_ms = uv_now(client->loop);
    bool was_tried = request->private.last_problem.code != HF_OK;

    return now_ms < request->private.not_before_ms ||
           (was_tried && now_ms + REPLY_MS > alarm_due_ms(&request->private.deadline));
}

/* Sends the request, or has it wait for its node. False, with the problem: it can never be sent. */
static bool attempt_now(struct redis_client *client, struct redis_request *request,
                        struct problem *problem)
{
    scope_line_begin(client, request);
    if (must_wait(client, request)) {
        enqueue(client, request);
        return true;
    }
    struct redis_node *node = request->private.target;
    if (node != NULL && node == request->node && !node->wanted) {
        problem_set(problem, HF_ENGINE_DOWN, "redis %s is no longer a master", node->name);
        return false;
    }
    if (node != NULL && node != request->node && node->state == NODE_DOWN &&
        node->problem.code != HF_OK) {
        /* An ASK led to a node that cannot be reached: back to the master of the slot. */
        node_connect(node);
        request->private.asking = false;
        set_target(request, NULL);
        node = NULL;
    }
    if (node == NULL) {
        node = client->topology->route(client, request->slot);
    }
    if (node == NULL) {
        enqueue(client, request);
        return true;
    }
    if (node->refused) {
        *problem = node->problem;
        return false;
    }
    if (!node_is_open(node)) {
        node_connect(node);
        enqueue(client, request);
        return true;
    }
    if (!node_send(node, request)) {
        problem_set(problem, HF_BUSY, "out of memory");
        return false;
    }
    client->figures.resent += request->private.attempts > 1;
    return true;
}

/* The same, or has it wait for those of its scope before it. */
static bool attempt(struct redis_client *client, struct redis_request *request,
                    struct problem *problem)
{
    return scope_line_holds(client, request) || attempt_now(client, request, problem);
}

void client_attempt(struct redis_client *client, struct redis_request *request)
{
    struct problem problem;

    if (!attempt_now(client, request, &problem)) {
        finish(client, request, REDIS_NOT_DONE, NULL, &problem);
    }
}

/* From the loop. */
static void attempt_or_finish(struct redis_client *client, struct redis_request *request)
{
    struct problem problem;

    if (!attempt(client, request, &problem)) {
        finish(client, request, REDIS_NOT_DONE, NULL, &problem);
    }
}

/* A slot may move for long, and thousands of requests wait for it: their retries come less often
 * with time, so that they do not keep its two masters from moving it. */
static void retry_later(struct redis_client *client, struct redis_request *request)
{
    unsigned doubled = 0;

    if (request->private.last_problem.code == HF_BUSY) {
        doubled = request->private.attempts / RETRY_STEPS;
        doubled = doubled < RETRY_DOUBLED_MAX ? doubled : RETRY_DOUBLED_MAX;
    }
    request->private.quick_attempts = 0;
    request->private.not_before_ms =
        uv_now(client->loop) + client_jitter(client, (uint64_t)RETRY_MS << doubled);
    enqueue(client, request);
}

/* At once the first few times; more of them may be redirects in a circle. */
static void retry(struct redis_client *client, struct redis_request *request)
{
    if (++request->private.quick_attempts > QUICK_ATTEMPTS_MAX) {
        retry_later(client, request);
    } else {
        attempt_or_finish(client, request);
    }
}

void client_send_waiting(struct redis_client *client)
{
    const struct list *last = client->waiting.prev; /* those that have to wait on come behind it */
    bool more = !list_empty(&client->waiting);

    while (more) {
        struct list *first = client->waiting.next;
        struct redis_request *request = LIST_ENTRY(first, struct redis_request, private.waiting);
        more = first != last;
        list_remove(first);
        request->private.is_waiting = false;
        attempt_or_finish(client, request);
    }
}

static void poll_waiting(struct alarm *alarm)
{
    struct redis_client *client = LIST_ENTRY(alarm, struct redis_client, waiting_alarm);

    client_send_waiting(client);
    if (!list_empty(&client->waiting)) {
        alarm_set(&client->alarms, alarm, WAITING_POLL_MS);
    }
}

void redis_client_send(struct redis_client *client, struct redis_request *request)
{
    int64_t timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : client->url.timeout_ms;
    struct problem *problem = &request->private.last_problem;
    bool fine = false;

    CHECK(request->done != NULL && request->slot >= -1 && request->slot < REDIS_SLOTS);
    request->private.sent_to = request->private.target = NULL;
    request->private.not_before_ms = 0;
    request->private.attempts = request->private.quick_attempts = 0;
    request->private.is_waiting = request->private.asking = false;
    request->private.batch = NULL;
    request->private.is_held = request->private.leads = false;
    request->private.order = client->sent++;
    request->private.scope_hash = request->scope.size > 0 ? batch_hash(request->scope) : 0;
    problem->code = HF_OK;
    set_target(request, request->node);
    alarm_init(&request->private.deadline, expire);
    alarm_set(&client->alarms, &request->private.deadline, (uint64_t)timeout_ms);
    client->figures.in_flight++;
    client->queued += !request->unqueued;
    if (client->closing) {
        problem_set(problem, HF_ENGINE_DOWN, "the connections to redis are closed");
    } else if (!request->unqueued && client->queued > client->url.queue) {
        problem_set(problem, HF_BUSY, "%u commands are under way to redis already",
                    client->url.queue);
    } else {
        fine = attempt(client, request, problem);
    }
    if (!fine) {
        request->private.is_waiting = true;
        list_add_last(&client->refused, &request->private.waiting);
    }
}

void client_answer_refused(struct redis_client *client)
{
    while (!list_empty(&client->refused)) {
        struct redis_request *request =
            LIST_ENTRY(client->refused.next, struct redis_request, private.waiting);
        finish_not_done(client, request, &request->private.last_problem);
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

/* Notes what to answer if the time is over before the next attempt is answered. Redirects and a
 * missing script are steps of an attempt: if one came before, its problem says more. */
static void note_problem(struct redis_request *request, const struct redis_node *node,
                         const struct error_reply *error, const redisReply *reply)
{
    bool full = error->action == ERROR_REFUSED && error->code == HF_BUSY;
    bool step = error->action == ERROR_MOVED || error->action == ERROR_ASK ||
                error->action == ERROR_NO_SCRIPT;

    if (step && request->private.last_problem.code != HF_OK) {
        return;
    }
    problem_set(&request->private.last_problem, error->code, "redis %s%s: %s", node->name,
                full ? " is out of memory (maxmemory)" : "", reply->str);
}

/* The node that a redirect names; NULL when there is no memory. */
static struct redis_node *redirect_target(struct redis_node *from, const struct error_reply *error)
{
    struct redis_host host = {.port = error->port};

    snprintf(host.name, sizeof host.name, "%s",
             error->host[0] != '\0' ? error->host : from->host.name);
    from->client->figures.redirects++;
    return client_node(from->client, &host);
}

static void redirect(struct redis_node *node, struct redis_request *request,
                     const struct error_reply *error)
{
    struct redis_client *client = node->client;

    if (request->private.target == node && request->node == node) {
        finish_not_done(client, request, &request->private.last_problem);
        return;
    }
    struct redis_node *there = redirect_target(node, error);
    set_target(request, NULL);
    if (there == NULL) {
        retry_later(client, request);
        return;
    }
    if (error->action == ERROR_ASK) {
        request->private.asking = true;
        set_target(request, there);
    } else if (client->topology->slot_moved != NULL) {
        client->topology->slot_moved(client, error->slot, there);
    }
    retry(client, request);
}

/* A slot has moved: requests that follow go there. */
static void learn_move(struct redis_node *node, const struct error_reply *error)
{
    struct redis_node *there = redirect_target(node, error);

    if (there != NULL && node->client->topology->slot_moved != NULL) {
        node->client->topology->slot_moved(node->client, error->slot, there);
    }
}

static void answer_error(struct redis_node *node, struct redis_request *request,
                         const redisReply *reply)
{
    struct redis_client *client = node->client;
    struct error_reply error;

    error_reply_read(reply, &error);
    if (request->verbatim && error.action == ERROR_MOVED) {
        learn_move(node, &error);
    }
    if (node_access_is_missing(reply->str)) {
        /* It was revoked: what else is sent could be half done, too. */
        node_drain(node, "refuses a command to the user that we are");
    }
    bool in_order = request->scope.size > 0 && !request->unordered;
    if (request->verbatim || error.action == ERROR_ANSWER ||
        (error.action == ERROR_AGAIN && !in_order) ||
        (error.action == ERROR_NO_SCRIPT && request->script == NULL)) {
        finish(client, request, REDIS_ANSWERED, reply, NULL);
        return;
    }
    if (error.action == ERROR_AGAIN) {
        request->private.last_problem = (struct problem){HF_BUSY, CLIENT_MORE_DUE};
        scope_line_again(node, request);
        return;
    }
    note_problem(request, node, &error, reply);
    request->private.asking = request->private.asking && error.action == ERROR_NO_SCRIPT;
    switch (error.action) {
    case ERROR_NO_SCRIPT:
        if (node_is_open(node)) {
            node_load(node, request);
        }
        retry(client, request);
        break;
    case ERROR_MOVED:
    case ERROR_ASK:
        redirect(node, request, &error);
        break;
    case ERROR_RETRY:
        set_target(request, request->node);
        if (error.not_master) {
            client->topology->not_master(client, node);
        } else if (error.code != HF_BUSY) {
            client->topology->node_down(client, node);
        }
        retry_later(client, request);
        break;
    default:
        finish_not_done(client, request, &request->private.last_problem);
    }
}

void client_answered(struct redis_node *node, struct redis_request *request,
                     const redisReply *reply)
{
    CHECK(request->private.sent_to == node);
    request->private.sent_to = NULL;
    if (reply->type == REDIS_REPLY_ERROR) {
        answer_error(node, request, reply);
    } else {
        finish(node->client, request, REDIS_ANSWERED, reply, NULL);
    }
}

void client_unsafe(struct redis_node *node, struct redis_request *request, const char *why)
{
    struct problem problem;

    CHECK(request->private.sent_to == node);
    request->private.sent_to = NULL;
    if (!request->repeatable) {
        finish_unknown(node->client, request, node, why);
        return;
    }
    problem_set(&problem, HF_ENGINE_DOWN, "what redis %s answers could still be lost: %s",
                node->name, why);
    finish(node->client, request, REDIS_NOT_DONE, NULL, &problem);
}

void client_lost(struct redis_node *node, struct redis_request *request, bool sent, const char *why)
{
    struct redis_client *client = node->client;

    CHECK(request->private.sent_to == node);
    request->private.sent_to = NULL;
    if (sent && !request->repeatable) {
        finish_unknown(client, request, node, why);
        return;
    }
    request->private.asking = false;
    set_target(request, request->node);
    enqueue(client, request);
}

/* ---- when the time is over ------------------------------------------------------------------- */

static void expire(struct alarm *alarm)
{
    struct redis_request *request = LIST_ENTRY(alarm, struct redis_request, private.deadline);
    struct redis_client *client = LIST_ENTRY(alarm->alarms, struct redis_client, alarms);
    struct redis_node *node = request->private.sent_to;
    struct problem problem;
    char why[80];

    if (node == NULL) {
        if (request->private.last_problem.code != HF_OK) {
            problem = request->private.last_problem;
        } else if (request->private.is_held) {
            problem_set(&problem, HF_BUSY,
                        "commands of its scope before it were not answered in time; try again");
        } else {
            node = request->private.target != NULL ? request->private.target
                                                   : client->topology->route(client, request->slot);
            client_explain_unavailable(client, node, &problem);
        }
        finish(client, request, REDIS_NOT_DONE, NULL, &problem);
        return;
    }
    /* Requests that it was sent behind may have been answered late: then the node is not silent. */
    uint64_t silent_ms = uv_now(client->loop) - node->last_reply_ms;
    bool dead = silent_ms + SILENCE_SLACK_MS >= (uint64_t)client->url.timeout_ms;
    if (!node_abandon(node, request)) {
        problem_set(&problem, HF_ENGINE_DOWN,
                    "redis %s has not answered what was sent before in time; nothing was changed",
                    node->name);
        finish(client, request, REDIS_NOT_DONE, NULL, &problem);
        return;
    }
    finish_unknown(client, request, node, "no answer in time");
    if (dead) {
        snprintf(why, sizeof why, "no answer for %llu ms", (unsigned long long)silent_ms);
        node_lose(node, why);
    } else {
        client->topology->node_down(client, node);
    }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void client_init_requests(struct redis_client *client)
{
    list_init(&client->waiting);
    list_init(&client->refused);
    scope_lines_init(&client->lines);
    alarm_init(&client->waiting_alarm, poll_waiting);
}

void client_refuse_all(struct redis_client *client)
{
    struct problem problem;

    problem_set(&problem, HF_ENGINE_DOWN, "the connections to redis are closed");
    while (!list_empty(&client->waiting) || !list_empty(&client->refused)) {
        struct list *from = list_empty(&client->waiting) ? &client->refused : &client->waiting;
        finish_not_done(client, LIST_ENTRY(from->next, struct redis_request, private.waiting),
                        &problem);
    }
    for (struct redis_request *held; (held = scope_lines_any(client)) != NULL;) {
        finish_not_done(client, held, &problem);
    }
    CHECK(client->figures.in_flight == 0);
    alarm_stop(&client->waiting_alarm);
}
