/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rules cost in-process, on one core, beside what a program would pay for keeping the same
 * bookings in a hash table of its own with no rules at all (a node from malloc for each, chained,
 * the id as text). Prints one row a figure; each is the median of several rounds, in processor time
 * of the thread, so that other work on the machine counts little. The clock is simulated, so that
 * expiry needs no waiting.
 *
 *     build/bench/core [ROUNDS [PART]]    PART: hot, typed, refuse, live or large; all but large
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/huge_pages.h"
#include "base/random.h"
#include "base/uuid.h"
#include "core/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HOT 20000      /* live holds of the hot zone: what a sale has in the air at a time */
#define LIVE 1000000   /* live holds of the large state */
#define LARGE 10000000 /* live holds of the largest state */
#define STEADY 50000   /* reserved at a time and released again, so that the state keeps its size */
#define GROUP 16       /* commands that are looked at ahead together */
#define BATCH 1000000  /* calls measured at a time */
#define LIVE_TTL_MS ((int64_t)24 * 3600 * 1000)
#define ROUNDS_MAX 99

enum figure {
    PEER_HOT,
    HOT_GRANT,
    HOT_GROUP,
    HOT_LIFE,
    TYPED_GRANT,
    REFUSE,
    PEER_LIVE,
    LIVE_GRANT,
    LIVE_GROUP,
    LIVE_GROW,
    LIVE_EXPIRE,
    LARGE_GRANT,
    LARGE_GROUP,
    FIGURES
};

static const char *const labels[FIGURES] = {
    [PEER_HOT] = "peer: hash table by hand, 20,000 live",
    [HOT_GRANT] = "reserve, hot zone, 20,000 live (core)",
    [HOT_GROUP] = "the same, 16 looked at ahead (core)",
    [HOT_LIFE] = "reserve, to the end of its grace (core)",
    [TYPED_GRANT] = "reserve, hot zone, typed call (library)",
    [REFUSE] = "reserve refused, zone full (core)",
    [PEER_LIVE] = "peer: hash table by hand, 1,000,000 live",
    [LIVE_GRANT] = "reserve, 1,000,000 live (core)",
    [LIVE_GROUP] = "the same, 16 looked at ahead (core)",
    [LIVE_GROW] = "reserve, growing to 2,000,000 (core)",
    [LIVE_EXPIRE] = "expiry of those, grace included (core)",
    [LARGE_GRANT] = "reserve, 10,000,000 live (core)",
    [LARGE_GROUP] = "the same, 16 looked at ahead (core)",
};

static char (*bookings)[UUID_TEXT];
static char (*users)[UUID_TEXT];

/* ---- measuring ------------------------------------------------------------------------------- */

static double samples[FIGURES][ROUNDS_MAX];

/* Processor time of this thread. */
static uint64_t spent_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void note(enum figure figure, int round, uint64_t start, uint64_t count)
{
    samples[figure][round] = (double)(spent_ns() - start) / (double)count;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(enum figure figure, int rounds)
{
    qsort(samples[figure], (size_t)rounds, sizeof(double), compare);
    return samples[figure][rounds / 2];
}

static struct random generator;

static void make_ids(char (*ids)[UUID_TEXT], size_t count)
{
    uint8_t bytes[UUID_BYTES];

    for (size_t i = 0; i < count; i++) {
        random_bytes(&generator, bytes, sizeof bytes);
        uuid_from_random(bytes);
        uuid_write(bytes, ids[i]);
    }
}

/* ---- the peer: what one writes by hand ------------------------------------------------------- */

struct node {
    struct node *next;
    uint64_t hash;
    char id[UUID_TEXT], user[UUID_TEXT];
    int64_t quantity, price, created_ms, expires_ms;
};

struct peer {
    struct node **buckets;
    size_t mask;
};

static uint64_t fnv(const char *text, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static void peer_add(struct peer *peer, const char *id, const char *user, int64_t now_ms)
{
    uint64_t hash = fnv(id, UUID_TEXT);
    struct node **bucket = &peer->buckets[hash & peer->mask];

    for (struct node *node = *bucket; node != NULL; node = node->next) {
        if (node->hash == hash && memcmp(node->id, id, UUID_TEXT) == 0) {
            return;
        }
    }
    struct node *node = malloc(sizeof *node);
    CHECK(node != NULL);
    *node = (struct node){.next = *bucket,
                          .hash = hash,
                          .quantity = 1,
                          .created_ms = now_ms,
                          .expires_ms = now_ms + 600000};
    memcpy(node->id, id, UUID_TEXT);
    memcpy(node->user, user, UUID_TEXT);
    *bucket = node;
}

static void peer_remove(struct peer *peer, const char *id)
{
    uint64_t hash = fnv(id, UUID_TEXT);

    for (struct node **at = &peer->buckets[hash & peer->mask]; *at != NULL; at = &(*at)->next) {
        if ((*at)->hash == hash && memcmp((*at)->id, id, UUID_TEXT) == 0) {
            struct node *node = *at;
            *at = node->next;
            free(node);
            return;
        }
    }
}

/* BATCH insertions with `live` entries kept: beyond that the oldest goes. */
static void measure_peer(enum figure figure, int round, size_t live)
{
    struct peer peer = {.mask = ((size_t)1 << (live > 100000 ? 21 : 16)) - 1};
    peer.buckets = calloc(peer.mask + 1, sizeof(*peer.buckets));
    CHECK(peer.buckets != NULL);
    size_t first = live == LIVE ? LIVE : 0; /* those before are there already */
    for (size_t i = 0; i < first; i++) {
        peer_add(&peer, bookings[i], users[i], 0);
    }
    uint64_t start = spent_ns();
    for (size_t i = first; i < first + BATCH; i++) {
        peer_add(&peer, bookings[i], users[i], (int64_t)i);
        if (i >= live) {
            peer_remove(&peer, bookings[i - live]);
        }
    }
    note(figure, round, start, BATCH);
    for (size_t i = first + BATCH - live; i < first + BATCH; i++) {
        peer_remove(&peer, bookings[i]);
    }
    free(peer.buckets);
}

/* ---- the core -------------------------------------------------------------------------------- */

struct rig {
    struct memory memory;
    struct core *core;
    struct reply reply;
    struct command command;
};

static void rig_open(struct rig *rig, int64_t capacity)
{
    static const uint64_t seed[2] = {UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344)};
    struct hf_seats_open_args open = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = capacity};

    memory_init(&rig->memory);
    huge_pages_ahead(&rig->memory, (size_t)32 << 20); /* as the engine does */
    rig->memory.retained = (size_t)16 << 20;          /* the same */
    rig->core = core_create(&rig->memory, seed);
    CHECK(rig->core != NULL && reply_init(&rig->reply, &rig->memory));
    CHECK(command_from_struct(&rig->command, &command_table[SEATS_OPEN], &open, NULL) == HF_OK);
    core_apply(rig->core, &rig->command, 1000, &rig->reply);
}

static void rig_close(struct rig *rig)
{
    core_destroy(rig->core);
    reply_free(&rig->reply);
    huge_pages_end(&rig->memory);
}

static struct hf_seats_reserve_args reserve_args(size_t i, int64_t ttl_ms)
{
    return (struct hf_seats_reserve_args){.event = HF_TEXT("gala"),
                                          .zone = HF_TEXT("floor"),
                                          .booking = {bookings[i], UUID_TEXT},
                                          .user = {users[i], UUID_TEXT},
                                          .quantity = 1,
                                          .max_per_user = 4,
                                          .ttl_ms = ttl_ms};
}

/* Checked as from any front, then carried out. */
static enum hf_error reserve(struct rig *rig, size_t i, int64_t now_ms, int64_t ttl_ms)
{
    struct hf_seats_reserve_args args = reserve_args(i, ttl_ms);

    command_from_struct(&rig->command, &command_table[SEATS_RESERVE], &args, NULL);
    core_apply(rig->core, &rig->command, now_ms, &rig->reply);
    return rig->reply.code;
}

/* As a server does with commands that were read together: all are checked, then looked at, then
 * carried out. */
static void reserve_group(struct rig *rig, size_t from, int64_t now_ms, int64_t ttl_ms)
{
    struct command commands[GROUP];

    for (size_t i = 0; i < GROUP; i++) {
        struct hf_seats_reserve_args args = reserve_args(from + i, ttl_ms);
        command_from_struct(&commands[i], &command_table[SEATS_RESERVE], &args, NULL);
    }
    core_prepare(rig->core, commands, GROUP);
    for (size_t i = 0; i < GROUP; i++) {
        core_apply(rig->core, &commands[i], now_ms, &rig->reply);
        CHECK(rig->reply.code == HF_OK);
    }
}

/* Reserves, each by itself or in groups; a millisecond for each hundred. */
static void reserve_many(struct rig *rig, size_t from, size_t count, int64_t now_ms, int64_t ttl_ms,
                         bool grouped)
{
    for (size_t i = 0; i < count; i += grouped ? GROUP : 1) {
        int64_t at_ms = now_ms + (int64_t)i / 100;
        if (grouped) {
            reserve_group(rig, from + i, at_ms, ttl_ms);
        } else {
            CHECK(reserve(rig, from + i, at_ms, ttl_ms) == HF_OK);
        }
    }
}

static void release(struct rig *rig, size_t i, int64_t now_ms)
{
    struct hf_seats_release_args args = {.event = HF_TEXT("gala"),
                                         .booking = {bookings[i], UUID_TEXT}};

    command_from_struct(&rig->command, &command_table[SEATS_RELEASE], &args, NULL);
    core_apply(rig->core, &rig->command, now_ms, &rig->reply);
    CHECK(rig->reply.code == HF_OK);
}

/* HOT reserves at a time; then time passes until they and their grace are over. */
static void measure_hot(int round, enum figure figure)
{
    struct rig rig;
    int64_t now_ms = 1000;
    uint64_t reserving = 0, start = spent_ns();

    rig_open(&rig, HF_INTEGER_MAX);
    for (size_t from = 0; from < BATCH; from += HOT) {
        uint64_t begun = spent_ns();
        reserve_many(&rig, from, HOT, now_ms, 60000, figure == HOT_GROUP);
        reserving += spent_ns() - begun;
        now_ms += 200000;
        core_advance(rig.core, now_ms);
    }
    note(HOT_LIFE, round, start, BATCH);
    samples[figure][round] = (double)reserving / BATCH;
    rig_close(&rig);
}

static void typed_reserves(hf_handle *handle, size_t from)
{
    for (size_t i = from; i < from + HOT; i++) {
        struct hf_seats_reserve_args args = reserve_args(i, 600000);
        struct hf_seats_reserve_reply reply;
        CHECK(hf_seats_reserve(handle, &args, &reply) == HF_OK);
    }
}

/* The same through the public library, with its lock and the real clock. HOT holds are made and
 * released first, so that memory and tables are there; each pair of batches has a handle of its
 * own, because a released hold is remembered for minutes. */
static void measure_typed(int round)
{
    struct hf_seats_open_args open = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = HF_INTEGER_MAX};
    uint64_t spent = 0, count = 0;

    for (size_t from = 0; from + 2 * HOT <= BATCH; from += (size_t)2 * HOT, count += HOT) {
        hf_handle *handle;
        CHECK(hf_open("embedded:", &handle) == HF_OK);
        hf_seats_open(handle, &open, NULL);
        typed_reserves(handle, from);
        for (size_t i = from; i < from + HOT; i++) {
            struct hf_seats_release_args args = {.event = HF_TEXT("gala"),
                                                 .booking = {bookings[i], UUID_TEXT}};
            CHECK(hf_seats_release(handle, &args, NULL) == HF_OK);
        }
        uint64_t start = spent_ns();
        typed_reserves(handle, from + HOT);
        spent += spent_ns() - start;
        hf_close(handle);
    }
    samples[TYPED_GRANT][round] = (double)spent / (double)count;
}

static void measure_refusals(int round)
{
    struct rig rig;

    rig_open(&rig, 0);
    uint64_t start = spent_ns();
    for (size_t i = 0; i < BATCH; i++) {
        CHECK(reserve(&rig, i, 2000, 60000) == HF_INSUFFICIENT_STOCK);
    }
    note(REFUSE, round, start, BATCH);
    rig_close(&rig);
}

/* BATCH reserves with as many holds live as there are, STEADY at a time; then they are released and
 * forgotten again, which does not count. */
static void measure_steady(struct rig *rig, enum figure figure, int round, int64_t *now_ms)
{
    uint64_t spent = 0;

    for (size_t from = LIVE; from < LIVE + BATCH; from += STEADY) {
        uint64_t begun = spent_ns();
        reserve_many(rig, from, STEADY, *now_ms, LIVE_TTL_MS,
                     figure == LIVE_GROUP || figure == LARGE_GROUP);
        spent += spent_ns() - begun;
        *now_ms += STEADY / 100;
        for (size_t i = from; i < from + STEADY; i++) {
            release(rig, i, *now_ms);
        }
        *now_ms += RETRY_WINDOW_MS; /* until the released ones are forgotten */
        core_advance(rig->core, *now_ms);
    }
    samples[figure][round] = (double)spent / BATCH;
}

/* The same with ten million live, whose ids are made on the way. */
static void measure_large(int round)
{
    struct rig rig;
    int64_t now_ms = 3000;

    rig_open(&rig, HF_INTEGER_MAX);
    for (size_t i = 0; i < LARGE; i++) {
        make_ids(bookings, 1);
        make_ids(users, 1);
        CHECK(reserve(&rig, 0, 1000 + (int64_t)(i / 10000), LIVE_TTL_MS) == HF_OK);
    }
    measure_steady(&rig, LARGE_GRANT, round, &now_ms);
    measure_steady(&rig, LARGE_GROUP, round, &now_ms);
    rig_close(&rig);
}

/* A million holds by as many users, then a million more while the first are live; then they expire.
 */
static void measure_live(int round, double *bytes_hold, double *bytes_user)
{
    struct rig rig;
    int64_t now_ms = 3000;

    rig_open(&rig, HF_INTEGER_MAX);
    for (size_t i = 0; i < LIVE; i++) {
        CHECK(reserve(&rig, i, 1000 + (int64_t)(i / 1000), LIVE_TTL_MS) == HF_OK);
    }
    size_t with_users = rig.memory.used;
    measure_steady(&rig, LIVE_GRANT, round, &now_ms);
    measure_steady(&rig, LIVE_GROUP, round, &now_ms);
    uint64_t start = spent_ns();
    for (size_t i = LIVE; i < LIVE + BATCH; i++) {
        CHECK(reserve(&rig, i, now_ms + (int64_t)(i / 1000), LIVE_TTL_MS) == HF_OK);
    }
    note(LIVE_GROW, round, start, BATCH);
    start = spent_ns();
    core_advance(rig.core, now_ms + LIVE_TTL_MS + SEATS_USER_GRACE_MS + (LIVE + BATCH));
    note(LIVE_EXPIRE, round, start, LIVE + BATCH);
    rig_close(&rig);

    /* The same million held by one user: the difference is what the users' counters take. */
    rig_open(&rig, HF_INTEGER_MAX);
    size_t empty = rig.memory.used;
    for (size_t i = 0; i < LIVE; i++) {
        struct hf_seats_reserve_args args = reserve_args(i, 600000);
        args.user = (struct hf_bytes){users[0], UUID_TEXT};
        args.max_per_user = HF_INTEGER_MAX;
        command_from_struct(&rig.command, &command_table[SEATS_RESERVE], &args, NULL);
        core_apply(rig.core, &rig.command, 1000 + (int64_t)(i / 1000), &rig.reply);
    }
    *bytes_hold = (double)(rig.memory.used - empty) / LIVE;
    *bytes_user = (double)(with_users - rig.memory.used) / LIVE;
    rig_close(&rig);
}

static void measure(const char *part, int round, double *bytes_hold, double *bytes_user)
{
    bool all = part == NULL;

    if (all || strcmp(part, "hot") == 0) {
        measure_peer(PEER_HOT, round, HOT);
        measure_hot(round, HOT_GROUP);
        measure_hot(round, HOT_GRANT);
    }
    if (all || strcmp(part, "typed") == 0) {
        measure_typed(round);
    }
    if (all || strcmp(part, "refuse") == 0) {
        measure_refusals(round);
    }
    if (all || strcmp(part, "live") == 0) {
        measure_peer(PEER_LIVE, round, LIVE);
        measure_live(round, bytes_hold, bytes_user);
    }
    if (!all && strcmp(part, "large") == 0) {
        measure_large(round);
    }
}

static void print(int rounds, double bytes_hold, double bytes_user)
{
    double peer = 0;

    printf("| figure (median of %d rounds) | ns each | million/s | x peer |\n", rounds);
    printf("| --- | ---: | ---: | ---: |\n");
    for (enum figure figure = 0; figure < FIGURES; figure++) {
        double ns = median(figure, rounds);
        peer = figure == PEER_HOT || figure == PEER_LIVE ? ns : peer;
        if (ns > 0) {
            printf("| %s | %.0f | %.2f | %.2f |\n", labels[figure], ns, 1e3 / ns, peer / ns);
        }
    }
    if (bytes_hold > 0) {
        printf("\n| memory with UUID ids | bytes |\n| --- | ---: |\n");
        printf("| a live hold with its index and timer entries, at 1,000,000 | %.1f |\n",
               bytes_hold);
        printf("| a user's counter | %.1f |\n", bytes_user);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    double bytes_hold = 0, bytes_user = 0;

    CHECK(rounds >= 1 && rounds <= ROUNDS_MAX);
    bookings = malloc((size_t)(LIVE + BATCH) * UUID_TEXT);
    users = malloc((size_t)(LIVE + BATCH) * UUID_TEXT);
    CHECK(bookings != NULL && users != NULL);
    random_init(&generator);
    make_ids(bookings, LIVE + BATCH);
    make_ids(users, LIVE + BATCH);
    for (int round = 0; round < rounds; round++) {
        measure(argc > 2 ? argv[2] : NULL, round, &bytes_hold, &bytes_user);
        fprintf(stderr, "\rround %d of %d", round + 1, rounds);
    }
    fprintf(stderr, "\r\033[K");
    print(rounds, bytes_hold, bytes_user);
    free(bookings);
    free(users);
    return 0;
}
