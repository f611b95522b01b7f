/* SPDX-License-Identifier: Apache-2.0
 *
 * A flash sale in one process: 400 buyers on 8 threads rush 100 pairs of sneakers. The engine takes
 * the rush, the SQL database decides, and the order ids make every call safe to repeat: the program
 * asks for each order twice, and each is sold once.
 *
 *     cc flash_sale.c $(pkg-config --cflags --libs holdfast) -pthread -o flash_sale
 *     ./flash_sale sqlite:sale.db          or postgres://user:password@host/shop, mysql://… */
#include <holdfast.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 100
#define THREADS 8
#define BUYERS 50 /* of each thread */

static hf_handle *hf;
static char product[64]; /* a name of its own, so that the program can be run again */

struct shop {
    pthread_t thread;
    int number;
    int sold, sold_out, otherwise;
};

static void must(enum hf_error code, const char *what)
{
    if (code != HF_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, hf_error_name(code), hf_last_message());
        exit(1);
    }
}

static enum hf_error buy(const char *order, const char *user)
{
    struct hf_stock_buy_args args = {.product = hf_text(product),
                                     .order = hf_text(order),
                                     .user = hf_text(user),
                                     .quantity = 1,
                                     .max = 1, /* a customer */
                                     .unit_price = 12900};
    enum hf_error code;

    /* TIMEOUT: it may have been sold, and the same call again tells. BUSY: later. */
    for (int tries = 0; tries < 100; tries++) {
        code = hf_stock_buy(hf, &args, NULL);
        if (code != HF_TIMEOUT && code != HF_BUSY && code != HF_LOADING) {
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    }
    return code;
}

static void *rush(void *context)
{
    struct shop *shop = context;
    char order[96], user[32];

    for (int i = 0; i < 2 * BUYERS; i++) {
        int buyer = shop->number * BUYERS + i / 2;
        snprintf(order, sizeof order, "%s-%d", product, buyer);
        snprintf(user, sizeof user, "buyer-%d", buyer);
        enum hf_error code = buy(order, user);
        if (i % 2 == 1) {
            shop->sold += code == HF_OK;
            shop->sold_out += code == HF_SOLD_OUT;
            shop->otherwise += code != HF_OK && code != HF_SOLD_OUT;
        }
    }
    return NULL;
}

/* One comes back, and somebody else has it. */
static void swap_one(void)
{
    char order[96];
    struct hf_stock_return_args back = {.product = hf_text(product)};
    struct hf_stock_order_args which = {.product = hf_text(product)};
    struct hf_stock_order_reply found = {.status = ""};
    int buyer = -1;

    do {
        snprintf(order, sizeof order, "%s-%d", product, ++buyer);
        which.order = hf_text(order);
    } while (hf_stock_order(hf, &which, &found) != HF_OK && buyer < THREADS * BUYERS);
    printf("order of %s: %s\n", found.user_id, found.status);
    back.order = which.order;
    must(hf_stock_return(hf, &back, NULL), "return");
    must(hf_stock_return(hf, &back, NULL), "return, again");
    must(hf_stock_order(hf, &which, &found), "order");
    printf("order of %s: %s\n", found.user_id, found.status);
    snprintf(order, sizeof order, "%s-late", product);
    must(buy(order, "late"), "the pair that came back");
    snprintf(order, sizeof order, "%s-later", product);
    printf("the pair that came back is sold; whoever comes now: %s\n",
           hf_error_name(buy(order, "later")));
}

int main(int argc, char **argv)
{
    struct hf_open_options options = {.size = sizeof options,
                                      .engine = "embedded:",
                                      .ledger = argc > 1 ? argv[1] : "sqlite:flash-sale.db"};
    struct shop shops[THREADS] = {{.sold = 0}}, sum = {.sold = 0};
    struct hf_reconcile_args all = {.dry = true};
    struct hf_reconcile_reply compared;

    must(hf_open_with(&options, &hf), "open");
    snprintf(product, sizeof product, "sneaker-%lld-%ld", (long long)time(NULL), (long)getpid());
    struct hf_stock_load_args load = {.product = hf_text(product), .quantity = PAIRS};
    must(hf_stock_load(hf, &load, NULL), "load");

    for (int i = 0; i < THREADS; i++) {
        shops[i].number = i;
        if (pthread_create(&shops[i].thread, NULL, rush, &shops[i]) != 0) {
            return fprintf(stderr, "no more threads\n"), 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(shops[i].thread, NULL);
        sum.sold += shops[i].sold;
        sum.sold_out += shops[i].sold_out;
        sum.otherwise += shops[i].otherwise;
    }
    printf("%d sold, %d sold out, %d otherwise\n", sum.sold, sum.sold_out, sum.otherwise);
    swap_one();

    all.product = hf_text(product);
    must(hf_reconcile(hf, &all, &compared), "reconcile");
    printf("engine and ledger differ by %lld\n", (long long)compared.drift);
    hf_close(hf);
    return sum.sold == PAIRS && sum.otherwise == 0 && compared.drift == 0 ? 0 : 1;
}
