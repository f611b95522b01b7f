/* SPDX-License-Identifier: Apache-2.0
 *
 * Load on a server: each thread keeps its share of the connections busy, with the same number of
 * requests in flight on each. Every id is new and random. A request's latency is from the moment it
 * is handed to the system until its answer has been read, the wait behind those before it included.
 */
#include "cli/bench.h"
#include "cli/pipeline.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "command/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS 256
#define DRAIN_MS 5000 /* how long the last answers may take */

/* A request written out, with the places of the ids in it. */
struct request {
    const struct command_spec *spec;
    struct buffer bytes;
    size_t booking, user; /* offsets; 0: it has none */
};

enum { SEND_RESERVE, SEND_CONFIRM, SEND_RELEASE, SEND_REQUESTS };

struct request_sent {
    uint64_t sent_ns;
    const struct command_spec *spec;
};

/* A connection and what is in flight on it. */
struct lane {
    struct pipeline pipeline;
    struct request_sent *ring;
    uint64_t sent, answered;
    bool watched_for_write;
    bool reserved; /* in a cycle: the booking below is to be finished next */
    char booking[UUID_TEXT];
};

struct bench_sender {
    struct bench_worker head;
    struct pipeline_server server;
    struct memory memory;
    struct request requests[SEND_REQUESTS];
    struct lane *lanes;
    size_t lane_count, open;
    int epoll;
    uint64_t random[2];
};

/* ---- requests -------------------------------------------------------------------------------- */

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* xoroshiro128+: the system's random source would be most of the work. */
static uint64_t next_random(uint64_t state[2])
{
    uint64_t a = state[0], b = state[1] ^ a, result = a + state[1];

    state[0] = rotate(a, 24) ^ b ^ b << 16;
    state[1] = rotate(b, 37);
    return result;
}

static void write_id(struct bench_sender *worker, char out[UUID_TEXT])
{
    uint64_t words[2] = {next_random(worker->random), next_random(worker->random)};
    uint8_t bytes[UUID_BYTES];

    memcpy(bytes, words, sizeof bytes);
    uuid_from_random(bytes);
    uuid_write(bytes, out);
}

/* Stands in a request where an id goes. */
#define BOOKING_MARK "bbbbbbbb-bbbb-4bbb-bbbb-bbbbbbbbbbbb"
#define USER_MARK "cccccccc-cccc-4ccc-cccc-cccccccccccc"

static size_t find_mark(const struct buffer *bytes, const char *mark)
{
    const char *at = memmem(bytes->data, bytes->size, mark, UUID_TEXT);
    return at != NULL ? (size_t)(at - bytes->data) : 0;
}

static void write_request(struct bench_sender *worker, size_t which, enum command_id id,
                          const void *args)
{
    struct request *request = &worker->requests[which];
    struct command command;

    request->spec = &command_table[id];
    buffer_init(&request->bytes, &worker->memory);
    CHECK(command_from_struct(&command, request->spec, args, NULL) == HF_OK);
    command_to_resp(&command, &request->bytes);
    if (!request->bytes.failed) {
        request->booking = find_mark(&request->bytes, BOOKING_MARK);
        request->user = find_mark(&request->bytes, USER_MARK);
    }
}

static bool write_requests(struct bench_sender *worker)
{
    struct hf_bytes event = hf_text(worker->head.bench->event);
    struct hf_seats_reserve_args reserve = {.event = event,
                                            .zone = HF_TEXT(BENCH_ZONE),
                                            .booking = HF_TEXT(BOOKING_MARK),
                                            .user = HF_TEXT(USER_MARK),
                                            .quantity = 1,
                                            .max_per_user = HF_INTEGER_MAX,
                                            .ttl_ms = BENCH_TTL_MS};
    struct hf_seats_confirm_args confirm = {.event = event, .booking = HF_TEXT(BOOKING_MARK)};
    struct hf_seats_release_args release = {.event = event, .booking = HF_TEXT(BOOKING_MARK)};

    write_request(worker, SEND_RESERVE, SEATS_RESERVE, &reserve);
    write_request(worker, SEND_CONFIRM, SEATS_CONFIRM, &confirm);
    write_request(worker, SEND_RELEASE, SEATS_RELEASE, &release);
    bool good = true;
    for (size_t i = 0; i < SEND_REQUESTS; i++) {
        good = good && !worker->requests[i].bytes.failed;
    }
    return good;
}

/* ---- a connection ---------------------------------------------------------------------------- */

static void add_request(struct bench_sender *worker, struct lane *lane, uint64_t now_ns)
{
    bool cycle = worker->head.bench->load == BENCH_CYCLE;
    size_t which = !lane->reserved      ? SEND_RESERVE
                   : lane->sent % 4 < 2 ? SEND_CONFIRM
                                        : SEND_RELEASE;
    const struct request *request = &worker->requests[which];
    struct buffer *out = pipeline_out(&lane->pipeline);
    size_t start = out->size;

    buffer_bytes(out, request->bytes.data, request->bytes.size);
    if (out->failed) {
        return; /* pipeline_send() says so */
    }
    if (which == SEND_RESERVE) {
        write_id(worker, lane->booking);
        write_id(worker, out->data + start + request->user);
    }
    memcpy(out->data + start + request->booking, lane->booking, UUID_TEXT);
    lane->reserved = cycle && which == SEND_RESERVE;
    lane->ring[lane->sent++ % (uint64_t)worker->head.bench->pipeline] =
        (struct request_sent){now_ns, request->spec};
}

/* Reads the answers that have come. False if they are none. */
static bool take_answers(struct bench_sender *worker, struct lane *lane, uint64_t now_ns)
{
    struct reply *reply = &lane->pipeline.connection->reply;

    while (lane->answered < lane->sent) {
        const struct request_sent *first =
            &lane->ring[lane->answered % (uint64_t)worker->head.bench->pipeline];
        struct hf_bytes bytes = pipeline_in(&lane->pipeline);
        size_t size;
        enum resp_state state =
            bytes.size > 0 ? reply_from_resp(reply, first->spec, bytes, &size) : RESP_MORE;
        if (state == RESP_MORE) {
            return true;
        }
        if (state != RESP_DONE) {
            lane->pipeline.failed = "the answer is not one that a Holdfast server gives";
            return false;
        }
        pipeline_take(&lane->pipeline, size);
        bench_count(&worker->head, reply->code);
        histogram_add(&worker->head.latencies, now_ns - first->sent_ns);
        lane->answered++;
    }
    return true;
}

static bool watch(struct bench_sender *worker, struct lane *lane, int operation)
{
    bool write = lane->pipeline.wants_write;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = lane};

    event.events |= write ? (uint32_t)EPOLLOUT : 0U;
    lane->watched_for_write = write;
    return epoll_ctl(worker->epoll, operation, pipeline_fd(&lane->pipeline), &event) == 0;
}

/* Keeps as many requests in flight as there should be. */
static bool fill(struct bench_sender *worker, struct lane *lane, uint64_t now_ns)
{
    while (!bench_stopped(worker->head.bench) &&
           lane->sent - lane->answered < (uint64_t)worker->head.bench->pipeline) {
        add_request(worker, lane, now_ns);
        if (pipeline_out(&lane->pipeline)->failed) {
            break;
        }
    }
    bool good = pipeline_send(&lane->pipeline);
    if (good && lane->pipeline.wants_write != lane->watched_for_write) {
        good = watch(worker, lane, EPOLL_CTL_MOD);
    }
    return good;
}

/* What has come is taken, and as much sent in its place. */
static void serve(struct bench_sender *worker, struct lane *lane)
{
    bool open = pipeline_receive(&lane->pipeline);
    uint64_t now_ns = clock_nanoseconds();
    bool good = take_answers(worker, lane, now_ns) && open && fill(worker, lane, now_ns);

    if (!good) {
        snprintf(worker->head.failed, MESSAGE_SIZE, "a connection broke: %s",
                 lane->pipeline.failed ? lane->pipeline.failed : strerror(errno));
        worker->head.errors += lane->sent - lane->answered;
        worker->head.calls += lane->sent - lane->answered;
        lane->answered = lane->sent;
        epoll_ctl(worker->epoll, EPOLL_CTL_DEL, pipeline_fd(&lane->pipeline), NULL);
        worker->open--;
    }
}

static bool is_idle(const struct bench_sender *worker)
{
    for (size_t i = 0; i < worker->lane_count; i++) {
        if (worker->lanes[i].answered < worker->lanes[i].sent) {
            return false;
        }
    }
    return true;
}

/* ---- a thread -------------------------------------------------------------------------------- */

/* One round over the connections that are ready. False if none was for long. */
static bool turn(struct bench_sender *worker, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    uint64_t before = worker->head.calls;
    int count = epoll_wait(worker->epoll, events, EVENTS, timeout_ms);

    for (int i = 0; i < count; i++) {
        serve(worker, events[i].data.ptr);
    }
    bench_tell(worker->head.bench, worker->head.calls - before);
    return count > 0;
}

static void *work(void *context)
{
    struct bench_sender *worker = context;
    bool answers = true;

    for (size_t i = 0; i < worker->lane_count; i++) {
        fill(worker, &worker->lanes[i], clock_nanoseconds());
    }
    while (!bench_stopped(worker->head.bench) && worker->open > 0) {
        turn(worker, 100);
    }
    while (answers && worker->open > 0 && !is_idle(worker)) {
        answers = turn(worker, DRAIN_MS);
    }
    if (!answers) {
        snprintf(worker->head.failed, MESSAGE_SIZE, "the last answers did not come within %d s",
                 DRAIN_MS / 1000);
    }
    return NULL;
}

static bool fail(struct bench_sender *worker, const char *why)
{
    snprintf(worker->head.failed, MESSAGE_SIZE, "%s", why);
    return false;
}

/* The connections of this thread: its share of them all. */
static bool connect_lanes(struct bench_sender *worker, int64_t index)
{
    const struct bench *bench = worker->head.bench;
    struct problem problem;
    size_t wanted = (size_t)(bench->connections / bench->threads +
                             (index < bench->connections % bench->threads));

    worker->lanes = calloc(wanted, sizeof *worker->lanes);
    if (worker->lanes == NULL) {
        return fail(worker, "out of memory");
    }
    for (; worker->lane_count < wanted; worker->lane_count++, worker->open++) {
        struct lane *lane = &worker->lanes[worker->lane_count];
        lane->ring = calloc((size_t)bench->pipeline, sizeof *lane->ring);
        if (lane->ring == NULL) {
            return fail(worker, "out of memory");
        }
        if (pipeline_open(&lane->pipeline, &worker->server, &problem) != HF_OK) {
            free(lane->ring);
            return fail(worker, problem.message);
        }
        if (!watch(worker, lane, EPOLL_CTL_ADD)) {
            worker->lane_count++;
            return fail(worker, strerror(errno));
        }
    }
    return true;
}

static bool prepare(struct bench_worker *head, int64_t index)
{
    struct bench_sender *worker = (struct bench_sender *)head;
    struct random random;
    struct problem problem;

    random_init(&random);
    random_bytes(&random, worker->random, sizeof worker->random);
    memory_init(&worker->memory);
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (worker->epoll < 0) {
        return fail(worker, strerror(errno));
    }
    if (!write_requests(worker)) {
        return fail(worker, "out of memory");
    }
    if (pipeline_server_open(&worker->server, head->bench->url, &problem) != HF_OK) {
        return fail(worker, problem.message);
    }
    return connect_lanes(worker, index);
}

static void end(struct bench_worker *head)
{
    struct bench_sender *worker = (struct bench_sender *)head;

    for (size_t i = 0; i < worker->lane_count; i++) {
        pipeline_close(&worker->lanes[i].pipeline);
        free(worker->lanes[i].ring);
    }
    free(worker->lanes);
    for (size_t i = 0; i < SEND_REQUESTS; i++) {
        if (worker->requests[i].bytes.memory != NULL) {
            buffer_free(&worker->requests[i].bytes);
        }
    }
    pipeline_server_close(&worker->server);
    if (worker->epoll >= 0) {
        close(worker->epoll);
    }
}

const struct bench_way bench_server = {
    .worker_size = sizeof(struct bench_sender), .prepare = prepare, .work = work, .end = end};
