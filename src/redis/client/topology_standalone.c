/* SPDX-License-Identifier: Apache-2.0
 *
 * A server alone: it has every slot, and what is lost is there again or nowhere. */
#include "redis/client/client_state.h"

static bool make(struct redis_client *client)
{
    client->topology_state = client_node(client, &client->url.hosts[client->host]);
    return client->topology_state != NULL;
}

static void begin(struct redis_client *client)
{
    node_want(client->topology_state, true);
}

static void end(struct redis_client *client)
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

/* Its name may stand for another server by now. */
static void doubt(struct redis_client *client, struct redis_node *node)
{
    (void)client;
    node_drain(node);
}

static bool stands(struct redis_client *client, bool late)
{
    const struct redis_node *node = client->topology_state;

    (void)late;
    return node->state == NODE_UP;
}

static bool anybody(struct redis_client *client, struct redis_host *host)
{
    *host = client->url.hosts[client->host];
    return true;
}

static bool knows(struct redis_client *client, const struct redis_host *host)
{
    (void)client;
    (void)host;
    return true;
}

const struct topology topology_standalone = {
    .make = make,
    .open = begin,
    .close = end,
    .route = route,
    .up = ignore,
    .down = ignore,
    .doubt = doubt,
    .stands = stands,
    .anybody = anybody,
    .knows = knows,
};
