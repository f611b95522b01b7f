/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster: which master has which slot, as CLUSTER SLOTS of any node tells it. The map is polled
 *
 *  - when a reply does not agree with it (MOVED, CLUSTERDOWN), at most every POLL_MIN_MS,
 *  - every CHECK_MS while a master is away or silent, or a slot has none,
 *  - every POLL_MS otherwise.
 *
 * The nodes of the last map, replicas too, and then the hosts of the URL are queried in turn. */
#include "redis/client/client_state.h"

#include "base/check.h"
#include "redis/client/slot_map.h"

#include <stdio.h>
#include <stdlib.h>

#define POLL_MIN_MS 100 /* between two queries at least */
#define CHECK_MS 250    /* how often the cluster's health is checked */
#define POLL_MS 15000   /* between two queries while it is healthy */
#define NEXT_HOST_MS 10 /* after a query that failed, until the next host is queried */

struct cluster {
    struct redis_client *client;
    struct alarm alarm;
    struct topology_query *query;
    struct redis_host queried;
    uint64_t queried_ms;
    unsigned failures; /* queries in a row that gave no map */
    bool map_is_stale; /* a reply did not agree with the map */
    size_t at;         /* the host to be queried next */
    struct slot_map map;
    struct redis_node *owners[REDIS_SLOTS]; /* NULL: the slot has none */
    unsigned turn;
};

static void answered(struct redis_client *client, const redisReply *reply, const char *why);

/* ---- polling --------------------------------------------------------------------------------- */

static size_t known_count(const struct cluster *cluster)
{
    return cluster->map.node_count + cluster->client->url.host_count;
}

static const struct redis_host *known(const struct cluster *cluster, size_t index)
{
    size_t nodes = cluster->map.node_count;
    return index < nodes ? &cluster->map.nodes[index] : &cluster->client->url.hosts[index - nodes];
}

/* The next host in turn; one that is known to be away only if all are. */
static const struct redis_host *next_host(struct cluster *cluster)
{
    size_t count = known_count(cluster);

    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct redis_host *host = known(cluster, cluster->at++ % count);
        const struct redis_node *node = client_find_node(cluster->client, host);
        if (node == NULL || node->problem.code == HF_OK) {
            return host;
        }
    }
    return known(cluster, cluster->at++ % count);
}

static bool is_healthy(const struct cluster *cluster)
{
    const struct list *nodes = &cluster->client->nodes;

    for (const struct list *at = nodes->next; at != nodes; at = at->next) {
        const struct redis_node *node = LIST_ENTRY(at, struct redis_node, node);
        if ((node->wanted && !node_is_healthy(node)) || node->missed == 1) {
            return false;
        }
    }
    return cluster->map.covered == REDIS_SLOTS && cluster->failures == 0 && !cluster->map_is_stale;
}

static void poll_slots(struct alarm *alarm)
{
    static const char *const words[] = {"CLUSTER", "SLOTS"};
    struct cluster *cluster = LIST_ENTRY(alarm, struct cluster, alarm);
    struct redis_client *client = cluster->client;

    bool rests = is_healthy(cluster) && uv_now(client->loop) - cluster->queried_ms < POLL_MS;
    if (cluster->query == NULL && !rests) {
        cluster->map_is_stale = false;
        cluster->queried = *next_host(cluster);
        cluster->queried_ms = uv_now(client->loop);
        cluster->query =
            topology_query_start(client, &cluster->queried, REDIS_LOGIN_SERVER, 2, words, answered);
    }
    alarm_set(&client->alarms, alarm, client_jitter(client, CHECK_MS));
}

/* Polls as soon as POLL_MIN_MS allows. */
static void poll_soon(struct cluster *cluster)
{
    uint64_t since_ms = uv_now(cluster->client->loop) - cluster->queried_ms;

    cluster->map_is_stale = true;
    alarm_set_sooner(&cluster->client->alarms, &cluster->alarm,
                     since_ms < POLL_MIN_MS ? POLL_MIN_MS - since_ms : 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* A node that two maps in a row do not have, from two nodes, is no master any more; one map alone
 * may be outdated. */
static void dismiss_missing(struct redis_client *client)
{
    struct list *nodes = &client->nodes;

    for (struct list *at = nodes->next; at != nodes; at = at->next) {
        struct redis_node *node = LIST_ENTRY(at, struct redis_node, node);
        if (node->missed == 1) {
            node->wanted = false;
        } else if (node->missed == 2) {
            node_dismiss(node);
        }
    }
}

static void apply_map(struct cluster *cluster)
{
    struct redis_client *client = cluster->client;
    struct list *nodes = &client->nodes;

    for (struct list *at = nodes->next; at != nodes; at = at->next) {
        LIST_ENTRY(at, struct redis_node, node)->missed++;
    }
    for (size_t slot = 0; slot < REDIS_SLOTS; slot++) {
        cluster->owners[slot] = NULL;
    }
    for (size_t i = 0; i < cluster->map.range_count; i++) {
        const struct slot_range *range = &cluster->map.ranges[i];
        struct redis_node *node = client_node(client, &cluster->map.nodes[range->master]);
        if (node == NULL) {
            continue;
        }
        node->missed = 0;
        node_want(node, true);
        for (int slot = range->first; slot <= range->last; slot++) {
            cluster->owners[slot] = node;
        }
    }
    dismiss_missing(client);
}

static void answered(struct redis_client *client, const redisReply *reply, const char *why)
{
    struct cluster *cluster = client->topology_state;
    struct slot_map map;
    char name[sizeof cluster->queried.name + 8];

    cluster->query = NULL;
    redis_host_show(&cluster->queried, name, sizeof name);
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        why = reply->str;
    } else if (reply != NULL && slot_map_read(&map, reply, &cluster->queried)) {
        slot_map_free(&cluster->map);
        cluster->map = map;
        cluster->failures = 0;
        client->problem.code = HF_OK;
        if (map.covered < REDIS_SLOTS) {
            problem_set(&client->problem, HF_ENGINE_DOWN,
                        "the cluster has no master for %d of its slots", REDIS_SLOTS - map.covered);
        }
        apply_map(cluster);
        client_topology_changed(client);
        return;
    } else if (reply != NULL) {
        why = "it knows of no slots";
    }
    cluster->failures++;
    if (cluster->map.covered == 0) {
        problem_set(&client->problem, HF_ENGINE_DOWN, "cannot ask redis %s for its cluster: %s",
                    name, why);
    }
    if (cluster->failures <= known_count(cluster)) {
        alarm_set_sooner(&client->alarms, &cluster->alarm, NEXT_HOST_MS);
    }
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        client_query_refused(client, reply);
    }
}

/* ---- the topology ---------------------------------------------------------------------------- */

static bool create(struct redis_client *client)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);

    if (cluster == NULL) {
        return false;
    }
    cluster->client = client;
    alarm_init(&cluster->alarm, poll_slots);
    client->topology_state = cluster;
    return true;
}

static void open_topology(struct redis_client *client)
{
    struct cluster *cluster = client->topology_state;
    poll_slots(&cluster->alarm);
}

static void close_topology(struct redis_client *client)
{
    struct cluster *cluster = client->topology_state;

    alarm_stop(&cluster->alarm);
    topology_query_cancel(cluster->query);
    slot_map_free(&cluster->map);
    free(cluster);
    client->topology_state = NULL;
}

/* Any master: in turn, rather one that is up. */
static struct redis_node *any_master(struct cluster *cluster)
{
    struct list *nodes = &cluster->client->nodes;
    struct redis_node *found = NULL;
    unsigned left = cluster->turn++ % 64;

    for (struct list *at = nodes->next; at != nodes; at = at->next) {
        struct redis_node *node = LIST_ENTRY(at, struct redis_node, node);
        if (!node->wanted || (found != NULL && !node_is_open(node))) {
            continue;
        }
        found = node;
        if (node_is_open(node) && left-- == 0) {
            break;
        }
    }
    return found;
}

static struct redis_node *route(struct redis_client *client, int slot)
{
    struct cluster *cluster = client->topology_state;
    return slot < 0 ? any_master(cluster) : cluster->owners[slot];
}

static void node_up(struct redis_client *client, struct redis_node *node)
{
    (void)client;
    (void)node;
}

static void poll_for(struct redis_client *client, struct redis_node *node)
{
    struct cluster *cluster = client->topology_state;

    if (node->wanted) {
        poll_soon(cluster);
    }
}

static void slot_moved(struct redis_client *client, int slot, struct redis_node *node)
{
    struct cluster *cluster = client->topology_state;

    cluster->owners[slot] = node;
    node->missed = 0;
    node_want(node, true);
    poll_soon(cluster);
}

static bool is_ready(struct redis_client *client, bool late)
{
    const struct cluster *cluster = client->topology_state;
    const struct redis_node *some = any_master(client->topology_state);

    return cluster->map.covered > 0 &&
           (is_healthy(cluster) || (late && some != NULL && some->state == NODE_UP));
}

static bool subscription_host(struct redis_client *client, struct redis_host *host)
{
    struct cluster *cluster = client->topology_state;

    *host = *next_host(cluster);
    return cluster->map.covered > 0;
}

static bool serves_subscription(struct redis_client *client, const struct redis_host *host)
{
    const struct cluster *cluster = client->topology_state;

    for (size_t i = 0; i < known_count(cluster); i++) {
        if (redis_host_equal(known(cluster, i), host)) {
            return true;
        }
    }
    return false;
}

const struct topology topology_cluster = {
    .create = create,
    .open = open_topology,
    .close = close_topology,
    .route = route,
    .node_up = node_up,
    .node_down = poll_for,
    .not_master = poll_for,
    .slot_moved = slot_moved,
    .is_ready = is_ready,
    .subscription_host = subscription_host,
    .serves_subscription = serves_subscription,
};
