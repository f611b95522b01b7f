/* SPDX-License-Identifier: Apache-2.0
 *
 * The master that Sentinel names. A sentinel that answers is polled every second, so that a
 * failover is seen even if the old master goes on answering. The node that it names becomes the
 * master once its own ROLE says so. While there is no healthy master, all sentinels are polled in
 * turn, and more often. */
#include "redis/client/client_state.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define POLL_MS 1000 /* between two queries while the master is healthy */
#define CHECK_MS 150 /* how often its health is checked; while it is not, between two queries */

struct sentinel {
    struct redis_client *client;
    struct alarm alarm;
    struct topology_query *query;
    uint64_t queried_ms;
    size_t at;                    /* the sentinel that is queried */
    bool with_password;           /* a sentinel answered NOAUTH */
    struct redis_node *master;    /* NULL: none was found yet */
    struct redis_node *candidate; /* was named, and its role is not known yet; or NULL */
};

static void answered(struct redis_client *client, const redisReply *reply, const char *why);

/* ---- polling --------------------------------------------------------------------------------- */

static bool is_healthy(const struct sentinel *sentinel)
{
    return sentinel->master != NULL && node_is_healthy(sentinel->master) &&
           sentinel->candidate == NULL;
}

static void poll_sentinel(struct alarm *alarm)
{
    struct sentinel *sentinel = LIST_ENTRY(alarm, struct sentinel, alarm);
    struct redis_client *client = sentinel->client;
    const char *const words[] = {"SENTINEL", "get-master-addr-by-name", client->url.master};

    bool rests = is_healthy(sentinel) && uv_now(client->loop) - sentinel->queried_ms < POLL_MS;
    if (sentinel->query == NULL && !rests) {
        sentinel->queried_ms = uv_now(client->loop);
        sentinel->query = topology_query_start(client, &client->url.hosts[sentinel->at],
                                               sentinel->with_password, 3, words, answered);
    }
    alarm_set(&client->alarms, alarm, client_jitter(client, CHECK_MS));
}

static void query_another(struct sentinel *sentinel)
{
    sentinel->at = (sentinel->at + 1) % sentinel->client->url.host_count;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool read_address(const redisReply *reply, struct redis_host *host)
{
    int64_t port;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING ||
        reply->element[0]->len >= sizeof host->name || /* cut off, it would name another host */
        !text_to_integer(hf_text(reply->element[1]->str), &port)) {
        return false;
    }
    snprintf(host->name, sizeof host->name, "%s", reply->element[0]->str);
    host->port = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX && host->name[0] != '\0';
}

static void drop_candidate(struct sentinel *sentinel)
{
    if (sentinel->candidate != NULL) {
        node_dismiss(sentinel->candidate);
        sentinel->candidate = NULL;
    }
}

static void take_over(struct sentinel *sentinel)
{
    struct redis_node *old = sentinel->master;

    sentinel->master = sentinel->candidate;
    sentinel->candidate = NULL;
    if (old != NULL) {
        log_line(&sentinel->client->log, LOG_WARNING, "the master %s is now redis %s",
                 sentinel->client->url.master, sentinel->master->name);
        node_dismiss(old);
    }
}

static void name_master(struct sentinel *sentinel, const struct redis_host *host)
{
    struct redis_node *node = client_node(sentinel->client, host);

    if (node == NULL || node == sentinel->candidate) {
        return;
    }
    drop_candidate(sentinel);
    if (node == sentinel->master) {
        return;
    }
    sentinel->candidate = node;
    node->must_be_master = true;
    node_want(node, true);
    if (node->state == NODE_UP) {
        take_over(sentinel);
        client_topology_changed(sentinel->client);
    }
}

static void answered(struct redis_client *client, const redisReply *reply, const char *why)
{
    struct sentinel *sentinel = client->topology_state;
    struct redis_host host;
    char name[sizeof host.name + 8];

    sentinel->query = NULL;
    redis_host_show(&client->url.hosts[sentinel->at], name, sizeof name);
    if (reply != NULL && read_address(reply, &host)) {
        client->problem.code = HF_OK;
        name_master(sentinel, &host);
        if (!is_healthy(sentinel)) {
            query_another(sentinel); /* which may know of a failover */
        }
    } else if (reply != NULL && reply->type == REDIS_REPLY_ERROR && !sentinel->with_password &&
               strncmp(reply->str, "NOAUTH", 6) == 0) {
        sentinel->with_password = true;
    } else {
        bool is_nil = reply != NULL && reply->type != REDIS_REPLY_ERROR;
        problem_set(&client->problem, HF_ENGINE_DOWN, "no master %s from sentinel %s: %s",
                    client->url.master, name,
                    is_nil          ? "it knows of none"
                    : reply != NULL ? reply->str
                                    : why);
        query_another(sentinel);
    }
}

/* ---- the topology ---------------------------------------------------------------------------- */

static bool create(struct redis_client *client)
{
    struct sentinel *sentinel = calloc(1, sizeof *sentinel);

    if (sentinel == NULL) {
        return false;
    }
    sentinel->client = client;
    alarm_init(&sentinel->alarm, poll_sentinel);
    client->topology_state = sentinel;
    return true;
}

static void open_topology(struct redis_client *client)
{
    struct sentinel *sentinel = client->topology_state;
    poll_sentinel(&sentinel->alarm);
}

static void close_topology(struct redis_client *client)
{
    struct sentinel *sentinel = client->topology_state;

    alarm_stop(&sentinel->alarm);
    topology_query_cancel(sentinel->query);
    free(sentinel);
    client->topology_state = NULL;
}

static struct redis_node *route(struct redis_client *client, int slot)
{
    struct sentinel *sentinel = client->topology_state;

    (void)slot;
    return sentinel->master != NULL ? sentinel->master : sentinel->candidate;
}

static void node_up(struct redis_client *client, struct redis_node *node)
{
    struct sentinel *sentinel = client->topology_state;

    if (node == sentinel->candidate) {
        take_over(sentinel);
    }
}

/* The next poll comes soon anyway. */
static void node_down(struct redis_client *client, struct redis_node *node)
{
    (void)client;
    (void)node;
}

static void not_master(struct redis_client *client, struct redis_node *node)
{
    (void)client;
    node_drain(node); /* its role is checked when it is connected again */
}

static bool is_ready(struct redis_client *client, bool late)
{
    const struct sentinel *sentinel = client->topology_state;

    (void)late;
    return sentinel->master != NULL && sentinel->master->state == NODE_UP;
}

static bool subscription_host(struct redis_client *client, struct redis_host *host)
{
    const struct sentinel *sentinel = client->topology_state;

    if (sentinel->master != NULL) {
        *host = sentinel->master->host;
    }
    return sentinel->master != NULL;
}

static bool serves_subscription(struct redis_client *client, const struct redis_host *host)
{
    const struct sentinel *sentinel = client->topology_state;
    return sentinel->master != NULL && redis_host_equal(&sentinel->master->host, host);
}

const struct topology topology_sentinel = {
    .create = create,
    .open = open_topology,
    .close = close_topology,
    .route = route,
    .node_up = node_up,
    .node_down = node_down,
    .not_master = not_master,
    .is_ready = is_ready,
    .subscription_host = subscription_host,
    .serves_subscription = serves_subscription,
};
