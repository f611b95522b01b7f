/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a request through a client. It waits or is sent, and may be either several times; it
 * is answered once. */
#ifndef REDIS_CLIENT_REQUEST_H
#define REDIS_CLIENT_REQUEST_H

#include "redis/client/client_state.h"

void client_init_requests(struct redis_client *client);

/* Sends those that wait and can be. */
void client_send_waiting(struct redis_client *client);
/* Answers those that were refused inside of redis_client_send(). */
void client_answer_refused(struct redis_client *client);
/* Nothing is under way when it returns. All nodes are down. */
void client_refuse_all(struct redis_client *client);

/* Why requests for this node (NULL: for any) cannot be sent. */
void client_explain_unavailable(struct redis_client *client, const struct redis_node *node,
                                struct problem *problem);

#endif
