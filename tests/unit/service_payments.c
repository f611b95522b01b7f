/* SPDX-License-Identifier: Apache-2.0
 *
 * What an answer of the payment peer says: definite outcomes and unknown ones are kept apart. */
#include "service/payments_http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum payment_outcome read_answer(enum payment_verb verb, int status, const char *body)
{
    return payments_http_read(verb, "p-1", status, hf_text(body)).outcome;
}

static void a_known_status_is_believed(void **state)
{
    (void)state;
    assert_int_equal(read_answer(PAYMENT_CHARGE, 200, "{\"status\":\"succeeded\"}"),
                     PAYMENT_SUCCEEDED);
    assert_int_equal(read_answer(PAYMENT_CHARGE, 201, "{\"status\":\"declined\"}"),
                     PAYMENT_DECLINED);
    assert_int_equal(read_answer(PAYMENT_CHARGE, 202, "{\"status\":\"pending\"}"), PAYMENT_PENDING);
    assert_int_equal(
        read_answer(PAYMENT_ASK, 200, "{\"payment_id\":\"p-1\",\"status\":\"refunded\"}"),
        PAYMENT_REFUNDED);
}

static void what_says_nothing_is_unknown(void **state)
{
    static const char *const bodies[] = {"",
                                         "{}",
                                         "[]",
                                         "null",
                                         "succeeded",
                                         "{\"status\":1}",
                                         "{\"status\":\"ok\"}",
                                         "{\"status\":\"Succeeded\"}",
                                         "{\"status\":\"succeeded\"",
                                         "{\"status\":\"succeeded\",\"payment_id\":\"p-2\"}"};

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        assert_int_equal(read_answer(PAYMENT_CHARGE, 200, bodies[i]), PAYMENT_UNKNOWN);
        assert_int_equal(read_answer(PAYMENT_REFUND, 200, bodies[i]), PAYMENT_UNKNOWN);
    }
}

static void other_statuses_say_what_they_can(void **state)
{
    static const int unknown[] = {100, 204, 301, 302, 401, 404, 405, 408,
                                  409, 425, 429, 500, 502, 503, 504, 0};
    const char *paid = "{\"status\":\"succeeded\"}";

    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        const char *body = unknown[i] == 204 ? "" : paid;
        assert_int_equal(read_answer(PAYMENT_CHARGE, unknown[i], body), PAYMENT_UNKNOWN);
    }
    assert_int_equal(read_answer(PAYMENT_CHARGE, 402, paid), PAYMENT_DECLINED);
    assert_int_equal(read_answer(PAYMENT_CHARGE, 422, paid), PAYMENT_DECLINED);
    assert_int_equal(read_answer(PAYMENT_ASK, 402, paid), PAYMENT_UNKNOWN);
    assert_int_equal(read_answer(PAYMENT_ASK, 404, paid), PAYMENT_ABSENT);
    assert_int_equal(read_answer(PAYMENT_REFUND, 404, paid), PAYMENT_ABSENT);
    assert_int_equal(read_answer(PAYMENT_REFUND, 500, paid), PAYMENT_UNKNOWN);
}

/* A request that was refused says nothing of an earlier one; a payment that was declined does. */
static void a_refused_request_is_no_declined_payment(void **state)
{
    (void)state;
    assert_true(payments_http_read(PAYMENT_CHARGE, "p-1", 400, hf_text("{}")).refused);
    assert_false(payments_http_read(PAYMENT_CHARGE, "p-1", 402, hf_text("{}")).refused);
}

static void amounts_and_currencies(void **state)
{
    struct ledger_saga saga = {.quantity = 3, .unit_price = 4500};

    (void)state;
    assert_int_equal(payment_amount(&saga), 13500);
    assert_true(payment_is_currency(hf_text("EUR")));
    assert_false(payment_is_currency(hf_text("eur")));
    assert_false(payment_is_currency(hf_text("EU")));
    assert_false(payment_is_currency(hf_text("EURO")));
    assert_false(payment_is_currency(hf_text("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_status_is_believed),
        cmocka_unit_test(what_says_nothing_is_unknown),
        cmocka_unit_test(other_statuses_say_what_they_can),
        cmocka_unit_test(a_refused_request_is_no_declined_payment),
        cmocka_unit_test(amounts_and_currencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
