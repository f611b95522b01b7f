/* SPDX-License-Identifier: Apache-2.0
 *
 * The master that Sentinel names. Every sentinel announces a failover to its subscribers, which
 * are followed at once. Announcements may be missed or not permitted, so that a sentinel that
 * answers is also polled every second: a failover is seen even if the old master goes on answering.
 * The node that is named becomes the master once its own ROLE says so. While there is no healthy
 * master, all sentinels are polled in turn, and more often.
 *
 * Sentinels hear of a failover one after the other. One that has not yet would name the old master,
 * which may still take itself for one: for a while after an announcement that is not believed. */
#include "redis/client/client_state.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define POLL_MS 1000 /* between two queries while the master is healthy */
#define CHECK_MS 150 /* how often its health is checked; while it is not, between two queries */
#define SUPERSEDED_MS 10000 /* sentinels tell each other every 2 s */

/* The announcements of one sentinel. */
struct sentinel_channel {
    struct sentinel *sentinel;
    struct subscription *subscription; /* NULL: not yet, or no memory */
};

struct sentinel {
    struct redis_client *client;
    struct alarm alarm;
    struct topology_query *query;
    uint64_t queried_ms;
    size_t at;                    /* the sentinel that is queried */
    enum redis_login login;       /* at the sentinels */
    struct redis_node *master;    /* NULL: none was found yet */
    struct redis_node *candidate; /* was named, and its role is not known yet; or NULL */
    struct redis_host superseded; /* was announced as the old master, at superseded_ms */
    uint64_t superseded_ms;       /* 0: none was */
    struct sentinel_channel channels[REDIS_HOSTS_MAX]; /* of each host of the URL */
};

static void answered(struct redis_client *client, const redisReply *reply, const char *why);
static void subscribe_all(struct sentinel *sentinel);

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
                                               sentinel->login, 3, words, answered);
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

static bool is_superseded(const struct sentinel *sentinel, const struct redis_host *host)
{
    return sentinel->superseded_ms > 0 &&
           uv_now(sentinel->client->loop) - sentinel->superseded_ms < SUPERSEDED_MS &&
           redis_host_equal(&sentinel->superseded, host);
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
        subscribe_all(sentinel);
        if (!is_superseded(sentinel, &host)) {
            name_master(sentinel, &host);
        }
        if (!is_healthy(sentinel)) {
            query_another(sentinel); /* which may know of a failover */
        }
    } else if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
               sentinel->login == REDIS_LOGIN_NONE && strncmp(reply->str, "NOAUTH", 6) == 0) {
        sentinel->login = REDIS_LOGIN_SENTINEL;
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

/* ---- announcements --------------------------------------------------------------------------- */

/* Takes the next word, up to a space, off the text. */
static struct hf_bytes take_word(struct hf_bytes *text)
{
    const char *space = text->size > 0 ? memchr(text->data, ' ', text->size) : NULL;
    struct hf_bytes word = {text->data, space ? (size_t)(space - text->data) : text->size};
    size_t passed = word.size + (space != NULL);

    *text = (struct hf_bytes){text->data + passed, text->size - passed};
    return word;
}

static bool take_host(struct hf_bytes *text, struct redis_host *host)
{
    struct hf_bytes name = take_word(text), number = take_word(text);
    int64_t port;

    if (name.size == 0 || name.size >= sizeof host->name || !text_to_integer(number, &port) ||
        port < 1 || port > UINT16_MAX) {
        return false;
    }
    *host = (struct redis_host){.port = (uint16_t)port};
    memcpy(host->name, name.data, name.size);
    return true;
}

/* "mymaster 10.0.0.1 6379 10.0.0.2 6379": the name, the old address and the new one. */
static void announced(void *context, struct hf_bytes text)
{
    const struct sentinel_channel *channel = context;
    struct sentinel *sentinel = channel->sentinel;
    struct redis_client *client = sentinel->client;
    struct redis_host old, new;

    if (!text_equal(take_word(&text), hf_text(client->url.master)) || !take_host(&text, &old) ||
        !take_host(&text, &new) || text.size > 0) {
        return;
    }
    /* A query in flight may be answered by a sentinel that has not heard of it; this one has. */
    topology_query_cancel(sentinel->query);
    sentinel->query = NULL;
    sentinel->at = (size_t)(channel - sentinel->channels);
    sentinel->superseded = old;
    sentinel->superseded_ms = uv_now(client->loop);
    client->problem.code = HF_OK;
    name_master(sentinel, &new);
}

/* What was announced before is not known: the sentinels are polled. */
static void resubscribed(void *context)
{
    struct sentinel *sentinel = ((const struct sentinel_channel *)context)->sentinel;

    sentinel->queried_ms = 0;
    alarm_set_sooner(&sentinel->client->alarms, &sentinel->alarm, 0);
}

/* Once one has answered: it is known by then whether they want a password. */
static void subscribe_all(struct sentinel *sentinel)
{
    struct redis_client *client = sentinel->client;

    for (size_t i = 0; i < client->url.host_count; i++) {
        struct sentinel_channel *channel = &sentinel->channels[i];
        struct subscription_options options = {.channel = "+switch-master",
                                               .host = &client->url.hosts[i],
                                               .login = &sentinel->login,
                                               .message = announced,
                                               .resubscribed = resubscribed,
                                               .context = channel};
        if (channel->subscription == NULL) {
            channel->sentinel = sentinel;
            channel->subscription = subscription_open(client, &options);
        }
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
    /* Without a password of their own sentinels may have none, or that of the servers. */
    sentinel->login =
        client->url.sentinel_password[0] != '\0' ? REDIS_LOGIN_SENTINEL : REDIS_LOGIN_NONE;
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
    for (size_t i = 0; i < REDIS_HOSTS_MAX; i++) {
        subscription_free(sentinel->channels[i].subscription);
    }
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
    node_drain(node, NODE_TAKES_NO_WRITES); /* its role is checked when it is connected again */
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
