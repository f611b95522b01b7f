/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps so many SEATS.RESERVE under way through one engine for so long, over one or several events
 * in turn, each with a booking and a user of its own; then prints what came of it as one line of
 * JSON. bench/redis_engine.py runs it.
 *
 *     build/bench/redis_engine URL IN_FLIGHT SECONDS EVENT...
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IN_FLIGHT_MAX 100000
#define WAIT_MS 1000
#define TIMEOUT_S 60 /* answers that take longer will not come */

/* A caller, which has one command in flight at a time. */
struct caller {
    struct load *load;
    struct caller *next_free;
    uint64_t started;
};

struct load {
    struct engine *engine;
    char **events;
    size_t event_count;
    struct caller *free;
    uint8_t id[UUID_BYTES]; /* of the next booking; a number in its second half */
    uint64_t submitted, granted, refused;
    enum hf_error refusal; /* the last one */
    struct histogram latency;
};

/* ---- commands -------------------------------------------------------------------------------- */

static void opened(void *context, const struct reply *reply)
{
    struct load *load = context;

    if (reply->code == HF_OK) {
        load->granted++;
    } else {
        load->refused++;
        load->refusal = reply->code;
    }
}

static void reserved(void *context, const struct reply *reply)
{
    struct caller *caller = context;
    struct load *load = caller->load;

    histogram_add(&load->latency, clock_nanoseconds() - caller->started);
    caller->next_free = load->free;
    load->free = caller;
    opened(load, reply);
}

static void submit_open(struct load *load, const char *event)
{
    struct hf_seats_open_args args = {
        .event = hf_text(event), .zone = HF_TEXT("floor"), .capacity = HF_INTEGER_MAX};
    struct command command;

    CHECK(command_from_struct(&command, &command_table[SEATS_OPEN], &args, NULL) == HF_OK);
    engine_submit(load->engine, &command, opened, load);
}

static void submit_reserve(struct load *load, struct caller *caller)
{
    uint64_t number = ++load->submitted;
    char text[UUID_TEXT];
    struct hf_seats_reserve_args args = {.event = hf_text(load->events[number % load->event_count]),
                                         .zone = HF_TEXT("floor"),
                                         .booking = {text, sizeof text},
                                         .user = {text, sizeof text},
                                         .quantity = 1,
                                         .max_per_user = 10,
                                         .ttl_ms = 600000};
    struct command command;

    for (size_t i = 0; i < 6; i++) { /* the last 12 digits, as redis-benchmark makes them */
        load->id[UUID_BYTES - 1 - i] = (uint8_t)(number >> 8 * i);
    }
    uuid_write(load->id, text);
    CHECK(command_from_struct(&command, &command_table[SEATS_RESERVE], &args, NULL) == HF_OK);
    caller->started = clock_nanoseconds();
    engine_submit(load->engine, &command, reserved, caller);
}

static void wait_for_answers(struct load *load)
{
    engine_wait(load->engine, WAIT_MS);
    engine_turn(load->engine);
}

/* ---- the run --------------------------------------------------------------------------------- */

static double seconds_since(uint64_t start)
{
    return (double)(clock_nanoseconds() - start) / 1e9;
}

static double cpu_seconds(clockid_t whose)
{
    struct timespec spent;

    CHECK(clock_gettime(whose, &spent) == 0);
    return (double)spent.tv_sec + (double)spent.tv_nsec / 1e9;
}

static void open_zones(struct load *load)
{
    uint64_t start = clock_nanoseconds();

    for (size_t i = 0; i < load->event_count; i++) {
        submit_open(load, load->events[i]);
    }
    while (load->granted + load->refused < load->event_count && seconds_since(start) < TIMEOUT_S) {
        wait_for_answers(load);
    }
    CHECK(load->granted == load->event_count);
    load->granted = 0;
}

static void run(struct load *load, double seconds)
{
    uint64_t start = clock_nanoseconds();

    while (seconds_since(start) < seconds) {
        while (load->free != NULL) {
            struct caller *caller = load->free;
            load->free = caller->next_free;
            submit_reserve(load, caller);
        }
        wait_for_answers(load);
    }
    while (load->granted + load->refused < load->submitted &&
           seconds_since(start) < seconds + TIMEOUT_S) {
        wait_for_answers(load);
    }
}

static void show(const struct load *load, double seconds, double caller_s, double all_s)
{
    const struct histogram *latency = &load->latency;
    static const double shares[] = {0.5, 0.9, 0.99, 0.999};
    static const char *const names[] = {"p50", "p90", "p99", "p99.9"};

    printf("{\"count\": %llu, \"seconds\": %.6f, \"caller_s\": %.6f, \"engine_s\": %.6f",
           (unsigned long long)load->granted, seconds, caller_s, all_s - caller_s);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        printf(", \"%s\": %.1f", names[i], (double)histogram_quantile(latency, shares[i]) / 1e3);
    }
    printf(", \"max\": %.1f}\n", (double)latency->max / 1e3);
}

static void prepare(struct load *load, const char *url, struct caller *callers, size_t in_flight)
{
    struct engine_options options = {.log = {.level = LOG_WARNING}, .worker = true};
    struct random random;
    struct problem problem;

    random_init(&random);
    random_bytes(&random, load->id, sizeof load->id);
    uuid_from_random(load->id);
    for (size_t i = 0; i < in_flight; i++) {
        callers[i] = (struct caller){.load = load, .next_free = load->free};
        load->free = &callers[i];
    }
    if (engine_open(url, &options, &load->engine, &problem) != HF_OK) {
        fprintf(stderr, "redis_engine: %s\n", problem.message);
        exit(1);
    }
    open_zones(load);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: redis_engine URL IN_FLIGHT SECONDS EVENT...\n");
        return 2;
    }
    size_t in_flight = strtoul(argv[2], NULL, 10);
    double seconds = strtod(argv[3], NULL);
    struct load *load = calloc(1, sizeof *load);
    struct caller *callers = calloc(in_flight, sizeof *callers);
    CHECK(in_flight >= 1 && in_flight <= IN_FLIGHT_MAX && load != NULL && callers != NULL);
    load->events = argv + 4;
    load->event_count = (size_t)argc - 4;
    prepare(load, argv[1], callers, in_flight);

    double caller_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    double all_s = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t start = clock_nanoseconds();
    run(load, seconds);
    seconds = seconds_since(start);
    caller_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - caller_s;
    all_s = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - all_s;
    engine_close(load->engine);
    bool fine = load->granted == load->submitted;
    if (fine) {
        show(load, seconds, caller_s, all_s);
    } else {
        fprintf(stderr, "redis_engine: %llu of %llu granted, %llu refused, lately with %s\n",
                (unsigned long long)load->granted, (unsigned long long)load->submitted,
                (unsigned long long)load->refused, hf_error_name(load->refusal));
    }
    free(callers);
    free(load);
    return fine ? 0 : 1;
}
