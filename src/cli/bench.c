/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast bench [--engine URL] [--seconds N] [--threads N] [--load WHAT]
 * holdfast bench --url URL [--connections N] [--pipeline N] …
 *
 * With --engine every thread makes one call after the other through the library. With --url a
 * server is loaded as a crowd of clients would: many connections, on each of which several requests
 * are in flight.
 *
 * Loads:
 *   reserve   every call a new booking in one hot zone that is never full: all granted
 *   refuse    the zone is full: all refused
 *   cycle     reserve, then confirm or release what was reserved */
#include "cli/bench.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const load_names[] = {
    [BENCH_RESERVE] = "reserve", [BENCH_REFUSE] = "refuse", [BENCH_CYCLE] = "cycle"};

/* ---- a run ----------------------------------------------------------------------------------- */

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

static void print_calls(const struct bench *bench, uint64_t calls, double seconds)
{
    char rate[16];

    cli_count(rate, (double)calls / seconds);
    printf("  calls     %llu in %.1f s by ", (unsigned long long)calls, seconds);
    if (bench->connections > 0) {
        printf("%lld connection%s with %lld under way, ", (long long)bench->connections,
               bench->connections == 1 ? "" : "s", (long long)bench->pipeline);
    }
    printf("%lld thread%s: %s/s\n", (long long)bench->threads, bench->threads == 1 ? "" : "s",
           rate);
}

static int report(struct bench *bench, const struct bench_worker *sum, double seconds)
{
    struct hf_info info;

    print_calls(bench, sum->calls, seconds);
    printf("  outcome   %llu granted, %llu refused, %llu errors\n",
           (unsigned long long)(sum->calls - sum->refused - sum->errors),
           (unsigned long long)sum->refused, (unsigned long long)sum->errors);
    if (hf_info(bench->handle, &info) == HF_OK) { /* Redis does not count them */
        printf("  state     %llu live holds, %.1f MB\n", (unsigned long long)info.holds,
               (double)info.memory_bytes / 1e6);
    }
    cli_print_latencies(&sum->latencies);
    if (sum->failed[0] != '\0') {
        return cli_usage("%s", sum->failed);
    }
    if (sum->errors > 0) {
        return cli_usage("%llu calls failed", (unsigned long long)sum->errors);
    }
    return EXIT_DONE;
}

static struct bench_worker *worker_at(const struct bench_way *way, char *workers, int64_t i)
{
    return (struct bench_worker *)(workers + (size_t)i * way->worker_size);
}

static void add(struct bench_worker *sum, const struct bench_worker *worker)
{
    sum->calls += worker->calls;
    sum->refused += worker->refused;
    sum->errors += worker->errors;
    histogram_merge(&sum->latencies, &worker->latencies);
    if (worker->failed[0] != '\0') {
        memcpy(sum->failed, worker->failed, sizeof sum->failed);
    }
}

/* Prepares all workers, then lets them work until the time is over. `sum` has room for the figures
 * of all of them. */
static int work(struct bench *bench, const struct bench_way *way, char *workers,
                struct bench_worker *sum)
{
    int64_t prepared = 0, started = 0;
    int code = EXIT_DONE;

    for (; prepared < bench->threads && code == EXIT_DONE; prepared++) {
        struct bench_worker *worker = worker_at(way, workers, prepared);
        worker->bench = bench;
        code = way->prepare(worker, prepared) ? EXIT_DONE : cli_usage("%s", worker->failed);
    }
    if (code == EXIT_DONE) {
        char shown[CLI_URL_SIZE];
        printf("%s on %s\n", load_names[bench->load], cli_url_shown(bench->url, shown));
    }
    for (; code == EXIT_DONE && started < bench->threads; started++) {
        struct bench_worker *worker = worker_at(way, workers, started);
        if (!thread_start(&worker->thread, way->work, worker)) {
            atomic_store(&bench->stop, true);
            code = cli_usage("could not start %lld threads", (long long)bench->threads);
            break;
        }
    }
    double seconds = code == EXIT_DONE ? watch(bench) : 0;
    for (int64_t i = 0; i < prepared; i++) {
        struct bench_worker *worker = worker_at(way, workers, i);
        if (i < started) {
            pthread_join(worker->thread, NULL);
        }
        add(sum, worker);
        way->end(worker);
    }
    return code == EXIT_DONE ? report(bench, sum, seconds) : code;
}

/* Makes the zone, in an event of this run's own. */
static enum hf_error open_zone(struct bench *bench)
{
    struct random random;
    uint32_t number;

    random_init(&random);
    random_bytes(&random, &number, sizeof number);
    snprintf(bench->event, sizeof bench->event, "bench-%08x", number);
    struct hf_seats_open_args open = {.event = hf_text(bench->event),
                                      .zone = HF_TEXT(BENCH_ZONE),
                                      .capacity = bench->load == BENCH_REFUSE ? 0 : HF_INTEGER_MAX};
    return hf_seats_open(bench->handle, &open, NULL);
}

static int run(struct bench *bench, const struct bench_way *way)
{
    struct bench_worker *sum = calloc(1, sizeof *sum);
    char *workers = calloc((size_t)bench->threads, way->worker_size);
    enum hf_error opened = hf_open(bench->url, &bench->handle);
    int code;

    if (opened == HF_OK) {
        opened = open_zone(bench);
    }
    if (sum == NULL || workers == NULL) {
        code = cli_usage("out of memory");
    } else if (opened != HF_OK) {
        code = cli_failed(opened);
    } else {
        code = work(bench, way, workers, sum);
    }
    hf_close(bench->handle);
    free(workers);
    free(sum);
    return code;
}

/* ---- options --------------------------------------------------------------------------------- */

enum {
    OPTION_ENGINE,
    OPTION_URL,
    OPTION_SECONDS,
    OPTION_THREADS,
    OPTION_LOAD,
    OPTION_CONNECTIONS,
    OPTION_PIPELINE
};

static const struct option long_options[] = {
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"url", required_argument, NULL, OPTION_URL},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"load", required_argument, NULL, OPTION_LOAD},
    {"connections", required_argument, NULL, OPTION_CONNECTIONS},
    {"pipeline", required_argument, NULL, OPTION_PIPELINE},
    {NULL, 0, NULL, 0}};

static bool read_load(const char *text, enum bench_load *load)
{
    for (size_t i = 0; i < sizeof load_names / sizeof load_names[0]; i++) {
        if (strcmp(text, load_names[i]) == 0) {
            *load = (enum bench_load)i;
            return true;
        }
    }
    cli_usage("--load %s: must be reserve, refuse or cycle", text);
    return false;
}

struct bench_options {
    struct bench bench;
    const char *engine, *url;
};

static bool read_option(int option, const char *text, struct bench_options *wanted)
{
    struct bench *bench = &wanted->bench;

    switch (option) {
    case OPTION_ENGINE:
        wanted->engine = text;
        return true;
    case OPTION_URL:
        wanted->url = text;
        return true;
    case OPTION_SECONDS:
        return cli_number("--seconds", text, 1, 3600, &bench->seconds);
    case OPTION_THREADS:
        return cli_number("--threads", text, 1, 256, &bench->threads);
    case OPTION_CONNECTIONS:
        return cli_number("--connections", text, 1, 10000, &bench->connections);
    case OPTION_PIPELINE:
        return cli_number("--pipeline", text, 1, 10000, &bench->pipeline);
    default:
        return read_load(text, &bench->load);
    }
}

/* Fills in the options for a server that were not given. */
static int run_server(struct bench_options *wanted)
{
    struct bench *bench = &wanted->bench;

    bench->url = wanted->url;
    bench->connections = bench->connections > 0 ? bench->connections : 50;
    bench->pipeline = bench->pipeline > 0 ? bench->pipeline : 16;
    if (wanted->engine != NULL) {
        return cli_usage("bench: --engine and --url exclude each other");
    }
    if (bench->threads > bench->connections) {
        return cli_usage("bench: more threads than connections");
    }
    return run(bench, &bench_server);
}

int cli_bench(int argc, char **argv)
{
    struct bench_options wanted = {.bench = {.seconds = 5, .threads = 1}};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == '?') {
            return cli_bad_option("bench", argv, long_options);
        }
        if (!read_option(option, optarg, &wanted)) {
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        return cli_usage("bench: what is '%s'?", argv[optind]);
    }
    if (wanted.url != NULL) {
        return run_server(&wanted);
    }
    if (wanted.bench.connections > 0 || wanted.bench.pipeline > 0) {
        return cli_usage("bench: --connections and --pipeline need --url");
    }
    wanted.bench.url = wanted.engine != NULL ? wanted.engine : "embedded:";
    return run(&wanted.bench, &bench_engine);
}
