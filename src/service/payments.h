/* SPDX-License-Identifier: Apache-2.0
 *
 * The payment peer of checkouts. Its answers are of two kinds, which are never mixed up: what is
 * known, and PAYMENT_UNKNOWN, after which the peer is asked and nothing is assumed. */
#ifndef SERVICE_PAYMENTS_H
#define SERVICE_PAYMENTS_H

#include "base/trace.h"
#include "ledger/saga.h"

struct service;

enum payment_verb { PAYMENT_CHARGE, PAYMENT_ASK, PAYMENT_REFUND };

enum payment_outcome {
    PAYMENT_SUCCEEDED,
    PAYMENT_DECLINED,
    PAYMENT_PENDING,  /* a callback or a later question tells */
    PAYMENT_REFUNDED, /* charged once, and given back */
    PAYMENT_ABSENT,   /* the peer does not know the payment */
    PAYMENT_UNKNOWN,  /* no answer, or none that says it */
};

struct payment_answer {
    enum payment_outcome outcome;
    char message[LEDGER_SAGA_ERROR_SIZE];
    /* Of PAYMENT_DECLINED: the request was refused, rather than the payment declined. It says
     * nothing of an earlier request for the same payment. */
    bool refused;
};

/* The price of all seats of a saga. */
int64_t payment_amount(const struct ledger_saga *saga);

/* Three capital letters. */
bool payment_is_currency(struct hf_bytes text);

/* Are these settings in order? No I/O. */
struct service_options;
enum hf_error payments_check(const struct service_options *settings, struct problem *problem);

/* "test" or "http"; NULL if there is no peer. */
const char *payments_provider(const struct service *service);

/* May a checkout be begun? Not while the peer does not answer: it would hold seats for a payment
 * that nobody takes. */
bool payments_serve(struct service *service);

/* What the peer answered, or did not. */
void payments_note(struct service *service, const struct payment_answer *answer);

/* Asks the peer, as a part of a request. done() is called once, at once or in a later turn; the
 * saga and the request are not used after the call. */
typedef void payment_done(void *context, const struct payment_answer *answer);
void payments_send(struct service *service, enum payment_verb verb, const struct ledger_saga *saga,
                   const struct trace_request *part_of, payment_done *done, void *context);

#endif
