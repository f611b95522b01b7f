/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of a checkout: which may follow on which, and what goes with each. */
#include "service/saga_states.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BIT(state) (1U << (state))

/* As the diagram of docs/checkout.md has it, and each state that is driven after itself. */
static const unsigned expected[SAGA_STATES] = {
    [SAGA_STARTED] = BIT(SAGA_STARTED) | BIT(SAGA_RESERVED) | BIT(SAGA_COMPENSATING) |
                     BIT(SAGA_COMPENSATED) | BIT(SAGA_NEEDS_ATTENTION),
    [SAGA_RESERVED] = BIT(SAGA_RESERVED) | BIT(SAGA_PAYING) | BIT(SAGA_PAID) |
                      BIT(SAGA_COMPENSATING) | BIT(SAGA_NEEDS_ATTENTION),
    [SAGA_PAYING] =
        BIT(SAGA_PAYING) | BIT(SAGA_PAID) | BIT(SAGA_COMPENSATING) | BIT(SAGA_NEEDS_ATTENTION),
    [SAGA_PAID] =
        BIT(SAGA_PAID) | BIT(SAGA_COMPLETED) | BIT(SAGA_COMPENSATING) | BIT(SAGA_NEEDS_ATTENTION),
    [SAGA_COMPLETED] = BIT(SAGA_COMPENSATING),
    [SAGA_COMPENSATING] =
        BIT(SAGA_COMPENSATING) | BIT(SAGA_COMPENSATED) | BIT(SAGA_NEEDS_ATTENTION),
    [SAGA_COMPENSATED] = 0,
    [SAGA_NEEDS_ATTENTION] = BIT(SAGA_STARTED) | BIT(SAGA_RESERVED) | BIT(SAGA_PAYING) |
                             BIT(SAGA_PAID) | BIT(SAGA_COMPENSATING),
};

static void only_the_moves_of_the_diagram_are_allowed(void **state)
{
    (void)state;
    for (enum saga_state from = 0; from < SAGA_STATES; from++) {
        for (enum saga_state to = 0; to < SAGA_STATES; to++) {
            assert_int_equal(saga_may_move(from, to), (expected[from] & BIT(to)) != 0);
        }
    }
    assert_false(saga_may_move(SAGA_STATES, SAGA_STARTED));
    assert_false(saga_may_move(SAGA_STARTED, SAGA_STATES));
}

static void names_are_read_back(void **state)
{
    (void)state;
    for (enum saga_state one = 0; one < SAGA_STATES; one++) {
        assert_int_equal(saga_state_read(saga_state_name(one)), one);
    }
    for (enum saga_charge one = 0; one < SAGA_CHARGES; one++) {
        assert_int_equal(saga_charge_read(saga_charge_name(one)), one);
    }
    assert_int_equal(saga_state_read("DONE"), SAGA_STATES);
    assert_int_equal(saga_state_read(""), SAGA_STATES);
    assert_int_equal(saga_charge_read("paid"), SAGA_CHARGES);
    assert_int_equal(saga_charge_read(""), SAGA_CHARGE_NONE);
}

static void nobody_is_left_charged_at_a_good_end(void **state)
{
    (void)state;
    assert_non_null(saga_broken_rule(SAGA_COMPENSATED, SAGA_CHARGE_SENT));
    assert_non_null(saga_broken_rule(SAGA_COMPENSATED, SAGA_CHARGE_SUCCEEDED));
    assert_null(saga_broken_rule(SAGA_COMPENSATED, SAGA_CHARGE_REFUNDED));
    assert_null(saga_broken_rule(SAGA_COMPENSATED, SAGA_CHARGE_DECLINED));
    assert_non_null(saga_broken_rule(SAGA_COMPLETED, SAGA_CHARGE_SENT));
    assert_non_null(saga_broken_rule(SAGA_COMPLETED, SAGA_CHARGE_REFUNDED));
    assert_null(saga_broken_rule(SAGA_COMPLETED, SAGA_CHARGE_SUCCEEDED));
    assert_non_null(saga_broken_rule(SAGA_STARTED, SAGA_CHARGE_SENT));
    assert_non_null(saga_broken_rule(SAGA_STATES, SAGA_CHARGE_NONE));
    assert_non_null(saga_broken_rule(SAGA_PAID, SAGA_CHARGES));
}

static void ends_are_those_that_nobody_drives(void **state)
{
    (void)state;
    assert_true(saga_state_is_final(SAGA_COMPLETED));
    assert_true(saga_state_is_final(SAGA_COMPENSATED));
    assert_true(saga_state_is_final(SAGA_NEEDS_ATTENTION));
    assert_false(saga_state_is_final(SAGA_STARTED));
    assert_false(saga_state_is_final(SAGA_COMPENSATING));
    /* What is driven may always stay where it is, to note an attempt. */
    for (enum saga_state one = 0; one < SAGA_STATES; one++) {
        assert_int_equal(saga_may_move(one, one), !saga_state_is_final(one));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_moves_of_the_diagram_are_allowed),
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(nobody_is_left_charged_at_a_good_end),
        cmocka_unit_test(ends_are_those_that_nobody_drives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
