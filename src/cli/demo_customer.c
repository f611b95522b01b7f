/* SPDX-License-Identifier: Apache-2.0
 *
 * A customer of `holdfast demo --serve` is a state machine that repeats its step until it is
 * answered, always with the same ids: nothing is bought twice, whatever fails in between.
 *
 *     visitor   join ─> line ─> shop ─> pay ──> leave ─> gone
 *                                 └──> hold ──┘
 *     shopper   buy ─> gone */
#include "cli/cli.h"
#include "cli/demo.h"
#include "cli/demo_rush.h"

#include "base/clock.h"
#include "base/thread.h"

#include <string.h>
#include <time.h>

#define MAX_PER_USER 4
#define HOLD_MS 1500
#define GIVE_UP_MS 50000
#define PRICE_DECLINED 4513 /* test: does not take it */
#define PRICE_SILENT 4519   /* nor answer this one, at first */

int64_t demo_now_ms(const struct demo_rush *rush)
{
    return (int64_t)((clock_nanoseconds() - rush->start) / 1000000);
}

static int64_t roll(struct demo_crowd *crowd, int64_t sides)
{
    uint32_t number;

    random_bytes(&crowd->random, &number, sizeof number);
    return (int64_t)(number % (uint64_t)sides);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* An answer that says nothing of the step: the server is away, or has too much to do. */
static bool is_again(struct demo_rush *rush, enum hf_error code)
{
    bool again = code == HF_ENGINE_DOWN || code == HF_LOADING || code == HF_TIMEOUT ||
                 code == HF_BUSY || code == HF_LEDGER_DOWN || code == HF_IOERR;

    if (again) {
        atomic_fetch_add(&rush->repeated, 1);
    }
    return again;
}

static void go(struct demo_customer *customer, enum demo_step step, int64_t at_ms)
{
    customer->step = step;
    customer->next_ms = at_ms;
}

/* The customer goes, and this counts one more. */
static void leave(struct demo_rush *rush, struct demo_customer *customer, _Atomic int64_t *counter)
{
    atomic_fetch_add(counter, 1);
    go(customer, customer->step == DEMO_BUY ? DEMO_GONE : DEMO_LEAVE, demo_now_ms(rush));
}

/* ---- the steps of a visitor ------------------------------------------------------------------ */

static enum hf_error join(struct demo_crowd *crowd, struct demo_customer *customer,
                          struct hf_bytes user)
{
    struct hf_room_join_args args = {.event = DEMO_EVENT, .user = user};
    struct hf_room_join_reply reply;
    enum hf_error code = hf_room_join(crowd->rush->handle, &args, &reply);

    if (code == HF_OK) {
        memcpy(customer->token, reply.token, sizeof customer->token);
        go(customer, DEMO_LINE, demo_now_ms(crowd->rush) + roll(crowd, 500));
    } else if (code == HF_ALREADY_IN_QUEUE) {
        go(customer, DEMO_GONE, 0); /* its token was lost with the answer */
        code = HF_OK;
    }
    return code;
}

static enum hf_error stand(struct demo_crowd *crowd, struct demo_customer *customer,
                           struct hf_bytes user)
{
    struct hf_room_position_args args = {
        .event = DEMO_EVENT, .user = user, .token = hf_text(customer->token)};
    struct hf_room_position_reply reply;
    enum hf_error code = hf_room_position(crowd->rush->handle, &args, &reply);

    if (code == HF_OK && reply.pass[0] != '\0') {
        memcpy(customer->pass, reply.pass, sizeof customer->pass);
        go(customer, DEMO_SHOP, demo_now_ms(crowd->rush) + roll(crowd, 300));
    } else if (code == HF_OK) {
        customer->next_ms = demo_now_ms(crowd->rush) + 300 + roll(crowd, 300);
    }
    return code;
}

/* Seats and payment in one. */
static enum hf_error check_out(struct demo_crowd *crowd, struct demo_customer *customer, size_t i,
                               struct hf_bytes user)
{
    struct demo_rush *rush = crowd->rush;
    char booking[32], saga[32];
    struct hf_seats_checkout_args args = {.event = DEMO_EVENT,
                                          .zone = DEMO_ZONE,
                                          .user = user,
                                          .quantity = customer->quantity,
                                          .max_per_user = MAX_PER_USER,
                                          .booking = demo_name(booking, "booking", i),
                                          .saga = demo_name(saga, "saga", i),
                                          .pass = hf_text(customer->pass)};

    if (customer->price == 0) { /* a repetition has to say the same */
        customer->price = customer->plan == DEMO_IS_DECLINED ? PRICE_DECLINED
                          : atomic_load(&rush->peer_fails)   ? PRICE_SILENT
                                                             : DEMO_PRICE;
    }
    args.unit_price = customer->price;
    struct hf_seats_checkout_reply reply;
    enum hf_error code = hf_seats_checkout(rush->handle, &args, &reply);
    if (code == HF_OK) {
        go(customer, DEMO_PAY, demo_now_ms(rush) + 100 + roll(crowd, 200));
    } else if (code == HF_BUSY) {
        atomic_fetch_add(&rush->held_off, 1);
        customer->price = 0; /* nothing was begun: the next one may be answered */
        customer->next_ms = demo_now_ms(rush) + 200 + roll(crowd, 200);
        code = HF_OK;
    }
    return code;
}

static enum hf_error reserve(struct demo_crowd *crowd, struct demo_customer *customer, size_t i,
                             struct hf_bytes user)
{
    char booking[32];
    struct hf_seats_reserve_args args = {.event = DEMO_EVENT,
                                         .zone = DEMO_ZONE,
                                         .booking = demo_name(booking, "booking", i),
                                         .user = user,
                                         .quantity = customer->quantity,
                                         .max_per_user = MAX_PER_USER,
                                         .ttl_ms = HOLD_MS,
                                         .pass = hf_text(customer->pass)};
    enum hf_error code = hf_seats_reserve(crowd->rush->handle, &args, NULL);

    if (code == HF_OK) {
        int64_t thinks_ms = customer->plan == DEMO_LAPSES ? HOLD_MS + 200 : HOLD_MS / 3;
        go(customer, DEMO_HOLD, demo_now_ms(crowd->rush) + thinks_ms);
    }
    return code;
}

static enum hf_error shop(struct demo_crowd *crowd, struct demo_customer *customer, size_t i,
                          struct hf_bytes user)
{
    bool pays = customer->plan == DEMO_PAYS || customer->plan == DEMO_IS_DECLINED;
    enum hf_error code =
        pays ? check_out(crowd, customer, i, user) : reserve(crowd, customer, i, user);

    if (code == HF_INSUFFICIENT_STOCK) {
        leave(crowd->rush, customer, &crowd->rush->no_seats);
        code = HF_OK;
    }
    return code;
}

/* How the checkout ended, if it has. */
static enum hf_error wait_paid(struct demo_crowd *crowd, struct demo_customer *customer, size_t i)
{
    struct demo_rush *rush = crowd->rush;
    char saga[32];
    struct hf_saga_get_args args = {.saga = demo_name(saga, "saga", i)};
    struct hf_saga_get_reply reply;
    enum hf_error code = hf_saga_get(rush->handle, &args, &reply);

    if (code != HF_OK) {
        return code;
    }
    if (strcmp(reply.status, "COMPLETED") == 0) {
        customer->seats = customer->quantity;
        leave(rush, customer, &rush->paid);
    } else if (strcmp(reply.status, "COMPENSATED") == 0) {
        bool declined = strcmp(reply.error_code, "PAYMENT_DECLINED") == 0;
        leave(rush, customer, declined ? &rush->declined : &rush->no_seats);
    } else {
        customer->next_ms = demo_now_ms(rush) + 200 + roll(crowd, 200);
    }
    return code;
}

static enum hf_error stop_holding(struct demo_rush *rush, struct demo_customer *customer, size_t i,
                                  struct hf_bytes user)
{
    char booking[32];
    struct hf_seats_release_args args = {
        .event = DEMO_EVENT, .booking = demo_name(booking, "booking", i), .user = user};
    enum hf_error code = HF_RESERVATION_NOT_FOUND; /* the deadline gave the seats back */

    if (customer->plan == DEMO_CANCELS) {
        code = hf_seats_release(rush->handle, &args, NULL);
    }
    if (code == HF_OK || code == HF_RESERVATION_NOT_FOUND) {
        leave(rush, customer, code == HF_OK ? &rush->cancelled : &rush->lapsed);
        code = HF_OK;
    }
    return code;
}

/* Makes room inside for the next in line. */
static enum hf_error go_out(struct demo_rush *rush, struct demo_customer *customer,
                            struct hf_bytes user)
{
    struct hf_room_done_args args = {.event = DEMO_EVENT, .user = user};
    enum hf_error code = hf_room_done(rush->handle, &args, NULL);

    if (code == HF_OK) {
        go(customer, DEMO_GONE, 0);
    }
    return code;
}

/* ---- the one step of the flash sale ---------------------------------------------------------- */

static enum hf_error buy(struct demo_rush *rush, struct demo_customer *customer, size_t i,
                         struct hf_bytes user)
{
    char order[32];
    struct hf_stock_buy_args args = {.product = DEMO_PRODUCT,
                                     .order = demo_name(order, "order", i),
                                     .user = user,
                                     .quantity = 1,
                                     .max = 1,
                                     .unit_price = DEMO_PRICE};
    enum hf_error code = hf_stock_buy(rush->handle, &args, NULL);

    if (code == HF_OK) {
        customer->pieces = 1;
        leave(rush, customer, &rush->bought);
    } else if (code == HF_SOLD_OUT) {
        leave(rush, customer, &rush->sold_out);
        code = HF_OK;
    }
    return code;
}

/* ---- the crowd ------------------------------------------------------------------------------- */

static enum hf_error take_step(struct demo_crowd *crowd, struct demo_customer *customer, size_t i)
{
    char name[32];
    struct hf_bytes user = demo_name(name, "customer", i);

    switch (customer->step) {
    case DEMO_JOIN:
        return join(crowd, customer, user);
    case DEMO_LINE:
        return stand(crowd, customer, user);
    case DEMO_SHOP:
        return shop(crowd, customer, i, user);
    case DEMO_PAY:
        return wait_paid(crowd, customer, i);
    case DEMO_HOLD:
        return stop_holding(crowd->rush, customer, i, user);
    case DEMO_LEAVE:
        return go_out(crowd->rush, customer, user);
    case DEMO_BUY:
        return buy(crowd->rush, customer, i, user);
    case DEMO_GONE:
        break;
    }
    return HF_OK;
}

/* Lets a customer act if it is time to; returns whether it is still there. */
static bool act(struct demo_crowd *crowd, size_t i)
{
    struct demo_rush *rush = crowd->rush;
    struct demo_customer *customer = &rush->customers[i];

    if (customer->step == DEMO_GONE || demo_now_ms(rush) < customer->next_ms) {
        return customer->step != DEMO_GONE;
    }
    enum hf_error code = take_step(crowd, customer, i);
    if (code != HF_OK && demo_now_ms(rush) < GIVE_UP_MS && is_again(rush, code)) {
        customer->next_ms = demo_now_ms(rush) + 200 + roll(crowd, 200);
    } else if (code != HF_OK) {
        fprintf(stderr, "holdfast: customer-%zu: %s\n", i, hf_last_message());
        atomic_fetch_add(&rush->wrong, 1);
        go(customer, DEMO_GONE, 0);
    }
    return customer->step != DEMO_GONE;
}

static void *run_crowd(void *context)
{
    struct demo_crowd *crowd = context;
    bool anybody = true;

    while (anybody) {
        struct timespec breath = {.tv_nsec = 2000000};
        anybody = false;
        for (size_t i = crowd->first; i < DEMO_CUSTOMERS; i += DEMO_THREADS) {
            anybody |= act(crowd, i);
        }
        nanosleep(&breath, NULL);
    }
    atomic_fetch_sub(&crowd->rush->running, 1);
    return NULL;
}

static void plan(struct demo_crowd *crowd, size_t i)
{
    struct demo_customer *customer = &crowd->rush->customers[i];
    int64_t mood = roll(crowd, 100);

    customer->plan = mood < 70   ? DEMO_PAYS
                     : mood < 78 ? DEMO_IS_DECLINED
                     : mood < 88 ? DEMO_CANCELS
                                 : DEMO_LAPSES;
    customer->quantity = 1 + roll(crowd, 2);
    if (i < DEMO_VISITORS) {
        go(customer, DEMO_JOIN, roll(crowd, 1500));
    } else {
        go(customer, DEMO_BUY, DEMO_SALE_BEGINS_MS + roll(crowd, 4000));
    }
}

bool demo_customers_start(struct demo_rush *rush)
{
    atomic_store(&rush->running, DEMO_THREADS);
    for (size_t t = 0; t < DEMO_THREADS; t++) {
        struct demo_crowd *crowd = &rush->crowds[t];
        *crowd = (struct demo_crowd){.rush = rush, .first = t};
        random_init(&crowd->random);
        for (size_t i = t; i < DEMO_CUSTOMERS; i += DEMO_THREADS) {
            plan(crowd, i);
        }
        if (!thread_start(&crowd->thread, run_crowd, crowd)) {
            return false; /* the others end with the process */
        }
    }
    return true;
}

void demo_customers_join(struct demo_rush *rush)
{
    for (size_t t = 0; t < DEMO_THREADS; t++) {
        pthread_join(rush->crowds[t].thread, NULL);
    }
}
