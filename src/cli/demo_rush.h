/* SPDX-License-Identifier: Apache-2.0
 *
 * The customers of `holdfast demo --serve`, and what they count. */
#ifndef CLI_DEMO_RUSH_H
#define CLI_DEMO_RUSH_H

#include "base/random.h"
#include "cli/own_server.h"
#include "holdfast.h"

#include <pthread.h>
#include <stdatomic.h>

#define DEMO_SEATS 500
#define DEMO_PIECES 300
#define DEMO_VISITORS 1200 /* in the waiting room */
#define DEMO_SHOPPERS 800  /* of the flash sale */
#define DEMO_CUSTOMERS (DEMO_VISITORS + DEMO_SHOPPERS)
#define DEMO_THREADS 8
#define DEMO_SALE_BEGINS_MS 2000
#define DEMO_PRICE 4500

#define DEMO_EVENT HF_TEXT("gala")
#define DEMO_ZONE HF_TEXT("floor")
#define DEMO_PRODUCT HF_TEXT("sneaker")

enum demo_step {
    DEMO_JOIN,
    DEMO_LINE,
    DEMO_SHOP,
    DEMO_PAY,
    DEMO_HOLD,
    DEMO_LEAVE,
    DEMO_BUY,
    DEMO_GONE
};
enum demo_plan { DEMO_PAYS, DEMO_IS_DECLINED, DEMO_CANCELS, DEMO_LAPSES };

struct demo_customer {
    enum demo_step step;
    enum demo_plan plan;
    int64_t next_ms; /* when it acts next */
    int64_t quantity, price, seats, pieces;
    char token[HF_TOKEN_SIZE], pass[HF_TOKEN_SIZE];
};

struct demo_crowd {
    struct demo_rush *rush;
    pthread_t thread;
    size_t first; /* and every DEMO_THREADS-th behind it */
    struct random random;
};

struct demo_rush {
    hf_handle *handle;
    struct own_server server;
    uint64_t start;
    struct demo_customer customers[DEMO_CUSTOMERS];
    struct demo_crowd crowds[DEMO_THREADS];
    atomic_bool peer_fails;
    atomic_int running; /* crowds of which somebody is left */
    _Atomic int64_t paid, declined, cancelled, lapsed, no_seats, bought, sold_out;
    _Atomic int64_t held_off; /* checkouts refused while the payment peer did not answer */
    _Atomic int64_t repeated; /* steps that had no answer and were taken again */
    _Atomic int64_t wrong;    /* answers that nobody expected */
};

/* Since the doors opened. */
int64_t demo_now_ms(const struct demo_rush *rush);

/* The customers make their plans and go. False if there are no threads for them. */
bool demo_customers_start(struct demo_rush *rush);

/* Waits until the last one has gone. */
void demo_customers_join(struct demo_rush *rush);

#endif
