/* SPDX-License-Identifier: Apache-2.0
 *
 * The payment peer over HTTP, and the signatures both ways. docs/checkout.md has its contract. */
#ifndef SERVICE_PAYMENTS_HTTP_H
#define SERVICE_PAYMENTS_HTTP_H

#include "net/webhook_signature.h"
#include "service/payments.h"

struct payments_http;

/* The secrets of the settings. INVALID_ARGUMENT for one that is none. */
enum hf_error payments_read_keys(const struct service_options *settings, struct webhook_keys *keys,
                                 struct problem *problem);

/* If the settings name a peer over HTTP. INVALID_ARGUMENT, BUSY. */
enum hf_error payments_http_open(struct service *service, struct problem *problem);
void payments_http_send(struct service *service, enum payment_verb verb,
                        const struct ledger_saga *saga, const struct trace_request *part_of,
                        payment_done *done, void *context);
/* Gives the answers that are there. */
void payments_http_turn(struct service *service);
/* What was sent and not answered never is. */
void payments_http_close(struct service *service);

/* What an answer of the peer says, by its status and its body. */
struct payment_answer payments_http_read(enum payment_verb verb, const char *payment_id, int status,
                                         struct hf_bytes body);

#endif
