/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast demo: 20,000 buyers rush 500 seats from several threads. Some pay, some cancel, some let
 * their hold lapse; what comes back is taken by those still trying. In the end the figures of the
 * buyers, the figures of the zone and the audit must agree. With --serve a server of its own is
 * rushed instead (demo_serve.c). */
#include "cli/cli.h"
#include "cli/demo.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"

#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SEATS 500
#define BUYERS 20000
#define THREADS 4
#define MAX_PER_USER 2
#define HOLD_MS 400      /* how long a hold lasts */
#define AGAIN_MS 100     /* how often the unlucky try again */
#define GIVE_UP_MS 20000 /* no buyer stays longer */

enum buyer_state { BUYER_TRYING, BUYER_HOLDING, BUYER_WAITING_LAPSE, BUYER_GONE };
enum buyer_plan { BUYER_PAYS, BUYER_CANCELS, BUYER_LAPSES };

struct buyer {
    enum buyer_state state;
    enum buyer_plan plan;
    int64_t next_ms; /* when it acts next */
    int64_t quantity, paid;
};

struct demo_sale {
    hf_handle *handle;
    uint64_t start;
    struct buyer buyers[BUYERS];
    _Atomic int64_t attempts, refused, granted, paid, cancelled, lapsed, errors;
    _Atomic int64_t seats_paid; /* as the buyers count them */
    atomic_int running;
};

struct crowd {
    struct demo_sale *sale;
    pthread_t thread;
    size_t from, to;
    struct random random;
};

static int64_t now_ms(const struct demo_sale *sale)
{
    return (int64_t)((clock_nanoseconds() - sale->start) / 1000000);
}

static int64_t roll(struct crowd *crowd, int64_t sides)
{
    uint32_t number;

    random_bytes(&crowd->random, &number, sizeof number);
    return (int64_t)(number % (uint64_t)sides);
}

static bool sold_out(const struct demo_sale *sale)
{
    return atomic_load(&sale->seats_paid) >= SEATS;
}

static void try_to_buy(struct crowd *crowd, size_t i)
{
    struct demo_sale *sale = crowd->sale;
    struct buyer *buyer = &sale->buyers[i];
    char booking[32], user[32];
    struct hf_seats_reserve_args args = {.event = HF_TEXT("gala"),
                                         .zone = HF_TEXT("floor"),
                                         .booking = demo_name(booking, "booking", i),
                                         .user = demo_name(user, "buyer", i),
                                         .quantity = buyer->quantity,
                                         .max_per_user = MAX_PER_USER,
                                         .ttl_ms = HOLD_MS};
    enum hf_error code = hf_seats_reserve(sale->handle, &args, NULL);

    atomic_fetch_add(&sale->attempts, 1);
    if (code == HF_OK) {
        atomic_fetch_add(&sale->granted, 1);
        buyer->state = buyer->plan == BUYER_LAPSES ? BUYER_WAITING_LAPSE : BUYER_HOLDING;
        buyer->next_ms =
            now_ms(sale) + (buyer->plan == BUYER_LAPSES ? HOLD_MS + 50 : 50 + roll(crowd, 200));
    } else if (code == HF_INSUFFICIENT_STOCK) {
        atomic_fetch_add(&sale->refused, 1);
        buyer->next_ms = now_ms(sale) + AGAIN_MS + roll(crowd, AGAIN_MS);
        buyer->quantity = 1; /* glad to get one */
    } else {
        atomic_fetch_add(&sale->errors, 1);
        buyer->state = BUYER_GONE;
    }
}

static void pay_or_cancel(struct crowd *crowd, size_t i)
{
    struct demo_sale *sale = crowd->sale;
    struct buyer *buyer = &sale->buyers[i];
    char booking[32], user[32];
    struct hf_bytes id = demo_name(booking, "booking", i), owner = demo_name(user, "buyer", i);
    struct hf_seats_confirm_args confirm = {.event = HF_TEXT("gala"), .booking = id, .user = owner};
    struct hf_seats_release_args release = {.event = HF_TEXT("gala"), .booking = id, .user = owner};
    bool pays = buyer->plan == BUYER_PAYS;
    enum hf_error code = pays ? hf_seats_confirm(sale->handle, &confirm, NULL)
                              : hf_seats_release(sale->handle, &release, NULL);

    buyer->state = BUYER_GONE;
    if (code == HF_RESERVATION_NOT_FOUND) {
        atomic_fetch_add(&sale->lapsed, 1); /* too late: this machine was busy */
    } else if (code != HF_OK) {
        atomic_fetch_add(&sale->errors, 1);
    } else if (pays) {
        buyer->paid = buyer->quantity;
        atomic_fetch_add(&sale->paid, 1);
        atomic_fetch_add(&sale->seats_paid, buyer->quantity);
    } else {
        atomic_fetch_add(&sale->cancelled, 1);
    }
}

/* Lets a buyer act if it is time to; returns whether it is still there. */
static bool act(struct crowd *crowd, size_t i)
{
    struct demo_sale *sale = crowd->sale;
    struct buyer *buyer = &sale->buyers[i];

    if (buyer->state == BUYER_GONE || now_ms(sale) < buyer->next_ms) {
        return buyer->state != BUYER_GONE;
    }
    if (buyer->state == BUYER_HOLDING) {
        pay_or_cancel(crowd, i);
    } else if (buyer->state == BUYER_WAITING_LAPSE) {
        atomic_fetch_add(&sale->lapsed, 1);
        buyer->state = BUYER_GONE;
    } else if (sold_out(sale) || now_ms(sale) > GIVE_UP_MS) {
        buyer->state = BUYER_GONE;
    } else {
        try_to_buy(crowd, i);
    }
    return buyer->state != BUYER_GONE;
}

static void *rush(void *context)
{
    struct crowd *crowd = context;
    bool anybody = true;

    while (anybody) {
        struct timespec breath = {.tv_nsec = 1000000};
        anybody = false;
        for (size_t i = crowd->from; i < crowd->to; i++) {
            anybody |= act(crowd, i);
        }
        nanosleep(&breath, NULL);
    }
    atomic_fetch_sub(&crowd->sale->running, 1);
    return NULL;
}

/* ---- what is seen ---------------------------------------------------------------------------- */

static void zone_now(const struct demo_sale *sale, struct hf_seats_zone_reply *zone)
{
    struct hf_seats_zone_args args = {.event = HF_TEXT("gala"), .zone = HF_TEXT("floor")};
    hf_seats_zone(sale->handle, &args, zone);
}

static void show(const struct demo_sale *sale)
{
    static const char sold[] = "##################################################";
    static const char held[] = "++++++++++++++++++++++++++++++++++++++++++++++++++";
    static const char open[] = "..................................................";
    const int width = (int)sizeof sold - 1;
    struct hf_seats_zone_reply zone;

    zone_now(sale, &zone);
    int a = (int)(zone.confirmed * width / SEATS);
    int b = (int)((zone.confirmed + zone.reserved) * width / SEATS) - a;
    cli_live("  [%.*s%.*s%.*s] %3lld sold %3lld held   %lld attempts", a, sold, b, held,
             width - a - b, open, (long long)zone.confirmed, (long long)zone.reserved,
             (long long)atomic_load(&sale->attempts));
}

void demo_print_finding(void *context, const char *finding)
{
    (void)context;
    printf("    %s\n", finding);
}

/* The proof: the buyers' count, the zone's and the audit's agree. */
static bool prove(const struct demo_sale *sale)
{
    struct hf_seats_zone_reply zone;
    uint64_t findings = 1;
    int64_t with_seats = 0, seats = 0;

    for (size_t i = 0; i < BUYERS; i++) {
        with_seats += sale->buyers[i].paid > 0;
        seats += sale->buyers[i].paid;
    }
    zone_now(sale, &zone);
    printf("\n  Proof\n");
    printf("    capacity %lld = available %lld + reserved %lld + confirmed %lld\n",
           (long long)zone.capacity, (long long)zone.available, (long long)zone.reserved,
           (long long)zone.confirmed);
    printf("    the buyers themselves count %lld seats in %lld hands\n", (long long)seats,
           (long long)with_seats);
    hf_audit(sale->handle, demo_print_finding, NULL, &findings);
    printf("    audit: %llu findings\n", (unsigned long long)findings);
    return findings == 0 && zone.confirmed == seats && zone.confirmed <= SEATS &&
           zone.capacity == SEATS && atomic_load(&sale->errors) == 0 &&
           zone.capacity == zone.available + zone.reserved + zone.confirmed;
}

static void print_outcome(const struct demo_sale *sale, double seconds)
{
    char rate[16];

    cli_count(rate, (double)atomic_load(&sale->attempts) / seconds);
    printf("  %lld attempts in %.1f s (%s/s with everybody thinking in between)\n",
           (long long)atomic_load(&sale->attempts), seconds, rate);
    printf("    granted   %6lld\n", (long long)atomic_load(&sale->granted));
    printf("    refused   %6lld  not enough seats left\n", (long long)atomic_load(&sale->refused));
    printf("    paid      %6lld\n", (long long)atomic_load(&sale->paid));
    printf("    cancelled %6lld\n", (long long)atomic_load(&sale->cancelled));
    printf("    lapsed    %6lld  the deadline gave the seats back\n",
           (long long)atomic_load(&sale->lapsed));
}

static bool start_crowds(struct demo_sale *sale, struct crowd crowds[THREADS])
{
    for (size_t t = 0; t < THREADS; t++) {
        struct crowd *crowd = &crowds[t];
        *crowd = (struct crowd){
            .sale = sale, .from = t * BUYERS / THREADS, .to = (t + 1) * BUYERS / THREADS};
        random_init(&crowd->random);
        for (size_t i = crowd->from; i < crowd->to; i++) {
            int64_t mood = roll(crowd, 100);
            sale->buyers[i].plan = mood < 60   ? BUYER_PAYS
                                   : mood < 80 ? BUYER_CANCELS
                                               : BUYER_LAPSES;
            sale->buyers[i].quantity = 1 + roll(crowd, MAX_PER_USER);
            sale->buyers[i].next_ms = roll(crowd, 300);
        }
        if (!thread_start(&crowd->thread, rush, crowd)) {
            return false; /* the others end with the process */
        }
    }
    return true;
}

static int run_sale(struct demo_sale *sale)
{
    struct hf_seats_open_args open = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = SEATS};
    struct crowd crowds[THREADS];

    if (hf_open("embedded:", &sale->handle) != HF_OK ||
        hf_seats_open(sale->handle, &open, NULL) != HF_OK) {
        return cli_usage("%s", hf_last_message());
    }
    printf("%d buyers rush %d seats; a hold lasts %d ms\n", BUYERS, SEATS, HOLD_MS);
    fflush(stdout);
    atomic_store(&sale->running, THREADS);
    sale->start = clock_nanoseconds();
    if (!start_crowds(sale, crowds)) {
        return cli_usage("could not start %d threads", THREADS);
    }
    while (atomic_load(&sale->running) > 0) {
        struct timespec tick = {.tv_nsec = 50000000};
        show(sale);
        nanosleep(&tick, NULL);
    }
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(crowds[t].thread, NULL);
    }
    cli_live_end();
    print_outcome(sale, (double)(clock_nanoseconds() - sale->start) / 1e9);
    bool proven = prove(sale);
    printf(proven ? "  Nothing oversold, nothing lost.\n" : "  SOMETHING IS WRONG.\n");
    hf_close(sale->handle);
    return proven ? EXIT_DONE : EXIT_REFUSED;
}

static int rush_process(void)
{
    struct demo_sale *sale = calloc(1, sizeof *sale);
    if (sale == NULL) {
        return cli_usage("out of memory");
    }
    int code = run_sale(sale);
    free(sale);
    return code;
}

int cli_demo(int argc, char **argv)
{
    static const struct option options[] = {
        {"serve", no_argument, NULL, 's'},
        {"resp-port", required_argument, NULL, 'r'},
        {"http-port", required_argument, NULL, 'p'},
        {"stay", no_argument, NULL, 'y'},
        {NULL, 0, NULL, 0},
    };
    struct demo_serve_options serve = {.resp_port = "4653", .http_port = "4654"};
    bool serves = false, given = false;
    int64_t port;

    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        serves |= option == 's';
        serve.stay |= option == 'y';
        given |= option != 's';
        if (option == '?') {
            return cli_bad_option("demo", argv, options);
        }
        if (option == 'r' || option == 'p') {
            if (!cli_number(option == 'r' ? "--resp-port" : "--http-port", optarg, 0, 65535,
                            &port)) {
                return EXIT_USAGE;
            }
            *(option == 'r' ? &serve.resp_port : &serve.http_port) = optarg;
        }
    }
    if (optind < argc) {
        return cli_usage("demo takes no arguments; what is '%s'?", argv[optind]);
    }
    if (given && !serves) {
        return cli_usage("--resp-port, --http-port and --stay are for demo --serve");
    }
    return serves ? demo_serve(&serve) : rush_process();
}
