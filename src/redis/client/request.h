/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests inside a client, for the files of this room. A request waits or is sent, and may be
 * either several times; it is answered once. */
#ifndef REDIS_CLIENT_REQUEST_H
#define REDIS_CLIENT_REQUEST_H

#include "redis/client/client_state.h"

void client_init_requests(struct redis_client *client);

/* Sends the request, has it wait for its node, or answers it. From the loop. */
void client_attempt(struct redis_client *client, struct redis_request *request);
/* Sends the waiting requests that can be sent. */
void client_send_waiting(struct redis_client *client);
/* Answers the requests that redis_client_send() refused. */
void client_answer_refused(struct redis_client *client);
/* Answers every request; all nodes are down. None is in flight when it returns. */
void client_refuse_all(struct redis_client *client);

/* Why requests for this node (NULL: for any) cannot be sent. */
void client_explain_unavailable(struct redis_client *client, const struct redis_node *node,
                                struct problem *problem);

#endif
