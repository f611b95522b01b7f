/* SPDX-License-Identifier: Apache-2.0
 *
 * The play that `holdfast demo --serve` puts on: a rush on a server, to be watched on its page.
 *
 *     s  0   a waiting room fills; whoever is admitted checks out, lets a hold lapse, or cancels
 *        2   a flash sale begins, and sells out
 *        4   the payment peer stops answering: the breaker opens, later it closes
 *        9   kill -9; the server comes back, and everybody goes on with the ids they had
 *
 * In the end what the customers were told, the seats, the stock, the ledger and the audit must
 * agree. */
#include "cli/cli.h"
#include "cli/demo.h"
#include "cli/demo_rush.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROOM_RATE 100 /* a second */
#define ROOM_INSIDE 200

/* ---- what happens, and what is seen ---------------------------------------------------------- */

static void tell(const struct demo_rush *rush, const char *what)
{
    cli_live_end();
    printf("  %4.1f s  %s\n", (double)demo_now_ms(rush) / 1000, what);
    fflush(stdout);
}

static void show(const struct demo_rush *rush)
{
    struct hf_room_stats_args room = {.event = DEMO_EVENT};
    struct hf_seats_zone_args zone = {.event = DEMO_EVENT, .zone = DEMO_ZONE};
    struct hf_room_stats_reply line = {0};
    struct hf_seats_zone_reply seats = {0};

    if (cli_is_live() && hf_room_stats(rush->handle, &room, &line) == HF_OK &&
        hf_seats_zone(rush->handle, &zone, &seats) == HF_OK) {
        cli_live("  %4lld in line %3lld inside   %3lld seats sold %3lld held   %3lld pieces sold",
                 (long long)line.waiting, (long long)line.inside, (long long)seats.confirmed,
                 (long long)seats.reserved, (long long)atomic_load(&rush->bought));
    }
}

static bool begin_sale(struct demo_rush *rush)
{
    tell(rush, "a flash sale begins");
    return true;
}

static bool silence_peer(struct demo_rush *rush)
{
    atomic_store(&rush->peer_fails, true);
    tell(rush, "the payment peer stops answering");
    return true;
}

static bool restore_peer(struct demo_rush *rush)
{
    atomic_store(&rush->peer_fails, false);
    tell(rush, "it answers new customers again");
    return true;
}

static bool crash(struct demo_rush *rush)
{
    own_server_kill(&rush->server);
    tell(rush, "kill -9: the server is gone");
    bool back = own_server_start(&rush->server);
    tell(rush, back ? "it is back, with all that it had acknowledged" : "IT DOES NOT COME BACK");
    return back;
}

static const struct {
    int64_t at_ms;
    bool (*happen)(struct demo_rush *rush); /* false: the play cannot go on */
} acts[] = {
    {DEMO_SALE_BEGINS_MS, begin_sale}, {4000, silence_peer}, {5500, restore_peer}, {9000, crash}};

#define ACTS (sizeof acts / sizeof acts[0])

/* Act after act, until the last customer has gone. */
static bool play(struct demo_rush *rush)
{
    bool told_breaker = false;
    size_t next = 0;

    tell(rush, "the doors open: a waiting room fills");
    while (atomic_load(&rush->running) > 0) {
        struct timespec tick = {.tv_nsec = 50000000};

        if (next < ACTS && demo_now_ms(rush) >= acts[next].at_ms && !acts[next++].happen(rush)) {
            return false;
        }
        if (!told_breaker && atomic_load(&rush->held_off) > 0) {
            told_breaker = true;
            tell(rush, "the breaker is open: no checkout is begun for the time being");
        }
        show(rush);
        nanosleep(&tick, NULL);
    }
    tell(rush, "the last customer has gone");
    return true;
}

/* ---- the proof ------------------------------------------------------------------------------- */

static void print_outcome(const struct demo_rush *rush)
{
    const struct {
        const char *what;
        const _Atomic int64_t *count;
        const char *meaning;
    } lines[] = {
        {"paid", &rush->paid, "checkouts"},
        {"declined", &rush->declined, "payments; the seats were free again"},
        {"cancelled", &rush->cancelled, "holds"},
        {"lapsed", &rush->lapsed, "holds; the deadline gave the seats back"},
        {"no seats", &rush->no_seats, "were left for these"},
        {"bought", &rush->bought, "pieces of the flash sale"},
        {"sold out", &rush->sold_out, "was what these heard"},
        {"held off", &rush->held_off, "checkouts while the breaker was open; they came back"},
        {"repeated", &rush->repeated, "steps while the server was away, with the same ids"},
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        printf("    %-9s %6lld  %s\n", lines[i].what, (long long)atomic_load(lines[i].count),
               lines[i].meaning);
    }
}

static bool prove(struct demo_rush *rush)
{
    struct hf_seats_zone_args zone_args = {.event = DEMO_EVENT, .zone = DEMO_ZONE};
    struct hf_stock_get_args stock_args = {.product = DEMO_PRODUCT};
    struct hf_seats_zone_reply zone = {0};
    struct hf_stock_get_reply stock = {0};
    struct hf_reconcile_reply compared = {0};
    int64_t seats = 0, pieces = 0;
    uint64_t findings = 0;

    for (size_t i = 0; i < DEMO_CUSTOMERS; i++) {
        seats += rush->customers[i].seats;
        pieces += rush->customers[i].pieces;
    }
    bool answered = hf_seats_zone(rush->handle, &zone_args, &zone) == HF_OK &&
                    hf_stock_get(rush->handle, &stock_args, &stock) == HF_OK &&
                    hf_audit(rush->handle, demo_print_finding, NULL, &findings) == HF_OK &&
                    cli_reconcile_all(rush->handle, true, &compared) == HF_OK;
    cli_live_end();
    printf("\n  Proof\n");
    printf(
        "    %d seats = available %lld + reserved %lld + confirmed %lld; the customers have %lld\n",
        DEMO_SEATS, (long long)zone.available, (long long)zone.reserved, (long long)zone.confirmed,
        (long long)seats);
    printf("    %d pieces = available %lld + sold %lld; the customers have %lld\n", DEMO_PIECES,
           (long long)stock.available, (long long)stock.sold, (long long)pieces);
    printf("    audit: %llu findings; engine and ledger differ by %lld\n",
           (unsigned long long)findings, (long long)compared.drift);
    return answered && findings == 0 && compared.drift == 0 && atomic_load(&rush->wrong) == 0 &&
           zone.confirmed == seats &&
           zone.available + zone.reserved + zone.confirmed == DEMO_SEATS && stock.sold == pieces &&
           stock.available + stock.taken + stock.sold == DEMO_PIECES;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool open_doors(struct demo_rush *rush)
{
    char url[64];
    struct hf_seats_open_args zone = {
        .event = DEMO_EVENT, .zone = DEMO_ZONE, .capacity = DEMO_SEATS};
    struct hf_stock_load_args stock = {.product = DEMO_PRODUCT, .quantity = DEMO_PIECES};
    struct hf_room_open_args room = {.event = DEMO_EVENT,
                                     .rate = ROOM_RATE,
                                     .inside = ROOM_INSIDE,
                                     .pass_ms = 120000,
                                     .gate = true};

    snprintf(url, sizeof url, "holdfast://127.0.0.1:%s", rush->server.resp_port);
    return hf_open(url, &rush->handle) == HF_OK &&
           hf_seats_open(rush->handle, &zone, NULL) == HF_OK &&
           hf_stock_load(rush->handle, &stock, NULL) == HF_OK &&
           hf_room_open(rush->handle, &room, NULL) == HF_OK;
}

static int run_rush(struct demo_rush *rush)
{
    if (!own_server_start(&rush->server)) {
        return cli_usage("the server does not start");
    }
    printf("The page: http://127.0.0.1:%s/\n", rush->server.http_port);
    fflush(stdout);
    if (!open_doors(rush)) {
        return cli_usage("%s", hf_last_message());
    }
    printf("%d visitors want %d seats, and %d shoppers %d pieces\n", DEMO_VISITORS, DEMO_SEATS,
           DEMO_SHOPPERS, DEMO_PIECES);
    rush->start = clock_nanoseconds();
    if (!demo_customers_start(rush)) {
        return cli_usage("could not start %d threads", DEMO_THREADS);
    }
    if (!play(rush)) {
        return EXIT_REFUSED;
    }
    demo_customers_join(rush);
    print_outcome(rush);
    bool proven = prove(rush);
    printf(proven ? "  Nothing oversold, nothing lost, nobody charged for nothing.\n"
                  : "  SOMETHING IS WRONG.\n");
    fflush(stdout);
    return proven ? EXIT_DONE : EXIT_REFUSED;
}

/* Until Ctrl-C, which the server gets, too, and obeys. */
static void stay(const struct demo_rush *rush)
{
    sigset_t ends;
    int number;

    printf("The server stays until Ctrl-C: http://127.0.0.1:%s/\n", rush->server.http_port);
    fflush(stdout);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    sigwait(&ends, &number);
}

int demo_serve(const struct demo_serve_options *options)
{
    struct demo_rush *rush = calloc(1, sizeof *rush);

    if (rush == NULL || !own_server_make(&rush->server)) {
        free(rush);
        return cli_usage("no directory for the server: %s", strerror(errno));
    }
    snprintf(rush->server.resp_port, sizeof rush->server.resp_port, "%s", options->resp_port);
    snprintf(rush->server.http_port, sizeof rush->server.http_port, "%s", options->http_port);
    rush->server.flags[0] = "--ledger";
    rush->server.flags[1] = "sqlite:ledger.db";
    rush->server.flags[2] = "--payment-url";
    rush->server.flags[3] = "test:";
    rush->server.flags[4] = "--breaker-open-for";
    rush->server.flags[5] = "1s";
    rush->server.flags[6] = "--breaker-window";
    rush->server.flags[7] = "2s";
    int code = run_rush(rush);
    if (options->stay && rush->server.pid > 0) {
        stay(rush);
    }
    hf_close(rush->handle);
    own_server_end(&rush->server);
    free(rush);
    return code;
}
