/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of a checkout, and which may follow on which: one table, in saga_states.c. */
#ifndef SERVICE_SAGA_STATES_H
#define SERVICE_SAGA_STATES_H

#include "ledger/saga.h"

enum saga_state {
    SAGA_STARTED,
    SAGA_RESERVED,
    SAGA_PAYING,
    SAGA_PAID,
    SAGA_COMPLETED,
    SAGA_COMPENSATING,
    SAGA_COMPENSATED,
    SAGA_NEEDS_ATTENTION,
    SAGA_STATES
};

/* What is known of the charge. */
enum saga_charge {
    SAGA_CHARGE_NONE,      /* never sent */
    SAGA_CHARGE_SENT,      /* may have been charged */
    SAGA_CHARGE_SUCCEEDED, /* was charged */
    SAGA_CHARGE_DECLINED,  /* was not, and will not be */
    SAGA_CHARGE_REFUNDED,  /* was given back, or was never there */
    SAGA_CHARGES
};

const char *saga_state_name(enum saga_state state);
const char *saga_charge_name(enum saga_charge charge);
/* SAGA_STATES and SAGA_CHARGES for a text that is none. */
enum saga_state saga_state_read(const char *text);
enum saga_charge saga_charge_read(const char *text);

/* May `to` follow on `from`? A state may follow on itself while it lasts: that notes an attempt and
 * renews the lease. */
bool saga_may_move(enum saga_state from, enum saga_state to);
/* Is there nothing more to drive, unless an administrator says so? */
bool saga_state_is_final(enum saga_state state);

/* May the charge still have to be sent, now or once an administrator resumes it? */
bool saga_state_charges(enum saga_state state);

/* What must be true of a saga in its state. NULL, or the rule that is broken: a row that somebody
 * else has changed is no reason to stop the server. */
const char *saga_broken_rule(enum saga_state state, enum saga_charge charge);

#endif
