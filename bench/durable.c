/* SPDX-License-Identifier: Apache-2.0
 *
 * What durability costs in-process: grants per second with several commands in flight, beside the
 * disk's own sync rate; replay; a snapshot while serving; coming back from one.
 *
 *     build/bench/durable DIR [HOLDS]
 *
 * DIR is made, used and removed; it says which disk is measured. HOLDS (default 1000000) is the
 * number of live holds for the snapshot. */
#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "command/binary.h"
#include "engine/embedded.h"
#include "journal/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECONDS 2.0

static char (*ids)[UUID_TEXT];
static size_t id_count;
static const char *directory;

/* ---- parts ----------------------------------------------------------------------------------- */

static double seconds_since(uint64_t start)
{
    return (double)(clock_nanoseconds() - start) / 1e9;
}

static void make_ids(size_t count)
{
    struct random random;
    uint8_t bytes[UUID_BYTES];

    random_init(&random);
    /* The ids are the harness's own: a child must not have to copy their pages. */
    size_t size = count * UUID_TEXT;
    ids = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(ids != MAP_FAILED && madvise(ids, size, MADV_DONTFORK) == 0);
    for (size_t i = 0; i < count; i++) {
        random_bytes(&random, bytes, sizeof bytes);
        uuid_from_random(bytes);
        uuid_write(bytes, ids[i]);
    }
    id_count = count;
}

static struct engine *open_engine(enum journal_policy policy, int64_t segment_bytes)
{
    struct embedded_options options = {.policy = policy,
                                       .segment_bytes = segment_bytes,
                                       .snapshot_bytes = -1,
                                       .pages_ahead = true, /* as the program has it */
                                       .log = {.level = LOG_WARNING}};
    struct engine *engine;
    struct problem problem;

    clock_real(&options.clock);
    CHECK(storage_posix(directory, true, &options.storage) == 0);
    if (embedded_open_with(&options, &engine, &problem) != HF_OK) {
        fprintf(stderr, "%s\n", problem.message);
        exit(1);
    }
    return engine;
}

static void remove_name(void *context, const char *name)
{
    struct storage *storage = context;

    if (name[0] != '.') {
        storage->type->remove(storage, name);
    }
}

static void empty_directory(void)
{
    struct storage *storage;

    CHECK(storage_posix(directory, true, &storage) == 0);
    storage->type->list(storage, remove_name, storage);
    storage_free(storage);
}

static void count_granted(void *context, const struct reply *reply)
{
    CHECK(reply->code == HF_OK);
    ++*(uint64_t *)context;
}

static void flush(struct engine *engine)
{
    if (engine_flush_begin(engine)) {
        engine_flush_work(engine);
        engine_flush_end(engine);
    }
}

static void open_zone(struct engine *engine)
{
    struct hf_seats_open_args args = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = HF_INTEGER_MAX};
    struct command command;
    uint64_t granted = 0;

    command_from_struct(&command, &command_table[SEATS_OPEN], &args, NULL);
    engine_submit(engine, &command, count_granted, &granted);
    flush(engine);
}

static void reserve(struct engine *engine, size_t i, uint64_t *granted)
{
    struct hf_seats_reserve_args args = {.event = HF_TEXT("gala"),
                                         .zone = HF_TEXT("floor"),
                                         .booking = {ids[i % id_count], UUID_TEXT},
                                         .user = {ids[(i * 7 + 3) % id_count], UUID_TEXT},
                                         .quantity = 1,
                                         .max_per_user = HF_INTEGER_MAX,
                                         .ttl_ms = HF_TTL_MAX_MS};
    struct command command;

    command_from_struct(&command, &command_table[SEATS_RESERVE], &args, NULL);
    engine_submit(engine, &command, count_granted, granted);
}

/* ---- figures --------------------------------------------------------------------------------- */

/* The disk alone: 100 bytes and a sync, again and again. */
static double measure_syncs(void)
{
    char path[4096], bytes[100] = "holdfast";
    uint64_t count = 0, start = clock_nanoseconds();

    snprintf(path, sizeof path, "%s/sync", directory);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(file >= 0 && posix_fallocate(file, 0, 64 << 20) == 0 && fsync(file) == 0);
    while (seconds_since(start) < SECONDS) {
        CHECK(pwrite(file, bytes, sizeof bytes, (off_t)(count * sizeof bytes)) == sizeof bytes);
        CHECK(fdatasync(file) == 0);
        count++;
    }
    double rate = (double)count / seconds_since(start);
    close(file);
    unlink(path);
    return rate;
}

static double measure_grants(size_t in_flight)
{
    struct engine *engine = open_engine(JOURNAL_ALWAYS, 0);
    uint64_t granted = 0;
    size_t next = 0;

    open_zone(engine);
    uint64_t start = clock_nanoseconds();
    while (seconds_since(start) < SECONDS && next + in_flight <= id_count) {
        for (size_t i = 0; i < in_flight; i++) {
            reserve(engine, next++, &granted);
        }
        flush(engine);
    }
    double rate = (double)granted / seconds_since(start);
    CHECK(granted == next);
    engine_close(engine);
    empty_directory();
    return rate;
}

/* Writes `count` reserves without syncing, then starts again from the journal alone. */
static void measure_replay(size_t count)
{
    struct engine *engine = open_engine(JOURNAL_NO, 0);
    uint64_t granted = 0;

    open_zone(engine);
    for (size_t i = 0; i < count; i++) {
        reserve(engine, i, &granted);
        if (i % 1000 == 999) {
            flush(engine);
        }
    }
    engine_close(engine);
    uint64_t start = clock_nanoseconds();
    engine = open_engine(JOURNAL_NO, 0);
    double seconds = seconds_since(start);
    printf("| replay of %zu reserves from the journal | %.2f s, %.2f million records/s |\n", count,
           seconds, (double)count / seconds / 1e6);
    engine_close(engine);
    empty_directory();
}

struct total {
    struct storage *storage;
    int64_t bytes;
};

static void add_size(void *context, const char *name)
{
    struct total *total = context;
    const struct storage_type *type = total->storage->type;
    int handle = name[0] == '.' ? -1 : type->open(total->storage, name, STORAGE_READ);

    if (handle >= 0) {
        total->bytes += type->size(total->storage, handle);
        type->close(total->storage, handle);
    }
}

static int64_t directory_bytes(void)
{
    struct total total = {.bytes = 0};

    CHECK(storage_posix(directory, false, &total.storage) == 0);
    total.storage->type->list(total.storage, add_size, &total);
    storage_free(total.storage);
    return total.bytes;
}

/* Serves batches of 16 while a snapshot of `count` holds is taken; then starts from that. */
static void measure_snapshot(size_t count)
{
    struct engine *engine = open_engine(JOURNAL_ALWAYS, 0);
    uint64_t granted = 0, longest = 0, begun, batches = 0;
    struct problem problem;

    open_zone(engine);
    for (size_t i = 0; i < count; i++) {
        reserve(engine, i, &granted);
        if (i % 1000 == 999) {
            flush(engine);
        }
    }
    uint64_t start = begun = clock_nanoseconds();
    CHECK(engine_snapshot(engine, &problem) == HF_OK);
    uint64_t pause = clock_nanoseconds() - begun;
    size_t next = count;
    while (engine_snapshot(engine, &problem) == HF_BUSY && next + 16 <= id_count) {
        begun = clock_nanoseconds();
        for (size_t i = 0; i < 16; i++) {
            reserve(engine, next++, &granted);
        }
        flush(engine);
        engine_turn(engine);
        uint64_t took = clock_nanoseconds() - begun;
        longest = took > longest ? took : longest;
        batches++;
    }
    printf("| snapshot of %zu holds: the pause at its start | %.2f ms |\n", count,
           (double)pause / 1e6);
    printf("| the longest batch of 16 while it is written (%.1f s, %llu batches) | %.2f ms |\n",
           seconds_since(start), (unsigned long long)batches, (double)longest / 1e6);
    engine_close(engine);
    printf("| directory after it | %.0f MB |\n", (double)directory_bytes() / 1e6);
    start = clock_nanoseconds();
    engine = open_engine(JOURNAL_ALWAYS, 0);
    struct hf_info info;
    engine_info(engine, &info);
    printf("| %llu live holds back from the snapshot | %.2f s |\n", (unsigned long long)info.holds,
           seconds_since(start));
    engine_close(engine);
    empty_directory();
}

/* What a reserve with UUID ids takes in the journal. */
static size_t bytes_per_reserve(void)
{
    struct hf_seats_reserve_args args = {.event = HF_TEXT("gala"),
                                         .zone = HF_TEXT("floor"),
                                         .booking = {ids[0], UUID_TEXT},
                                         .user = {ids[1], UUID_TEXT},
                                         .quantity = 2,
                                         .max_per_user = 4,
                                         .unit_price = 12500};
    struct command command;
    struct memory memory;
    struct buffer bytes;

    memory_init(&memory);
    buffer_init(&bytes, &memory);
    command_from_struct(&command, &command_table[SEATS_RESERVE], &args, NULL);
    command_to_binary(&command, &bytes);
    struct journal_record record = {.command = {bytes.data, bytes.size}};
    record_write(&record, &bytes);
    buffer_free(&bytes);
    return record.size;
}

int main(int argc, char **argv)
{
    size_t holds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;

    if (argc < 2) {
        fprintf(stderr, "usage: durable DIR [HOLDS]\n");
        return 2;
    }
    directory = argv[1];
    make_ids(holds + 4000000);
    empty_directory();
    double syncs = measure_syncs();
    printf("| figure | |\n| --- | --- |\n");
    printf("| the disk alone: 100 bytes and fdatasync | %.0f/s |\n", syncs);
    static const size_t in_flight[] = {1, 16, 1000};
    for (size_t i = 0; i < sizeof in_flight / sizeof in_flight[0]; i++) {
        double rate = measure_grants(in_flight[i]);
        printf("| durable grants, %zu in flight | %.0f/s, %.2f x the syncs |\n", in_flight[i], rate,
               rate / syncs);
    }
    printf("| journal bytes per reserve with UUID ids | %zu |\n", bytes_per_reserve());
    measure_replay(2000000);
    measure_snapshot(holds);
    rmdir(directory);
    return 0;
}
