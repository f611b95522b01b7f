/* SPDX-License-Identifier: Apache-2.0
 *
 * A server alone: it has every slot, and when it is lost there is no other. */
#include "redis/client/client_state.h"

static bool create(struct redis_client *client)
{
    client->topology_state = client_node(client, &client->url.hosts[client->host]);
    return client->topology_state != NULL;
}

static void open_topology(struct redis_client *client)
{
    node_want(client->topology_state, true);
}

static void close_topology(struct redis_client *client)
{
    client->topology_state = NULL; /* the node is the client's */
}

static struct redis_node *route(struct redis_client *client, int slot)
{
    (void)slot;
    return client->topology_state;
}

static void ignore(struct redis_client *client, struct redis_node *node)
{
    (void)client;
    (void)node;
}

/* A new connection may lead to another server: the name's address may have changed. */
static void not_master(struct redis_client *client, struct redis_node *node)
{
    (void)client;
    node_drain(node, NODE_TAKES_NO_WRITES);
}

static bool is_ready(struct redis_client *client, bool late)
{
    const struct redis_node *node = client->topology_state;

    (void)late;
    return node->state == NODE_UP;
}

static bool subscription_host(struct redis_client *client, struct redis_host *host)
{
    *host = client->url.hosts[client->host];
    return true;
}

static bool serves_subscription(struct redis_client *client, const struct redis_host *host)
{
    (void)client;
    (void)host;
    return true;
}

const struct topology topology_standalone = {
    .create = create,
    .open = open_topology,
    .close = close_topology,
    .route = route,
    .node_up = ignore,
    .node_down = ignore,
    .not_master = not_master,
    .is_ready = is_ready,
    .subscription_host = subscription_host,
    .serves_subscription = serves_subscription,
};
