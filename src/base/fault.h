/* SPDX-License-Identifier: Apache-2.0
 *
 * Points at which a test kills the process: between every two steps that change something for
 * good. They are compiled into holdfast-faults only, a program of the tests; elsewhere
 * FAULT_POINT() is nothing at all.
 *
 *     HOLDFAST_FAULT=purchase_taken:3 holdfast-faults serve …
 *
 * dies by SIGKILL when it passes that point for the third time. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

/* X(name): every point there is, in the order in which an operation passes them. */
#define FAULT_POINTS(X)                                                                            \
    X(purchase_taken)                                                                              \
    X(purchase_sold)                                                                               \
    X(purchase_settled)                                                                            \
    X(purchase_answered)                                                                           \
    X(purchase_told)                                                                               \
    X(purchase_refused)                                                                            \
    X(purchase_given)                                                                              \
    X(purchase_direct_sold)                                                                        \
    X(return_ended)                                                                                \
    X(return_adjusted)                                                                             \
    X(return_told)                                                                                 \
    X(load_leased)                                                                                 \
    X(load_changed)                                                                                \
    X(load_written)                                                                                \
    X(look_leased)                                                                                 \
    X(look_opened)                                                                                 \
    X(look_adopted)                                                                                \
    X(look_adjusted)                                                                               \
    X(look_written)                                                                                \
    X(stale_settled)                                                                               \
    X(stale_buried)                                                                                \
    X(confirm_sold)                                                                                \
    X(confirm_confirmed)                                                                           \
    X(confirm_told)                                                                                \
    X(refund_ended)                                                                                \
    X(refund_refunded)                                                                             \
    X(saga_started)                                                                                \
    X(saga_seats_held)                                                                             \
    X(saga_reserved)                                                                               \
    X(saga_paying)                                                                                 \
    X(saga_charged)                                                                                \
    X(saga_paid)                                                                                   \
    X(saga_confirmed)                                                                              \
    X(saga_completed)                                                                              \
    X(saga_compensating)                                                                           \
    X(saga_released)                                                                               \
    X(saga_refunded)                                                                               \
    X(saga_compensated)                                                                            \
    X(saga_needs_attention)

#ifdef HOLDFAST_FAULT_POINTS
enum fault_point {
#define X(name) FAULT_##name,
    FAULT_POINTS(X)
#undef X
        FAULT_COUNT
};
void fault_pass(enum fault_point point);
#define FAULT_POINT(name) fault_pass(FAULT_##name)
#else
#define FAULT_POINT(name) ((void)0)
#endif

#endif
