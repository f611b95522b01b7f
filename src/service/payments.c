/* SPDX-License-Identifier: Apache-2.0
 *
 * Which peer takes the payments, and the one that is none: `test:` moves no money. What it answers
 * follows from the amount and the saga's age, so that every server answers the same and nothing is
 * kept. */
#include "service/payments.h"

#include "base/clock.h"
#include "base/text.h"
#include "net/outgoing.h"
#include "service/payments_http.h"
#include "service/service_state.h"

#include <stdio.h>

#define TEST_URL "test:"
#define TEST_SAYS "this is a test, no money is moved"
#define TEST_SILENT_MS 5000

int64_t payment_amount(const struct ledger_saga *saga)
{
    return saga->quantity * saga->unit_price;
}

bool payment_is_currency(struct hf_bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < 'A' || text.data[i] > 'Z') {
            return false;
        }
    }
    return text.size == 3;
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool is_test(const char *url)
{
    return strcmp(url, TEST_URL) == 0;
}

static enum hf_error check_peer(const struct service_options *settings, struct problem *problem)
{
    char host[ADDRESS_HOST_SIZE];
    struct webhook_keys keys;
    struct problem why;

    if (settings->payment_url != NULL && !is_test(settings->payment_url) &&
        outgoing_read_url(settings->payment_url, host, &why) != HF_OK) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "payment-url must be test:, or a URL such as https://pay.example: %s",
                           why.message);
    }
    if (payments_read_keys(settings, &keys, &why) != HF_OK) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "payment-secret: %s", why.message);
    }
    return HF_OK;
}

enum hf_error payments_check(const struct service_options *settings, struct problem *problem)
{
    if (!payment_is_currency(hf_text(settings->currency))) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "currency \"%.20s\": must be three capital letters, such as EUR",
                           settings->currency);
    }
    if (strcmp(settings->late_payment, "rebook") != 0 &&
        strcmp(settings->late_payment, "refund") != 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "late-payment \"%.20s\": must be rebook or refund",
                           settings->late_payment);
    }
    return check_peer(settings, problem);
}

const char *payments_provider(const struct service *service)
{
    const char *url = service->settings.payment_url;

    return url == NULL ? NULL : is_test(url) ? "test" : "http";
}

/* ---- whether it answers ---------------------------------------------------------------------- */

bool payments_serve(struct service *service)
{
    return breaker_allows(&service->payment_breaker, service_now(service));
}

void payments_note(struct service *service, const struct payment_answer *answer)
{
    service_note(service, &service->payment_breaker, "the payment peer",
                 answer->outcome != PAYMENT_UNKNOWN);
}

/* ---- the peer that is none ------------------------------------------------------------------- */

static const char *const test_messages[] = {
    [PAYMENT_SUCCEEDED] = "taken as paid",
    [PAYMENT_DECLINED] = "an amount that ends in 13 is declined",
    [PAYMENT_PENDING] = "an amount that ends in 17 is pending at first",
    [PAYMENT_REFUNDED] = "taken as given back",
    [PAYMENT_UNKNOWN] = "an amount that ends in 19 has no answer for 5 s",
};

static void test_send(enum payment_verb verb, const struct ledger_saga *saga,
                      struct payment_answer *answer)
{
    int64_t ending = payment_amount(saga) % 100;
    bool silent = clock_wall_ms() - saga->created_at_ms < TEST_SILENT_MS;

    answer->outcome = verb == PAYMENT_REFUND                   ? PAYMENT_REFUNDED
                      : ending == 13                           ? PAYMENT_DECLINED
                      : ending == 17 && verb == PAYMENT_CHARGE ? PAYMENT_PENDING
                      : ending == 19 && silent                 ? PAYMENT_UNKNOWN
                                                               : PAYMENT_SUCCEEDED;
    snprintf(answer->message, sizeof answer->message, "%s: %s", test_messages[answer->outcome],
             TEST_SAYS);
}

void payments_send(struct service *service, enum payment_verb verb, const struct ledger_saga *saga,
                   const struct trace_request *part_of, payment_done *done, void *context)
{
    struct payment_answer answer = {.outcome = PAYMENT_UNKNOWN,
                                    .message = "there is no payment-url any more"};

    if (service->settings.payment_url == NULL) {
        done(context, &answer);
    } else if (is_test(service->settings.payment_url)) {
        test_send(verb, saga, &answer);
        done(context, &answer);
    } else {
        payments_http_send(service, verb, saga, part_of, done, context);
    }
}
