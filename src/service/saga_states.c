/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of a checkout. Each is in the ledger before its step begins:
 *
 *   STARTED ──seats held──> RESERVED ─────────> PAYING ──charged──> PAID ──confirmed──> COMPLETED
 *   reserve-seats  │            │  │        process-payment         confirm-booking          │
 *      │           │            │  └─nothing to pay────────────────>  │                      │
 *      │           │ refused    │ no seats     │ declined             │ the hold is lost     │
 *      │           v            v              v                      v                      │
 *      │         ┌─────────────────────────────────────────────────────────┐   an admin     │
 *      │         │                      COMPENSATING                       │<──refunds it────┘
 *      │         │       release the seats, then refund the payment        │
 *      │         └─────────────────────────────────────────────────────────┘
 *      │ refused, and nothing was held        │ both are known to be done
 *      v                                      v
 *   COMPENSATED <─────────────────────────────┘
 *
 * From each state that is driven, too many attempts lead to NEEDS_ATTENTION; an administrator
 * resumes it where it was, or refunds it: COMPENSATING. */
#include "service/saga_states.h"

#include "base/check.h"

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    unsigned next;    /* the states that may follow */
    unsigned charges; /* what may be known of the charge in it */
} states[SAGA_STATES] = {
    [SAGA_STARTED] = {"STARTED",
                      BIT(SAGA_STARTED) | BIT(SAGA_RESERVED) | BIT(SAGA_COMPENSATING) |
                          BIT(SAGA_COMPENSATED) | BIT(SAGA_NEEDS_ATTENTION),
                      BIT(SAGA_CHARGE_NONE)},
    [SAGA_RESERVED] = {"RESERVED",
                       BIT(SAGA_RESERVED) | BIT(SAGA_PAYING) | BIT(SAGA_PAID) |
                           BIT(SAGA_COMPENSATING) | BIT(SAGA_NEEDS_ATTENTION),
                       BIT(SAGA_CHARGE_NONE)},
    [SAGA_PAYING] = {"PAYING",
                     BIT(SAGA_PAYING) | BIT(SAGA_PAID) | BIT(SAGA_COMPENSATING) |
                         BIT(SAGA_NEEDS_ATTENTION),
                     BIT(SAGA_CHARGE_SENT)},
    [SAGA_PAID] = {"PAID",
                   BIT(SAGA_PAID) | BIT(SAGA_COMPLETED) | BIT(SAGA_COMPENSATING) |
                       BIT(SAGA_NEEDS_ATTENTION),
                   BIT(SAGA_CHARGE_SUCCEEDED) | BIT(SAGA_CHARGE_NONE)},
    [SAGA_COMPLETED] = {"COMPLETED", BIT(SAGA_COMPENSATING),
                        BIT(SAGA_CHARGE_SUCCEEDED) | BIT(SAGA_CHARGE_NONE)},
    [SAGA_COMPENSATING] = {"COMPENSATING",
                           BIT(SAGA_COMPENSATING) | BIT(SAGA_COMPENSATED) |
                               BIT(SAGA_NEEDS_ATTENTION),
                           BIT(SAGA_CHARGE_NONE) | BIT(SAGA_CHARGE_SENT) |
                               BIT(SAGA_CHARGE_SUCCEEDED) | BIT(SAGA_CHARGE_DECLINED) |
                               BIT(SAGA_CHARGE_REFUNDED)},
    /* Nobody who may have been charged is left without a refund. */
    [SAGA_COMPENSATED] = {"COMPENSATED", 0,
                          BIT(SAGA_CHARGE_NONE) | BIT(SAGA_CHARGE_DECLINED) |
                              BIT(SAGA_CHARGE_REFUNDED)},
    [SAGA_NEEDS_ATTENTION] = {"NEEDS_ATTENTION",
                              BIT(SAGA_STARTED) | BIT(SAGA_RESERVED) | BIT(SAGA_PAYING) |
                                  BIT(SAGA_PAID) | BIT(SAGA_COMPENSATING),
                              BIT(SAGA_CHARGE_NONE) | BIT(SAGA_CHARGE_SENT) |
                                  BIT(SAGA_CHARGE_SUCCEEDED) | BIT(SAGA_CHARGE_DECLINED) |
                                  BIT(SAGA_CHARGE_REFUNDED)},
};

static const char *const charges[SAGA_CHARGES] = {
    [SAGA_CHARGE_NONE] = "none",           [SAGA_CHARGE_SENT] = "sent",
    [SAGA_CHARGE_SUCCEEDED] = "succeeded", [SAGA_CHARGE_DECLINED] = "declined",
    [SAGA_CHARGE_REFUNDED] = "refunded",
};

const char *saga_state_name(enum saga_state state)
{
    CHECK(state < SAGA_STATES);
    return states[state].name;
}

const char *saga_charge_name(enum saga_charge charge)
{
    CHECK(charge < SAGA_CHARGES);
    return charges[charge];
}

enum saga_state saga_state_read(const char *text)
{
    enum saga_state state = SAGA_STARTED;

    while (state < SAGA_STATES && strcmp(states[state].name, text) != 0) {
        state++;
    }
    return state;
}

enum saga_charge saga_charge_read(const char *text)
{
    enum saga_charge charge = SAGA_CHARGE_NONE;

    if (text[0] == '\0') {
        return SAGA_CHARGE_NONE; /* a row that never moved */
    }
    while (charge < SAGA_CHARGES && strcmp(charges[charge], text) != 0) {
        charge++;
    }
    return charge;
}

bool saga_may_move(enum saga_state from, enum saga_state to)
{
    return from < SAGA_STATES && to < SAGA_STATES && (states[from].next & BIT(to)) != 0;
}

bool saga_state_is_final(enum saga_state state)
{
    return state == SAGA_COMPLETED || state == SAGA_COMPENSATED || state == SAGA_NEEDS_ATTENTION;
}

bool saga_state_charges(enum saga_state state)
{
    return state == SAGA_STARTED || state == SAGA_RESERVED || state == SAGA_PAYING ||
           state == SAGA_NEEDS_ATTENTION;
}

const char *saga_broken_rule(enum saga_state state, enum saga_charge charge)
{
    if (state >= SAGA_STATES) {
        return "the state is unknown";
    }
    if (charge >= SAGA_CHARGES) {
        return "what is said of the charge is unknown";
    }
    return (states[state].charges & BIT(charge)) != 0 ? NULL
                                                      : "the charge does not go with the state";
}
