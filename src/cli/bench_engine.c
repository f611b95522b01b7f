/* SPDX-License-Identifier: Apache-2.0
 *
 * Load through the library: each thread makes one call after the other. */
#include "cli/bench.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"

#define IDS 4096 /* made in advance, so that making them is not measured */

struct bench_caller {
    struct bench_worker head;
    char bookings[IDS][UUID_TEXT], users[IDS][UUID_TEXT];
    uint64_t rounds; /* through the ids; makes each booking new */
};

static struct hf_bytes uuid_bytes(const char text[UUID_TEXT])
{
    return (struct hf_bytes){text, UUID_TEXT};
}

/* The ids come round again: the first digits, of time_low, count the rounds. */
static void renew_ids(struct bench_caller *worker)
{
    static const char digits[] = "0123456789abcdef";

    worker->rounds++;
    for (size_t i = 0; i < IDS; i++) {
        for (size_t d = 0; d < 6; d++) {
            worker->bookings[i][d] = digits[worker->rounds >> (4 * d) & 15];
        }
    }
}

static bool make_ids(struct bench_worker *head, int64_t index)
{
    struct bench_caller *worker = (struct bench_caller *)head;
    struct random random;
    uint8_t bytes[UUID_BYTES];
    (void)index;

    random_init(&random);
    for (size_t i = 0; i < IDS; i++) {
        random_bytes(&random, bytes, sizeof bytes);
        uuid_from_random(bytes);
        uuid_write(bytes, worker->bookings[i]);
        random_bytes(&random, bytes, sizeof bytes);
        uuid_from_random(bytes);
        uuid_write(bytes, worker->users[i]);
    }
    renew_ids(worker);
    return true;
}

static enum hf_error reserve(struct bench_caller *worker, size_t i)
{
    struct bench *bench = worker->head.bench;
    struct hf_seats_reserve_args args = {.event = hf_text(bench->event),
                                         .zone = HF_TEXT(BENCH_ZONE),
                                         .booking = uuid_bytes(worker->bookings[i]),
                                         .user = uuid_bytes(worker->users[i]),
                                         .quantity = 1,
                                         .max_per_user = HF_INTEGER_MAX,
                                         .ttl_ms = BENCH_TTL_MS};
    return hf_seats_reserve(bench->handle, &args, NULL);
}

static enum hf_error finish(struct bench_caller *worker, size_t i)
{
    struct bench *bench = worker->head.bench;
    struct hf_bytes event = hf_text(bench->event), id = uuid_bytes(worker->bookings[i]);
    struct hf_seats_confirm_args confirm = {.event = event, .booking = id};
    struct hf_seats_release_args release = {.event = event, .booking = id};

    return i % 2 == 0 ? hf_seats_confirm(bench->handle, &confirm, NULL)
                      : hf_seats_release(bench->handle, &release, NULL);
}

static void *work(void *context)
{
    struct bench_caller *worker = context;
    struct bench_worker *head = &worker->head;
    uint64_t last = clock_nanoseconds();

    while (!bench_stopped(head->bench)) {
        uint64_t before = head->calls;
        for (size_t i = 0; i < IDS; i++) {
            bench_count(head, reserve(worker, i));
            if (head->bench->load == BENCH_CYCLE) {
                bench_count(head, finish(worker, i));
            }
            uint64_t now = clock_nanoseconds();
            histogram_add(&head->latencies, now - last);
            last = now;
        }
        bench_tell(head->bench, head->calls - before);
        renew_ids(worker);
        last = clock_nanoseconds();
    }
    return NULL;
}

static void end(struct bench_worker *head)
{
    (void)head;
}

const struct bench_way bench_engine = {
    .worker_size = sizeof(struct bench_caller), .prepare = make_ids, .work = work, .end = end};
