/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast bench [--engine URL] [--seconds N] [--threads N] [--load WHAT]
 *
 * Loads:
 *   reserve   every call a new booking in one hot zone that is never full: all granted
 *   refuse    the zone is full: all refused
 *   cycle     reserve, then confirm or release what was reserved */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"

#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define IDS 4096 /* made in advance, so that making them is not measured */

enum load { LOAD_RESERVE, LOAD_REFUSE, LOAD_CYCLE };

struct bench {
    hf_handle *handle;
    enum load load;
    int64_t seconds, threads;
    atomic_bool stop;
    _Atomic uint64_t done; /* for the live line */
};

struct worker {
    struct bench *bench;
    pthread_t thread;
    char bookings[IDS][UUID_TEXT], users[IDS][UUID_TEXT];
    uint64_t rounds; /* through the ids; makes each booking new */
    uint64_t calls, refused, errors;
    struct histogram latencies;
};

static struct hf_bytes uuid_bytes(const char text[UUID_TEXT])
{
    return (struct hf_bytes){text, UUID_TEXT};
}

static void make_ids(struct worker *worker)
{
    struct random random;
    uint8_t bytes[UUID_BYTES];

    random_init(&random);
    for (size_t i = 0; i < IDS; i++) {
        random_bytes(&random, bytes, sizeof bytes);
        uuid_from_random(bytes);
        uuid_write(bytes, worker->bookings[i]);
        random_bytes(&random, bytes, sizeof bytes);
        uuid_from_random(bytes);
        uuid_write(bytes, worker->users[i]);
    }
}

/* The ids come round again: the first digits, of time_low, count the rounds. */
static void renew_ids(struct worker *worker)
{
    static const char digits[] = "0123456789abcdef";

    worker->rounds++;
    for (size_t i = 0; i < IDS; i++) {
        for (size_t d = 0; d < 6; d++) {
            worker->bookings[i][d] = digits[worker->rounds >> (4 * d) & 15];
        }
    }
}

static enum hf_error reserve(struct worker *worker, size_t i)
{
    struct hf_seats_reserve_args args = {.event = HF_TEXT("bench"),
                                         .zone = HF_TEXT("zone"),
                                         .booking = uuid_bytes(worker->bookings[i]),
                                         .user = uuid_bytes(worker->users[i]),
                                         .quantity = 1,
                                         .max_per_user = HF_INTEGER_MAX,
                                         .ttl_ms = 60000};
    return hf_seats_reserve(worker->bench->handle, &args, NULL);
}

static enum hf_error finish(struct worker *worker, size_t i)
{
    struct hf_bytes id = uuid_bytes(worker->bookings[i]);
    struct hf_seats_confirm_args confirm = {.event = HF_TEXT("bench"), .booking = id};
    struct hf_seats_release_args release = {.event = HF_TEXT("bench"), .booking = id};

    return i % 2 == 0 ? hf_seats_confirm(worker->bench->handle, &confirm, NULL)
                      : hf_seats_release(worker->bench->handle, &release, NULL);
}

static void count(struct worker *worker, enum hf_error code)
{
    worker->calls++;
    worker->refused += code == HF_INSUFFICIENT_STOCK;
    worker->errors += code != HF_OK && code != HF_INSUFFICIENT_STOCK;
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct bench *bench = worker->bench;
    uint64_t last = clock_nanoseconds();

    while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        uint64_t before = worker->calls;
        for (size_t i = 0; i < IDS; i++) {
            count(worker, reserve(worker, i));
            if (bench->load == LOAD_CYCLE) {
                count(worker, finish(worker, i));
            }
            uint64_t now = clock_nanoseconds();
            histogram_add(&worker->latencies, now - last);
            last = now;
        }
        atomic_fetch_add_explicit(&bench->done, worker->calls - before, memory_order_relaxed);
        renew_ids(worker);
        last = clock_nanoseconds();
    }
    return NULL;
}

/* Shows how it goes until the time is over; returns how long it took, in seconds. */
static double watch(struct bench *bench)
{
    uint64_t start = clock_nanoseconds(), shown = 0;
    double elapsed = 0;

    while (elapsed < (double)bench->seconds) {
        struct timespec tick = {.tv_nsec = 200000000};
        char total[16], rate[16];
        nanosleep(&tick, NULL);
        uint64_t done = atomic_load(&bench->done);
        double now = (double)(clock_nanoseconds() - start) / 1e9;
        cli_count(total, (double)done);
        cli_count(rate, (double)(done - shown) / (now - elapsed));
        cli_live("  %4.1f s  %s calls  %s/s", now, total, rate);
        shown = done;
        elapsed = now;
    }
    atomic_store(&bench->stop, true);
    cli_live_end();
    return elapsed;
}

static int report(struct bench *bench, struct worker *workers, double seconds)
{
    struct histogram *all = calloc(1, sizeof *all);
    uint64_t calls = 0, refused = 0, errors = 0;
    struct hf_info info;
    char rate[16];

    if (all == NULL) {
        return cli_usage("out of memory");
    }
    for (int64_t i = 0; i < bench->threads; i++) {
        calls += workers[i].calls;
        refused += workers[i].refused;
        errors += workers[i].errors;
        histogram_merge(all, &workers[i].latencies);
    }
    hf_info(bench->handle, &info);
    cli_count(rate, (double)calls / seconds);
    printf("  calls     %llu in %.1f s by %lld thread%s: %s/s\n", (unsigned long long)calls,
           seconds, (long long)bench->threads, bench->threads == 1 ? "" : "s", rate);
    printf("  outcome   %llu granted, %llu refused, %llu errors\n",
           (unsigned long long)(calls - refused - errors), (unsigned long long)refused,
           (unsigned long long)errors);
    printf("  state     %llu live holds, %.1f MB\n", (unsigned long long)info.holds,
           (double)info.memory_bytes / 1e6);
    cli_print_latencies(all);
    free(all);
    if (errors > 0) {
        return cli_usage("%llu calls failed", (unsigned long long)errors);
    }
    return EXIT_DONE;
}

static int run(struct bench *bench, const char *url, const char *load_name)
{
    struct hf_seats_open_args open = {.event = HF_TEXT("bench"), .zone = HF_TEXT("zone")};
    struct worker *workers = calloc((size_t)bench->threads, sizeof *workers);

    if (workers == NULL || hf_open(url, &bench->handle) != HF_OK) {
        int code = cli_usage("%s", workers ? hf_last_message() : "out of memory");
        free(workers);
        return code;
    }
    open.capacity = bench->load == LOAD_REFUSE ? 0 : HF_INTEGER_MAX;
    hf_seats_open(bench->handle, &open, NULL);
    printf("%s on %s\n", load_name, url);
    int64_t started = 0;
    for (; started < bench->threads; started++) {
        workers[started].bench = bench;
        make_ids(&workers[started]);
        renew_ids(&workers[started]);
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) {
            break;
        }
    }
    double seconds = watch(bench);
    for (int64_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    int code = started == bench->threads
                   ? report(bench, workers, seconds)
                   : cli_usage("could not start %lld threads", (long long)bench->threads);
    hf_close(bench->handle);
    free(workers);
    return code;
}

int cli_bench(int argc, char **argv)
{
    static const struct option options[] = {{"engine", required_argument, NULL, 'e'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"load", required_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    static const char *const loads[] = {"reserve", "refuse", "cycle"};
    struct bench bench = {.seconds = 5, .threads = 1};
    const char *url = "embedded:", *load = loads[0];
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        bool understood = true;
        if (option == '?') {
            return cli_usage("bench: %s: unknown, or without its value", argv[optind - 1]);
        }
        if (option == 'e') {
            url = optarg;
        } else if (option == 's') {
            understood = cli_number("--seconds", optarg, 1, 3600, &bench.seconds);
        } else if (option == 't') {
            understood = cli_number("--threads", optarg, 1, 256, &bench.threads);
        } else if (option == 'l') {
            load = optarg;
        }
        if (!understood) {
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        return cli_usage("bench: what is '%s'?", argv[optind]);
    }
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        if (strcmp(load, loads[i]) == 0) {
            bench.load = (enum load)i;
            return run(&bench, url, load);
        }
    }
    return cli_usage("--load %s: must be reserve, refuse or cycle", load);
}
