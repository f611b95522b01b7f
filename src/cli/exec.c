/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast exec --semaphore NAME --limit K [options] -- COMMAND…
 * holdfast exec --lock RESOURCE [options] -- COMMAND…
 *
 * Waits in line for a slot or a lock, runs the command while it is held, keeps it alive meanwhile,
 * and gives it back. The command finds the grant's number in HOLDFAST_FENCE and the id that holds
 * in HOLDFAST_LEASE. If the hold is lost, the command is stopped.
 *
 * Exit code: that of the command (128 and more: the signal that ended it). 76 if the hold was lost,
 * whatever the command then ended with, and 75 if the wait ran out: the command never ran. 69 if
 * the server cannot be reached, 77 if it does not let us in, 2 for options that make no sense, 126
 * or 127 for a command that cannot be started. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "library/lease.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TTL_MS 30000
#define KILL_AFTER_MS 10000
#define RECONNECT_MS 30000 /* how long a server that was there may be away */
#define PAUSE_MIN_MS 20    /* between two tries */
#define PAUSE_MAX_MS 1000
#define NOTICE_MS 500 /* a hold that is lost is noticed within that time */
#define FOR_EVER (-1)

struct exec_job {
    const char *url, *semaphore, *lock, *id;
    int64_t limit, slots, heartbeat_ms, ttl_ms, wait_ms, kill_after_ms;
    hf_handle *handle;
    hf_lease *lease;
    char held_by[HF_ID_SIZE];
    struct child child;
    int lost_fd; /* why the hold was lost is written here, to be read from child.stop_fd */
};

/* ---- options --------------------------------------------------------------------------------- */

static const struct option options[] = {
    {"url", required_argument, NULL, 'u'},        {"engine", required_argument, NULL, 'u'},
    {"semaphore", required_argument, NULL, 's'},  {"limit", required_argument, NULL, 'l'},
    {"slots", required_argument, NULL, 'n'},      {"lock", required_argument, NULL, 'r'},
    {"id", required_argument, NULL, 'i'},         {"heartbeat", required_argument, NULL, 'h'},
    {"ttl", required_argument, NULL, 't'},        {"wait", required_argument, NULL, 'w'},
    {"kill-after", required_argument, NULL, 'k'}, {NULL, 0, NULL, 0}};

/* Seconds, or with a unit. */
static bool read_duration(const char *option, int64_t min_ms, int64_t *ms)
{
    if (text_to_duration(hf_text(optarg), 1000, ms) && *ms >= min_ms && *ms <= HF_TTL_MAX_MS) {
        return true;
    }
    cli_usage("exec: --%s %s: must be a duration such as 30, 1500ms, 10m, 2h; %lld ms to 30 days",
              option, optarg, (long long)min_ms);
    return false;
}

static bool read_option(struct exec_job *job, int option)
{
    switch (option) {
    case 'u':
        job->url = optarg;
        return true;
    case 's':
        job->semaphore = optarg;
        return true;
    case 'l':
        return cli_number("exec: --limit", optarg, 1, HF_INTEGER_MAX, &job->limit);
    case 'n':
        return cli_number("exec: --slots", optarg, 1, SEM_SLOTS_MAX, &job->slots);
    case 'r':
        job->lock = optarg;
        return true;
    case 'i':
        job->id = optarg;
        return true;
    case 'h':
        return read_duration("heartbeat", HF_TTL_MIN_MS, &job->heartbeat_ms);
    case 't':
        return read_duration("ttl", HF_TTL_MIN_MS, &job->ttl_ms);
    case 'w':
        return read_duration("wait", 0, &job->wait_ms);
    case 'k':
        return read_duration("kill-after", 0, &job->kill_after_ms);
    default:
        return false;
    }
}

/* What is wrong with the options as a whole, or NULL. */
static const char *fault(const struct exec_job *job)
{
    if ((job->semaphore != NULL) == (job->lock != NULL)) {
        return "exec needs either --semaphore NAME --limit K or --lock RESOURCE";
    }
    if (job->semaphore != NULL && job->limit == 0) {
        return "exec: --semaphore needs --limit K";
    }
    if (job->lock != NULL && (job->limit != 0 || job->slots != 0 || job->heartbeat_ms != 0)) {
        return "exec: --limit, --slots and --heartbeat are for --semaphore";
    }
    return job->child.command[0] == NULL ? "exec needs a command behind --" : NULL;
}

static bool read_options(struct exec_job *job, int argc, char **argv)
{
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        if (option == '?') {
            cli_bad_option("exec", argv, options);
            return false;
        }
        if (!read_option(job, option)) {
            return false;
        }
    }
    job->child.command = argv + optind;
    job->child.kill_after_ms = job->kill_after_ms;
    const char *wrong = fault(job);
    if (wrong != NULL) {
        cli_usage("%s", wrong);
    }
    return wrong == NULL;
}

/* "host:pid:random", unlike any other. */
static void make_id(char id[HF_ID_SIZE])
{
    char host[65] = "";
    struct random random;
    uint64_t number;

    gethostname(host, sizeof host - 1);
    for (char *at = host; *at != '\0'; at++) {
        if (strchr(" {}", *at) != NULL || *at < ' ' || *at > '~') {
            *at = '-';
        }
    }
    random_init(&random);
    random_bytes(&random, &number, sizeof number);
    snprintf(id, HF_ID_SIZE, "%s:%d:%016llx", host[0] != '\0' ? host : "host", (int)getpid(),
             (unsigned long long)number);
}

/* ---- getting it ------------------------------------------------------------------------------ */

/* From a thread of the library: the command has to end. */
static void note_loss(void *context, const char *why)
{
    const struct exec_job *job = context;

    if (write(job->lost_fd, why, strlen(why)) < 0) {
        _exit(EXIT_LOST); /* with us, the command ends, too */
    }
}

static enum hf_error take_slot(struct exec_job *job, int64_t wait_ms)
{
    struct hf_sem_acquire_args args = {.name = hf_text(job->semaphore),
                                       .id = hf_text(job->id),
                                       .limit = job->limit,
                                       .slots = job->slots,
                                       .heartbeat_ms = job->heartbeat_ms,
                                       .ttl_ms = job->ttl_ms,
                                       .wait_ms = wait_ms};

    snprintf(job->held_by, sizeof job->held_by, "%s", job->id);
    return hf_lease_slot(job->handle, &args, note_loss, job, &job->lease, NULL);
}

static enum hf_error take_lock(struct exec_job *job)
{
    struct hf_lock_try_args args = {.resource = hf_text(job->lock),
                                    .ttl_ms = job->ttl_ms ? job->ttl_ms : LOCK_TTL_MS,
                                    .id = hf_text(job->id)};
    struct hf_lock_try_reply reply;
    enum hf_error code = hf_lease_lock(job->handle, &args, note_loss, job, &job->lease, &reply);

    if (code == HF_OK) {
        snprintf(job->held_by, sizeof job->held_by, "%s", reply.lock_id);
    }
    return code;
}

/* Half of it to all of it, so that waiters do not come all at once. */
static void pause_about(int64_t ms)
{
    struct random random;
    uint16_t dice;

    random_init(&random);
    random_bytes(&random, &dice, sizeof dice);
    int64_t ns = ms * 500000 + ms * 500000 * dice / UINT16_MAX;
    struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&pause, NULL);
}

static int64_t now_ms(void)
{
    return (int64_t)(clock_nanoseconds() / 1000000);
}

/* Is it only that the server is away, or about to be? Asking again with the same id is safe. */
static bool is_away(enum hf_error code)
{
    return code == HF_ENGINE_DOWN || code == HF_LOADING || code == HF_BUSY || code == HF_IOERR ||
           (code == HF_TIMEOUT && strncmp(hf_last_message(), "outcome unknown:", 16) == 0);
}

/* Is it only that others hold it? */
static bool is_taken(enum hf_error code)
{
    return code == HF_NO_SLOT || code == HF_TIMEOUT || code == HF_LOCKED;
}

/* Waits in line for as long as --wait allows: for a slot by one long call after another, for a lock
 * by polling. Exit code 0 once it is held. */
static int wait_in_line(struct exec_job *job)
{
    int64_t end_ms = job->wait_ms == FOR_EVER ? INT64_MAX : now_ms() + job->wait_ms;
    int64_t away_ms = 0, pause_ms = PAUSE_MIN_MS;

    for (;;) {
        int64_t left_ms = end_ms == INT64_MAX ? HF_TTL_MAX_MS : end_ms - now_ms();
        left_ms = left_ms > 0 ? left_ms : 0;
        enum hf_error code = job->lock != NULL ? take_lock(job) : take_slot(job, left_ms);
        if (code == HF_OK) {
            return EXIT_DONE;
        }
        bool away = is_away(code);
        if (!away && !is_taken(code)) {
            return cli_failed(code);
        }
        if (!away && left_ms == 0) {
            cli_usage("%s: %s", job->lock ? job->lock : job->semaphore, hf_last_message());
            return EXIT_TRY_AGAIN;
        }
        away_ms = !away ? 0 : away_ms != 0 ? away_ms : now_ms();
        if (away && (now_ms() - away_ms > RECONNECT_MS || left_ms == 0)) {
            cli_failed(code);
            return EXIT_UNAVAILABLE;
        }
        pause_about(pause_ms < left_ms ? pause_ms : left_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static void say_lost(const struct exec_job *job, const char *what)
{
    char why[512];
    ssize_t size = read(job->child.stop_fd, why, sizeof why - 1);

    why[size > 0 ? size : 0] = '\0';
    cli_usage("%s: the hold was lost: %s; %s", job->lock ? job->lock : job->semaphore, why, what);
}

static int run(struct exec_job *job)
{
    char fence[32];
    bool stopped = false;

    lease_beat_every(job->lease, NOTICE_MS);
    snprintf(fence, sizeof fence, "%lld", (long long)hf_lease_fence(job->lease));
    if (setenv("HOLDFAST_FENCE", fence, 1) != 0 || setenv("HOLDFAST_LEASE", job->held_by, 1) != 0) {
        cli_usage("out of memory");
        hf_lease_release(job->lease);
        return EXIT_REFUSED;
    }
    int code = child_run(&job->child, &stopped);
    enum hf_error released = hf_lease_release(job->lease);
    if (stopped) {
        say_lost(job, "the command was stopped");
        return EXIT_LOST;
    }
    if (released != HF_OK) { /* it has run to its end all the same */
        cli_usage("%s: %s", job->lock ? job->lock : job->semaphore, hf_last_message());
    }
    return code;
}

int cli_exec(int argc, char **argv)
{
    struct exec_job job = {
        .url = cli_server_url(), .wait_ms = FOR_EVER, .kill_after_ms = KILL_AFTER_MS};
    char id[HF_ID_SIZE];
    int lost[2];

    if (!read_options(&job, argc, argv)) {
        return EXIT_USAGE;
    }
    if (job.id == NULL) {
        make_id(id);
        job.id = id;
    }
    if (pipe2(lost, O_CLOEXEC | O_NONBLOCK) != 0) {
        return cli_usage("no more descriptors");
    }
    job.child.stop_fd = lost[0];
    job.lost_fd = lost[1];
    enum hf_error opened = hf_open(job.url, &job.handle);
    int code = opened == HF_OK ? wait_in_line(&job) : cli_failed(opened);
    if (code == EXIT_DONE) {
        code = run(&job);
    }
    hf_close(job.handle);
    close(lost[0]);
    close(lost[1]);
    return code;
}
