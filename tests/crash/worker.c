/* SPDX-License-Identifier: Apache-2.0
 *
 * The program that test_crash.py kills, and the one that then looks at what is left.
 *
 *     crash_worker run|rush DIR SEED FIRST LAST    carries out commands FIRST to LAST
 *     crash_worker check DIR SEED ACKED IN_FLIGHT  recovers, compares, goes on for a while
 *     crash_worker open DIR                        recovers and closes
 *     crash_worker wait DIR                        leaves commands waiting and kills itself
 *     crash_worker check-wait DIR                  recovers from that
 *
 * Command n, its time and the batch that begins with it follow from SEED and n alone, so that a run
 * can be continued and a reference in memory can do the same. No command waits, except in `wait`:
 * recovery lets those go by records of its own.
 *
 * `run` does the same system calls every time: at fixed batches it waits for the child that writes
 * a snapshot and for the thread that removes old files. `rush` goes as fast as it can.
 *
 * What was answered is said on standard output at once, a line "n CODE" for each command: by one
 * writev(2) for the answers that did not wait for the disk, and one for those that did. Nothing
 * else uses writev(2), so that counting the calls that write to the journal counts none of these.
 *
 * `check` says "k next": the recovered state is that after commands 1 to k, and the directory is
 * now ready for command `next`. */
#include "crash/commands.h"
#include "engine/embedded.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define GO_ON 20          /* commands that `check` carries out after recovery */
#define TURN_EVERY 3      /* batches of `run` */
#define BATCH_MAX 64      /* of `rush` */
#define BATCH_STEADY 6    /* of `run` */
#define ANSWERED_ROOM 64U /* bytes of a line */

static _Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void die(const char *format, ...)
{
    va_list values;

    fputs("crash_worker: ", stderr);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(1);
}

/* ---- the engine ------------------------------------------------------------------------------ */

static int64_t time_ms; /* what every engine's clock says */

static int64_t read_time(struct clock *clock)
{
    (void)clock;
    return time_ms;
}

/* How often segments and snapshots are begun. */
struct pace {
    int64_t segment_bytes, snapshot_bytes;
};

static const struct pace steady = {2048, 3000}, rushed = {65536, 200000};

/* In memory only if there is no directory. */
static struct engine *open_engine(const char *path, const struct pace *pace)
{
    struct embedded_options options = {.policy = JOURNAL_ALWAYS,
                                       .segment_bytes = pace->segment_bytes,
                                       .snapshot_bytes = pace->snapshot_bytes,
                                       .clock = {.read = read_time},
                                       .log = {.level = LOG_ERROR},
                                       .fixed_entropy = true,
                                       .steady_fences = true};
    struct engine *engine;
    struct problem problem;

    if (path != NULL) {
        int code = storage_posix(path, true, &options.storage);
        if (code != 0) {
            die("%s: %s", path, strerror(-code));
        }
    }
    if (embedded_open_with(&options, &engine, &problem) != HF_OK) {
        die("%s cannot be opened: %s", path, problem.message);
    }
    return engine;
}

static void flush(struct engine *engine)
{
    if (engine_flush_begin(engine)) {
        engine_flush_work(engine);
        engine_flush_end(engine);
    }
    const char *failure = engine_failure(engine);
    if (failure != NULL) {
        die("the engine failed: %s", failure);
    }
}

static void report(void *context, const char *finding)
{
    (void)context;
    fprintf(stderr, "audit: %s\n", finding);
}

static void audit(struct engine *engine)
{
    uint64_t findings;

    if (engine_audit(engine, report, NULL, &findings, NULL) != HF_OK || findings != 0) {
        die("the audit is not clean");
    }
}

/* ---- carrying out commands ------------------------------------------------------------------- */

/* The answers to a batch, as text. */
struct answers {
    uint64_t count;
    size_t size;
    char text[BATCH_MAX * ANSWERED_ROOM];
};

struct question {
    struct answers *answers;
    uint64_t number;
};

static void answered(void *context, const struct reply *reply)
{
    struct question *question = context;
    struct answers *answers = question->answers;
    char *at = answers->text + answers->size;

    answers->count++;
    answers->size += (size_t)snprintf(at, ANSWERED_ROOM, "%" PRIu64 " %s\n", question->number,
                                      hf_error_name(reply->code));
}

static void ignored(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

static void submit(struct engine *engine, uint64_t seed, uint64_t number, engine_done *done,
                   void *context)
{
    struct command command;

    time_ms = command_time(seed, number);
    make_command(&command, seed, number);
    engine_submit(engine, &command, done, context);
}

/* Commands 1 to `count` are done already. The engine counts them for its entropy, a new one not;
 * reads make it catch up and leave no trace. */
static void skip(struct engine *engine, uint64_t count)
{
    struct hf_quota_get_args args = {.tenant = hf_text("nobody")};
    struct command command;

    for (uint64_t i = 0; i < count; i++) {
        command_from_struct(&command, &command_table[QUOTA_GET], &args, NULL);
        engine_submit(engine, &command, ignored, NULL);
    }
}

/* Says what was answered since the last time. */
static void say(struct answers *answers)
{
    struct iovec part = {answers->text, answers->size};

    if (answers->size > 0 && writev(STDOUT_FILENO, &part, 1) != (ssize_t)answers->size) {
        die("cannot say what was answered: %s", strerror(errno));
    }
    answers->size = 0;
}

/* If a snapshot is being written, or what it replaced is being removed, waits for the end of it and
 * leaves the rest to the engine. */
static void wait_for_helpers(void)
{
    siginfo_t info;
    struct stat threads;

    while (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    while (stat("/proc/self/task", &threads) == 0 && threads.st_nlink > 3) {
        sched_yield(); /* a directory has two links, and one more for each thread */
    }
}

static int run(const char *path, uint64_t seed, uint64_t first, uint64_t last, bool rush)
{
    static struct question questions[BATCH_MAX];
    static struct answers answers;
    struct engine *engine = open_engine(path, rush ? &rushed : &steady);

    skip(engine, first - 1);
    for (uint64_t next = first, batch = 1; next <= last; batch++) {
        uint64_t size = batch_size(seed, next, rush ? BATCH_MAX : BATCH_STEADY);
        answers = (struct answers){.count = 0};
        for (uint64_t i = 0; i < size; i++) {
            questions[i] = (struct question){&answers, next};
            submit(engine, seed, next++, answered, &questions[i]);
        }
        say(&answers);
        flush(engine);
        if (answers.count != size) {
            die("%" PRIu64 " of %" PRIu64 " commands were answered", answers.count, size);
        }
        say(&answers);
        if (rush) {
            engine_turn(engine);
        } else if (batch % TURN_EVERY == 0) {
            wait_for_helpers();
            engine_turn(engine);
        }
    }
    engine_close(engine);
    return 0;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Which commands are there: 1 to k, for some k that is at least `least` and at most `most`. Leaves
 * the reference in that state. */
static uint64_t find_prefix(struct engine *engine, struct engine *reference, uint64_t seed,
                            uint64_t least, uint64_t most)
{
    for (uint64_t k = 1; k <= least; k++) {
        submit(reference, seed, k, ignored, NULL);
    }
    for (uint64_t k = least;; k++) {
        time_ms = command_time(seed, k);
        engine_turn(engine);
        engine_turn(reference);
        if (embedded_digest(engine) == embedded_digest(reference)) {
            return k;
        }
        if (k == most) {
            die("the state is not that after commands 1 to k for any k from %" PRIu64
                " to %" PRIu64,
                least, most);
        }
        submit(reference, seed, k + 1, ignored, NULL);
    }
}

static void expect_same(struct engine *engine, struct engine *reference, const char *when)
{
    if (embedded_digest(engine) != embedded_digest(reference)) {
        die("the state is not that of the reference %s", when);
    }
    audit(engine);
}

static int check(const char *path, uint64_t seed, uint64_t acked, uint64_t in_flight)
{
    struct engine *engine = open_engine(path, &steady);
    struct engine *reference = open_engine(NULL, &steady);
    uint64_t k = find_prefix(engine, reference, seed, acked, acked + in_flight);

    audit(engine);
    skip(engine, k);
    for (uint64_t number = k + 1; number <= k + GO_ON; number++) {
        submit(engine, seed, number, ignored, NULL);
        submit(reference, seed, number, ignored, NULL);
        flush(engine);
    }
    expect_same(engine, reference, "after some more commands");
    engine_close(engine);
    engine = open_engine(path, &steady);
    engine_turn(engine);
    expect_same(engine, reference, "after another start");
    engine_close(engine);
    engine_close(reference);
    printf("%" PRIu64 " %" PRIu64 "\n", k, k + GO_ON + 1);
    return 0;
}

static int open_and_close(const char *path)
{
    engine_close(open_engine(path, &steady));
    return 0;
}

/* ---- commands that wait ---------------------------------------------------------------------- */

#define WAITING 5

static void acquire(struct engine *engine, const char *id, int64_t wait_ms)
{
    struct hf_sem_acquire_args args = {
        .name = hf_text("gate"), .id = hf_text(id), .limit = 1, .wait_ms = wait_ms};
    struct command command;

    command_from_struct(&command, &command_table[SEM_ACQUIRE], &args, NULL);
    engine_submit(engine, &command, ignored, NULL);
}

static int leave_waiting(const char *path)
{
    static const char *const ids[WAITING] = {"v", "w", "x", "y", "z"};
    struct engine *engine = open_engine(path, &steady);

    time_ms = command_time(0, 1);
    acquire(engine, "holder", 0);
    for (size_t i = 0; i < WAITING; i++) {
        acquire(engine, ids[i], 1000000);
    }
    flush(engine);
    return raise(SIGKILL);
}

static void read_stats(void *context, const struct reply *reply)
{
    int64_t *values = context;

    for (size_t i = 0; i < 3; i++) {
        values[i] = reply->code == HF_OK && i < reply->count ? reply->values[i].number : -1;
    }
}

/* The slot is the holder's still, and nobody waits. */
static void expect_nobody_waits(struct engine *engine)
{
    struct hf_sem_stats_args args = {.name = hf_text("gate")};
    struct command command;
    int64_t values[3] = {-1, -1, -1}; /* in use, limit, waiting */

    command_from_struct(&command, &command_table[SEM_STATS], &args, NULL);
    engine_submit(engine, &command, read_stats, values);
    if (values[0] != 1 || values[1] != 1 || values[2] != 0) {
        die("%" PRId64 " slots of %" PRId64 " in use and %" PRId64 " commands wait", values[0],
            values[1], values[2]);
    }
    audit(engine);
}

static int check_waiting(const char *path)
{
    time_ms = command_time(0, 2);
    struct engine *engine = open_engine(path, &steady);
    expect_nobody_waits(engine);
    uint64_t digest = embedded_digest(engine);
    engine_close(engine);
    engine = open_engine(path, &steady);
    expect_nobody_waits(engine);
    if (embedded_digest(engine) != digest) {
        die("another start gives another state");
    }
    engine_close(engine);
    return 0;
}

int main(int count, char **words)
{
    const char *mode = count > 2 ? words[1] : "";
    uint64_t numbers[3] = {0, 0, 0};

    for (int i = 3; i < count && i < 6; i++) {
        numbers[i - 3] = strtoull(words[i], NULL, 10);
    }
    if (count == 6 && (strcmp(mode, "run") == 0 || strcmp(mode, "rush") == 0)) {
        return run(words[2], numbers[0], numbers[1], numbers[2], strcmp(mode, "rush") == 0);
    }
    if (count == 6 && strcmp(mode, "check") == 0) {
        return check(words[2], numbers[0], numbers[1], numbers[2]);
    }
    if (count == 3 && strcmp(mode, "open") == 0) {
        return open_and_close(words[2]);
    }
    if (count == 3 && strcmp(mode, "wait") == 0) {
        return leave_waiting(words[2]);
    }
    if (count == 3 && strcmp(mode, "check-wait") == 0) {
        return check_waiting(words[2]);
    }
    die("usage: run|rush DIR SEED FIRST LAST, check DIR SEED ACKED IN_FLIGHT, open|wait|check-wait "
        "DIR");
}
